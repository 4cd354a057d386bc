/* Which elements of a window lie in the input. */
#include "ops/kernel/reduce/pool_window.h"

int64_t lk_pool_first_tap(const lk_pool_geometry *self, uint32_t dim, int64_t start) {
  const int64_t dilation = self->dilations[dim];
  if (start >= 0) return 0;
  return dilation == 1 ? -start : (dilation - 1 - start) / dilation;
}

/* The tap behind the last one that lies before `limit`. */
static int64_t taps_before(const lk_pool_geometry *self, uint32_t dim, int64_t start,
                           int64_t limit) {
  const int64_t dilation = self->dilations[dim];
  if (limit <= start) return 0;
  const int64_t count = dilation == 1 ? limit - start : (limit - start - 1) / dilation + 1;
  return count < self->kernel[dim] ? count : self->kernel[dim];
}

int64_t lk_pool_end_tap(const lk_pool_geometry *self, uint32_t dim, int64_t start) {
  return taps_before(self, dim, start, self->in[dim]);
}

int64_t lk_pool_divisor(const lk_pool_geometry *self, lk_pool_kind kind, uint32_t dim, int64_t o) {
  if (kind == LK_POOL_TOTAL) return 1;
  const bool padding = kind == LK_POOL_MEAN_WITH_PADDING;
  const int64_t start = lk_pool_start(self, dim, o);
  const int64_t limit = self->in[dim] + (padding ? self->declared[dim] : 0);
  const int64_t end = taps_before(self, dim, start, limit);
  const int64_t first = padding ? 0 : lk_pool_first_tap(self, dim, start);
  return end > first ? end - first : 0;
}
