// What a run computes between two looks at what may stop it, over every row of the operator table.
//
// Each row gets random nodes with one dimension that is huge: a long line, a long list of indices,
// a large kernel, many of what a rule draws. The costliest are run, of f32 and of each other type
// that the row takes, and with a chain of post-ops behind it where the row takes such.
#include "tests/ops/bounded.h"

namespace {

using namespace lk::bounded;
using lk::infer::as_type;
using lk::infer::with_post_ops;

// Draws the same node again and again with another huge number, until it is not too large.
bool draw(lk_executor *executor, const lk_op_row &row, unsigned seed,
          const std::function<Node(Node)> &change, Node *out, double *cost) {
  const auto rule = rules().find(row.op_type);
  if (rule == rules().end()) return false;
  constexpr int64_t sizes[] = {12000000, 2000000, 300000, 60000, 12000, 3000, 1200, 500};
  for (const int64_t huge : sizes) {
    const Node node = change(huge_node(row, rule->second, seed, huge));
    const Subject subject(executor, node);
    if (!subject.is_right()) continue;
    *out = node;
    *cost = subject.cost();
    return true;
  }
  return false;
}

class Bounded : public BoundedRun, public ::testing::WithParamInterface<lk_op_row> {
protected:
  // The costliest of many nodes.
  void check_costliest(int tries, int most, const std::function<Node(Node)> &change) {
    std::vector<std::pair<double, Node>> nodes;
    for (int i = 0; i < tries; i++) {
      Node node;
      double cost = 0;
      if (draw(executor, GetParam(), unsigned(i), change, &node, &cost)) {
        nodes.push_back({cost, node});
      }
    }
    std::stable_sort(nodes.begin(), nodes.end(),
                     [](const auto &a, const auto &b) { return a.first > b.first; });
    int n = 0;
    for (const auto &[cost, node] : nodes) {
      if (cost < 1e7 || n++ == most) break;
      check_run(node);
    }
  }
};

TEST_P(Bounded, LooksAgainAndAgain) {
  check_costliest(8, 2, [](const Node &node) { return node; });
  if (std::getenv("LK_TEST_BOUNDED_SHOW") != nullptr) {
    std::printf("  %s: %d long\n", GetParam().op_type, n_long);
  }
}

TEST_P(Bounded, LooksWhateverTheTypeIs) {
  size_t i = std::hash<std::string>()(GetParam().op_type);
  for (const uint32_t dtype : {LK_F64, LK_F16, LK_BF16, LK_I64, LK_I32, LK_U8}) {
    if (!is_tried(i++)) continue;
    check_costliest(4, 1, [dtype](const Node &node) { return as_type(node, dtype); });
  }
}

TEST_P(Bounded, LooksInPostOps) {
  if ((GetParam().flags & LK_OP_POST_OPS) == 0) return;
  check_costliest(8, 1, with_post_ops);
}

INSTANTIATE_TEST_SUITE_P(Rows, Bounded, ::testing::ValuesIn(lk::op_rows()),
                         [](const auto &info) { return row_name(info.param); });

} // namespace
