/* A transposed convolution as ordinary ones. */
#include "ops/kernel/conv_phases.h"

#include "ops/kernel/sizes.h"

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

int64_t lk_conv_phases(const lk_conv_shape *shape) {
  return shape->stride[0] * shape->stride[1] * shape->stride[2];
}

static lk_conv_taps find_taps(const lk_conv_shape *shape, int d, int64_t remainder) {
  const int64_t stride = shape->stride[d], dilation = shape->dilation[d];
  lk_conv_taps found = {0, stride / common_divisor(stride, dilation), 0};
  if (dilation == 1) found.first = remainder; /* what the loop would find */
  while (found.first < found.step && found.first * dilation % stride != remainder) found.first++;
  if (found.first == found.step || found.first >= shape->kernel[d]) return found;
  found.count = (shape->kernel[d] - 1 - found.first) / found.step + 1;
  return found;
}

static int64_t taps_before(const lk_conv_shape *shape, int d, int64_t remainder) {
  int64_t sum = 0;
  for (int64_t r = 0; r < remainder; r++) sum += find_taps(shape, d, r).count;
  return sum;
}

/* Along a dimension. */
static void set_sizes(const lk_conv_shape *shape, int d, int64_t remainder, lk_conv_phase *phase) {
  const int64_t stride = shape->stride[d], dilation = shape->dilation[d];
  const lk_conv_taps taps = find_taps(shape, d, remainder);
  const int64_t first = ((remainder - shape->pad[d]) % stride + stride) % stride;
  const int64_t last_tap = taps.first + lk_max(0, taps.count - 1) * taps.step;
  phase->taps[d] = taps;
  phase->first[d] = first;
  phase->shape.out[d] = lk_max(0, (shape->out[d] - first + stride - 1) / stride);
  phase->shape.kernel[d] = taps.count;
  phase->shape.stride[d] = 1;
  phase->shape.dilation[d] = dilation / common_divisor(stride, dilation);
  phase->shape.pad[d] = (last_tap * dilation - first - shape->pad[d]) / stride;
}

lk_conv_phase lk_conv_phase_find(const lk_conv_shape *shape, int64_t number) {
  lk_conv_phase found = {.shape = *shape};
  int64_t remainder[LK_CONV_DIMS];
  for (int d = LK_CONV_DIMS; d-- > 0;) {
    remainder[d] = number % shape->stride[d];
    number /= shape->stride[d];
    set_sizes(shape, d, remainder[d], &found);
  }
  int64_t lines = 1; /* taps in the dimensions so far */
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    int64_t behind = 1;
    for (int e = d + 1; e < LK_CONV_DIMS; e++) behind *= shape->kernel[e];
    found.taps_before += lines * taps_before(shape, d, remainder[d]) * behind;
    lines *= found.taps[d].count;
  }
  return found;
}

int64_t lk_conv_phase_position(const lk_conv_shape *shape, const lk_conv_phase *phase,
                               int64_t tap) {
  int64_t at[LK_CONV_DIMS];
  for (int d = LK_CONV_DIMS; d-- > 0;) {
    const lk_conv_taps *taps = &phase->taps[d];
    at[d] = taps->first + (taps->count - 1 - tap % taps->count) * taps->step;
    tap /= taps->count;
  }
  return (at[0] * shape->kernel[1] + at[1]) * shape->kernel[2] + at[2];
}
