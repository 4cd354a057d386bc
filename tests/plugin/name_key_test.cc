// Whom a plan belongs to: nodes of equal name that differ in anything, executors of equal names and
// equal addresses, and the mistakes that others made with such keys.
#include <atomic>
#include <set>
#include <thread>

#include "tests/harness/recycler.h"
#include "tests/isolation/node_model.h"
#include "tests/plugin/handles.h"

namespace {

using lk::api;
using lk::Context;
using lk::desc_of;
using lk::Executor;
using lk::Model;
using lk::Op;
using lk::Plan;
using lk::TestNode;
using lk::Value;

TestNode node(const char *op) {
  TestNode result;
  result.op = op;
  return result;
}

// All nodes are bound to the same shape in one executor, under one name: each gets a plan of its
// own, and gets it again.
void expect_apart(const std::vector<TestNode> &nodes, const std::vector<lk_tensor_desc> &shapes) {
  const Context context = lk::open();
  const Executor executor = lk::executor_in(context);
  std::vector<Op> ops;
  std::vector<Plan> plans;
  std::set<lk_plan *> different;
  for (const TestNode &one : nodes) {
    ops.emplace_back();
    plans.emplace_back();
    LK_ASSERT_OK(one.create(executor, &ops.back(), LK_ERR));
    LK_ASSERT_OK(lk::bind(ops.back(), shapes, &plans.back(), LK_ERR));
    different.insert(plans.back().get());
  }
  EXPECT_EQ(different.size(), nodes.size());
  EXPECT_EQ(lk::stats(context).kind[LK_KIND_NAME].misses, nodes.size());
  for (size_t i = 0; i < nodes.size(); i++) {
    Plan again;
    LK_ASSERT_OK(lk::bind(ops[i], shapes, &again, LK_ERR));
    EXPECT_EQ(again.get(), plans[i].get()) << i;
  }
  EXPECT_EQ(lk::stats(context).kind[LK_KIND_NAME].hits, nodes.size());
}

TEST(NameKey, KeepsNodesOfEqualNameApart) {
  std::vector<TestNode> nodes;
  nodes.push_back(node("Softmax"));
  for (int64_t axis : {0, 1, -1}) {
    nodes.push_back(node("Softmax"));
    nodes.back().ints = {{"axis", {axis}}};
  }
  nodes.push_back(node("Softmax"));
  nodes.back().opset = 11;
  nodes.push_back(node("Softmax"));
  nodes.back().scope = "then_branch";
  nodes.push_back(node("Softmax"));
  nodes.back().scope = "else_branch";
  nodes.push_back(node("Softmax"));
  nodes.back().generation = 1;
  nodes.push_back(node("Softmax"));
  nodes.back().position = 1;
  nodes.push_back(node("Relu"));
  nodes.push_back(node("Sigmoid"));
  nodes.push_back(node("HardSigmoid"));
  for (float alpha : {0.25F, 0.5F}) {
    nodes.push_back(node("HardSigmoid"));
    nodes.back().floats = {{"alpha", {alpha}}};
  }
  nodes.push_back(node("HardSigmoid"));
  nodes.back().floats = {{"beta", {0.25F}}};
  nodes.push_back(node("ReduceMean"));
  nodes.push_back(node("ReduceMean"));
  nodes.back().ints = {{"keepdims", {0}}};
  expect_apart(nodes, {desc_of(LK_F32, {3, 4})});
}

// An operator is a name in a domain, as in ONNX.
TEST(NameKey, KeepsDomainsApart) {
  for (const char *op : {"Gelu", "Trilu"}) {
    TestNode onnx = node(op), microsoft = node(op);
    onnx.opset = microsoft.opset = 20;
    microsoft.domain = "com.microsoft";
    expect_apart({onnx, microsoft}, {desc_of(LK_F32, {3, 4})});
  }
}

TEST(NameKey, KeepsPostOpsApart) {
  std::vector<TestNode> nodes;
  const std::vector<std::vector<lk_post_op>> chains = {
      {},
      {{LK_POST_RELU, -1, 0, 0}},
      {{LK_POST_RELU, -1, 0.5F, 0}},
      {{LK_POST_SIGMOID, -1, 0, 0}},
      {{LK_POST_CLIP, -1, 0, 6}},
      {{LK_POST_CLIP, -1, 0, 5}},
      {{LK_POST_RELU, -1, 0, 0}, {LK_POST_SIGMOID, -1, 0, 0}},
      {{LK_POST_SIGMOID, -1, 0, 0}, {LK_POST_RELU, -1, 0, 0}},
  };
  for (const auto &chain : chains) {
    nodes.push_back(node("MatMul"));
    nodes.back().n_inputs = 2;
    nodes.back().post_ops = chain;
  }
  expect_apart(nodes, {desc_of(LK_F32, {3, 4}), desc_of(LK_F32, {4, 5})});
}

TEST(NameKey, KeepsConstantsApart) {
  std::vector<TestNode> nodes;
  nodes.push_back(node("MatMul")); // at run time
  nodes.back().n_inputs = 2;
  for (unsigned seed : {1U, 2U}) {
    nodes.push_back(node("MatMul"));
    nodes.back().n_inputs = 2;
    nodes.back().constants = {lk::random({4, 4}, seed)};
  }
  expect_apart(nodes, {desc_of(LK_F32, {3, 4}), desc_of(LK_F32, {4, 4})});
}

TEST(NameKey, KeepsCallsApart) {
  const Context context = lk::open();
  const Executor executor = lk::executor_in(context);
  Op op;
  LK_ASSERT_OK(node("Relu").create(executor, &op, LK_ERR));
  const lk_tensor_desc plain = desc_of(LK_F32, {1, 3, 11, 224});
  const lk_tensor_desc last = desc_of(LK_F32, {1, 3, 11, 224}, LK_LAYOUT_CHANNELS_LAST);
  std::vector<Plan> plans(6);
  LK_ASSERT_OK(lk::bind(op, {plain}, &plans[0], LK_ERR));
  LK_ASSERT_OK(lk::bind(op, {last}, &plans[1], LK_ERR));
  LK_ASSERT_OK(lk::bind(op, {desc_of(LK_F32, {1, 3, 112, 24})}, &plans[2], LK_ERR));
  LK_ASSERT_OK(lk::bind(op, {plain}, &plans[3], LK_ERR, 0));
  LK_ASSERT_OK(lk::bind(op, {plain}, &plans[4], LK_ERR, -1, LK_LAYOUT_PLAIN));
  LK_ASSERT_OK(lk::bind(op, {plain}, &plans[5], LK_ERR, -1, LK_LAYOUT_CHANNELS_LAST));
  std::set<lk_plan *> different;
  for (const Plan &plan : plans) different.insert(plan.get());
  EXPECT_EQ(different.size(), plans.size());
  EXPECT_EQ(lk::stats(context).kind[LK_KIND_NAME].misses, plans.size());
}

// Three predictors with equal tensor names in one process; one returned another's result.
TEST(NameKey, KeepsModelsOfEqualNamesApart) {
  for (uint32_t mode : {LK_CACHE_SHARED, LK_CACHE_THREAD, LK_CACHE_OFF}) {
    const Context context = lk::open(mode);
    const Model a(context, 1), b(context, 2), c(context, 3);
    for (const Model *model : {&a, &b, &a, &b, &c, &a, &c}) model->check(5);
    if (mode == LK_CACHE_OFF) continue;
    const lk_stats now = lk::stats(context);
    EXPECT_EQ(now.kind[LK_KIND_NAME].misses, 3u);
    EXPECT_EQ(now.kind[LK_KIND_NAME].hits, 4u);
    EXPECT_EQ(now.weights_packed, 3u);
  }
}

// A key without the batch: the last, smaller batch crashed.
TEST(NameKey, TakesASmallerLastBatch) {
  const Context context = lk::open();
  const Model model(context, 1);
  for (int64_t rows : {32, 32, 32, 7, 32, 1, 7}) model.check(rows);
}

// An executor destroyed and another made at the same address: nothing of the old is found.
TEST(NameKey, GivesNothingToASuccessorAtTheSameAddress) {
  const lk::Recycler recycler;
  Context context;
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.allocator = recycler.get();
  LK_ASSERT_OK(api()->context_create(&options, context.out(), LK_ERR));
  std::set<const void *> addresses;
  const unsigned count = 50;
  for (unsigned i = 0; i < count; i++) {
    const Model model(context, i);
    addresses.insert(model.executor.get());
    model.check(3);
  }
  EXPECT_LT(addresses.size(), count) << "no address was ever used again: nothing is shown";
  const lk_stats now = lk::stats(context);
  EXPECT_EQ(now.kind[LK_KIND_NAME].hits, 0u);
  EXPECT_EQ(now.kind[LK_KIND_NAME].misses, count);
  EXPECT_EQ(now.kind[LK_KIND_NAME].entries, 0u);
}

// An inner executor's end clears nothing of the outer one.
TEST(NameKey, OutlivesAnInnerExecutor) {
  for (uint32_t mode : {LK_CACHE_SHARED, LK_CACHE_THREAD}) {
    const Context context = lk::open(mode);
    const Model outer(context, 1);
    outer.check(3);
    {
      const Model inner(context, 2);
      inner.check(3);
    }
    const lk_stats before = lk::stats(context);
    outer.check(3);
    EXPECT_EQ(lk::stats(context).kind[LK_KIND_NAME].hits, before.kind[LK_KIND_NAME].hits + 1);
    EXPECT_EQ(lk::stats(context).kind[LK_KIND_NAME].misses, before.kind[LK_KIND_NAME].misses);
  }
}

// One model on many threads, with shapes that change and a capacity that is too small.
TEST(NameKey, HoldsOnManyThreadsWithASmallCapacity) {
  for (uint32_t mode : {LK_CACHE_SHARED, LK_CACHE_THREAD}) {
    const Context context = lk::open(mode);
    LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 4, LK_UNSET, LK_ERR));
    const Model a(context, 1), b(context, 2);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 12; i++) {
          ::testing::AssertionResult result = ::testing::AssertionSuccess();
          const Model &model = (t + i) % 2 == 0 ? a : b;
          if (model.run(1 + (t * 5 + i) % 6, &result) != LK_OK || !result) wrong++;
        }
      });
    }
    for (std::thread &thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_LE(lk::stats(context).entries, mode == LK_CACHE_SHARED ? 4u : 16u);
  }
}

// Memory per shape grew without end: the budget holds over any number of shapes.
TEST(NameKey, HoldsItsBudgetOverManyShapes) {
  const Context context = lk::open();
  const uint64_t budget = 16u << 10;
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, LK_UNSET, budget, LK_ERR));
  const Model model(context, 1);
  for (int64_t rows = 1; rows <= 40; rows++) {
    model.check(rows);
    EXPECT_LE(lk::stats(context).bytes, budget);
  }
  EXPECT_GT(lk::stats(context).kind[LK_KIND_NAME].evictions, 0u);
}

} // namespace
