/* Loops of the products that need no tiles of micro.h. One source for each kind (dots_loops.inc,
 * product_plain.inc), compiled for SSE2, AVX2 and AVX-512. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ops/kernel/isa.h"

/* ---- products of f32 whose right operand is read where it lies ---- */

/* scores[r * score_row + k] = q[r] times row k of K: `rows` by `keys` rows of `size` elements. */
typedef void lk_dots_fn(const float *const *q, int64_t rows, const float *k, int64_t k_row,
                        int64_t keys, int64_t size, float *scores, int64_t score_row);

/* y[r] += the sum of weights[r * weight_row + k] times row k of V. */
typedef void lk_weigh_fn(const float *weights, int64_t weight_row, int64_t rows, const float *v,
                         int64_t v_row, int64_t keys, int64_t size, float *const *y);

/* ---- matrix products of other types than f32 ---- */

/* C = A B, or C += A B: `columns` of them, up to the panel's. B has all columns of the panel side
 * by side. Steps are in elements. */
typedef struct lk_plain_tile {
  const void *a, *b;
  void *c;
  int64_t rows, columns, k;
  int64_t a_row, a_k, b_k, c_row;
  bool adds;
} lk_plain_tile;
typedef void lk_plain_product_fn(const lk_plain_tile *tile);

/* Integers wrap around, whether they have a sign or not. */
typedef enum lk_plain_type {
  LK_PLAIN_F64,
  LK_PLAIN_U32,
  LK_PLAIN_U64,
  LK_PLAIN_TYPES
} lk_plain_type;

/* Bytes of a row of a panel, at most. */
enum { LK_PLAIN_PANEL = 128 };
/* So few columns are multiplied together, side by side as rows are; not shorter. */
enum { LK_PLAIN_COLUMNS = 3, LK_PLAIN_SHORTEST = 8 };

/* ---- all ---- */

typedef struct lk_product_loops {
  lk_dots_fn *dots;
  lk_weigh_fn *weigh;
  lk_plain_product_fn *plain[LK_PLAIN_TYPES];
  /* of 1 to LK_PLAIN_COLUMNS columns, b_k apart; steps along k are 1, LK_PLAIN_SHORTEST or more */
  lk_plain_product_fn *plain_columns[LK_PLAIN_TYPES];
  int64_t plain_panel; /* bytes */
} lk_product_loops;

extern const lk_product_loops lk_product_loops_base, lk_product_loops_avx2, lk_product_loops_avx512;

/* Only for a processor that has the instructions. */
static inline const lk_product_loops *lk_product_loops_get(lk_isa isa) {
  return LK_BY_ISA(isa, lk_product_loops);
}
