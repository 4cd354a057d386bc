/* The weights of convolutions with few channels in each group. */
#include "ops/kernel/conv/depthwise_weights.h"

#include <stdbool.h>
#include <string.h>

#include "base/team/look.h"
#include "ops/kernel/conv/conv_phases.h"
#include "ops/kernel/conv/depthwise_sizes.h"

int64_t lk_depthwise_packed_size(const lk_depthwise *self) {
  return lk_depthwise_vectors(self) * lk_conv_positions(&self->shape) * self->shape.in_channels *
         lk_depthwise_lanes_in(self);
}

/* Dimensions matter where they say in which order positions are. */
void lk_depthwise_layout(const lk_depthwise *self, int64_t numbers[LK_DEPTHWISE_LAYOUT_NUMBERS]) {
  const lk_conv_shape *shape = &self->shape;
  *numbers++ = self->is_transposed;
  *numbers++ = shape->groups;
  *numbers++ = shape->out_channels;
  *numbers++ = shape->in_channels;
  *numbers++ = lk_conv_positions(shape);
  *numbers++ = self->vector;
  *numbers++ = lk_depthwise_lanes_in(self);
  *numbers++ = lk_depthwise_lanes_of(self, lk_depthwise_vectors(self) - 1).first;
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    const bool matters = self->is_transposed && shape->kernel[d] > 1;
    *numbers++ = matters ? shape->kernel[d] : 0;
    *numbers++ = matters ? shape->stride[d] : 0;
    *numbers++ = matters ? shape->dilation[d] : 0;
  }
}

/* ---- moving ---- */

/* Position `position` of the window, of input channel `j` of each group, for all vectors: one lies
 * `step` behind the other, from `packed` on. */
static void move_lanes(const lk_depthwise *self, int64_t position, int64_t j, int64_t step,
                       float *plain, float *packed, bool packs) {
  const lk_conv_shape *shape = &self->shape;
  const int64_t all = lk_conv_positions(shape), in = shape->in_channels, out = shape->out_channels;
  const int64_t lanes = lk_depthwise_lanes_in(self), vectors = lk_depthwise_vectors(self);
  const int64_t of_output = self->is_transposed ? 1 : in, of_input = self->is_transposed ? out : 1;
  for (int64_t v = 0; v < vectors; v++, packed += step) {
    if (lk_look_after(v, LK_LOOK_FEW)) return;
    const lk_depthwise_lanes of = lk_depthwise_lanes_of(self, v);
    for (int64_t i = 0; i < lanes; i++) {
      const int64_t group = (of.first + i) / out, n = (of.first + i) % out;
      float *at = plain + (group * in * out + n * of_output + j * of_input) * all + position;
      if (packs) {
        packed[i] = 0;
        if (i < of.count) memcpy(&packed[i], at, sizeof *at); /* at any address */
      } else if (i < of.count) {
        *at = packed[i];
      }
    }
  }
}

static void move_positions(const lk_depthwise *self, float *plain, float *packed, bool packs) {
  const lk_conv_shape *shape = &self->shape;
  const int64_t channels = shape->in_channels, step = channels * lk_depthwise_lanes_in(self);
  const int64_t of_vector = lk_conv_positions(shape) * step;
  const int64_t phases = self->is_transposed ? lk_conv_phases(shape) : 1;
  const int64_t of_position = lk_depthwise_vectors(self) * step;
  int64_t done = 0;
  for (int64_t p = 0; p < phases; p++) {
    const lk_conv_phase phase =
        self->is_transposed ? lk_conv_phase_find(shape, p) : (lk_conv_phase){.shape = *shape};
    for (int64_t t = 0; t < lk_conv_positions(&phase.shape); t++) {
      if (lk_look_more(&done, of_position, LK_LOOK_EACH)) return;
      const int64_t position = self->is_transposed ? lk_conv_phase_position(shape, &phase, t) : t;
      float *to = packed + (phase.taps_before + t) * step;
      for (int64_t j = 0; j < channels; j++, to += lk_depthwise_lanes_in(self)) {
        move_lanes(self, position, j, of_vector, plain, to, packs);
      }
    }
  }
}

void lk_depthwise_pack(const lk_depthwise *self, const float *weights, float *packed) {
  move_positions(self, (float *)(uintptr_t)weights, packed, true);
}

void lk_depthwise_unpack(const lk_depthwise *self, const float *packed, float *weights) {
  move_positions(self, weights, (float *)(uintptr_t)packed, false);
}
