// ReduceMean over all subsets of axes, in all opsets and layouts.
#include "tests/ops/reference.h"

namespace {

using lk::Dims;
using lk::OpTester;
using lk::random;
using lk::Value;

Value mean(const Value &x, uint32_t mask, bool keep) {
  const Dims dims = x.dims();
  const std::vector<float> v = x.as<float>();
  Dims kept = dims, to;
  int64_t count = 1;
  for (size_t i = 0; i < dims.size(); i++) {
    if ((mask >> i & 1) != 0) {
      kept[i] = 1;
      count *= dims[i];
    }
    if (keep || (mask >> i & 1) == 0) to.push_back(kept[i]);
  }
  std::vector<double> out(static_cast<size_t>(lk::count_of(kept)), 0.0);
  size_t i = 0;
  lk::ref::each(dims, [&](const Dims &at) {
    out[lk::ref::broadcast_offset(kept, at)] +=
        static_cast<double>(v[i++]) / static_cast<double>(count);
  });
  return lk::ref::make(to, out);
}

std::vector<int64_t> axes_of(uint32_t mask, size_t rank, bool negative) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < rank; i++) {
    if ((mask >> i & 1) != 0) {
      axes.push_back(static_cast<int64_t>(i) - (negative ? static_cast<int64_t>(rank) : 0));
    }
  }
  return axes;
}

TEST(ReduceMean, TakesEverySubsetOfAxes) {
  for (const Dims &dims :
       {Dims{5}, Dims{3, 4}, Dims{2, 3, 4}, Dims{2, 3, 4, 5}, Dims{2, 1, 3, 2, 2}}) {
    const Value x = random(dims, 1);
    for (uint32_t mask = 1; mask < 1U << dims.size(); mask++) {
      for (bool keep : {true, false}) {
        SCOPED_TRACE(lk::text_of(dims) + " axes " + std::to_string(mask) + (keep ? " kept" : ""));
        const Value y = mean(x, mask, keep);
        OpTester("ReduceMean", 13)
            .attr_ints("axes", axes_of(mask, dims.size(), false))
            .attr("keepdims", keep)
            .input(x)
            .expect(y)
            .run();
        const Value axes = lk::ints(axes_of(mask, dims.size(), true));
        OpTester tester("ReduceMean", 18);
        tester.attr("keepdims", keep).expect(y).expect_reorders(0);
        tester.input(x, dims.size() >= 3 ? LK_LAYOUT_CHANNELS_LAST : LK_LAYOUT_PLAIN);
        if (keep)
          tester.constant(axes).run();
        else
          tester.input(axes).run();
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(ReduceMean, OfNeighbouringAxesTakesAllLayouts) {
  const Value x = random({2, 6, 8}, 1);
  OpTester("ReduceMean", 13).attr_ints("axes", {0}).input(x).expect(mean(x, 1, true)).run();
  OpTester("ReduceMean", 13).attr_ints("axes", {1}).input(x).expect(mean(x, 2, true)).run();
  OpTester("ReduceMean", 13)
      .attr_ints("axes", {0, 1})
      .attr("keepdims", 0)
      .input(x)
      .expect(mean(x, 3, false))
      .run();
  OpTester("ReduceMean", 13).attr_ints("axes", {-1}).input(x).expect(mean(x, 4, true)).run();
  OpTester("ReduceMean", 13).attr_ints("axes", {1, 2}).input(x).expect(mean(x, 6, true)).run();
  const Value image = random({2, 6, 8, 3}, 1);
  OpTester("ReduceMean", 13)
      .attr_ints("axes", {2, 3})
      .channels_last(image)
      .expect(mean(image, 12, true))
      .expect_reorders(0)
      .run();
}

TEST(ReduceMean, WithoutAxesTakesAllOrNone) {
  const Value x = random({2, 3}, 1);
  OpTester("ReduceMean", 13).input(x).expect(mean(x, 3, true)).run();
  OpTester("ReduceMean", 13).input(x).attr("keepdims", 0).expect(mean(x, 3, false)).run();
  OpTester("ReduceMean", 18).input(x).absent().expect(mean(x, 3, true)).run();
  OpTester("ReduceMean", 18).input(x).input(lk::ints({})).expect(mean(x, 3, true)).run();
  OpTester("ReduceMean", 18)
      .input(x)
      .input(lk::ints({}))
      .attr("noop_with_empty_axes", 1)
      .expect(x)
      .run();
  OpTester("ReduceMean", 13).input(lk::floats({}, {3})).expect(lk::floats({}, {3})).run();
}

TEST(ReduceMean, NamesWhatIsWrong) {
  const Value x = random({2, 3}, 1);
  OpTester("ReduceMean", 13).attr_ints("axes", {2}).input(x).expect_bind(LK_OUT_OF_RANGE, "axis 2");
  OpTester("ReduceMean", 18).input(x).input(lk::ints({-3})).expect_bind(LK_OUT_OF_RANGE, "axis -3");
  OpTester("ReduceMean", 18)
      .input(x)
      .input(lk::floats({1}, {1}))
      .expect_bind(LK_UNSUPPORTED, "input 1");
  OpTester("ReduceMean", 13).input(lk::iota<uint8_t>({3})).expect_bind(LK_UNSUPPORTED, "u8");
}

} // namespace
