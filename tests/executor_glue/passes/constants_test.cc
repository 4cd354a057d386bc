// Pass "constants", against a small level 1 of this test's own that knows two operators:
// ConstantOfShape of ones, and Twice. It counts what is open, and fails where it is told to.
#include "tests/executor_glue/graph/builder.h"

#include <cstdint>
#include <memory>

using lk::GraphBuilder;

struct lk_executor {};
struct lk_frame {};
struct lk_op {
  std::string type;
};
struct lk_plan {
  std::string type;
  lk_tensor_desc output;
};

namespace {

struct Fake {
  int executors = 0, executors_open = 0, frames_open = 0, ops_open = 0, plans_open = 0, runs = 0;
  uint64_t flops = 0;          // of each node
  int looks = 0, stops_at = 0; // the look that says so; 0: none does
  bool run_fails = false, bind_has_no_memory = false, saw_unaligned = false;
  const lk_plan *attached = nullptr;
};
Fake fake;

lk_status fail(lk_error *error, lk_status status) {
  if (error != nullptr) error->status = status, std::strcpy(error->message, "fake");
  return status;
}
lk_status executor_create(lk_context *, const char *, lk_executor **out, lk_error *) {
  fake.executors++, fake.executors_open++;
  *out = new lk_executor;
  return LK_OK;
}
void executor_destroy(lk_executor *e) {
  fake.executors_open--, delete e;
}
lk_status frame_create(lk_executor *, lk_frame **out, lk_error *) {
  fake.frames_open++;
  *out = new lk_frame;
  return LK_OK;
}
void frame_destroy(lk_frame *f) {
  fake.frames_open--, delete f;
}
lk_status frame_attach(lk_frame *, lk_plan *plan, uint32_t *slot, lk_error *) {
  fake.attached = plan;
  *slot = 0;
  return LK_OK;
}
void frame_reset(lk_frame *) {
  fake.attached = nullptr;
}
lk_status op_create(lk_executor *, const lk_node_desc *node, lk_op **out, lk_error *error) {
  const std::string type = node->op_type;
  const bool known =
      type == "ConstantOfShape" || type == "Twice" || type == "Dice" || type == "Positions";
  if (!known) return fail(error, LK_UNSUPPORTED);
  for (uint32_t i = 0; i < node->n_inputs; i++) EXPECT_EQ(node->inputs[i].constant, nullptr);
  fake.ops_open++;
  *out = new lk_op{type};
  return LK_OK;
}
void op_destroy(lk_op *op) {
  if (op != nullptr) fake.ops_open--, delete op;
}
lk_status op_bind(lk_op *op, const lk_bind_desc *bind, lk_plan **plan, lk_error *error) {
  if (fake.bind_has_no_memory) return fail(error, LK_OUT_OF_MEMORY);
  lk_tensor_desc desc = bind->inputs[0].desc;
  if (op->type == "ConstantOfShape") {
    const auto *dims = static_cast<const int64_t *>(bind->inputs[0].data);
    desc = lk_tensor_desc_make(LK_F32, static_cast<uint32_t>(bind->inputs[0].desc.dims[0]), dims);
  }
  EXPECT_EQ(bind->wishes[0], LK_LAYOUT_PLAIN);
  fake.plans_open++;
  *plan = new lk_plan{op->type, desc};
  return LK_OK;
}
void plan_release(lk_plan *plan) {
  fake.plans_open--, delete plan;
}
lk_status plan_output(const lk_plan *plan, uint32_t, lk_tensor_desc *out, lk_error *) {
  *out = plan->output;
  return LK_OK;
}
lk_status plan_info(const lk_plan *, lk_plan_info *out, lk_error *) {
  out->flops = fake.flops;
  return LK_OK;
}
lk_status thread_look(lk_error *error) {
  return ++fake.looks == fake.stops_at ? fail(error, LK_CANCELLED) : LK_OK;
}
lk_status op_run(lk_frame *, uint32_t, void *const *inputs, void *const *outputs, lk_error *error) {
  fake.runs++;
  if (reinterpret_cast<uintptr_t>(inputs[0]) % 4 != 0) fake.saw_unaligned = true;
  if (fake.run_fails) return fail(error, LK_INTERNAL);
  auto *y = static_cast<float *>(outputs[0]);
  const int64_t n = lk_elements(&fake.attached->output);
  for (int64_t i = 0; i < n; i++) {
    y[i] = fake.attached->type == "Twice" ? 2 * static_cast<const float *>(inputs[0])[i] : 1.0f;
  }
  return LK_OK;
}

class PassConstants : public ::testing::Test {
protected:
  void SetUp() override {
    fake = Fake();
    api_ = *lk::test_api();
    api_.executor_create = executor_create, api_.executor_destroy = executor_destroy;
    api_.frame_create = frame_create, api_.frame_destroy = frame_destroy;
    api_.frame_attach = frame_attach, api_.frame_reset = frame_reset;
    api_.op_create = op_create, api_.op_destroy = op_destroy, api_.op_bind = op_bind;
    api_.plan_release = plan_release, api_.plan_output = plan_output, api_.op_run = op_run;
    api_.plan_info = plan_info, api_.thread_look = thread_look;
  }
  void TearDown() override {
    EXPECT_EQ(fake.executors_open + fake.frames_open + fake.ops_open + fake.plans_open, 0);
  }
  uint64_t changes_of(GraphBuilder &g, uint64_t max_folded_bytes = 0) {
    uint64_t changes = 0;
    LK_EXPECT_OK(g.link());
    LK_EXPECT_OK(lk::run_pass(g, "constants", &changes, &api_, max_folded_bytes));
    return changes;
  }
  lk_api api_;
};

TEST_F(PassConstants, ChainFoldsInOneExecutorAndFreesWhatIsUsedUp) {
  lk::FailingAllocator allocator;
  GraphBuilder g(allocator.get());
  const int32_t x = g.input("x", {2, 500});
  const int32_t w = g.node("Twice", {g.node("ConstantOfShape", {g.ints({2, 500})})});
  const int32_t y = g.node("Add", {x, w});
  g.output(y);
  LK_ASSERT_OK(g.link());
  const size_t before = allocator.live_bytes();
  EXPECT_EQ(changes_of(g), 2u);
  EXPECT_EQ(fake.executors, 1);
  ASSERT_EQ(g->n_nodes, 1u);
  EXPECT_EQ(g->values[w].constant_kind, LK_CONSTANT_OWNED);
  EXPECT_EQ(g.numbers(w), std::vector<float>(1000, 2.0f));
  EXPECT_LE(allocator.live_bytes(), before + 4000); // not the ones as well
}

TEST_F(PassConstants, NothingToFoldMakesNoExecutor) {
  GraphBuilder g;
  g.output(g.node("Twice", {g.input("x", {2})}));
  EXPECT_EQ(changes_of(g), 0u);
  EXPECT_EQ(fake.executors, 0);
}

TEST_F(PassConstants, InputsThatACallerMayReplaceAreNoConstants) {
  GraphBuilder g;
  const int32_t c = g.filled({2}, 1.0f);
  LK_ASSERT_OK(lk_graph_add_input(g.get(), c, LK_ERR));
  g.output(g.node("Twice", {c}));
  EXPECT_EQ(changes_of(g), 0u);
}

TEST_F(PassConstants, UnknownOperatorsAndOperatorsWithoutInputsStay) {
  GraphBuilder g;
  g.output(g.node("Mystery", {g.scalar(1)}));
  g.output(g.node("RandomNormal", {}));
  EXPECT_EQ(changes_of(g), 0u);
  EXPECT_EQ(g->n_nodes, 2u);
}

// Rows that say so: computed once, a random number would be the same in every run, and the shape of
// what follows from data is not known when a plan is made.
TEST_F(PassConstants, RandomAndDataDependentOperatorsStay) {
  GraphBuilder g;
  g.output(g.node("Dice", {g.scalar(1)}));
  g.output(g.node("Positions", {g.scalar(1)}));
  g.output(g.node("Twice", {g.scalar(1)}));
  EXPECT_EQ(changes_of(g), 1u);
  EXPECT_EQ(g.count("Dice"), 1u);
  EXPECT_EQ(g.count("Positions"), 1u);
}

TEST_F(PassConstants, RefusalAtRunLeavesTheNode) {
  fake.run_fails = true;
  GraphBuilder g;
  g.output(g.node("Twice", {g.scalar(1)}));
  EXPECT_EQ(changes_of(g), 0u);
  EXPECT_EQ(fake.runs, 1);
}

TEST_F(PassConstants, WantOfMemoryIsAnError) {
  fake.bind_has_no_memory = true;
  GraphBuilder g;
  g.output(g.node("Twice", {g.scalar(1)}));
  LK_ASSERT_OK(g.link());
  uint64_t changes = 0;
  LK_EXPECT_STATUS(LK_OUT_OF_MEMORY, lk::run_pass(g, "constants", &changes, &api_));
}

TEST_F(PassConstants, ResultsBeyondTheDefaultLimitStay) {
  GraphBuilder g;
  g.output(g.node("ConstantOfShape", {g.ints({(1 << 29) + 1})})); // 2 GiB and 4 bytes
  EXPECT_EQ(changes_of(g), 0u);
  EXPECT_EQ(fake.runs, 0);
}

// A few bytes can ask for any amount of work: the first node that would need more than is left
// stays, and so do those behind it that are as large.
TEST_F(PassConstants, WorkBeyondTheBudgetStays) {
  fake.flops = 90000000000;
  GraphBuilder g;
  for (int i = 0; i < 5; i++) g.output(g.node("Twice", {g.scalar(1)}));
  EXPECT_EQ(changes_of(g), 2u);
  EXPECT_EQ(g.count("Twice"), 3u);
  EXPECT_EQ(fake.runs, 2);
}

TEST_F(PassConstants, WorkThatAloneIsTooMuchStaysAndLeavesTheBudgetToOthers) {
  fake.flops = 200000000001;
  GraphBuilder g;
  g.output(g.node("Twice", {g.scalar(1)}));
  EXPECT_EQ(changes_of(g), 0u);
}

TEST_F(PassConstants, NoLimitIsNoneOfWorkToo) {
  fake.flops = 90000000000;
  GraphBuilder g;
  for (int i = 0; i < 5; i++) g.output(g.node("Twice", {g.scalar(1)}));
  EXPECT_EQ(changes_of(g, LK_UNLIMITED), 5u);
}

TEST_F(PassConstants, EndsWhenTheModelIsWantedNoMore) {
  fake.stops_at = 2;
  GraphBuilder g;
  for (int i = 0; i < 5; i++) g.output(g.node("Twice", {g.scalar(1)}));
  LK_ASSERT_OK(g.link());
  uint64_t changes = 0;
  LK_EXPECT_STATUS(LK_CANCELLED, lk::run_pass(g, "constants", &changes, &api_));
  EXPECT_EQ(changes, 1u); // what it computed when it was told so is not the result
  EXPECT_EQ(g.count("Twice"), 4u);
}

TEST_F(PassConstants, OneResultIsHeldToTheLimit) {
  for (const uint64_t limit : {UINT64_C(3999), UINT64_C(4000), UINT64_C(0), LK_UNLIMITED}) {
    GraphBuilder g;
    const int32_t made = g.node("ConstantOfShape", {g.ints({1000})}); // 4000 bytes
    g.output(made);
    EXPECT_EQ(changes_of(g, limit), limit == 3999 ? 0u : 1u) << limit;
    EXPECT_EQ(g->n_nodes, limit == 3999 ? 1u : 0u) << limit;
    // As large as its input: it takes nothing more, and is too large all the same.
    GraphBuilder twice;
    twice.output(twice.node("Twice", {twice.filled({1000}, 1.0f)}));
    EXPECT_EQ(changes_of(twice, limit), limit == 3999 ? 0u : 1u) << limit;
  }
}

TEST_F(PassConstants, WhatAllResultsTakeMoreIsHeldToTheLimit) {
  for (const uint64_t limit : {UINT64_C(2999), UINT64_C(3000)}) {
    GraphBuilder g; // 1000 bytes each, beyond inputs of 8 bytes; the third exceeds the lower limit
    for (int i = 0; i < 3; i++) g.output(g.node("ConstantOfShape", {g.ints({252})}));
    // Takes no more than its input, so there is room for it whatever the others took.
    g.output(g.node("Twice", {g.filled({250}, 1.0f)}));
    EXPECT_EQ(changes_of(g, limit), limit == 2999 ? 3u : 4u);
    EXPECT_EQ(g.count("ConstantOfShape"), limit == 2999 ? 1u : 0u);
    EXPECT_EQ(g.count("Twice"), 0u);
  }
}

TEST_F(PassConstants, UnalignedConstantsAreCopied) {
  GraphBuilder g;
  alignas(8) unsigned char file[9] = {0};
  const float numbers[2] = {3.0f, 4.0f};
  std::memcpy(file + 1, numbers, sizeof numbers);
  const int32_t c = g.value("mapped");
  const int64_t dim = 2;
  g->values[c].constant_kind = LK_CONSTANT_MAPPED;
  g->values[c].constant = {lk_tensor_desc_make(LK_F32, 1, &dim), file + 1};
  const int32_t y = g.node("Twice", {c});
  g.output(y);
  EXPECT_EQ(changes_of(g), 1u);
  EXPECT_FALSE(fake.saw_unaligned);
  EXPECT_EQ(g.numbers(y), (std::vector<float>{6.0f, 8.0f}));
}

TEST_F(PassConstants, EveryAllocationMayFail) {
  lk::fail_every_allocation([&](lk::FailingAllocator &allocator) {
    GraphBuilder g(allocator.get());
    uint64_t changes = 0;
    g.output(g.node("Twice", {g.node("ConstantOfShape", {g.ints({2, 3})})}));
    if (g.link() != LK_OK) return g.status();
    return lk::run_pass(g, "constants", &changes, &api_);
  });
}

} // namespace
