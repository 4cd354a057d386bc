/* Loops of the kernels that reduce: poolings, reductions, running sums, softmax, local response
 * normalization. One source for each kernel (*_loops.inc), compiled for SSE2, AVX2 and AVX-512. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ops/kernel/element/element_ops.h"
#include "ops/kernel/isa.h"

/* ---- poolings ---- */

/* One window after the other, of which all have the same elements of the kernel (taps) in the
 * input. Steps are in elements. */
typedef struct lk_pool_call {
  const void *from; /* first tap of the first window */
  void *to;
  int32_t *positions;             /* maxima only; NULL: not wanted */
  int64_t taps[3], steps[3];      /* of the three spatial dimensions */
  int64_t first_tap, tap_next[2]; /* as numbers of the kernel, for positions */
  int64_t length;                 /* outputs that lie side by side */
  int64_t stride;                 /* between their windows */
  int64_t runs, from_next, to_next;
  bool has_slack;        /* of f32: there is one line, and memory for 64 elements more */
  bool is_exact;         /* to multiply by 1 / divisor: a power of 2 */
  double divisor;        /* of sums */
  const float *divisors; /* a further one for each output of a run; NULL: none */
} lk_pool_call;

typedef void lk_pool_fn(const lk_pool_call *call);

/* Windows of 3 x 3 elements, one element apart, over lines `first` to `end` - 1 of a plane of
 * outputs. Sizes are lines and columns. */
typedef struct lk_pool_plane {
  const float *from;
  float *to;
  int64_t in[2], out[2];
  int64_t begin[2]; /* padding before the input */
  int64_t first, end;
  const float *line_divisors, *column_divisors; /* of sums: of each line and column of outputs */
} lk_pool_plane;

typedef void lk_pool_plane_fn(const lk_pool_plane *plane);

typedef enum lk_pool_loop { LK_POOL_LARGEST, LK_POOL_LARGEST_AT, LK_POOL_SUM } lk_pool_loop;
typedef enum lk_pool_type { LK_POOL_F32, LK_POOL_F64, LK_POOL_U8, LK_POOL_I8 } lk_pool_type;

/* ---- reductions ---- */

typedef enum lk_reduce_kind {
  LK_REDUCE_SUM,
  LK_REDUCE_SIZES,   /* the sum of |x| */
  LK_REDUCE_SQUARES, /* the sum of x^2 */
  LK_REDUCE_PRODUCT,
  LK_REDUCE_MAX, /* NaN comes out, as in numpy */
  LK_REDUCE_MIN,
  LK_REDUCE_LARGEST, /* of f32 alone: NaN does not count, as in a pooling */
  LK_REDUCE_KINDS
} lk_reduce_kind;

/* What is reduced so far: real of f32 and f64, whole of integers, which wrap around. */
typedef union lk_reduce_total {
  double real;
  int64_t whole;
} lk_reduce_total;

/* Takes `n` elements more into a total. Elements are those of an lk_element_class. Of all but sums
 * of f32, fewer than LK_REDUCE_LANES are taken in their order, as those of a column are. */
enum { LK_REDUCE_LANES = 8, LK_REDUCE_BYTES = 16 };
typedef void lk_reduce_row_fn(lk_reduce_total *total, const void *from, int64_t n);

/* Of f32: rows of `n` elements, each of which is a result by itself: the total times a factor. */
typedef struct lk_reduce_rows {
  const float *from;
  float *to;
  int64_t n, rows, from_next, to_next;
  double factor;
} lk_reduce_rows;
typedef void lk_reduce_rows_fn(const lk_reduce_rows *rows);

/* The totals of rows, `from_next` elements apart, of `n` elements each, none of which is begun. */
typedef void lk_reduce_many_fn(lk_reduce_total *totals, const void *from, int64_t n, int64_t rows,
                               int64_t from_next);

/* As lk_reduce_row_fn for `columns` totals at once, up to LK_REDUCE_COLUMNS: `n` rows, `step`
 * elements apart. There is memory for that many totals. */
enum { LK_REDUCE_COLUMNS = 512 };
typedef void lk_reduce_columns_fn(lk_reduce_total *totals, int64_t columns, const void *from,
                                  int64_t n, int64_t step);

/* Of `n` integers: a number below 2^k where the sizes of all are at most that. */
typedef uint64_t lk_reduce_bits_fn(const void *from, int64_t n);

/* Those totals times a factor, as f32. */
typedef void lk_reduce_finish_fn(const lk_reduce_total *totals, int64_t columns, double factor,
                                 float *to);

/* Real totals as f32 that can be rounded once more: to f16 or bf16. */
typedef void lk_reduce_narrow_fn(const lk_reduce_total *totals, int64_t count, float *to);

typedef struct lk_reduce_loops {
  lk_reduce_total start;
  lk_reduce_row_fn *row;
  lk_reduce_columns_fn *columns;
  lk_reduce_many_fn *many;
  lk_reduce_rows_fn *rows; /* NULL: there is none */
} lk_reduce_loops;

/* ---- along one dimension: `n` rows of `columns`, `step` elements apart, which may be less than 0.
 * Columns are at most LK_REDUCE_COLUMNS ---- */

/* Of each column the first row that has the largest element, or the smallest. NaN is either. */
typedef void lk_largest_fn(const void *from, int64_t n, int64_t step, int64_t columns,
                           bool smallest, int64_t *at);
/* Of `n` elements side by side, how many come before the first LK_SKIP_WORSE that have one larger
 * than `worst`, an element, or smaller; NaN in either is both. Whole LK_SKIP_WORSE. */
enum { LK_SKIP_WORSE = 32 };
typedef int64_t lk_skip_worse_fn(const void *from, int64_t n, const void *worst, bool smallest);
/* The places of `n` elements side by side, up to LK_SORT_FEW, from the largest to the smallest, or
 * the other way round; of equal ones the first comes first. NaN is larger than all others. */
enum { LK_SORT_FEW = 32 };
typedef void lk_sort_few_fn(const void *from, int64_t n, bool smallest, int64_t *places);
/* Sums, or products, of each column up to each row; with `exclusive`, of the rows before it.
 * `totals` go on from call to call. */
typedef void lk_running_fn(const void *from, void *to, int64_t n, int64_t step, int64_t columns,
                           bool product, bool exclusive, lk_reduce_total *totals);

/* ---- softmax ---- */

/* `n` elements a row; with `is_log` logarithms. Rows lie side by side. */
typedef void lk_softmax_rows_fn(const float *from, float *to, int64_t n, int64_t rows, bool is_log);
/* Of up to LK_SOFTMAX_WIDE elements each. */
enum { LK_SOFTMAX_WIDE = 4096 };
typedef void lk_softmax_rows_f64_fn(const double *from, double *to, int64_t n, int64_t rows,
                                    bool is_log);
/* Up to LK_SOFTMAX_COLUMNS columns of `n` rows, which lie `step` apart. */
enum { LK_SOFTMAX_COLUMNS = 64 };
typedef void lk_softmax_columns_fn(const float *from, float *to, int64_t n, int64_t step,
                                   int64_t columns, bool is_log);

/* ---- norms ---- */

typedef struct lk_norm_row {
  const float *from;
  float *to;
  const float *scale, *bias; /* NULL: none */
  int64_t n, inner;          /* elements; of them, those that share a scale and a bias */
  double epsilon;
  bool is_centered;
} lk_norm_row;

/* What became of the row: its mean, and 1 over its standard deviation. */
typedef struct lk_norm_result {
  float mean, factor;
} lk_norm_result;
typedef lk_norm_result lk_norm_row_fn(const lk_norm_row *row);

/* ---- local response normalization ---- */

typedef struct lk_lrn_window {
  int64_t channels, before, behind; /* neighbours that count, where they are there */
  int64_t step;                     /* from channel to channel; of columns */
  float factor, beta, bias;
} lk_lrn_window;

/* `count` rows of channels, or so many columns, up to LK_LRN_COLUMNS. */
enum { LK_LRN_COLUMNS = 64 };
typedef void lk_lrn_fn(const lk_lrn_window *window, const float *from, float *to, int64_t count);

/* ---- all ---- */

typedef struct lk_row_loops {
  lk_pool_fn *pool[4][3];            /* by lk_pool_type and lk_pool_loop */
  lk_pool_plane_fn *pool_rolling[2]; /* maxima, sums */
  lk_reduce_loops reduce[LK_ELEMENT_CLASSES][LK_REDUCE_KINDS];
  /* maxima and minima of rows of LK_REDUCE_BYTES at least, of bytes as they lie */
  lk_reduce_loops reduce_u8[2], reduce_i8[2];
  lk_reduce_bits_fn *reduce_bits[LK_ELEMENT_CLASSES];
  lk_reduce_finish_fn *reduce_finish;
  lk_reduce_narrow_fn *reduce_narrow;
  lk_largest_fn *largest[LK_ELEMENT_CLASSES];
  lk_skip_worse_fn *skip_worse[LK_ELEMENT_CLASSES];
  lk_sort_few_fn *sort_few[LK_ELEMENT_CLASSES];
  lk_running_fn *running[LK_ELEMENT_CLASSES];
  lk_softmax_rows_fn *softmax_rows;
  lk_softmax_rows_f64_fn *softmax_rows_f64;
  lk_softmax_columns_fn *softmax_columns;
  lk_lrn_fn *lrn_rows, *lrn_columns;
  lk_norm_row_fn *norm_row;
} lk_row_loops;

extern const lk_row_loops lk_row_loops_base, lk_row_loops_avx2, lk_row_loops_avx512;

/* Only for a processor that has the instructions. */
static inline const lk_row_loops *lk_row_loops_get(lk_isa isa) {
  return LK_BY_ISA(isa, lk_row_loops);
}
