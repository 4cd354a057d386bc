/* The rows of a tile one by one. */
#include "ops/kernel/conv/conv_loose.h"

#include "ops/kernel/sizes.h"

/* ---- rows ---- */

typedef struct rows {
  int64_t count;
  const float *from[LK_MICRO_LOOSE_ROWS];
  int64_t at[LK_CONV_DIMS][LK_MICRO_LOOSE_ROWS];
} rows;

/* `count` rows along a line. */
static void add_rows(const lk_conv_source *self, int64_t count, rows *out) {
  const lk_conv_cursor *cursor = &self->cursor;
  const int64_t stride = self->conv->shape.stride[2];
  const int64_t step = stride * lk_conv_pixel_step(self->conv);
  for (int64_t i = 0, r = out->count; i < count; i++, r++) {
    out->from[r] = cursor->from + i * step;
    out->at[0][r] = cursor->at[0];
    out->at[1][r] = cursor->at[1];
    out->at[2][r] = cursor->at[2] + i * stride;
  }
  out->count += count;
}

static void find_rows(lk_conv_source *self, int64_t count, rows *out) {
  while (out->count < count) {
    const int64_t of_line = self->conv->shape.out[2] - self->cursor.pixel[2];
    const int64_t more = lk_min(count - out->count, of_line);
    add_rows(self, more, out);
    lk_conv_cursor_advance(self, more);
  }
}

/* ---- taps ---- */

/* Which rows have their position in the input: along a dimension, a bit for each row. */
typedef struct row_masks {
  int64_t at[LK_CONV_DIMS]; /* positions in the kernel that they were found for; -1: none */
  uint32_t of[LK_CONV_DIMS];
} row_masks;

static uint32_t find_mask(const lk_conv *conv, const rows *of, int d, int64_t position) {
  const int64_t offset = position * conv->shape.dilation[d];
  const uint64_t size = (uint64_t)conv->shape.in[d];
  uint32_t mask = 0;
  for (int64_t r = 0; r < of->count; r++) {
    mask |= (uint32_t)((uint64_t)(of->at[d][r] + offset) < size) << r;
  }
  return mask;
}

static uint32_t rows_inside(const lk_conv *conv, const rows *of, const lk_conv_tap *tap,
                            row_masks *masks) {
  uint32_t mask = ~(uint32_t)0;
  for (int d = 0; d < LK_CONV_DIMS && mask != 0; d++) {
    if (masks->at[d] != tap->at[d]) {
      masks->of[d] = find_mask(conv, of, d, tap->at[d]);
      masks->at[d] = tap->at[d];
    }
    mask &= masks->of[d];
  }
  return mask;
}

/* Returns whether any of the rows reads the input. */
static bool set_rows(lk_conv_source *self, const rows *of, const lk_conv_tap *tap, row_masks *masks,
                     const float *out[LK_MICRO_LOOSE_ROWS]) {
  const uint32_t mask = rows_inside(self->conv, of, tap, masks);
  if (mask == 0) return false;
  for (int64_t r = 0; r < of->count; r++) {
    out[r] = (mask >> r & 1) != 0 ? of->from[r] + tap->elements : lk_conv_zeros;
  }
  return true;
}

void lk_conv_loose_next(lk_conv_source *self, int64_t left, int64_t first, int64_t last, int64_t k,
                        lk_product_tiles *out) {
  const lk_conv *conv = self->conv;
  rows of = {0};
  find_rows(self, lk_min(left, lk_min(conv->product.tile_rows, LK_MICRO_LOOSE_ROWS)), &of);
  out->rows = of.count;
  out->tiles = 1;
  out->n_taps = 0;
  if (first == last) return;
  lk_conv_tap tap = lk_conv_tap_find(conv, first, k);
  row_masks masks = {.at = {-1, -1, -1}};
  for (; tap.number < last; lk_conv_tap_next(conv, k, &tap)) {
    if (!set_rows(self, &of, &tap, &masks, out->taps[out->n_taps].a)) continue;
    out->tap[out->n_taps++] = tap.number;
  }
}
