/* Sizes that planning, packing and computing have in common (depthwise.h). */
#pragma once

#include "ops/kernel/conv/depthwise.h"
#include "ops/kernel/sizes.h"

/* Channels of the output. */
static inline int64_t lk_depthwise_channels(const lk_depthwise *self) {
  return self->shape.groups * self->shape.out_channels;
}
static inline bool lk_depthwise_is_one_to_one(const lk_conv_shape *shape) {
  return shape->in_channels == 1 && shape->out_channels == 1;
}

/* ---- vectors ---- */

/* Floats that fit. */
static inline int64_t lk_depthwise_lanes_in(const lk_depthwise *self) {
  return lk_depthwise_tiles_get(self->isa)->lanes;
}
/* Those that a group has; 1: it has one at most. */
static inline int64_t lk_depthwise_vectors_of_group(const lk_depthwise *self) {
  return lk_div_up(self->shape.out_channels, lk_depthwise_lanes_in(self));
}
/* Of a vector, which may be the one behind the last. */
static inline int64_t lk_depthwise_first_channel(const lk_depthwise *self, int64_t vector) {
  const int64_t of_group = lk_depthwise_vectors_of_group(self);
  if (of_group == 1) return lk_min(vector * self->vector, lk_depthwise_channels(self));
  return vector / of_group * self->shape.out_channels +
         vector % of_group * lk_depthwise_lanes_in(self);
}

/* Of a vector: its first channel of the output, and how many it has. */
typedef struct lk_depthwise_lanes {
  int64_t first, count;
} lk_depthwise_lanes;

int64_t lk_depthwise_vectors(const lk_depthwise *self);
lk_depthwise_lanes lk_depthwise_lanes_of(const lk_depthwise *self, int64_t vector);

/* ---- turns ---- */

/* Lines of a turn's columns and so on, of each phase: the first one has the most. */
static inline int64_t lk_depthwise_extent(const lk_depthwise *self, int d) {
  const lk_conv_shape *shape = &self->shape;
  return self->is_transposed ? lk_div_up(shape->out[d], shape->stride[d]) : shape->out[d];
}

static inline int64_t lk_depthwise_pieces(const lk_depthwise *self) {
  return lk_div_up(lk_depthwise_extent(self, 2), self->piece);
}
