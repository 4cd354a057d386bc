// Engine `auto` with oneDNN: which works it gives to it by estimates, and that these decide nothing
// else.
#include "tests/ops/engine/onednn/halves.h"

namespace {

using lk::api;
using lk::Case;
using lk::Dims;
using lk::Host;
using lk::Value;
using ::testing::HasSubstr;

Case norm(const Dims &dims) {
  Case made;
  made.node.op = "LayerNormalization";
  made.node.opset = 17;
  made.node.ints = {{"axis", {-1}}};
  made.inputs = {lk::random(dims, 1), lk::random({dims.back()}, 2)};
  made.node.constants = {made.inputs[1]};
  return made;
}

Case product(const Dims &dims, int64_t columns) {
  Case made;
  made.node.op = "MatMul";
  made.inputs = {lk::random(dims, 1), lk::random({dims.back(), columns}, 2)};
  made.node.constants = {made.inputs[1]};
  return made;
}

// By estimates, in a context of its own.
lk_engine_choice_info choice_of(Case given, const char *engine = "auto") {
  Host native("native"), chooses(engine);
  Value right, found;
  native.run(given, &right);
  given.flags = LK_BIND_RECURS;
  chooses.run(given, &found);
  EXPECT_TRUE(lk::all_close(right, found, lk::of_sums(256)));
  lk_engine_choice_info info = {};
  info.struct_size = sizeof info;
  LK_EXPECT_OK(api()->engine_choice(chooses.context, 0, &info, LK_ERR));
  EXPECT_EQ(chooses.works(), info.is_engine);
  return info;
}

// What it saves of f32 is too little for an estimate, so the last bits of f32 stay.
TEST(OnednnAuto, IsAskedForF32AndHasToBeMeasured) {
  for (const Case &given : {norm({64, 256}), product({1, 64}, 1 << 16)}) {
    const lk_engine_choice_info info = choice_of(given);
    EXPECT_STREQ(info.engine, "onednn");
    EXPECT_EQ(info.is_engine, 0u);
    EXPECT_LT(info.engine_ns, info.native_ns);
    EXPECT_GT(info.build_ns, 0);
    EXPECT_THAT(info.reason, HasSubstr("more than 0.75 of native's time"));
  }
}

TEST(OnednnAuto, NativeComputesTheRest) {
  for (const Case &given : {norm({2, 16}), product({1, 256}, 64), product({64, 256}, 64)}) {
    const lk_engine_choice_info info = choice_of(given);
    EXPECT_EQ(info.is_engine, 0u);
    EXPECT_THAT(info.reason, HasSubstr("it is estimated to take more"));
    EXPECT_EQ(info.is_measured, 0u);
  }
}

// Of bytes: no product, but small groups, and pictures of i8: native reads those of u8 as words.
TEST(OnednnAuto, TakesConvolutionsOfBytesWhereNativeIsSlower) {
  struct {
    Dims x, w;
    int64_t groups;
    bool is_signed;
    uint32_t is_engine;
  } const cases[] = {{{1, 64, 28, 28}, {64, 16, 3, 3}, 4, false, 1},
                     {{1, 3, 224, 224}, {16, 3, 3, 3}, 1, false, 0},
                     {{1, 3, 224, 224}, {16, 3, 3, 3}, 1, true, 1},
                     {{1, 64, 28, 28}, {64, 64, 1, 1}, 1, false, 0}};
  for (const auto &each : cases) {
    Case given;
    given.node.op = "ConvInteger";
    given.node.opset = 10;
    given.node.ints = {{"group", {each.groups}}};
    const auto count = size_t(lk::count_of(each.x));
    given.inputs = {
        each.is_signed ? lk::tensor<int8_t>(each.x, std::vector<int8_t>(count, 3))
                       : lk::tensor<uint8_t>(each.x, std::vector<uint8_t>(count, 3)),
        lk::tensor<int8_t>(each.w, std::vector<int8_t>(size_t(lk::count_of(each.w)), -2))};
    given.node.constants = {given.inputs[1]};
    given.wish = LK_LAYOUT_CHANNELS_LAST; // sums that would be turned take as long as that
    SCOPED_TRACE(lk::text_of(each.w) + (each.is_signed ? " of i8" : " of u8"));
    if (lk_isa_has_vnni()) {
      const lk_engine_choice_info info = choice_of(given);
      EXPECT_EQ(info.is_engine, each.is_engine) << info.reason;
    }
  }
}

TEST(OnednnAuto, IsOfNoEffectWhereSizesAreNew) {
  Host chooses("auto");
  EXPECT_STREQ(api()->engine_chosen(chooses.context), "auto");
  Value found;
  chooses.run(norm({64, 256}), &found);
  EXPECT_EQ(chooses.stats().engine_works + chooses.stats().engine_left, 0u);
  EXPECT_EQ(chooses.stats().kind[LK_KIND_VALUE].misses, 0u);
}

TEST(OnednnAuto, TakesHalvesWhereTheProcessorHasInstructions) {
  Host native("native"), chooses("auto");
  Case given = product({64, 256}, 256);
  for (Value &input : given.inputs) input = lk::cast(&native, input, LK_BF16);
  given.node.constants = {given.inputs[1]};
  given.flags = LK_BIND_RECURS;
  Value found;
  chooses.run(given, &found);
  lk_engine_choice_info info = {};
  info.struct_size = sizeof info;
  LK_ASSERT_OK(api()->engine_choice(chooses.context, 0, &info, LK_ERR));
  EXPECT_EQ(info.is_engine, uint32_t(lk::computes(LK_BF16))) << info.reason;
  if (info.is_engine == 0) {
    EXPECT_THAT(info.reason, HasSubstr("it is estimated")) << "it was offered as f32";
  }
}

Case of_one(const char *op, const Dims &dims) {
  Case made;
  made.node.op = op;
  made.node.opset = 18;
  made.inputs = {lk::random(dims, 1, 0.5F, 2)};
  return made;
}
Case rms(const Dims &dims) {
  Case made = norm(dims);
  made.node.op = "RMSNormalization";
  made.node.opset = 23;
  return made;
}
Case sum(const Dims &dims) {
  Case made = of_one("Add", dims);
  made.inputs.push_back(lk::random(dims, 2));
  return made;
}
Case mean(const Dims &dims) {
  Case made = of_one("ReduceMean", dims);
  made.node.constants = {lk::ints({-1})};
  made.inputs.push_back(made.node.constants[0]);
  return made;
}
Case with_layout(Case of, lk_layout layout) {
  of.layout = of.wish = layout;
  return of;
}
Case instance(const Dims &dims, lk_layout layout) {
  Case made = of_one("InstanceNormalization", dims);
  for (const unsigned seed : {2, 3}) made.inputs.push_back(lk::random({dims[1]}, seed));
  return with_layout(made, layout);
}
Case groups(int64_t count, const Dims &dims) {
  Case made = instance(dims, LK_LAYOUT_CHANNELS_LAST);
  made.node.op = "GroupNormalization";
  made.node.opset = 21;
  made.node.ints = {{"num_groups", {count}}};
  return made;
}
Case batch_norm(const Dims &dims) {
  Case made = instance(dims, LK_LAYOUT_CHANNELS_LAST);
  made.node.op = "BatchNormalization";
  made.node.opset = 15;
  made.inputs.push_back(lk::random({dims[1]}, 4));
  made.inputs.push_back(lk::random({dims[1]}, 5, 0.5F, 1));
  return made;
}
Case prelu(const Dims &dims) {
  Case made = of_one("PRelu", dims);
  made.node.opset = 16;
  made.inputs.push_back(lk::random({dims[1], 1, 1}, 2, 0.25F, 1));
  made.node.constants = {made.inputs[1]};
  return made;
}
Case local_response(const Dims &dims) {
  Case made = of_one("LRN", dims);
  made.node.ints = {{"size", {5}}};
  return with_layout(made, LK_LAYOUT_CHANNELS_LAST);
}
Case twice(const char *mode, const Dims &dims, lk_layout layout) {
  Case made = of_one("Resize", dims);
  made.node.texts = {{"mode", mode}};
  made.node.constants = {lk::tensor<float>({0}, {}), lk::tensor<float>({0}, {}),
                         lk::ints({dims[0], dims[1], 2 * dims[2], 2 * dims[3]})};
  made.inputs.insert(made.inputs.end(), made.node.constants.begin(), made.node.constants.end());
  return with_layout(made, layout);
}

Case halved(Host *native, Case of, uint32_t dtype) {
  for (Value &input : of.inputs) {
    const bool is_number = input.desc.dtype == LK_F32 && input.count() > 0;
    if (is_number) input = lk::cast(native, input, dtype);
  }
  of.node.constants.assign(of.inputs.end() - int64_t(of.node.constants.size()), of.inputs.end());
  return of;
}

// Where measurements of several sizes have found oneDNN to take less than 0.75 of native's time. Of
// f16 nothing was measured.
TEST(OnednnAuto, TakesBf16WhereNativeIsSlower) {
  const lk_layout last = LK_LAYOUT_CHANNELS_LAST, plain = LK_LAYOUT_PLAIN;
  const struct {
    Case given;
    bool is_engine;
  } cases[] = {{norm({256, 768}), true},
               {norm({16, 768}), false},
               {norm({1, 1 << 17}), false},
               {rms({64, 768}), true},
               {rms({8, 768}), false},
               {sum({64, 1024}), true},
               {sum({8, 512}), false},
               {of_one("Sqrt", {256, 1024}), true},
               {of_one("Sqrt", {8, 1024}), false},
               {of_one("Tanh", {64, 1024}), false},
               {mean({128, 768}), true},
               {mean({1024, 64}), false},
               {instance({1, 128, 80, 80}, last), true},
               {instance({1, 128, 80, 80}, plain), false},
               {instance({1, 128, 56, 56}, last), false},
               {groups(4, {1, 128, 80, 80}), true},
               {groups(32, {1, 128, 80, 80}), false},
               {batch_norm({1, 64, 56, 56}), true},
               {batch_norm({1, 64, 14, 14}), false},
               {prelu({1, 64, 56, 56}), true},
               {prelu({1, 16, 16, 16}), false},
               {local_response({1, 64, 112, 112}), true},
               {local_response({1, 16, 56, 56}), false},
               {twice("linear", {1, 16, 28, 28}, last), true},
               {twice("linear", {1, 16, 28, 28}, plain), false},
               {twice("nearest", {1, 16, 28, 28}, last), false}};
  Host native("native");
  for (const auto &each : cases) {
    for (const uint32_t dtype : {LK_BF16, LK_F16}) {
      Case given = halved(&native, each.given, dtype);
      SCOPED_TRACE(given.node.op + " of " + lk::text_of(given.inputs[0].desc));
      Host chooses("auto");
      Value right, found;
      native.run(given, &right);
      given.flags = LK_BIND_RECURS;
      chooses.run(given, &found);
      if (HasFatalFailure()) return;
      EXPECT_TRUE(lk::are_neighbours(right, found, 4e-6));
      const bool is_engine = each.is_engine && dtype == LK_BF16 && lk::computes(dtype);
      EXPECT_EQ(chooses.works(), is_engine ? 1u : 0u);
    }
  }
}

} // namespace
