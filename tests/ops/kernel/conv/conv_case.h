// What the tests of convolutions share: random shapes, chains, and plain loops in double.
#pragma once

#include "tests/ops/kernel/product/product.h"

extern "C" {
#include "ops/kernel/conv_shape.h"
#include "ops/kernel/product/product_chain.h"
}

namespace lk {

struct ConvCase {
  lk_conv_shape shape = {};
  float low = -INFINITY, high = INFINITY;
  bool has_bias = false, has_residual = false;
  Guarded input{0}, weights{0}, bias{0}, residual{0};

  int64_t pixels_in() const { return shape.in[0] * shape.in[1] * shape.in[2]; }
  int64_t pixels_out() const { return shape.out[0] * shape.out[1] * shape.out[2]; }
  int64_t positions() const { return shape.kernel[0] * shape.kernel[1] * shape.kernel[2]; }
  int64_t channels_in() const { return shape.groups * shape.in_channels; }
  int64_t channels_out() const { return shape.groups * shape.out_channels; }
  size_t outputs() const { return size_t(shape.batch * pixels_out() * channels_out()); }

  // What every kernel of convolutions takes; a residual and operands of a chain come after these.
  std::vector<void *> pointers(std::vector<float> *packed, const Guarded &output) const {
    std::vector<void *> all = {const_cast<float *>(input.get()), packed->data(),
                               const_cast<float *>(output.get())};
    if (has_bias) all.push_back(const_cast<float *>(bias.get()));
    return all;
  }
  // Whether there are a bias and bounds.
  void draw_ends(std::mt19937 &random) {
    has_bias = std::uniform_int_distribution<int>(0, 1)(random) == 1;
    if (std::uniform_int_distribution<int>(0, 1)(random) == 1) low = 0;
    if (std::uniform_int_distribution<int>(0, 2)(random) == 0) high = 0.5F;
  }
  void fill(std::mt19937 &random) {
    input = random_floats(size_t(shape.batch * pixels_in() * channels_in()), random);
    weights = random_floats(size_t(channels_out() * shape.in_channels * positions()), random);
    bias = random_floats(size_t(channels_out()), random);
    residual = random_floats(outputs(), random);
  }
};

inline std::string describe(const lk_conv_shape &shape) {
  std::string text;
  auto add = [&](const char *name, const auto *numbers, int count) {
    text += std::string(" ") + name;
    for (int i = 0; i < count; i++) text += " " + std::to_string(numbers[i]);
  };
  add("batch", &shape.batch, 1);
  add("groups", &shape.groups, 1);
  add("channels", &shape.in_channels, 2);
  add("in", shape.in, 3);
  add("kernel", shape.kernel, 3);
  add("stride", shape.stride, 3);
  add("dilation", shape.dilation, 3);
  add("pad", shape.pad, 3);
  return text;
}

inline void set_sizes_of_output(lk_conv_shape *shape) {
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    const int64_t window = (shape->kernel[d] - 1) * shape->dilation[d] + 1;
    shape->out[d] = (shape->in[d] + 2 * shape->pad[d] - window) / shape->stride[d] + 1;
  }
}

// The sizes of an image and a kernel of up to `most_kernel` in each of one to three dimensions.
inline void draw_sizes(std::mt19937 &random, int64_t most_kernel, lk_conv_shape *shape) {
  auto number = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  const int dims = int(number(1, 3));
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    const bool is_there = d >= LK_CONV_DIMS - dims;
    shape->kernel[d] = is_there ? number(1, most_kernel) : 1;
    shape->stride[d] = is_there ? number(1, 3) : 1;
    shape->dilation[d] = is_there && number(0, 2) == 0 ? number(1, 3) : 1;
    shape->pad[d] = is_there ? number(0, 3) : 0;
    const int64_t window = (shape->kernel[d] - 1) * shape->dilation[d] + 1;
    const int64_t least = std::max<int64_t>(1, window - 2 * shape->pad[d]);
    shape->in[d] = is_there ? number(least, std::max<int64_t>(least, 14)) : 1;
  }
  set_sizes_of_output(shape);
}

// One channel for one, on an image whose size a stride of 1 keeps where `kernel` is odd.
inline ConvCase depthwise_case(int64_t channels, int64_t height, int64_t width, int64_t kernel,
                               int64_t stride = 1) {
  ConvCase made;
  lk_conv_shape &shape = made.shape;
  shape.batch = shape.in_channels = shape.out_channels = 1;
  shape.groups = channels;
  const int64_t in[] = {1, height, width}, window[] = {1, kernel, kernel};
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    shape.in[d] = in[d];
    shape.kernel[d] = window[d];
    shape.pad[d] = window[d] / 2;
    shape.stride[d] = d == 0 ? 1 : stride;
    shape.dilation[d] = 1;
  }
  set_sizes_of_output(&shape);
  return made;
}

// Element `i` of the output in double.
inline double expected(const ConvCase &of, size_t i) {
  const lk_conv_shape &shape = of.shape;
  const int64_t all = of.channels_out(), channel = int64_t(i) % all, row = int64_t(i) / all;
  const int64_t at[] = {row / shape.out[2] / shape.out[1] % shape.out[0],
                        row / shape.out[2] % shape.out[1], row % shape.out[2]};
  const int64_t group = channel / shape.out_channels;
  const int64_t n_positions = of.positions(), image = row / of.pixels_out();
  const float *weights = of.weights.get() + channel * shape.in_channels * n_positions;
  double sum = of.has_bias ? of.bias[size_t(channel)] : 0;
  for (int64_t p = 0; p < n_positions; p++) {
    const int64_t kernel[] = {p / shape.kernel[2] / shape.kernel[1],
                              p / shape.kernel[2] % shape.kernel[1], p % shape.kernel[2]};
    int64_t pixel = image;
    bool is_inside = true;
    for (int d = 0; d < LK_CONV_DIMS; d++) {
      const int64_t x = at[d] * shape.stride[d] - shape.pad[d] + kernel[d] * shape.dilation[d];
      is_inside = is_inside && x >= 0 && x < shape.in[d];
      pixel = pixel * shape.in[d] + x;
    }
    if (!is_inside) continue;
    const float *x = of.input.get() + pixel * of.channels_in() + group * shape.in_channels;
    for (int64_t c = 0; c < shape.in_channels; c++) {
      sum += double(x[c]) * weights[c * n_positions + p];
    }
  }
  if (of.has_residual) sum += of.residual[i];
  return std::fmin(std::fmax(sum, of.low), of.high);
}

// The output in double: once for all instruction sets.
inline std::vector<double> gathered(const ConvCase &of) {
  std::vector<double> sums(of.outputs());
  for (size_t i = 0; i < sums.size(); i++) sums[i] = expected(of, i);
  return sums;
}

inline void check(const ConvCase &of, const std::vector<double> &right, const Guarded &output) {
  const double allowed = tolerance(of.positions() * of.shape.in_channels);
  for (size_t i = 0; i < right.size(); i++) {
    ASSERT_NEAR(output[i], right[i], allowed) << "output " << i;
  }
}

inline void check(const ConvCase &of, const Guarded &output) {
  check(of, gathered(of), output);
}

// A chain with operands of all four sorts, for outputs of so many rows and columns.
struct ConvChain {
  lk_product_chain chain = {};
  Guarded full, columns, each_row, one;

  ConvChain(int64_t n_rows, int64_t n_columns, std::mt19937 &random)
      : full(random_floats(size_t(n_rows * n_columns), random)),
        columns(random_floats(size_t(n_columns), random)),
        each_row(random_floats(size_t(n_rows), random)), one(random_floats(1, random)) {
    lk_element_program program = lk_element_begin();
    lk_element_value value = lk_element_input(&program, LK_F32);
    const lk_element_op ops[] = {LK_ELEMENT_MUL, LK_ELEMENT_ADD, LK_ELEMENT_MUL, LK_ELEMENT_SUB};
    const int64_t row_steps[] = {n_columns, 0, 1, 0}, column_steps[] = {1, 1, 0, 0};
    for (int i = 0; i < 4; i++) {
      value = lk_element_binary(&program, ops[i], value, lk_element_input(&program, LK_F32));
      chain.row_step[i] = int32_t(row_steps[i]);
      chain.column_step[i] = uint8_t(column_steps[i]);
    }
    lk_element_output(&program, lk_element_unary(&program, LK_ELEMENT_RELU, value, 0, 0), LK_F32);
    chain.n_operands = 4;
    LK_EXPECT_OK(lk_product_chain_plan(&program, &chain, LK_ERR));
  }
  void add_pointers(std::vector<void *> *pointers) const {
    for (const Guarded *each : {&full, &columns, &each_row, &one}) {
      pointers->push_back(const_cast<float *>(each->get()));
    }
  }
  // Of what element `i` of the output was.
  double expected(double sum, size_t i) const {
    const size_t row = i / columns.size();
    return std::fmax((sum * full[i] + columns[i % columns.size()]) * each_row[row] - one[0], 0);
  }
};

inline void check(const ConvCase &of, const ConvChain &chain, const Guarded &output) {
  const double allowed = tolerance(of.positions() * of.shape.in_channels);
  for (size_t i = 0; i < of.outputs(); i++) {
    const double sum = expected(of, i);
    ASSERT_NEAR(output[i], chain.expected(sum, i), allowed) << "output " << i;
  }
}

// What a kernel computes whose parameters `conv` are followed by those of `chain`.
template <typename Conv>
Guarded run_with_chain(const ConvCase &of, const Conv &conv, std::vector<float> packed,
                       const ConvChain &chain, lk_kernel_fn kernel) {
  struct {
    Conv conv;
    lk_product_chain chain;
  } params = {conv, chain.chain};
  Guarded output(of.outputs());
  std::vector<void *> pointers = of.pointers(&packed, output);
  chain.add_pointers(&pointers);
  LK_EXPECT_OK(kernel(&params, pointers.data(), LK_ERR));
  output.check();
  return output;
}

// An image's result depends on neither threads nor what else is in the batch, which is of three.
template <typename Run>
void expect_same_bits(const ConvCase &of, std::mt19937 &random, const Run &run) {
  ASSERT_EQ(of.shape.batch, 3);
  const Guarded together = run(of);
  for (const int threads : {2, 8}) {
    with_threads(threads,
                 [&] { EXPECT_TRUE(run(of).has_bits_of(together)) << threads << " threads"; });
  }
  ConvCase last = of;
  last.shape.batch = 1;
  last.fill(random);
  last.weights = of.weights;
  last.bias = of.bias;
  const size_t in = last.input.size(), out = last.outputs();
  std::copy_n(of.input.get() + 2 * in, in, last.input.get());
  std::copy_n(of.residual.get() + 2 * out, out, last.residual.get());
  const Guarded single = run(last);
  EXPECT_EQ(std::memcmp(single.get(), together.get() + 2 * out, out * sizeof(float)), 0);
}

// `packed` began as NaNs, and `unpack` gives the weights back from it.
template <typename Conv>
void expect_packed(const ConvCase &of, const Conv &conv, const std::vector<float> &packed,
                   void (*unpack)(const Conv *conv, const float *packed, float *weights)) {
  Guarded back(of.weights.size());
  unpack(&conv, packed.data(), back.get());
  EXPECT_TRUE(back.has_bits_of(of.weights)) << describe(of.shape);
  for (const float x : packed) ASSERT_FALSE(std::isnan(x)) << "every element is written";
}

// What packed weights depend on is the same for both.
template <size_t Numbers, typename Conv>
void expect_same_layout(const Conv &conv, const Conv &other,
                        void (*layout)(const Conv *conv, int64_t *numbers)) {
  int64_t layouts[2][Numbers];
  layout(&conv, layouts[0]);
  layout(&other, layouts[1]);
  EXPECT_EQ(std::memcmp(layouts[0], layouts[1], sizeof layouts[0]), 0);
}

} // namespace lk
