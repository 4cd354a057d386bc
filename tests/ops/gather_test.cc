// Gather against a plain loop.
#include "tests/harness/op_tester.h"

namespace {

using lk::ints;
using lk::iota;
using lk::OpTester;
using lk::tensor;
using lk::Value;

// Elements [outer][axis][inner] picked by indices, with each element found by its coordinates.
template <typename T>
Value gathered(const Value &data, size_t axis, const lk::Dims &index_dims,
               const std::vector<int64_t> &indices) {
  const lk::Dims from = data.dims();
  lk::Dims to(from.begin(), from.begin() + static_cast<long>(axis));
  to.insert(to.end(), index_dims.begin(), index_dims.end());
  to.insert(to.end(), from.begin() + static_cast<long>(axis) + 1, from.end());
  int64_t inner = 1;
  for (size_t i = axis + 1; i < from.size(); i++) inner *= from[i];
  const int64_t n = static_cast<int64_t>(indices.size());
  const std::vector<T> values = data.as<T>();
  std::vector<T> out;
  for (int64_t i = 0; i < lk::count_of(to); i++) {
    const int64_t in = i % inner, k = i / inner % n, o = i / inner / n;
    const int64_t index = (indices[static_cast<size_t>(k)] + from[axis]) % from[axis];
    out.push_back(values[static_cast<size_t>((o * from[axis] + index) * inner + in)]);
  }
  return tensor<T>(to, out, data.desc.dtype);
}

TEST(Gather, PicksAlongEveryAxis) {
  const Value x = iota<float>({3, 4, 5});
  for (int64_t axis = -3; axis < 3; axis++) {
    const Value expected =
        gathered<float>(x, static_cast<size_t>((axis + 3) % 3), {2, 2}, {0, -1, 2, 0});
    OpTester("Gather", 13)
        .attr("axis", axis)
        .input(x)
        .input(tensor<int64_t>({2, 2}, {0, -1, 2, 0}))
        .expect(expected)
        .run();
  }
}

TEST(Gather, TakesAnyTypeAndBothWidthsOfIndices) {
  OpTester("Gather", 11)
      .input(iota<int8_t>({5, 3}))
      .input(tensor<int32_t>({2}, {4, -5}))
      .expect(tensor<int8_t>({2, 3}, {12, 13, 14, 0, 1, 2}))
      .run();
  OpTester("Gather", 13)
      .input(ints({10, 20, 30}))
      .input(tensor<int64_t>({}, {1}))
      .expect(tensor<int64_t>({}, {20}))
      .run();
  OpTester("Gather", 13)
      .constant(iota<double>({4, 2}))
      .input(tensor<int64_t>({1}, {3}))
      .expect(tensor<double>({1, 2}, {6, 7}))
      .run();
  OpTester("Gather", 13)
      .input(iota<float>({3, 2}))
      .input(tensor<int64_t>({0}, {}))
      .expect(lk::floats({0, 2}, {}))
      .run();
}

TEST(Gather, NamesTheIndexThatIsOutOfRange) {
  const Value x = iota<float>({3, 2});
  OpTester("Gather", 13)
      .input(x)
      .input(ints({0, 3}))
      .expect_run(LK_OUT_OF_RANGE, "index is 3, it must be -3 to 2");
  OpTester("Gather", 13).input(x).input(ints({-4})).expect_run(LK_OUT_OF_RANGE, "index is -4");
  OpTester("Gather", 13)
      .input(x)
      .input(ints({INT64_MIN}))
      .expect_run(LK_OUT_OF_RANGE, "index is -9");
  OpTester("Gather", 13)
      .attr("axis", 2)
      .input(x)
      .input(ints({0}))
      .expect_bind(LK_INVALID_ARGUMENT, "axis 2");
  OpTester("Gather", 13).input(x).input(iota<float>({1})).expect_bind(LK_UNSUPPORTED, "f32");
}

} // namespace
