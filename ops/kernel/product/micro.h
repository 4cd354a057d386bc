/* Microkernels: tiles of a matrix product, each computed in registers.
 *
 *   C[r][n] = clip(init[r][n] + sum over taps t and k of A_t[r][k] B_t[k][n] + add[r][n])
 *
 * They know no size but their own few rows and vectors: nothing is compiled for a model. The rows
 * of A lie anywhere, with one pointer for each row and tap; so a tile of a convolution is a product
 * too, whose taps are the positions of its kernel. Each element of C is summed in the order of taps
 * and k, whatever the tile is; so a result depends neither on tiles nor on threads.
 *
 * Bound: 2 * rows * columns * taps * k operations; in the largest tile, every load of a vector of B
 * serves all rows and every element of A all vectors, so that the adders are what is waited for.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ops/kernel/isa.h"
#include "ops/kernel/kernel.h"

enum {
  LK_MICRO_ROWS = 14,      /* the most in a tile */
  LK_MICRO_LOOSE_ROWS = 8, /* the most in a tile whose rows of A lie anywhere */
  LK_MICRO_VECTORS = 4,    /* the most in a row of a tile */
  LK_MICRO_COLUMNS = 64,   /* the most in a tile */
  LK_MICRO_WIDE_ROWS = 3,  /* the most in a tile of several panels */
  LK_MICRO_TAPS = 32       /* that callers make at a time */
};

typedef struct lk_micro_tap {
  const float
      *a[LK_MICRO_LOOSE_ROWS]; /* where each row of A begins; in a tile of more: the first */
  const float *b;              /* [k][b_step] */
} lk_micro_tap;

/* Steps are in elements. */
typedef struct lk_micro_call {
  const lk_micro_tap *taps; /* of the first tile */
  int64_t n_taps;
  int64_t k;
  int64_t a_row;          /* from a row of A to the next, in a tile of more than loose rows */
  int64_t a_step, b_step; /* from one k to the next */
  int64_t b_next;         /* run_wide: from a panel to the next */
  lk_kernel_ahead ahead;  /* what is read later: fetched, a line of a cache for each k */
  int64_t tiles;          /* one below the other, at least 1 */
  int64_t a_first;        /* from where the taps say that rows of A begin to where they do */
  int64_t a_next;         /* from a row of a tile to that of the next tile */
  const float *init;      /* what the sums begin with */
  int64_t init_step;      /* from row to row; 0: one row for all */
  const float *add;       /* NULL: nothing */
  int64_t add_step;
  float *c; /* may be `init` or `add` */
  int64_t c_step;
  float low, high; /* NaN stays NaN */
  int64_t tail; /* columns in the last vector of C, `init` and `add`; B has whole vectors, but for
                 * run_cut */
} lk_micro_call;

typedef void (*lk_micro_fn)(const lk_micro_call *call);

/* Those of one instruction set. */
typedef struct lk_micro {
  int32_t lanes;                      /* floats in a vector */
  int32_t vectors;                    /* the most in a row of a tile */
  int32_t rows[LK_MICRO_VECTORS + 1]; /* the most in a tile, by vectors */
  /* What a row of a tile costs for each k, by vectors: half an operation for each, and more where
   * too few of them hide how long one takes. Measured. */
  double costs[LK_MICRO_VECTORS + 1];
  lk_micro_fn run[LK_MICRO_VECTORS + 1][LK_MICRO_ROWS + 1]; /* by vectors and rows */
  /* By rows: tiles of so many panels of two whole vectors, where one panel has too few sums to hide
   * how long an operation takes. NULL: there is none. */
  lk_micro_fn run_wide[LK_MICRO_WIDE_ROWS + 1];
  int32_t wide_panels[LK_MICRO_WIDE_ROWS + 1];
  /* By vectors: tiles of one row that read no further than `tail` columns of B's last vector. */
  lk_micro_fn run_cut[LK_MICRO_VECTORS + 1];
} lk_micro;

extern const lk_micro lk_micro_base, lk_micro_avx2, lk_micro_avx512;

/* Only for a processor that has the instructions. */
static inline const lk_micro *lk_micro_get(lk_isa isa) {
  return LK_BY_ISA(isa, lk_micro);
}
/* Those that compute so few columns soonest, with the same bits: half an AVX-512 vector is a whole
 * one of AVX2. */
const lk_micro *lk_micro_for(lk_isa isa, int64_t columns);
