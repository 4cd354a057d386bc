// Add, Sub, Mul, Div, Pow and Sum of f32 against plain loops: every way to broadcast, every layout,
// in place. (Integers are in binary_integers_test.cc.)
#include "tests/ops/reference.h"

namespace {

using lk::Dims;
using lk::Draw;
using lk::OpTester;
using lk::random;
using lk::Value;

struct Case {
  const char *op;
  double (*function)(double, double);
};
const Case CASES[] = {
    {"Add", [](double a, double b) { return a + b; }},
    {"Sub", [](double a, double b) { return a - b; }},
    {"Mul", [](double a, double b) { return a * b; }},
    {"Div", [](double a, double b) { return a / b; }},
};

Value operand(const Dims &dims, unsigned seed) {
  return random(dims, seed, 0.5F, 2); // away from 0, for Div and Pow
}

OpTester tester_of(const Case &c, const Value &a, const Value &b) {
  OpTester tester(c.op, 14);
  tester.expect(lk::ref::binary(a, b, c.function));
  return tester;
}

TEST(Binary, BroadcastsBothSides) {
  const std::pair<Dims, Dims> shapes[] = {
      {{2, 3}, {2, 3}},
      {{2, 3}, {3}},
      {{3}, {2, 3}},
      {{2, 3}, {2, 1}},
      {{2, 1}, {1, 3}},
      {{2, 1, 4}, {3, 1}},
      {{}, {2, 3}},
      {{2, 3}, {}},
      {{}, {}},
      {{1}, {}},
      {{1, 1, 1}, {2}},
      {{2, 3, 4, 5}, {3, 1, 1}},
      {{2, 3, 4, 5}, {1, 3, 1, 1}},
      {{2, 3, 4, 5}, {2, 1, 4, 5}},
      {{2, 3, 4, 5}, {2, 3, 1, 1}},
      {{2, 3, 4, 5}, {2, 1, 1, 1}},
      {{2, 3, 4, 5}, {4, 5}},
      {{2, 3, 4, 5}, {4, 1}},
      {{2, 3, 4, 5}, {3, 4, 5}},
      {{1, 3, 1, 5}, {2, 1, 4, 1}},
      {{2, 3, 4, 5, 2}, {3, 1, 1, 1}},
      {{2, 1, 2, 1, 2, 1, 2, 3}, {1, 2, 1, 2, 1, 2, 1, 3}},
  };
  for (const Case &c : CASES) {
    for (const auto &shape : shapes) {
      SCOPED_TRACE(lk::text_of(shape.first) + " and " + lk::text_of(shape.second));
      const Value a = operand(shape.first, 1), b = operand(shape.second, 2);
      tester_of(c, a, b).input(a).input(b).run();
      tester_of(c, a, b).input(a).constant(b).run();
      if (a.dims().size() >= 3) {
        tester_of(c, a, b).channels_last(a).input(b).run();
        tester_of(c, a, b).input(a).input(b).wish(LK_LAYOUT_CHANNELS_LAST).run();
      }
      if (b.dims().size() >= 3) {
        tester_of(c, a, b).input(a).channels_last(b).run();
      }
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Binary, MatchesPlainLoops) {
  Draw draw(1);
  for (int i = 0; i < 40; i++) {
    const Case &c = CASES[draw.in(0, 3)];
    Dims a = draw.dims(static_cast<size_t>(draw.in(0, 5)), 1, 6), b = a;
    for (size_t k = 0; k < a.size(); k++) {
      if (draw.maybe()) (draw.maybe() ? a : b)[k] = 1;
    }
    Dims &shorter = draw.maybe() ? a : b;
    shorter.erase(shorter.begin(), shorter.begin() + draw.in(0, static_cast<int64_t>(a.size())));
    SCOPED_TRACE(lk::text_of(a) + " and " + lk::text_of(b));
    const Value x = operand(a, draw.seed()), y = operand(b, draw.seed());
    tester_of(c, x, y)
        .input(x, draw.layout(a.size()))
        .input(y, draw.layout(b.size()))
        .wish(draw.wish(std::max(a.size(), b.size())))
        .run();
    if (HasFatalFailure()) return;
  }
}

TEST(Binary, KeepsChannelsLastWithoutReorders) {
  const Value a = operand({2, 8, 5, 4}, 1);
  const Value others[] = {operand({2, 8, 5, 4}, 2), operand({1, 8, 1, 1}, 3), operand({8, 1, 1}, 4),
                          operand({}, 5)};
  for (const Case &c : CASES) {
    for (const Value &b : others) {
      const bool same = b.dims() == a.dims();
      tester_of(c, a, b)
          .channels_last(a)
          .input(b, same ? LK_LAYOUT_CHANNELS_LAST : LK_LAYOUT_PLAIN)
          .expect_layout(LK_LAYOUT_CHANNELS_LAST)
          .expect_reorders(0)
          .run();
    }
  }
}

// Operands are read where they lie, also in the other layout.
TEST(Binary, ReadsOperandsOfBothLayouts) {
  const Value a = operand({2, 3, 4, 5}, 1), full = operand({2, 3, 4, 5}, 2);
  const Value others[] = {operand({1, 3, 4, 5}, 3), operand({2, 3, 1, 5}, 4),
                          operand({3, 4, 5}, 5)};
  for (const Case &c : CASES) {
    for (const Value &b : others) {
      SCOPED_TRACE(lk::text_of(b.dims()));
      tester_of(c, a, b).input(a).channels_last(b).expect_reorders(0).run();
      tester_of(c, a, b).channels_last(a).input(b).expect_reorders(0).run();
      tester_of(c, b, a).channels_last(b).input(a).expect_reorders(0).run();
    }
    tester_of(c, a, full).input(a).channels_last(full).expect_reorders(0).run();
    for (int32_t over : {0, 1}) {
      for (lk_layout wish : {LK_LAYOUT_ANY, LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
        tester_of(c, a, full).input(a).channels_last(full).in_place(over).wish(wish).run();
      }
    }
    const Value wide = operand({1, 3, 4, 5}, 6), narrow = operand({3, 4, 5}, 7);
    tester_of(c, wide, narrow).channels_last(wide).input(narrow).in_place(1).run();
    tester_of(c, wide, narrow).channels_last(wide).channels_last(narrow).in_place(1).run();
    if (HasFatalFailure()) return;
  }
}

TEST(Binary, WritesOverEitherInput) {
  const Value a = operand({3, 4}, 1), b = operand({3, 4}, 2), row = operand({4}, 3);
  for (const Case &c : CASES) {
    tester_of(c, a, b).input(a).input(b).in_place(0).run();
    tester_of(c, a, b).input(a).input(b).in_place(1).run();
    tester_of(c, a, row).input(a).input(row).in_place(0).run();
    tester_of(c, row, a).input(row).input(a).in_place(1).run();
  }
}

TEST(Binary, OfNothingIsNothing) {
  for (const Case &c : CASES) {
    const Value none = lk::floats({0, 3}, {}), row = operand({3}, 1), one = operand({1, 3}, 1);
    OpTester(c.op, 14).input(none).input(row).expect(none).run();
    OpTester(c.op, 14).input(one).input(none).expect(none).run();
  }
}

TEST(Binary, NamesWhatIsWrong) {
  const Value a = operand({2, 3}, 1);
  for (const Case &c : CASES) {
    OpTester(c.op, 14)
        .input(a)
        .input(operand({2}, 1))
        .expect_bind(LK_INVALID_ARGUMENT, "failed to broadcast 2x3:f32");
    OpTester(c.op, 14)
        .input(a)
        .input(lk::iota<double>({3}))
        .expect_bind(LK_INVALID_ARGUMENT,
                     "input 0 and input 1 are of types f32 and f64, which must be equal");
    OpTester(c.op, 14).input(a).expect_create(LK_INVALID_ARGUMENT, "1 inputs");
    OpTester(c.op, 6).input(a).input(a).expect_create(LK_UNSUPPORTED, "opset");
  }
}

// ---- Pow ----

TEST(Pow, TakesExponentsFromAnywhere) {
  const Value x = operand({2, 3, 4, 5}, 1);
  for (float exponent : {2.0F, 0.5F, 3.0F, 4.0F, -1.5F, 0.0F, 1.0F}) {
    for (const Dims &dims : {Dims{}, Dims{1}, Dims{1, 1, 1, 1}, Dims{5}, Dims{3, 1, 1}}) {
      const Value e = lk::floats(dims, std::vector<float>(size_t(lk::count_of(dims)), exponent));
      const Value y = lk::ref::binary(x, e, [](double a, double b) { return std::pow(a, b); });
      OpTester("Pow", 15).input(x).constant(e).expect(y).run();
      OpTester("Pow", 15).input(x).input(e).expect(y).run();
      OpTester("Pow", 15).channels_last(x).constant(e).in_place(0).expect(y).run();
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Pow, BroadcastsBothSides) {
  const Value x = operand({2, 1, 3}, 1), e = random({4, 1}, 2, -2, 2);
  const Value y = lk::ref::binary(x, e, [](double a, double b) { return std::pow(a, b); });
  OpTester("Pow", 15).input(x).input(e).expect(y).run();
  OpTester("Pow", 15).input(x).constant(e).expect(y).run();
  const Value scalar = operand({}, 3);
  OpTester("Pow", 15)
      .input(scalar)
      .constant(lk::floats({1, 1}, {3}))
      .expect(lk::ref::binary(scalar, lk::floats({1, 1}, {3}),
                              [](double a, double b) { return std::pow(a, b); }))
      .run();
}

TEST(Pow, OfNegativeNumbers) {
  OpTester("Pow", 15)
      .input(lk::floats({3}, {-2, -3, 0}))
      .constant(lk::floats({}, {3}))
      .expect(lk::floats({3}, {-8, -27, 0}))
      .run();
  OpTester("Pow", 15)
      .input(lk::floats({2}, {-2, 4}))
      .constant(lk::floats({}, {2}))
      .expect(lk::floats({2}, {4, 16}))
      .run();
}

// ---- Sum ----

TEST(Mod, OfRealNumbersNeedsFmodBeforeOpset28) {
  OpTester("Mod", 13)
      .input(lk::floats({2}, {-5, 5}))
      .input(lk::floats({2}, {3, 3}))
      .expect(lk::floats({2}, {1, 2}))
      .expect_bind(LK_INVALID_ARGUMENT, "input 0 is of type f32, which before opset 28 needs");
  OpTester("Mod", 28)
      .input(lk::floats({2}, {-5, 5}))
      .input(lk::floats({2}, {3, 3}))
      .expect(lk::floats({2}, {1, 2}))
      .run();
}

TEST(Sum, AddsAnyNumber) {
  Draw draw(3);
  for (int count = 1; count <= 5; count++) {
    for (int i = 0; i < 8; i++) {
      const Dims full = draw.dims(static_cast<size_t>(draw.in(0, 4)), 1, 5);
      OpTester tester("Sum", 13);
      Value sum;
      std::string text;
      for (int k = 0; k < count; k++) {
        Dims dims = full;
        for (int64_t &dim : dims) dim = draw.in(0, 3) == 0 ? 1 : dim;
        if (draw.in(0, 3) == 0 && !dims.empty()) dims.erase(dims.begin());
        text += lk::text_of(dims);
        const Value x = random(dims, draw.seed());
        sum = k == 0 ? x : lk::ref::apply(sum, {LK_POST_ADD, 0, 0, 0}, &x);
        const lk_layout layout = draw.layout(dims.size());
        if (draw.maybe())
          tester.input(x, layout);
        else
          tester.constant(x);
      }
      SCOPED_TRACE(text);
      tester.wish(draw.wish(sum.dims().size())).expect(sum).run();
      if (HasFatalFailure()) return;
    }
  }
}

// More than one program takes.
TEST(Sum, AddsManyInPlace) {
  for (int count : {16, 17, 40}) {
    for (int32_t over : {-1, 0, 1}) {
      OpTester tester("Sum", 13);
      Value sum;
      for (int k = 0; k < count; k++) {
        const Value x = random(k > 1 && k % 3 == 0 ? Dims{5} : Dims{4, 5}, unsigned(k) + 1);
        sum = k == 0 ? x : lk::ref::apply(sum, {LK_POST_ADD, 0, 0, 0}, &x);
        tester.input(x);
      }
      tester.in_place(over).expect(sum).run();
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Sum, OfOneTensorKeepsItsLayout) {
  const Value x = random({2, 3, 4, 5}, 1);
  OpTester("Sum", 13).channels_last(x).expect(x).expect_layout(LK_LAYOUT_CHANNELS_LAST).run();
  OpTester("Sum", 13).channels_last(x).wish(LK_LAYOUT_PLAIN).expect(x).run();
  OpTester("Sum", 13)
      .channels_last(x)
      .post_op(LK_POST_RELU)
      .expect(lk::ref::apply(x, {LK_POST_RELU, -1, 0, 0}))
      .run();
}

TEST(Sum, WritesOverEitherOfTheFirstTwo) {
  const Value a = random({3, 4}, 1), b = random({3, 4}, 2), c = random({3, 4}, 3);
  Value sum = lk::ref::apply(a, {LK_POST_ADD, 0, 0, 0}, &b);
  sum = lk::ref::apply(sum, {LK_POST_ADD, 0, 0, 0}, &c);
  for (int32_t over : {0, 1}) {
    OpTester("Sum", 13).input(a).input(b).input(c).in_place(over).expect(sum).run();
    OpTester("Sum", 13)
        .input(a)
        .input(b)
        .input(c)
        .in_place(over)
        .post_op(LK_POST_RELU)
        .expect(lk::ref::apply(sum, {LK_POST_RELU, -1, 0, 0}))
        .run();
  }
}

TEST(Sum, NamesWhatIsWrong) {
  const Value a = random({2, 3}, 1);
  OpTester("Sum", 13).input(a).input(random({2}, 1)).expect_bind(LK_INVALID_ARGUMENT, "broadcast");
  OpTester("Sum", 13).input(a).input(lk::iota<int32_t>({3})).expect_bind(LK_UNSUPPORTED, "i32");
  OpTester("Sum", 13).expect_create(LK_INVALID_ARGUMENT, "0 inputs");
}

} // namespace
