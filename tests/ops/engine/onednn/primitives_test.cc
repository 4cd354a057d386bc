// The engine of oneDNN computes what `native` computes, for random nodes of every kind that it has
// primitives for, with post-ops, layouts and wishes; primitives are found by key.
#include <unistd.h>

#include <fstream>

#include "tests/ops/engine/onednn/random_nodes.h"

namespace {

using lk::api;
using lk::Case;
using lk::Host;
using lk::kHasPrimitives;
using lk::RandomNodes;
using lk::Value;

TEST(Primitives, ComputeWhatNativeComputes) {
  RandomNodes random(1);
  Host native("native"), onednn("onednn");
  for (int i = 0; i < 900; i++) {
    const Case each = random.any();
    SCOPED_TRACE("case " + std::to_string(i) + ", " + each.node.op);
    Value expected, computed;
    native.run(each, &expected);
    onednn.run(each, &computed);
    // Sums are in another order, and functions are other approximations.
    ASSERT_TRUE(lk::all_close(expected, computed, {1e-5, 1e-5}));
    if (HasFatalFailure()) return;
  }
  const lk_stats stats = onednn.stats();
  EXPECT_GT(stats.kind[LK_KIND_VALUE].builds, 300u);
  if (kHasPrimitives) {
    EXPECT_LT(stats.engine_left, stats.engine_works);
  } else {
    EXPECT_GT(stats.engine_works, 100u);
  }
  EXPECT_EQ(native.stats().kind[LK_KIND_VALUE].builds, 0u);
}

// All that primitives depend on besides their work stands in each key, the math mode too: none is
// allowed to compute in types that are shorter than those of the work.
TEST(Primitives, HaveTheirMathModeInTheirKeys) {
  Host onednn("onednn");
  RandomNodes random(4);
  Value out;
  for (int i = 0; i < 10; i++) onednn.run(random.any(), &out);
  struct Seen {
    lk_context *context;
    int values = 0;
  } seen{onednn.context};
  LK_ASSERT_OK(api()->cache_visit(
      onednn.context,
      [](void *arg, const lk_entry_info *info) {
        auto *self = static_cast<Seen *>(arg);
        if (info->kind != LK_KIND_VALUE) return;
        self->values++;
        char text[4096];
        LK_EXPECT_OK(
            api()->key_print(self->context, info->key, text, sizeof text, nullptr, LK_ERR));
        EXPECT_THAT(text, ::testing::HasSubstr(" math%3Dstrict threads%3D2;"));
      },
      &seen, LK_ERR));
  EXPECT_GT(seen.values, 0);
}

TEST(Primitives, AreFoundByKeyInASecondPass) {
  Host onednn("onednn");
  uint64_t builds = 0;
  for (int pass = 0; pass < 2; pass++) {
    RandomNodes random(2);
    for (int i = 0; i < 60; i++) {
      Value out;
      onednn.run(random.any(), &out);
      if (HasFatalFailure()) return;
      LK_ASSERT_OK(api()->cache_clear(onednn.context, onednn.executor, LK_ERR)); // its plans
    }
    const lk_kind_stats values = onednn.stats().kind[LK_KIND_VALUE];
    if (pass == 1) {
      EXPECT_EQ(values.builds, builds);
    }
    builds = values.builds;
  }
  EXPECT_GT(builds, 30u);
}

TEST(Primitives, HaveTheSameBitsOnAnyNumberOfThreadsThatRun) {
  RandomNodes random(3);
  Host onednn("onednn", 4);
  for (int i = 0; i < 40; i++) {
    const Case each = random.any();
    Value first, second;
    onednn.run(each, &first);
    lk_threads_ask ask = {};
    ask.struct_size = sizeof ask;
    ask.least = ask.most = 1;
    int32_t granted = 0;
    LK_ASSERT_OK(api()->threads_enter(onednn.context, &ask, &granted, LK_ERR));
    onednn.run(each, &second);
    api()->threads_leave(onednn.context);
    EXPECT_EQ(first.bytes, second.bytes) << each.node.op;
    if (HasFatalFailure()) return;
  }
}

// Equal contents, for primitives that want one layout: but plain they lie in two orders.
TEST(Primitives, PackOneContentForEachOrderOfIt) {
  const Value w = lk::random({64, 64}, 1), x = lk::random({9, 64}, 2);
  Host onednn("onednn");
  for (const bool is_transposed : {false, true, false}) {
    Case each;
    each.node.op = "Gemm";
    each.node.ints = {{"transB", {is_transposed ? 1 : 0}}};
    each.node.constants = {w};
    each.inputs = {x, w};
    Value out;
    onednn.run(each, &out);
    if (HasFatalFailure()) return;
    const Value right = is_transposed ? lk::ref::transposed(w) : w;
    EXPECT_TRUE(lk::all_close(lk::ref::matmul(x, right), out));
  }
}

Case microsoft(const char *op, const std::vector<Value> &inputs) {
  Case made;
  made.node.op = op;
  made.node.domain = "com.microsoft";
  made.node.opset = 1;
  made.inputs = inputs;
  return made;
}

// With all that they may have: zero points, scales, a factor, a bias.
TEST(Primitives, LeaveProductsOfFewBitsAndOfScalesOfRows) {
  const Value a = lk::tensor<uint8_t>({2, 3}, {1, 2, 3, 250, 5, 6}),
              b = lk::tensor<int8_t>({3, 2}, {-1, 2, 3, -120, 5, 6}),
              a_zero = lk::tensor<uint8_t>({}, {3}), b_zero = lk::tensor<int8_t>({}, {-2}),
              half = lk::floats({}, {0.5f}), rows = lk::floats({2}, {0.5f, 0.25f}),
              bias = lk::floats({2}, {1, -1}), c = lk::tensor<int32_t>({2}, {7, -9}),
              numbers = lk::tensor<uint8_t>({2, 1, 8}, std::vector<uint8_t>(16, 0x59));
  std::vector<Case> cases = {
      microsoft("MatMulIntegerToFloat", {a, b, half, half, a_zero, b_zero}),
      microsoft("MatMulIntegerToFloat", {a, b, half, half, a_zero, b_zero, bias}),
      microsoft("DynamicQuantizeMatMul", {lk::random({2, 3}, 1), b, half, b_zero, bias}),
      microsoft("QGemm", {a, half, a_zero, b, half, b_zero, c}),
      microsoft("QGemm", {a, half, a_zero, b, half, b_zero, c, half, a_zero}),
      microsoft("MatMulNBits", {lk::random({2, 16}, 1), numbers, lk::floats({2, 1}, {0.5f, 2})}),
  };
  cases[3].node.floats = {{"alpha", {0.75f}}};
  cases[5].node.ints = {{"K", {16}}, {"N", {2}}, {"block_size", {16}}};
  for (const Value &scale : {half, rows}) {
    cases.emplace_back();
    cases.back().node.op = "QLinearMatMul";
    cases.back().inputs = {a, scale, a_zero, b, half, b_zero, half, a_zero};
  }
  cases.emplace_back();
  cases.back().node.op = "MatMulInteger";
  cases.back().inputs = {a, b, a_zero, b_zero};
  Host native("native"), onednn("onednn");
  for (const Case &each : cases) {
    SCOPED_TRACE(each.node.op);
    Value expected, computed;
    native.run(each, &expected);
    onednn.run(each, &computed);
    if (HasFatalFailure()) return;
    EXPECT_EQ(expected.bytes, computed.bytes);
  }
  const size_t left = lk_isa_has_vnni() ? 2 : cases.size(); // the others are primitives
  EXPECT_EQ(onednn.stats().engine_left, left);
  EXPECT_EQ(onednn.works(), cases.size() - left);
}

size_t resident_bytes() {
  size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * size_t(sysconf(_SC_PAGESIZE));
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kFreedIsGone = false; // they keep it for a while
#else
constexpr bool kFreedIsGone = true;
#endif

// As many sizes as would take hundreds of MiB.
TEST(Primitives, GoWithinTheBudgetAndGiveTheirMemoryBack) {
  Host onednn("onednn");
  LK_ASSERT_OK(
      api()->cache_set_capacity(onednn.context, nullptr, LK_UNSET, uint64_t(16) << 20, LK_ERR));
  Case each;
  each.node.op = "MatMul";
  const Value w = lk::random({256, 256}, 1);
  each.node.constants = {w};
  size_t before = 0;
  for (int64_t rows = 1; rows <= 400; rows++) {
    Value out;
    each.inputs = {lk::random({rows, 256}, 2), w};
    onednn.run(each, &out);
    if (HasFatalFailure()) return;
    ASSERT_LE(onednn.stats().bytes, uint64_t(16) << 20);
    if (rows == 100) before = resident_bytes();
  }
  EXPECT_EQ(onednn.stats().kind[LK_KIND_VALUE].builds, 400u);
  if (kFreedIsGone && kHasPrimitives) { // else native packs weights, which have another budget
    EXPECT_LT(resident_bytes(), before + (size_t(40) << 20));
  }
}

TEST(Primitives, WithoutTheModuleTheSentenceSaysWhatIsThere) {
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  lk::Context context;
  options.engine = "nosuch";
  LK_EXPECT_STATUS(LK_NOT_FOUND, api()->context_create(&options, context.out(), LK_ERR));
  EXPECT_THAT(LK_MESSAGE, ::testing::HasSubstr("engine 'nosuch'"));
  EXPECT_THAT(LK_MESSAGE, ::testing::HasSubstr("'native'"));
  options.engine = "../x";
  LK_EXPECT_STATUS(LK_NOT_FOUND, api()->context_create(&options, context.out(), LK_ERR));
  options.engine = "ort"; // a library beside it that is no engine
  LK_EXPECT_STATUS(LK_NOT_FOUND, api()->context_create(&options, context.out(), LK_ERR));
}

} // namespace
