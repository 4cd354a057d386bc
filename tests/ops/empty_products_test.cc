// Products and convolutions that reduce a dimension of 0 to an output that is not empty: nothing is
// added up, and what is left are the bias and the post-ops.
#include "tests/ops/reference.h"

namespace {

using lk::Dims;
using lk::OpTester;
using lk::random;
using lk::Value;
using lk::ref::Window;

Value full(const Dims &dims, double value) {
  return lk::ref::make(dims, std::vector<double>(static_cast<size_t>(lk::count_of(dims)), value));
}

// ---- products ----

TEST(EmptyMatMul, IsZero) {
  const Dims cases[][2] = {
      {{2, 0}, {0, 3}},
      {{0}, {0}},
      {{0}, {0, 3}},
      {{2, 0}, {0}},
      {{4, 2, 0}, {0, 3}},
      {{4, 2, 0}, {4, 0, 3}},
      {{4, 1, 2, 0}, {5, 0, 3}},
      {{0}, {4, 0, 3}},
      {{4, 2, 0}, {0}},
      {{0, 2, 0}, {0, 0, 3}},
      {{0, 0}, {0, 0}},
  };
  for (const auto &c : cases) {
    SCOPED_TRACE(lk::text_of(c[0]) + " by " + lk::text_of(c[1]));
    const Value a = random(c[0], 1), b = random(c[1], 2), y = lk::ref::matmul(a, b);
    OpTester("MatMul", 13).input(a).input(b).expect(y).run();
    OpTester("MatMul", 13).input(a).constant(b).expect(y).run();
    OpTester("MatMul", 13).constant(a).input(b).expect(y).run();
    if (HasFatalFailure()) return;
  }
}

TEST(EmptyMatMul, HasPostOps) {
  const struct {
    Dims a, b;
    std::vector<Dims> operands;
  } cases[] = {
      {.a = {3, 0}, .b = {0, 5}, .operands = {{5}, {3, 1}, {3, 5}, {}}},
      {.a = {2, 3, 0}, .b = {0, 5}, .operands = {{5}, {3, 1}, {2, 1, 1}, {2, 3, 5}}},
      {.a = {2, 3, 0}, .b = {2, 0, 5}, .operands = {{5}, {2, 1, 5}}},
      {.a = {0}, .b = {2, 0, 5}, .operands = {{5}, {2, 1}}},
      {.a = {0}, .b = {0}, .operands = {{}}},
  };
  for (const auto &c : cases) {
    for (const Dims &dims : c.operands) {
      SCOPED_TRACE(lk::text_of(c.a) + " by " + lk::text_of(c.b) + " + " + lk::text_of(dims));
      const Value a = random(c.a, 1), b = random(c.b, 2), operand = random(dims, 3);
      const Value sum = lk::ref::apply(lk::ref::matmul(a, b), {LK_POST_ADD, 2, 0, 0}, &operand);
      const Value y = lk::ref::apply(sum, {LK_POST_RELU, -1, 0.5F, 0});
      OpTester tester("MatMul", 13);
      tester.input(a).constant(b).post_op(LK_POST_ADD, 0, 0, 2).post_op(LK_POST_RELU, 0.5F);
      OpTester(tester).constant(operand).expect(y).run();
      OpTester(tester).input(operand).expect(y).run();
      if (HasFatalFailure()) return;
    }
  }
  const Value a = random({2, 0}, 1), b = random({0, 3}, 2);
  OpTester("MatMul", 13).input(a).input(b).post_op(LK_POST_SIGMOID).expect(full({2, 3}, 0.5)).run();
}

TEST(EmptyMatMul, WritesTheLayoutThatIsWishedFor) {
  const Value operand = random({2, 3, 4, 5}, 3);
  for (lk_layout layout : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
    OpTester("MatMul", 13)
        .input(random({2, 3, 4, 0}, 1))
        .input(random({0, 5}, 2))
        .input(operand, layout)
        .post_op(LK_POST_ADD, 0, 0, 2)
        .wish(LK_LAYOUT_CHANNELS_LAST)
        .expect_layout(LK_LAYOUT_CHANNELS_LAST)
        .expect(operand)
        .run();
  }
}

TEST(EmptyGemm, IsBetaC) {
  for (bool transpose_a : {false, true}) {
    for (bool transpose_b : {false, true}) {
      for (float beta : {1.0F, 2.0F, 0.0F}) {
        for (const Dims &dims : {Dims{3}, Dims{2, 1}, Dims{1, 3}, Dims{2, 3}, Dims{}}) {
          SCOPED_TRACE(lk::text_of(dims) + " times " + std::to_string(beta));
          const Value a = random(transpose_a ? Dims{0, 2} : Dims{2, 0}, 1);
          const Value b = random(transpose_b ? Dims{3, 0} : Dims{0, 3}, 2), c = random(dims, 3);
          const Value scaled = lk::ref::apply(c, {LK_POST_LINEAR, -1, beta, 0});
          const Value y = lk::ref::apply(full({2, 3}, 0), {LK_POST_ADD, 2, 0, 0}, &scaled);
          OpTester tester("Gemm", 13);
          tester.attr("transA", transpose_a).attr("transB", transpose_b);
          tester.attr_float("alpha", 3).attr_float("beta", beta).input(a).expect(y);
          OpTester(tester).constant(b).constant(c).run();
          OpTester(tester).input(b).input(c).run();
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(EmptyGemm, HasPostOpsBehindC) {
  const Value c = random({3}, 1), residual = random({2, 3}, 2);
  const Value sum = lk::ref::apply(residual, {LK_POST_ADD, 2, 0, 0}, &c);
  OpTester("Gemm", 13)
      .input(random({2, 0}, 3))
      .constant(random({0, 3}, 4))
      .constant(c)
      .input(residual)
      .post_op(LK_POST_ADD, 0, 0, 3)
      .post_op(LK_POST_RELU)
      .expect(lk::ref::apply(sum, {LK_POST_RELU, -1, 0, 0}))
      .run();
  OpTester("Gemm", 13)
      .input(random({2, 0}, 3))
      .input(random({0, 3}, 4))
      .expect(full({2, 3}, 0))
      .run();
}

// ---- convolutions ----

Window window_of(const Dims &kernel, int64_t padding) {
  const Dims ones(kernel.size(), 1), pads(kernel.size(), padding);
  return {kernel, ones, ones, pads, pads};
}

struct Convolution {
  Dims x, w;
  int64_t padding = 0, groups = 1;
};

// With and without bias and post-ops, in both layouts.
void check(const char *op, const Convolution &c,
           const std::function<Value(const Value *)> &expected,
           const std::function<void(OpTester *)> &attrs = {}) {
  SCOPED_TRACE(lk::text_of(c.x) + " with " + lk::text_of(c.w) + " in groups " +
               std::to_string(c.groups) + " padded by " + std::to_string(c.padding));
  const Value x = random(c.x, 1), w = random(c.w, 2);
  const Dims to = expected(nullptr).dims();
  const Value bias = random({to[1]}, 3), residual = random(to, 4);
  for (lk_layout layout : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
    OpTester tester(op, 11);
    tester.attr("group", c.groups).input(x, layout).wish(layout);
    if (c.padding > 0) tester.attr_ints("pads", Dims(2 * (c.x.size() - 2), c.padding));
    if (attrs) attrs(&tester);
    OpTester(tester).constant(w).expect(expected(nullptr)).run();
    OpTester(tester).input(w).expect(expected(nullptr)).run();
    OpTester(tester).constant(w).constant(bias).expect(expected(&bias)).run();
    OpTester(tester).input(w).input(bias).expect(expected(&bias)).run();
    const Value sum = lk::ref::apply(expected(&bias), {LK_POST_ADD, 3, 0, 0}, &residual);
    OpTester(tester)
        .constant(w)
        .constant(bias)
        .input(residual, layout)
        .post_op(LK_POST_ADD, 0, 0, 3)
        .post_op(LK_POST_RELU)
        .expect(lk::ref::apply(sum, {LK_POST_RELU, -1, 0, 0}))
        .run();
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(EmptyConv, IsTheBias) {
  const Convolution cases[] = {
      {.x = {2, 0, 4, 5}, .w = {6, 0, 2, 3}},
      {.x = {2, 0, 4, 5}, .w = {6, 0, 2, 3}, .padding = 1, .groups = 2},
      {.x = {2, 0, 5}, .w = {6, 0, 3}},
      {.x = {2, 0, 3, 4, 5}, .w = {6, 0, 2, 2, 2}},
      {.x = {2, 3, 0, 4}, .w = {5, 3, 2, 2}, .padding = 1},
      {.x = {2, 3, 0, 0}, .w = {5, 3, 3, 3}, .padding = 2},
      {.x = {2, 4, 0, 4}, .w = {6, 2, 2, 2}, .padding = 1, .groups = 2},
      {.x = {2, 3, 0}, .w = {5, 3, 2}, .padding = 1},
      {.x = {2, 3, 2, 0, 2}, .w = {5, 3, 1, 2, 1}, .padding = 1},
      {.x = {0, 3, 4, 4}, .w = {5, 3, 2, 2}},
      {.x = {2, 3, 4, 4}, .w = {0, 3, 2, 2}},
  };
  for (const Convolution &c : cases) {
    const Value x = random(c.x, 1), w = random(c.w, 2);
    const Window window = window_of(lk::ref::spatial(c.w), c.padding);
    check("Conv", c,
          [&](const Value *bias) { return lk::ref::conv(x, w, bias, window, c.groups); });
    if (HasFatalFailure()) return;
  }
}

TEST(EmptyConv, NeedsRoomForAWindow) {
  const Value x = random({2, 3, 0, 4}, 1);
  OpTester("Conv", 11)
      .input(x)
      .input(random({5, 3, 1, 1}, 2))
      .expect_bind(LK_INVALID_ARGUMENT, "the window of 1 must not exceed that");
  OpTester("Conv", 11)
      .input(random({2, 3, 4, 4}, 1))
      .input(random({5, 3, 0, 2}, 2))
      .expect_bind(LK_OUT_OF_RANGE, "'kernel_shape' has the value 0");
  OpTester("Conv", 11)
      .input(x)
      .input(random({5, 3, 2, 2}, 2))
      .attr_text("auto_pad", "SAME_UPPER")
      .expect(random({2, 5, 0, 4}, 3))
      .run();
}

// Sizes by the formula of the specification: stride (in - 1) + extent - padding.
TEST(EmptyConvTranspose, IsTheBias) {
  const struct {
    Convolution c;
    Dims to;
  } cases[] = {
      {.c = {{2, 0, 4, 5}, {0, 6, 2, 3}}, .to = {5, 7}},
      {.c = {{2, 0, 4, 5}, {0, 3, 2, 3}, 1, 2}, .to = {3, 5}},
      {.c = {{2, 3, 0, 4}, {3, 5, 2, 2}}, .to = {1, 5}},
      {.c = {{2, 3, 0, 0}, {3, 5, 4, 4}}, .to = {3, 3}},
      {.c = {{2, 3, 0, 4}, {3, 5, 1, 1}}, .to = {0, 4}},
      {.c = {{2, 3, 0, 4}, {3, 5, 4, 3}, 1}, .to = {1, 4}},
      {.c = {{2, 3, 0}, {3, 5, 4}}, .to = {3}},
      {.c = {{0, 3, 4, 4}, {3, 5, 2, 2}}, .to = {5, 5}},
  };
  for (const auto &one : cases) {
    const Value x = random(one.c.x, 1), w = random(one.c.w, 2);
    const Window window = window_of(lk::ref::spatial(one.c.w), one.c.padding);
    check("ConvTranspose", one.c, [&](const Value *bias) {
      return lk::ref::conv_transpose(x, w, bias, window, one.c.groups, one.to);
    });
    if (HasFatalFailure()) return;
  }
}

TEST(EmptyConvTranspose, IsAsLargeAsAskedFor) {
  const Convolution c = {{2, 3, 0, 4}, {3, 5, 3, 3}};
  const Value x = random(c.x, 1), w = random(c.w, 2);
  const auto expected = [&](const Dims &to) {
    return [&, to](const Value *bias) {
      const Window window = {{3, 3}, {2, 2}, {1, 1}, {0, 0}, {0, 0}};
      return lk::ref::conv_transpose(x, w, bias, window, 1, to);
    };
  };
  check("ConvTranspose", c, expected({2, 10}), [](OpTester *tester) {
    tester->attr_ints("strides", {2, 2}).attr_ints("output_padding", {1, 1});
  });
  check("ConvTranspose", c, expected({4, 9}), [](OpTester *tester) {
    tester->attr_ints("strides", {2, 2}).attr_ints("output_shape", {4, 9});
  });
  check("ConvTranspose", c, expected({0, 8}), [](OpTester *tester) {
    tester->attr_ints("strides", {2, 2}).attr_text("auto_pad", "SAME_UPPER");
  });
  OpTester("ConvTranspose", 11)
      .input(x)
      .input(w)
      .attr_ints("strides", {2, 2})
      .attr_ints("pads", {1, 1, 1, 1})
      .expect_bind(LK_INVALID_ARGUMENT, "dimension 0 of the output would be -1");
}

} // namespace
