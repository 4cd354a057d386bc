// Every allocation fails once: from the context's creation to the end of a run of three fused and
// unfused operators. Nothing leaks, nothing crashes, the status says what it was, and afterwards
// the same context does the same work.
#include "tests/ops/reference.h"
#include "tests/plugin/handles.h"

namespace {

using lk::api;
using lk::Context;
using lk::Executor;
using lk::FailingAllocator;
using lk::Op;
using lk::Plan;
using lk::TestNode;
using lk::Value;

lk_status make_context(const FailingAllocator &allocator, uint32_t mode, Context *context) {
  return host_context_create(mode, 1, allocator.get(), context->out(), LK_ERR);
}

// Conv (plain in, channels-last inside) with a Relu, MatMul of its plain output, with one value
// added to each row.
struct Work {
  const Value x = lk::random({2, 3, 6, 5}, 1), w = lk::random({4, 3, 3, 3}, 2),
              b = lk::random({4}, 3), m = lk::random({5, 7}, 4), rows = lk::random({2, 4, 6, 1}, 5);
  const Value y = lk::ref::apply(
      lk::ref::matmul(
          lk::ref::apply(lk::ref::conv(x, w, &b, {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1),
                         {LK_POST_RELU, -1, 0, 0}),
          m),
      {LK_POST_ADD, 2, 0, 0}, &rows);

  lk_status run(lk_context *context, Value *out) const {
    const lk_tensor constants[] = {tensor(w), tensor(b), tensor(m), tensor(rows)};
    const auto constant = [&](int i) { return lk_node_input{&constants[i], LK_INPUT_COPY, 0}; };
    const lk_node_input conv_inputs[] = {{}, constant(0), constant(1)}, relu_inputs[] = {{}},
                        matmul_inputs[] = {{}, constant(2), constant(3)};
    const int64_t pads[] = {1, 1, 1, 1};
    const lk_attr padded = {"pads", LK_ATTR_INTS, 4, pads};
    const lk_post_op add = {LK_POST_ADD, 2, 0, 0};
    host_step steps[] = {
        {.node = host_node("Conv", conv_inputs, 3), .in_place_input = -1, .wish = LK_LAYOUT_ANY},
        {.node = host_node("Relu", relu_inputs, 1), .in_place_input = 0, .wish = LK_LAYOUT_ANY},
        {.node = host_node("MatMul", matmul_inputs, 3),
         .in_place_input = -1,
         .wish = LK_LAYOUT_PLAIN}};
    steps[0].node.output_name = steps[1].node.output_name = "c";
    steps[0].node.n_attrs = 1;
    steps[0].node.attrs = &padded;
    steps[2].node.output_name = "m";
    steps[2].node.n_post_ops = 1;
    steps[2].node.post_ops = &add;
    const lk_tensor input = tensor(x);
    lk_tensor output{};
    const lk_status status = host_run_chain(context, steps, 3, &input, &output, LK_ERR);
    if (status == LK_OK) *out = Value::from(output.desc, output.data);
    free(output.data);
    return status;
  }
  // Of a value that nobody writes to.
  static lk_tensor tensor(const Value &value) {
    return {value.desc, const_cast<uint8_t *>(value.bytes.data())};
  }
};

class Faults : public ::testing::TestWithParam<uint32_t> {};

// What a fault does: the status says so, or the cache does without keeping an entry, and the result
// is right.
void check_outcome(const Work &work, lk_status status, const Value &y, bool failed) {
  if (status == LK_OK) {
    EXPECT_TRUE(lk::all_close(work.y, y));
  } else {
    EXPECT_TRUE(failed) << LK_MESSAGE;
    EXPECT_EQ(status, LK_OUT_OF_MEMORY) << LK_MESSAGE;
    EXPECT_EQ(lk::test_error().error.status, status);
  }
}

// Its status, after the outcome was checked and the context destroyed.
lk_status run_in_a_new_context(const Work &work, const FailingAllocator &allocator, uint32_t mode) {
  Context context;
  Value y;
  lk_status status = make_context(allocator, mode, &context);
  if (status == LK_OK) status = work.run(context, &y);
  lk::test_error().passed = false;
  check_outcome(work, status, y, allocator.failed());
  return status;
}

TEST_P(Faults, EndCleanlyWhereverTheyStrike) {
  const Work work;
  int told = 0;
  for (size_t n = 1;; n++) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    ASSERT_LT(n, 10000u) << "does not come to an end";
    FailingAllocator allocator;
    allocator.fail_at(n);
    told += run_in_a_new_context(work, allocator, GetParam()) != LK_OK;
    ASSERT_EQ(allocator.live_blocks(), 0u);
    if (!allocator.failed()) break;
  }
  EXPECT_GT(told, 50);
}

TEST_P(Faults, LeaveTheContextUsable) {
  const Work work;
  FailingAllocator allocator;
  Context context;
  LK_ASSERT_OK(make_context(allocator, GetParam(), &context));
  for (size_t n = 1;; n++) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    ASSERT_LT(n, 10000u) << "does not come to an end";
    LK_ASSERT_OK(api()->cache_clear(context, nullptr, LK_ERR));
    allocator.fail_at(n);
    Value y;
    const lk_status status = work.run(context, &y);
    const bool failed = allocator.failed();
    allocator.fail_never();
    lk::test_error().passed = false;
    check_outcome(work, status, y, failed);
    LK_ASSERT_OK(work.run(context, &y));
    ASSERT_TRUE(lk::all_close(work.y, y));
    if (!failed) break;
  }
}

TEST_P(Faults, ThatStayEndCleanly) {
  const Work work;
  for (size_t n = 1; n < 10000; n += 7) {
    FailingAllocator allocator;
    allocator.fail_at(n, true); // this one and all that follow
    (void)run_in_a_new_context(work, allocator, GetParam());
    ASSERT_EQ(allocator.live_blocks(), 0u) << n;
    if (!allocator.failed()) return;
  }
}

// With as many inputs, of some numbers of them, the room that a planner begins with is full before
// it has its output.
TEST_P(Faults, WhereThereAreManyInputsEndCleanly) {
  TestNode concat;
  concat.op = "Concat";
  concat.ints = {{"axis", {0}}};
  for (concat.n_inputs = 55; concat.n_inputs < 85; concat.n_inputs++) {
    const std::vector<lk_tensor> inputs(concat.n_inputs, {lk::desc_of(LK_F32, {2, 3}), nullptr});
    int told = 0;
    for (size_t n = 1;; n++) {
      SCOPED_TRACE("allocation " + std::to_string(n) + " of " + std::to_string(inputs.size()));
      ASSERT_LT(n, 10000u) << "does not come to an end";
      FailingAllocator allocator;
      Context context;
      LK_ASSERT_OK(make_context(allocator, GetParam(), &context));
      const Executor executor = lk::executor_in(context);
      Op op;
      LK_ASSERT_OK(concat.create(executor, &op, LK_ERR));
      Plan plan;
      allocator.fail_at(n);
      const lk_status status =
          lk::bind(op, host_bind(inputs.data(), concat.n_inputs), &plan, LK_ERR);
      EXPECT_TRUE(status == LK_OK || status == LK_OUT_OF_MEMORY) << LK_MESSAGE;
      told += status != LK_OK;
      if (!allocator.failed()) break;
    }
    EXPECT_GT(told, 0);
  }
}

TEST_P(Faults, RunsAllocateNothing) {
  const Context context = lk::open(GetParam());
  const Executor executor = lk::executor_in(context);
  Op op;
  TestNode n;
  n.op = "Softmax";
  LK_ASSERT_OK(n.create(executor, &op, LK_ERR));
  Plan plan;
  const Value x = lk::random({4, 8}, 1);
  LK_ASSERT_OK(lk::bind(op, {x.desc}, &plan, LK_ERR));
  lk::Frame frame;
  uint32_t slot = 0;
  LK_ASSERT_OK(api()->frame_create(executor, frame.out(), LK_ERR));
  LK_ASSERT_OK(api()->frame_attach(frame, plan, &slot, LK_ERR));
  const lk::Memory from = x.in(LK_LAYOUT_PLAIN), to(x.bytes.size());
  void *const in[] = {from.data()}, *const out[] = {to.data()};
  const lk_stats before = lk::stats(context);
  for (int i = 0; i < 10; i++) LK_ASSERT_OK(api()->op_run(frame, slot, in, out, LK_ERR));
  const lk_stats after = lk::stats(context);
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.kind[LK_KIND_NAME].hits, before.kind[LK_KIND_NAME].hits);
}

INSTANTIATE_TEST_SUITE_P(Modes, Faults,
                         ::testing::Values(LK_CACHE_OFF, LK_CACHE_THREAD, LK_CACHE_SHARED));

} // namespace
