/* The loops of resizing, for each instruction set. */
#pragma once

#include "ops/kernel/block.h"
#include "ops/kernel/isa.h"

/* Blocks of `from`, picked by indices, one behind the other. */
typedef void lk_resize_nearest_fn(const char *from, char *to, const int32_t *indices, int64_t count,
                                  size_t block);

/* A tap of a position: where its indices and weights are for the first position; the next tap's are
 * `step` behind. */
typedef struct lk_resize_f32_taps {
  const int32_t *indices;
  const float *weights;
  int64_t taps, step;
} lk_resize_f32_taps;

/* Pixels of a row of the output: `inner` sums each. */
typedef struct lk_resize_pixels {
  const float *from;       /* [in rows][in pixels][inner] */
  int64_t row;             /* elements of a row of `from` */
  lk_resize_f32_taps y, x; /* of this row, and of the first pixel */
  int64_t pixels, inner;
  float *to;
} lk_resize_pixels;

/* Some columns of a small plane, at most a vector of them, and all rows. */
enum { LK_RESIZE_STRIP_ROWS = 128 /* the most of the input */ };

typedef struct lk_resize_strip {
  const float *from; /* [rows][row] */
  int64_t rows, row;
  lk_resize_f32_taps y, x; /* of the first row, and of the first column */
  int64_t out_rows, columns;
  float *to;
  int64_t to_row; /* elements of a row of `to` */
} lk_resize_strip;

/* Of one instruction set. */
typedef struct lk_resize_loops {
  lk_resize_nearest_fn *nearest[LK_BLOCK_CLASSES];
  /* Of the nearest of 4 bytes, where those are the elements 0, 0, 1, 1, 2 and so on: `count` of
   * them, in `rows` rows that are equal. */
  void (*doubled)(const float *from, int64_t count, float *to, int64_t rows);
  void (*pixels)(const lk_resize_pixels *call);
  int64_t strip_columns; /* the most of a strip */
  void (*strip)(const lk_resize_strip *call);
  /* `count` sums along a row. */
  void (*line)(const float *from, const lk_resize_f32_taps *x, int64_t count, float *to);
  /* The sum of `taps` lines with their weights. */
  void (*blend)(const float *const *lines, const float *weights, int64_t taps, int64_t count,
                float *to);
} lk_resize_loops;

extern const lk_resize_loops lk_resize_loops_base, lk_resize_loops_avx2, lk_resize_loops_avx512;

/* Only for a processor that has the instructions. */
static inline const lk_resize_loops *lk_resize_loops_get(lk_isa isa) {
  return LK_BY_ISA(isa, lk_resize_loops);
}
