/* Where in its input a convolution finds the rows of a tile: along a line of the input wherever
 * windows lie in it, else one by one. */
#include "ops/kernel/conv_rows.h"

#include <stddef.h>
#include <string.h>

#include "ops/kernel/sizes.h"

/* What a row in the padding reads; no longer than a block of k. */
static const float zeros[LK_PRODUCT_LONGEST_SUM];

static int64_t pixel_step(const lk_conv *conv) {
  return conv->shape.in_channels * conv->shape.groups;
}

/* ---- the cursor ---- */

static void begin_line(lk_conv_source *self) {
  const lk_conv *conv = self->conv;
  lk_conv_cursor *cursor = &self->cursor;
  int64_t offset = cursor->image;
  cursor->line_is_inside = true;
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    const int64_t at = cursor->pixel[d] * conv->shape.stride[d] - conv->shape.pad[d];
    const int64_t last = at + (conv->shape.kernel[d] - 1) * conv->shape.dilation[d];
    cursor->at[d] = at;
    offset = offset * conv->shape.in[d] + at;
    if (d < LK_CONV_DIMS - 1 && (at < 0 || last >= conv->shape.in[d]))
      cursor->line_is_inside = false;
  }
  cursor->from = self->input + offset * pixel_step(conv);
}

static void begin(lk_product_source *source, int64_t row) {
  lk_conv_source *self = (lk_conv_source *)source;
  for (int d = LK_CONV_DIMS; d-- > 0;) {
    self->cursor.pixel[d] = row % self->conv->shape.out[d];
    row /= self->conv->shape.out[d];
  }
  self->cursor.image = row;
  begin_line(self);
}

/* Within the line, or to the beginning of the next one. */
static void advance(lk_conv_source *self, int64_t pixels) {
  const lk_conv *conv = self->conv;
  lk_conv_cursor *cursor = &self->cursor;
  cursor->from += pixels * conv->shape.stride[2] * pixel_step(conv);
  cursor->at[2] += pixels * conv->shape.stride[2];
  cursor->pixel[2] += pixels;
  if (cursor->pixel[2] < conv->shape.out[2]) return;
  cursor->pixel[2] = 0;
  int d = LK_CONV_DIMS - 2;
  while (d >= 0 && ++cursor->pixel[d] == conv->shape.out[d]) cursor->pixel[d--] = 0;
  if (d < 0) cursor->image++;
  begin_line(self);
}

/* Where the last window of a line begins that lies in the input, if it does. */
static int64_t last_inside(const lk_conv *conv) {
  return conv->shape.in[2] - 1 - (conv->shape.kernel[2] - 1) * conv->shape.dilation[2];
}

/* How many pixels from here on along the line have their windows in the input. */
static int64_t pixels_inside(const lk_conv_source *self) {
  const lk_conv *conv = self->conv;
  const lk_conv_cursor *cursor = &self->cursor;
  const int64_t last = last_inside(conv);
  if (!cursor->line_is_inside || cursor->at[2] < 0 || cursor->at[2] > last) return 0;
  return lk_min(conv->shape.out[2] - cursor->pixel[2],
                (last - cursor->at[2]) / conv->shape.stride[2] + 1);
}

/* ---- rows ---- */

typedef struct rows {
  int64_t count;
  const float *from[LK_MICRO_ROWS];
  int64_t at[LK_CONV_DIMS][LK_MICRO_ROWS];
  bool are_inside;    /* all windows lie in the input */
  uint32_t reach_out; /* a bit for each whose window lies outside with some column */
} rows;

/* `count` rows along a line. */
static void add_rows(const lk_conv_source *self, int64_t count, rows *out) {
  const lk_conv_cursor *cursor = &self->cursor;
  const int64_t stride = self->conv->shape.stride[2], last = last_inside(self->conv);
  const int64_t step = stride * pixel_step(self->conv);
  for (int64_t i = 0, r = out->count; i < count; i++, r++) {
    const int64_t at = cursor->at[2] + i * stride;
    out->from[r] = cursor->from + i * step;
    out->at[0][r] = cursor->at[0];
    out->at[1][r] = cursor->at[1];
    out->at[2][r] = at;
    out->reach_out |= (uint32_t)(at < 0 || at > last) << r;
  }
  out->count += count;
  out->are_inside = out->are_inside && cursor->line_is_inside;
}

static void find_rows(lk_conv_source *self, int64_t count, rows *out) {
  out->count = 0;
  out->are_inside = true;
  out->reach_out = 0;
  while (out->count < count) {
    const int64_t of_line = self->conv->shape.out[2] - self->cursor.pixel[2];
    const int64_t more = lk_min(count - out->count, of_line);
    add_rows(self, more, out);
    advance(self, more);
  }
  out->are_inside = out->are_inside && out->reach_out == 0;
}

/* Rows along a line, all inside. */
static void find_inside(lk_conv_source *self, int64_t count, int64_t tiles, rows *out) {
  const int64_t step = self->conv->shape.stride[2] * pixel_step(self->conv);
  out->count = count;
  out->are_inside = true;
  out->reach_out = 0;
  for (int64_t r = 0; r < count; r++) out->from[r] = self->cursor.from + r * step;
  advance(self, count * tiles);
}

/* ---- taps ---- */

typedef struct tap_place {
  int64_t number;
  int64_t at[LK_CONV_DIMS]; /* position in the kernel; 0 along merged ones */
  int64_t elements;         /* of the input, from the window's beginning, and the block of k */
} tap_place;

static void set_elements(const lk_conv *conv, int64_t k, tap_place *place) {
  int64_t offset = 0;
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    offset = offset * conv->shape.in[d] + place->at[d] * conv->shape.dilation[d];
  }
  place->elements = offset * pixel_step(conv) + k;
}

static int64_t columns_of(const lk_conv *conv) {
  return conv->merges ? 1 : conv->shape.kernel[2];
}

static tap_place find_tap(const lk_conv *conv, int64_t number, int64_t k) {
  const int64_t line = number / columns_of(conv);
  tap_place found = {.number = number,
                     .at = {line / conv->shape.kernel[1], line % conv->shape.kernel[1],
                            number % columns_of(conv)}};
  set_elements(conv, k, &found);
  return found;
}

static void go_to_next_tap(const lk_conv *conv, int64_t k, tap_place *place) {
  place->number++;
  if (++place->at[2] == columns_of(conv)) {
    place->at[2] = 0;
    if (++place->at[1] == conv->shape.kernel[1]) {
      place->at[1] = 0;
      place->at[0]++;
    }
  }
  set_elements(conv, k, place);
}

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

static uint32_t rows_inside(const lk_conv *conv, const rows *of, const tap_place *tap,
                            row_masks *masks) {
  const int dims = conv->merges ? LK_CONV_DIMS - 1 : LK_CONV_DIMS;
  uint32_t mask = ~(uint32_t)0;
  for (int d = 0; d < dims && mask != 0; d++) {
    if (masks->at[d] != tap->at[d]) {
      masks->of[d] = find_mask(conv, of, d, tap->at[d]);
      masks->at[d] = tap->at[d];
    }
    mask &= masks->of[d];
  }
  return mask;
}

/* The elements of a line of the window, with zeros for the padding. */
static void copy_edge(const lk_conv *conv, int64_t at, const float *from, float *edge) {
  const int64_t width = conv->shape.kernel[2], channels = conv->shape.in_channels;
  for (int64_t w = 0; w < width; w++, from += channels) {
    const bool is_inside = at + w >= 0 && at + w < conv->shape.in[2];
    for (int64_t c = 0; c < channels; c++) edge[w * channels + c] = is_inside ? from[c] : 0;
  }
}

/* Returns whether any of the rows reads the input. */
static bool set_rows(lk_conv_source *self, const rows *of, const tap_place *tap, row_masks *masks,
                     const float *out[LK_MICRO_ROWS]) {
  const lk_conv *conv = self->conv;
  const int64_t k = conv->product.k;
  float *edge = self->edge + tap->number * LK_MICRO_ROWS * k;
  if (of->are_inside) {
    for (int64_t r = 0; r < of->count; r++) out[r] = of->from[r] + tap->elements;
    return true;
  }
  const uint32_t mask = rows_inside(conv, of, tap, masks);
  if (mask == 0) return false;
  for (int64_t r = 0; r < of->count; r++) {
    out[r] = (mask >> r & 1) != 0 ? of->from[r] + tap->elements : zeros;
  }
  for (uint32_t left = conv->merges ? mask & of->reach_out : 0; left != 0; left &= left - 1) {
    const int r = __builtin_ctz(left);
    copy_edge(conv, of->at[2][r], out[r], edge + r * k);
    out[r] = edge + r * k;
  }
  return true;
}

void lk_conv_source_next(lk_conv_source *self, int64_t left, int64_t first, int64_t last, int64_t k,
                         lk_product_tiles *out) {
  const lk_conv *conv = self->conv;
  const int64_t most = conv->product.tile_rows;
  rows of;
  out->tiles = lk_min(left, pixels_inside(self)) / most;
  if (out->tiles > 0) {
    find_inside(self, most, out->tiles, &of);
  } else {
    find_rows(self, lk_min(left, most), &of);
    out->tiles = 1;
  }
  out->rows = of.count;
  out->a_next = of.count * conv->shape.stride[2] * pixel_step(conv);
  out->n_taps = 0;
  if (first == last) return;
  tap_place tap = find_tap(conv, first, k);
  row_masks masks = {.at = {-1, -1, -1}};
  for (; tap.number < last; go_to_next_tap(conv, k, &tap)) {
    if (!set_rows(self, &of, &tap, &masks, out->taps[out->n_taps].a)) continue;
    out->tap[out->n_taps++] = tap.number;
  }
}

static void next(lk_product_source *source, int64_t left, int64_t first, int64_t last, int64_t k,
                 lk_product_tiles *out) {
  lk_conv_source_next((lk_conv_source *)source, left, first, last, k, out);
}

/* ---- pixels of the input that are the rows ---- */

static void begin_dense(lk_product_source *source, int64_t row) {
  lk_conv_source *self = (lk_conv_source *)source;
  self->cursor.from = self->input + row * pixel_step(self->conv);
}

static void next_dense(lk_product_source *source, int64_t left, int64_t first, int64_t last,
                       int64_t k, lk_product_tiles *out) {
  lk_conv_source *self = (lk_conv_source *)source;
  const int64_t step = pixel_step(self->conv), most = self->conv->product.tile_rows;
  (void)first, (void)last; /* there is one tap */
  out->rows = lk_min(left, most);
  out->tiles = left / out->rows;
  out->a_next = out->rows * step;
  out->n_taps = 1;
  out->tap[0] = 0;
  for (int64_t r = 0; r < out->rows; r++) out->taps[0].a[r] = self->cursor.from + r * step + k;
  self->cursor.from += out->rows * out->tiles * step;
}

void lk_conv_source_init(lk_conv_source *self, const lk_conv *conv, const float *input) {
  self->source = (lk_product_source){.a_step = 1, .begin = begin, .next = next};
  if (conv->is_dense) {
    self->source.begin = begin_dense;
    self->source.next = next_dense;
  }
  self->conv = conv;
  self->input = input;
}
