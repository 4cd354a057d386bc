// Plans that are the caller's own (LK_BIND_OWN): the cache neither finds, keeps nor counts them.
#include <thread>

#include "tests/ops/reference.h"
#include "tests/plugin/handles.h"

namespace {

using lk::api;
using lk::desc_of;
using lk::Op;
using lk::Plan;
using lk::Value;
using ::testing::HasSubstr;

class OwnPlan : public ::testing::Test {
protected:
  OwnPlan() {
    lk::TestNode n;
    n.op = "MatMul";
    n.n_inputs = 2;
    n.constants = {w};
    LK_EXPECT_OK(n.create(executor, &op, LK_ERR));
  }
  lk_status bind(Plan *plan, uint32_t flags = LK_BIND_OWN, int32_t over = -1) {
    const lk_tensor inputs[] = {{x.desc, nullptr}, {w.desc, nullptr}};
    const lk_layout wish = LK_LAYOUT_PLAIN;
    lk_bind_desc desc = host_bind(inputs, 2);
    desc.wishes = &wish;
    desc.flags = flags;
    desc.in_place_input = over;
    return lk::bind(op, desc, plan, LK_ERR);
  }
  void check(lk_plan *plan) {
    const lk::Memory from = x.in(LK_LAYOUT_PLAIN);
    lk::Memory to(y.bytes.size());
    LK_ASSERT_OK(lk::run(executor, plan, {from.data(), nullptr}, to.data(), LK_ERR));
    EXPECT_TRUE(lk::all_close(y, Value::from(y.desc, to.data())));
  }
  static lk_plan_info info_of(lk_plan *plan) { return host_plan_info(plan); }

  const Value x = lk::random({5, 7}, 1), w = lk::random({7, 3}, 2), y = lk::ref::matmul(x, w);
  lk::Context context = lk::open();
  lk::Executor executor = lk::executor_in(context);
  Op op;
};

TEST_F(OwnPlan, IsInNoCache) {
  Plan first, second;
  LK_ASSERT_OK(bind(&first));
  LK_ASSERT_OK(bind(&second));
  EXPECT_NE(first.get(), second.get());
  check(first);
  check(second);
  const lk_stats stats = lk::stats(context);
  EXPECT_EQ(stats.entries, 0u);
  EXPECT_EQ(stats.bytes, 0u);
  EXPECT_EQ(stats.kind[LK_KIND_NAME].misses, 0u);
  EXPECT_EQ(stats.weights_packed, 1u) << "packed weights are shared as ever";
}

TEST_F(OwnPlan, TellsWhatACachedOneTells) {
  Plan own, cached;
  LK_ASSERT_OK(bind(&own));
  LK_ASSERT_OK(bind(&cached, 0));
  lk_tensor_desc of_own, of_cached;
  LK_ASSERT_OK(api()->plan_output(own, 0, &of_own, LK_ERR));
  LK_ASSERT_OK(api()->plan_output(cached, 0, &of_cached, LK_ERR));
  EXPECT_EQ(std::memcmp(&of_own, &of_cached, sizeof of_own), 0);
  const lk_plan_info a = info_of(own), b = info_of(cached);
  EXPECT_LT(a.bytes, b.bytes) << "nobody compares it with a later bind";
  EXPECT_EQ(a.n_steps, b.n_steps);
  EXPECT_EQ(a.flops, b.flops);
  EXPECT_STREQ(a.implementation, b.implementation);
}

TEST_F(OwnPlan, AndACachedOneTakeEachOthersPlace) {
  Plan plan;
  for (const uint32_t flags : {0u, 1u, 1u, 0u, 0u, 1u}) {
    LK_ASSERT_OK(bind(&plan, flags)); // behind the former one
    check(plan);
  }
  EXPECT_EQ(lk::stats(context).kind[LK_KIND_NAME].builds, 1u);
}

TEST_F(OwnPlan, OutlivesItsOpInFramesOfManyThreads) {
  Plan plan;
  LK_ASSERT_OK(bind(&plan));
  lk::Frame frames[4];
  for (lk::Frame &frame : frames) {
    uint32_t slot = 1;
    LK_ASSERT_OK(api()->frame_create(executor, frame.out(), LK_ERR));
    LK_ASSERT_OK(api()->frame_attach(frame, plan, &slot, LK_ERR));
    EXPECT_EQ(slot, 0u);
  }
  plan.reset();
  op.reset();
  std::vector<std::thread> threads;
  for (lk::Frame &frame : frames) {
    threads.emplace_back([&] {
      const lk::Memory from = x.in(LK_LAYOUT_PLAIN);
      for (int i = 0; i < 50; i++) {
        lk::Memory to(y.bytes.size());
        void *const in[] = {from.data(), nullptr}, *const out[] = {to.data()};
        LK_EXPECT_OK(api()->op_run(frame, 0, in, out, LK_ERR));
        EXPECT_TRUE(lk::all_close(y, Value::from(y.desc, to.data())));
      }
      api()->frame_reset(frame); // the last one frees the plan
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(lk::stats(context).weights_entries, 0u);
}

TEST_F(OwnPlan, IsRefusedWhereACachedOneIs) {
  Plan plan;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, bind(&plan, 16));
  EXPECT_THAT(
      LK_MESSAGE,
      HasSubstr("flags are 0x10, only 0x1 (LK_BIND_OWN), 0x2 (LK_BIND_ONCE), 0x4 (LK_BIND_RECURS) "
                "and 0x8 (LK_BIND_ENGINE) are allowed"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, bind(&plan, LK_BIND_OWN, 0));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("in place over input 0"));
  lk_tensor_desc wide = x.desc;
  wide.rank = LK_MAX_RANK + 1;
  const lk_tensor inputs[] = {{wide, nullptr}, {w.desc, nullptr}};
  lk_bind_desc desc = host_bind(inputs, 2);
  for (const uint32_t flags : {0u, 1u}) {
    desc.flags = flags;
    LK_EXPECT_STATUS(LK_OUT_OF_RANGE, lk::bind(op, desc, &plan, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("input 0 has rank 9, at most 8"));
  }
  EXPECT_EQ(plan.get(), nullptr);
}

TEST(OwnPlanFaults, LeaveNothingBehind) {
  const Value x = lk::random({5, 7}, 1), w = lk::random({7, 3}, 2), y = lk::ref::matmul(x, w);
  lk::fail_every_allocation([&](const lk::FailingAllocator &allocator) {
    lk_context *context = nullptr;
    lk_status status = host_context_create(LK_CACHE_SHARED, 1, allocator.get(), &context, LK_ERR);
    if (status != LK_OK) return status;
    {
      lk::Executor executor;
      Op op;
      Plan plan;
      lk::TestNode n;
      n.op = "MatMul";
      n.n_inputs = 2;
      n.constants = {w};
      status = api()->executor_create(context, "own", executor.out(), LK_ERR);
      if (status == LK_OK) status = n.create(executor, &op, LK_ERR);
      const lk_tensor inputs[] = {{x.desc, nullptr}, {w.desc, nullptr}};
      lk_bind_desc desc = host_bind(inputs, 2);
      desc.flags = LK_BIND_OWN;
      if (status == LK_OK) status = lk::bind(op, desc, &plan, LK_ERR);
      if (status == LK_OK) {
        const lk::Memory from = x.in(LK_LAYOUT_PLAIN);
        lk::Memory to(y.bytes.size());
        status = lk::run(executor, plan, {from.data(), nullptr}, to.data(), LK_ERR);
        if (status == LK_OK) {
          EXPECT_TRUE(lk::all_close(y, Value::from(y.desc, to.data())));
        }
      }
    }
    api()->context_destroy(context);
    return status;
  });
}

} // namespace
