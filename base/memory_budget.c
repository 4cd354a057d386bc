#include "base/memory_budget.h"

#include <stdalign.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/pages.h"

static _Thread_local lk_memory_refusal refusal __attribute__((tls_model("initial-exec")));

/* Before a host's block, which lies `offset` bytes behind what the host gave. */
typedef struct header {
  size_t offset, bytes;
} header;

static size_t offset_of(size_t alignment) {
  return alignment > sizeof(header) ? alignment : sizeof(header);
}

static header *header_of(void *block) {
  return (header *)block - 1;
}

static void give(lk_memory_budget *self, uint64_t bytes) {
  __atomic_fetch_sub(&self->bytes, bytes, __ATOMIC_RELAXED);
}

static void note_peak(lk_memory_budget *self) {
  const uint64_t now = __atomic_load_n(&self->bytes, __ATOMIC_RELAXED);
  uint64_t peak = __atomic_load_n(&self->peak, __ATOMIC_RELAXED);
  while (now > peak && !__atomic_compare_exchange_n(&self->peak, &peak, now, true, __ATOMIC_RELAXED,
                                                    __ATOMIC_RELAXED)) {
  }
}

/* ---- spare blocks ---- */

/* Threads take and give them at the same time, without a lock: who looks at one has it for
 * itself. */
static void *take_spare_at(lk_memory_budget *self, int i) {
  if (__atomic_load_n(&self->spare[i], __ATOMIC_RELAXED) == NULL) return NULL;
  void *block = __atomic_exchange_n(&self->spare[i], NULL, __ATOMIC_ACQUIRE);
  if (block != NULL) {
    __atomic_fetch_sub(&self->spare_bytes, lk_pages_bytes(block), __ATOMIC_RELAXED);
  }
  return block;
}

/* False: there are enough. */
static bool keep_spare(lk_memory_budget *self, void *block) {
  const uint64_t bytes = lk_pages_bytes(block);
  if (__atomic_add_fetch(&self->spare_bytes, bytes, __ATOMIC_RELAXED) <= LK_MEMORY_SPARE_BYTES) {
    for (int i = 0; i < LK_MEMORY_SPARE_BLOCKS; i++) {
      void *none = NULL;
      if (__atomic_compare_exchange_n(&self->spare[i], &none, block, false, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED)) {
        return true;
      }
    }
  }
  __atomic_fetch_sub(&self->spare_bytes, bytes, __ATOMIC_RELAXED);
  return false;
}

static void drop_spare(lk_memory_budget *self, void *block) {
  give(self, lk_pages_bytes(block));
  lk_pages_free(block);
}

/* One that is large enough, and not much larger; or NULL. */
static void *take_spare(lk_memory_budget *self, size_t size) {
  for (int i = 0; i < LK_MEMORY_SPARE_BLOCKS; i++) {
    void *block = take_spare_at(self, i);
    if (block == NULL) continue;
    const size_t room = lk_pages_bytes(block) - LK_PAGE;
    if (room >= size && room - size <= room / 4) return block;
    if (!keep_spare(self, block)) drop_spare(self, block);
  }
  return NULL;
}

/* False: there was none. */
static bool drop_spares(lk_memory_budget *self) {
  bool found = false;
  for (int i = 0; i < LK_MEMORY_SPARE_BLOCKS; i++) {
    void *block = take_spare_at(self, i);
    if (block == NULL) continue;
    drop_spare(self, block);
    found = true;
  }
  return found;
}

void lk_memory_budget_trim(lk_memory_budget *self) {
  (void)drop_spares(self);
}

/* ---- blocks ---- */

/* False: it would pass the limit, also without spare blocks. */
static bool take(lk_memory_budget *self, uint64_t bytes) {
  const uint64_t limit = __atomic_load_n(&self->limit, __ATOMIC_RELAXED);
  uint64_t held = 0;
  do {
    held = __atomic_load_n(&self->bytes, __ATOMIC_RELAXED);
    while (held <= limit && bytes <= limit - held) {
      if (__atomic_compare_exchange_n(&self->bytes, &held, held + bytes, true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
        return true;
      }
    }
  } while (drop_spares(self));
  __atomic_fetch_add(&self->refusals, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&self->refused, bytes, __ATOMIC_RELAXED);
  refusal = (lk_memory_refusal){limit, held};
  return false;
}

/* A block of the C library's is a little larger than what was asked for. */
static void *alloc_default(lk_memory_budget *self, size_t size, size_t alignment) {
  if (alignment >= LK_PAGE) {
    void *spare = take_spare(self, size);
    if (spare != NULL) return spare;
  }
  if (!take(self, size)) return NULL;
  void *block = self->host.alloc(self->host.user, size, alignment);
  if (block == NULL) {
    refusal = (lk_memory_refusal){0};
    give(self, size);
  } else {
    __atomic_fetch_add(&self->bytes, lk_block_bytes(block) - size, __ATOMIC_RELAXED);
  }
  return block;
}

static void *alloc_host(lk_memory_budget *self, size_t size, size_t alignment) {
  const size_t offset = offset_of(alignment);
  size_t bytes = 0;
  if (__builtin_add_overflow(size, offset, &bytes) || !take(self, bytes)) return NULL;
  const size_t least = alignof(max_align_t);
  char *given = self->host.alloc(self->host.user, bytes, alignment > least ? alignment : least);
  if (given == NULL) {
    refusal = (lk_memory_refusal){0};
    give(self, bytes);
    return NULL;
  }
  *header_of(given + offset) = (header){offset, bytes};
  return given + offset;
}

static void *alloc_within(void *user, size_t size, size_t alignment) {
  lk_memory_budget *self = user;
  lk_tally_add(&self->counts, LK_MEMORY_ALLOCATIONS);
  void *block =
      self->is_default ? alloc_default(self, size, alignment) : alloc_host(self, size, alignment);
  if (block != NULL) {
    note_peak(self);
    refusal = (lk_memory_refusal){0};
  }
  return block;
}

static void free_within(void *user, void *block) {
  lk_memory_budget *self = user;
  if (block == NULL) return;
  if (self->is_default) {
    if (lk_pages_may_lie_at(block) && keep_spare(self, block)) return;
    give(self, lk_block_bytes(block));
    self->host.free(self->host.user, block);
    return;
  }
  const header kept = *header_of(block);
  give(self, kept.bytes);
  self->host.free(self->host.user, (char *)block - kept.offset);
}

void lk_memory_budget_init(lk_memory_budget *budget, const lk_allocator *host, uint64_t limit) {
  budget->is_default = host == NULL;
  budget->host = host != NULL ? *host : *lk_allocator_default();
  budget->limit = limit;
  budget->bytes = budget->peak = budget->refusals = budget->refused = 0;
  memset(budget->spare, 0, sizeof budget->spare);
  budget->spare_bytes = 0;
}

lk_allocator lk_memory_budget_allocator(lk_memory_budget *budget) {
  return (lk_allocator){budget, alloc_within, free_within};
}

void lk_memory_budget_set_limit(lk_memory_budget *budget, uint64_t limit) {
  __atomic_store_n(&budget->limit, limit, __ATOMIC_RELAXED);
}

lk_memory_state lk_memory_budget_state(const lk_memory_budget *self) {
  return (lk_memory_state){.limit = __atomic_load_n(&self->limit, __ATOMIC_RELAXED),
                           .bytes = __atomic_load_n(&self->bytes, __ATOMIC_RELAXED),
                           .peak = __atomic_load_n(&self->peak, __ATOMIC_RELAXED),
                           .refusals = __atomic_load_n(&self->refusals, __ATOMIC_RELAXED),
                           .refused = __atomic_load_n(&self->refused, __ATOMIC_RELAXED),
                           .spare = __atomic_load_n(&self->spare_bytes, __ATOMIC_RELAXED)};
}

lk_memory_refusal lk_memory_refusal_last(void) {
  return refusal;
}
