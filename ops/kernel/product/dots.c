/* Products of long rows. */
#include "ops/kernel/product/dots.h"

#include "ops/kernel/sizes.h"

/* Rows and keys at a time. */
enum { ROWS = 4, KEYS = 32 };

static void run_few(const lk_product_loops *loops, const float *const *q, int64_t rows,
                    const float *k, int64_t k_row, int64_t keys, int64_t size, float *scores,
                    int64_t score_row) {
  float part[ROWS * KEYS];
  for (int64_t i = 0; i < size && !(i > 0 && lk_team_is_stopped()); i += LK_LOOK_EACH) {
    const float *at[ROWS] = {NULL};
    for (int64_t r = 0; r < rows; r++) at[r] = q[r] + i;
    const int64_t count = lk_min(size - i, LK_LOOK_EACH);
    if (i == 0) {
      loops->dots(at, rows, k, k_row, keys, count, scores, score_row);
      continue;
    }
    loops->dots(at, rows, k + i, k_row, keys, count, part, KEYS);
    for (int64_t r = 0; r < rows; r++) {
      for (int64_t n = 0; n < keys; n++) scores[r * score_row + n] += part[r * KEYS + n];
    }
  }
}

void lk_dots_run_parts(const lk_product_loops *loops, const float *const *q, int64_t rows,
                       const float *k, int64_t k_row, int64_t keys, int64_t size, float *scores,
                       int64_t score_row) {
  for (int64_t r = 0; r < rows; r += ROWS) {
    for (int64_t n = 0; n < keys && !lk_team_is_stopped(); n += KEYS) {
      run_few(loops, q + r, lk_min(rows - r, ROWS), k + n * k_row, k_row, lk_min(keys - n, KEYS),
              size, scores + r * score_row + n, score_row);
    }
  }
}
