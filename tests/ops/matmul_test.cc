// MatMul against plain loops, with the shapes that numpy.matmul takes.
#include "tests/ops/reference.h"

namespace {

using lk::Dims;
using lk::Draw;
using lk::OpTester;
using lk::random;
using lk::Value;

enum class Weights { CONSTANT, RUN_TIME };

void check(const Dims &a_dims, const Dims &b_dims, Weights kind) {
  SCOPED_TRACE(lk::text_of(a_dims) + " by " + lk::text_of(b_dims));
  const Value a = random(a_dims, 1), b = random(b_dims, 2);
  OpTester tester("MatMul", 13);
  tester.input(a);
  if (kind == Weights::CONSTANT)
    tester.constant(b);
  else
    tester.input(b);
  tester.expect(lk::ref::matmul(a, b)).run();
}

TEST(MatMul, TakesWhatNumpyTakes) {
  const std::vector<std::pair<Dims, Dims>> shapes = {
      {{3, 4}, {4, 5}},
      {{1, 4}, {4, 1}},
      {{1, 1}, {1, 1}},
      {{4}, {4}},
      {{4}, {4, 5}},
      {{3, 4}, {4}},
      {{2, 3, 4}, {4}},
      {{4}, {2, 4, 5}},
      {{2, 3, 4}, {4, 5}},
      {{3, 4}, {2, 4, 5}},
      {{2, 3, 4}, {2, 4, 5}},
      {{1, 3, 4}, {2, 4, 5}},
      {{2, 3, 4}, {1, 4, 5}},
      {{2, 1, 3, 4}, {1, 5, 4, 2}},
      {{5, 3, 4}, {2, 1, 4, 2}},
      {{2, 2, 3, 2, 4}, {3, 4, 6}},
      {{2, 1, 2, 1, 3, 4}, {2, 4, 5}},
      {{1, 2, 1, 2, 1, 2, 3, 4}, {4, 2}},
      {{17, 33}, {33, 65}},
      {{2, 9, 64}, {64, 48}},
      {{128, 16}, {16, 1}},
  };
  for (const auto &shape : shapes) {
    check(shape.first, shape.second, Weights::RUN_TIME);
    check(shape.first, shape.second, Weights::CONSTANT);
    if (HasFatalFailure()) return;
  }
}

TEST(MatMul, MatchesPlainLoops) {
  Draw draw(1);
  for (int i = 0; i < 30; i++) {
    const size_t rank = static_cast<size_t>(draw.in(0, 3));
    Dims a = draw.dims(rank, 1, 3), b = a;
    for (size_t k = 0; k < rank; k++) {
      if (draw.maybe()) (draw.maybe() ? a : b)[k] = 1;
    }
    if (draw.maybe())
      a.erase(a.begin(), a.begin() + draw.in(0, static_cast<int64_t>(rank)));
    else
      b.erase(b.begin(), b.begin() + draw.in(0, static_cast<int64_t>(rank)));
    const int64_t k = draw.in(1, 40);
    a.insert(a.end(), {draw.in(1, 20), k});
    b.insert(b.end(), {k, draw.in(1, 40)});
    check(a, b, draw.maybe() ? Weights::CONSTANT : Weights::RUN_TIME);
    if (HasFatalFailure()) return;
  }
}

TEST(MatMul, OfChannelsLastIsOfThePlainTensor) {
  const Value a = random({2, 3, 4, 5}, 1), b = random({2, 3, 5, 6}, 2);
  OpTester("MatMul", 13)
      .channels_last(a)
      .channels_last(b)
      .wish(LK_LAYOUT_CHANNELS_LAST)
      .expect_layout(LK_LAYOUT_CHANNELS_LAST)
      .expect(lk::ref::matmul(a, b))
      .run();
}

TEST(MatMul, TakesAConstantOnTheLeft) {
  const Value a = random({6, 8}, 1), b = random({2, 8, 5}, 2);
  OpTester("MatMul", 13).constant(a).input(b).expect(lk::ref::matmul(a, b)).run();
}

TEST(MatMul, OfNothingIsNothing) {
  OpTester("MatMul", 13)
      .input(lk::floats({0, 3, 4}, {}))
      .constant(random({4, 5}, 1))
      .expect(lk::floats({0, 3, 5}, {}))
      .run();
  OpTester("MatMul", 13)
      .input(lk::floats({0, 4}, {}))
      .input(random({4, 5}, 1))
      .expect(lk::floats({0, 5}, {}))
      .run();
}

// One bias per column, a residual, and operands of every rank, beside vectors and batches.
TEST(MatMul, BroadcastsTheOperandsOfPostOps) {
  const struct {
    Dims a, b;
    std::vector<Dims> operands;
  } cases[] = {
      {.a = {3, 4}, .b = {4, 5}, .operands = {{5}, {1, 5}, {3, 1}, {3, 5}, {1}, {}, {1, 1}}},
      {.a = {2, 3, 4},
       .b = {4, 5},
       .operands = {{5}, {3, 1}, {3, 5}, {2, 1, 1}, {2, 3, 5}, {1, 1, 5}, {1, 1, 1}, {}}},
      {.a = {2, 3, 4}, .b = {2, 4, 5}, .operands = {{5}, {3, 5}, {2, 3, 5}, {2, 1, 5}, {1}}},
      {.a = {3, 4}, .b = {4}, .operands = {{3}, {1}, {}}},
      {.a = {2, 3, 4}, .b = {4}, .operands = {{3}, {2, 1}, {2, 3}, {1, 3}, {1}, {}}},
      {.a = {4}, .b = {4, 5}, .operands = {{5}, {1}, {}}},
      {.a = {4}, .b = {2, 4, 5}, .operands = {{5}, {2, 1}, {2, 5}, {1, 5}, {1, 1}}},
      {.a = {4}, .b = {4}, .operands = {{}}},
  };
  for (const auto &c : cases) {
    const Value a = random(c.a, 1), b = random(c.b, 2);
    for (const Dims &dims : c.operands) {
      SCOPED_TRACE(lk::text_of(c.a) + " by " + lk::text_of(c.b) + " + " + lk::text_of(dims));
      const Value operand = random(dims, 3);
      const Value sum = lk::ref::apply(lk::ref::matmul(a, b), {LK_POST_ADD, 2, 0, 0}, &operand);
      for (bool constant : {true, false}) {
        OpTester tester("MatMul", 13);
        tester.input(a).post_op(LK_POST_ADD, 0, 0, 2).post_op(LK_POST_RELU);
        if (constant)
          tester.constant(b).constant(operand);
        else
          tester.input(b).input(operand);
        tester.expect(lk::ref::apply(sum, {LK_POST_RELU, -1, 0, 0})).run();
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(MatMul, NamesWhatIsWrong) {
  const auto matmul = [](const Value &a, const Value &b) {
    OpTester tester("MatMul", 13);
    tester.input(a).input(b);
    return tester;
  };
  matmul(random({3, 4}, 1), random({5, 4}, 1)).expect_bind(LK_INVALID_ARGUMENT, "3x4:f32");
  matmul(random({2, 3, 4}, 1), random({3, 4, 5}, 1)).expect_bind(LK_INVALID_ARGUMENT, "multiplied");
  matmul(random({}, 1), random({4, 5}, 1)).expect_bind(LK_INVALID_ARGUMENT, "scalar");
  matmul(random({3, 4}, 1), lk::iota<int16_t>({4, 5})).expect_bind(LK_UNSUPPORTED, "i16");
  OpTester("MatMul", 13).input(random({3, 4}, 1)).expect_create(LK_INVALID_ARGUMENT, "inputs");
}

// ---- of com.microsoft ----

Value bytes(const Dims &dims, uint8_t value) {
  size_t count = 1;
  for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
  return lk::tensor<uint8_t>(dims, std::vector<uint8_t>(count, value));
}

OpTester n_bits(int64_t k, int64_t block) {
  OpTester tester("MatMulNBits", 1);
  tester.domain("com.microsoft").attr("K", k).attr("N", 1).attr("block_size", block);
  return tester;
}

// 16 times (9 - 8) 2, and as often (3 - 8) 2: half a byte each.
TEST(MatMulNBits, TakesTheLowerHalfOfAByteFirst) {
  std::vector<float> first(32);
  for (size_t i = 0; i < 32; i += 2) first[i] = 1;
  n_bits(32, 16)
      .input(lk::floats({1, 32}, first))
      .constant(bytes({1, 2, 8}, 0x39))
      .constant(lk::floats({1, 2}, {2, 2}))
      .expect(lk::floats({1, 1}, {32}))
      .run();
}

TEST(MatMulNBits, NamesWhatItCannotDo) {
  const auto tester = [](int64_t block) {
    OpTester of = n_bits(32, block);
    of.input(random({1, 32}, 1)).constant(bytes({1, 2, 8}, 1)).constant(random({1, 2}, 1));
    return of;
  };
  tester(16)
      .absent()
      .input(lk::tensor<int32_t>({32}, std::vector<int32_t>(32)))
      .expect_bind(LK_UNSUPPORTED, "g_idx");
  tester(24).expect_create(LK_INVALID_ARGUMENT, "power of 2");
  tester(32).expect_bind(LK_INVALID_ARGUMENT, "'scales' is 1x2:f32");
  tester(16).attr("bits", 3).expect_create(LK_UNSUPPORTED, "'bits' is 3");
  OpTester("MatMulNBits", 1)
      .domain("com.microsoft")
      .attr("K", 32)
      .attr("N", 0)
      .attr("block_size", 16)
      .input(random({1, 32}, 1))
      .constant(bytes({1, 2, 8}, 1))
      .constant(random({1, 2}, 1))
      .expect_create(LK_OUT_OF_RANGE, "'N' is 0, from 1");
}

TEST(MatMulIntegerToFloat, NamesABiasThatDoesNotFit) {
  const struct {
    Dims right, bias;
  } cases[] = {{{4, 3}, {2}}, {{4, 3}, {3, 1}}, {{4}, {2}}, {{4}, {1000}}}; // of {4}, one column
  for (const auto &[right, bias] : cases) {
    OpTester("MatMulIntegerToFloat", 1)
        .domain("com.microsoft")
        .input(bytes({2, 4}, 1))
        .constant(bytes(right, 1))
        .constant(lk::floats({}, {0.5F}))
        .constant(lk::floats({}, {0.5F}))
        .absent()
        .absent()
        .constant(random(bias, 1))
        .expect_bind(LK_INVALID_ARGUMENT, "bias");
  }
}

// Of two vectors: the output has no dimension along which it could lie.
TEST(MatMulIntegerToFloat, HasABiasOfOneNumberBesideVectors) {
  for (const Dims &bias : {Dims{1}, Dims{}}) {
    OpTester("MatMulIntegerToFloat", 1)
        .domain("com.microsoft")
        .input(lk::tensor<uint8_t>({2}, {2, 3}))
        .constant(lk::tensor<uint8_t>({2}, {5, 7}))
        .constant(lk::floats({}, {0.5F}))
        .constant(lk::floats({}, {0.5F}))
        .absent()
        .absent()
        .constant(lk::floats(bias, {0.25F}))
        .expect(lk::floats({}, {8}))
        .run();
  }
}

TEST(Einsum, HasNoMoreTermsThanItMayHaveInputs) {
  std::string terms = "i";
  for (int i = 0; i < 32; i++) terms += ",i";
  OpTester einsum("Einsum", 12);
  einsum.attr_text("equation", terms + "->i");
  for (int i = 0; i < 32; i++) einsum.input(random({2}, 1));
  einsum.expect_create(LK_INVALID_ARGUMENT, "at most 32 of them");
}

} // namespace
