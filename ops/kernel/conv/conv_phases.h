/* A transposed convolution as ordinary ones.
 *
 * The pixels of the output whose positions have the same remainder by the stride form an ordinary
 * convolution with a part of the positions of the kernel, in reverse order: a phase. Its pixels are
 * written where they belong, `stride` apart. */
#pragma once

#include "ops/kernel/conv_shape.h"

/* Along a dimension. The positions k of the kernel that a phase has are those with a remainder of
 * k * dilation by the stride: `count`, from `first` on, `step` apart. So they depend on neither
 * padding nor sizes, and weights are packed in the order of remainders. */
typedef struct lk_conv_taps {
  int64_t first, step, count;
} lk_conv_taps;

typedef struct lk_conv_phase {
  lk_conv_shape shape;         /* as a convolution; padding may be less than none */
  int64_t first[LK_CONV_DIMS]; /* pixel of the output */
  lk_conv_taps taps[LK_CONV_DIMS];
  int64_t taps_before; /* of the phases before this one */
} lk_conv_phase;

/* `shape` is that of the transposed convolution. */
int64_t lk_conv_phases(const lk_conv_shape *shape);
lk_conv_phase lk_conv_phase_find(const lk_conv_shape *shape, int64_t number);
/* The position in the kernel of tap `tap`, in the order of the phase's convolution: backwards. */
int64_t lk_conv_phase_position(const lk_conv_shape *shape, const lk_conv_phase *phase, int64_t tap);
