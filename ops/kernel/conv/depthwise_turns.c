/* Convolutions with few channels in each group: their turns. */
#include <math.h>

#include "base/team/look.h"
#include "ops/kernel/conv/conv_phases.h"
#include "ops/kernel/conv/depthwise_sizes.h"
#include "ops/kernel/product/product_chain.h"

/* Turns that a phase has before the next one: it costs as much as a short one to find it. */
enum { PHASE_TURNS = 8 };

/* ---- tiles ---- */

static lk_depthwise_kind find_kind(const lk_conv_shape *shape) {
  const int64_t window = shape->kernel[2], stride = shape->stride[2];
  if (shape->dilation[2] > 1 || stride > 2) return LK_DEPTHWISE_ANY;
  if (window == 3) return stride == 1 ? LK_DEPTHWISE_3_1 : LK_DEPTHWISE_3_2;
  if (window == 5) return stride == 1 ? LK_DEPTHWISE_5_1 : LK_DEPTHWISE_5_2;
  return window == 7 && stride == 1 ? LK_DEPTHWISE_7_1 : LK_DEPTHWISE_ANY;
}

static bool has_few_channels(const lk_depthwise *self) {
  return self->shape.groups * self->shape.in_channels < lk_depthwise_lanes_in(self);
}

/* Of a phase; there is one where the convolution is an ordinary one. */
static lk_depthwise_set find_tiles(const lk_depthwise *self, const lk_conv_shape *phase) {
  const lk_depthwise_tiles *tiles = lk_depthwise_tiles_get(self->isa);
  const bool is_depthwise = lk_depthwise_is_one_to_one(phase);
  const bool has_several = self->vector > phase->out_channels;
  const lk_depthwise_set *sets = is_depthwise  ? tiles->channels
                                 : has_several ? tiles->several
                                               : tiles->one;
  lk_depthwise_kind kind = find_kind(phase);
  if (sets[kind].inside == NULL) kind = LK_DEPTHWISE_ANY;
  if (is_depthwise && has_few_channels(self) && self->isa != LK_ISA_AVX512) kind = LK_DEPTHWISE_ANY;
  lk_depthwise_set found = sets[kind];
  if (!is_depthwise && has_several && has_few_channels(self)) {
    found.inside = found.at_edge[LK_DEPTHWISE_COLUMNS];
  }
  return found;
}

/* ---- a turn ---- */

typedef struct turn {
  int64_t image, plane, band, block, piece;
  int64_t line; /* of the image */
} turn;

static int64_t band_end(const lk_depthwise *self, const turn *at) {
  return lk_min((at->band + 1) * self->band, lk_depthwise_extent(self, 1));
}

static turn find_turn(const lk_depthwise *self, int64_t number) {
  const int64_t lines = lk_depthwise_extent(self, 1), planes = lk_depthwise_extent(self, 0),
                pieces = lk_depthwise_pieces(self), of_line = self->blocks * pieces;
  const int64_t plane = number / (of_line * lines);
  turn found = {.image = plane / planes, .plane = plane % planes};
  number %= of_line * lines;
  found.band = number / (of_line * self->band);
  number %= of_line * self->band;
  const int64_t first = found.band * self->band, count = band_end(self, &found) - first;
  found.line = first + number % count;
  number /= count;
  found.piece = number % pieces;
  found.block = number / pieces;
  return found;
}

static void go_on(const lk_depthwise *self, turn *at) {
  if (++at->line < band_end(self, at)) return;
  at->line = at->band * self->band;
  if (++at->piece < lk_depthwise_pieces(self)) return;
  at->piece = 0;
  if (++at->block < self->blocks) return;
  at->block = 0;
  at->line = ++at->band * self->band;
  if (at->line < lk_depthwise_extent(self, 1)) return;
  at->band = at->line = 0;
  if (++at->plane < lk_depthwise_extent(self, 0)) return;
  at->plane = 0;
  at->image++;
}

/* Bits for the columns from `first` on, `count` of them, that lie in 0 .. image - 1. */
static uint32_t columns_inside(int64_t first, int64_t count, int64_t image) {
  const int64_t begin = lk_min(count, lk_max(0, -first));
  const int64_t end = lk_max(begin, lk_min(count, image - first));
  return (uint32_t)(((uint64_t)1 << end) - ((uint64_t)1 << begin));
}

/* What the turns of a phase have in common. */
typedef struct phase_loop {
  const lk_depthwise *depthwise;
  void *const *pointers;
  lk_conv_phase phase;
  int64_t apart[LK_CONV_DIMS]; /* pixels of the output */
  int64_t lanes;
  lk_depthwise_set tiles;
  lk_depthwise_call call; /* but for what a turn sets */
} phase_loop;

/* So many tiles of `width` columns from `column` on, which call->in and call->out begin with. */
static void run_tiles(const phase_loop *self, lk_depthwise_call *call, int64_t column,
                      int64_t width, int64_t count) {
  const lk_conv_shape *shape = &self->phase.shape;
  const int64_t image = shape->in[2], step = width * shape->stride[2];
  const int64_t span = lk_conv_span(shape, 2, width);
  const int64_t of_tile = lk_max(1, lk_conv_positions(shape) * shape->in_channels * call->channels);
  const int64_t most = lk_look_steps(count, of_tile, LK_LOOK_BYTES); /* tiles */
  int64_t at = column * shape->stride[2] - shape->pad[2], done = 0;
  call->in_tile = step * call->in_column;
  call->out_tile = width * call->out_column;
  call->width = width;
  while (count > 0) {
    const bool are_inside = at >= 0 && at + span <= image;
    call->tiles = are_inside ? lk_min(lk_min(count, most), (image - span - at) / step + 1) : 1;
    if (lk_look_more(&done, call->tiles * of_tile, LK_LOOK_BYTES)) return;
    call->first = at;
    if (span > 0 && span <= 32) call->columns = columns_inside(at, span, image);
    if (are_inside && width == LK_DEPTHWISE_COLUMNS) {
      self->tiles.inside(call);
    } else {
      self->tiles.at_edge[width](call);
    }
    call->in += call->tiles * call->in_tile;
    call->out += call->tiles * call->out_tile;
    at += call->tiles * step;
    count -= call->tiles;
  }
}

/* The widest tiles, and one or two for what is left: narrow ones wait for their sums. */
static void run_columns(const phase_loop *self, lk_depthwise_call *call, int64_t column,
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

/* The output's pixel that a phase has there. */
static int64_t pixel_of(const phase_loop *self, int64_t image, int64_t plane, int64_t line,
                        int64_t column) {
  const int64_t at[] = {plane, line, column};
  int64_t pixel = image;
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    pixel = pixel * self->depthwise->shape.out[d] + self->phase.first[d] + at[d] * self->apart[d];
  }
  return pixel;
}

/* Where in input and weights a turn begins. */
static void set_input(const phase_loop *self, const turn *at, int64_t column,
                      lk_depthwise_call *call) {
  const lk_conv_shape *shape = &self->phase.shape;
  const lk_inside plane = lk_conv_find_inside(shape, 0, at->plane);
  const lk_inside line = lk_conv_find_inside(shape, 1, at->line);
  const int64_t position = (plane.first * shape->kernel[1] + line.first) * shape->kernel[2];
  const int64_t from =
      ((at->image * shape->in[0] + plane.at) * shape->in[1] + line.at) * shape->in[2] +
      column * shape->stride[2] - shape->pad[2];
  const int64_t vector = at->block * self->depthwise->block;
  call->in = (const float *)self->pointers[0] + from * call->in_column +
             (lk_depthwise_is_one_to_one(shape) ? call->channel : 0);
  call->weights += vector * call->weights_vector + position * shape->in_channels * self->lanes;
  call->planes = line.count > 0 ? plane.count : 0;
  call->lines = line.count;
}

static void apply_chain(const phase_loop *self, int64_t pixel, int64_t rows,
                        const lk_depthwise_call *call, float *out) {
  const lk_product_chain *chain = (const void *)(self->depthwise + 1);
  const lk_product_chain_operands operands = lk_product_chain_at(
      chain, self->pointers + 3 + self->depthwise->has_bias, pixel, call->channel);
  const lk_product_chain_tile tile = {.c = out,
                                      .c_step = call->out_column,
                                      .row_step = self->apart[2],
                                      .rows = rows,
                                      .columns = call->channels};
  lk_product_chain_apply(chain, &operands, &tile);
}

static void run_turn(const phase_loop *self, const turn *at) {
  const lk_depthwise *of = self->depthwise;
  const int64_t *out = self->phase.shape.out, column = at->piece * of->piece;
  const int64_t columns = lk_min(of->piece, out[2] - column);
  if (at->plane >= out[0] || at->line >= out[1] || columns <= 0) return;
  const int64_t pixel = pixel_of(self, at->image, at->plane, at->line, column);
  const int64_t vectors = lk_depthwise_vectors(of);
  const int64_t end = at->block == of->blocks - 1 ? vectors : (at->block + 1) * of->block;
  lk_depthwise_call call = self->call;
  call.channel = lk_depthwise_first_channel(of, at->block * of->block);
  call.channels = lk_depthwise_first_channel(of, end) - call.channel;
  if (of->has_bias) call.bias = (const float *)self->pointers[3] + call.channel;
  float *to = (float *)self->pointers[2] + pixel * lk_depthwise_channels(of) + call.channel;
  call.out = to;
  set_input(self, at, column, &call);
  run_columns(self, &call, column, columns);
  if (of->has_chain) apply_chain(self, pixel, columns, &call, to);
}

/* ---- all turns ---- */

static lk_depthwise_call make_call(const lk_depthwise *self, const lk_conv_phase *phase,
                                   const float *weights) {
  const lk_conv_shape *shape = &phase->shape;
  const int64_t pixel = shape->groups * shape->in_channels;
  const int64_t line = shape->in[2] * pixel,
                position = shape->in_channels * lk_depthwise_lanes_in(self);
  lk_depthwise_call call = {
      .weights = weights + phase->taps_before * position,
      .plane_step = shape->dilation[0] * shape->in[1] * line,
      .line_step = shape->dilation[1] * line,
      .weights_line = shape->kernel[2] * position,
      .weights_plane = shape->kernel[1] * shape->kernel[2] * position,
      .weights_vector = lk_conv_positions(&self->shape) * position,
      .in_column = pixel,
      .out_column = lk_depthwise_channels(self) * (self->is_transposed ? self->shape.stride[2] : 1),
      .clips = self->low > -INFINITY || self->high < INFINITY,
      .low = self->low,
      .high = self->high,
      .window = shape->kernel[2],
      .stride = shape->stride[2],
      .dilation = shape->dilation[2],
      .image = shape->in[2],
      .in_channels = shape->in_channels,
      .out_channels = shape->out_channels,
      .vector = self->vector,
      .vector_in = self->vector / lk_min(self->vector, shape->out_channels) * shape->in_channels};
  for (int64_t i = 0; i < lk_min(self->vector, LK_DEPTHWISE_LANES); i++) {
    call.pick[i] = (int32_t)(i / shape->out_channels * shape->in_channels);
  }
  return call;
}

static phase_loop make_loop(const lk_depthwise *self, void *const *pointers, int64_t number) {
  phase_loop made = {
      .depthwise = self, .pointers = pointers, .phase = {.shape = self->shape}, .apart = {1, 1, 1}};
  if (self->is_transposed) {
    made.phase = lk_conv_phase_find(&self->shape, number);
    for (int d = 0; d < LK_CONV_DIMS; d++) made.apart[d] = self->shape.stride[d];
  }
  made.tiles = find_tiles(self, &made.phase.shape);
  made.lanes = lk_depthwise_lanes_in(self);
  made.call = make_call(self, &made.phase, pointers[1]);
  return made;
}

/* The phases of some lines together write whole lines of the cache. */
static void do_turns(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_depthwise *self = loop->params;
  const int64_t phases = self->is_transposed ? lk_conv_phases(&self->shape) : 1;
  const int64_t at_once = phases > 1 ? PHASE_TURNS : end - begin;
  for (int64_t first = begin; first < end; first += at_once) {
    for (int64_t p = 0; p < phases; p++) {
      const phase_loop of_phase = make_loop(self, loop->pointers, p);
      turn at = find_turn(self, first);
      for (int64_t i = first; i < lk_min(first + at_once, end); i++) {
        run_turn(&of_phase, &at);
        go_on(self, &at);
      }
    }
  }
}

lk_status lk_depthwise_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_depthwise *self = params;
  (void)error;
  return lk_kernel_turns(lk_depthwise_turns(self), lk_sharing_pays(lk_depthwise_operations(self)),
                         do_turns, self, pointers);
}
