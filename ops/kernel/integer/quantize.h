/* Bytes for real numbers, y = saturate(round(x / scale) + zero), ties to even, and back: by a scale
 * and a zero point that are given, or by those that fit the range of the numbers, of which 0 always
 * is one. NaN does not count for a range, and becomes the least byte.
 *
 * Bound: bytes, of x twice where the range is looked for.
 */
#pragma once

#include "ops/kernel/element/element_ops.h"
#include "ops/kernel/integer/integer_loops.h"
#include "ops/kernel/kernel.h"

/* The scale (most - least) / 255, and the byte that is 0. Without a range the scale is 1, as ONNX
 * Runtime has it: ONNX's own formula divides by 0 then. `least` is at most 0, and `most` at
 * least. */
lk_byte_type lk_byte_type_of(float least, float most);

enum { LK_QUANTIZE_TURN = 16 * 1024, LK_QUANTIZE_TURNS = 64 };

typedef struct lk_quantize {
  const lk_integer_loops *loops;
  int64_t count;
  int64_t turns; /* by lk_quantize_plan */
  /* Of sequences: only the first elements count, and are written, `step` for each time step of the
   * longest one. 0: no lengths. */
  int64_t batch, step;
} lk_quantize;

void lk_quantize_plan(lk_quantize *self);
/* Numbers of f32. */
int64_t lk_quantize_scratch_size(const lk_quantize *self);

/* Params: lk_quantize. Pointers: x, y (u8), scale (f32), zero (u8), scratch, and with `batch` the
 * lengths (i32), which may not fit: they are cut to what there is. */
lk_status lk_quantize_kernel(const void *params, void *const *pointers, lk_error *error);

typedef enum lk_bytes_kind {
  LK_BYTES_QUANTIZE,   /* x, y */
  LK_BYTES_DEQUANTIZE, /* the same */
  LK_BYTES_ADD,        /* a, b, y: all quantized, by one scale and zero point each */
  LK_BYTES_MUL
} lk_bytes_kind;

typedef struct lk_bytes {
  const lk_integer_loops *loops;
  lk_bytes_kind kind;
  int64_t count;
  bool is_signed[3], has_zero[3]; /* of each that is bytes, in their order */
  /* Of x and y: `inner` elements in turn have a scale and a zero point of their own, of which there
   * are `channels`. */
  int64_t channels, inner;
  /* Of a pair: each `row` bytes of b in turn belong to `repeat` such rows of a. 1: b is as large
   * as a. */
  int64_t repeat, row;
} lk_bytes;

/* Params: lk_bytes. Pointers: as `kind` says, then of each that is bytes its scale (f32) and, where
 * it has one, its zero point. */
lk_status lk_bytes_kernel(const void *params, void *const *pointers, lk_error *error);

/* Rows of bytes as rows of others, quantized in another way. */
typedef struct lk_byte_rows {
  const lk_integer_loops *loops;
  int64_t rows, count;            /* count: bytes of a row */
  int64_t to_first, to_row;       /* bytes before the first row, and from row to row */
  bool is_signed[2], has_zero[2]; /* as in lk_bytes */
} lk_byte_rows;

/* Params: lk_byte_rows. Pointers: from, to, and of each its scale and zero point. */
lk_status lk_byte_rows_kernel(const void *params, void *const *pointers, lk_error *error);

/* A function of what each byte stands for, quantized: by a table, which each run makes. */
typedef struct lk_byte_table {
  const lk_integer_loops *loops;
  lk_element_fn *function; /* of f32 */
  float p;                 /* its number */
  int64_t count;
  bool is_signed[2], has_zero[2]; /* as in lk_bytes */
} lk_byte_table;

/* Params: lk_byte_table. Pointers: from, to, which may be the same, and of each its scale and zero
 * point. */
lk_status lk_byte_table_kernel(const void *params, void *const *pointers, lk_error *error);

/* Means of what bytes stand for, quantized: x [outer][count][channels], y [outer][channels], or x
 * [outer][count] and y [outer] with one channel. Sums are exact. */
typedef struct lk_byte_means {
  const lk_integer_loops *loops;
  int64_t outer, count, channels; /* count: 1 .. LK_INTEGER_SUMMED */
  bool is_signed[2], has_zero[2]; /* as in lk_bytes */
} lk_byte_means;

/* Params: lk_byte_means. Pointers: x, y, and of each its scale and zero point. */
lk_status lk_byte_means_kernel(const void *params, void *const *pointers, lk_error *error);
