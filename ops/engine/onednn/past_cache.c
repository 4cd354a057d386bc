#include "ops/engine/onednn/past_cache.h"

#include <string.h>

#include "ops/engine/onednn/shapes.h"

/* oneDNN writes so where src and dst are larger than the last cache, of which it counts a part for
 * each share. No processor has less of it for one. */
#define LEAST_CACHE 65536
enum { LINE = 64, PIECE = 1 << 20 };

static uint64_t bytes_of(const lk_work *work, uint32_t role) {
  const uint64_t size = work->tensors[role].dtype == LK_F32 ? sizeof(float) : sizeof(uint16_t);
  return (uint64_t)lk_onednn_elements(&work->tensors[role]) * size;
}

lk_past_cache lk_past_cache_of(const lk_work *work, int shares, uint32_t pointer, uint64_t used) {
  if (work->kind != LK_WORK_RESIZE) return (lk_past_cache){0};
  const uint64_t src = bytes_of(work, LK_ROLE_SRC), dst = bytes_of(work, LK_ROLE_DST);
  if (src + dst <= (uint64_t)shares * LEAST_CACHE) return (lk_past_cache){0};
  return (lk_past_cache){dst, pointer, (used + LINE - 1) / LINE * LINE};
}

bool lk_past_cache_turns(const lk_past_cache *self, const void *dst) {
  return self->bytes > 0 && (uintptr_t)dst % LINE != 0;
}

void *lk_past_cache_place(const lk_past_cache *self, void *const *pointers) {
  return (unsigned char *)pointers[self->pointer] + self->offset;
}

void lk_past_cache_copy(const lk_past_cache *self, const lk_onednn *engine, void *dst,
                        const void *place) {
  const unsigned char *from = place;
  for (uint64_t at = 0; at < self->bytes && engine->team->is_stopped() == 0; at += PIECE) {
    const uint64_t left = self->bytes - at;
    memcpy((unsigned char *)dst + at, from + at, left < PIECE ? left : PIECE);
  }
}
