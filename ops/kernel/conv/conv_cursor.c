/* Where a convolution is in its output. */
#include "ops/kernel/conv/conv_cursor.h"

#include "ops/kernel/sizes.h"

const float lk_conv_zeros[LK_PRODUCT_LONGEST_SUM];

/* ---- the cursor ---- */

static void begin_line(lk_conv_source *self) {
  const lk_conv *conv = self->conv;
  lk_conv_cursor *cursor = &self->cursor;
  int64_t offset = cursor->image;
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    const int64_t at = cursor->pixel[d] * conv->shape.stride[d] - conv->shape.pad[d];
    cursor->at[d] = at;
    offset = offset * conv->shape.in[d] + at;
  }
  cursor->from = self->input + offset * lk_conv_pixel_step(conv);
}

void lk_conv_cursor_begin(lk_conv_source *self, int64_t row) {
  for (int d = LK_CONV_DIMS; d-- > 0;) {
    self->cursor.pixel[d] = row % self->conv->shape.out[d];
    row /= self->conv->shape.out[d];
  }
  self->cursor.image = row;
  begin_line(self);
}

void lk_conv_cursor_advance(lk_conv_source *self, int64_t pixels) {
  const lk_conv *conv = self->conv;
  lk_conv_cursor *cursor = &self->cursor;
  cursor->from += pixels * conv->shape.stride[2] * lk_conv_pixel_step(conv);
  cursor->at[2] += pixels * conv->shape.stride[2];
  cursor->pixel[2] += pixels;
  if (cursor->pixel[2] < conv->shape.out[2]) return;
  cursor->pixel[2] = 0;
  int d = LK_CONV_DIMS - 2;
  while (d >= 0 && ++cursor->pixel[d] == conv->shape.out[d]) cursor->pixel[d--] = 0;
  if (d < 0) cursor->image++;
  begin_line(self);
}

/* ---- taps ---- */

static void set_elements(const lk_conv *conv, int64_t k, lk_conv_tap *tap) {
  int64_t offset = 0;
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    offset = offset * conv->shape.in[d] + tap->at[d] * conv->shape.dilation[d];
  }
  tap->elements = offset * lk_conv_pixel_step(conv) + k;
}

static int64_t columns_of(const lk_conv *conv) {
  return conv->merges ? 1 : conv->shape.kernel[2];
}

lk_conv_tap lk_conv_tap_find(const lk_conv *conv, int64_t number, int64_t k) {
  lk_conv_tap found = {.number = number, .elements = k};
  if (number == 0) return found; /* most tiles begin so, and divisions take long */
  const int64_t line = number / columns_of(conv);
  found.at[0] = line / conv->shape.kernel[1];
  found.at[1] = line % conv->shape.kernel[1];
  found.at[2] = number % columns_of(conv);
  set_elements(conv, k, &found);
  return found;
}

void lk_conv_tap_next(const lk_conv *conv, int64_t k, lk_conv_tap *tap) {
  tap->number++;
  if (++tap->at[2] == columns_of(conv)) {
    tap->at[2] = 0;
    if (++tap->at[1] == conv->shape.kernel[1]) {
      tap->at[1] = 0;
      tap->at[0]++;
    }
  }
  set_elements(conv, k, tap);
}
