/* Norms of f32. */
#include "ops/kernel/reduce/norm.h"

#include <stddef.h>

/* Operations of an element: it is read for the mean, for the variance, and for its result. */
enum { ELEMENT = 64 };

static void run_rows(const void *arg, int64_t first, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_norm *self = loop->params;
  void *const *next = loop->pointers + 2;
  const float *from = loop->pointers[0];
  float *to = loop->pointers[1];
  const float *scale = self->has_scale ? *next++ : NULL;
  const float *bias = self->has_bias ? *next++ : NULL;
  float *mean = self->has_mean ? *next++ : NULL;
  float *deviation = self->has_deviation ? *next++ : NULL;
  const int64_t scales = self->n / self->inner;
  for (int64_t r = first; r < end; r++) {
    const int64_t at = self->period == 1 ? 0 : r % self->period * scales;
    const lk_norm_row row = {.from = from + r * self->n,
                             .to = to + r * self->n,
                             .scale = scale != NULL ? scale + at : NULL,
                             .bias = bias != NULL ? bias + at : NULL,
                             .n = self->n,
                             .inner = self->inner,
                             .epsilon = self->epsilon,
                             .is_centered = self->is_centered};
    const lk_norm_result result = self->row(&row);
    if (mean != NULL) mean[r] = result.mean;
    if (deviation != NULL) deviation[r] = result.factor;
  }
}

lk_status lk_norm_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_norm *self = params;
  (void)error;
  return lk_kernel_turns(self->rows, lk_sharing_pays_for(self->rows * self->n, ELEMENT), run_rows,
                         params, pointers);
}
