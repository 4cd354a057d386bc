/* The rows of a tile along a line of the output. */
#include "ops/kernel/conv/conv_lines.h"

#include "ops/kernel/sizes.h"

/* A row of a tile is left out where that saves so many operations of vectors: fewer take no longer
 * than to end the sums and begin them again. */
enum { LEAST_TRIMMED = 200 };
/* So many sums of a tile hide how long an addition takes. */
enum { ENOUGH_SUMS = 10 };
/* With fewer rows than ENOUGH_ROWS, of 16 columns each, a tile waits for B: for each row that it
 * lacks as long as ROW_LACKED operations, for all as MOST_LACKED at the most. Measured. */
enum { ENOUGH_ROWS = 7, ROW_LACKED = 2, MOST_LACKED = 4 };

/* Which of `count` rows along a line have a tap in the input that the first has at `at`. */
static lk_inside rows_inside(const lk_conv *conv, int64_t at, int64_t count) {
  return lk_find_inside(at, conv->shape.stride[2], count, conv->shape.in[2]);
}

/* ---- whether ---- */

/* In operations of vectors for each k. The part of beginning and ending was fitted. */
static double cost_of_tile(const lk_conv *conv, int64_t rows) {
  const int64_t lanes = conv->product.micro->lanes, lacked = ENOUGH_ROWS - rows * 16 / lanes;
  const int64_t sums = lk_max(rows * conv->product.panel / lanes, ENOUGH_SUMS);
  return 1.5 + (double)(sums + lk_max(0, lk_min(ROW_LACKED * lacked, MOST_LACKED)));
}

static double cost_of_tiles(const lk_conv *conv, int64_t rows, int64_t most) {
  const int64_t tiles = rows / most;
  const double whole = (double)tiles * cost_of_tile(conv, most);
  return rows % most == 0 ? whole : whole + cost_of_tile(conv, rows % most);
}

/* Of the operations along a line, those that do not lie in the padding. */
static double part_inside(const lk_conv *conv) {
  int64_t inside = 0;
  for (int64_t w = 0; w < conv->shape.kernel[2]; w++) {
    const int64_t at = w * conv->shape.dilation[2] - conv->shape.pad[2];
    inside += rows_inside(conv, at, conv->shape.out[2]).count;
  }
  return (double)inside / (double)(conv->shape.kernel[2] * conv->shape.out[2]);
}

void lk_conv_lines_plan(lk_conv *conv) {
  const lk_product *product = &conv->product;
  const int64_t width = conv->shape.out[2], loose = lk_min(product->tile_rows, LK_MICRO_LOOSE_ROWS);
  conv->line_rows = 0;
  conv->trims = false;
  if (width == 0 || conv->shape.kernel[2] == 0) return;
  conv->trims =
      !conv->merges && product->k * product->panel / product->micro->lanes >= LEAST_TRIMMED;
  const int64_t rows = lk_div_up(width, lk_div_up(width, product->tile_rows));
  /* half of what is left out is lost again by beginning and ending more often */
  const double part = conv->trims ? (1 + part_inside(conv)) / 2 : 1;
  const double along = cost_of_tiles(conv, width, rows) * part;
  const double across = cost_of_tile(conv, loose) * (double)width / (double)loose;
  /* where rows lie anywhere, each has to be found, and each position is a tap */
  if (conv->merges || along <= 1.05 * across) conv->line_rows = (int32_t)rows;
}

/* ---- tiles ---- */

/* How many of `count` windows along a dimension, from here on, lie in its input. */
static int64_t windows_inside(const lk_conv_source *self, int d, int64_t count) {
  const lk_conv_shape *shape = &self->conv->shape;
  const lk_inside found = lk_find_inside(self->cursor.at[d], shape->stride[d], count,
                                         shape->in[d] - lk_conv_extent(shape, d) + 1);
  return found.first == 0 ? found.count : 0;
}

/* The next tiles of `left` pixels; returns whether all windows lie in the line. */
static bool find_tiles(const lk_conv_source *self, int64_t left, lk_product_tiles *out) {
  const lk_conv *conv = self->conv;
  const int64_t most = conv->trims ? conv->line_rows : lk_min(conv->line_rows, LK_MICRO_LOOSE_ROWS);
  int64_t inside = windows_inside(self, 2, left);
  /* those behind it do not become a tile of few rows */
  if (!conv->trims && inside < left) inside = lk_max(0, inside - lk_max(0, most - (left - inside)));
  if (inside == 0 || (conv->trims && inside < lk_min(left, most))) {
    out->rows = lk_min(left, most);
    if (left > most && left < 2 * most) out->rows = lk_div_up(left, 2);
    out->tiles = 1;
    return false;
  }
  out->rows = conv->line_rows;
  if (!conv->trims) out->rows = lk_div_up(inside, lk_div_up(inside, conv->product.tile_rows));
  out->rows = lk_min(out->rows, inside);
  out->tiles = inside / out->rows;
  return true;
}

/* The lines from here on, among `left` pixels, whose windows all lie in the input across them. */
static int64_t lines_alike(const lk_conv_source *self, int64_t left) {
  const lk_conv_shape *shape = &self->conv->shape;
  const int64_t lines = lk_min(left / shape->out[2], shape->out[1] - self->cursor.pixel[1]);
  return lk_max(1, windows_inside(self, 1, lines));
}

/* ---- taps ---- */

static bool is_in_line(const lk_conv_source *self, const lk_conv_tap *tap) {
  for (int d = 0; d < LK_CONV_DIMS - 1; d++) {
    const int64_t at = self->cursor.at[d] + tap->at[d] * self->conv->shape.dilation[d];
    if (at < 0 || at >= self->conv->shape.in[d]) return false;
  }
  return true;
}

/* A part that has the tap that is about to be added, in these rows. */
static void extend_parts(lk_inside range, lk_product_tiles *out) {
  const lk_product_part part = {range.first, range.count, out->n_taps + 1};
  const lk_product_part *last = out->n_parts > 0 ? &out->parts[out->n_parts - 1] : NULL;
  if (last == NULL || last->row != part.row || last->rows != part.rows) out->n_parts++;
  out->parts[out->n_parts - 1] = part;
}

/* Of a tile at an end of the line. Returns false where no row has the tap. */
static bool set_edge(lk_conv_source *self, const lk_conv_tap *tap, lk_product_tiles *out) {
  const lk_conv *conv = self->conv;
  const float *from = self->cursor.from + tap->elements, **rows = out->taps[out->n_taps].a;
  const int64_t at = self->cursor.at[2] + tap->at[2] * conv->shape.dilation[2];
  const lk_inside range = rows_inside(conv, at, out->rows);
  if (range.count == 0) return false;
  if (conv->trims) {
    lk_product_set_rows(from + range.first * out->a_row, out->a_row, range.count, rows);
    extend_parts(range, out);
    return true;
  }
  for (int64_t r = 0; r < out->rows; r++) {
    rows[r] =
        r >= range.first && r < range.first + range.count ? from + r * out->a_row : lk_conv_zeros;
  }
  return true;
}

void lk_conv_lines_next(lk_conv_source *self, int64_t left, int64_t first, int64_t last, int64_t k,
                        lk_product_tiles *out) {
  const lk_conv *conv = self->conv;
  const int64_t of_line = conv->shape.out[2] - self->cursor.pixel[2];
  const bool is_inside = find_tiles(self, lk_min(left, of_line), out);
  out->a_row = conv->shape.stride[2] * lk_conv_pixel_step(conv);
  out->a_next = out->rows * out->a_row;
  int64_t lines = 1; /* of one tile each, which are one call where they are alike */
  if (is_inside && out->rows == conv->shape.out[2]) {
    lines = lines_alike(self, left);
    out->tiles = lines;
    out->a_next = conv->shape.stride[1] * conv->shape.in[2] * lk_conv_pixel_step(conv);
  }
  out->n_taps = 0;
  lk_conv_tap tap = first < last ? lk_conv_tap_find(conv, first, k) : (lk_conv_tap){.number = last};
  for (; tap.number < last; lk_conv_tap_next(conv, k, &tap)) {
    if (!is_in_line(self, &tap)) continue;
    if (is_inside) {
      lk_product_set_rows(self->cursor.from + tap.elements, out->a_row, out->rows,
                          out->taps[out->n_taps].a);
    } else if (!set_edge(self, &tap, out)) {
      continue;
    }
    out->tap[out->n_taps++] = tap.number;
  }
  const int64_t of_each = out->rows * out->tiles / lines;
  for (int64_t i = 0; i < lines; i++) lk_conv_cursor_advance(self, of_each);
}
