// Nodes of every row with small operands and numbers that nobody means: huge windows, strides,
// counts and sizes. They are refused, or done before they have computed for long: no few bytes of a
// file take hours.
#include "tests/ops/bounded.h"
#include "tests/ops/infer/hostile.h"

namespace {

using namespace lk::bounded;

constexpr uint64_t MOST_INPUT = 1 << 18, MOST_IN_ALL = 1 << 22;

class HostileBounded : public BoundedRun, public ::testing::WithParamInterface<lk_op_row> {};

TEST_P(HostileBounded, IsRefusedOrSoonDone) {
  const auto rule = rules().find(GetParam().op_type);
  ASSERT_NE(rule, rules().end());
  const std::vector<lk::infer::Dim> symbols = {{5, 5}, {64, 64}, {2, 2}, {1, 1}};
  const int count = int(24 * lk::number_of_variable("LK_TEST_EVERY_ROW_TIMES", 1));
  int n = 0;
  for (int seed = 0; seed < 20 * count && n < count && !HasFailure(); seed++) {
    std::mt19937 random(static_cast<unsigned>(seed));
    const Node node =
        lk::infer::hostile_node(GetParam(), rule->second, random, symbols, 1 + unsigned(seed) % 6);
    if (lk::infer::input_bytes(node) > MOST_INPUT) continue;
    Subject subject(executor, node);
    if (!subject.is_bound() || subject.bytes() > MOST_IN_ALL) continue;
    n++;
    looks.last = 0;
    lk_error error;
    EXPECT_NE(subject.run(&error), LK_CANCELLED)
        << describe(node) << " takes longer than " << looks.all_ns() / 1000000 << " ms";
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, HostileBounded, ::testing::ValuesIn(lk::op_rows()),
                         [](const auto &info) { return row_name(info.param); });

} // namespace
