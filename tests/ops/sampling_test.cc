// Operators that take elements between others: places that are no numbers or far away, and inputs
// that do not fit. tests/rows compares them with other implementations.
#include <cmath>

#include "tests/harness/op_tester.h"

namespace {

using lk::floats;
using lk::ints;
using lk::iota;
using lk::OpTester;

constexpr float NaN = NAN, Far = 1e30F, Infinite = INFINITY;

// Outside in each mode: zeros, the border, or a mirror image, but never another memory.
TEST(GridSample, TakesPlacesThatAreNoNumbers) {
  for (const char *mode : {"linear", "nearest", "cubic"}) {
    for (const float at : {NaN, Infinite, -Infinite, Far, -Far}) {
      OpTester("GridSample", 20)
          .attr_text("mode", mode)
          .input(floats({1, 1, 2, 2}, {7, 7, 7, 7}))
          .input(floats({1, 1, 2, 2}, {at, at, 0, at}))
          .expect(floats({1, 1, 1, 2}, {0, 0}))
          .run();
      for (const char *padding : {"border", "reflection"}) {
        OpTester("GridSample", 20)
            .attr_text("mode", mode)
            .attr_text("padding_mode", padding)
            .input(floats({1, 1, 2, 2}, {7, 7, 7, 7}))
            .input(floats({1, 1, 2, 2}, {at, at, 0, at}))
            .expect(floats({1, 1, 1, 2}, {7, 7}))
            .run();
      }
    }
  }
}

TEST(GridSample, ReflectsWithinASingleElement) {
  OpTester("GridSample", 20)
      .attr("align_corners", 1)
      .attr_text("padding_mode", "reflection")
      .input(floats({1, 1, 1, 1}, {5}))
      .input(floats({1, 1, 1, 2}, {3, -9}))
      .expect(floats({1, 1, 1, 1}, {5}))
      .run();
}

TEST(GridSample, RefusesWhatDoesNotFit) {
  OpTester("GridSample", 20)
      .input(iota<float>({1, 1, 2, 2}))
      .input(iota<float>({1, 1, 2, 3}))
      .expect_bind(LK_INVALID_ARGUMENT, "the grid");
  OpTester("GridSample", 20)
      .input(iota<float>({2, 2}))
      .input(iota<float>({2, 2}))
      .expect_bind(LK_INVALID_ARGUMENT, "of rank 3, 4 or 5");
  OpTester("GridSample", 16)
      .attr_text("mode", "linear")
      .input(iota<float>({1, 1, 2, 2}))
      .input(iota<float>({1, 1, 2, 2}))
      .expect_create(LK_UNSUPPORTED, "linear");
}

TEST(RoiAlign, RefusesRegionsThatAreNone) {
  const auto align = [](const std::vector<float> &region, int64_t batch) {
    return OpTester("RoiAlign", 16)
        .input(iota<float>({2, 1, 3, 3}))
        .input(floats({1, 4}, region))
        .input(ints({batch}));
  };
  for (const int64_t batch : {int64_t(-1), int64_t(2), INT64_MAX}) {
    align({0, 0, 1, 1}, batch).expect_run(LK_OUT_OF_RANGE, "must be 0 or more and less than 2");
  }
  for (const float end : {NaN, Infinite, Far}) {
    align({0, 0, end, 1}, 1).expect_run(LK_OUT_OF_RANGE, "must be finite, with at most");
  }
  // far away, all samples are zeros
  align({1e6F, 1e6F, 1e6F + 1, 1e6F + 1}, 0).expect(floats({1, 1, 1, 1}, {0})).run();
}

TEST(RoiAlign, RefusesSizesThatAreNone) {
  const std::pair<const char *, const char *> cases[] = {
      {"output_height", "it is -1 x 1, both must be at least 1"},
      {"output_width", "it is 1 x -1, both must be at least 1"},
      {"sampling_ratio", "it is -1, 0 to 65536 are allowed"},
  };
  for (const auto &[name, says] : cases) {
    OpTester("RoiAlign", 16)
        .attr(name, -1)
        .input(iota<float>({2, 1, 3, 3}))
        .input(floats({1, 4}, {0, 0, 1, 1}))
        .input(ints({0}))
        .expect_create(LK_INVALID_ARGUMENT, says);
  }
}

TEST(MaxRoiPool, RefusesRegionsThatAreNone) {
  const auto pool = [](const std::vector<float> &region) {
    return OpTester("MaxRoiPool", 7)
        .attr_ints("pooled_shape", {1, 1})
        .input(iota<float>({2, 1, 3, 3}))
        .input(floats({1, 5}, region));
  };
  for (const float batch : {-1.0F, 2.0F, NaN, Far}) {
    pool({batch, 0, 0, 1, 1}).expect_run(LK_OUT_OF_RANGE, "must be 0 or more and less than 2");
  }
  for (const float corner : {NaN, -Infinite, Far}) {
    pool({0, 0, corner, 1, 1}).expect_run(LK_OUT_OF_RANGE, "must be within 2^31");
  }
  pool({1, 9, 9, 12, 12}).expect(floats({1, 1, 1, 1}, {0})).run();
}

TEST(AffineGrid, RefusesSizesThatDoNotFit) {
  const auto grid = [](const std::vector<int64_t> &size) {
    return OpTester("AffineGrid", 20).input(iota<float>({1, 2, 3})).input(ints(size));
  };
  grid({1, 1, 2}).expect_bind(LK_INVALID_ARGUMENT, "the maps");
  grid({1, 1, 2, -2}).expect_bind(LK_INVALID_ARGUMENT, "0 or more each");
  grid({2, 1, 2, 2}).expect_bind(LK_INVALID_ARGUMENT, "as many as the size has batches");
  grid({1, 1, INT64_MAX, INT64_MAX}).expect_bind(LK_OUT_OF_RANGE, "the grid");
}

TEST(DeformConv, TakesOffsetsThatAreNoNumbers) {
  for (const float at : {NaN, Infinite, -Infinite, Far, -Far}) {
    OpTester("DeformConv", 19)
        .input(iota<float>({1, 1, 2, 2}))
        .input(floats({1, 1, 1, 1}, {2}))
        .input(floats({1, 2, 2, 2}, {at, 0, 0, 0, 0, 0, at, 0}))
        .input(floats({1}, {1}))
        .expect(floats({1, 1, 2, 2}, {1, 3, 1, 7}))
        .run();
  }
}

// Whether an element lies outside of the image, at its edge or within it.
TEST(DeformConv, MultipliesByAnyMask) {
  for (const float at : {-Far, -2.0F, -1.0F, 0.0F, 1.0F, 2.0F, Far}) {
    const float there = at == 0 ? 1 : at == 1 ? 3 : 0; // column 0 of its line
    for (const float mask : {NaN, Infinite, -Infinite, 0.5F}) {
      OpTester("DeformConv", 19)
          .input(floats({1, 1, 2, 2}, {1, 2, 3, 4}))
          .input(floats({1, 1, 1, 1}, {1}))
          .input(floats({1, 2, 2, 2}, {at, 0, 0, 0, 0, 0, 0, 0}))
          .input(floats({1}, {0}))
          .input(floats({1, 1, 2, 2}, {mask, 1, 1, 1}))
          .expect(floats({1, 1, 2, 2}, {mask * there, 2, 3, 4}))
          .run();
    }
  }
}

TEST(DeformConv, RefusesWhatDoesNotFit) {
  const auto conv = [](const char *group, int64_t count, int64_t offsets) {
    return OpTester("DeformConv", 19)
        .attr(group, count)
        .input(iota<float>({1, 3, 4, 4}))
        .input(iota<float>({2, 3, 2, 2}))
        .input(iota<float>({1, offsets, 3, 3}));
  };
  conv("group", 0, 8).expect_create(LK_OUT_OF_RANGE, "must be 1 to");
  conv("group", 2, 8).expect_bind(LK_INVALID_ARGUMENT, "groups must divide");
  conv("offset_group", 2, 16).expect_bind(LK_INVALID_ARGUMENT, "groups must divide");
  conv("offset_group", 1, 9).expect_bind(LK_INVALID_ARGUMENT, "offsets");
}

} // namespace
