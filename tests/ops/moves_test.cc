// What random nodes (tests/rows) do not show of operators that move elements: refusals, all types
// of reductions, updates in place, updates that meet, with threads.
#include "tests/ops/numbers.h"
#include "tests/ops/reference.h"

namespace {

using lk::Dims;
using lk::floats;
using lk::ints;
using lk::iota;
using lk::numbers;
using lk::OpTester;
using lk::tensor;
using lk::Value;

OpTester elements(const std::string &op, const Value &data, const Value &indices) {
  OpTester tester(op, 18);
  tester.input(data).input(indices);
  if (op != "GatherElements" && op != "GatherND") tester.input(floats({2}, {7, 8}));
  return tester;
}

TEST(Indices, OutOfRangeAreNamed) {
  const Value x = iota<float>({3}), pairs = tensor<int64_t>({2, 1}, {0, 3});
  for (const char *op : {"GatherElements", "ScatterElements"}) {
    elements(op, x, ints({0, 3}))
        .expect_run(LK_OUT_OF_RANGE, "index is 3, it must be -3 to 2 along axis 0");
    elements(op, x, ints({-4, 0})).expect_run(LK_OUT_OF_RANGE, "index is -4");
    elements(op, x, ints({INT64_MIN, 0})).expect_run(LK_OUT_OF_RANGE, "index is -9");
    elements(op, x, ints({INT64_MAX, 0})).expect_run(LK_OUT_OF_RANGE, "index is 9");
  }
  for (const char *op : {"GatherND", "ScatterND"}) {
    elements(op, x, pairs)
        .expect_run(LK_OUT_OF_RANGE, "index is 3, it must be -3 to 2 along axis 0");
  }
  OpTester("GatherND", 13)
      .attr("batch_dims", 1)
      .input(iota<float>({2, 3, 4}))
      .input(tensor<int64_t>({2, 2}, {0, 0, 1, 4}))
      .expect_run(LK_OUT_OF_RANGE, "index is 4, it must be -4 to 3 along axis 2 of size 4");
}

TEST(Gather, OfBlocksNamesTheLeastOne) {
  const auto gather = [](int64_t block) {
    OpTester tester("GatherBlockQuantized", 1);
    tester.domain("com.microsoft").attr("block_size", block);
    tester.input(iota<uint8_t>({4, 16})).input(ints({0})).input(iota<float>({4, 1}));
    return tester;
  };
  for (const int64_t block : {8, 24}) {
    gather(block).expect_create(LK_INVALID_ARGUMENT, "must be a power of 2 and at least 16");
  }
}

TEST(Indices, OfSequencesAreNamed) {
  const auto reversed = [](const Value &lengths) {
    return OpTester("ReverseSequence", 10).input(iota<float>({3, 2})).input(lengths);
  };
  reversed(ints({1, 4})).expect_run(LK_OUT_OF_RANGE, "length is 4, it must be 0 to 3");
  reversed(ints({-1, 0})).expect_run(LK_OUT_OF_RANGE, "length is -1");
  const auto written = [](const Value &places) {
    return OpTester("TensorScatter", 24)
        .input(iota<float>({2, 3, 1}))
        .input(iota<float>({2, 2, 1}))
        .input(places);
  };
  written(ints({0, 2})).expect_run(LK_OUT_OF_RANGE, "index is 2, it must be 0 to 1");
  written(ints({-1, 0})).expect_run(LK_OUT_OF_RANGE, "index is -1");
  written(ints({0, INT64_MAX})).expect_run(LK_OUT_OF_RANGE, "index is 9223372036854775807");
}

TEST(Scatter, NamesUpdatesThatDoNotFitTheCache) {
  const auto scatter = [](int64_t axis, const Dims &update) {
    OpTester tester("TensorScatter", 24);
    tester.attr("axis", axis).input(iota<float>({2, 3, 1})).input(iota<float>(update));
    return tester;
  };
  scatter(1, {2, 4, 1}).expect_bind(LK_INVALID_ARGUMENT, "along axis 1 of 3: the update has 4");
  scatter(0, {1, 3, 1}).expect_bind(LK_INVALID_ARGUMENT, "axis must not be 0");
}

TEST(Scatter, WritesIntoTheCacheItself) {
  for (const int over : {-1, 0}) {
    OpTester("TensorScatter", 24)
        .attr("axis", 1)
        .input(tensor<float>({2, 3, 1}, {1, 2, 3, 4, 5, 6}))
        .input(tensor<float>({2, 1, 1}, {7, 8}))
        .input(ints({2, 0}))
        .in_place(over)
        .expect(tensor<float>({2, 3, 1}, {1, 2, 7, 8, 5, 6}))
        .run();
  }
}

TEST(Scatter, CombinesEveryType) {
  const struct {
    const char *reduction;
    std::vector<double> expected; // of {1, 5, 3} with 2 and 4 at 0, 1 at 1, and none at 2
  } cases[] = {{"none", {4, 1, 3}},
               {"add", {7, 6, 3}},
               {"mul", {8, 5, 3}},
               {"min", {1, 1, 3}},
               {"max", {4, 5, 3}}};
  for (const uint32_t dtype : {LK_F32, LK_U8, LK_I8, LK_U16, LK_I16, LK_I32, LK_I64, LK_F16, LK_F64,
                               LK_U32, LK_U64, LK_BF16}) {
    for (const auto &c : cases) {
      SCOPED_TRACE(std::to_string(dtype) + c.reduction);
      for (const int over : {-1, 0}) {
        OpTester("ScatterElements", 18)
            .attr_text("reduction", c.reduction)
            .input(numbers(dtype, {3}, {1, 5, 3}))
            .input(ints({0, -3, 1}))
            .input(numbers(dtype, {3}, {2, 4, 1}))
            .in_place(over)
            .expect(numbers(dtype, {3}, c.expected))
            .run();
        OpTester("ScatterND", 18)
            .attr_text("reduction", c.reduction)
            .input(numbers(dtype, {3, 1}, {1, 5, 3}))
            .input(tensor<int64_t>({3, 1}, {0, -3, 1}))
            .input(numbers(dtype, {3, 1}, {2, 4, 1}))
            .in_place(over)
            .expect(numbers(dtype, {3, 1}, c.expected))
            .run();
      }
    }
  }
}

TEST(Scatter, CombinesTruthValues) {
  const auto bits = [](std::vector<uint8_t> values) {
    return tensor<uint8_t>({4}, values, LK_BOOL);
  };
  const std::pair<const char *, std::vector<uint8_t>> cases[] = {
      {"add", {0, 1, 1, 1}}, {"mul", {0, 0, 0, 1}}, {"min", {0, 0, 0, 1}}, {"max", {0, 1, 1, 1}}};
  for (const auto &[reduction, expected] : cases) {
    OpTester("ScatterElements", 18)
        .attr_text("reduction", reduction)
        .input(bits({0, 1, 0, 1}))
        .input(ints({0, 1, 2, 3}))
        .input(bits({0, 0, 1, 1}))
        .expect(bits(expected))
        .run();
  }
}

TEST(Scatter, KeepsNaNOfEitherSide) {
  const float nan = std::nanf("");
  for (const char *reduction : {"min", "max"}) {
    OpTester("ScatterElements", 18)
        .attr_text("reduction", reduction)
        .input(floats({2}, {nan, 1}))
        .input(ints({0, 1}))
        .input(floats({2}, {1, nan}))
        .expect(floats({2}, {nan, nan}))
        .run();
  }
}

TEST(Scatter, RefusesReductionsThatItDoesNotHave) {
  for (const auto &[opset, reduction, status] :
       {std::tuple(13, "add", LK_INVALID_ARGUMENT), std::tuple(16, "mean", LK_UNSUPPORTED)}) {
    OpTester("ScatterND", opset)
        .attr_text("reduction", reduction)
        .input(floats({2}, {1, 2}))
        .input(tensor<int64_t>({1, 1}, {0}))
        .input(floats({1}, {1}))
        .expect_create(status, "reduction");
  }
}

// Every update of a column hits one element, whichever thread has the column.
TEST(Scatter, AddsWhatMeets) {
  const int64_t columns = 300, rows = 500;
  std::vector<float> expected, zeros(static_cast<size_t>(columns) * 2);
  for (int64_t c = 0; c < columns; c++) expected.insert(expected.end(), {0.0F, float(rows)});
  for (const int64_t axis : {1, 0}) {
    const Dims data = axis == 1 ? Dims{columns, 2} : Dims{2, columns};
    const Dims updates = axis == 1 ? Dims{columns, rows} : Dims{rows, columns};
    const auto count = static_cast<size_t>(columns * rows);
    if (axis == 0) {
      std::fill(expected.begin(), expected.begin() + columns, 0.0F);
      std::fill(expected.begin() + columns, expected.end(), float(rows));
    }
    OpTester("ScatterElements", 16)
        .attr("axis", axis)
        .attr_text("reduction", "add")
        .input(floats(data, zeros))
        .input(tensor<int64_t>(updates, std::vector<int64_t>(count, 1)))
        .input(floats(updates, std::vector<float>(count, 1)))
        .expect(floats(data, expected))
        .run();
  }
}

TEST(Pad, ReflectsSeveralTimes) { // what numpy does, and ONNX Runtime refuses
  OpTester("Pad", 18)
      .attr_text("mode", "reflect")
      .input(iota<float>({3}))
      .input(ints({5, 4}))
      .expect(floats({12}, {1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2}))
      .run();
  OpTester("Pad", 18)
      .attr_text("mode", "reflect")
      .input(floats({1}, {6}))
      .input(ints({1, 2}))
      .expect(floats({4}, {6, 6, 6, 6}))
      .run();
}

TEST(Pad, RefusesToRepeatNothing) {
  for (const char *mode : {"reflect", "edge", "wrap"}) {
    OpTester("Pad", 19)
        .attr_text("mode", mode)
        .input(floats({0}, {}))
        .input(ints({1, 0}))
        .expect_bind(LK_INVALID_ARGUMENT, "at least one is required");
  }
  OpTester("Pad", 19)
      .input(floats({2}, {1, 2}))
      .input(ints({-2, -1}))
      .expect_bind(LK_INVALID_ARGUMENT, "pads -2 and -1");
  OpTester("Pad", 19)
      .input(floats({2}, {1, 2}))
      .input(ints({INT64_MAX, INT64_MAX}))
      .expect_bind(LK_INVALID_ARGUMENT, "pad dimension 0");
}

TEST(Pad, TakesItsConstantAtRunTime) {
  OpTester("Pad", 19)
      .input(tensor<int64_t>({1, 2}, {1, 2}))
      .input(ints({1, 1, 0, 0}))
      .input(tensor<int64_t>({}, {9}))
      .expect(tensor<int64_t>({2, 3}, {9, 9, 9, 9, 1, 2}))
      .run();
}

TEST(TopK, TakesNaNAsTheLargest) {
  const float nan = std::nanf("");
  const Value x = floats({5}, {1, nan, 3, nan, -2});
  OpTester("TopK", 11)
      .input(x)
      .input(ints({3}))
      .expect(floats({3}, {nan, nan, 3}))
      .expect(ints({1, 3, 2}))
      .run();
  OpTester("TopK", 11)
      .attr("largest", 0)
      .input(x)
      .input(ints({4}))
      .expect(floats({4}, {-2, 1, 3, nan}))
      .expect(ints({4, 0, 2, 1}))
      .run();
  OpTester("TopK", 11).input(x).input(ints({1})).expect(floats({1}, {nan})).expect(ints({1})).run();
  for (const auto &[other, smallest] :
       {std::pair{x, std::pair{-2.0F, 4}},
        std::pair{floats({3}, {nan, 5, nan}), std::pair{5.0F, 1}}}) {
    OpTester("TopK", 11)
        .attr("largest", 0)
        .input(other)
        .input(ints({1}))
        .expect(floats({1}, {smallest.first}))
        .expect(ints({smallest.second}))
        .run();
  }
}

TEST(TopK, TakesBothZerosAsEqual) {
  OpTester("TopK", 11)
      .input(floats({4}, {-0.0F, 0, -1, 0}))
      .input(ints({2}))
      .expect(floats({2}, {-0.0F, 0}))
      .expect(ints({0, 1}))
      .run();
}

TEST(TopK, OrdersTheEndsOfIntegers) {
  OpTester("TopK", 11)
      .input(ints({INT64_MIN, INT64_MAX, -1, INT64_MAX - 1}))
      .input(ints({4}))
      .expect(ints({INT64_MAX, INT64_MAX - 1, -1, INT64_MIN}))
      .expect(ints({1, 3, 2, 0}))
      .run();
  OpTester("TopK", 11)
      .input(ints({1, 2}))
      .input(ints({3}))
      .expect_bind(LK_OUT_OF_RANGE, "choose 3 elements along axis 0: 0 to its size, 2");
}

TEST(Range, CountsToTheEndsOfIntegers) {
  const auto number = [](int64_t value) { return ints({value}); };
  OpTester("Range", 11)
      .input(number(INT64_MAX - 1))
      .input(number(INT64_MIN))
      .input(number(INT64_MIN))
      .expect(ints({INT64_MAX - 1, -2}))
      .run();
  OpTester("Range", 11)
      .input(number(0))
      .input(number(1))
      .input(number(0))
      .expect_bind(LK_OUT_OF_RANGE, "must not be 0");
  OpTester("Range", 11)
      .input(number(INT64_MIN))
      .input(number(INT64_MAX))
      .input(number(1))
      .expect_bind(LK_OUT_OF_RANGE, "count from");
}

TEST(Col2Im, HasOneToThreeSpatialDimensions) {
  OpTester("Col2Im", 18)
      .input(iota<float>({1, 1, 1}))
      .input(ints({}))
      .input(ints({}))
      .expect_bind(LK_UNSUPPORTED, "0 spatial dimensions, 1 to 3 are supported");
  OpTester("Col2Im", 18)
      .input(iota<float>({1, 1, 1}))
      .input(ints({1, 1, 1, 1}))
      .input(ints({1, 1, 1, 1}))
      .expect_bind(LK_UNSUPPORTED, "4 spatial dimensions, 1 to 3 are supported");
}

TEST(Col2Im, RefusesSizesThatAreNone) {
  for (const auto &[image, block] :
       {std::pair(ints({-3, 4}), ints({2, 2})), std::pair(ints({4, 4}), ints({0, 2})),
        std::pair(ints({4, 4}), ints({2}))}) {
    OpTester("Col2Im", 18)
        .input(iota<float>({1, 4, 9}))
        .input(image)
        .input(block)
        .expect_bind(LK_INVALID_ARGUMENT, "image_shape and block_shape");
  }
  OpTester("Col2Im", 18)
      .input(iota<float>({1, 4, 8}))
      .input(ints({4, 4}))
      .input(ints({2, 2}))
      .expect_bind(LK_INVALID_ARGUMENT, "1x4x8:f32, it must be batch, channels times");
}

TEST(Split, TakesSizesOrTheirNumber) {
  OpTester("Split", 18)
      .input(iota<float>({4}))
      .expect(iota<float>({4}))
      .expect_create(LK_INVALID_ARGUMENT, "are both missing, one of both is needed");
  OpTester("Split", 18)
      .attr("num_outputs", 2)
      .input(iota<float>({4}))
      .input(ints({2, 2}))
      .expect(floats({2}, {0, 1}))
      .expect(floats({2}, {2, 3}))
      .expect_create(LK_INVALID_ARGUMENT, "are both given, one of both is needed");
}

TEST(Split, IntoUnequalParts) {
  OpTester("Split", 18)
      .attr("num_outputs", 3)
      .input(iota<float>({7}))
      .expect(floats({3}, {0, 1, 2}))
      .expect(floats({3}, {3, 4, 5}))
      .expect(floats({1}, {6}))
      .expect_blocks(3)
      .run();
  OpTester("Split", 13)
      .attr("axis", 1)
      .input(iota<float>({2, 2}))
      .expect(floats({2, 1}, {0, 2}))
      .expect(floats({2, 1}, {1, 3}))
      .expect_blocks(0)
      .run();
  OpTester("Split", 13)
      .input(iota<float>({3}))
      .input(ints({1, 1}))
      .expect_bind(LK_INVALID_ARGUMENT, "split dimension 0 of 3");
  OpTester("Split", 13)
      .input(iota<float>({3}))
      .input(ints({4, -1}))
      .expect(floats({4}, {0, 1, 2, 0}))
      .expect(floats({0}, {}))
      .expect_bind(LK_INVALID_ARGUMENT, "split dimension 0 of 3");
}

// Nothing is copied where nothing is repeated, in either layout.
TEST(Tile, OnceIsAView) {
  const Value x = lk::random({2, 3, 4, 5}, 1);
  for (const lk_layout layout : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
    OpTester("Tile", 13)
        .input(x, layout)
        .input(ints({1, 1, 1, 1}))
        .wish(layout)
        .expect(x)
        .expect_alias(0)
        .run();
  }
}

} // namespace
