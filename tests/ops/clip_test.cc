// Clip: bounds from attributes, from constants and at run time, one or both left out, of all types.
#include "tests/ops/numbers.h"
#include "tests/ops/reference.h"

namespace {

using lk::OpTester;
using lk::random;
using lk::Value;

enum class Bound { NONE, CONSTANT, RUN_TIME };

Value clipped(const Value &x, Bound low, float min, Bound high, float max) {
  return lk::ref::map(x, [&](double value) {
    if (low != Bound::NONE) value = std::max(value, static_cast<double>(min));
    if (high != Bound::NONE) value = std::min(value, static_cast<double>(max));
    return value;
  });
}

void add_bound(OpTester *tester, Bound bound, float value) {
  if (bound == Bound::NONE) tester->absent();
  if (bound == Bound::CONSTANT) tester->constant(lk::floats({}, {value}));
  if (bound == Bound::RUN_TIME) tester->input(lk::floats({}, {value}));
}

TEST(Clip, TakesBoundsFromAnywhere) {
  const Bound bounds[] = {Bound::NONE, Bound::CONSTANT, Bound::RUN_TIME};
  const Value x = random({2, 3, 4, 5}, 1, -4, 4);
  for (Bound low : bounds) {
    for (Bound high : bounds) {
      for (float max : {1.5F, -3.0F}) { // less than min, too: then all is max
        for (lk_layout layout : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
          SCOPED_TRACE(std::to_string(int(low)) + std::to_string(int(high)) + " " +
                       std::to_string(max));
          const Value y = clipped(x, low, -1, high, max);
          for (int32_t in_place : {-1, 0}) {
            OpTester tester("Clip", 13);
            tester.input(x, layout);
            add_bound(&tester, low, -1);
            add_bound(&tester, high, max);
            tester.in_place(in_place).expect(y).run();
          }
          OpTester relu("Clip", 13);
          relu.input(x, layout);
          add_bound(&relu, low, -1);
          add_bound(&relu, high, max);
          relu.post_op(LK_POST_LINEAR, 2, 1).wish(LK_LAYOUT_PLAIN);
          relu.expect(lk::ref::apply(y, {LK_POST_LINEAR, -1, 2, 1})).run();
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Clip, TakesAttributesBeforeOpset11) {
  const Value x = random({40}, 1, -4, 4);
  for (const int opset : {7, 10}) { // the first and the last of them
    OpTester("Clip", opset)
        .attr_float("min", -1)
        .attr_float("max", 2)
        .input(x)
        .expect(clipped(x, Bound::CONSTANT, -1, Bound::CONSTANT, 2))
        .run();
  }
  OpTester("Clip", 7)
      .attr_float("max", 2)
      .input(x)
      .expect(clipped(x, Bound::NONE, 0, Bound::CONSTANT, 2))
      .run();
  OpTester("Clip", 7).input(x).expect(x).run();
}

TEST(Clip, ANewBoundNeedsNoNewKernel) {
  // Bounds at run time are operands of one element program, whatever they are.
  OpTester("Clip", 13)
      .input(random({5}, 1, -4, 4))
      .input(lk::floats({}, {-1}))
      .input(lk::floats({}, {1}))
      .expect(clipped(random({5}, 1, -4, 4), Bound::RUN_TIME, -1, Bound::RUN_TIME, 1))
      .run();
}

TEST(Clip, OfRanksOfAllSizesWithABoundAtRunTime) {
  for (const lk::Dims &dims :
       {lk::Dims{}, lk::Dims{1}, lk::Dims{3, 2}, lk::Dims{2, 1, 2, 1, 2, 2}}) {
    const Value x = random(dims, 1, -4, 4);
    OpTester("Clip", 13)
        .input(x)
        .absent()
        .input(lk::floats({1}, {0.5F}))
        .expect(clipped(x, Bound::NONE, 0, Bound::RUN_TIME, 0.5F))
        .run();
  }
}

TEST(Clip, OfNothingIsNothing) {
  OpTester("Clip", 13)
      .input(lk::floats({0, 3}, {}))
      .input(lk::floats({}, {1}))
      .expect(lk::floats({0, 3}, {}))
      .run();
}

const uint32_t TYPES[] = {LK_I8,  LK_I16, LK_I32, LK_I64, LK_U8,  LK_U16,
                          LK_U32, LK_U64, LK_F64, LK_F16, LK_BF16};

bool is_signed(uint32_t dtype) {
  return dtype != LK_U8 && dtype != LK_U16 && dtype != LK_U32 && dtype != LK_U64;
}

void add_bound(OpTester *tester, Bound bound, const Value &value) {
  if (bound == Bound::NONE) tester->absent();
  if (bound == Bound::CONSTANT) tester->constant(value);
  if (bound == Bound::RUN_TIME) tester->input(value);
}

TEST(Clip, TakesAllNumberTypes) {
  const Bound bounds[] = {Bound::NONE, Bound::CONSTANT, Bound::RUN_TIME};
  lk::Draw draw(1);
  for (uint32_t dtype : TYPES) {
    const double shift = is_signed(dtype) ? 50 : 0, min = 20 - shift;
    for (Bound low : bounds) {
      for (Bound high : bounds) {
        for (double max : {70.0, 10.0}) { // less than min, too: then all is max
          SCOPED_TRACE("type " + std::to_string(dtype) + " " + std::to_string(int(low)) +
                       std::to_string(int(high)) + " " + std::to_string(max));
          const lk::Dims dims = draw.dims(4, 1, 4);
          std::vector<double> x, y;
          for (int64_t i = 0; i < lk::count_of(dims); i++) {
            x.push_back(static_cast<double>(draw.in(0, 100)) - shift);
            y.push_back(low == Bound::NONE ? x.back() : std::max(x.back(), min));
            if (high != Bound::NONE) y.back() = std::min(y.back(), max - shift);
          }
          const Value value = lk::numbers(dtype, dims, x), expected = lk::numbers(dtype, dims, y);
          const lk_layout layout = draw.layout(4);
          for (bool in_place : {false, true}) {
            OpTester tester("Clip", 13);
            tester.input(value, layout);
            add_bound(&tester, low, lk::numbers(dtype, {}, {min}));
            add_bound(&tester, high, lk::numbers(dtype, {1}, {max - shift}));
            if (in_place) tester.in_place(0).wish(layout);
            if (!in_place) tester.wish(draw.wish(4));
            tester.expect(expected).run();
          }
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Enough elements for two threads, and some left over.
TEST(Clip, OfLargeTensors) {
  std::vector<int64_t> x, y;
  for (int64_t i = 0; i < 50001; i++) {
    x.push_back(i * 7919 % 1000);
    y.push_back(std::min<int64_t>(std::max<int64_t>(x.back(), 100), 900));
  }
  OpTester("Clip", 13)
      .input(lk::ints(x))
      .constant(lk::tensor<int64_t>({}, {100}))
      .input(lk::tensor<int64_t>({}, {900}))
      .expect(lk::ints(y))
      .run();
}

// Numbers that only their own type holds.
TEST(Clip, KeepsWhatLiesAtTheLimits) {
  OpTester("Clip", 13)
      .input(lk::ints({INT64_MIN, INT64_MAX, INT64_MAX - 1}))
      .input(lk::tensor<int64_t>({}, {INT64_MIN + 1}))
      .input(lk::tensor<int64_t>({}, {INT64_MAX - 1}))
      .expect(lk::ints({INT64_MIN + 1, INT64_MAX - 1, INT64_MAX - 1}))
      .run();
  OpTester("Clip", 13)
      .input(lk::tensor<uint64_t>({2}, {UINT64_MAX, UINT64_MAX - 1}))
      .expect(lk::tensor<uint64_t>({2}, {UINT64_MAX, UINT64_MAX - 1}))
      .run();
  OpTester("Clip", 12)
      .input(lk::tensor<int8_t>({2}, {-128, 127}))
      .expect(lk::tensor<int8_t>({2}, {-128, 127}))
      .run();
}

// ONNX: a bound that is left out is the type's least or largest finite number; before opset 11,
// where it is an attribute, that of f32.
TEST(Clip, BoundsThatAreLeftOut) {
  const double inf = HUGE_VAL, most = DBL_MAX, narrow = static_cast<double>(FLT_MAX);
  const Value x = lk::tensor<double>({5}, {-inf, inf, 1e300, NAN, 1});
  OpTester("Clip", 13)
      .input(x)
      .within(lk::EXACTLY)
      .expect(lk::tensor<double>({5}, {-most, most, 1e300, NAN, 1}))
      .run();
  OpTester("Clip", 7)
      .input(x)
      .within(lk::EXACTLY)
      .expect(lk::tensor<double>({5}, {-narrow, narrow, narrow, NAN, 1}))
      .run();
  OpTester("Clip", 7)
      .attr_float("min", 2)
      .input(x)
      .within(lk::EXACTLY)
      .expect(lk::tensor<double>({5}, {2, narrow, narrow, NAN, 2}))
      .run();
  OpTester("Clip", 13)
      .input(lk::numbers(LK_F16, {3}, {-inf, inf, NAN}))
      .expect(lk::numbers(LK_F16, {3}, {-65504, 65504, NAN}))
      .run();
  OpTester("Clip", 13)
      .input(lk::tensor<uint16_t>({3}, {0xff80, 0x7f80, 0x4000}, LK_BF16))
      .expect(lk::tensor<uint16_t>({3}, {0xff7f, 0x7f7f, 0x4000}, LK_BF16))
      .run();
  OpTester("Clip", 13)
      .input(lk::floats({3}, {-HUGE_VALF, HUGE_VALF, 1}))
      .within(lk::EXACTLY)
      .expect(lk::floats({3}, {-FLT_MAX, FLT_MAX, 1}))
      .run();
}

TEST(Clip, NamesWhatIsWrong) {
  const Value x = random({3}, 1);
  OpTester("Clip", 13)
      .input(x)
      .input(lk::ints({1}))
      .expect_bind(LK_INVALID_ARGUMENT, "f32 and i64");
  OpTester("Clip", 13).input(x).input(x).expect_bind(LK_INVALID_ARGUMENT, "'min'");
  OpTester("Clip", 13).input(x).absent().input(x).expect_bind(LK_INVALID_ARGUMENT, "'max'");
  OpTester("Clip", 13)
      .input(lk::ints({1}))
      .absent()
      .constant(lk::tensor<int32_t>({}, {1}))
      .expect_bind(LK_INVALID_ARGUMENT,
                   "input 0 and input 2 are of types i64 and i32, which must be equal");
  OpTester("Clip", 13)
      .input(lk::tensor<uint8_t>({1}, {1}, LK_BOOL))
      .expect_bind(LK_UNSUPPORTED, "bool");
}

} // namespace
