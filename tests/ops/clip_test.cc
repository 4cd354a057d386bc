// Clip: bounds from attributes, from constants and at run time, one or both left out.
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
  OpTester("Clip", 6)
      .attr_float("min", -1)
      .attr_float("max", 2)
      .input(x)
      .expect(clipped(x, Bound::CONSTANT, -1, Bound::CONSTANT, 2))
      .run();
  OpTester("Clip", 6)
      .attr_float("max", 2)
      .input(x)
      .expect(clipped(x, Bound::NONE, 0, Bound::CONSTANT, 2))
      .run();
  OpTester("Clip", 6).input(x).expect(x).run();
}

TEST(Clip, ANewBoundIsNoNewPrimitive) {
  // Bounds at run time are operands: two primitives, whatever they are.
  OpTester("Clip", 13)
      .input(random({5}, 1, -4, 4))
      .input(lk::floats({}, {-1}))
      .input(lk::floats({}, {1}))
      .expect_primitives(2)
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

TEST(Clip, NamesWhatIsWrong) {
  const Value x = random({3}, 1);
  OpTester("Clip", 13).input(x).input(lk::ints({1})).expect_bind(LK_INVALID_ARGUMENT, "'min'");
  OpTester("Clip", 13).input(x).absent().input(x).expect_bind(LK_INVALID_ARGUMENT, "'max'");
  OpTester("Clip", 13).input(lk::ints({1})).expect_bind(LK_UNSUPPORTED, "i64");
}

} // namespace
