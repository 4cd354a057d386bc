// Slice against the rules of the specification, written as a plain loop.
#include "tests/harness/op_tester.h"

namespace {

using lk::Dims;
using lk::ints;
using lk::iota;
using lk::OpTester;
using lk::tensor;
using lk::Value;

// The positions that are taken. They are Python's range(dim)[start:end:step], but for a start
// before the first element and a negative step: that starts at the first element, where Python
// takes none.
std::vector<int64_t> positions(int64_t dim, int64_t start, int64_t end, int64_t step) {
  const auto from_end = [dim](int64_t bound) { return bound < 0 ? bound + dim : bound; };
  std::vector<int64_t> result;
  for (int64_t i = step > 0 ? 0 : dim - 1; i >= 0 && i<dim; i += step> 0 ? 1 : -1) {
    const int64_t first = step > 0 ? std::max<int64_t>(from_end(start), 0)
                                   : std::clamp<int64_t>(from_end(start), 0, dim - 1);
    const bool inside =
        step > 0 ? i >= first && i < from_end(end) : i <= first && i > from_end(end);
    // By unsigned distance, because -step overflows for the least step.
    const uint64_t distance = static_cast<uint64_t>(step > 0 ? i - first : first - i);
    const uint64_t stride =
        step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
    if (inside && distance % stride == 0) result.push_back(i);
  }
  return result;
}

struct Part {
  int64_t start, end, step;
};

template <typename T> Value sliced(const Value &x, const std::vector<Part> &parts) {
  const Dims from = x.dims();
  const std::vector<T> values = x.as<T>();
  std::vector<std::vector<int64_t>> picked;
  Dims to;
  for (size_t i = 0; i < from.size(); i++) {
    picked.push_back(positions(from[i], parts[i].start, parts[i].end, parts[i].step));
    to.push_back(static_cast<int64_t>(picked.back().size()));
  }
  std::vector<T> out;
  for (int64_t i = 0; i < lk::count_of(to); i++) {
    int64_t rest = i, position = 0, scale = 1;
    for (size_t k = from.size(); k-- > 0;) {
      position += picked[k][static_cast<size_t>(rest % to[k])] * scale;
      rest /= to[k];
      scale *= from[k];
    }
    out.push_back(values[static_cast<size_t>(position)]);
  }
  return tensor<T>(to, out, x.desc.dtype);
}

template <typename T>
OpTester slice(const Value &x, const std::vector<Part> &parts, lk_layout layout = LK_LAYOUT_PLAIN) {
  std::vector<int64_t> starts, ends, axes, steps;
  for (size_t i = 0; i < parts.size(); i++) {
    starts.push_back(parts[i].start);
    ends.push_back(parts[i].end);
    axes.push_back(static_cast<int64_t>(i));
    steps.push_back(parts[i].step);
  }
  OpTester tester("Slice", 13);
  tester.input(x, layout)
      .input(ints(starts))
      .input(ints(ends))
      .input(ints(axes))
      .input(ints(steps));
  tester.expect(sliced<T>(x, parts));
  return tester;
}

TEST(Slice, HoldsBoundsInTheDimension) {
  const int64_t bounds[] = {INT64_MIN, -8, -7, -3, -1, 0, 2, 6, 7, 9, INT64_MAX};
  const int64_t steps[] = {1, 2, 7, INT64_MAX, -1, -3, INT64_MIN};
  const Value x = iota<int32_t>({7});
  for (int64_t step : steps) {
    for (int64_t start : bounds) {
      for (int64_t end : bounds) {
        SCOPED_TRACE(std::to_string(start) + ":" + std::to_string(end) + ":" +
                     std::to_string(step));
        slice<int32_t>(x, {{start, end, step}}).run();
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Slice, MovesEveryElementSizeAndRank) {
  slice<uint8_t>(iota<uint8_t>({5, 6}), {{1, 4, 1}, {5, 0, -2}}).run();
  slice<int16_t>(iota<int16_t>({4, 3, 5}), {{-1, -5, -1}, {0, 3, 1}, {1, 5, 3}}).run();
  slice<double>(iota<double>({3, 2, 2}), {{0, 2, 1}, {1, 2, 1}, {0, 2, 1}}).run();
  slice<float>(
      iota<float>({2, 3, 2, 2, 2, 3, 2, 2}),
      {{0, 2, 1}, {2, -9, -2}, {0, 1, 1}, {1, 2, 1}, {0, 2, 1}, {0, 3, 2}, {1, -9, -1}, {0, 2, 1}})
      .run();
  slice<float>(iota<float>({40, 50, 3}), {{39, -99, -1}, {1, 50, 3}, {0, 2, 1}}).run();
}

TEST(Slice, OfNothingIsNothing) {
  slice<float>(iota<float>({0, 3}), {{0, 5, 1}, {1, 3, 1}}).run();
  slice<float>(iota<float>({0, 3}), {{5, -5, -1}, {0, 3, 1}}).run();
  slice<float>(iota<float>({4, 3}), {{3, 1, 1}, {0, 3, 1}}).run();
}

TEST(Slice, OfTheWholeIsAView) {
  slice<float>(iota<float>({4, 3}), {{0, INT64_MAX, 1}, {-3, 3, 1}}).expect_alias(0).run();
}

TEST(Slice, OfRowsIsABlock) {
  slice<float>(iota<float>({4, 3}), {{1, 3, 1}, {0, 3, 1}}).expect_blocks(1).run();
  slice<float>(iota<float>({1, 4, 3}), {{0, 1, 1}, {-1, 4, 1}, {1, 2, 1}}).expect_blocks(1).run();
  slice<float>(iota<float>({4, 3}), {{1, 3, 1}, {0, 2, 1}}).expect_blocks(0).run();
  slice<float>(iota<float>({4, 3}), {{0, 4, 2}, {0, 3, 1}}).expect_blocks(0).run();
}

TEST(Slice, StaysInChannelsLast) {
  const Value x = iota<float>({2, 5, 4, 3});
  const std::vector<Part> channels = {{0, 2, 1}, {1, 5, 2}, {0, 4, 1}, {0, 3, 1}};
  const std::vector<Part> pixels = {{1, 2, 1}, {0, 5, 1}, {3, -9, -2}, {1, 3, 1}};
  for (const std::vector<Part> &parts : {channels, pixels}) {
    slice<float>(x, parts, LK_LAYOUT_CHANNELS_LAST)
        .expect_layout(LK_LAYOUT_CHANNELS_LAST)
        .expect_reorders(0)
        .run();
    slice<float>(x, parts, LK_LAYOUT_CHANNELS_LAST)
        .wish(LK_LAYOUT_PLAIN)
        .expect_layout(LK_LAYOUT_PLAIN)
        .expect_reorders(0)
        .run();
    slice<float>(x, parts)
        .wish(LK_LAYOUT_CHANNELS_LAST)
        .expect_layout(LK_LAYOUT_CHANNELS_LAST)
        .expect_reorders(0)
        .run();
  }
}

TEST(Slice, TakesAttributesBeforeOpset10) {
  OpTester("Slice", 9)
      .attr_ints("starts", {1, -2})
      .attr_ints("ends", {9, INT64_MAX})
      .attr_ints("axes", {0, -1})
      .input(iota<float>({2, 2, 3}))
      .expect(lk::floats({1, 2, 2}, {7, 8, 10, 11}))
      .run();
  OpTester("Slice", 9)
      .attr_ints("starts", {1})
      .attr_ints("ends", {2})
      .input(iota<float>({3}))
      .expect(lk::floats({1}, {1}))
      .run();
}

TEST(Slice, TakesI32AndLeavesAxesAndStepsOut) {
  OpTester("Slice", 10)
      .input(iota<float>({2, 4}))
      .input(tensor<int32_t>({2}, {0, 1}))
      .input(tensor<int32_t>({2}, {1, 3}))
      .expect(lk::floats({1, 2}, {1, 2}))
      .run();
  OpTester("Slice", 13)
      .input(iota<float>({4}))
      .input(ints({3}))
      .input(ints({0}))
      .absent()
      .input(ints({-1}))
      .expect(lk::floats({3}, {3, 2, 1}))
      .run();
}

TEST(Slice, NamesWhatIsWrong) {
  const Value x = iota<float>({2, 3});
  OpTester("Slice", 13)
      .input(x)
      .input(ints({0}))
      .input(ints({1}))
      .input(ints({2}))
      .expect_bind(LK_INVALID_ARGUMENT, "axis 2");
  OpTester("Slice", 13)
      .input(x)
      .input(ints({0, 0}))
      .input(ints({1, 1}))
      .input(ints({1, -1}))
      .expect_bind(LK_INVALID_ARGUMENT, "once");
  OpTester("Slice", 13)
      .input(x)
      .input(ints({0, 0}))
      .input(ints({1}))
      .expect_bind(LK_INVALID_ARGUMENT, "'starts' and 'ends' have 2 and 1 elements");
  OpTester("Slice", 13)
      .input(x)
      .input(ints({0}))
      .input(ints({1}))
      .input(ints({0}))
      .input(ints({0}))
      .expect_bind(LK_INVALID_ARGUMENT, "the step along axis 0 is 0");
}

} // namespace
