// Engine `auto` with oneDNN: which works it gives to it by estimates, and that these decide nothing
// else.
#include "tests/ops/engine/onednn/host.h"

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

// Of bytes: no product, but small groups, and pictures.
TEST(OnednnAuto, TakesConvolutionsOfBytesWhereNativeIsSlower) {
  struct {
    Dims x, w;
    int64_t groups;
    uint32_t is_engine;
  } const cases[] = {{{1, 64, 28, 28}, {64, 16, 3, 3}, 4, 1},
                     {{1, 3, 96, 96}, {16, 3, 3, 3}, 1, 1},
                     {{1, 64, 28, 28}, {64, 64, 1, 1}, 1, 0}};
  for (const auto &each : cases) {
    Case given;
    given.node.op = "ConvInteger";
    given.node.opset = 10;
    given.node.ints = {{"group", {each.groups}}};
    given.inputs = {
        lk::tensor<uint8_t>(each.x, std::vector<uint8_t>(size_t(lk::count_of(each.x)), 3)),
        lk::tensor<int8_t>(each.w, std::vector<int8_t>(size_t(lk::count_of(each.w)), -2))};
    given.node.constants = {given.inputs[1]};
    given.wish = LK_LAYOUT_CHANNELS_LAST; // sums that would be turned take as long as that
    SCOPED_TRACE(lk::text_of(each.w));
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

bool has_bf16() {
  return __builtin_cpu_supports("avx512bf16") != 0 && lk_isa_get() >= LK_ISA_AVX512;
}

TEST(OnednnAuto, TakesHalvesWhereTheProcessorHasInstructions) {
  Host native("native"), chooses("auto");
  Case casting;
  casting.node.op = "Cast";
  casting.node.ints = {{"to", {16}}}; // bf16
  Case given = product({64, 256}, 256);
  for (Value &input : given.inputs) {
    casting.inputs = {input};
    native.run(casting, &input);
  }
  given.node.constants = {given.inputs[1]};
  given.flags = LK_BIND_RECURS;
  Value found;
  chooses.run(given, &found);
  lk_engine_choice_info info = {};
  info.struct_size = sizeof info;
  LK_ASSERT_OK(api()->engine_choice(chooses.context, 0, &info, LK_ERR));
  EXPECT_EQ(info.is_engine, uint32_t(has_bf16())) << info.reason;
  if (info.is_engine == 0) {
    EXPECT_THAT(info.reason, HasSubstr("it is estimated")) << "it was offered as f32";
  }
}

} // namespace
