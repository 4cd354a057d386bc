#include "ops/engine/onednn/past_cache.h"

#include <string.h>

#include "ops/engine/onednn/shapes.h"

enum { LINE = 64, PIECE = 1 << 20 };

/* oneDNN writes so where src and dst are larger than one core's part of the last cache, as the
 * processor tells it: that may be nothing at all, so every size counts as larger. */
lk_past_cache lk_past_cache_of(const lk_work *work, uint32_t pointer, uint64_t used) {
  if (work->kind != LK_WORK_RESIZE) return (lk_past_cache){0};
  const lk_tensor_desc *dst = &work->tensors[LK_ROLE_DST];
  const uint64_t size = dst->dtype == LK_F32 ? sizeof(float) : sizeof(uint16_t);
  return (lk_past_cache){(uint64_t)lk_onednn_elements(dst) * size, pointer,
                         (used + LINE - 1) / LINE * LINE};
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
