/* Depthwise convolutions. */
#include "ops/kernel/depthwise.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ops/kernel/product_chain.h"
#include "ops/kernel/sizes.h"

/* What a turn reads for a line of the output is read again for the next one: at most so much of the
 * L1 cache, which has 32 KiB or more. Measured, as is how many channels a turn has: with few, lines
 * stay in the cache; with all, memory is read in its order, which wins where that is the bound. */
enum { CHANNELS = 128, CHANNELS_APART = 64, STREAM_BYTES = 4 << 20 };
enum { WINDOW_BYTES = 24 << 10, STREAM_WINDOW_BYTES = 384 << 10 };
enum { LEAST_PIECE = 4 * LK_DEPTHWISE_COLUMNS, ELEMENT = sizeof(float) };

/* Fewer operations than this are done sooner than another thread wakes up. */
static const double LEAST_SHARED = 1e6;

static int64_t channels_of(const lk_depthwise *self) {
  return self->shape.groups * self->shape.out_channels;
}
static int64_t positions(const lk_depthwise *self) {
  return self->shape.kernel[0] * self->shape.kernel[1] * self->shape.kernel[2];
}
static int64_t lanes_of(const lk_depthwise *self) {
  return lk_depthwise_tiles_get(self->isa)->lanes;
}

/* ---- sizes ---- */

static void drop_last_dimension(lk_conv_shape *shape) {
  int64_t *const sizes[] = {shape->in,     shape->out,      shape->kernel,
                            shape->stride, shape->dilation, shape->pad};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    memmove(sizes[i] + 1, sizes[i], (LK_CONV_DIMS - 1) * sizeof *sizes[i]);
    sizes[i][0] = 1;
  }
  shape->pad[0] = 0;
}

/* Tiles are along the last dimension. */
static void find_last_dimension(lk_conv_shape *shape) {
  for (int d = 1; d < LK_CONV_DIMS; d++) {
    if (shape->in[2] != 1 || shape->out[2] != 1 || shape->kernel[2] != 1) return;
    drop_last_dimension(shape);
  }
}

static uint8_t find_window(const lk_depthwise *self) {
  const lk_conv_shape *shape = &self->shape;
  const lk_depthwise_tiles *tiles = lk_depthwise_tiles_get(self->isa);
  const int64_t window = shape->kernel[2] / 2 - 1, stride = shape->stride[2] - 1;
  const bool is_known = shape->kernel[2] % 2 == 1 && window >= 0 && window < LK_DEPTHWISE_WINDOWS &&
                        stride < LK_DEPTHWISE_STRIDES && shape->dilation[2] == 1 &&
                        shape->out_channels == 1 && tiles->inside[window][stride] != NULL &&
                        (shape->groups >= tiles->lanes || self->isa == LK_ISA_AVX512);
  return is_known ? (uint8_t)window : LK_DEPTHWISE_WINDOWS;
}

/* Whether a turn has all channels. */
static bool is_stream(const lk_depthwise *self) {
  const lk_conv_shape *shape = &self->shape;
  const int64_t in = shape->in[0] * shape->in[1] * shape->in[2] * shape->groups;
  const int64_t out = shape->out[0] * shape->out[1] * shape->out[2] * channels_of(self);
  return shape->stride[2] == 1 && (in + out) * ELEMENT > STREAM_BYTES;
}

static int64_t most_channels(const lk_depthwise *self) {
  if (is_stream(self)) return channels_of(self);
  return self->shape.stride[2] == 1 ? CHANNELS : CHANNELS_APART;
}

/* Blocks of whole vectors: the last vector may reach back over its neighbour, not its block. And of
 * an even number, since a tile has two. */
static void plan_block(lk_depthwise *self) {
  const int64_t lanes = lanes_of(self), vectors = lk_max(1, channels_of(self) / lanes);
  const int64_t blocks = lk_div_up(vectors * lanes, lk_max(lanes, most_channels(self)));
  self->block = lk_div_up(vectors, 2 * blocks) * 2 * lanes;
  self->blocks = lk_div_up(vectors * lanes, self->block);
}

static void plan_piece(lk_depthwise *self) {
  const lk_conv_shape *shape = &self->shape;
  const int64_t lines = shape->kernel[0] * shape->kernel[1] * shape->stride[2];
  const int64_t column = lines * ELEMENT * lk_min(self->block, channels_of(self));
  const int64_t most =
      lk_max(LEAST_PIECE, (is_stream(self) ? STREAM_WINDOW_BYTES : WINDOW_BYTES) / column);
  const int64_t pieces = lk_max(1, lk_div_up(shape->out[2], most));
  const int64_t columns = lk_div_up(shape->out[2], pieces);
  self->piece = lk_max(1, lk_div_up(columns, LK_DEPTHWISE_COLUMNS)) * LK_DEPTHWISE_COLUMNS;
}

void lk_depthwise_plan(lk_depthwise *self, lk_isa isa) {
  self->isa = isa;
  find_last_dimension(&self->shape);
  self->window = find_window(self);
  plan_block(self);
  plan_piece(self);
}

static int64_t pieces_of(const lk_depthwise *self) {
  return lk_div_up(self->shape.out[2], self->piece);
}

int64_t lk_depthwise_turns(const lk_depthwise *self) {
  const lk_conv_shape *shape = &self->shape;
  return shape->batch * self->blocks * pieces_of(self) * shape->out[0] * shape->out[1];
}

double lk_depthwise_operations(const lk_depthwise *self) {
  const lk_conv_shape *shape = &self->shape;
  return 2.0 * (double)(shape->batch * shape->out[0] * shape->out[1] * shape->out[2]) *
         (double)(channels_of(self) * positions(self));
}

void lk_depthwise_describe(const lk_depthwise *self, char *text, size_t capacity) {
  (void)snprintf(text, capacity, "%dx%" PRId64 " in blocks of %" PRId64 "x%" PRId64,
                 LK_DEPTHWISE_COLUMNS, lanes_of(self), self->piece, self->block);
}

/* ---- weights ---- */

int64_t lk_depthwise_packed_size(const lk_depthwise *self) {
  const int64_t lanes = lanes_of(self);
  return lk_div_up(channels_of(self), lanes) * positions(self) * lanes;
}

/* See load_lanes and load_any in depthwise_tile.inc. */
static bool shifts_last_vector(const lk_depthwise *self) {
  return self->isa != LK_ISA_AVX512 && self->window < LK_DEPTHWISE_WINDOWS;
}

static int64_t first_channel(const lk_depthwise *self, int64_t vector) {
  const int64_t lanes = lanes_of(self), last = channels_of(self) - lanes;
  return shifts_last_vector(self) ? lk_min(vector * lanes, last) : vector * lanes;
}

void lk_depthwise_layout(const lk_depthwise *self, int64_t numbers[LK_DEPTHWISE_LAYOUT_NUMBERS]) {
  numbers[0] = channels_of(self);
  numbers[1] = positions(self);
  numbers[2] = lanes_of(self);
  numbers[3] = shifts_last_vector(self);
}

void lk_depthwise_pack(const lk_depthwise *self, const float *weights, float *packed) {
  const int64_t lanes = lanes_of(self), channels = channels_of(self), taps = positions(self);
  for (int64_t v = 0; v < lk_div_up(channels, lanes); v++) {
    const int64_t first = first_channel(self, v);
    for (int64_t t = 0; t < taps; t++, packed += lanes) {
      for (int64_t i = 0; i < lanes; i++) {
        packed[i] = first + i < channels ? weights[(first + i) * taps + t] : 0;
      }
    }
  }
}

void lk_depthwise_unpack(const lk_depthwise *self, const float *packed, float *weights) {
  const int64_t lanes = lanes_of(self), channels = channels_of(self), taps = positions(self);
  for (int64_t v = 0; v < lk_div_up(channels, lanes); v++) {
    const int64_t first = first_channel(self, v);
    for (int64_t t = 0; t < taps; t++, packed += lanes) {
      for (int64_t i = 0; i < lanes && first + i < channels; i++) {
        weights[(first + i) * taps + t] = packed[i];
      }
    }
  }
}

/* ---- a turn ---- */

typedef struct turn {
  int64_t image, block, piece, plane, line;
} turn;

static turn find_turn(const lk_depthwise *self, int64_t number) {
  const int64_t lines = self->shape.out[1], planes = self->shape.out[0], pieces = pieces_of(self);
  turn found = {.line = number % lines};
  number /= lines;
  found.plane = number % planes;
  number /= planes;
  found.piece = number % pieces;
  number /= pieces;
  found.block = number % self->blocks;
  found.image = number / self->blocks;
  return found;
}

static void go_on(const lk_depthwise *self, turn *at) {
  if (++at->line < self->shape.out[1]) return;
  at->line = 0;
  if (++at->plane < self->shape.out[0]) return;
  at->plane = 0;
  if (++at->piece < pieces_of(self)) return;
  at->piece = 0;
  if (++at->block < self->blocks) return;
  at->block = 0;
  at->image++;
}

/* The positions of the window along a dimension that lie in the image. */
typedef struct inside {
  int64_t first, count, at; /* `at`: of the first one, in the image */
} inside;

static inside find_inside(const lk_conv_shape *shape, int d, int64_t pixel) {
  const int64_t at = pixel * shape->stride[d] - shape->pad[d], step = shape->dilation[d];
  const int64_t first = at < 0 ? lk_div_up(-at, step) : 0;
  const int64_t end = at < shape->in[d] ? lk_div_up(shape->in[d] - at, step) : 0;
  return (inside){first, lk_max(0, lk_min(end, shape->kernel[d]) - first), at + first * step};
}

/* Bits for the columns from `first` on, `count` of them, that lie in 0 .. image - 1. */
static uint32_t columns_inside(int64_t first, int64_t count, int64_t image) {
  const int64_t begin = lk_min(count, lk_max(0, -first));
  const int64_t end = lk_max(begin, lk_min(count, image - first));
  return (uint32_t)(((uint64_t)1 << end) - ((uint64_t)1 << begin));
}

/* So many tiles of `width` columns from `column` on, which call->in and call->out begin with. */
static void run_tiles(const lk_depthwise *self, lk_depthwise_call *call, int64_t column,
                      int64_t width, int64_t count) {
  const lk_conv_shape *shape = &self->shape;
  const lk_depthwise_tiles *tiles = lk_depthwise_tiles_get(self->isa);
  const int64_t image = shape->in[2], step = width * shape->stride[2];
  const int64_t span =
      (width - 1) * shape->stride[2] + (shape->kernel[2] - 1) * shape->dilation[2] + 1;
  const bool is_any = self->window == LK_DEPTHWISE_WINDOWS;
  const int64_t s = shape->stride[2] - 1;
  int64_t at = column * shape->stride[2] - shape->pad[2];
  call->in_tile = step * call->in_column;
  call->out_tile = width * call->out_column;
  call->width = width;
  while (count > 0) {
    const bool are_inside = at >= 0 && at + span <= image;
    call->tiles = are_inside ? lk_min(count, (image - span - at) / step + 1) : 1;
    call->first = at;
    if (is_any) {
      (are_inside && width == LK_DEPTHWISE_COLUMNS ? tiles->any_inside : tiles->any_at_edge)(call);
    } else if (are_inside && width == LK_DEPTHWISE_COLUMNS) {
      tiles->inside[self->window][s](call);
    } else {
      call->columns = columns_inside(at, span, image);
      tiles->at_edge[self->window][s][width](call);
    }
    call->in += call->tiles * call->in_tile;
    call->out += call->tiles * call->out_tile;
    at += call->tiles * step;
    count -= call->tiles;
  }
}

/* The widest tiles, and one or two for what is left: narrow ones wait for their sums. */
static void run_columns(const lk_depthwise *self, lk_depthwise_call *call, int64_t column,
                        int64_t count) {
  const int64_t most = LK_DEPTHWISE_COLUMNS;
  int64_t whole = count / most;
  if (whole > 0 && count % most > 0 && count % most < most / 2) whole--;
  const int64_t rest = count - whole * most, parts = lk_div_up(rest, most);
  run_tiles(self, call, column, most, whole);
  for (int64_t i = 0, at = column + whole * most; i < parts; i++) {
    const int64_t width = (rest + parts - 1 - i) / parts;
    run_tiles(self, call, at, width, 1);
    at += width;
  }
}

static void run_turn(const lk_depthwise *self, void *const *pointers, const turn *at) {
  const lk_conv_shape *shape = &self->shape;
  const int64_t lanes = lanes_of(self), all = channels_of(self);
  const int64_t channel = at->block * self->block, column = at->piece * self->piece;
  const int64_t channels = at->block == self->blocks - 1 ? all - channel : self->block;
  const int64_t columns = lk_min(self->piece, shape->out[2] - column);
  const inside plane = find_inside(shape, 0, at->plane), line = find_inside(shape, 1, at->line);
  const int64_t pixel =
      ((at->image * shape->out[0] + at->plane) * shape->out[1] + at->line) * shape->out[2] + column;
  const int64_t line_step = shape->in[2] * shape->groups;
  const float *input = pointers[0], *weights = pointers[1];
  const float *bias = self->has_bias ? pointers[3] : NULL;
  float *out = (float *)pointers[2] + pixel * all + channel;
  const int64_t from =
      ((at->image * shape->in[0] + plane.at) * shape->in[1] + line.at) * line_step +
      (column * shape->stride[2] - shape->pad[2]) * shape->groups;
  const int64_t position = (plane.first * shape->kernel[1] + line.first) * shape->kernel[2];
  lk_depthwise_call call = {
      .in = input + from + (shape->out_channels > 1 ? channel / shape->out_channels : channel),
      .weights = weights + channel * positions(self) + position * lanes,
      .bias = bias != NULL ? bias + channel : NULL,
      .out = out,
      .planes = line.count > 0 ? plane.count : 0,
      .lines = line.count,
      .plane_step = shape->dilation[0] * shape->in[1] * line_step,
      .line_step = shape->dilation[1] * line_step,
      .weights_plane = shape->kernel[1] * shape->kernel[2] * lanes,
      .weights_line = shape->kernel[2] * lanes,
      .weights_vector = positions(self) * lanes,
      .in_column = shape->groups,
      .out_column = all,
      .channels = channels,
      .clips = self->low > -INFINITY ||
                       self->high<INFINITY, .low = self->low, .high = self->high,
                                  .window = shape->kernel[2], .stride = shape->stride[2],
                                  .dilation = shape->dilation[2], .image = shape->in[2],
                                  .channel = shape->out_channels> 1
                   ? channel % shape->out_channels
                   : 0,
      .multiplier = shape->out_channels};
  run_columns(self, &call, column, columns);
  if (!self->has_chain) return;
  const lk_product_chain *chain = (const void *)(self + 1);
  const lk_product_chain_operands operands =
      lk_product_chain_at(chain, pointers + 3 + self->has_bias, pixel, channel);
  const lk_product_chain_tile tile = {
      .c = out, .c_step = all, .row_step = 1, .rows = columns, .columns = channels};
  lk_product_chain_apply(chain, &operands, &tile);
}

static void do_turns(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_depthwise *self = loop->params;
  turn at = find_turn(self, begin);
  for (int64_t i = begin; i < end; i++) {
    run_turn(self, loop->pointers, &at);
    go_on(self, &at);
  }
}

lk_status lk_depthwise_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_depthwise *self = params;
  (void)error;
  return lk_kernel_turns(lk_depthwise_turns(self), lk_depthwise_operations(self) >= LEAST_SHARED,
                         do_turns, self, pointers);
}
