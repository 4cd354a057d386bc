/* Matrices of whole numbers of few bits, in blocks along their rows, as f32: each element is
 * (number - zero point) scale, of its block.
 *
 * Numbers follow each other from the lowest bit of the first byte on; so do packed zero points,
 * where each row begins with a byte of its own.
 *
 * Bound: bytes of the result. */
#pragma once

#include "ops/kernel/kernel.h"

typedef enum lk_block_zeros {
  LK_BLOCK_ZEROS_NONE,   /* half of the range */
  LK_BLOCK_ZEROS_PACKED, /* of as many bits as the numbers */
  LK_BLOCK_ZEROS_REAL    /* f32 */
} lk_block_zeros;

typedef struct lk_block_bits {
  int64_t rows, columns;
  int64_t block; /* elements; a multiple of 8 */
  uint32_t bits; /* 2, 4 or 8 */
  uint32_t zeros /* lk_block_zeros */;
} lk_block_bits;

/* How many blocks a row has, and how many bytes of zero points if those are packed. */
int64_t lk_block_bits_blocks(const lk_block_bits *self);
int64_t lk_block_bits_zero_bytes(const lk_block_bits *self);

/* Operands, at any address but for scales and zero points of f32. */
typedef struct lk_block_operands {
  const uint8_t *numbers; /* [rows][blocks][block bits / 8] */
  const float *scales;    /* [rows][blocks] */
  const void *zeros;      /* [rows][blocks], or packed; NULL where there are none */
} lk_block_operands;

/* The zero point of a block of a row. */
float lk_block_bits_zero(const lk_block_bits *self, const void *zeros, int64_t row, int64_t block);

/* Params: lk_block_bits. Pointers: numbers, scales, zero points if there are any, and the matrix,
 * [rows][columns]. */
lk_status lk_block_bits_kernel(const void *params, void *const *pointers, lk_error *error);
