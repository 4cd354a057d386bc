/* Numbers at equal distances: each from its place, so that errors do not add up. */
#include "ops/kernel/move/range.h"

/* Those of a turn from number `begin` on. */
#define WHOLE(dtype, type)                                                                         \
  case dtype: {                                                                                    \
    type *to = loop->pointers[0];                                                                  \
    const uint64_t step = (uint64_t)self->delta;                                                   \
    uint64_t number = (uint64_t)self->start + (uint64_t)begin * step;                              \
    for (int64_t i = begin; i < end; i++, number += step) to[i] = (type)number;                    \
    break;                                                                                         \
  }
#define REAL(dtype, type)                                                                          \
  case dtype: {                                                                                    \
    type *to = loop->pointers[0];                                                                  \
    for (int64_t i = begin; i < end; i++) {                                                        \
      to[i] = (type)(self->first + (double)i * self->between);                                     \
    }                                                                                              \
    break;                                                                                         \
  }

static void count_up(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_range *self = loop->params;
  switch (self->dtype) {
    WHOLE(LK_I16, int16_t)
    WHOLE(LK_I32, int32_t)
    WHOLE(LK_I64, int64_t)
    REAL(LK_F32, float)
    REAL(LK_F64, double)
  default:
    break;
  }
}

lk_status lk_range_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_range *self = params;
  return lk_kernel_turns(self->count, lk_sharing_pays_for(self->count, LK_SHARING_ELEMENT),
                         count_up, params, pointers);
}
