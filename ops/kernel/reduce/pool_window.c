/* Which elements of a window lie in the input. */
#include "ops/kernel/reduce/pool_window.h"

int64_t lk_pool_divisor(const lk_pool_geometry *self, lk_pool_kind kind, uint32_t dim, int64_t o) {
  if (kind == LK_POOL_TOTAL) return 1;
  if (kind != LK_POOL_MEAN_WITH_PADDING) return lk_pool_find_inside(self, dim, o).count;
  const int64_t size = self->begin[dim] + self->in[dim] + self->declared[dim];
  return lk_find_inside(o * self->strides[dim], self->dilations[dim], self->kernel[dim], size)
      .count;
}
