/* Matrices of few bits. */
#include "ops/kernel/integer/block_bits.h"

#include <stdbool.h>

#include "ops/kernel/sizes.h"

int64_t lk_block_bits_blocks(const lk_block_bits *self) {
  return (self->columns + self->block - 1) / self->block;
}

int64_t lk_block_bits_zero_bytes(const lk_block_bits *self) {
  return (lk_block_bits_blocks(self) * self->bits + 7) / 8;
}

static uint32_t number_at(const uint8_t *from, int64_t index, uint32_t bits) {
  const uint64_t bit = (uint64_t)index * bits;
  return from[bit / 8] >> bit % 8 & ((1U << bits) - 1);
}

float lk_block_bits_zero(const lk_block_bits *self, const void *zeros, int64_t row, int64_t block) {
  const uint8_t *packed = zeros;
  const float *real = zeros;
  switch (self->zeros) {
  case LK_BLOCK_ZEROS_PACKED:
    return (float)number_at(packed + row * lk_block_bits_zero_bytes(self), block, self->bits);
  case LK_BLOCK_ZEROS_REAL:
    return real[row * lk_block_bits_blocks(self) + block];
  default:
    return (float)(1U << (self->bits - 1));
  }
}

static void unpack_row(const lk_block_bits *self, const lk_block_operands *from, int64_t row,
                       float *to) {
  const int64_t blocks = lk_block_bits_blocks(self), bytes = self->block * self->bits / 8;
  for (int64_t b = 0; b < blocks; b++) {
    const float scale = from->scales[row * blocks + b],
                zero = lk_block_bits_zero(self, from->zeros, row, b);
    const uint8_t *numbers = from->numbers + (row * blocks + b) * bytes;
    const int64_t count = lk_min(self->block, self->columns - b * self->block);
    for (int64_t i = 0; i < count; i++) {
      *to++ = ((float)number_at(numbers, i, self->bits) - zero) * scale;
    }
  }
}

static void unpack_rows(const void *arg, int64_t begin_row, int64_t end_row) {
  const lk_kernel_loop *loop = arg;
  const lk_block_bits *self = loop->params;
  const bool has_zeros = self->zeros != LK_BLOCK_ZEROS_NONE;
  const lk_block_operands from = {loop->pointers[0], loop->pointers[1],
                                  has_zeros ? loop->pointers[2] : NULL};
  float *to = loop->pointers[has_zeros ? 3 : 2];
  for (int64_t r = begin_row; r < end_row; r++) {
    unpack_row(self, &from, r, to + r * self->columns);
  }
}

lk_status lk_block_bits_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_block_bits *self = params;
  (void)error;
  return lk_kernel_turns(self->rows,
                         lk_sharing_pays_for(self->rows * self->columns, LK_SHARING_ELEMENT),
                         unpack_rows, self, pointers);
}
