// Convolutions with few channels in each group, of random shapes, against plain loops in double.
#include "tests/ops/kernel/conv/conv_transposed_case.h"

extern "C" {
#include "ops/kernel/conv/depthwise_weights.h"
}

namespace {

using lk::ConvCase;
using lk::depthwise_case;
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
  made.draw_ends(random);
  made.fill(random);
  return made;
}

// Several channels for several, also more than a vector has.
void draw_groups(std::mt19937 &random, lk_conv_shape *shape) {
  const auto number = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  shape->groups = number(1, 12);
  shape->in_channels = number(0, 3) == 0 ? number(1, 40) : number(1, 9);
  shape->out_channels = number(0, 3) == 0 ? number(1, 40) : number(1, 9);
}

ConvCase random_groups(std::mt19937 &random) {
  ConvCase made = random_case(random);
  draw_groups(random, &made.shape);
  made.fill(random);
  return made;
}

ConvCase random_transposed(std::mt19937 &random) {
  ConvCase made = random_case(random);
  if (random() % 2 == 0) draw_groups(random, &made.shape);
  for (int64_t &size : made.shape.in) size = (size + 1) / 2;
  if (random() % 3 == 0) made.shape.kernel[2] = 3 * made.shape.stride[2];
  lk::draw_sizes_of_output(random, &made.shape);
  made.fill(random);
  return made;
}

lk_depthwise plan(const ConvCase &of, lk_isa isa, bool is_transposed = false) {
  lk_depthwise conv = {};
  conv.is_transposed = is_transposed;
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

Guarded run(const ConvCase &of, lk_isa isa, bool is_transposed = false) {
  const lk_depthwise conv = plan(of, isa, is_transposed);
  std::vector<float> packed = pack(of, conv);
  Guarded output(of.outputs());
  std::vector<void *> pointers = of.pointers(&packed, output);
  LK_EXPECT_OK(lk_depthwise_kernel(&conv, pointers.data(), LK_ERR));
  output.check();
  return output;
}

TEST(DepthwiseKernel, IsRightForRandomShapes) {
  std::mt19937 random(1);
  for (int i = 0; i < lk::repeats(150) && !::testing::Test::HasFatalFailure(); i++) {
    const ConvCase made = random_case(random);
    const std::vector<double> right = lk::gathered(made);
    for (const lk_isa isa : lk::instruction_sets()) {
      SCOPED_TRACE("case " + std::to_string(i) + describe(made.shape) + " isa " +
                   std::to_string(isa));
      lk::check(made, right, run(made, isa));
    }
  }
}

TEST(DepthwiseKernel, IsRightForRandomGroups) {
  std::mt19937 random(11);
  for (int i = 0; i < lk::repeats(150) && !::testing::Test::HasFatalFailure(); i++) {
    const ConvCase made = random_groups(random);
    const std::vector<double> right = lk::gathered(made);
    for (const lk_isa isa : lk::instruction_sets()) {
      SCOPED_TRACE("case " + std::to_string(i) + describe(made.shape) + " isa " +
                   std::to_string(isa));
      lk::check(made, right, run(made, isa));
    }
  }
}

TEST(DepthwiseKernel, IsRightWhereItIsTransposed) {
  std::mt19937 random(12);
  for (int i = 0; i < lk::repeats(150) && !::testing::Test::HasFatalFailure(); i++) {
    const ConvCase made = random_transposed(random);
    const std::vector<double> right = lk::scattered(made);
    for (const lk_isa isa : lk::instruction_sets()) {
      SCOPED_TRACE("case " + std::to_string(i) + describe(made.shape) + " isa " +
                   std::to_string(isa));
      lk::check(made, right, run(made, isa, true));
    }
  }
}

// Every width of a tile, every window and stride, and both ends of a line in one tile.
TEST(DepthwiseKernel, IsRightForEveryTile) {
  std::mt19937 random(2);
  for (int64_t width = 1; width <= 26; width++) {
    for (const int64_t kernel : {1, 2, 3, 5, 7, 9}) {
      for (const int64_t stride : {1, 2, 3}) {
        for (const int64_t channels : {1, 4, 12}) { // several groups in a vector, or one
          ConvCase made = depthwise_case(20 + width, 1 + width % 3, width, kernel);
          made.shape.stride[2] = stride;
          if (channels > 1) made.shape.groups = 5 + width % 2;
          made.shape.in_channels = made.shape.out_channels = channels;
          lk::set_sizes_of_output(&made.shape);
          made.fill(random);
          const std::vector<double> right = lk::gathered(made);
          for (const lk_isa isa : lk::instruction_sets()) {
            SCOPED_TRACE(describe(made.shape) + " isa " + std::to_string(isa));
            ASSERT_NO_FATAL_FAILURE(lk::check(made, right, run(made, isa)));
          }
        }
      }
    }
  }
}

// As a model has them: channels in blocks, lines in pieces.
TEST(DepthwiseKernel, IsRightWhereTurnsAreMany) {
  std::mt19937 random(3);
  for (const int64_t channels : {40, 129, 1000}) {
    ConvCase made = depthwise_case(channels, 5, 300, 3);
    made.has_bias = true;
    made.fill(random);
    const std::vector<double> right = lk::gathered(made);
    for (const lk_isa isa : lk::instruction_sets()) {
      SCOPED_TRACE(describe(made.shape) + " isa " + std::to_string(isa));
      lk::check(made, right, run(made, isa));
    }
  }
}

// Few lines are one band. Others are an even number of bands, of 16 lines at most.
TEST(DepthwiseKernel, CutsLinesIntoBands) {
  const std::pair<int64_t, int64_t> bands[] = {{5, 5},  {6, 3},   {31, 16}, {32, 16}, {33, 9},
                                               {34, 9}, {63, 16}, {64, 16}, {65, 11}, {66, 11}};
  for (const auto &[lines, band] : bands) {
    EXPECT_EQ(plan(depthwise_case(40, lines, 8, 3), lk_isa_get()).band, band) << lines;
  }
}

// What a window of three lines reads for a piece, of 4 bytes for each channel, are 24 KiB at most,
// but a piece is no shorter than four tiles of 8 columns. All pieces of a line are about as long.
TEST(DepthwiseKernel, CutsLinesIntoPieces) {
  const std::pair<int64_t, int64_t> pieces[] = {{4, 304}, {8, 152}, {16, 104}, {64, 32}, {128, 32}};
  for (const auto &[channels, piece] : pieces) {
    const ConvCase made = depthwise_case(channels, 5, 300, 3);
    EXPECT_EQ(plan(made, LK_ISA_AVX2).piece, piece) << channels;
  }
}

TEST(DepthwiseKernel, TakesLinesThatStandUpright) {
  std::mt19937 random(4);
  ConvCase made = depthwise_case(24, 60, 1, 3);
  made.shape.kernel[2] = 1;
  made.shape.pad[2] = 0;
  lk::set_sizes_of_output(&made.shape);
  made.fill(random);
  const lk_depthwise conv = plan(made, lk_isa_get());
  EXPECT_EQ(conv.shape.out[2], 60);
  lk::check(made, run(made, lk_isa_get()));
}

// The only pixel of the output lies beside the only one of the input.
TEST(DepthwiseKernel, KnowsPaddingOfLinesOfOnePixel) {
  std::mt19937 random(14);
  ConvCase made = depthwise_case(24, 60, 1, 1);
  made.shape.stride[2] = 3;
  made.shape.pad[2] = 1;
  lk::set_sizes_of_output(&made.shape);
  made.fill(random);
  EXPECT_EQ(made.shape.out[2], 1);
  lk::check(made, run(made, lk_isa_get()));
}

TEST(DepthwiseKernel, IsFollowedByItsChain) {
  std::mt19937 random(5);
  for (const int64_t channels : {5, 300}) {
    ConvCase made = depthwise_case(channels, 6, 70, 3);
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

TEST(DepthwiseKernel, IsFollowedByItsChainWhereItIsTransposed) {
  std::mt19937 random(13);
  for (int i = 0; i < 30; i++) {
    ConvCase made = random_transposed(random);
    const std::vector<double> right = lk::scattered(made);
    const lk::ConvChain chain(made.shape.batch * made.pixels_out(), made.channels_out(), random);
    lk_depthwise conv = plan(made, lk_isa_get(), true);
    conv.has_chain = true;
    const Guarded output =
        lk::run_with_chain(made, conv, pack(made, conv), chain, lk_depthwise_kernel);
    SCOPED_TRACE("case " + std::to_string(i) + describe(made.shape));
    std::vector<double> chained(right.size());
    for (size_t j = 0; j < right.size(); j++) chained[j] = chain.expected(right[j], j);
    lk::check(made, chained, output);
  }
}

// A result depends on neither threads nor the rest of the batch, nor on what lies beside it.
TEST(DepthwiseKernel, HasTheSameBitsForAnyThreadsAndBatch) {
  std::mt19937 random(6);
  for (int i = 0; i < lk::repeats(36); i++) {
    const bool is_transposed = i % 3 == 2;
    ConvCase made = (i % 3 == 0   ? random_case
                     : i % 3 == 1 ? random_groups
                                  : random_transposed)(random);
    made.shape.batch = 3;
    made.shape.in[1] = made.shape.in[2] = 40;
    if (is_transposed) {
      lk::draw_sizes_of_output(random, &made.shape);
    } else {
      lk::set_sizes_of_output(&made.shape);
    }
    made.fill(random);
    SCOPED_TRACE("case " + std::to_string(i) + describe(made.shape));
    lk::expect_same_bits(made, random, [is_transposed](const ConvCase &of) {
      return run(of, lk_isa_get(), is_transposed);
    });
  }
}

// Zero times infinity is NaN: what lies in the padding is no product at all.
TEST(DepthwiseKernel, LeavesPaddingOut) {
  std::mt19937 random(7);
  for (const int64_t kernel : {3, 4, 5}) {
    ConvCase made = depthwise_case(20, 5, 9, kernel);
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
    ConvCase made = depthwise_case(21, 7, 9, 3);
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

// The numbers of a layout stand for what packing does, whatever the sizes of the input.
void expect_kept(const ConvCase &made, bool is_transposed) {
  ConvCase larger = made;
  for (int64_t &size : larger.shape.in) size += 3;
  for (int64_t &size : larger.shape.out) size += 3;
  for (const lk_isa isa : lk::instruction_sets()) {
    const lk_depthwise conv = plan(made, isa, is_transposed),
                       of_larger = plan(larger, isa, is_transposed);
    const std::vector<float> packed = pack(made, conv);
    lk::expect_packed(made, conv, packed, lk_depthwise_unpack);
    lk::expect_same_layout<LK_DEPTHWISE_LAYOUT_NUMBERS>(conv, of_larger, lk_depthwise_layout);
    EXPECT_EQ(packed, pack(larger, of_larger));
  }
}

TEST(DepthwiseKernel, KeepsWeights) {
  std::mt19937 random(9);
  for (int i = 0; i < lk::repeats(60); i++) {
    expect_kept(random_case(random), false);
    expect_kept(random_groups(random), false);
    expect_kept(random_transposed(random), true);
  }
}

} // namespace
