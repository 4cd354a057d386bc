// Convolutions of random geometries against plain loops in double.
#include "tests/ops/kernel/product.h"

extern "C" {
#include "ops/kernel/conv.h"
}

namespace {

using lk::Guarded;

struct Case {
  lk_conv conv = {};
  Guarded input{0}, weights{0}, bias{0}, residual{0};

  int64_t pixels_in() const { return conv.in[0] * conv.in[1] * conv.in[2]; }
  int64_t pixels_out() const { return conv.out[0] * conv.out[1] * conv.out[2]; }
  int64_t positions() const { return conv.kernel[0] * conv.kernel[1] * conv.kernel[2]; }
  size_t outputs() const {
    return size_t(conv.batch * pixels_out() * conv.groups * conv.out_channels);
  }
};

std::string describe(const lk_conv &conv) {
  std::string text;
  auto add = [&](const char *name, const int64_t *numbers, int count) {
    text += std::string(" ") + name;
    for (int i = 0; i < count; i++) text += " " + std::to_string(numbers[i]);
  };
  add("isa", std::vector<int64_t>{conv.isa}.data(), 1);
  add("batch", &conv.batch, 1);
  add("groups", &conv.groups, 1);
  add("channels", &conv.in_channels, 2);
  add("in", conv.in, 3);
  add("kernel", conv.kernel, 3);
  add("stride", conv.stride, 3);
  add("dilation", conv.dilation, 3);
  add("pad", conv.pad, 3);
  return text;
}

void set_sizes_of_output(lk_conv *conv) {
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    const int64_t window = (conv->kernel[d] - 1) * conv->dilation[d] + 1;
    conv->out[d] = (conv->in[d] + 2 * conv->pad[d] - window) / conv->stride[d] + 1;
  }
}

// Of one image in one dimension or two, with as much padding as keeps the size.
lk_conv simple(int64_t in_channels, int64_t out_channels, int64_t height, int64_t width,
               int64_t kernel) {
  lk_conv conv = {};
  conv.batch = conv.groups = 1;
  conv.in_channels = in_channels;
  conv.out_channels = out_channels;
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    conv.in[d] = conv.kernel[d] = conv.stride[d] = conv.dilation[d] = 1;
  }
  conv.in[1] = height;
  conv.in[2] = width;
  conv.kernel[2] = kernel;
  conv.kernel[1] = height > 1 ? kernel : 1;
  for (int d = 0; d < LK_CONV_DIMS; d++) conv.pad[d] = conv.kernel[d] / 2;
  conv.low = -INFINITY;
  conv.high = INFINITY;
  set_sizes_of_output(&conv);
  return conv;
}

void fill(Case *of, std::mt19937 &random) {
  const lk_conv &conv = of->conv;
  const int64_t channels = conv.groups * conv.out_channels;
  of->input = lk::random_floats(
      size_t(conv.batch * of->pixels_in() * conv.groups * conv.in_channels), random);
  of->weights = lk::random_floats(size_t(channels * conv.in_channels * of->positions()), random);
  of->bias = lk::random_floats(size_t(channels), random);
  of->residual = lk::random_floats(of->outputs(), random);
}

Case random_case(std::mt19937 &random) {
  auto number = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  Case made;
  lk_conv &conv = made.conv;
  conv.batch = number(1, 3);
  conv.groups = number(0, 3) == 0 ? number(2, 3) : 1;
  conv.in_channels = number(0, 1) == 0 ? number(1, 9) : number(1, 80);
  conv.out_channels = number(1, 150);
  const int dims = int(number(1, 3));
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    const bool is_there = d >= LK_CONV_DIMS - dims;
    conv.kernel[d] = is_there ? number(1, 4) : 1;
    conv.stride[d] = is_there ? number(1, 3) : 1;
    conv.dilation[d] = is_there && number(0, 2) == 0 ? number(1, 3) : 1;
    conv.pad[d] = is_there ? number(0, 3) : 0;
    const int64_t window = (conv.kernel[d] - 1) * conv.dilation[d] + 1;
    conv.in[d] = is_there ? number(std::max<int64_t>(1, window - 2 * conv.pad[d]), 14) : 1;
  }
  set_sizes_of_output(&conv);
  conv.has_bias = number(0, 1) == 1;
  conv.has_residual = number(0, 2) == 0;
  conv.low = number(0, 1) == 1 ? 0.0F : -INFINITY;
  conv.high = number(0, 2) == 0 ? 0.5F : INFINITY;
  fill(&made, random);
  return made;
}

Guarded run(const Case &of, lk_isa isa, bool in_place = false) {
  lk_conv conv = of.conv;
  conv.isa = isa;
  lk_conv_plan(&conv);
  std::vector<float> packed(size_t(lk_conv_packed_size(&conv)), NAN);
  lk_conv_pack(&conv, of.weights.get(), packed.data());
  Guarded output(of.outputs());
  if (in_place) output = of.residual;
  std::vector<void *> pointers = {const_cast<float *>(of.input.get()), packed.data(), output.get()};
  if (conv.has_bias) pointers.push_back(const_cast<float *>(of.bias.get()));
  if (conv.has_residual) {
    pointers.push_back(in_place ? output.get() : const_cast<float *>(of.residual.get()));
  }
  LK_EXPECT_OK(lk_conv_kernel(&conv, pointers.data(), LK_ERR));
  output.check();
  return output;
}

// One output in double.
double expected(const Case &of, int64_t image, const int64_t at[3], int64_t channel) {
  const lk_conv &conv = of.conv;
  const int64_t group = channel / conv.out_channels, channels = conv.groups * conv.in_channels;
  const int64_t all = conv.groups * conv.out_channels;
  double sum = conv.has_bias ? of.bias[size_t(channel)] : 0;
  for (int64_t p = 0; p < of.positions(); p++) {
    const int64_t kernel[] = {p / conv.kernel[2] / conv.kernel[1],
                              p / conv.kernel[2] % conv.kernel[1], p % conv.kernel[2]};
    int64_t pixel = image;
    bool is_inside = true;
    for (int d = 0; d < 3; d++) {
      const int64_t i = at[d] * conv.stride[d] - conv.pad[d] + kernel[d] * conv.dilation[d];
      is_inside = is_inside && i >= 0 && i < conv.in[d];
      pixel = pixel * conv.in[d] + i;
    }
    for (int64_t c = 0; is_inside && c < conv.in_channels; c++) {
      sum += double(of.input[size_t(pixel * channels + group * conv.in_channels + c)]) *
             of.weights[size_t((channel * conv.in_channels + c) * of.positions() + p)];
    }
  }
  const int64_t row = ((image * conv.out[0] + at[0]) * conv.out[1] + at[1]) * conv.out[2] + at[2];
  if (conv.has_residual) sum += of.residual[size_t(row * all + channel)];
  return std::fmin(std::fmax(sum, conv.low), conv.high);
}

void check(const Case &of, const Guarded &output) {
  const lk_conv &conv = of.conv;
  const int64_t all = conv.groups * conv.out_channels;
  const double allowed = lk::tolerance(of.positions() * conv.in_channels);
  for (size_t i = 0; i < of.outputs(); i++) {
    const int64_t row = int64_t(i) / all, image = row / of.pixels_out();
    const int64_t at[] = {row / conv.out[2] / conv.out[1] % conv.out[0],
                          row / conv.out[2] % conv.out[1], row % conv.out[2]};
    ASSERT_NEAR(output[i], expected(of, image, at, int64_t(i) % all), allowed) << "output " << i;
  }
}

TEST(ConvKernel, IsRightForRandomGeometries) {
  std::mt19937 random(1);
  for (int i = 0; i < 150 && !::testing::Test::HasFatalFailure(); i++) {
    const Case made = random_case(random);
    for (const lk_isa isa : lk::instruction_sets()) {
      SCOPED_TRACE("case " + std::to_string(i) + describe(made.conv));
      check(made, run(made, isa));
    }
  }
}

// As a model has them: long sums are cut into blocks, and weights do not fit a cache.
TEST(ConvKernel, IsRightWhereSumsAndPanelsAreCut) {
  std::mt19937 random(2);
  for (const int64_t channels : {700, 2100}) {
    Case made;
    made.conv = simple(channels, 330, 4, 5, 3);
    made.conv.high = 0.25F;
    made.conv.has_bias = made.conv.has_residual = true;
    fill(&made, random);
    for (const lk_isa isa : lk::instruction_sets()) {
      SCOPED_TRACE(describe(made.conv) + " isa " + std::to_string(isa));
      const Guarded apart = run(made, isa), in_place = run(made, isa, true);
      check(made, apart);
      EXPECT_TRUE(in_place.has_bits_of(apart)) << "the residual is the output";
    }
  }
}

// A chain with operands of all four sorts, also where sums are cut and where there are groups.
TEST(ConvKernel, IsFollowedByItsChain) {
  std::mt19937 random(6);
  for (const int64_t channels : {3, 2100}) {
    Case made;
    made.conv = simple(channels, 45, 6, 7, 3);
    made.conv.groups = channels == 3 ? 2 : 1;
    made.conv.batch = 2;
    made.conv.has_bias = true;
    fill(&made, random);
    const int64_t all = 45 * made.conv.groups, rows = 2 * 6 * 7;
    const Guarded full = lk::random_floats(made.outputs(), random),
                  columns = lk::random_floats(size_t(all), random),
                  each_row = lk::random_floats(size_t(rows), random),
                  one = lk::random_floats(1, random);
    struct {
      lk_conv conv;
      lk_product_chain chain;
    } params = {made.conv, {}};
    lk_element_program program = lk_element_begin();
    lk_element_value value = lk_element_input(&program, LK_F32);
    const lk_element_op ops[] = {LK_ELEMENT_MUL, LK_ELEMENT_ADD, LK_ELEMENT_MUL, LK_ELEMENT_SUB};
    const int64_t row_steps[] = {all, 0, 1, 0}, column_steps[] = {1, 1, 0, 0};
    for (int i = 0; i < 4; i++) {
      value = lk_element_binary(&program, ops[i], value, lk_element_input(&program, LK_F32));
      params.chain.row_step[i] = row_steps[i];
      params.chain.column_step[i] = column_steps[i];
    }
    lk_element_output(&program, lk_element_unary(&program, LK_ELEMENT_RELU, value, 0, 0), LK_F32);
    params.chain.n_operands = 4;
    LK_ASSERT_OK(lk_product_chain_plan(&program, &params.chain, LK_ERR));
    params.conv.isa = lk_isa_get();
    params.conv.has_chain = true;
    lk_conv_plan(&params.conv);
    std::vector<float> packed(size_t(lk_conv_packed_size(&params.conv)));
    lk_conv_pack(&params.conv, made.weights.get(), packed.data());
    Guarded output(made.outputs());
    std::vector<void *> pointers = {const_cast<float *>(made.input.get()), packed.data(),
                                    output.get(), const_cast<float *>(made.bias.get())};
    for (const Guarded *each : {&full, &columns, &each_row, &one}) {
      pointers.push_back(const_cast<float *>(each->get()));
    }
    LK_ASSERT_OK(lk_conv_kernel(&params, pointers.data(), LK_ERR));
    output.check();
    for (size_t i = 0; i < made.outputs(); i++) {
      const int64_t row = int64_t(i) / all;
      const int64_t at[] = {0, row / 7 % 6, row % 7};
      const double sum = expected(made, row / 42, at, int64_t(i) % all);
      const double right =
          (sum * full[i] + columns[i % size_t(all)]) * each_row[size_t(row)] - one[0];
      ASSERT_NEAR(output[i], std::fmax(right, 0), lk::tolerance(9 * channels)) << "output " << i;
    }
  }
}

// An image's result depends on neither threads nor what else is in the batch.
TEST(ConvKernel, HasTheSameBitsForAnyThreadsAndBatch) {
  std::mt19937 random(3);
  for (int i = 0; i < 12; i++) {
    Case made = random_case(random);
    made.conv.batch = 3;
    made.conv.in[1] = made.conv.in[2] = 40;
    set_sizes_of_output(&made.conv);
    fill(&made, random);
    SCOPED_TRACE("case " + std::to_string(i) + describe(made.conv));
    const Guarded alone = run(made, lk_isa_get());
    for (const int threads : {2, 8}) {
      lk::with_threads(threads, [&] {
        EXPECT_TRUE(run(made, lk_isa_get()).has_bits_of(alone)) << threads << " threads";
      });
    }
    Case last = made;
    last.conv.batch = 1;
    fill(&last, random);
    last.weights = made.weights;
    last.bias = made.bias;
    const size_t in = last.input.size(), out = last.outputs();
    std::copy_n(made.input.get() + 2 * in, in, last.input.get());
    std::copy_n(made.residual.get() + 2 * out, out, last.residual.get());
    const Guarded single = run(last, lk_isa_get());
    EXPECT_EQ(std::memcmp(single.get(), alone.get() + 2 * out, out * sizeof(float)), 0);
  }
}

TEST(ConvKernel, KeepsWeights) {
  std::mt19937 random(4);
  for (int i = 0; i < 40; i++) {
    const Case made = random_case(random);
    for (const lk_isa isa : lk::instruction_sets()) {
      lk_conv conv = made.conv;
      conv.isa = isa;
      lk_conv_plan(&conv);
      std::vector<float> packed(size_t(lk_conv_packed_size(&conv)), NAN);
      lk_conv_pack(&conv, made.weights.get(), packed.data());
      Guarded back(made.weights.size());
      lk_conv_unpack(&conv, packed.data(), back.get());
      EXPECT_TRUE(back.has_bits_of(made.weights)) << describe(conv);
      for (const float x : packed) ASSERT_FALSE(std::isnan(x)) << "every element is written";
    }
  }
}

TEST(ConvKernel, KeepsNaN) {
  std::mt19937 random(5);
  for (const lk_isa isa : lk::instruction_sets()) {
    Case made;
    made.conv = simple(5, 70, 1, 9, 1);
    made.conv.low = 0;
    made.conv.high = 6;
    fill(&made, random);
    made.input[5 * 4] = NAN;
    const Guarded output = run(made, isa);
    for (int64_t i = 0; i < 9 * 70; i++) EXPECT_EQ(std::isnan(output[size_t(i)]), i / 70 == 4);
  }
}

} // namespace
