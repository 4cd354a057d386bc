// Element-wise works of f16 and bf16 by oneDNN's engine, against plain loops and against `native`:
// functions of all numbers that the type has, arithmetic, broadcasting, layouts, in place.
#include "tests/ops/engine/onednn/functions.h"
#include "tests/ops/engine/onednn/halves.h"
#include "tests/ops/reference.h"

namespace {

using lk::api;
using lk::Case;
using lk::Dims;
using lk::Draw;
using lk::Function;
using lk::Host;
using lk::Value;

class HalfElements : public lk::HalvesByBoth {
protected:
  // Whether oneDNN took what was run since `before`.
  uint64_t taken(uint64_t before) const { return onednn.works() - before; }
  static Case case_of(const Function &function, const Value &x) {
    Case made = lk::case_of(function, x);
    if (made.node.op == "Pow") {
      made.inputs[1] = made.node.constants[0] = lk::halves(dtype(), {}, {2});
    }
    return made;
  }
  static Value one() { return lk::halves(dtype(), {1}, {1}); }
};

// Of f32, oneDNN has them: Gelu by tanh within 1e-6, which is no digit where x is about -5, and
// Round, of f32 alone.
bool is_of_f32(const Function &function) {
  return std::string(function.op) == "FastGelu" || std::string(function.op) == "Round";
}

TEST_P(HalfElements, FunctionsOfAllNumbersAreThoseOfNative) {
  const Value x = lk::all_halves(dtype());
  for (const Function &function : lk::FUNCTIONS) {
    SCOPED_TRACE(function.op);
    const uint64_t before = onednn.works();
    Value computed, expected;
    onednn.run(case_of(function, x), &computed);
    native.run(case_of(function, x), &expected);
    if (HasFatalFailure()) return;
    const bool is_taken = function.is_taken && !is_of_f32(function) && is_computed();
    EXPECT_EQ(taken(before), is_taken ? 1u : 0u);
    EXPECT_TRUE(lk::are_neighbours(expected, computed));
    if (!is_taken) continue;
    std::vector<double> loops;
    for (const double number : lk::numbers_of_halves(x)) loops.push_back(function.loop(number));
    EXPECT_TRUE(lk::are_neighbours(lk::halves(dtype(), x.dims(), loops), computed));
  }
}

// The sign of 0, too, but of a number that is too small for oneDNN.
TEST_P(HalfElements, SignsOfZeroAreThoseOfNative) {
  const Value x = lk::halves(dtype(), {4}, {0.0, -0.0, 1, -1});
  for (const Function &function : lk::FUNCTIONS) {
    SCOPED_TRACE(function.op);
    Value computed, expected;
    onednn.run(case_of(function, x), &computed);
    native.run(case_of(function, x), &expected);
    if (HasFatalFailure()) return;
    const std::vector<uint16_t> right = expected.as<uint16_t>(), found = computed.as<uint16_t>();
    for (size_t i = 0; i < 2; i++) EXPECT_EQ(right[i], found[i]) << "element " << i;
  }
}

TEST_P(HalfElements, AreLeftWithAReason) {
  for (const Function &function : lk::FUNCTIONS) {
    Value out;
    if (std::string(function.op) == "FastGelu") onednn.run(case_of(function, one()), &out);
  }
  EXPECT_THAT(reason(), ::testing::HasSubstr(is_computed() ? "loses digits" : "no instructions"));
}

// And of the same functions behind a sum, where they are the operator itself.
TEST_P(HalfElements, FastGeluWithABiasIsThatOfNative) {
  const uint64_t before = onednn.works();
  Case each;
  each.node.op = "FastGelu";
  each.node.opset = 1;
  each.node.domain = "com.microsoft";
  std::vector<double> numbers;
  for (int i = -700; i < 700; i++) numbers.push_back(i / 100.0);
  each.inputs = {lk::halves(dtype(), {14, 100}, numbers),
                 lk::halves(dtype(), {100}, std::vector<double>(100, 0.125))};
  Value computed, expected;
  onednn.run(each, &computed);
  native.run(each, &expected);
  EXPECT_TRUE(lk::are_neighbours(expected, computed));
  EXPECT_EQ(taken(before), 0u);
}

// Of all pairs of special numbers, and of pairs at random, which have these too.
TEST_P(HalfElements, ArithmeticHasTheBitsOfNative) {
  const uint16_t one = lk::bits_of(dtype(), 1), infinity = lk::bits_of(dtype(), HUGE_VAL);
  std::vector<uint16_t> special = {0, 1, 0x7f, 0x80, 0x3ff, 0x400, one, infinity};
  for (const int step : {-1, 1}) {
    special.push_back(uint16_t(one + step));
    special.push_back(uint16_t(infinity + step)); // the largest, and NaN
  }
  for (size_t i = special.size(); i-- > 0;) special.push_back(special[i] | 0x8000);
  std::vector<uint16_t> a, b;
  for (const uint16_t left : special) {
    for (const uint16_t right : special) a.push_back(left), b.push_back(right);
  }
  std::mt19937 random(1);
  for (int i = 0; i < 100000; i++) {
    a.push_back(uint16_t(random())), b.push_back(uint16_t(random()));
  }
  for (const char *op : {"Add", "Sub", "Mul", "Div", "Max", "Min"}) {
    SCOPED_TRACE(op);
    const bool is_taken = std::string(op)[0] != 'M' || std::string(op) == "Mul";
    Case each;
    each.node.op = op;
    each.inputs = {lk::tensor<uint16_t>({int64_t(a.size())}, a, dtype()),
                   lk::tensor<uint16_t>({int64_t(b.size())}, b, dtype())};
    const uint64_t before = onednn.works();
    Value computed, expected;
    onednn.run(each, &computed);
    native.run(each, &expected);
    if (HasFatalFailure()) return;
    EXPECT_EQ(taken(before), is_taken && is_computed() ? 1u : 0u);
    const std::vector<double> x = lk::numbers_of_halves(expected),
                              y = lk::numbers_of_halves(computed);
    for (size_t i = 0; i < x.size(); i++) {
      const bool is_tiny = dtype() == LK_BF16 && std::fabs(x[i]) <= 0x1p-126 && y[i] == 0;
      ASSERT_TRUE((std::isnan(x[i]) && std::isnan(y[i])) || is_tiny ||
                  (x[i] == y[i] && std::signbit(x[i]) == std::signbit(y[i])))
          << lk::number_of(dtype(), a[i]) << ", " << lk::number_of(dtype(), b[i]) << ": " << y[i]
          << ", not " << x[i];
    }
  }
}

struct Drawn {
  Case given;
  int32_t over = -1; // runs in place over this input
};

Drawn arithmetic(Draw *draw, uint32_t dtype) {
  Drawn made;
  Case &given = made.given;
  const Dims dims =
      draw->dims(size_t(draw->in(0, 5)), draw->in(0, 9) == 0 ? 0 : 1, draw->maybe() ? 3 : 9);
  const Dims other = draw->maybe() ? dims : lk::repeated(draw, dims);
  const bool turns = draw->in(0, 3) == 0;
  given.node.op = draw->of<std::string>({"Add", "Sub", "Mul", "Div"});
  for (const Dims &of : {turns ? other : dims, turns ? dims : other}) {
    std::vector<double> numbers(size_t(lk::count_of(of)));
    for (double &number : numbers) number = double(draw->in(16, 128)) / 32;
    given.inputs.push_back(lk::halves(dtype, of, numbers));
  }
  for (size_t i = 0; i < 2; i++) {
    const size_t rank = given.inputs[i].dims().size();
    const bool is_last = rank == dims.size() && rank > 2 && draw->maybe();
    const lk_layout layout = is_last ? LK_LAYOUT_CHANNELS_LAST : LK_LAYOUT_PLAIN;
    if (i == 0) given.layout = layout;
    if (i == 1) given.others.push_back(layout);
  }
  given.wish = draw->wish(dims.size());
  if (draw->maybe()) {
    made.over = turns ? 1 : 0;
    given.wish = given.layout_of(size_t(made.over));
  }
  return made;
}

Value in_loops(const Case &given, uint32_t dtype) {
  const std::vector<double> a = lk::numbers_of_halves(given.inputs[0]),
                            b = lk::numbers_of_halves(given.inputs[1]);
  const Dims of_a = given.inputs[0].dims(), of_b = given.inputs[1].dims();
  const Dims dims = lk::ref::broadcast(of_a, of_b);
  std::vector<double> out;
  lk::ref::each(dims, [&](const Dims &at) {
    const double x = a[lk::ref::broadcast_offset(of_a, at)],
                 y = b[lk::ref::broadcast_offset(of_b, at)];
    out.push_back(given.node.op == "Add"   ? x + y
                  : given.node.op == "Sub" ? x - y
                  : given.node.op == "Mul" ? x * y
                                           : x / y);
  });
  return lk::halves(dtype, dims, out);
}

// Over input `over`, which is the output's memory then.
void run_in_place(Host *host, const Drawn &drawn, Value *out) {
  const Case &given = drawn.given;
  lk::TestNode node = given.node;
  node.n_inputs = uint32_t(given.inputs.size());
  lk::Op op;
  lk::Plan plan;
  LK_ASSERT_OK(node.create(host->executor, &op, LK_ERR));
  std::vector<lk_tensor_desc> descs;
  std::vector<lk::Memory> memory;
  std::vector<void *> pointers;
  for (size_t i = 0; i < given.inputs.size(); i++) {
    descs.push_back(given.inputs[i].desc);
    descs.back().layout = given.layout_of(i);
    memory.push_back(given.inputs[i].in(given.layout_of(i)));
    pointers.push_back(memory.back().data());
  }
  LK_ASSERT_OK(lk::bind(op, descs, &plan, LK_ERR, drawn.over, given.wish));
  lk_tensor_desc desc = {};
  LK_ASSERT_OK(api()->plan_output(plan, 0, &desc, LK_ERR));
  void *to = pointers[size_t(drawn.over)];
  LK_ASSERT_OK(lk::run(host->executor, plan, pointers, to, LK_ERR));
  *out = Value::from(desc, to);
}

TEST_P(HalfElements, ArithmeticIsThatOfPlainLoopsInAnyShapeAndPlace) {
  Draw draw(1);
  for (int i = 0; i < 1500; i++) {
    const Drawn drawn = arithmetic(&draw, dtype());
    SCOPED_TRACE("case " + std::to_string(i) + ", " + drawn.given.node.op);
    for (Host *host : {&native, &onednn}) {
      Value computed;
      if (drawn.over < 0) host->run(drawn.given, &computed);
      if (drawn.over >= 0) run_in_place(host, drawn, &computed);
      if (HasFatalFailure()) return;
      ASSERT_TRUE(lk::all_close(in_loops(drawn.given, dtype()), computed)); // rounded once: equal
    }
  }
  if (is_computed()) {
    EXPECT_GT(onednn.works(), 600u);
    EXPECT_EQ(onednn.stats().engine_references, 0u); // none was built in vain
  }
}

// By slopes for each channel, for each element, or along rows; over the input, too.
TEST_P(HalfElements, PReluIsThatOfPlainLoopsInAnyShapeAndPlace) {
  Draw draw(2);
  const std::vector<double> special = {0.0, -0.0, 1, HUGE_VAL, -HUGE_VAL, NAN};
  for (int i = 0; i < 400; i++) {
    const Dims dims = draw.dims(size_t(draw.in(2, 4)), 1, 9);
    Dims slopes(dims.size() - 1, 1);
    slopes[0] = dims[1];
    if (draw.in(0, 2) == 0) slopes = dims;
    Drawn drawn;
    Case &each = drawn.given;
    each.node.op = "PRelu";
    each.node.opset = 16;
    std::vector<double> x(size_t(lk::count_of(dims))), by(size_t(lk::count_of(slopes)));
    for (double &of : x)
      of = draw.in(0, 5) == 0 ? draw.of(special) : double(draw.in(-256, 256)) / 64;
    for (double &of : by) of = double(draw.in(1, 256)) / 128;
    each.inputs = {lk::halves(dtype(), dims, x), lk::halves(dtype(), slopes, by)};
    each.node.constants = {each.inputs[1]};
    each.layout = draw.layout(dims.size());
    each.wish = draw.wish(dims.size());
    if (draw.maybe()) {
      drawn.over = 0;
      each.wish = each.layout;
    }
    SCOPED_TRACE("case " + std::to_string(i) + ", " + lk::text_of(each.inputs[0].desc));
    std::vector<double> right;
    lk::ref::each(dims, [&](const Dims &at) {
      const double of = x[lk::ref::offset(dims, at)];
      right.push_back(of < 0 ? of * by[lk::ref::broadcast_offset(slopes, at)] : of);
    });
    for (Host *host : {&native, &onednn}) {
      Value computed;
      if (drawn.over < 0) host->run(each, &computed);
      if (drawn.over >= 0) run_in_place(host, drawn, &computed);
      if (HasFatalFailure()) return;
      ASSERT_TRUE(lk::are_neighbours(lk::halves(dtype(), dims, right), computed));
    }
  }
  if (is_computed()) {
    EXPECT_GT(onednn.works(), 100u);
    EXPECT_EQ(onednn.stats().engine_references, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(, HalfElements, ::testing::Values(uint32_t(LK_F16), uint32_t(LK_BF16)),
                         [](const auto &of) { return lk::name_of_half(of.param); });

} // namespace
