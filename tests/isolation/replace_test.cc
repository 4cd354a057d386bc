// Nodes with equal names and shapes that compute different things: constants replaced between runs,
// graphs within graphs, attributes. Each gives its own result.
#include <thread>

#include "tests/isolation/node_model.h"

namespace {

using lk::api;
using lk::Context;
using lk::Model;
using lk::Op;
using lk::Plan;

class Replace : public ::testing::TestWithParam<uint32_t> {
protected:
  Context context = lk::open(GetParam());
};
LK_IN_BOTH_MODES(Replace);

TEST_P(Replace, ConstantsUnderANewGeneration) {
  Model model(context, 0);
  for (unsigned i = 1; i < 20; i++) {
    for (int64_t rows : {3, 5, 3}) model.check(rows);
    model.replace(i, i);
  }
}

// The host has forgotten to raise the generation: it still does not get another node's constants.
TEST_P(Replace, ConstantsUnderTheSameGeneration) {
  Model model(context, 0);
  for (unsigned i = 1; i < 20; i++) {
    for (int64_t rows : {3, 5, 3}) model.check(rows);
    model.replace(i % 3);
  }
}

// A host that passes op_bind the plan of its last call passes one of a node that is gone.
TEST_P(Replace, ConstantsBehindThePlanOfTheLastCall) {
  const lk::Executor executor = lk::executor_in(context);
  Plan plan;
  for (unsigned i = 0; i < 12; i++) {
    for (const uint64_t generation : {uint64_t(0), uint64_t(i)}) {
      const lk::Value w = lk::random({4, 4}, i + 100 * unsigned(generation));
      Op op;
      Model::create(executor, w, generation, "", &op);
      for (int again = 0; again < 2; again++) {
        ::testing::AssertionResult result = ::testing::AssertionSuccess();
        ASSERT_EQ(Model::run(executor, op, w, 3, &plan, &result), LK_OK);
        EXPECT_TRUE(result);
      }
    }
  }
}

// Other threads have the old node in their tables and ask for the new one immediately.
TEST_P(Replace, ConstantsThatOtherThreadsHaveUsed) {
  Model model(context, 0);
  for (unsigned i = 1; i < 10; i++) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; t++) {
      threads.emplace_back([&] {
        for (int64_t rows : {3, 5, 3}) model.check(rows);
      });
    }
    for (std::thread &thread : threads) thread.join();
    model.check(3);
    model.replace(i, i / 2);
  }
}

// `If` with equal names in both branches, and the main graph with them too.
TEST_P(Replace, GraphsWithinAGraph) {
  const lk::Executor executor = lk::executor_in(context);
  const char *const scopes[] = {"", "then_branch", "else_branch", "then_branch/then_branch"};
  std::vector<lk::Value> weights;
  std::vector<Op> ops(4);
  for (unsigned i = 0; i < 4; i++) {
    weights.push_back(lk::random({4, 4}, i));
    Model::create(executor, weights[i], 0, scopes[i], &ops[i]);
  }
  const auto all = [&](int64_t rows) {
    for (unsigned i : {0, 1, 2, 3, 2, 0, 3, 1}) {
      Plan plan;
      ::testing::AssertionResult result = ::testing::AssertionSuccess();
      EXPECT_EQ(Model::run(executor, ops[i], weights[i], rows, &plan, &result), LK_OK);
      EXPECT_TRUE(result) << scopes[i];
    }
  };
  all(3);
  std::thread([&] { all(3); }).join();
  all(3);
  all(5);
}

// Equal name, shape and size of everything; other attributes. The value keys must differ too.
TEST_P(Replace, AttributesOfNodesOfEqualName) {
  const float slopes[] = {0.1F, 0.2F, 0.3F, 0.4F};
  const lk::Executor executors[] = {lk::executor_in(context), lk::executor_in(context)};
  const lk::Value x = lk::random({3, 4}, 7);
  const std::vector<float> values = x.as<float>();
  std::vector<Op> ops(8);
  for (size_t i = 0; i < ops.size(); i++) {
    lk::TestNode node;
    node.op = "HardSigmoid"; // clip(alpha * x + 1/2, 0, 1)
    node.floats = {{"alpha", {slopes[i % 4]}}};
    LK_ASSERT_OK(node.create(executors[i / 4], &ops[i], LK_ERR));
  }
  for (int round = 0; round < 2; round++) {
    for (size_t i = 0; i < ops.size(); i++) {
      Plan plan;
      std::vector<float> y(values.size());
      const lk::Memory from = x.in(LK_LAYOUT_PLAIN);
      LK_ASSERT_OK(lk::bind(ops[i], {x.desc}, &plan, LK_ERR));
      LK_ASSERT_OK(lk::run(executors[i / 4], plan, {from.data()}, y.data(), LK_ERR));
      for (size_t k = 0; k < y.size(); k++) {
        EXPECT_NEAR(y[k], std::min(1.0F, std::max(0.0F, slopes[i % 4] * values[k] + 0.5F)), 1e-6);
      }
    }
  }
}

} // namespace
