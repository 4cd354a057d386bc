/* Keys or values of a cache as whole numbers of 8 or 4 bits: number * scale, where the scale is one
 * for all or one for each head and element. Numbers of 4 bits are two to a byte, the first one in
 * the low half, and 8 more than what they stand for.
 *
 * Bound: bytes.
 */
#pragma once

#include "ops/kernel/integer/integer_loops.h"
#include "ops/kernel/kernel.h"

typedef struct lk_kv_bytes {
  const lk_integer_loops *loops; /* by lk_kv_bytes_plan */
  int64_t batch, heads, rows, size;
  bool is_half;    /* 4 bits; `size` is even */
  bool has_scales; /* [heads][size]; else one */
  /* Where the numbers lie that become bytes: the first one; strides of batch, head and row. */
  int64_t first, from[3];
  int64_t buffer_rows; /* of each head, of bytes that become numbers: at least `rows` */
} lk_kv_bytes;

void lk_kv_bytes_plan(lk_kv_bytes *self);

/* x / scale, rounded, ties to even, and saturated. Params: lk_kv_bytes. Pointers: f32; bytes
 * [batch][rows][heads][row]; scale. */
lk_status lk_kv_quantize_kernel(const void *params, void *const *pointers, lk_error *error);

/* The first rows of each head. Params: lk_kv_bytes. Pointers: bytes [batch][heads][buffer_rows]
 * [row]; f32 [batch][heads][rows][size]; scale. */
lk_status lk_kv_dequantize_kernel(const void *params, void *const *pointers, lk_error *error);
