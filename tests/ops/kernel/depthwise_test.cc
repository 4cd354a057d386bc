// Depthwise convolutions of random shapes against plain loops in double.
#include "tests/ops/kernel/conv_case.h"

extern "C" {
#include "ops/kernel/depthwise.h"
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
  shape.groups = number(0, 2) == 0 ? number(1, 20) : number(1, 90);
  shape.in_channels = 1;
  shape.out_channels = number(0, 4) == 0 ? number(2, 5) : 1;
  lk::draw_sizes(random, 5, &shape);
  // windows for which there are tiles, also wider than the image
  if (number(0, 1) == 0) {
    shape.kernel[2] = 3 + 2 * number(0, 2);
    shape.stride[2] = number(1, 2);
    shape.dilation[2] = 1;
    shape.pad[2] = number(0, shape.kernel[2]);
    const int64_t least = std::max<int64_t>(1, shape.kernel[2] - 2 * shape.pad[2]);
    shape.in[2] = number(least, least + 40);
    lk::set_sizes_of_output(&shape);
  }
  made.has_bias = number(0, 1) == 1;
  if (number(0, 1) == 1) made.low = 0;
  if (number(0, 2) == 0) made.high = 0.5F;
  made.fill(random);
  return made;
}

ConvCase simple(int64_t channels, int64_t height, int64_t width, int64_t kernel) {
  ConvCase made;
  lk_conv_shape &shape = made.shape;
  shape.batch = shape.in_channels = shape.out_channels = 1;
  shape.groups = channels;
  const int64_t in[] = {1, height, width}, window[] = {1, kernel, kernel};
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    shape.in[d] = in[d];
    shape.kernel[d] = window[d];
    shape.pad[d] = window[d] / 2;
    shape.stride[d] = shape.dilation[d] = 1;
  }
  lk::set_sizes_of_output(&shape);
  return made;
}

lk_depthwise plan(const ConvCase &of, lk_isa isa) {
  lk_depthwise conv = {};
  conv.shape = of.shape;
  conv.low = of.low;
  conv.high = of.high;
  conv.has_bias = of.has_bias;
  lk_depthwise_plan(&conv, isa);
  return conv;
}

std::vector<float> pack(const ConvCase &of, const lk_depthwise &conv) {
  std::vector<float> packed(size_t(lk_depthwise_packed_size(&conv)), NAN);
  lk_depthwise_pack(&conv, of.weights.get(), packed.data());
  return packed;
}

Guarded run(const ConvCase &of, lk_isa isa) {
  const lk_depthwise conv = plan(of, isa);
  std::vector<float> packed = pack(of, conv);
  Guarded output(of.outputs());
  std::vector<void *> pointers = of.pointers(&packed, output);
  LK_EXPECT_OK(lk_depthwise_kernel(&conv, pointers.data(), LK_ERR));
  output.check();
  return output;
}

TEST(DepthwiseKernel, IsRightForRandomShapes) {
  std::mt19937 random(1);
  for (int i = 0; i < 150 && !::testing::Test::HasFatalFailure(); i++) {
    const ConvCase made = random_case(random);
    for (const lk_isa isa : lk::instruction_sets()) {
      SCOPED_TRACE("case " + std::to_string(i) + describe(made.shape) + " isa " +
                   std::to_string(isa));
      lk::check(made, run(made, isa));
    }
  }
}

// Every width of a tile, every window and stride, and both ends of a line in one tile.
TEST(DepthwiseKernel, IsRightForEveryTile) {
  std::mt19937 random(2);
  for (int64_t width = 1; width <= 26; width++) {
    for (const int64_t kernel : {1, 2, 3, 5, 7, 9}) {
      for (const int64_t stride : {1, 2, 3}) {
        ConvCase made = simple(20 + width, 1 + width % 3, width, kernel);
        made.shape.stride[2] = stride;
        lk::set_sizes_of_output(&made.shape);
        made.fill(random);
        for (const lk_isa isa : lk::instruction_sets()) {
          SCOPED_TRACE(describe(made.shape) + " isa " + std::to_string(isa));
          ASSERT_NO_FATAL_FAILURE(lk::check(made, run(made, isa)));
        }
      }
    }
  }
}

// As a model has them: channels in blocks, lines in pieces.
TEST(DepthwiseKernel, IsRightWhereTurnsAreMany) {
  std::mt19937 random(3);
  for (const int64_t channels : {40, 129, 1000}) {
    ConvCase made = simple(channels, 5, 300, 3);
    made.has_bias = true;
    made.fill(random);
    for (const lk_isa isa : lk::instruction_sets()) {
      SCOPED_TRACE(describe(made.shape) + " isa " + std::to_string(isa));
      lk::check(made, run(made, isa));
    }
  }
}

TEST(DepthwiseKernel, TakesLinesThatStandUpright) {
  std::mt19937 random(4);
  ConvCase made = simple(24, 60, 1, 3);
  made.shape.kernel[2] = 1;
  made.shape.pad[2] = 0;
  lk::set_sizes_of_output(&made.shape);
  made.fill(random);
  const lk_depthwise conv = plan(made, lk_isa_get());
  EXPECT_EQ(conv.shape.out[2], 60);
  lk::check(made, run(made, lk_isa_get()));
}

TEST(DepthwiseKernel, IsFollowedByItsChain) {
  std::mt19937 random(5);
  for (const int64_t channels : {5, 300}) {
    ConvCase made = simple(channels, 6, 70, 3);
    made.shape.batch = 2;
    made.has_bias = true;
    made.fill(random);
    const lk::ConvChain chain(2 * 6 * 70, channels, random);
    lk_depthwise conv = plan(made, lk_isa_get());
    conv.has_chain = true;
    lk::check(made, chain,
              lk::run_with_chain(made, conv, pack(made, conv), chain, lk_depthwise_kernel));
  }
}

// A result depends on neither threads nor the rest of the batch, nor on what lies beside it.
TEST(DepthwiseKernel, HasTheSameBitsForAnyThreadsAndBatch) {
  std::mt19937 random(6);
  for (int i = 0; i < 12; i++) {
    ConvCase made = random_case(random);
    made.shape.batch = 3;
    made.shape.in[1] = made.shape.in[2] = 40;
    lk::set_sizes_of_output(&made.shape);
    made.fill(random);
    SCOPED_TRACE("case " + std::to_string(i) + describe(made.shape));
    lk::expect_same_bits(made, random, [](const ConvCase &of) { return run(of, lk_isa_get()); });
  }
}

// Zero times infinity is NaN: what lies in the padding is no product at all.
TEST(DepthwiseKernel, LeavesPaddingOut) {
  std::mt19937 random(7);
  for (const int64_t kernel : {3, 4, 5}) {
    ConvCase made = simple(20, 5, 9, kernel);
    made.fill(random);
    for (size_t i = 0; i < made.weights.size(); i++) {
      // all but the middle of a window
      if (int64_t(i) % (kernel * kernel) != kernel * kernel / 2) made.weights[i] = INFINITY;
    }
    for (size_t i = 0; i < made.input.size(); i++) made.input[i] = 1;
    for (const lk_isa isa : lk::instruction_sets()) {
      const Guarded output = run(made, isa);
      for (size_t i = 0; i < output.size(); i++) ASSERT_EQ(output[i], INFINITY) << "output " << i;
    }
  }
}

TEST(DepthwiseKernel, KeepsNaN) {
  std::mt19937 random(8);
  for (const lk_isa isa : lk::instruction_sets()) {
    ConvCase made = simple(21, 7, 9, 3);
    made.low = 0;
    made.high = 6;
    made.fill(random);
    made.input[size_t(21 * (3 * 9 + 4) + 20)] = NAN;
    const Guarded output = run(made, isa);
    for (int64_t i = 0; i < 21 * 7 * 9; i++) {
      const int64_t row = i / 21 / 9, column = i / 21 % 9;
      const bool is_near = row >= 2 && row <= 4 && column >= 3 && column <= 5;
      ASSERT_EQ(std::isnan(output[size_t(i)]), is_near && i % 21 == 20) << "output " << i;
    }
  }
}

TEST(DepthwiseKernel, KeepsWeights) {
  std::mt19937 random(9);
  for (int i = 0; i < 60; i++) {
    const ConvCase made = random_case(random);
    for (const lk_isa isa : lk::instruction_sets()) {
      const lk_depthwise conv = plan(made, isa);
      lk::expect_packed(made, conv, pack(made, conv), lk_depthwise_unpack);
    }
  }
}

} // namespace
