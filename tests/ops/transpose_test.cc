// Transpose against a plain loop over coordinates.
#include "tests/harness/op_tester.h"

namespace {

using lk::Dims;
using lk::iota;
using lk::OpTester;
using lk::tensor;
using lk::Value;

template <typename T> Value transposed(const Value &x, const Dims &perm) {
  const Dims from = x.dims();
  Dims to, strides(from.size(), 1);
  for (size_t i = from.size(); i-- > 1;) strides[i - 1] = strides[i] * from[i];
  for (int64_t axis : perm) to.push_back(from[static_cast<size_t>(axis)]);
  const std::vector<T> values = x.as<T>();
  std::vector<T> out;
  for (int64_t i = 0; i < lk::count_of(to); i++) {
    int64_t rest = i, position = 0;
    for (size_t k = to.size(); k-- > 0;) {
      position += rest % to[k] * strides[static_cast<size_t>(perm[k])];
      rest /= to[k];
    }
    out.push_back(values[static_cast<size_t>(position)]);
  }
  return tensor<T>(to, out, x.desc.dtype);
}

template <typename T>
OpTester transpose(const Value &x, const Dims &perm, lk_layout layout = LK_LAYOUT_PLAIN) {
  OpTester tester("Transpose", 13);
  tester.attr_ints("perm", perm)
      .input(x, layout)
      .expect(transposed<T>(x, perm))
      .within(lk::EXACTLY);
  return tester;
}

TEST(Transpose, AllOrdersOfFourDimensions) {
  Dims perm = {0, 1, 2, 3};
  const Value x = iota<float>({2, 3, 4, 5});
  do {
    transpose<float>(x, perm).expect_reorders(0).run();
  } while (std::next_permutation(perm.begin(), perm.end()));
}

TEST(Transpose, AllOrdersFromAndToEachLayout) {
  Dims perm = {0, 1, 2, 3};
  const Value x = iota<int32_t>({3, 2, 5, 4});
  do {
    for (lk_layout from : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
      for (lk_layout to : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
        transpose<int32_t>(x, perm, from).wish(to).expect_layout(to).expect_reorders(0).run();
      }
    }
  } while (std::next_permutation(perm.begin(), perm.end()));
}

TEST(Transpose, EveryElementSizeAndManyDimensions) {
  transpose<uint8_t>(iota<uint8_t>({7, 33}), {1, 0}).run();
  transpose<int16_t>(iota<int16_t>({40, 3, 50}), {2, 1, 0}).run();
  transpose<float>(iota<float>({100, 70}), {1, 0}).run();
  transpose<double>(iota<double>({17, 5, 19}), {1, 2, 0}).run();
  transpose<float>(iota<float>({1, 40, 3, 8, 15}), {2, 0, 3, 1, 4}).run();
  transpose<float>(iota<float>({2, 3, 2, 3, 2, 1, 3, 2}), {7, 5, 3, 1, 0, 2, 4, 6}).run();
}

TEST(Transpose, ReversesWithoutPerm) {
  const Value x = iota<float>({2, 3, 4});
  OpTester("Transpose", 7).input(x).expect(transposed<float>(x, {2, 1, 0})).run();
  OpTester("Transpose", 7).input(iota<float>({})).expect(iota<float>({})).run();
}

TEST(Transpose, OfNothingIsNothing) {
  OpTester("Transpose", 13)
      .attr_ints("perm", {1, 0})
      .input(iota<float>({0, 4}))
      .expect(iota<float>({4, 0}))
      .run();
}

TEST(Transpose, IsAViewWhenOnlyOnesMove) {
  transpose<float>(iota<float>({1, 3, 1, 5}), {1, 0, 3, 2}).expect_alias(0).run();
  transpose<float>(iota<float>({4, 5}), {0, 1}).expect_alias(0).run();
}

TEST(Transpose, OfChannelsLastDataToNhwcIsAView) {
  transpose<float>(iota<float>({2, 3, 4, 5}), {0, 2, 3, 1}, LK_LAYOUT_CHANNELS_LAST)
      .expect_alias(0)
      .expect_layout(LK_LAYOUT_PLAIN)
      .expect_reorders(0)
      .run();
}

TEST(Transpose, OfNhwcDataIsAViewInChannelsLast) {
  transpose<float>(iota<float>({2, 4, 5, 3}), {0, 3, 1, 2})
      .expect_alias(0)
      .expect_layout(LK_LAYOUT_CHANNELS_LAST)
      .run();
}

TEST(Transpose, RefusesABadPerm) {
  const Value x = iota<float>({2, 3});
  const auto refuse = [&](const Dims &perm, const char *part) {
    OpTester("Transpose", 13)
        .attr_ints("perm", perm)
        .input(x)
        .expect_bind(LK_INVALID_ARGUMENT, part);
  };
  refuse({0}, "perm has 1 values");
  refuse({0, 0}, "once");
  refuse({0, 2}, "perm has 2");
  refuse({-1, 0}, "perm has -1");
}

} // namespace
