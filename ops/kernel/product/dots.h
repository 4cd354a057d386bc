/* Products of rows by rows, of any length: long ones are sums of parts, between which what may stop
 * them is looked at. */
#pragma once

#include "base/team/look.h"
#include "ops/kernel/product/product_loops.h"

/* As lk_dots_fn has it. */
void lk_dots_run_parts(const lk_product_loops *loops, const float *const *q, int64_t rows,
                       const float *k, int64_t k_row, int64_t keys, int64_t size, float *scores,
                       int64_t score_row);

static inline void lk_dots_run(const lk_product_loops *loops, const float *const *q, int64_t rows,
                               const float *k, int64_t k_row, int64_t keys, int64_t size,
                               float *scores, int64_t score_row) {
  if (size <= LK_LOOK_EACH) {
    loops->dots(q, rows, k, k_row, keys, size, scores, score_row);
  } else {
    lk_dots_run_parts(loops, q, rows, k, k_row, keys, size, scores, score_row);
  }
}
