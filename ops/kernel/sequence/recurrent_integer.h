/* The product of a recurrent layer's state by R where R is bytes (DynamicQuantizeLSTM of
 * com.microsoft). Each time step quantizes the state by the range of all rows that take the step,
 * and multiplies bytes, exactly; the sums, times both scales, are added to the gates in f32.
 *
 * Bound: 2 * rows * columns * hidden operations a step, or R's bytes from the cache.
 */
#pragma once

#include "ops/kernel/integer/product_integer.h"
#include "ops/kernel/integer/quantize.h"

typedef struct lk_recurrent_integer {
  /* R as a right operand: hidden rows, so many matrices as directions. Planned. */
  lk_product_integer product;
  /* Of R's scales and zero points: 1 where each column has one, else 0; between directions. */
  int64_t scale_step, zero_step, scale_direction, zero_direction;
} lk_recurrent_integer;

/* Numbers of i32 that each direction works in. */
int64_t lk_recurrent_integer_scratch_size(const lk_recurrent_integer *self);

/* One direction of a run. */
typedef struct lk_recurrent_bytes {
  const lk_recurrent_integer *of;
  const int32_t *r; /* packed */
  const float *scale;
  const uint8_t *zero;
  int32_t *scratch;
  lk_byte_type type; /* of the state in the time step */
  uint8_t state_zero;
} lk_recurrent_bytes;

/* Finds the direction's part in operands of all of them. */
lk_recurrent_bytes lk_recurrent_bytes_make(const lk_recurrent_integer *of, int64_t direction,
                                           const void *r, const void *scale, const void *zero,
                                           void *scratch);
/* Begins a time step whose state has this range, with 0. */
void lk_recurrent_bytes_begin(lk_recurrent_bytes *self, float least, float most);
/* gates += quantized h by R, of rows that lie so many elements apart. */
void lk_recurrent_bytes_multiply(const lk_recurrent_bytes *self, const float *h, int64_t h_row,
                                 int64_t rows, float *gates, int64_t gates_row);
