// Transposed convolutions of random shapes against plain loops in double.
#include "tests/ops/kernel/conv/conv_transposed_case.h"

extern "C" {
#include "ops/kernel/conv/conv_phases.h"
#include "ops/kernel/conv/conv_transposed.h"
}

namespace {

using lk::ConvCase;
using lk::describe;
using lk::Guarded;

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
  lk::draw_sizes_of_output(random, &shape);
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

double allowed(const ConvCase &of) {
  return lk::tolerance(of.positions() * of.shape.in_channels);
}

// Positions of the kernel in the order of their remainders, which is counted here.
TEST(ConvTransposedKernel, FindsThePhasesOfLargeStrides) {
  std::mt19937 random(4);
  auto number = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int i = 0; i < 300; i++) {
    lk_conv_shape shape = {};
    for (int d = 0; d < LK_CONV_DIMS; d++) {
      shape.in[d] = shape.out[d] = shape.kernel[d] = shape.stride[d] = shape.dilation[d] = 1;
    }
    const int64_t stride = shape.stride[2] = number(1, i % 3 == 0 ? 900 : 12);
    const int64_t dilation = shape.dilation[2] = number(1, i % 2 == 0 ? 900 : 12);
    shape.kernel[2] = number(1, 60);
    int64_t before = 0;
    for (int64_t phase = 0; phase < stride; phase++) {
      std::vector<int64_t> positions;
      for (int64_t k = 0; k < shape.kernel[2]; k++) {
        if (k * dilation % stride == phase) positions.push_back(k);
      }
      const lk_conv_phase found = lk_conv_phase_find(&shape, phase);
      SCOPED_TRACE(describe(shape) + ", phase " + std::to_string(phase));
      ASSERT_EQ(found.taps_before, before);
      ASSERT_EQ(found.taps[2].count, int64_t(positions.size()));
      for (size_t t = 0; t < positions.size(); t++) {
        ASSERT_EQ(lk_conv_phase_position(&shape, &found, int64_t(positions.size() - 1 - t)),
                  positions[t]);
      }
      before += int64_t(positions.size());
    }
    ASSERT_EQ(before, shape.kernel[2]);
  }
}

TEST(ConvTransposedKernel, IsRightForRandomShapes) {
  std::mt19937 random(1);
  for (int i = 0; i < lk::repeats(200); i++) {
    const ConvCase made = random_case(random);
    const std::vector<double> right = lk::scattered(made);
    for (const lk_isa isa : lk::instruction_sets()) {
      SCOPED_TRACE("case " + std::to_string(i) + describe(made.shape) + " isa " +
                   std::to_string(isa));
      lk::check(made, right, run(made, isa));
    }
  }
}

TEST(ConvTransposedKernel, IsFollowedByItsChain) {
  std::mt19937 random(2);
  for (int i = 0; i < 20; i++) {
    ConvCase made = random_case(random);
    made.has_residual = false;
    made.has_bias = true;
    const std::vector<double> right = lk::scattered(made);
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
    lk::draw_sizes_of_output(random, &made.shape);
    made.fill(random);
    SCOPED_TRACE("case " + std::to_string(i) + describe(made.shape));
    lk::expect_same_bits(made, random, [](const ConvCase &of) { return run(of, lk_isa_get()); });
  }
}

// The numbers of a layout stand for what packing does, whatever the sizes of the input.
TEST(ConvTransposedKernel, KeepsWeights) {
  std::mt19937 random(4);
  for (int i = 0; i < lk::repeats(60); i++) {
    const ConvCase made = random_case(random);
    ConvCase larger = made;
    const bool is_folded = plan(made, lk_isa_get()).fold > 1;
    for (int d = 0; d < LK_CONV_DIMS; d++) {
      larger.shape.in[d] += 3;
      larger.shape.pad[d] += is_folded ? 0 : 1;
    }
    lk::draw_sizes_of_output(random, &larger.shape);
    if (is_folded) larger.shape.out[2] = larger.shape.in[2] * larger.shape.stride[2];
    for (const lk_isa isa : lk::instruction_sets()) {
      const lk_conv_transposed conv = plan(made, isa), of_larger = plan(larger, isa);
      const std::vector<float> packed = pack(made, conv);
      lk::expect_packed(made, conv, packed, lk_conv_transposed_unpack);
      lk::expect_same_layout<LK_CONV_TRANSPOSED_LAYOUT_NUMBERS>(conv, of_larger,
                                                                lk_conv_transposed_layout);
      EXPECT_EQ(packed, pack(larger, of_larger));
    }
  }
}

} // namespace
