// Gemm against plain loops: transposed or not, scaled, with and without C.
#include "tests/ops/reference.h"

namespace {

using lk::Dims;
using lk::OpTester;
using lk::random;
using lk::Value;

struct Case {
  int64_t m = 5, n = 7, k = 6;
  bool transpose_a = false, transpose_b = false, constant = true;
  float alpha = 1, beta = 1;
  const Dims *c = nullptr;
};

void check(const Case &c) {
  SCOPED_TRACE(std::to_string(c.m) + "x" + std::to_string(c.n) + "x" + std::to_string(c.k) +
               (c.transpose_a ? " A'" : "") + (c.transpose_b ? " B'" : "") + " alpha " +
               std::to_string(c.alpha) + " beta " + std::to_string(c.beta) +
               (c.c != nullptr ? " C " + lk::text_of(*c.c) : ""));
  const Value a = random({c.m, c.k}, 1), b = random({c.k, c.n}, 2);
  OpTester tester("Gemm", 13);
  tester.attr("transA", c.transpose_a).attr("transB", c.transpose_b);
  tester.attr_float("alpha", c.alpha).attr_float("beta", c.beta);
  tester.input(c.transpose_a ? lk::ref::transposed(a) : a);
  const Value stored_b = c.transpose_b ? lk::ref::transposed(b) : b;
  if (c.constant)
    tester.constant(stored_b);
  else
    tester.input(stored_b);
  Value y = lk::ref::apply(lk::ref::matmul(a, b), {LK_POST_LINEAR, -1, c.alpha, 0});
  if (c.c != nullptr) {
    const Value bias = random(*c.c, 3);
    if (c.constant)
      tester.constant(bias);
    else
      tester.input(bias);
    const Value scaled = lk::ref::apply(bias, {LK_POST_LINEAR, -1, c.beta, 0});
    y = lk::ref::apply(y, {LK_POST_ADD, 2, 0, 0}, &scaled);
  }
  tester.expect(y).run();
}

TEST(Gemm, TransposesEitherSide) {
  for (bool a : {false, true}) {
    for (bool b : {false, true}) {
      for (bool constant : {false, true}) {
        Case c;
        c.transpose_a = a;
        c.transpose_b = b;
        c.constant = constant;
        check(c);
        c.m = c.n = c.k = 16;
        check(c);
        c.m = 1;
        c.n = 33;
        check(c);
        c.k = 1;
        c.n = 1;
        check(c);
      }
    }
  }
}

TEST(Gemm, ScalesAndAddsC) {
  const Dims shapes[] = {{5, 7}, {7}, {1, 7}, {5, 1}, {1, 1}, {1}, {}};
  for (const Dims &shape : shapes) {
    for (float alpha : {1.0F, 0.5F, 0.0F}) {
      for (float beta : {1.0F, -2.0F, 0.0F}) {
        Case c;
        c.alpha = alpha;
        c.beta = beta;
        c.c = &shape;
        c.transpose_b = alpha < 1;
        c.constant = beta < 1;
        check(c);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Gemm, LeavesCOut) {
  Case c;
  c.alpha = 0.25F;
  c.beta = 3; // of nothing
  check(c);
  const Value a = random({3, 4}, 1), b = random({4, 2}, 2);
  OpTester("Gemm", 11).input(a).constant(b).absent().expect(lk::ref::matmul(a, b)).run();
}

TEST(Gemm, AppliesPostOpsAfterItsOwn) {
  const Value a = random({3, 4}, 1), b = random({4, 2}, 2), c = random({2}, 3);
  const Value residual = random({3, 2}, 4);
  Value y = lk::ref::apply(lk::ref::matmul(a, b), {LK_POST_LINEAR, -1, 0.5F, 0});
  const Value twice = lk::ref::apply(c, {LK_POST_LINEAR, -1, 2, 0});
  y = lk::ref::apply(y, {LK_POST_ADD, 2, 0, 0}, &twice);
  y = lk::ref::apply(y, {LK_POST_ADD, 3, 0, 0}, &residual);
  y = lk::ref::apply(y, {LK_POST_RELU, -1, 0, 0});
  OpTester("Gemm", 13)
      .attr_float("alpha", 0.5F)
      .attr_float("beta", 2)
      .input(a)
      .constant(b)
      .constant(c)
      .input(residual)
      .post_op(LK_POST_ADD, 0, 0, 3)
      .post_op(LK_POST_RELU)
      .expect(y)
      .run();
}

// Each side by its own factor, so that no quotient of them overflows or is rounded.
TEST(Gemm, FactorsOfAnySize) {
  const Value a = lk::floats({1, 2}, {1, 2}), b = lk::floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto gemm = [&](float alpha, float beta, const Value &c, const Value &y) {
    OpTester("Gemm", 13)
        .attr_float("alpha", alpha)
        .attr_float("beta", beta)
        .input(a)
        .constant(b)
        .constant(c)
        .expect(y)
        .run();
  };
  const Value ones = lk::floats({3}, {1, 1, 1}), thirds = lk::floats({1, 3}, {9, 12, 15});
  gemm(1, 1e-40F, ones, thirds);
  gemm(1, 1e-38F, ones, thirds);
  gemm(1e20F, 1e-20F, ones, lk::floats({1, 3}, {9e20F, 12e20F, 15e20F}));
  gemm(1, 3, ones, lk::floats({1, 3}, {12, 15, 18}));
  gemm(1e-30F, 1e30F, ones, lk::floats({1, 3}, {1e30F, 1e30F, 1e30F}));
  gemm(1, 1e38F, ones, lk::floats({1, 3}, {1e38F, 1e38F, 1e38F}));
}

TEST(Gemm, OfNothingIsNothing) {
  OpTester("Gemm", 13)
      .input(lk::floats({0, 4}, {}))
      .constant(random({4, 5}, 1))
      .expect(lk::floats({0, 5}, {}))
      .run();
}

TEST(Gemm, NamesWhatIsWrong) {
  const auto gemm = [](const Value &a, const Value &b) {
    OpTester tester("Gemm", 13);
    tester.input(a).input(b);
    return tester;
  };
  const Value a = random({3, 4}, 1), b = random({4, 5}, 1);
  gemm(a, a).expect_bind(LK_INVALID_ARGUMENT, "multiplied");
  gemm(random({3}, 1), b).expect_bind(LK_INVALID_ARGUMENT, "multiplied");
  gemm(random({1, 3, 4}, 1), b).expect_bind(LK_INVALID_ARGUMENT, "multiplied");
  gemm(a, b).attr("transA", 1).expect_bind(LK_INVALID_ARGUMENT, "multiplied");
  gemm(a, b).input(random({4}, 1)).expect_bind(LK_INVALID_ARGUMENT, "broadcast");
  gemm(a, b).input(random({2, 3, 5}, 1)).expect_bind(LK_INVALID_ARGUMENT, "C is 2x3x5");
  gemm(a, lk::iota<int32_t>({4, 5})).expect_bind(LK_UNSUPPORTED, "i32");
  gemm(a, b).attr_text("alpha", "1").expect_create(LK_INVALID_ARGUMENT, "alpha");
}

TEST(FusedGemm, TakesBothNumbersOfItsActivation) {
  const Value a = random({5, 6}, 1), b = random({6, 7}, 2);
  const Value y = lk::ref::matmul(a, b);
  OpTester("FusedGemm", 1)
      .domain("com.microsoft")
      .attr_text("activation", "HardSigmoid")
      .attr_float("activation_alpha", 0.25F)
      .attr_float("activation_beta", 0.75F)
      .input(a)
      .constant(b)
      .expect(lk::ref::apply(y, {LK_POST_HARDSIGMOID, -1, 0.25F, 0.75F}))
      .run();
}

} // namespace
