// Element-wise works by oneDNN's engine, against plain loops and against `native`: functions,
// broadcasting, layouts, post-ops; and of special numbers what ONNX says.
#include "tests/ops/engine/onednn/functions.h"

namespace {

using lk::api;
using lk::Case;
using lk::Dims;
using lk::Draw;
using lk::Function;
using lk::FUNCTIONS;
using lk::Host;
using lk::kHasPrimitives;
using lk::SPECIAL;
using lk::Value;

bool is_like(float expected, float computed) {
  if (std::isnan(expected) || std::isnan(computed)) {
    return std::isnan(expected) && std::isnan(computed);
  }
  if (std::isinf(expected) || std::isinf(computed)) return expected == computed;
  if (expected == 0 && computed == 0) return std::signbit(expected) == std::signbit(computed);
  return std::fabs(double(expected) - double(computed)) <=
         1e-6 + 1e-5 * std::fabs(double(expected));
}

TEST(Elements, FunctionsAreTakenThatAreAsOnnxSaysForSpecialNumbers) {
  Host onednn("onednn"), native("native");
  const Value x = lk::tensor<float>({int64_t(std::size(SPECIAL))},
                                    std::vector<float>(std::begin(SPECIAL), std::end(SPECIAL)));
  for (const Function &function : FUNCTIONS) {
    SCOPED_TRACE(function.op);
    const uint64_t before = onednn.works();
    Value computed, other;
    onednn.run(case_of(function, x), &computed);
    native.run(case_of(function, x), &other);
    if (HasFatalFailure()) return;
    EXPECT_EQ(onednn.works() - before, function.is_taken && kHasPrimitives ? 1u : 0u);
    for (size_t i = 0; function.is_taken && i < std::size(SPECIAL); i++) {
      const float expected = float(function.loop(double(SPECIAL[i])));
      EXPECT_TRUE(is_like(expected, computed.as<float>()[i]))
          << function.op << " of " << SPECIAL[i] << " is " << computed.as<float>()[i] << ", not "
          << expected << "; native: " << other.as<float>()[i];
    }
  }
}

Case prelu(const Value &x, const Value &slopes, bool is_constant) {
  Case made;
  made.node.op = "PRelu";
  made.node.opset = 16;
  made.inputs = {x, slopes};
  if (is_constant) made.node.constants = {slopes};
  return made;
}

Value prelu_in_loops(const Case &given) {
  const std::vector<float> x = given.inputs[0].as<float>(), slopes = given.inputs[1].as<float>();
  const Dims dims = given.inputs[0].dims(), of_slopes = given.inputs[1].dims();
  std::vector<float> out;
  lk::ref::each(dims, [&](const Dims &at) {
    const float number = x[lk::ref::offset(dims, at)];
    out.push_back(number < 0 ? slopes[lk::ref::broadcast_offset(of_slopes, at)] * number : number);
  });
  return lk::tensor<float>(dims, out);
}

void expect_bits(const Value &expected, const Value &computed) {
  const std::vector<float> right = expected.as<float>(), found = computed.as<float>();
  ASSERT_EQ(right.size(), found.size());
  for (size_t i = 0; i < right.size(); i++) {
    ASSERT_TRUE((std::isnan(right[i]) && std::isnan(found[i])) ||
                (right[i] == found[i] && std::signbit(right[i]) == std::signbit(found[i])))
        << "element " << i << " is " << found[i] << ", not " << right[i];
  }
}

// oneDNN has max(x, 0) + slope min(x, 0): NaN above 0 where the slope is infinite, and 0 of another
// sign where it is below 0, or 0.
TEST(Elements, PReluIsTakenWhereSlopesAreCertainToBeFiniteAndAboveZero) {
  Host onednn("onednn"), native("native");
  std::vector<float> numbers;
  for (const float number : SPECIAL) numbers.insert(numbers.end(), 5, number);
  const Value x = lk::tensor<float>({int64_t(std::size(SPECIAL)), 5}, numbers);
  uint64_t taken = 0;
  for (const float odd : {0.25F, 0.0F, -0.0F, -1e-40F, -2.0F, INFINITY, -INFINITY, NAN}) {
    const Value slopes = lk::floats({5}, {0.5F, 1e-40F, odd, FLT_MAX, 1});
    for (const bool is_constant : {true, false}) {
      SCOPED_TRACE(std::to_string(odd) + (is_constant ? ", a constant" : ""));
      const Case each = prelu(x, slopes, is_constant);
      for (Host *host : {&native, &onednn}) {
        Value computed;
        host->run(each, &computed);
        if (HasFatalFailure()) return;
        expect_bits(prelu_in_loops(each), computed);
      }
      taken += is_constant && odd == 0.25F && kHasPrimitives ? 1 : 0;
      EXPECT_EQ(onednn.works(), taken);
    }
  }
  lk_engine_left_info info = {};
  info.struct_size = sizeof info;
  LK_ASSERT_OK(api()->engine_left(onednn.context, 0, &info, LK_ERR));
  if (kHasPrimitives) {
    EXPECT_THAT(info.reason, ::testing::HasSubstr("slopes may be infinite"));
  }
}

Case any_prelu(Draw *draw) {
  const Dims dims = draw->dims(size_t(draw->in(1, 5)), 1, draw->maybe() ? 4 : 11);
  Dims slopes = dims;
  const int64_t how = draw->in(0, 4);
  if (how == 0) slopes = {1};
  if (how == 1) slopes = lk::repeated(draw, dims);
  if (how > 2 && dims.size() > 1) { // one for each channel
    slopes.assign(dims.size() - 1, 1);
    slopes[0] = dims[1];
  }
  std::vector<float> numbers = lk::random(dims, draw->seed()).as<float>();
  for (float &number : numbers) {
    if (draw->in(0, 7) == 0) number = SPECIAL[draw->in(0, int64_t(std::size(SPECIAL)) - 1)];
  }
  Case made = prelu(lk::tensor<float>(dims, numbers), lk::random(slopes, draw->seed(), 0.01F, 2),
                    draw->in(0, 3) != 0);
  made.layout = draw->layout(dims.size());
  if (slopes.size() == dims.size() && made.node.constants.empty()) made.others = {made.layout};
  made.wish = draw->wish(dims.size());
  return made;
}

TEST(Elements, PReluHasTheBitsOfPlainLoopsInEveryLayout) {
  Draw draw(3);
  Host onednn("onednn"), native("native");
  for (int i = 0; i < 800; i++) {
    const Case each = any_prelu(&draw);
    SCOPED_TRACE("case " + std::to_string(i) + ", " + lk::text_of(each.inputs[0].desc) + " by " +
                 lk::text_of(each.inputs[1].desc));
    const Value expected = prelu_in_loops(each);
    for (Host *host : {&native, &onednn}) {
      Value computed;
      host->run(each, &computed);
      if (HasFatalFailure()) return;
      expect_bits(expected, computed);
      if (HasFatalFailure()) return;
    }
  }
  if (kHasPrimitives) {
    EXPECT_GT(onednn.works(), 120u);
    EXPECT_EQ(onednn.stats().engine_references, 0u); // none was built in vain
  }
}

// Of a rest behind whole vectors, threads would compute some elements twice over themselves.
TEST(Elements, PReluByASlopeForEachElementIsTakenOfWholeVectors) {
  Host onednn("onednn");
  for (const int64_t columns : {8, 9}) {
    const Case each =
        prelu(lk::random({2, columns}, 1), lk::random({2, columns}, 2, 0.1F, 1), true);
    Value out;
    onednn.run(each, &out);
    expect_bits(prelu_in_loops(each), out);
    EXPECT_EQ(onednn.works(), kHasPrimitives ? 1u : 0u);
  }
}

// native does what follows in the same pass over memory.
TEST(Elements, PReluWithAFunctionBehindItIsLeft) {
  Host onednn("onednn");
  Case each = prelu(lk::random({4, 8}, 1), lk::random({8}, 2, 0.1F, 1), true);
  each.node.post_ops = {{LK_POST_TANH, -1, 0, 0}};
  Value out;
  onednn.run(each, &out);
  EXPECT_EQ(onednn.works(), 0u);
  EXPECT_TRUE(lk::all_close(lk::ref::apply(prelu_in_loops(each), each.node.post_ops[0]), out));
}

// Gelu is part of the operator here, and no post-op of another one.
TEST(Elements, BiasGeluOfSpecialNumbersIsThatOfNative) {
  const int64_t count = int64_t(std::size(SPECIAL));
  Host onednn("onednn"), native("native");
  Case each;
  each.node.op = "BiasGelu";
  each.node.opset = 1;
  each.node.domain = "com.microsoft";
  std::vector<float> twice(std::begin(SPECIAL), std::end(SPECIAL));
  twice.insert(twice.end(), std::begin(SPECIAL), std::end(SPECIAL));
  each.inputs = {lk::tensor<float>({2, count}, twice), lk::random({count}, 3)};
  Value computed, expected;
  onednn.run(each, &computed);
  native.run(each, &expected);
  if (HasFatalFailure()) return;
  for (size_t i = 0; i < twice.size(); i++) {
    EXPECT_TRUE(is_like(expected.as<float>()[i], computed.as<float>()[i]))
        << twice[i] << ": " << computed.as<float>()[i] << ", not " << expected.as<float>()[i];
  }
}

TEST(Elements, ArithmeticOfSpecialNumbersHasTheBitsOfNative) {
  Host onednn("onednn"), native("native");
  std::vector<float> a, b;
  for (const float left : SPECIAL) {
    for (const float right : SPECIAL) a.push_back(left), b.push_back(right);
  }
  for (const char *op : {"Add", "Sub", "Mul", "Div", "Max", "Min"}) {
    SCOPED_TRACE(op);
    const bool is_taken = std::string(op)[0] != 'M' || std::string(op) == "Mul";
    Case each;
    each.node.op = op;
    each.inputs = {lk::tensor<float>({int64_t(a.size())}, a),
                   lk::tensor<float>({int64_t(b.size())}, b)};
    const uint64_t before = onednn.works();
    Value computed, expected;
    onednn.run(each, &computed);
    native.run(each, &expected);
    if (HasFatalFailure()) return;
    EXPECT_EQ(onednn.works() - before, is_taken && kHasPrimitives ? 1u : 0u);
    for (size_t i = 0; i < a.size(); i++) {
      const float x = expected.as<float>()[i], y = computed.as<float>()[i];
      EXPECT_TRUE((std::isnan(x) && std::isnan(y)) ||
                  (x == y && std::signbit(x) == std::signbit(y)))
          << a[i] << ", " << b[i] << ": " << y << ", not " << x;
    }
  }
}

// What a case comes to in plain loops.
Value in_loops(const Case &given) {
  const std::vector<Value> &inputs = given.inputs;
  Value y = inputs[0];
  if (given.node.op == "Add" || given.node.op == "Sum") {
    y = lk::ref::apply(y, {LK_POST_ADD, 1, 0, 0}, &inputs[1]);
  } else if (given.node.op == "Sub") {
    y = lk::ref::apply(y, {LK_POST_SUB, 1, 0, 0}, &inputs[1]);
  } else if (given.node.op == "Mul") {
    y = lk::ref::apply(y, {LK_POST_MUL, 1, 0, 0}, &inputs[1]);
  } else {
    y = lk::ref::apply(y, {LK_POST_DIV, 1, 0, 0}, &inputs[1]);
  }
  for (const lk_post_op &post_op : given.node.post_ops) {
    y = lk::ref::apply(y, post_op, post_op.input >= 0 ? &inputs[size_t(post_op.input)] : nullptr);
  }
  return y;
}

Case arithmetic(Draw *draw) {
  static const std::vector<std::string> ops = {"Add", "Sub", "Mul", "Div", "Sum"};
  static const std::vector<lk_post_op_kind> kinds = {
      LK_POST_RELU, LK_POST_CLIP, LK_POST_SIGMOID, LK_POST_LINEAR, LK_POST_GELU_TANH,
      LK_POST_TANH, LK_POST_ADD,  LK_POST_MUL,     LK_POST_SUB,    LK_POST_ADD_SCALED};
  Case made;
  const Dims dims = draw->dims(size_t(draw->in(0, 5)), 1, draw->maybe() ? 3 : 9);
  made.node.op = draw->of(ops);
  const bool turns = draw->in(0, 3) == 0, is_whole = draw->maybe();
  const Dims other = is_whole ? dims : lk::repeated(draw, dims);
  made.inputs = {lk::random(turns ? other : dims, draw->seed()),
                 lk::random(turns ? dims : other, draw->seed(), 0.5F, 2)};
  for (int64_t n = draw->in(0, 3); n > 0; n--) {
    const lk_post_op_kind kind = draw->of(kinds);
    lk_post_op post_op = {uint32_t(kind), -1, 0.25F, 0.75F};
    if (LK_POST_OP_IS_BINARY(kind)) {
      post_op.input = int32_t(made.inputs.size());
      made.inputs.push_back(
          lk::random(draw->maybe() ? dims : lk::repeated(draw, dims), draw->seed()));
    }
    made.node.post_ops.push_back(post_op);
  }
  for (size_t i = 0; i < made.inputs.size(); i++) {
    const size_t rank = made.inputs[i].dims().size();
    const bool is_last = rank == dims.size() && rank > 2 && draw->in(0, 3) != 0;
    const lk_layout layout = is_last ? LK_LAYOUT_CHANNELS_LAST : LK_LAYOUT_PLAIN;
    if (i == 0) made.layout = layout;
    if (i > 0) made.others.push_back(layout);
  }
  made.wish = draw->wish(dims.size());
  return made;
}

TEST(Elements, ArithmeticIsThatOfPlainLoopsAndOfNative) {
  Draw draw(1);
  Host onednn("onednn"), native("native");
  for (int i = 0; i < 2500; i++) {
    const Case each = arithmetic(&draw);
    SCOPED_TRACE("case " + std::to_string(i) + ", " + each.node.op);
    Value expected = in_loops(each);
    lk::expect_of_both(&native, &onednn, each, expected);
    if (HasFatalFailure()) return;
  }
  if (kHasPrimitives) {
    EXPECT_GT(onednn.works(), 700u);
    EXPECT_EQ(onednn.stats().engine_references, 0u); // none was built in vain
  }
}

TEST(Elements, FunctionsAreThoseOfPlainLoopsInEveryLayout) {
  Draw draw(2);
  Host onednn("onednn"), native("native");
  for (int i = 0; i < 300; i++) {
    const Function &function = FUNCTIONS[draw.in(0, int64_t(std::size(FUNCTIONS)) - 1)];
    const Value x = lk::random(draw.dims(size_t(draw.in(0, 6)), 1, 9), draw.seed(), 0.01F, 6);
    Case each = case_of(function, x);
    const size_t rank = x.dims().size();
    each.layout = draw.layout(rank);
    each.wish = draw.wish(rank);
    if (each.node.op != "Pow" && draw.maybe()) { // behind it: native's, in one pass
      each.node.post_ops = {{LK_POST_CLIP, -1, -1, 3}};
    }
    SCOPED_TRACE("case " + std::to_string(i) + ", " + each.node.op);
    Value expected = lk::ref::map(x, function.loop);
    if (!each.node.post_ops.empty()) expected = lk::ref::apply(expected, each.node.post_ops[0]);
    lk::expect_of_both(&native, &onednn, each, expected);
    if (HasFatalFailure()) return;
  }
}

// Functions of one tensor, and reorders, cost a pass over memory: native does chains in one.
TEST(Elements, ArePartOfAPrimitiveOnlyWhereThatIsOnePass) {
  Host onednn("onednn");
  const Value x = lk::random({2, 8, 5, 5}, 1), scale = lk::random({8, 1, 1}, 2);
  Case each;
  each.node.op = "Add";
  each.inputs = {x, x, scale};
  each.node.post_ops = {{LK_POST_RELU, -1, 0, 0}, {LK_POST_MUL, 2, 0, 0}};
  const struct {
    lk_layout a, b, wish;
    bool is_taken;
  } layouts[] = {
      {LK_LAYOUT_PLAIN, LK_LAYOUT_PLAIN, LK_LAYOUT_ANY, true},
      {LK_LAYOUT_CHANNELS_LAST, LK_LAYOUT_CHANNELS_LAST, LK_LAYOUT_ANY, true},
      {LK_LAYOUT_CHANNELS_LAST, LK_LAYOUT_CHANNELS_LAST, LK_LAYOUT_CHANNELS_LAST, true},
      {LK_LAYOUT_CHANNELS_LAST, LK_LAYOUT_PLAIN, LK_LAYOUT_ANY, false},
      {LK_LAYOUT_PLAIN, LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST, false},
  };
  for (const auto &of : layouts) {
    each.layout = of.a;
    each.others = {of.b};
    each.wish = of.wish;
    const lk_stats before = onednn.stats();
    Value out;
    onednn.run(each, &out);
    if (HasFatalFailure()) return;
    const lk_stats after = onednn.stats();
    EXPECT_EQ(after.engine_works - before.engine_works, of.is_taken && kHasPrimitives ? 1u : 0u);
    EXPECT_EQ(after.reorders, before.reorders);
    EXPECT_TRUE(lk::all_close(in_loops(each), out));
  }
}

} // namespace
