/* Slices along an axis, picked by indices. */
#include "ops/kernel/gather.h"

#include <inttypes.h>
#include <string.h>

#include "base/status.h"

enum { SHARED_BYTES = 256 * 1024 };

static int64_t index_at(const lk_gather *self, const void *indices, int64_t k) {
  return self->wide ? ((const int64_t *)indices)[k] : (int64_t)((const int32_t *)indices)[k];
}

static bool is_inside(const lk_gather *self, int64_t index) {
  return index >= -self->axis && index < self->axis;
}

/* A turn is one slice. One that does not exist is left out. */
static void gather_slices(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_gather *self = loop->params;
  const size_t block = self->block, length = (size_t)self->axis * block;
  int64_t k = begin % self->count;
  const char *data = (const char *)loop->pointers[0] + (size_t)(begin / self->count) * length;
  char *to = (char *)loop->pointers[2] + (size_t)begin * block;
  for (int64_t turn = begin; turn < end; turn++, to += block) {
    const int64_t index = index_at(self, loop->pointers[1], k);
    const char *from = data + (size_t)(index < 0 ? index + self->axis : index) * block;
    if (!is_inside(self, index)) {
      /* the kernel says so afterwards */
    } else if (block == 4) { /* a load and a store, where a call would be dear */
      memcpy(to, from, 4);
    } else if (block == 8) {
      memcpy(to, from, 8);
    } else {
      memcpy(to, from, block);
    }
    if (++k < self->count) continue;
    k = 0;
    data += length;
  }
}

lk_status lk_gather_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_gather *self = params;
  const int64_t slices = self->outer * self->count;
  LK_RETURN_NOT_OK(lk_kernel_turns(slices, (double)slices * (double)self->block >= SHARED_BYTES,
                                   gather_slices, params, pointers));
  for (int64_t k = 0; k < self->count && self->outer > 0; k++) {
    const int64_t index = index_at(self, pointers[1], k);
    if (is_inside(self, index)) continue;
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to gather: index %" PRId64 ", must be -%" PRId64 " to %" PRId64, index,
                   self->axis, self->axis - 1);
  }
  return LK_OK;
}
