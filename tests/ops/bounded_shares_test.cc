// What a run computes between two looks at what may stop it, of nodes with one share of work that
// is huge.
#include "tests/ops/bounded.h"
#include "tests/ops/infer/huge_shares.h"

namespace {

using namespace lk::bounded;

class BoundedShare : public BoundedRun, public ::testing::WithParamInterface<Node> {};

TEST_P(BoundedShare, LooksAgainAndAgain) {
  EXPECT_TRUE(check_run(GetParam())) << describe(GetParam()) << ": " << last_error;
}

class BoundedStop : public BoundedRun {};

// Sums of the rows of bytes whose right side has a zero point: wherever it is told to stop, it does
// so, and writes nothing beyond what it has.
TEST_F(BoundedStop, EndsAtAnyLookOfALongRowOfBytes) {
  lk::infer::Builder builder("MatMulInteger", 10);
  builder.tensor({1, 3000000}, LK_U8).tensor({3000000, 1}, LK_U8).absent();
  const Node node = builder.values<uint8_t>({9}, LK_U8).node;
  lk_error error = {};
  looks.last = 0;
  Subject subject(executor, node);
  ASSERT_EQ(subject.run(&error), LK_OK) << error.message;
  const int count = looks.count;
  EXPECT_GT(count, 8);
  for (int look = 1; look <= count; look += 1 + look / 40) {
    looks.last = look;
    EXPECT_EQ(subject.run(&error), LK_CANCELLED) << look << " of " << count;
  }
}

std::vector<Node> tried() {
  std::vector<Node> nodes;
  const std::vector<Node> all = lk::infer::huge_shares();
  for (size_t i = 0; i < all.size(); i++) {
    if (is_tried(i)) nodes.push_back(all[i]);
  }
  return nodes;
}

INSTANTIATE_TEST_SUITE_P(Nodes, BoundedShare, ::testing::ValuesIn(tried()), [](const auto &info) {
  return info.param.op + std::to_string(info.index);
});

} // namespace
