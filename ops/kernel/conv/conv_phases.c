/* A transposed convolution as ordinary ones. */
#include "ops/kernel/conv/conv_phases.h"

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
  return (int64_t)shape->stride[0] * shape->stride[1] * shape->stride[2];
}

/* x below `modulus` so that a * x has remainder 1: the two have no common divisor. */
static int64_t inverse(int64_t a, int64_t modulus) {
  int64_t x = 0, next_x = 1, rest = modulus, next_rest = a;
  while (next_rest != 0) {
    const int64_t times = rest / next_rest, less_x = x - times * next_x,
                  less_rest = rest - times * next_rest;
    x = next_x;
    next_x = less_x;
    rest = next_rest;
    next_rest = less_rest;
  }
  return (x % modulus + modulus) % modulus;
}

/* The sum of (a * k + b) / m, rounded down, over k from 0 to n - 1: as Euclid finds the divisor of
 * a and m (Graham, Knuth, Patashnik: Concrete Mathematics, section 3.5). */
static int64_t sum_of_quotients(int64_t n, int64_t a, int64_t b, int64_t m) {
  int64_t sum = 0;
  while (n > 0) {
    sum += n * (n - 1) / 2 * (a / m) + n * (b / m);
    a %= m;
    b %= m;
    const int64_t most = a * n + b, divisor = m;
    n = most / m;
    b = most % m;
    m = a;
    a = divisor;
  }
  return sum;
}

/* Strides may be in the thousands, and each phase asks: no loop over remainders or positions. */
static lk_conv_taps find_taps(const lk_conv_shape *shape, int d, int64_t remainder) {
  const int64_t stride = shape->stride[d], dilation = shape->dilation[d],
                divisor = common_divisor(stride, dilation), step = stride / divisor;
  lk_conv_taps found = {step, step, 0};
  if (remainder % divisor != 0) return found;
  found.first = remainder / divisor * inverse(dilation / divisor % step, step) % step;
  if (found.first >= shape->kernel[d]) return found;
  found.count = (shape->kernel[d] - 1 - found.first) / step + 1;
  return found;
}

/* How many positions k have a remainder of k * dilation by the stride that is less: all of those
 * that divide, in each whole period. */
static int64_t taps_before(const lk_conv_shape *shape, int d, int64_t remainder) {
  const int64_t stride = shape->stride[d], dilation = shape->dilation[d] % stride,
                divisor = common_divisor(stride, dilation), step = stride / divisor,
                rest = shape->kernel[d] % step;
  return shape->kernel[d] / step * lk_div_up(remainder, divisor) +
         sum_of_quotients(rest, dilation, stride, stride) -
         sum_of_quotients(rest, dilation, stride - remainder, stride);
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
  phase->shape.dilation[d] = (int32_t)(dilation / common_divisor(stride, dilation));
  phase->shape.pad[d] = (int32_t)((last_tap * dilation - first - shape->pad[d]) / stride);
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
