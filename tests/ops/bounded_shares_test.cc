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
