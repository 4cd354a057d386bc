/* Numbers at equal distances: each from its place, so that errors do not add up. */
#include "ops/kernel/range.h"

enum { SHARED_COUNT = 64 * 1024 };

static void count_up(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_range *self = loop->params;
  for (int64_t i = begin; i < end; i++) {
    if (self->is_float) {
      ((double *)loop->pointers[0])[i] = self->first + (double)i * self->between;
    } else {
      ((int64_t *)loop->pointers[0])[i] =
          (int64_t)((uint64_t)self->start + (uint64_t)i * (uint64_t)self->delta);
    }
  }
}

lk_status lk_range_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_range *self = params;
  return lk_kernel_turns(self->count, self->count >= SHARED_COUNT, count_up, params, pointers);
}
