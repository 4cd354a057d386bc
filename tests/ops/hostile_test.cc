// Nodes of every row with numbers that nobody means: dimensions, attributes and values of shape
// inputs at the ends of what fits, and about the roots of it. They are refused, or a plan is right
// about them; UndefinedBehaviorSanitizer tells of sums and products that overflow on the way.
#include "tests/ops/infer/hostile.h"

extern "C" {
#include "base/tensor.h"
}

namespace {

using lk::api;
using lk::infer::Described;
using lk::infer::Dim;
using lk::infer::hostile_node;
using lk::infer::inputs_of;
using lk::infer::Node;
using lk::infer::open_table;
using lk::infer::rules;
using lk::infer::Table;

// A plan for the node has outputs that exist.
void bind(lk_executor *executor, const Node &node) {
  const Described described(node);
  const std::vector<lk_tensor> inputs = inputs_of(node);
  lk::Op op;
  if (api()->op_create(executor, &described.desc, op.out(), nullptr) != LK_OK) return;
  lk_bind_desc desc = host_bind(inputs.data(), uint32_t(inputs.size()));
  desc.n_outputs = node.n_outputs;
  lk::Plan plan;
  lk_error error;
  if (lk::bind(op, desc, &plan, &error) != LK_OK) return;
  for (uint32_t i = 0; i < node.n_outputs; i++) {
    lk_tensor_desc output;
    LK_ASSERT_OK(api()->plan_output(plan, i, &output, LK_ERR));
    if (host_plan_info(plan).known_when_run == 0) {
      LK_EXPECT_OK(lk_tensor_size(&output, "an output", nullptr, nullptr, LK_ERR));
    }
  }
}

TEST(Hostile, NumbersAreRefusedOrHold) {
  const lk::Context context = lk::open(LK_CACHE_OFF, 1);
  const lk::Executor executor = lk::executor_in(context);
  const int rounds = lk::repeats(100);
  for (int seed = 0; seed < rounds; seed++) {
    std::mt19937 random(static_cast<unsigned>(seed));
    const Table table = open_table();
    std::vector<Dim> symbols;
    for (int i = 0; i < 4; i++) {
      symbols.push_back({api()->dims_open(table), int64_t(random() % 9)});
    }
    for (uint32_t row = 0; api()->op_row(row) != nullptr; row++) {
      const auto rule = rules().find(api()->op_row(row)->op_type);
      ASSERT_NE(rule, rules().end());
      for (unsigned i = 0; i < 12; i++) {
        const Node node =
            hostile_node(*api()->op_row(row), rule->second, random, symbols, 1 + i % 6);
        SCOPED_TRACE(node.op + ", seed " + std::to_string(seed) + ", node " + std::to_string(i));
        std::vector<lk_tensor_desc> outputs(node.n_outputs);
        int64_t values[LK_MAX_VALUES];
        for (const bool hide : {false, true}) {
          const Described described(node);
          (void)api()->op_infer_values(table, &described.desc, inputs_of(node, true, hide).data(),
                                       nullptr, outputs.data(), nullptr, values, nullptr);
        }
        bind(executor, node);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

// Elements of a list whose length is not known, counted from its end.
TEST(Hostile, IndicesOfListsThatAreNotKnown) {
  const Table table = open_table();
  int64_t least = INT64_MIN, most = INT64_MAX;
  lk_tensor list = {lk::desc_of(LK_I64, {api()->dims_open(table)}), nullptr};
  const lk_tensor low = {lk::desc_of(LK_I64, {1}), &least},
                  high = {lk::desc_of(LK_I64, {1}), &most};
  for (const int64_t dim : {list.desc.dims[0], int64_t{LK_DIM_UNKNOWN}, int64_t{4}}) {
    list.desc.dims[0] = dim;
    for (const lk_tensor &index : {low, high}) {
      for (const char *op : {"Gather", "Slice"}) {
        const lk_tensor inputs[] = {list, index, index};
        const lk_node_input flags[3] = {};
        const lk_node_desc desc = host_node(op, flags, op[0] == 'G' ? 2 : 3);
        lk_tensor_desc output;
        int64_t values[LK_MAX_VALUES];
        LK_EXPECT_OK(api()->op_infer_values(table, &desc, inputs, nullptr, &output, nullptr, values,
                                            LK_ERR));
        EXPECT_LT(values[0], 0);
      }
    }
  }
}

} // namespace
