/* Depthwise convolutions of plain tensors. */
#include "ops/kernel/conv/depthwise_planes.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/kernel/conv/depthwise_tile.h"
#include "ops/kernel/product/product_chain.h"
#include "ops/kernel/sizes.h"

/* Elements of the buffer: it stays in the L2 cache, and most of it in the L1 cache. */
enum { BUFFER = 12 << 10 };
/* Columns of a turn, at least, if the image has them. Phases are whole vectors; behind those of a
 * line lies what a vector reads too much. */
enum { LEAST_COLUMNS = 64, LANES = LK_DEPTHWISE_LANES, SLACK = LANES };
/* Lines of a turn are a multiple of what is computed together; of lines that one vector holds it is
 * more. */
enum { LINES_TOGETHER = 4, NARROW_TOGETHER = 8 };
/* A line that half an AVX-512 vector holds has as many loads with AVX2, each in half the time; that
 * counts where windows are large. Measured. */
enum { LARGE_WINDOW = 25 };

/* Floats of the other buffer, of planes across a vector. */
enum { ACROSS_BUFFER = 16 << 10 };

/* ---- sizes ---- */

/* Of the input's columns for `columns` of the output, those that lie `stride` apart. */
static int64_t phase_elements(const lk_conv_shape *shape, int64_t columns) {
  return lk_div_up(columns - 1 + lk_div_up(lk_conv_extent(shape, 2), shape->stride[2]), LANES) *
         LANES;
}

/* Elements of a line of the buffer. */
static int64_t line_elements(const lk_conv_shape *shape, int64_t columns) {
  return shape->stride[2] * phase_elements(shape, columns) + SLACK;
}

bool lk_depthwise_planes_takes(const lk_conv_shape *shape) {
  const bool is_flat =
      shape->in[0] == 1 && shape->out[0] == 1 && shape->kernel[0] == 1 && shape->pad[0] == 0;
  return is_flat && shape->in_channels == 1 && shape->out_channels == 1 &&
         shape->kernel[2] <= LK_DEPTHWISE_WINDOW &&
         lk_conv_extent(shape, 1) <= BUFFER / line_elements(shape, LEAST_COLUMNS);
}

/* Of an image, with what windows see around it. */
static int64_t seen(const lk_conv_shape *shape, int dim) {
  return lk_max(lk_conv_span(shape, dim, shape->out[dim]), shape->pad[dim] + shape->in[dim]);
}

/* Whether planes across a vector of so many lanes are quicker. A sum takes about two cycles along a
 * line, whose windows begin at any address, and 1.2 across; a vector that is turned around, in or
 * out, takes seven. Measured. */
static bool suits_across(const lk_conv_shape *shape, int64_t lanes) {
  const int64_t in = shape->in[1] * shape->in[2], out = shape->out[1] * shape->out[2];
  const int64_t positions = lk_conv_positions(shape);
  if (seen(shape, 1) > ACROSS_BUFFER || seen(shape, 2) > ACROSS_BUFFER) return false;
  if ((seen(shape, 1) * seen(shape, 2) + positions + out) * lanes > ACROSS_BUFFER) return false;
  const double vectors = (double)lk_div_up(shape->groups, lanes);
  const double across = vectors * (1.2 * (double)(positions * out) + 7.0 * (double)(in + out));
  const int64_t together = shape->out[2] <= lanes ? NARROW_TOGETHER : LINES_TOGETHER;
  const int64_t lines = lk_div_up(shape->out[1], together) * together;
  const double along =
      2.0 * (double)shape->groups * (double)(positions * lines * lk_div_up(shape->out[2], lanes));
  return across < along;
}

void lk_depthwise_planes_plan(lk_depthwise_planes *self, lk_isa isa) {
  const lk_conv_shape *shape = &self->shape;
  self->is_across = suits_across(shape, lk_depthwise_tiles_get(isa)->lanes);
  const int64_t room = BUFFER / lk_conv_extent(shape, 1) - SLACK, stride = shape->stride[2];
  const int64_t most =
      room / stride / LANES * LANES - lk_div_up(lk_conv_extent(shape, 2), stride) + 1;
  const bool is_narrow =
      !self->is_across && shape->out[2] <= LANES / 2 && lk_conv_positions(shape) >= LARGE_WINDOW;
  self->isa = is_narrow && isa == LK_ISA_AVX512 ? LK_ISA_AVX2 : isa;
  self->columns = lk_div_up(shape->out[2], lk_div_up(shape->out[2], most));
  const int64_t fitting = BUFFER / line_elements(shape, self->columns) - lk_conv_extent(shape, 1);
  const int64_t lines = fitting / shape->stride[1] + 1;
  const int64_t each = lk_div_up(shape->out[1], lk_div_up(shape->out[1], lines));
  self->lines =
      lk_min(lk_min(lk_div_up(each, LINES_TOGETHER) * LINES_TOGETHER, lines), shape->out[1]);
}

static int64_t blocks(const lk_depthwise_planes *self) {
  return lk_div_up(self->shape.out[1], self->lines);
}
static int64_t pieces(const lk_depthwise_planes *self) {
  return lk_div_up(self->shape.out[2], self->columns);
}

double lk_depthwise_planes_operations(const lk_depthwise_planes *self) {
  const lk_conv_shape *shape = &self->shape;
  return 2.0 * (double)(shape->batch * shape->groups) * (double)(shape->out[1] * shape->out[2]) *
         (double)lk_conv_positions(shape);
}

void lk_depthwise_planes_describe(const void *params, char *text, size_t capacity) {
  const lk_depthwise_planes *self = params;
  if (self->is_across) {
    (void)snprintf(text, capacity, "planes across vectors");
    return;
  }
  (void)snprintf(text, capacity, "planes in blocks of %" PRId64 "x%" PRId64, self->lines,
                 self->columns);
}

/* ---- turns ---- */

typedef struct turn {
  int64_t plane; /* of all images */
  int64_t line, lines, column, columns;
} turn;

static turn find_turn(const lk_depthwise_planes *self, int64_t number) {
  const int64_t of_line = pieces(self), of_plane = blocks(self) * of_line;
  turn found = {.plane = number / of_plane,
                .line = number % of_plane / of_line * self->lines,
                .column = number % of_line * self->columns};
  found.lines = lk_min(self->lines, self->shape.out[1] - found.line);
  found.columns = lk_min(self->columns, self->shape.out[2] - found.column);
  return found;
}

static void apply_chain(const lk_depthwise_planes *self, void *const *pointers, const turn *at,
                        float *to) {
  const lk_product_chain *chain = (const void *)(self + 1);
  const int64_t *out = self->shape.out;
  const lk_product_chain_operands operands = lk_product_chain_at(
      chain, pointers + 3 + self->has_bias, at->plane * out[1] + at->line, at->column);
  const lk_product_chain_tile tile = {
      .c = to, .c_step = out[2], .row_step = 1, .rows = at->lines, .columns = at->columns};
  lk_product_chain_apply(chain, &operands, &tile);
}

/* What the turns of a call have in common, and the buffer. */
typedef struct turns_loop {
  const lk_depthwise_planes *planes;
  void *const *pointers;
  lk_depthwise_fill fill;
  lk_depthwise_lines lines;
  float buffer[BUFFER];
} turns_loop;

/* For turns of so many columns. */
static void set_columns(turns_loop *self, int64_t columns) {
  const lk_conv_shape *shape = &self->planes->shape;
  const int64_t pitch = line_elements(shape, columns), phase = phase_elements(shape, columns);
  self->fill.to_line = pitch;
  self->fill.phase = phase;
  self->lines.columns = columns;
  self->lines.line_step = shape->stride[1] * pitch;
  self->lines.tap_step = shape->dilation[1] * pitch;
  for (int64_t k = 0; k < shape->kernel[2]; k++) {
    const int64_t column = k * shape->dilation[2];
    self->lines.columns_at[k] = column % shape->stride[2] * phase + column / shape->stride[2];
  }
}

static void begin(turns_loop *self, const lk_depthwise_planes *planes, void *const *pointers) {
  const lk_conv_shape *shape = &planes->shape;
  self->planes = planes;
  self->pointers = pointers;
  self->fill = (lk_depthwise_fill){
      .size = {shape->in[1], shape->in[2]}, .stride = shape->stride[2], .to = self->buffer};
  self->lines = (lk_depthwise_lines){.from = self->buffer,
                                     .window = {shape->kernel[1], shape->kernel[2]},
                                     .to_line = shape->out[2],
                                     .low = planes->low,
                                     .high = planes->high};
  set_columns(self, planes->columns);
  const int64_t used = lk_conv_span(shape, 1, planes->lines) * self->fill.to_line;
  memset(self->buffer, 0, (size_t)used * sizeof self->buffer[0]); /* what vectors read too much */
}

static void run_turn(turns_loop *self, const turn *at) {
  const lk_depthwise_planes *planes = self->planes;
  const lk_conv_shape *shape = &planes->shape;
  const lk_depthwise_tiles *tiles = lk_depthwise_tiles_get(planes->isa);
  const int64_t channel = at->plane % shape->groups;
  const float *bias = planes->has_bias ? self->pointers[3] : NULL;
  float *to = (float *)self->pointers[2] + (at->plane * shape->out[1] + at->line) * shape->out[2] +
              at->column;
  if (at->columns != self->lines.columns) set_columns(self, at->columns);
  self->fill.plane = (const float *)self->pointers[0] + at->plane * shape->in[1] * shape->in[2];
  self->fill.line = at->line * shape->stride[1] - shape->pad[1];
  self->fill.column = at->column * shape->stride[2] - shape->pad[2];
  self->fill.lines = lk_conv_span(shape, 1, at->lines);
  self->lines.weights = (const float *)self->pointers[1] + channel * lk_conv_positions(shape);
  self->lines.bias = bias != NULL ? bias[channel] : 0;
  self->lines.to = to;
  self->lines.lines = at->lines;
  tiles->fill(&self->fill);
  tiles->lines(&self->lines);
  if (planes->has_chain) apply_chain(planes, self->pointers, at, to);
}

static void do_turns(const void *arg, int64_t first, int64_t end) {
  const lk_kernel_loop *loop = arg;
  turns_loop self;
  begin(&self, loop->params, loop->pointers);
  for (int64_t i = first; i < end; i++) {
    const turn at = find_turn(loop->params, i);
    run_turn(&self, &at);
  }
}

/* ---- turns of planes across a vector ---- */

static int64_t turns_across(const lk_depthwise_planes *self) {
  return self->shape.batch *
         lk_div_up(self->shape.groups, lk_depthwise_tiles_get(self->isa)->lanes);
}

static void do_turns_across(const void *arg, int64_t first, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_depthwise_planes *self = loop->params;
  const lk_depthwise_tiles *tiles = lk_depthwise_tiles_get(self->isa);
  const lk_conv_shape *shape = &self->shape;
  const int64_t of_image = lk_div_up(shape->groups, tiles->lanes);
  const int64_t in = shape->in[1] * shape->in[2], out = shape->out[1] * shape->out[2];
  alignas(LK_DATA_ALIGNMENT) float buffer[ACROSS_BUFFER];
  lk_depthwise_across call = {.shape = shape,
                              .image_lines = seen(shape, 1),
                              .image_columns = seen(shape, 2),
                              .low = self->low,
                              .high = self->high,
                              .buffer = buffer};
  const int64_t image = call.image_lines * call.image_columns * tiles->lanes;
  memset(buffer, 0, (size_t)image * sizeof *buffer); /* around the images */
  for (int64_t i = first; i < end; i++) {
    const int64_t channel = i % of_image * tiles->lanes;
    const int64_t plane = i / of_image * shape->groups + channel;
    call.count = lk_min(tiles->lanes, shape->groups - channel);
    call.planes = (const float *)loop->pointers[0] + plane * in;
    call.weights = (const float *)loop->pointers[1] + channel * lk_conv_positions(shape);
    call.bias = self->has_bias ? (const float *)loop->pointers[3] + channel : NULL;
    call.to = (float *)loop->pointers[2] + plane * out;
    tiles->across(&call);
    for (int64_t p = 0; self->has_chain && p < call.count; p++) {
      const turn at = {.plane = plane + p, .lines = shape->out[1], .columns = shape->out[2]};
      apply_chain(self, loop->pointers, &at, call.to + p * out);
    }
  }
}

lk_status lk_depthwise_planes_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_depthwise_planes *self = params;
  const int64_t turns = self->is_across
                            ? turns_across(self)
                            : self->shape.batch * self->shape.groups * blocks(self) * pieces(self);
  (void)error;
  return lk_kernel_turns(turns, lk_sharing_pays(lk_depthwise_planes_operations(self)),
                         self->is_across ? do_turns_across : do_turns, self, pointers);
}
