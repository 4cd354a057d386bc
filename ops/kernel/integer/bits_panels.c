/* Matrices of few bits in panels. */
#include "ops/kernel/integer/bits_panels.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/kernel/kernel.h"
#include "ops/kernel/sizes.h"

enum { WORD = sizeof(int32_t) };

static size_t aligned(size_t bytes) {
  return (bytes + LK_DATA_ALIGNMENT - 1) & ~(size_t)(LK_DATA_ALIGNMENT - 1);
}

/* Elements of a column in a lane, and how many lanes it takes. */
static int64_t of_lane(const lk_block_bits *self) {
  return 32 / self->bits;
}
static int64_t groups_of(const lk_block_bits *self) {
  return lk_div_up(self->columns, of_lane(self));
}

/* Where the parts of a panel lie in it: numbers [groups][panel] of 32 bits; scales [blocks][panel];
 * zero points likewise, as bytes where they are packed. */
typedef struct places {
  size_t scales, zeros, size;
} places;

static places find_places(const lk_bits_panels *self) {
  const size_t of_blocks = (size_t)(lk_block_bits_blocks(&self->bits) * self->panel);
  const uint32_t zeros = self->bits.zeros;
  const size_t zero_bytes = zeros == LK_BLOCK_ZEROS_NONE     ? 0
                            : zeros == LK_BLOCK_ZEROS_PACKED ? 1
                                                             : sizeof(float);
  const size_t numbers = (size_t)(groups_of(&self->bits) * self->panel) * WORD;
  places found = {.scales = aligned(numbers)};
  found.zeros = aligned(found.scales + of_blocks * sizeof(float));
  found.size = aligned(found.zeros + of_blocks * zero_bytes);
  return found;
}

static const uint8_t *panel_at(const lk_bits_panels *self, const places *at, int64_t panel) {
  return (const uint8_t *)self + aligned(sizeof *self) + (size_t)panel * at->size;
}

/* Of a panel, from `block` on. */
static lk_integer_bits_scaling scaling_of(const lk_bits_panels *self, const places *at,
                                          const uint8_t *panel, int64_t block) {
  const lk_block_bits *bits = &self->bits;
  const int64_t first = block * self->panel;
  lk_integer_bits_scaling found = {.scales = (const float *)(panel + at->scales) + first,
                                   .zero = (float)(1U << (bits->bits - 1))};
  if (bits->zeros == LK_BLOCK_ZEROS_PACKED) found.byte_zeros = panel + at->zeros + first;
  if (bits->zeros == LK_BLOCK_ZEROS_REAL) found.zeros = (const float *)(panel + at->zeros) + first;
  return found;
}

/* ---- packing ---- */

size_t lk_bits_panels_size(const lk_bits_panels *self) {
  return aligned(sizeof *self) + (size_t)self->panels * find_places(self).size;
}

typedef struct packing {
  const lk_bits_panels *panels;
  const lk_block_operands *from;
  uint8_t *to; /* the first panel */
} packing;

/* One row, as column `column` of a panel. Four bytes of its numbers are a lane. */
static void pack_row(const lk_bits_panels *self, const lk_block_operands *from, int64_t row,
                     int64_t column, uint8_t *panel) {
  const lk_block_bits *bits = &self->bits;
  const places at = find_places(self);
  const int64_t blocks = lk_block_bits_blocks(bits), groups = groups_of(bits);
  const uint8_t *numbers = from->numbers + row * blocks * (bits->block * bits->bits / 8);
  float *scales = (float *)(panel + at.scales), *zeros = (float *)(panel + at.zeros);
  for (int64_t g = 0; g < groups; g++) {
    memcpy(panel + (g * self->panel + column) * WORD, numbers + g * WORD, WORD);
  }
  for (int64_t b = 0; b < blocks; b++) {
    const int64_t place = b * self->panel + column;
    scales[place] = from->scales[row * blocks + b];
    if (bits->zeros == LK_BLOCK_ZEROS_PACKED) {
      panel[at.zeros + (size_t)place] = (uint8_t)lk_block_bits_zero(bits, from->zeros, row, b);
    } else if (bits->zeros == LK_BLOCK_ZEROS_REAL) {
      zeros[place] = lk_block_bits_zero(bits, from->zeros, row, b);
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
  const size_t bytes = lk_bits_panels_size(self);
  memset(to, 0, aligned(sizeof *self));
  memcpy(to, self, sizeof *self);
  lk_team_for(self->panels, lk_sharing_pays_for((int64_t)bytes, LK_SHARING_ELEMENT), pack_panels,
              &work);
}

/* ---- as f32 ---- */

void lk_bits_panels_make(const lk_bits_panels *self, const lk_integer_loops *loops, int64_t panel,
                         int64_t k, int64_t k_end, float *to) {
  const lk_block_bits *bits = &self->bits;
  const places at = find_places(self);
  const uint8_t *from = panel_at(self, &at, panel);
  const int64_t each = of_lane(bits);
  while (k < k_end) {
    const int64_t block = k / bits->block, end = lk_min((block + 1) * bits->block, k_end);
    const lk_integer_bits part = {.from = (const int32_t *)from + k / each * self->panel,
                                  .rows = lk_div_up(end - k, each),
                                  .columns = self->panel,
                                  .bits = bits->bits,
                                  .scaling = scaling_of(self, &at, from, block),
                                  .to = to};
    loops->unpack(&part);
    to += (end - k) * self->panel;
    k = end;
  }
}

void lk_bits_panels_sum(const lk_bits_panels *self, const lk_integer_loops *loops,
                        const float *from, int64_t step, int64_t rows, int64_t panel, float *to) {
  const lk_block_bits *bits = &self->bits;
  const places at = find_places(self);
  const uint8_t *of_panel = panel_at(self, &at, panel);
  lk_integer_bits_sum product = {.numbers = (const int32_t *)of_panel,
                                 .from_step = step,
                                 .k = bits->columns,
                                 .block = bits->block,
                                 .columns = self->panel,
                                 .bits = bits->bits,
                                 .scaling = scaling_of(self, &at, of_panel, 0)};
  for (int64_t r = 0; r < rows; r += product.rows) {
    product.rows = rows - r >= LK_INTEGER_BITS_ROWS ? LK_INTEGER_BITS_ROWS : 1;
    product.from = from + r * step;
    product.to = to + r * self->panel;
    loops->sum_bits(&product);
  }
}

/* ---- by bytes ---- */

/* Of a row: its bytes, in an even number of words, then what its blocks need. */
static int64_t words_of(const lk_block_bits *self) {
  return lk_div_up(groups_of(self) * (8 / self->bits), 2) * 2;
}
static size_t left_row_size(const lk_block_bits *self) {
  return (size_t)words_of(self) * WORD +
         (size_t)lk_block_bits_blocks(self) * sizeof(lk_integer_bits_left);
}

size_t lk_bits_left_size(const lk_block_bits *self, const lk_integer_loops *loops, int64_t rows) {
  return self->bits <= loops->byte_bits ? (size_t)rows * left_row_size(self) : 0;
}

/* In the order of words; returns their sum. */
static int32_t order_bytes(const lk_block_bits *self, const int8_t *from, int64_t count,
                           int8_t *to) {
  const int64_t each = 8 / self->bits, lane = of_lane(self);
  int32_t sum = 0;
  for (int64_t i = 0; i < count; i += lane) {
    for (int64_t j = 0; j < lane && i + j < count; j++) {
      to[i + j % each * 4 + j / each] = from[i + j];
      sum += from[i + j];
    }
  }
  return sum;
}

/* What is not finite leaves no number in its block. */
static lk_integer_bits_left make_block(const lk_block_bits *self, const lk_integer_loops *loops,
                                       const float *from, int64_t count, int8_t *to) {
  enum { AT_ONCE = 256 };
  int8_t bytes[AT_ONCE];
  float least = 0, most = 0, check = 0;
  int32_t sum = 0;
  for (int64_t i = 0; i < count; i++) check += from[i] * 0;
  if (check != 0) return (lk_integer_bits_left){.scale = NAN};
  loops->range(from, count, &least, &most);
  const float largest = most > -least ? most : -least;
  const lk_byte_type type = {largest > 0 ? largest / (float)INT8_MAX : 1, 0, true};
  for (int64_t i = 0; i < count; i += AT_ONCE) {
    const int64_t part = lk_min(count - i, AT_ONCE);
    loops->quantize(from + i, (uint8_t *)bytes, part, &type);
    sum += order_bytes(self, bytes, part, to + i);
  }
  return (lk_integer_bits_left){type.scale, (float)sum};
}

typedef struct left_rows {
  const lk_block_bits *bits;
  const lk_integer_loops *loops;
  const float *from;
  int64_t step;
  char *to;
} left_rows;

static void make_rows(const void *arg, int64_t begin_row, int64_t end_row) {
  const left_rows *self = arg;
  const lk_block_bits *bits = self->bits;
  const size_t size = left_row_size(bits);
  for (int64_t r = begin_row; r < end_row; r++) {
    int8_t *bytes = (int8_t *)self->to + (size_t)r * size;
    lk_integer_bits_left *of_blocks = (lk_integer_bits_left *)(bytes + words_of(bits) * WORD);
    memset(bytes, 0, size);
    for (int64_t b = 0; b < lk_block_bits_blocks(bits); b++) {
      const int64_t first = b * bits->block, count = lk_min(bits->block, bits->columns - first);
      of_blocks[b] =
          make_block(bits, self->loops, self->from + r * self->step + first, count, bytes + first);
    }
  }
}

void lk_bits_left_make(const lk_block_bits *self, const lk_integer_loops *loops, const float *from,
                       int64_t step, int64_t rows, void *to) {
  const left_rows work = {self, loops, from, step, to};
  lk_team_for(rows, lk_sharing_pays_for(rows * self->columns, LK_SHARING_ELEMENT), make_rows,
              &work);
}

void lk_bits_panels_multiply(const lk_bits_panels *self, const lk_integer_loops *loops,
                             const void *left, int64_t first_row, int64_t rows, int64_t panel,
                             float *to) {
  const lk_block_bits *bits = &self->bits;
  const places at = find_places(self);
  const uint8_t *from = panel_at(self, &at, panel);
  const size_t row_size = left_row_size(bits);
  lk_integer_bits_product product = {.numbers = (const int32_t *)from,
                                     .bytes_step = (int64_t)(row_size / WORD),
                                     .left_step =
                                         (int64_t)(row_size / sizeof(lk_integer_bits_left)),
                                     .block = bits->block,
                                     .groups = groups_of(bits),
                                     .blocks = lk_block_bits_blocks(bits),
                                     .columns = self->panel,
                                     .bits = bits->bits,
                                     .scaling = scaling_of(self, &at, from, 0)};
  for (int64_t r = 0; r < rows; r += product.rows) {
    const char *row = (const char *)left + (size_t)(first_row + r) * row_size;
    product.rows = rows - r >= LK_INTEGER_BITS_ROWS ? LK_INTEGER_BITS_ROWS : 1;
    product.bytes = (const int32_t *)row;
    product.left = (const lk_integer_bits_left *)(row + words_of(bits) * WORD);
    product.to = to + r * self->panel;
    loops->multiply_bits(&product);
  }
}
