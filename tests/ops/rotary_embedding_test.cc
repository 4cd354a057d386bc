// Positions of rows as angles, by hand. tests/rows compares them with other implementations.
#include "tests/harness/op_tester.h"

namespace {

using lk::floats;
using lk::ints;
using lk::OpTester;

// A row of eight elements, turned by 90 degrees.
OpTester turned(const lk::Dims &angles) {
  const auto count = size_t(lk::count_of(angles));
  OpTester test("RotaryEmbedding", 1);
  test.domain("com.microsoft").input(floats({1, 1, 8}, {1, 2, 3, 4, 5, 6, 7, 8})).input(ints({0}));
  test.input(floats(angles, std::vector<float>(count, 0)));
  return test.input(floats(angles, std::vector<float>(count, 1)));
}

// A head has twice as many elements as a position has angles.
TEST(RotaryEmbedding, FindsItsHeadsByTheAnglesWhereNobodySaysThem) {
  turned({1, 1}).expect(floats({1, 1, 8}, {-2, 1, -4, 3, -6, 5, -8, 7})).run();
  turned({1, 2}).expect(floats({1, 1, 8}, {-3, -4, 1, 2, -7, -8, 5, 6})).run();
  turned({1, 4}).expect(floats({1, 1, 8}, {-5, -6, -7, -8, 1, 2, 3, 4})).run();
}

TEST(RotaryEmbedding, RefusesAnglesThatFitNoHead) {
  turned({1, 3}).expect_bind(LK_INVALID_ARGUMENT, "angles of a position");
  turned({1, 5}).expect_bind(LK_INVALID_ARGUMENT, "a whole number of heads");
}

TEST(RotaryEmbedding, RefusesAPositionOfAnglesThatAreNone) {
  turned({0, 4}).expect_run(LK_OUT_OF_RANGE, "position 0 of batch 0, row 0: cos and sin have 0");
}

} // namespace
