// What a node is expected to take: the sum over its works, as long as it is known of each.
#include "tests/harness/lk_test.h"

// The header is of C. No member that is atomic is touched here.
#define _Atomic
#define _Static_assert static_assert
extern "C" {
#include "ops/plan/planner.h"
}

namespace {

struct Work {
  double ns;
  bool is_measured;
};

lk_plan_expected expect(std::initializer_list<Work> works) {
  lk_planner planner = {};
  EXPECT_FALSE(planner.draft.is_expected);
  for (const Work &work : works) lk_planner_expect(&planner, work.ns, work.is_measured);
  EXPECT_TRUE(planner.draft.is_expected);
  return planner.arrays.expected;
}

TEST(Expected, IsTheSumOfAllWorks) {
  EXPECT_EQ(expect({{3, false}}).ns, 3);
  EXPECT_EQ(expect({{3, true}, {4, true}, {5, true}}).ns, 12);
}

TEST(Expected, IsNothingWhereAWorkIsNotKnown) {
  EXPECT_EQ(expect({{0, false}}).ns, 0);
  EXPECT_EQ(expect({{0, false}, {4, true}}).ns, 0);
  EXPECT_EQ(expect({{4, true}, {0, false}}).ns, 0);
  EXPECT_EQ(expect({{4, true}, {0, false}, {5, true}}).ns, 0);
}

TEST(Expected, IsMeasuredWhereEachWorkIs) {
  EXPECT_EQ(expect({{3, true}}).is_measured, 1u);
  EXPECT_EQ(expect({{3, true}, {4, true}}).is_measured, 1u);
  EXPECT_EQ(expect({{3, false}, {4, true}}).is_measured, 0u);
  EXPECT_EQ(expect({{3, true}, {4, false}}).is_measured, 0u);
}

} // namespace
