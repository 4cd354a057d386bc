// The engine of oneDNN computes what `native` computes, for random nodes of every kind that it has
// primitives for, with post-ops, layouts and wishes; primitives are found by key.
#include <unistd.h>

#include <fstream>

#include "tests/ops/engine/onednn/halves.h"
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

// Memory of hosts need not lie at multiples of more bytes than an element has.
TEST(Primitives, ComputeTheSameFromAndIntoMemoryOfAnyAlignment) {
  RandomNodes random(4);
  Host aligned("onednn"), shifted("onednn");
  for (int i = 0; i < 300; i++) {
    const Case each = random.any();
    SCOPED_TRACE("case " + std::to_string(i) + ", " + each.node.op);
    Value expected, computed;
    shifted.shift = size_t(random.from(1, 15));
    aligned.run(each, &expected);
    shifted.run(each, &computed);
    if (HasFatalFailure()) return;
    ASSERT_TRUE(lk::all_close(expected, computed, {1e-5, 1e-5}));
  }
}

Case with_sum(Case given, const lk::Dims &operand) {
  given.node.post_ops = {{LK_POST_ADD, int32_t(given.inputs.size()), 0, 0}};
  given.inputs.push_back(lk::random(operand, 9));
  const bool has_weights = !given.node.constants.empty(); // the last inputs
  if (has_weights) given.node.constants.push_back(given.inputs.back());
  return given;
}

// Which repeats along what: oneDNN takes it, or a step of native follows.
TEST(Primitives, EndWithSumsOfOperandsOfAnyShape) {
  Case conv, rows;
  conv.node.op = "Conv";
  conv.inputs = {lk::random({1, 16, 8, 8}, 1), lk::random({8, 16, 3, 3}, 2), lk::random({8}, 3)};
  conv.node.constants = {conv.inputs[1], conv.inputs[2]};
  rows.node.op = "MatMul"; // whose output has no columns
  rows.inputs = {lk::random({3, 5, 7}, 1), lk::random({7}, 2)};
  const struct {
    Case given;
    uint32_t more; // steps, where oneDNN has primitives
  } cases[] = {{with_sum(conv, {1, 8, 6, 6}), 0}, {with_sum(conv, {8, 1, 1}), 0},
               {with_sum(conv, {6, 6}), 1},       {with_sum(rows, {3, 5}), 0},
               {with_sum(rows, {5}), 1},          {with_sum(rows, {3, 1}), 1}};
  Host native("native"), onednn("onednn");
  for (const auto &each : cases) {
    SCOPED_TRACE(each.given.node.op + ", " + lk::text_of(each.given.inputs.back().desc));
    Value expected, computed;
    native.run(each.given, &expected);
    onednn.run(each.given, &computed);
    if (HasFatalFailure()) return;
    EXPECT_TRUE(lk::all_close(expected, computed, {1e-5, 1e-5}));
    if (kHasPrimitives) {
      Case alone = each.given.node.op == "Conv" ? conv : rows;
      EXPECT_EQ(lk::steps_of(&onednn, each.given), lk::steps_of(&onednn, alone) + each.more);
    }
  }
}

// Along one dimension any layout serves, and along several the plain one alone.
TEST(Primitives, TakeSoftmaxInEachLayout) {
  Host native("native"), onednn("onednn");
  for (const int32_t opset : {11, 13}) { // which flattens, and which does not
    for (const int64_t axis : {1, 2, 3}) {
      for (const lk_layout layout : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
        for (const lk_layout wish : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
          Case each;
          each.node.op = "Softmax";
          each.node.opset = opset;
          each.node.ints = {{"axis", {axis}}};
          each.inputs = {lk::random({2, 3, 4, 5}, 1)};
          each.layout = layout, each.wish = wish;
          SCOPED_TRACE("opset " + std::to_string(opset) + ", axis " + std::to_string(axis) + ", " +
                       std::to_string(layout) + " to " + std::to_string(wish));
          Value expected, computed;
          native.run(each, &expected);
          onednn.run(each, &computed);
          if (HasFatalFailure()) return;
          EXPECT_TRUE(lk::all_close(expected, computed, {1e-5, 1e-5}));
        }
      }
    }
  }
}

// Padding at the end is what the sizes leave: a primitive of another one would not be made.
TEST(Primitives, TakeTransposedConvolutionsOfAnyStride) {
  Host native("native"), onednn("onednn");
  uint64_t taken = 0;
  for (const int64_t stride : {1, 2, 3}) {
    for (const int64_t size : {1, 4, 7}) {
      Case each;
      each.node.op = "ConvTranspose";
      each.node.ints = {{"strides", {stride, 2}}, {"pads", {1, 0, 0, 1}}};
      each.inputs = {lk::random({1, 16, size, 5}, 1), lk::random({16, 8, 3, 3}, 2)};
      each.node.constants = {each.inputs[1]};
      SCOPED_TRACE("stride " + std::to_string(stride) + ", size " + std::to_string(size));
      Value expected, computed;
      native.run(each, &expected);
      onednn.run(each, &computed);
      if (HasFatalFailure()) return;
      EXPECT_TRUE(lk::all_close(expected, computed, {1e-5, 1e-5}));
      EXPECT_EQ(onednn.works(), kHasPrimitives ? ++taken : 0u);
    }
  }
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

// Nodes with numbers that come with a run: bounds, scales and zero points, means and variances.
std::vector<Case> with_numbers(int round) {
  const Value x = lk::random({2, 16, 5, 5}, 1),
              image = lk::tensor<uint8_t>({1, 16, 6, 6}, std::vector<uint8_t>(576, 77)),
              scale = lk::floats({}, {0.5f + 0.25f * float(round)}), half = lk::floats({}, {0.5f}),
              zero = lk::tensor<uint8_t>({}, {uint8_t(3 + round)}),
              none = lk::tensor<int8_t>({}, {0}),
              weights = lk::tensor<int8_t>({8, 16, 3, 3}, std::vector<int8_t>(1152, 3)),
              rows = lk::tensor<uint8_t>({5, 64}, std::vector<uint8_t>(320, 9)),
              columns = lk::tensor<int8_t>({64, 48}, std::vector<int8_t>(3072, 2)),
              vector = lk::random({16}, unsigned(round), 0.5f, 1), to = lk::floats({}, {64});
  std::vector<Case> made(4);
  made[0].node.op = "Clip";
  made[0].inputs = {x, lk::floats({}, {-0.125f * float(round + 1)}),
                    lk::floats({}, {0.25f * float(round + 1)})};
  made[1].node.op = "QLinearConv";
  made[1].node.opset = 10;
  made[1].inputs = {image, scale, zero, weights, half, none, to, zero};
  made[1].node.constants.assign(made[1].inputs.begin() + 3, made[1].inputs.end());
  made[1].inputs[7] = made[1].node.constants.back() = lk::tensor<uint8_t>({}, {3});
  made[2].node.op = "QLinearMatMul";
  made[2].inputs = {rows, scale, zero, columns, scale, none, to, zero};
  made[3].node.op = "BatchNormalization";
  made[3].node.opset = 15;
  made[3].inputs = {x, vector, vector, vector, vector};
  made[3].layout = made[3].wish = LK_LAYOUT_CHANNELS_LAST;
  return made;
}

TEST(Primitives, AreTheSameForNewBoundsAndScales) {
  Host onednn("onednn"), native("native");
  uint64_t builds = 0;
  std::vector<Value> before(4);
  for (int round = 0; round < 3; round++) {
    const std::vector<Case> cases = with_numbers(round);
    for (size_t i = 0; i < cases.size(); i++) {
      SCOPED_TRACE(cases[i].node.op + ", round " + std::to_string(round));
      Value expected, computed;
      native.run(cases[i], &expected);
      onednn.run(cases[i], &computed);
      if (HasFatalFailure()) return;
      EXPECT_TRUE(lk::all_close(expected, computed, {1e-6, 1e-6}));
      EXPECT_NE(computed.bytes, before[i].bytes) << "the new numbers do not count";
      before[i] = computed;
    }
    // Without plans, each node looks for its primitive by value key again.
    LK_ASSERT_OK(api()->cache_clear(onednn.context, onednn.executor, LK_ERR));
    const lk_kind_stats values = onednn.stats().kind[LK_KIND_VALUE];
    if (round == 0) builds = values.builds;
    EXPECT_EQ(values.builds, builds);
  }
  EXPECT_GT(builds, 0u);
  if (kHasPrimitives) {
    EXPECT_EQ(onednn.works(), 3 * (lk_isa_has_vnni() ? 3u : 1u)); // Clip is native's
  }
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
