// Softmax along every axis, and over flattened dimensions before opset 13.
#include "tests/ops/reference.h"

namespace {

using lk::Dims;
using lk::OpTester;
using lk::random;
using lk::Value;

// Elements of one sum have equal positions but on the axes from `first` up to `last`.
Value softmax(const Value &x, size_t first, size_t last) {
  const Dims dims = x.dims();
  const std::vector<float> v = x.as<float>();
  Dims sums = dims;
  for (size_t i = first; i < last; i++) sums[i] = 1;
  std::vector<double> total(static_cast<size_t>(lk::count_of(sums)), 0.0), out;
  size_t i = 0;
  lk::ref::each(dims, [&](const Dims &at) {
    total[lk::ref::broadcast_offset(sums, at)] += std::exp(static_cast<double>(v[i++]));
  });
  i = 0;
  lk::ref::each(dims, [&](const Dims &at) {
    out.push_back(std::exp(static_cast<double>(v[i++])) /
                  total[lk::ref::broadcast_offset(sums, at)]);
  });
  return lk::ref::make(dims, out);
}

const Dims SHAPES[] = {{1},
                       {7},
                       {3, 5},
                       {2, 3, 4},
                       {2, 5, 3, 4},
                       {2, 3, 2, 3, 2},
                       {2, 1, 2, 2, 1, 3},
                       {1, 2, 1, 2, 1, 2, 1, 3},
                       {4, 300}};

TEST(Softmax, TakesEveryAxis) {
  for (const Dims &dims : SHAPES) {
    const auto rank = static_cast<int64_t>(dims.size());
    const Value x = random(dims, 1, -3, 3);
    for (int64_t axis = -rank; axis < rank; axis++) {
      SCOPED_TRACE(lk::text_of(dims) + " axis " + std::to_string(axis));
      const size_t at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
      const Value y = softmax(x, at, at + 1);
      OpTester("Softmax", 13).attr("axis", axis).input(x).expect(y).run();
      if (axis < 0) continue;
      OpTester("Softmax", 13).attr("axis", axis).input(x).in_place(0).expect(y).run();
      if (rank >= 3) {
        OpTester("Softmax", 13).attr("axis", axis).channels_last(x).expect(y).run();
        OpTester("Softmax", 13)
            .attr("axis", axis)
            .channels_last(x)
            .wish(LK_LAYOUT_PLAIN)
            .expect(y)
            .run();
      }
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Softmax, FlattensBeforeOpset13) {
  for (const Dims &dims : SHAPES) {
    const auto rank = static_cast<int64_t>(dims.size());
    const Value x = random(dims, 1, -3, 3);
    for (int64_t axis = -rank; axis <= rank; axis++) {
      SCOPED_TRACE(lk::text_of(dims) + " axis " + std::to_string(axis));
      const size_t from = static_cast<size_t>(axis < 0 ? axis + rank : axis);
      const Value y = softmax(x, from, dims.size());
      OpTester("Softmax", 11).attr("axis", axis).input(x).expect(y).run();
      if (rank >= 3) OpTester("Softmax", 11).attr("axis", axis).channels_last(x).expect(y).run();
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Softmax, HasItsOpsetsDefaultAxis) {
  const Value x = random({2, 3, 4}, 1);
  OpTester("Softmax", 13).input(x).expect(softmax(x, 2, 3)).run();
  OpTester("Softmax", 11).input(x).expect(softmax(x, 1, 3)).run();
}

TEST(Softmax, DoesNotOverflow) {
  OpTester("Softmax", 13)
      .input(lk::floats({1, 3}, {1000, 1000, -1000}))
      .expect(lk::floats({1, 3}, {0.5F, 0.5F, 0}))
      .run();
}

TEST(Softmax, OfNothingIsNothing) {
  OpTester("Softmax", 13).input(lk::floats({0, 3}, {})).expect(lk::floats({0, 3}, {})).run();
  OpTester("Softmax", 11).input(lk::floats({2, 0}, {})).expect(lk::floats({2, 0}, {})).run();
}

TEST(Softmax, NamesWhatIsWrong) {
  const Value x = random({2, 3}, 1);
  OpTester("Softmax", 13).attr("axis", 2).input(x).expect_bind(LK_OUT_OF_RANGE, "'axis' is 2");
  OpTester("Softmax", 13).attr("axis", -3).input(x).expect_bind(LK_OUT_OF_RANGE, "'axis' is -3");
  OpTester("Softmax", 11).attr("axis", 3).input(x).expect_bind(LK_OUT_OF_RANGE, "'axis' is 3");
  OpTester("Softmax", 13).input(lk::iota<int32_t>({3})).expect_bind(LK_UNSUPPORTED, "i32");
  OpTester("Softmax", 13).attr("axis", INT64_MIN).input(x).expect_bind(LK_OUT_OF_RANGE, "'axis'");
  OpTester("Softmax", 13)
      .input(lk::tensor<int32_t>({2}, {1, 2}))
      .expect_bind(LK_UNSUPPORTED, "of type i32; f32, f16");
  OpTester("Softmax", 13).input(x).post_op(LK_POST_RELU).expect_create(LK_UNSUPPORTED, "post-ops");
}

} // namespace
