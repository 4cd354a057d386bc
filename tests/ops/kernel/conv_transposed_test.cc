// Transposed convolutions of random shapes against plain loops in double.
#include "tests/ops/kernel/conv_case.h"

extern "C" {
#include "ops/kernel/conv_transposed.h"
}

namespace {

using lk::ConvCase;
using lk::describe;
using lk::Guarded;

// As large as it can be, without what padding cuts off, and a bit more or less.
void draw_sizes_of_output(std::mt19937 &random, lk_conv_shape *shape) {
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    const int64_t window = (shape->kernel[d] - 1) * shape->dilation[d] + 1;
    const int64_t full = (shape->in[d] - 1) * shape->stride[d] + window - 2 * shape->pad[d];
    const int64_t more = shape->stride[d] > 1 ? int64_t(random() % 3) - 1 : 0;
    shape->out[d] = std::max<int64_t>(1, full + more);
  }
}

ConvCase random_case(std::mt19937 &random) {
  auto number = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  ConvCase made;
  lk_conv_shape &shape = made.shape;
  shape.batch = number(1, 3);
  shape.groups = number(0, 3) == 0 ? number(2, 3) : 1;
  shape.in_channels = number(1, 40);
  shape.out_channels = number(1, 90);
  lk::draw_sizes(random, 4, &shape);
  for (int64_t &size : shape.in) size = (size + 1) / 2;
  draw_sizes_of_output(random, &shape);
  if (number(0, 3) == 0) { // windows side by side
    shape.groups = shape.dilation[2] = 1;
    shape.kernel[2] = shape.stride[2] = number(2, 4);
    shape.pad[2] = 0;
    shape.out[2] = shape.in[2] * shape.stride[2];
  }
  made.has_bias = number(0, 1) == 1;
  made.has_residual = number(0, 2) == 0;
  if (number(0, 1) == 1) made.low = 0;
  if (number(0, 2) == 0) made.high = 0.5F;
  made.fill(random);
  return made;
}

lk_conv_transposed plan(const ConvCase &of, lk_isa isa, bool has_chain = false) {
  lk_conv_transposed conv = {};
  conv.shape = of.shape;
  conv.isa = isa;
  conv.low = of.low;
  conv.high = of.high;
  conv.has_bias = of.has_bias;
  conv.has_residual = of.has_residual;
  conv.has_chain = conv.has_chain_operands = has_chain;
  lk_conv_transposed_plan(&conv);
  return conv;
}

std::vector<float> pack(const ConvCase &of, const lk_conv_transposed &conv) {
  std::vector<float> packed(size_t(lk_conv_transposed_packed_size(&conv)), NAN);
  lk_conv_transposed_pack(&conv, of.weights.get(), packed.data());
  return packed;
}

Guarded run(const ConvCase &of, lk_isa isa) {
  const lk_conv_transposed conv = plan(of, isa);
  std::vector<float> packed = pack(of, conv);
  Guarded output(of.outputs());
  std::vector<void *> pointers = of.pointers(&packed, output);
  if (conv.has_residual) pointers.push_back(const_cast<float *>(of.residual.get()));
  LK_EXPECT_OK(lk_conv_transposed_kernel(&conv, pointers.data(), LK_ERR));
  output.check();
  return output;
}

// Each element of the input, scattered.
std::vector<double> expected(const ConvCase &of) {
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

double allowed(const ConvCase &of) {
  return lk::tolerance(of.positions() * of.shape.in_channels);
}

TEST(ConvTransposedKernel, IsRightForRandomShapes) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; i++) {
    const ConvCase made = random_case(random);
    const std::vector<double> right = expected(made);
    for (const lk_isa isa : lk::instruction_sets()) {
      SCOPED_TRACE("case " + std::to_string(i) + describe(made.shape) + " isa " +
                   std::to_string(isa));
      const Guarded output = run(made, isa);
      for (size_t j = 0; j < right.size(); j++) {
        ASSERT_NEAR(output[j], right[j], allowed(made)) << "output " << j;
      }
    }
  }
}

TEST(ConvTransposedKernel, IsFollowedByItsChain) {
  std::mt19937 random(2);
  for (int i = 0; i < 20; i++) {
    ConvCase made = random_case(random);
    made.has_residual = false;
    made.has_bias = true;
    const std::vector<double> right = expected(made);
    const lk::ConvChain chain(made.shape.batch * made.pixels_out(), made.channels_out(), random);
    const lk_conv_transposed conv = plan(made, lk_isa_get(), true);
    const Guarded output =
        lk::run_with_chain(made, conv, pack(made, conv), chain, lk_conv_transposed_kernel);
    SCOPED_TRACE("case " + std::to_string(i) + describe(made.shape));
    for (size_t j = 0; j < right.size(); j++) {
      ASSERT_NEAR(output[j], chain.expected(right[j], j), allowed(made)) << "output " << j;
    }
  }
}

TEST(ConvTransposedKernel, HasTheSameBitsForAnyThreadsAndBatch) {
  std::mt19937 random(3);
  for (int i = 0; i < 12; i++) {
    ConvCase made = random_case(random);
    made.shape.batch = 3;
    made.shape.in[1] = made.shape.in[2] = 30;
    draw_sizes_of_output(random, &made.shape);
    made.fill(random);
    SCOPED_TRACE("case " + std::to_string(i) + describe(made.shape));
    lk::expect_same_bits(made, random, [](const ConvCase &of) { return run(of, lk_isa_get()); });
  }
}

// The numbers of a layout stand for what packing does, whatever the sizes of the input.
TEST(ConvTransposedKernel, KeepsWeights) {
  std::mt19937 random(4);
  for (int i = 0; i < 60; i++) {
    const ConvCase made = random_case(random);
    ConvCase larger = made;
    const bool is_folded = plan(made, lk_isa_get()).fold > 1;
    for (int d = 0; d < LK_CONV_DIMS; d++) {
      larger.shape.in[d] += 3;
      larger.shape.pad[d] += is_folded ? 0 : 1;
    }
    draw_sizes_of_output(random, &larger.shape);
    if (is_folded) larger.shape.out[2] = larger.shape.in[2] * larger.shape.stride[2];
    for (const lk_isa isa : lk::instruction_sets()) {
      const lk_conv_transposed conv = plan(made, isa), of_larger = plan(larger, isa);
      const std::vector<float> packed = pack(made, conv);
      lk::expect_packed(made, conv, packed, lk_conv_transposed_unpack);
      int64_t layouts[2][LK_CONV_TRANSPOSED_LAYOUT_NUMBERS];
      lk_conv_transposed_layout(&conv, layouts[0]);
      lk_conv_transposed_layout(&of_larger, layouts[1]);
      EXPECT_EQ(std::memcmp(layouts[0], layouts[1], sizeof layouts[0]), 0);
      EXPECT_EQ(packed, pack(larger, of_larger));
    }
  }
}

} // namespace
