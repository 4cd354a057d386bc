#include "base/memory_budget.h"

#include <stdalign.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/most.h"
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
  lk_most_note(&self->peak, __atomic_load_n(&self->bytes, __ATOMIC_RELAXED));
}

/* False: there was none. */
static bool drop_spares(lk_memory_budget *self) {
  const uint64_t freed = lk_spare_pages_drop(&self->spare);
  give(self, freed);
  return freed > 0;
}

void lk_memory_budget_trim(lk_memory_budget *self) {
  (void)drop_spares(self);
}

/* ---- blocks ---- */

/* False: it would pass the limit, also without spare blocks. `asked`: the size of the block that it
 * is for. */
static bool take(lk_memory_budget *self, uint64_t bytes, uint64_t asked) {
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
  __atomic_store_n(&self->refused, asked, __ATOMIC_RELAXED);
  refusal = (lk_memory_refusal){limit, held};
  return false;
}

bool lk_memory_budget_charge(lk_memory_budget *self, uint64_t bytes) {
  if (!take(self, bytes, bytes)) return false;
  note_peak(self);
  return true;
}

void lk_memory_budget_give_back(lk_memory_budget *self, uint64_t bytes) {
  give(self, bytes);
}

/* A block of the C library's is a little larger than what was asked for. How much is known when it
 * is there; this is what glibc takes for small ones, and saves a second look at the limit. */
static uint64_t likely_block_bytes(size_t size) {
  enum { OWN = sizeof(size_t), STEP = 2 * sizeof(size_t), LEAST = 3 * sizeof(size_t) };
  if (size <= LEAST) return LEAST;
  return (uint64_t)size > UINT64_MAX - STEP ? size : ((size + OWN - 1) / STEP + 1) * STEP - OWN;
}

static void *alloc_default(lk_memory_budget *self, size_t size, size_t alignment) {
  if (alignment >= LK_PAGE) {
    void *spare = lk_spare_pages_take(&self->spare, size);
    if (spare != NULL) return spare;
  }
  const uint64_t likely = likely_block_bytes(size);
  if (!take(self, likely, size)) return NULL;
  void *block = self->host.alloc(self->host.user, size, alignment);
  if (block == NULL) {
    refusal = (lk_memory_refusal){0};
    give(self, likely);
    return NULL;
  }
  const uint64_t bytes = lk_block_bytes(block);
  if (bytes < likely) give(self, likely - bytes);
  if (bytes > likely && !take(self, bytes - likely, size)) {
    self->host.free(self->host.user, block);
    give(self, likely);
    return NULL;
  }
  if (lk_pages_may_lie_at(block)) lk_spare_pages_use(&self->spare, block);
  return block;
}

/* Pages of their own are the C library's affair: of a host's memory, they would be a rest of a page
 * before each block. */
static void *alloc_host(lk_memory_budget *self, size_t size, size_t alignment) {
  if (alignment >= LK_PAGE) alignment = LK_DATA_ALIGNMENT;
  const size_t offset = offset_of(alignment);
  size_t bytes = 0;
  if (__builtin_add_overflow(size, offset, &bytes) || !take(self, bytes, bytes)) return NULL;
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
    if (lk_pages_may_lie_at(block)) {
      give(self, lk_spare_pages_keep(&self->spare, block));
      return;
    }
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
  budget->spare = (lk_spare_pages){0};
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
                           .spare = lk_spare_pages_bytes(&self->spare)};
}

lk_memory_refusal lk_memory_refusal_last(void) {
  return refusal;
}
