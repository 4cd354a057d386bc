// Convolutions of random geometries against plain loops in double.
#include "tests/ops/kernel/conv/conv_case.h"

extern "C" {
#include "ops/kernel/conv/conv.h"
}

namespace {

using lk::ConvCase;
using lk::describe;
using lk::Guarded;

// Of one image in one dimension or two, with as much padding as keeps the size.
ConvCase simple(int64_t in_channels, int64_t out_channels, int64_t height, int64_t width,
                int64_t kernel) {
  ConvCase made;
  lk_conv_shape &shape = made.shape;
  shape.batch = shape.groups = 1;
  shape.in_channels = in_channels;
  shape.out_channels = out_channels;
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    shape.in[d] = shape.kernel[d] = shape.stride[d] = shape.dilation[d] = 1;
  }
  shape.in[1] = height;
  shape.in[2] = width;
  shape.kernel[2] = kernel;
  shape.kernel[1] = height > 1 ? kernel : 1;
  for (int d = 0; d < LK_CONV_DIMS; d++) shape.pad[d] = shape.kernel[d] / 2;
  lk::set_sizes_of_output(&shape);
  return made;
}

ConvCase random_case(std::mt19937 &random) {
  auto number = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  ConvCase made;
  lk_conv_shape &shape = made.shape;
  shape.batch = number(1, 3);
  shape.groups = number(0, 3) == 0 ? number(2, 3) : 1;
  shape.in_channels = number(0, 1) == 0 ? number(1, 9) : number(1, 80);
  shape.out_channels = number(1, 150);
  lk::draw_sizes(random, 4, &shape);
  made.has_bias = number(0, 1) == 1;
  made.has_residual = number(0, 2) == 0;
  if (number(0, 1) == 1) made.low = 0;
  if (number(0, 2) == 0) made.high = 0.5F;
  made.fill(random);
  return made;
}

enum class Input { LAST, PLANES };

lk_conv plan(const ConvCase &of, lk_isa isa, Input input = Input::LAST) {
  lk_conv conv = {};
  conv.shape = of.shape;
  conv.isa = isa;
  conv.has_planes = input == Input::PLANES;
  conv.product.low = of.low;
  conv.product.high = of.high;
  conv.has_bias = of.has_bias;
  conv.has_residual = of.has_residual;
  lk_conv_plan(&conv);
  return conv;
}

std::vector<float> pack(const ConvCase &of, const lk_conv &conv) {
  std::vector<float> packed(size_t(lk_conv_packed_size(&conv)), NAN);
  lk_conv_pack(&conv, of.weights.get(), packed.data());
  return packed;
}

// The input in plain layout, without room around it.
std::vector<float> planes_of(const ConvCase &of) {
  const int64_t pixels = of.pixels_in(), channels = of.channels_in();
  std::vector<float> planes(of.input.size());
  for (size_t i = 0; i < planes.size(); i++) {
    const int64_t x = int64_t(i) % pixels, rest = int64_t(i) / pixels;
    planes[i] = of.input[size_t((rest / channels * pixels + x) * channels + rest % channels)];
  }
  return planes;
}

Guarded run(const ConvCase &of, lk_isa isa, bool in_place = false, Input input = Input::LAST) {
  const lk_conv conv = plan(of, isa, input);
  std::vector<float> packed = pack(of, conv), planes = planes_of(of);
  Guarded output(of.outputs());
  if (in_place) output = of.residual;
  std::vector<void *> pointers = of.pointers(&packed, output);
  if (conv.has_planes) pointers[0] = planes.data();
  if (conv.has_residual) {
    pointers.push_back(in_place ? output.get() : const_cast<float *>(of.residual.get()));
  }
  LK_EXPECT_OK(lk_conv_kernel(&conv, pointers.data(), LK_ERR));
  output.check();
  return output;
}

TEST(ConvKernel, IsRightForRandomGeometries) {
  std::mt19937 random(1);
  for (int i = 0; i < lk::repeats(150) && !::testing::Test::HasFatalFailure(); i++) {
    const ConvCase made = random_case(random);
    const std::vector<double> right = lk::gathered(made);
    for (const lk_isa isa : lk::instruction_sets()) {
      SCOPED_TRACE("case " + std::to_string(i) + describe(made.shape));
      check(made, right, run(made, isa));
    }
  }
}

// As a model has them: long sums are cut into blocks, and weights do not fit a cache.
TEST(ConvKernel, IsRightWhereSumsAndPanelsAreCut) {
  std::mt19937 random(2);
  for (const int64_t channels : {700, 2100}) {
    ConvCase made = simple(channels, 330, 4, 5, 3);
    made.high = 0.25F;
    made.has_bias = made.has_residual = true;
    made.fill(random);
    const std::vector<double> right = lk::gathered(made);
    for (const lk_isa isa : lk::instruction_sets()) {
      SCOPED_TRACE(describe(made.shape) + " isa " + std::to_string(isa));
      const Guarded apart = run(made, isa), in_place = run(made, isa, true);
      check(made, right, apart);
      EXPECT_TRUE(in_place.has_bits_of(apart)) << "the residual is the output";
    }
  }
}

// With many channels, a tile leaves out the rows that a tap has in the padding.
TEST(ConvKernel, IsRightAtTheEndsOfLines) {
  std::mt19937 random(7);
  auto number = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int i = 0; i < lk::repeats(25) && !::testing::Test::HasFatalFailure(); i++) {
    ConvCase made;
    lk_conv_shape &shape = made.shape;
    shape.batch = number(1, 2);
    shape.groups = number(0, 4) == 0 ? 2 : 1;
    shape.in_channels = number(24, 160);
    shape.out_channels = number(1, 100);
    lk::draw_sizes(random, 5, &shape);
    shape.in[2] = number(shape.in[2], 40);
    lk::set_sizes_of_output(&shape);
    made.has_bias = number(0, 1) == 1;
    made.has_residual = number(0, 1) == 1;
    made.high = 0.5F;
    made.fill(random);
    const std::vector<double> right = lk::gathered(made);
    for (const lk_isa isa : lk::instruction_sets()) {
      SCOPED_TRACE("case " + std::to_string(i) + describe(shape));
      check(made, right, run(made, isa, made.has_residual && i % 2 == 0));
    }
  }
}

// Of few channels, whose lines are copied with their padding.
ConvCase few_channels(std::mt19937 &random) {
  auto number = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  ConvCase made;
  lk_conv_shape &shape = made.shape;
  shape.batch = number(1, 3);
  shape.groups = 1;
  shape.in_channels = number(0, 2) > 0 ? number(1, 4) : number(1, 31);
  shape.out_channels = number(0, 1) == 0 ? number(1, 12) : number(1, 100);
  do {
    lk::draw_sizes(random, 7, &shape);
    shape.dilation[2] = 1;
    shape.in[2] = number(shape.kernel[2], number(0, 1) == 0 ? 20 : 90);
    lk::set_sizes_of_output(&shape);
  } while (shape.kernel[2] == 1 || shape.kernel[0] * shape.kernel[1] > LK_MICRO_TAPS ||
           made.positions() * shape.in_channels > 800);
  made.has_bias = number(0, 1) == 1;
  made.has_residual = number(0, 2) == 0;
  if (number(0, 1) == 1) made.low = 0;
  made.fill(random);
  return made;
}

void expect_same_of_planes(const ConvCase &made) {
  const std::vector<double> right = lk::gathered(made);
  for (const lk_isa isa : lk::instruction_sets()) {
    SCOPED_TRACE(describe(made.shape) + " isa " + std::to_string(isa));
    const Guarded last = run(made, isa);
    check(made, right, last);
    if (!lk_conv_takes_planes(&made.shape)) continue;
    EXPECT_TRUE(run(made, isa, false, Input::PLANES).has_bits_of(last)) << "plain input";
  }
}

TEST(ConvKernel, ReadsFewChannelsInEitherLayout) {
  std::mt19937 random(9);
  for (int i = 0; i < lk::repeats(120) && !::testing::Test::HasFatalFailure(); i++) {
    SCOPED_TRACE("case " + std::to_string(i));
    expect_same_of_planes(few_channels(random));
  }
}

// Lines of which the buffer has a part.
TEST(ConvKernel, ReadsFewChannelsOfLongLines) {
  std::mt19937 random(10);
  for (const int64_t channels : {1, 3, 31}) {
    for (const int64_t stride : {1, 2, 6}) {
      for (const int64_t of_lines : {stride, int64_t{1}}) {
        ConvCase made = simple(channels, 5, 7, 4100 / channels, 5);
        made.shape.stride[1] = of_lines;
        made.shape.stride[2] = stride;
        lk::set_sizes_of_output(&made.shape);
        made.fill(random);
        expect_same_of_planes(made);
      }
    }
  }
}

TEST(ConvKernel, TakesPlanesOfFewChannelsOnly) {
  const ConvCase of_three = simple(3, 8, 9, 9, 3);
  EXPECT_TRUE(lk_conv_takes_planes(&of_three.shape));
  const ConvCase of_one = simple(3, 8, 9, 9, 1), of_one_channel = simple(1, 8, 9, 9, 3),
                 of_many = simple(32, 8, 9, 9, 3), of_large = simple(3, 8, 40, 40, 17);
  for (const ConvCase *each : {&of_one, &of_one_channel, &of_many, &of_large}) {
    EXPECT_FALSE(lk_conv_takes_planes(&each->shape)) << describe(each->shape);
  }
  ConvCase dilated = of_three, grouped = of_three, of_patches = of_three, of_lines = of_three,
           of_nothing = of_three;
  dilated.shape.dilation[2] = 2;
  grouped.shape.groups = 2;
  of_lines.shape.kernel[0] = 11;
  of_nothing.shape.kernel[1] = 0;
  of_patches.shape.stride[2] = 3;
  for (const ConvCase *each : {&dilated, &grouped, &of_lines, &of_nothing, &of_patches}) {
    EXPECT_FALSE(lk_conv_takes_planes(&each->shape)) << describe(each->shape);
  }
}

TEST(ConvKernel, TakesPixelsAsRowsWhereTheyAreTheOutput) {
  const ConvCase dense = simple(8, 16, 5, 7, 1);
  ConvCase padded = dense, strided = dense;
  padded.shape.pad[2] = 1;
  strided.shape.stride[2] = 2;
  for (ConvCase *each : {&padded, &strided}) lk::set_sizes_of_output(&each->shape);
  EXPECT_TRUE(plan(dense, lk_isa_get()).is_dense);
  EXPECT_FALSE(plan(padded, lk_isa_get()).is_dense);
  EXPECT_FALSE(plan(strided, lk_isa_get()).is_dense);
  EXPECT_FALSE(plan(simple(8, 16, 5, 7, 3), lk_isa_get()).is_dense);
}

// 64 channels are four vectors of AVX-512: a tile of r pixels has 4 r sums, and 6 pixels at most.
// By the costs in conv_lines.c tiles of 3 to 6 pixels take 17.5, 21.5, 25.5 and 27.5. For 5 pixels
// that is more than 5 / 6 of a whole tile, for 7 pixels 39 is more than 7 / 6 of one: there tiles
// go on in the next line.
TEST(ConvKernel, EndsTilesWithLinesWhereThatIsQuicker) {
  const std::pair<int64_t, int64_t> rows[] = {{5, 0}, {6, 6}, {7, 0}, {10, 0}, {12, 6}, {18, 6}};
  for (const auto &[width, expected] : rows) {
    EXPECT_EQ(plan(simple(8, 64, 3, width, 1), LK_ISA_AVX512).line_rows, expected) << width;
  }
}

// Groups of few channels, of which a task has some or all.
TEST(ConvKernel, IsRightForGroups) {
  std::mt19937 random(8);
  auto number = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int i = 0; i < lk::repeats(40) && !::testing::Test::HasFatalFailure(); i++) {
    ConvCase made;
    lk_conv_shape &shape = made.shape;
    const bool are_many = i % 8 == 0; // more channels than a row of zeros is long
    shape.batch = number(1, 2);
    shape.groups = are_many ? number(20, 40) : number(2, 30);
    shape.in_channels = are_many ? number(100, 200) : number(1, 40);
    shape.out_channels = number(1, are_many ? 10 : 40);
    lk::draw_sizes(random, are_many ? 2 : 4, &shape);
    made.has_bias = number(0, 1) == 1;
    made.has_residual = number(0, 1) == 1;
    made.low = -0.5F;
    made.fill(random);
    const std::vector<double> right = lk::gathered(made);
    for (const lk_isa isa : lk::instruction_sets()) {
      SCOPED_TRACE("case " + std::to_string(i) + describe(shape));
      check(made, right, run(made, isa, made.has_residual && i % 2 == 0));
    }
  }
}

// Also where sums are cut and where there are groups.
TEST(ConvKernel, IsFollowedByItsChain) {
  std::mt19937 random(6);
  for (const int64_t channels : {3, 2100}) {
    ConvCase made = simple(channels, 45, 6, 7, 3);
    made.shape.groups = channels == 3 ? 5 : 1;
    made.shape.batch = 2;
    made.has_bias = true;
    made.fill(random);
    const lk::ConvChain chain(2 * 6 * 7, made.channels_out(), random);
    lk_conv conv = plan(made, lk_isa_get());
    conv.has_chain = true;
    check(made, chain, lk::run_with_chain(made, conv, pack(made, conv), chain, lk_conv_kernel));
  }
}

// An image's result depends on neither threads nor what else is in the batch.
TEST(ConvKernel, HasTheSameBitsForAnyThreadsAndBatch) {
  std::mt19937 random(3);
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

// Nothing is read where the constants of the next kernel are said to be.
TEST(ConvKernel, HasTheSameBitsWhateverIsAhead) {
  std::mt19937 random(12);
  const lk_kernel_ahead nowhere = {reinterpret_cast<const char *>(size_t(1) << 46), 1 << 20};
  for (int i = 0; i < lk::repeats(30); i++) {
    const ConvCase made = random_case(random);
    for (const lk_isa isa : lk::instruction_sets()) {
      SCOPED_TRACE("case " + std::to_string(i) + describe(made.shape));
      const Guarded without = run(made, isa);
      lk_kernel_set_ahead(&nowhere);
      const Guarded with = run(made, isa);
      lk_kernel_set_ahead(nullptr);
      EXPECT_TRUE(with.has_bits_of(without));
    }
  }
}

TEST(ConvKernel, HasTheSameBitsForAnyThreadsOfFewChannels) {
  std::mt19937 random(11);
  for (int i = 0; i < 8; i++) {
    ConvCase made = few_channels(random);
    made.shape.batch = 3;
    made.shape.in[1] = made.shape.in[2] = 60;
    lk::set_sizes_of_output(&made.shape);
    made.fill(random);
    SCOPED_TRACE("case " + std::to_string(i) + describe(made.shape));
    for (const Input input : {Input::LAST, Input::PLANES}) {
      if (input == Input::PLANES && !lk_conv_takes_planes(&made.shape)) continue;
      lk::expect_same_bits(made, random, [input](const ConvCase &of) {
        return run(of, lk_isa_get(), false, input);
      });
    }
  }
}

// Of few columns, AVX-512 computes with the tiles of AVX2.
TEST(ConvKernel, HasTheSameBitsForFewColumns) {
  if (lk_isa_get() < LK_ISA_AVX512) GTEST_SKIP() << "it has no AVX-512";
  std::mt19937 random(12);
  for (const int64_t columns : {1, 7, 8}) {
    ConvCase made = simple(40, columns, 13, 13, 3);
    made.fill(random);
    EXPECT_EQ(plan(made, LK_ISA_AVX512).product.micro, lk_micro_get(LK_ISA_AVX2));
    EXPECT_TRUE(run(made, LK_ISA_AVX512).has_bits_of(run(made, LK_ISA_AVX2)));
  }
  EXPECT_EQ(plan(simple(40, 9, 13, 13, 3), LK_ISA_AVX512).product.micro,
            lk_micro_get(LK_ISA_AVX512));
}

TEST(ConvKernel, KeepsWeights) {
  std::mt19937 random(4);
  for (int i = 0; i < lk::repeats(40); i++) {
    const ConvCase made = random_case(random);
    for (const lk_isa isa : lk::instruction_sets()) {
      const lk_conv conv = plan(made, isa);
      lk::expect_packed(made, conv, pack(made, conv), lk_conv_unpack);
    }
  }
}

TEST(ConvKernel, KeepsNaN) {
  std::mt19937 random(5);
  for (const lk_isa isa : lk::instruction_sets()) {
    ConvCase made = simple(5, 70, 1, 9, 1);
    made.low = 0;
    made.high = 6;
    made.fill(random);
    made.input[5 * 4] = NAN;
    const Guarded output = run(made, isa);
    for (int64_t i = 0; i < 9 * 70; i++) EXPECT_EQ(std::isnan(output[size_t(i)]), i / 70 == 4);
  }
}

} // namespace
