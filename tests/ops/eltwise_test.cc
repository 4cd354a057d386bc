// Functions of one tensor against plain loops, in every layout and in place.
#include "tests/ops/reference.h"

namespace {

using lk::Dims;
using lk::OpTester;
using lk::random;
using lk::Value;

struct Case {
  const char *op;
  int32_t opset;
  double (*function)(double);
  float low = -5;
};

const Case CASES[] = {
    {"Relu", 14, [](double x) { return x > 0 ? x : 0; }},
    {"Sigmoid", 13, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"Sqrt", 13, [](double x) { return std::sqrt(x); }, 0},
    {"HardSigmoid", 7, [](double x) { return std::min(std::max(0.2 * x + 0.5, 0.0), 1.0); }},
    {"HardSwish", 14, [](double x) { return x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0); }},
};

const Dims SHAPES[] = {{},
                       {1},
                       {7},
                       {3, 5},
                       {2, 3, 4},
                       {2, 5, 3, 4},
                       {1, 4, 1, 1},
                       {2, 3, 2, 3, 2},
                       {2, 1, 2, 2, 1, 3},
                       {1, 2, 1, 2, 1, 2, 1, 2},
                       {1000}};

TEST(Eltwise, MatchesPlainLoops) {
  for (const Case &c : CASES) {
    for (const Dims &dims : SHAPES) {
      SCOPED_TRACE(lk::text_of(dims));
      const Value x = random(dims, 1, c.low, 5);
      const Value y = lk::ref::map(x, c.function);
      OpTester(c.op, c.opset).input(x).expect(y).expect_reorders(0).run();
      OpTester(c.op, c.opset).input(x).in_place(0).expect(y).run();
      if (dims.size() >= 3) {
        OpTester(c.op, c.opset)
            .channels_last(x)
            .expect_layout(LK_LAYOUT_CHANNELS_LAST)
            .expect_reorders(0)
            .expect(y)
            .run();
        OpTester(c.op, c.opset)
            .channels_last(x)
            .wish(LK_LAYOUT_PLAIN)
            .expect_reorders(0)
            .expect(y)
            .run();
        OpTester(c.op, c.opset)
            .input(x)
            .wish(LK_LAYOUT_CHANNELS_LAST)
            .expect_reorders(0)
            .expect(y)
            .run();
        OpTester(c.op, c.opset).channels_last(x).wish(LK_LAYOUT_PLAIN).in_place(0).expect(y).run();
      }
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Eltwise, TakesParameters) {
  const Value x = random({2, 9}, 1, -4, 4);
  OpTester("HardSigmoid", 7)
      .attr_float("alpha", 0.5F)
      .attr_float("beta", 0.25F)
      .input(x)
      .expect(lk::ref::apply(x, {LK_POST_HARDSIGMOID, -1, 0.5F, 0.25F}))
      .run();
}

TEST(Eltwise, OfAConstant) {
  const Value x = random({3, 3}, 1);
  OpTester("Relu", 14).constant(x).expect(lk::ref::apply(x, {LK_POST_RELU, -1, 0, 0})).run();
}

TEST(Eltwise, OfNothingIsNothing) {
  for (const Case &c : CASES) {
    OpTester(c.op, c.opset).input(lk::floats({0, 3}, {})).expect(lk::floats({0, 3}, {})).run();
  }
}

TEST(Eltwise, NamesWhatIsWrong) {
  OpTester("Relu", 14).input(lk::iota<uint8_t>({3})).expect_bind(LK_UNSUPPORTED, "u8");
  OpTester("Sqrt", 13).input(lk::iota<int64_t>({3})).expect_bind(LK_UNSUPPORTED, "i64");
  OpTester("HardSwish", 13).input(random({3}, 1)).expect_create(LK_UNSUPPORTED, "opset");
  OpTester("Relu", 14).expect_create(LK_INVALID_ARGUMENT, "inputs");
  OpTester("Relu", 14)
      .input(random({3}, 1))
      .input(random({3}, 1))
      .expect_create(LK_INVALID_ARGUMENT, "inputs");
  OpTester("Mystery", 18).input(random({3}, 1)).expect_create(LK_UNSUPPORTED, "Mystery");
}

} // namespace
