/* Matrices of few bits. */
#include "ops/kernel/block_bits.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/kernel/sizes.h"

/* Elements, or bytes, that threads unpack or pack together. */
enum { LEAST_SHARED = 1 << 16 };

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

static float zero_at(const lk_block_bits *self, const void *zeros, int64_t row, int64_t block) {
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
    const float scale = from->scales[row * blocks + b], zero = zero_at(self, from->zeros, row, b);
    const uint8_t *numbers = from->numbers + (row * blocks + b) * bytes;
    const int64_t count = lk_min(self->block, self->columns - b * self->block);
    for (int64_t i = 0; i < count; i++) {
      *to++ = ((float)number_at(numbers, i, self->bits) - zero) * scale;
    }
  }
}

/* ---- in panels ---- */

/* Where the parts of a panel lie in it. */
typedef struct places {
  size_t scales, zeros, size;
} places;

static int64_t number_rows(const lk_block_bits *self) {
  return lk_div_up(self->columns, 8 / self->bits);
}

static size_t aligned(size_t bytes) {
  return (bytes + LK_DATA_ALIGNMENT - 1) & ~(size_t)(LK_DATA_ALIGNMENT - 1);
}

/* Numbers as bytes [number rows][panel]; scales [blocks][panel]; zero points likewise, as bytes
 * where they are packed. */
static places find_places(const lk_bits_panels *self) {
  const size_t of_blocks = (size_t)(lk_block_bits_blocks(&self->bits) * self->panel);
  const uint32_t zeros = self->bits.zeros;
  const size_t zero_bytes = zeros == LK_BLOCK_ZEROS_NONE     ? 0
                            : zeros == LK_BLOCK_ZEROS_PACKED ? 1
                                                             : sizeof(float);
  places found = {.scales = aligned((size_t)(number_rows(&self->bits) * self->panel))};
  found.zeros = aligned(found.scales + of_blocks * sizeof(float));
  found.size = aligned(found.zeros + of_blocks * zero_bytes);
  return found;
}

size_t lk_bits_panels_size(const lk_bits_panels *self) {
  return aligned(sizeof *self) + (size_t)self->panels * find_places(self).size;
}

typedef struct packing {
  const lk_bits_panels *panels;
  const lk_block_operands *from;
  uint8_t *to; /* the first panel */
} packing;

/* One row, as column `column` of a panel. A byte of its numbers is one of the panel's. */
static void pack_row(const lk_bits_panels *self, const lk_block_operands *from, int64_t row,
                     int64_t column, uint8_t *panel) {
  const lk_block_bits *bits = &self->bits;
  const places at = find_places(self);
  const int64_t blocks = lk_block_bits_blocks(bits);
  const uint8_t *numbers = from->numbers + row * blocks * (bits->block * bits->bits / 8);
  float *scales = (float *)(panel + at.scales), *zeros = (float *)(panel + at.zeros);
  for (int64_t i = 0; i < number_rows(bits); i++) panel[i * self->panel + column] = numbers[i];
  for (int64_t b = 0; b < blocks; b++) {
    const int64_t place = b * self->panel + column;
    scales[place] = from->scales[row * blocks + b];
    if (bits->zeros == LK_BLOCK_ZEROS_PACKED) {
      panel[at.zeros + (size_t)place] = (uint8_t)zero_at(bits, from->zeros, row, b);
    } else if (bits->zeros == LK_BLOCK_ZEROS_REAL) {
      zeros[place] = zero_at(bits, from->zeros, row, b);
    }
  }
}

static void pack_panels(const void *arg, int64_t begin_panel, int64_t end_panel) {
  const packing *work = arg;
  const lk_bits_panels *self = work->panels;
  const size_t size = find_places(self).size;
  for (int64_t p = begin_panel; p < end_panel; p++) {
    uint8_t *to = work->to + (size_t)p * size;
    const int64_t first = p * self->panel, rows = lk_min(self->panel, self->bits.rows - first);
    memset(to, 0, size); /* a scale of 0 makes the columns behind the last one 0 */
    for (int64_t r = 0; r < rows; r++) pack_row(self, work->from, first + r, r, to);
  }
}

void lk_bits_panels_pack(const lk_bits_panels *self, const lk_block_operands *from, void *to) {
  const packing work = {self, from, (uint8_t *)to + aligned(sizeof *self)};
  const bool is_shared = lk_bits_panels_size(self) >= LEAST_SHARED;
  memset(to, 0, aligned(sizeof *self));
  memcpy(to, self, sizeof *self);
  lk_team_for(self->panels, is_shared, pack_panels, &work);
}

void lk_bits_panels_make(const lk_bits_panels *self, const lk_integer_loops *loops, int64_t panel,
                         int64_t k, int64_t k_end, float *to) {
  const lk_block_bits *bits = &self->bits;
  const places at = find_places(self);
  const uint8_t *from = (const uint8_t *)self + aligned(sizeof *self) + (size_t)panel * at.size;
  const int64_t each = 8 / bits->bits;
  while (k < k_end) {
    const int64_t block = k / bits->block, end = lk_min((block + 1) * bits->block, k_end);
    const int64_t of_block = block * self->panel;
    lk_integer_bits part = {.from = from + k / each * self->panel,
                            .rows = lk_div_up(end - k, each),
                            .columns = self->panel,
                            .bits = bits->bits,
                            .scales = (const float *)(from + at.scales) + of_block,
                            .zero = (float)(1U << (bits->bits - 1)),
                            .to = to};
    if (bits->zeros == LK_BLOCK_ZEROS_PACKED) part.byte_zeros = from + at.zeros + of_block;
    if (bits->zeros == LK_BLOCK_ZEROS_REAL) {
      part.zeros = (const float *)(from + at.zeros) + of_block;
    }
    loops->unpack(&part);
    to += (end - k) * self->panel;
    k = end;
  }
}

/* ---- as rows ---- */

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
  return lk_kernel_turns(self->rows, self->rows * self->columns >= LEAST_SHARED, unpack_rows, self,
                         pointers);
}
