// CausalConvWithState: what of its shapes is refused. What it computes is compared in tests/rows.
#include "tests/harness/op_tester.h"

namespace {

using lk::OpTester;
using lk::random;
using Dims = std::vector<int64_t>;

OpTester of(const Dims &x, const Dims &w) {
  OpTester tester("CausalConvWithState", 27);
  tester.input(random(x, 1)).input(random(w, 2));
  return tester;
}

TEST(CausalConv, NeedsOneFilterOfTapsForEachChannel) {
  const char *says = "[channels][1][taps]";
  for (const Dims &w : std::vector<Dims>{{3, 1, 0}, {2, 1, 4}, {3, 2, 4}, {3, 4}}) {
    of({2, 3, 5}, w).expect_bind(LK_INVALID_ARGUMENT, says);
  }
  of({2, 3}, {3, 1, 4}).expect_bind(LK_INVALID_ARGUMENT, "[batch][channels][length]");
}

TEST(CausalConv, NeedsABiasAndAStateThatFit) {
  for (const Dims &bias : std::vector<Dims>{{4}, {3, 1}}) {
    of({2, 3, 5}, {3, 1, 4})
        .input(random(bias, 3))
        .expect_bind(LK_INVALID_ARGUMENT, "one number for each channel");
  }
  for (const Dims &state : std::vector<Dims>{{2, 3, 4}, {1, 3, 3}, {2, 3}}) {
    of({2, 3, 5}, {3, 1, 4})
        .absent()
        .input(random(state, 3))
        .expect_bind(LK_INVALID_ARGUMENT, "[batch][channels][taps - 1]");
  }
}

} // namespace
