// What the tests of transposed convolutions share: sizes of the output, and plain loops in double.
#pragma once

#include "tests/ops/kernel/conv/conv_case.h"

namespace lk {

// As large as it can be, without what padding cuts off, and a bit more or less.
inline void draw_sizes_of_output(std::mt19937 &random, lk_conv_shape *shape) {
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    const int64_t window = (shape->kernel[d] - 1) * shape->dilation[d] + 1;
    const int64_t full = (shape->in[d] - 1) * shape->stride[d] + window - 2 * shape->pad[d];
    const int64_t more = shape->stride[d] > 1 ? int64_t(random() % 3) - 1 : 0;
    shape->out[d] = std::max<int64_t>(1, full + more);
  }
}

// The output in double: each element of the input, scattered.
inline std::vector<double> scattered(const ConvCase &of) {
  const lk_conv_shape &shape = of.shape;
  const int64_t all = of.channels_out();
  std::vector<double> sums(of.outputs());
  for (size_t i = 0; i < sums.size(); i++) {
    if (of.has_bias) sums[i] += of.bias[i % size_t(all)];
    if (of.has_residual) sums[i] += of.residual[i];
  }
  const auto place = [](const int64_t *at, const int64_t *of_size, int64_t image) {
    return ((image * of_size[0] + at[0]) * of_size[1] + at[1]) * of_size[2] + at[2];
  };
  for (int64_t i = 0; i < shape.batch * of.pixels_in() * of.positions(); i++) {
    const int64_t pixel = i / of.positions(), p = i % of.positions();
    const int64_t from[] = {pixel / shape.in[2] / shape.in[1] % shape.in[0],
                            pixel / shape.in[2] % shape.in[1], pixel % shape.in[2]};
    const int64_t kernel[] = {p / shape.kernel[2] / shape.kernel[1],
                              p / shape.kernel[2] % shape.kernel[1], p % shape.kernel[2]};
    int64_t to[LK_CONV_DIMS];
    bool is_inside = true;
    for (int d = 0; d < LK_CONV_DIMS; d++) {
      to[d] = from[d] * shape.stride[d] - shape.pad[d] + kernel[d] * shape.dilation[d];
      is_inside = is_inside && to[d] >= 0 && to[d] < shape.out[d];
    }
    if (!is_inside) continue;
    for (int64_t c = 0; c < of.channels_in(); c++) {
      const int64_t group = c / shape.in_channels;
      const double x = of.input[size_t(pixel * of.channels_in() + c)];
      double *sum = &sums[size_t(place(to, shape.out, pixel / of.pixels_in()) * all +
                                 group * shape.out_channels)];
      for (int64_t n = 0; n < shape.out_channels; n++) {
        sum[n] += x * of.weights[size_t((c * shape.out_channels + n) * of.positions() + p)];
      }
    }
  }
  for (double &sum : sums) sum = std::fmin(std::fmax(sum, of.low), of.high);
  return sums;
}

} // namespace lk
