/* Which convolutions with few channels in each group are computed so, and in which blocks. */
#include <inttypes.h>
#include <stdio.h>

#include "base/team/look.h"
#include "ops/kernel/conv/depthwise_sizes.h"

/* What a turn reads for a line of the output is read again for the next one: at most so much of the
 * L1 cache, which has 32 KiB or more. Measured, as is how many channels a turn has: with few, lines
 * stay in the cache; with all, memory is read in its order, which wins where that is the bound. */
enum { CHANNELS = 128, STREAM_BYTES = 2 << 20 };
enum { WINDOW_BYTES = 24 << 10, STREAM_WINDOW_BYTES = 384 << 10 };
/* Lines of a band: what its blocks of channels read lies in the second-level cache, and threads
 * have parts of the image, as in the operators around. Fewer than CUT_LINES are one band. */
enum { BAND_LINES = 16, CUT_LINES = 6 };
enum { LEAST_PIECE = 4 * LK_DEPTHWISE_COLUMNS, ELEMENT = sizeof(float) };

/* ---- vectors ---- */

int64_t lk_depthwise_vectors(const lk_depthwise *self) {
  const int64_t of_group = lk_depthwise_vectors_of_group(self);
  return of_group > 1 ? of_group * self->shape.groups
                      : lk_div_up(lk_depthwise_channels(self), self->vector);
}

/* See at_channel in depthwise_tile.inc. */
static bool shifts_last_vector(const lk_depthwise *self) {
  return self->isa != LK_ISA_AVX512 && lk_depthwise_is_one_to_one(&self->shape) &&
         self->shape.groups >= lk_depthwise_lanes_in(self);
}

lk_depthwise_lanes lk_depthwise_lanes_of(const lk_depthwise *self, int64_t vector) {
  const int64_t first = lk_depthwise_first_channel(self, vector),
                lanes = lk_depthwise_lanes_in(self);
  if (shifts_last_vector(self)) {
    return (lk_depthwise_lanes){lk_min(first, lk_depthwise_channels(self) - lanes), lanes};
  }
  return (lk_depthwise_lanes){first, lk_depthwise_first_channel(self, vector + 1) - first};
}

/* ---- sizes ---- */

static void drop_last_dimension(lk_conv_shape *shape) {
  for (int d = LK_CONV_DIMS - 1; d > 0; d--) {
    shape->in[d] = shape->in[d - 1];
    shape->out[d] = shape->out[d - 1];
    shape->kernel[d] = shape->kernel[d - 1];
    shape->stride[d] = shape->stride[d - 1];
    shape->dilation[d] = shape->dilation[d - 1];
    shape->pad[d] = shape->pad[d - 1];
  }
  shape->in[0] = shape->out[0] = shape->kernel[0] = shape->stride[0] = shape->dilation[0] = 1;
  shape->pad[0] = 0;
}

/* Tiles are along the last dimension. */
static void find_last_dimension(lk_conv_shape *shape) {
  for (int d = 1; d < LK_CONV_DIMS; d++) {
    const bool is_there = shape->in[2] != 1 || shape->out[2] != 1 || shape->kernel[2] != 1;
    if (is_there || shape->pad[2] != 0) return;
    drop_last_dimension(shape);
  }
}

/* A product of matrices has no permutations, but more to do for each position. It is as fast from
 * a vector of channels on, and sooner where there is one position. Measured. */
bool lk_depthwise_takes(const lk_conv_shape *shape, lk_isa isa) {
  const int64_t lanes = lk_depthwise_tiles_get(isa)->lanes;
  const int64_t most = lk_max(shape->in_channels, shape->out_channels);
  if (shape->groups == 1 || shape->out_channels == 0) return false;
  if (lk_conv_positions(shape) > LK_LOOK_EACH) return false; /* tiles do not look within */
  if (shape->in_channels == 1) return true;
  return (lk_conv_positions(shape) == 1 ? 2 * most : most) <= lanes;
}

static int64_t step_of(const lk_depthwise *self) {
  return self->is_transposed ? 1 : self->shape.stride[2];
}

/* Whether a turn has all channels. Not of large windows, of which a tile would take long. */
static bool is_stream(const lk_depthwise *self) {
  const lk_conv_shape *shape = &self->shape;
  const int64_t in =
      shape->in[0] * shape->in[1] * shape->in[2] * shape->groups * shape->in_channels;
  const int64_t out = shape->out[0] * shape->out[1] * shape->out[2] * lk_depthwise_channels(self);
  return (in + out) * ELEMENT > STREAM_BYTES && lk_conv_positions(shape) <= LK_LOOK_FEW;
}

static int64_t most_channels(const lk_depthwise *self) {
  return is_stream(self) ? lk_depthwise_channels(self) : CHANNELS;
}

/* Blocks of whole vectors: the last vector may reach back over its neighbour, not its block. And of
 * an even number, since a tile has two. */
static void plan_block(lk_depthwise *self) {
  const lk_conv_shape *shape = &self->shape;
  const int64_t lanes = lk_depthwise_lanes_in(self),
                most = lk_max(shape->in_channels, shape->out_channels);
  self->vector = (int32_t)(lk_max(1, lanes / most) * lk_min(lanes, shape->out_channels));
  const int64_t vectors =
      lk_max(1, lk_depthwise_vectors(self) - (shifts_last_vector(self) ? 1 : 0));
  const int64_t blocks = lk_div_up(vectors * lanes, lk_max(lanes, most_channels(self)));
  self->block = lk_div_up(vectors, 2 * blocks) * 2;
  self->blocks = lk_div_up(vectors, self->block);
}

static void plan_piece(lk_depthwise *self) {
  const lk_conv_shape *shape = &self->shape;
  const int64_t apart =
      self->is_transposed ? lk_multiply_up_to_most(shape->stride[0], shape->stride[1]) : 1;
  const int64_t lines =
      lk_multiply_up_to_most(lk_max(1, shape->kernel[0] * shape->kernel[1] / apart), step_of(self));
  const int64_t channels =
      lk_min(self->block * lk_depthwise_lanes_in(self), lk_depthwise_channels(self));
  const int64_t column = lk_max(1, lk_multiply_up_to_most(lines, ELEMENT * channels));
  const int64_t most =
      lk_max(LEAST_PIECE, (is_stream(self) ? STREAM_WINDOW_BYTES : WINDOW_BYTES) / column);
  const int64_t pieces = lk_max(1, lk_div_up(lk_depthwise_extent(self, 2), most));
  const int64_t columns = lk_div_up(lk_depthwise_extent(self, 2), pieces);
  self->piece = lk_max(1, lk_div_up(columns, LK_DEPTHWISE_COLUMNS)) * LK_DEPTHWISE_COLUMNS;
}

/* An even number of bands, for threads that have one half each. */
static void plan_band(lk_depthwise *self) {
  const int64_t lines = lk_depthwise_extent(self, 1);
  const int64_t bands = lines < CUT_LINES ? 1 : 2 * lk_div_up(lines, 2 * BAND_LINES);
  self->band = lk_max(1, lk_div_up(lines, bands));
}

void lk_depthwise_plan(lk_depthwise *self, lk_isa isa) {
  self->isa = isa;
  find_last_dimension(&self->shape);
  plan_block(self);
  plan_piece(self);
  plan_band(self);
}

int64_t lk_depthwise_turns(const lk_depthwise *self) {
  return self->shape.batch * self->blocks * lk_depthwise_pieces(self) *
         lk_depthwise_extent(self, 0) * lk_depthwise_extent(self, 1);
}

double lk_depthwise_operations(const lk_depthwise *self) {
  const lk_conv_shape *shape = &self->shape;
  const int64_t *pixels = self->is_transposed ? shape->in : shape->out;
  return 2.0 * (double)(shape->batch * pixels[0] * pixels[1] * pixels[2]) *
         (double)(lk_depthwise_channels(self) * shape->in_channels * lk_conv_positions(shape));
}

void lk_depthwise_describe(const lk_depthwise *self, char *text, size_t capacity) {
  (void)snprintf(text, capacity, "%dx%" PRId32 " in blocks of %" PRId64 "x%" PRId64,
                 LK_DEPTHWISE_COLUMNS, self->vector, self->piece, self->block * self->vector);
}
