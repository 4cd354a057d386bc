// Every allocation fails once: from the context's creation to the end of a run of three fused and
// unfused operators. Nothing leaks, nothing crashes, the status says what it was, and afterwards the
// same context does the same work.
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
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.allocator = *allocator.get();
  options.cache_mode = mode;
  options.threads = 1;
  return api()->context_create(&options, context->out(), LK_ERR);
}

// Conv (plain in, channels-last inside) with a Relu, MatMul of its plain output, with one value added
// to each row: oneDNN has only a reference implementation for that, so the value is copied along it.
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
    Executor executor;
    Op conv, relu, matmul;
    Plan plans[3];
    lk::Frame frame;
    TestNode n;
    lk_status status = api()->executor_create(context, "work", executor.out(), LK_ERR);
    if (status != LK_OK) return status;
    n.op = "Conv";
    n.name = "c";
    n.ints = {{"pads", {1, 1, 1, 1}}};
    n.n_inputs = 3;
    n.constants = {w, b};
    status = n.create(executor, &conv, LK_ERR);
    if (status != LK_OK) return status;
    n = TestNode();
    n.op = "Relu";
    n.name = "c";
    status = n.create(executor, &relu, LK_ERR);
    if (status != LK_OK) return status;
    n.op = "MatMul";
    n.name = "m";
    n.n_inputs = 3;
    n.constants = {m, rows};
    n.post_ops = {{LK_POST_ADD, 2, 0, 0}};
    status = n.create(executor, &matmul, LK_ERR);
    if (status != LK_OK) return status;
    lk_tensor_desc descs[3];
    status = lk::bind(conv, {x.desc, w.desc, b.desc}, &plans[0], LK_ERR);
    if (status == LK_OK) status = api()->plan_output(plans[0], 0, &descs[0], LK_ERR);
    if (status == LK_OK) status = lk::bind(relu, {descs[0]}, &plans[1], LK_ERR, 0);
    if (status == LK_OK) status = api()->plan_output(plans[1], 0, &descs[1], LK_ERR);
    if (status == LK_OK) {
      status =
          lk::bind(matmul, {descs[1], m.desc, rows.desc}, &plans[2], LK_ERR, -1, LK_LAYOUT_PLAIN);
    }
    if (status == LK_OK) status = api()->plan_output(plans[2], 0, &descs[2], LK_ERR);
    if (status == LK_OK) status = api()->frame_create(executor, frame.out(), LK_ERR);
    uint32_t slots[3] = {};
    for (int i = 0; i < 3 && status == LK_OK; i++) {
      status = api()->frame_attach(frame, plans[i], &slots[i], LK_ERR);
    }
    if (status != LK_OK) return status;
    const lk::Memory from = x.in(LK_LAYOUT_PLAIN);
    lk::Memory middle(2 * 4 * 6 * 5 * 4), to(y.bytes.size());
    void *const conv_in[] = {from.data(), nullptr, nullptr}, *const middle_out[] = {middle.data()};
    void *const matmul_in[] = {middle.data(), nullptr, nullptr}, *const last[] = {to.data()};
    status = api()->op_run(frame, slots[0], conv_in, middle_out, LK_ERR);
    if (status == LK_OK) status = api()->op_run(frame, slots[1], middle_out, middle_out, LK_ERR);
    if (status == LK_OK) status = api()->op_run(frame, slots[2], matmul_in, last, LK_ERR);
    if (status == LK_OK) *out = Value::from(descs[2], to.data());
    return status;
  }
};

class Faults : public ::testing::TestWithParam<uint32_t> {};

// What a fault does: the status says so, or the cache does without keeping an entry, and the result is
// right.
void check_outcome(const Work &work, lk_status status, const Value &y, bool failed) {
  if (status == LK_OK) {
    EXPECT_TRUE(lk::equal(work.y, y, 1e-5));
  } else {
    EXPECT_TRUE(failed) << LK_MESSAGE;
    EXPECT_EQ(status, LK_OUT_OF_MEMORY) << LK_MESSAGE;
    EXPECT_EQ(lk::test_error().error.status, status);
  }
}

TEST_P(Faults, EndCleanlyWhereverTheyStrike) {
  const Work work;
  int told = 0;
  for (size_t n = 1;; n++) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    ASSERT_LT(n, 10000u) << "does not come to an end";
    FailingAllocator allocator;
    allocator.fail_at(n);
    Context context;
    Value y;
    lk_status status = make_context(allocator, GetParam(), &context);
    if (status == LK_OK) status = work.run(context, &y);
    lk::test_error().passed = false;
    check_outcome(work, status, y, allocator.failed());
    told += status != LK_OK;
    context.reset();
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
    ASSERT_TRUE(lk::equal(work.y, y, 1e-5));
    if (!failed) break;
  }
}

TEST_P(Faults, ThatStayEndCleanly) {
  const Work work;
  for (size_t n = 1; n < 10000; n += 7) {
    FailingAllocator allocator;
    allocator.fail_at(n, true); // this one and all that follow
    Context context;
    Value y;
    lk_status status = make_context(allocator, GetParam(), &context);
    if (status == LK_OK) status = work.run(context, &y);
    lk::test_error().passed = false;
    check_outcome(work, status, y, allocator.failed());
    if (!allocator.failed()) return;
    context.reset();
    ASSERT_EQ(allocator.live_blocks(), 0u) << n;
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
  EXPECT_EQ(after.kind[LK_KIND_VALUE].hits, before.kind[LK_KIND_VALUE].hits);
}

INSTANTIATE_TEST_SUITE_P(Modes, Faults,
                         ::testing::Values(LK_CACHE_OFF, LK_CACHE_THREAD, LK_CACHE_SHARED));

} // namespace
