/* Lines of the input, copied with their padding. */
#include "ops/kernel/conv/conv_padded.h"

#include <string.h>

#include "ops/kernel/move/copy_plane.h"
#include "ops/kernel/sizes.h"

enum { ELEMENT = sizeof(float), LOG_ELEMENT = 2 };

/* ---- lines ---- */

/* `count` pixels of a line from `first` on, channels last. */
static void copy_pixels(const lk_conv_padded *self, int64_t line, int64_t first, int64_t count,
                        float *to) {
  const lk_conv *conv = self->rows.conv;
  const int64_t *in = conv->shape.in, channels = conv->shape.in_channels;
  if (!conv->has_planes) {
    const float *from = self->rows.input + (line * in[2] + first) * channels;
    memcpy(to, from, (size_t)(count * channels) * ELEMENT);
    return;
  }
  const int64_t lines = in[0] * in[1], plane = lines * in[2], image = line / lines;
  const float *from = self->rows.input + image * channels * plane + line % lines * in[2] + first;
  const lk_copy_plane pixels = {.from = (const char *)from,
                                .to = (char *)to,
                                .rows = count,
                                .cols = channels,
                                .from_row = ELEMENT,
                                .from_col = plane * ELEMENT,
                                .to_row = channels * ELEMENT,
                                .to_col = ELEMENT,
                                .block = ELEMENT};
  lk_copy_planes_get(conv->isa)->transpose[LOG_ELEMENT](&pixels);
}

/* What lies in the padding is zeros. */
static void fill(const lk_conv_padded *self, const lk_conv_padded_line *held, float *to) {
  const int64_t channels = self->rows.conv->shape.in_channels;
  const int64_t pixels = held->end - held->begin;
  const lk_inside inside = lk_find_inside(held->begin, 1, pixels, self->rows.conv->shape.in[2]);
  const int64_t before = inside.first * channels, behind = before + inside.count * channels;
  for (int64_t i = 0; i < before; i++) to[i] = 0;
  if (inside.count > 0) copy_pixels(self, held->number, inside.at, inside.count, to + before);
  for (int64_t i = behind; i < pixels * channels; i++) to[i] = 0;
}

/* Where pixel `wanted->begin` is in line `place` of the buffer, which has all of `wanted` then. */
static const float *hold(lk_conv_padded *self, int64_t place, const lk_conv_padded_line *wanted) {
  lk_conv_padded_line *held = &self->held[place];
  float *line = self->lines + place * self->elements;
  if (held->number != wanted->number || held->begin > wanted->begin || held->end < wanted->end) {
    *held = *wanted;
    fill(self, held, line);
  }
  return line + (wanted->begin - held->begin) * self->rows.conv->shape.in_channels;
}

/* ---- windows ---- */

/* Along a dimension, which line of the buffer is the first of a window: a line of the input has the
 * same place in all windows, and those of a window have different ones. */
static int64_t first_place(const lk_conv_padded *self, int d) {
  const lk_conv_shape *shape = &self->rows.conv->shape;
  return self->rows.cursor.pixel[d] * shape->stride[d] / shape->dilation[d] % shape->kernel[d];
}

static void add_tap(int64_t number, const float *from, lk_product_tiles *out) {
  lk_product_set_rows(from, out->a_row, out->rows, out->taps[out->n_taps].a);
  out->tap[out->n_taps++] = number;
}

/* The lines of all windows of `rows` rows from here on. */
static void add_taps(lk_conv_padded *self, int64_t rows, lk_product_tiles *out) {
  const lk_conv_shape *shape = &self->rows.conv->shape;
  const lk_conv_cursor *cursor = &self->rows.cursor;
  const int64_t places[] = {first_place(self, 0), first_place(self, 1)};
  const int64_t pixels = (rows - 1) * shape->stride[2] + shape->kernel[2];
  lk_conv_padded_line wanted = {.begin = cursor->at[2], .end = cursor->at[2] + pixels};
  for (int64_t i = 0; i < shape->kernel[0]; i++) {
    const int64_t z = cursor->at[0] + i * shape->dilation[0];
    const int64_t place = (places[0] + i) % shape->kernel[0] * shape->kernel[1];
    if (z < 0 || z >= shape->in[0]) continue;
    for (int64_t j = 0, along = places[1]; j < shape->kernel[1]; j++, along++) {
      const int64_t y = cursor->at[1] + j * shape->dilation[1];
      if (along == shape->kernel[1]) along = 0;
      if (y < 0 || y >= shape->in[1]) continue;
      wanted.number = (cursor->image * shape->in[0] + z) * shape->in[1] + y;
      add_tap(i * shape->kernel[1] + j, hold(self, place + along, &wanted), out);
    }
  }
}

/* ---- tiles ---- */

void lk_conv_padded_next(lk_conv_padded *self, int64_t left, lk_product_tiles *out) {
  const lk_conv *conv = self->rows.conv;
  const lk_conv_shape *shape = &conv->shape;
  const int64_t room = self->elements / shape->in_channels;
  const int64_t fitting = (room - shape->kernel[2]) / shape->stride[2] + 1;
  const int64_t of_line = shape->out[2] - self->rows.cursor.pixel[2];
  const int64_t rows = lk_min(lk_min(left, of_line), fitting);
  out->rows = lk_div_up(rows, lk_div_up(rows, conv->product.tile_rows));
  out->tiles = rows / out->rows;
  out->a_row = shape->stride[2] * shape->in_channels;
  out->a_next = out->rows * out->a_row;
  out->n_taps = 0;
  add_taps(self, rows, out);
  lk_conv_cursor_advance(&self->rows, out->rows * out->tiles);
}

void lk_conv_padded_clear(lk_conv_padded *self) {
  self->elements = LK_CONV_PADDED_ELEMENTS / self->rows.conv->product.taps;
  for (int i = 0; i < LK_MICRO_TAPS; i++) self->held[i].number = -1;
}
