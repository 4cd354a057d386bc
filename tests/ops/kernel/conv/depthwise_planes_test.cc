// Depthwise convolutions of plain tensors, of random shapes, against plain loops in double.
#include "tests/ops/kernel/conv/conv_case.h"

extern "C" {
#include "ops/kernel/conv/depthwise_planes.h"
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
  shape.batch = number(1, 2);
  shape.groups = number(1, 5);
  shape.in_channels = shape.out_channels = 1;
  do lk::draw_sizes(random, 5, &shape);
  while (!lk_depthwise_planes_takes(&shape));
  if (number(0, 2) == 0) { // the window that is unrolled, on images larger than a vector
    for (int d = 1; d < LK_CONV_DIMS; d++) {
      shape.kernel[d] = 3;
      shape.in[d] = number(5, 90);
    }
    lk::set_sizes_of_output(&shape);
  }
  made.draw_ends(random);
  made.fill(random);
  return made;
}

// Channels become the dimension before the pixels, or the last one.
Guarded in_planes(const Guarded &from, int64_t batch, int64_t channels, bool back = false) {
  Guarded to(from.size());
  const int64_t pixels = int64_t(from.size()) / (batch * channels);
  for (int64_t n = 0; n < batch; n++) {
    for (int64_t c = 0; c < channels; c++) {
      for (int64_t p = 0; p < pixels; p++) {
        const size_t last = size_t((n * pixels + p) * channels + c);
        const size_t plane = size_t((n * channels + c) * pixels + p);
        to[back ? last : plane] = from[back ? plane : last];
      }
    }
  }
  return to;
}

lk_depthwise_planes plan(const ConvCase &of, lk_isa isa) {
  lk_depthwise_planes conv = {};
  conv.shape = of.shape;
  conv.has_bias = of.has_bias;
  conv.low = of.low;
  conv.high = of.high;
  lk_depthwise_planes_plan(&conv, isa);
  return conv;
}

// In planes.
Guarded run(const ConvCase &of, const lk_depthwise_planes &conv) {
  const Guarded input = in_planes(of.input, of.shape.batch, of.channels_in());
  Guarded output(of.outputs());
  std::vector<void *> pointers = {const_cast<float *>(input.get()),
                                  const_cast<float *>(of.weights.get()), output.get()};
  if (of.has_bias) pointers.push_back(const_cast<float *>(of.bias.get()));
  LK_EXPECT_OK(lk_depthwise_planes_kernel(&conv, pointers.data(), LK_ERR));
  output.check();
  return output;
}

Guarded run(const ConvCase &of, lk_isa isa) {
  return run(of, plan(of, isa));
}

void check(const ConvCase &of) {
  const std::vector<double> right = lk::gathered(of);
  for (const lk_isa isa : lk::instruction_sets()) {
    SCOPED_TRACE(describe(of.shape) + " isa " + std::to_string(isa));
    const Guarded output = run(of, isa);
    lk::check(of, right, in_planes(output, of.shape.batch, of.channels_out(), true));
  }
}

TEST(DepthwisePlanes, AreRightForRandomShapes) {
  std::mt19937 random(1);
  for (int i = 0; i < lk::repeats(300) && !::testing::Test::HasFatalFailure(); i++) {
    SCOPED_TRACE("case " + std::to_string(i));
    check(random_case(random));
  }
}

TEST(DepthwisePlanes, AreRightForEveryWidth) {
  std::mt19937 random(2);
  for (int64_t width = 1; width <= 70; width++) {
    for (const int64_t kernel : {1, 2, 3, 5}) {
      ConvCase made = depthwise_case(2, 1 + width % 11, width, kernel, 1 + width % 3);
      made.fill(random);
      ASSERT_NO_FATAL_FAILURE(check(made));
    }
  }
}

TEST(DepthwisePlanes, AreRightInBlocksAndPieces) {
  std::mt19937 random(3);
  const int64_t sizes[][4] = {{70, 700, 3, 1}, {5, 5000, 7, 1}, {90, 900, 3, 2}, {1, 9000, 5, 3}};
  for (const auto &size : sizes) {
    ConvCase made = depthwise_case(2, size[0], size[1], size[2], size[3]);
    const lk_depthwise_planes conv = plan(made, lk_isa_get());
    EXPECT_TRUE(conv.lines < made.shape.out[1] || conv.columns < made.shape.out[2]);
    made.has_bias = true;
    made.fill(random);
    check(made);
  }
}

TEST(DepthwisePlanes, TakeWhatFitsTheBuffer) {
  ConvCase made = depthwise_case(3, 40, 40, 3, 1);
  EXPECT_TRUE(lk_depthwise_planes_takes(&made.shape));
  made.shape.dilation[1] = 1000; // lines that far apart
  EXPECT_FALSE(lk_depthwise_planes_takes(&made.shape));
  made = depthwise_case(3, 40, 40, 33, 1);
  EXPECT_FALSE(lk_depthwise_planes_takes(&made.shape));
  made = depthwise_case(3, 40, 40, 3, 1);
  made.shape.in[0] = made.shape.out[0] = 2; // a volume
  EXPECT_FALSE(lk_depthwise_planes_takes(&made.shape));
  made = depthwise_case(3, 40, 40, 3, 1);
  made.shape.out_channels = 2;
  EXPECT_FALSE(lk_depthwise_planes_takes(&made.shape));
}

// Those of large windows, whose lines fill half a vector of AVX-512.
TEST(DepthwisePlanes, RunNarrowImagesOnVectorsOfHalfTheWidth) {
  const auto isa = [](int64_t width, int64_t kernel, lk_isa best) {
    return plan(depthwise_case(3, 20, width, kernel), best).isa;
  };
  for (const int64_t width : {5, 6, 8}) {
    EXPECT_EQ(isa(width, 5, LK_ISA_AVX512), LK_ISA_AVX2) << width;
    EXPECT_EQ(isa(width, 3, LK_ISA_AVX512), LK_ISA_AVX512) << width;
    EXPECT_EQ(isa(width, 5, LK_ISA_BASE), LK_ISA_BASE) << width;
  }
  EXPECT_EQ(isa(9, 5, LK_ISA_AVX512), LK_ISA_AVX512);
}

void expect_chain(int64_t channels, int64_t height, int64_t width, int64_t kernel, bool is_across) {
  std::mt19937 random(4);
  ConvCase made = depthwise_case(channels, height, width, kernel, 1);
  made.has_bias = true;
  made.fill(random);
  const lk::ConvChain chain(made.outputs() / size_t(width), size_t(width), random);
  struct {
    lk_depthwise_planes conv;
    lk_product_chain chain;
  } both = {plan(made, lk_isa_get()), chain.chain};
  both.conv.has_chain = true;
  ASSERT_EQ(both.conv.is_across, is_across);
  const Guarded input = in_planes(made.input, 1, channels);
  Guarded output(made.outputs());
  std::vector<void *> pointers = {const_cast<float *>(input.get()),
                                  const_cast<float *>(made.weights.get()), output.get(),
                                  const_cast<float *>(made.bias.get())};
  chain.add_pointers(&pointers);
  LK_EXPECT_OK(lk_depthwise_planes_kernel(&both, pointers.data(), LK_ERR));
  output.check();
  const Guarded plain = run(made, lk_isa_get());
  for (size_t i = 0; i < made.outputs(); i++) {
    ASSERT_NEAR(output[i], chain.expected(plain[i], i), 1e-5) << "output " << i;
  }
}

// Small images of any number of planes: right, and to the bit what vectors of columns make of them.
TEST(DepthwisePlanes, AcrossVectorsAreThoseOfColumns) {
  std::mt19937 random(5);
  auto number = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  int across = 0;
  for (int i = 0; i < lk::repeats(300); i++) {
    ConvCase made =
        depthwise_case(number(1, 40), number(1, 17), number(1, 17), number(1, 7), number(1, 3));
    made.shape.batch = number(1, 2);
    for (int d = 1; d < LK_CONV_DIMS; d++) {
      made.shape.dilation[d] = int32_t(number(1, 2));
      made.shape.pad[d] = int32_t(number(0, 9));
    }
    if (made.shape.in[1] + 2 * made.shape.pad[1] < lk_conv_extent(&made.shape, 1) ||
        made.shape.in[2] + 2 * made.shape.pad[2] < lk_conv_extent(&made.shape, 2)) {
      continue; // no window lies in it
    }
    lk::set_sizes_of_output(&made.shape);
    made.draw_ends(random);
    made.fill(random);
    ASSERT_NO_FATAL_FAILURE(check(made));
    for (const lk_isa isa : lk::instruction_sets()) {
      lk_depthwise_planes conv = plan(made, isa);
      if (!conv.is_across) continue;
      across++;
      const Guarded wanted = run(made, conv);
      conv.is_across = false;
      const Guarded columns = run(made, conv);
      for (size_t o = 0; o < made.outputs(); o++) {
        ASSERT_EQ(wanted[o], columns[o]) << describe(made.shape) << " isa " << isa;
      }
    }
  }
  EXPECT_GT(across, lk::repeats(300) / 4);
}

TEST(DepthwisePlanes, LieAcrossVectorsWhereLinesFillThemBadly) {
  const auto is_across = [](int64_t channels, int64_t size, int64_t kernel) {
    return plan(depthwise_case(channels, size, size, kernel), LK_ISA_AVX512).is_across;
  };
  EXPECT_TRUE(is_across(384, 8, 7));
  EXPECT_TRUE(is_across(96, 12, 3));
  EXPECT_TRUE(is_across(100, 7, 5));
  EXPECT_FALSE(is_across(2, 8, 7)) << "most lanes would be empty";
  EXPECT_FALSE(is_across(384, 32, 3)) << "lines fill vectors";
  EXPECT_FALSE(is_across(384, 200, 7)) << "no room for an image";
}

TEST(DepthwisePlanes, AcrossVectorsEndWithAChain) {
  expect_chain(19, 9, 9, 5, true);
}

TEST(DepthwisePlanes, EndWithAChain) {
  expect_chain(6, 33, 45, 3, false);
}

} // namespace
