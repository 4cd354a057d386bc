/* Where in its input a convolution finds the rows of a tile. */
#include "ops/kernel/conv/conv_rows.h"

#include "ops/kernel/conv/conv_lines.h"
#include "ops/kernel/conv/conv_loose.h"
#include "ops/kernel/sizes.h"

/* ---- pixels of the output ---- */

static void begin(lk_product_source *source, int64_t row) {
  lk_conv_cursor_begin((lk_conv_source *)source, row);
}

void lk_conv_source_next(lk_conv_padded *self, int64_t left, int64_t first, int64_t last, int64_t k,
                         lk_product_tiles *out) {
  const lk_conv *conv = self->rows.conv;
  if (conv->pads) { /* its taps are few enough to be summed at a time */
    lk_conv_padded_next(self, left, out);
  } else if (conv->line_rows > 0) {
    lk_conv_lines_next(&self->rows, left, first, last, k, out);
  } else {
    lk_conv_loose_next(&self->rows, left, first, last, k, out);
  }
}

static void next(lk_product_source *source, int64_t left, int64_t first, int64_t last, int64_t k,
                 lk_product_tiles *out) {
  lk_conv_source_next((lk_conv_padded *)source, left, first, last, k, out);
}

/* ---- pixels of the input that are the rows ---- */

static void begin_dense(lk_product_source *source, int64_t row) {
  lk_conv_source *self = (lk_conv_source *)source;
  self->cursor.from = self->input + row * lk_conv_pixel_step(self->conv);
}

static void next_dense(lk_product_source *source, int64_t left, int64_t first, int64_t last,
                       int64_t k, lk_product_tiles *out) {
  lk_conv_source *self = (lk_conv_source *)source;
  const int64_t step = lk_conv_pixel_step(self->conv);
  (void)first, (void)last; /* there is one tap */
  lk_product_split(&self->conv->product, left, out);
  out->a_row = step;
  out->a_next = out->rows * step;
  out->n_taps = 1;
  out->tap[0] = 0;
  lk_product_set_rows(self->cursor.from + k, step, out->rows, out->taps[0].a);
  self->cursor.from += out->rows * out->tiles * step;
}

void lk_conv_source_init(lk_conv_padded *self, const lk_conv *conv, const float *input) {
  self->rows.source = (lk_product_source){.a_step = 1, .begin = begin, .next = next};
  if (conv->is_dense) {
    self->rows.source.begin = begin_dense;
    self->rows.source.next = next_dense;
  }
  self->rows.conv = conv;
  self->rows.input = input;
  if (conv->pads) lk_conv_padded_clear(self);
}
