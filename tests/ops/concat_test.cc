// Concat against a plain loop.
#include "tests/harness/op_tester.h"

namespace {

using lk::Dims;
using lk::iota;
using lk::OpTester;
using lk::tensor;
using lk::Value;

template <typename T> Value joined(const std::vector<Value> &parts, size_t axis) {
  Dims to = parts[0].dims();
  to[axis] = 0;
  for (const Value &part : parts) to[axis] += part.dims()[axis];
  int64_t outer = 1;
  for (size_t i = 0; i < axis; i++) outer *= to[i];
  std::vector<T> out;
  for (int64_t o = 0; o < outer; o++) {
    for (const Value &part : parts) {
      const std::vector<T> values = part.as<T>();
      const size_t run = values.size() / static_cast<size_t>(outer);
      const auto begin = values.begin() + static_cast<long>(static_cast<size_t>(o) * run);
      out.insert(out.end(), begin, begin + static_cast<long>(run));
    }
  }
  return tensor<T>(to, out, parts[0].desc.dtype);
}

template <typename T> OpTester concat(const std::vector<Value> &parts, int64_t axis) {
  OpTester tester("Concat", 13);
  const int64_t rank = static_cast<int64_t>(parts[0].dims().size());
  tester.attr("axis", axis).within(lk::EXACTLY);
  tester.expect(joined<T>(parts, static_cast<size_t>(axis < 0 ? axis + rank : axis)));
  return tester;
}

TEST(Concat, AlongEveryAxis) {
  for (int64_t axis = -4; axis < 4; axis++) {
    Dims a = {2, 3, 4, 5}, b = a, c = a;
    b[static_cast<size_t>((axis + 4) % 4)] = 1;
    c[static_cast<size_t>((axis + 4) % 4)] = 7;
    const std::vector<Value> parts = {lk::random(a, 1), lk::random(b, 2), lk::random(c, 3)};
    OpTester tester = concat<float>(parts, axis);
    for (const Value &part : parts) tester.input(part);
    tester.expect_reorders(0).run();
  }
}

TEST(Concat, EveryTypeAndRank) {
  const std::vector<Value> bytes = {iota<uint8_t>({3, 2}), iota<uint8_t>({3, 5})};
  concat<uint8_t>(bytes, 1).input(bytes[0]).input(bytes[1]).run();
  const std::vector<Value> shapes = {lk::ints({4}), lk::ints({-1, 7})};
  concat<int64_t>(shapes, 0).input(shapes[0]).constant(shapes[1]).run();
  const std::vector<Value> doubles = {iota<double>({2, 3}), iota<double>({1, 3})};
  concat<double>(doubles, 0).input(doubles[0]).input(doubles[1]).run();
  const Dims eight = {2, 1, 3, 2, 1, 2, 2, 2};
  const std::vector<Value> floats = {lk::random(eight, 1), lk::random(eight, 2)};
  concat<float>(floats, 4).input(floats[0]).input(floats[1]).run();
  concat<float>(floats, -1).input(floats[0]).input(floats[1]).run();
}

TEST(Concat, StaysInChannelsLast) {
  const std::vector<Value> parts = {lk::random({2, 3, 4, 5}, 1), lk::random({2, 6, 4, 5}, 2)};
  concat<float>(parts, 1)
      .channels_last(parts[0])
      .channels_last(parts[1])
      .expect_layout(LK_LAYOUT_CHANNELS_LAST)
      .expect_reorders(0)
      .run();
  for (int64_t axis : {0, 2, 3}) {
    const std::vector<Value> same = {parts[0], parts[0]};
    concat<float>(same, axis)
        .channels_last(parts[0])
        .channels_last(parts[0])
        .expect_layout(LK_LAYOUT_CHANNELS_LAST)
        .expect_reorders(0)
        .run();
  }
  const std::vector<Value> bytes = {iota<uint8_t>({2, 3, 2, 2}), iota<uint8_t>({2, 1, 2, 2})};
  concat<uint8_t>(bytes, 1)
      .channels_last(bytes[0])
      .channels_last(bytes[1])
      .expect_layout(LK_LAYOUT_CHANNELS_LAST)
      .expect_reorders(0)
      .run();
}

TEST(Concat, OfBothLayoutsReordersNone) {
  const std::vector<Value> parts = {lk::random({2, 3, 4, 5}, 1), lk::random({2, 6, 4, 5}, 2)};
  concat<float>(parts, 1).channels_last(parts[0]).input(parts[1]).expect_reorders(0).run();
  concat<float>(parts, 1)
      .channels_last(parts[0])
      .input(parts[1])
      .wish(LK_LAYOUT_CHANNELS_LAST)
      .expect_layout(LK_LAYOUT_CHANNELS_LAST)
      .expect_reorders(0)
      .run();
  // A single pixel is the same either way.
  const std::vector<Value> pixels = {lk::random({1, 3, 1, 1}, 1), lk::random({1, 2, 1, 1}, 2)};
  concat<float>(pixels, 1).channels_last(pixels[0]).input(pixels[1]).expect_reorders(0).run();
}

TEST(Concat, OfRowsIsBlocks) {
  const std::vector<Value> parts = {lk::random({1, 2, 3}, 1), lk::random({1, 4, 3}, 2)};
  concat<float>(parts, 1).input(parts[0]).input(parts[1]).expect_blocks(2).run();
  const std::vector<Value> columns = {lk::random({2, 1, 3}, 1), lk::random({2, 2, 3}, 2)};
  concat<float>(columns, 1).input(columns[0]).input(columns[1]).expect_blocks(0).run();
  concat<float>(parts, 1).constant(parts[0]).input(parts[1]).expect_blocks(0).run();
}

TEST(Concat, TakesAConstant) {
  const std::vector<Value> parts = {lk::random({1, 2, 3}, 1), lk::random({1, 1, 3}, 2)};
  concat<float>(parts, 1).constant(parts[0]).input(parts[1]).run();
}

TEST(Concat, LeavesEmptyInputsOut) {
  const std::vector<Value> parts = {lk::random({2, 0}, 1), lk::random({2, 3}, 2),
                                    lk::random({2, 0}, 3)};
  concat<float>(parts, 1).input(parts[0]).input(parts[1]).input(parts[2]).expect_alias(1).run();
  const std::vector<Value> none = {lk::random({0, 2}, 1), lk::random({0, 3}, 2)};
  concat<float>(none, 1).input(none[0]).input(none[1]).run();
}

TEST(Concat, OfOneIsAView) {
  const Value x = lk::random({2, 3}, 1);
  OpTester("Concat", 13).attr("axis", 0).input(x).expect(x).expect_alias(0).run();
}

TEST(Concat, OfSixtyAndOfAHundred) {
  for (size_t n : {size_t{60}, size_t{61}, size_t{100}}) {
    std::vector<Value> parts;
    for (size_t i = 0; i < n; i++) {
      parts.push_back(
          lk::random({2, static_cast<int64_t>(i % 3 + 1), 3}, static_cast<unsigned>(i)));
    }
    OpTester tester = concat<float>(parts, 1);
    for (const Value &part : parts) tester.input(part);
    tester.run();
  }
}

TEST(Concat, NamesWhatIsWrong) {
  const Value x = lk::random({2, 3}, 1);
  OpTester("Concat", 13).input(x).expect_create(LK_INVALID_ARGUMENT, "axis");
  OpTester("Concat", 13).attr("axis", 2).input(x).expect_bind(LK_INVALID_ARGUMENT, "axis 2");
  OpTester("Concat", 13)
      .attr("axis", 0)
      .input(x)
      .input(lk::random({2, 4}, 1))
      .expect_bind(LK_INVALID_ARGUMENT, "input 1: it is 2x4:f32, it must be like 2x3:f32");
  OpTester("Concat", 13)
      .attr("axis", 0)
      .input(x)
      .input(iota<double>({2, 3}))
      .expect_bind(LK_INVALID_ARGUMENT, "f64");
  OpTester("Concat", 13)
      .attr("axis", 0)
      .input(lk::random({}, 1))
      .expect_bind(LK_INVALID_ARGUMENT, "rank 0");
}

} // namespace
