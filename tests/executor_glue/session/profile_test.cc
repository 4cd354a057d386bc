// Profiles of a session's runs: what they list, what they add up, and what they leave alone.
#include <latchkey/session.h>

#include <atomic>
#include <thread>

#include "tests/executor_glue/session/small_model.h"

extern "C" {
#include "executor_glue/run/profile.h"
}

namespace {

using lk::small::api;
using lk::small::Floats;
using lk::small::level2;
using lk::small::numbers;
using ::testing::HasSubstr;

void end_profile(lk_profile *profile) {
  level2()->profile_destroy(profile);
}

class Profile : public lk::small::Session {
protected:
  void SetUp() override { LK_ASSERT_OK(level2()->profile_create(nullptr, profile.out(), LK_ERR)); }

  lk_status try_run_in(lk_session *which, Floats x, lk_profile *into,
                       const volatile int32_t *cancel = nullptr) {
    lk_named_tensor input = x_of(x);
    lk_named_tensor outputs[] = {{"y", {}}, {"s", {}}};
    lk_run_options options = lk::run_options(cancel, 0, into);
    const lk_status status = level2()->run(which, &input, 1, outputs, 2, &options, LK_ERR);
    if (status == LK_OK) {
      const Floats y = lk::small::expected_y(x);
      lk::small::expect_near(elements(outputs[0]), y);
      lk::small::expect_near(elements(outputs[1]), lk::small::expected_s(y));
    }
    level2()->outputs_release(which, outputs, 2);
    return status;
  }
  lk_status try_run(Floats x) { return try_run_in(session, std::move(x), profile); }
  lk_profile_info info() {
    lk_profile_info now = {};
    now.struct_size = sizeof now;
    LK_EXPECT_OK(level2()->profile_info(profile, &now, LK_ERR));
    return now;
  }
  std::vector<lk_profile_entry> entries() {
    std::vector<lk_profile_entry> all(info().n_entries);
    for (uint32_t i = 0; i < all.size(); i++) {
      all[i].struct_size = sizeof all[i];
      LK_EXPECT_OK(level2()->profile_entry(profile, i, &all[i], LK_ERR));
    }
    return all;
  }
  // What must hold of every profile.
  void check_sums() {
    const lk_profile_info sum = info();
    uint64_t total_ns = 0;
    for (const lk_profile_entry &one : entries()) {
      EXPECT_GT(one.executions, 0u);
      EXPECT_GT(one.min_ns, 0u);
      EXPECT_LE(one.min_ns * one.executions, one.total_ns);
      EXPECT_LE(one.wait_ns, one.thread_ns);
      EXPECT_EQ(one.thread_ns % one.total_ns, 0u);
      total_ns += one.total_ns;
    }
    EXPECT_LE(total_ns, sum.thread_ns);
    EXPECT_LE(sum.wait_ns, sum.thread_ns);
    EXPECT_GE(sum.thread_ns, sum.execute_ns);
    EXPECT_LE(sum.binds, sum.runs);
  }

  lk::Owned<lk_profile, end_profile> profile;
};

TEST_F(Profile, ListsTheStepsOfEachOperator) {
  open();
  LK_ASSERT_OK(try_run(numbers(3, 0.1f)));
  bool has_product = false, has_softmax = false;
  for (const lk_profile_entry &one : entries()) {
    const std::string op = one.op_type, kind = one.kind;
    EXPECT_EQ(one.executions, 1u);
    if (op == "MatMul" && kind == "matmul") {
      has_product = true;
      EXPECT_THAT(one.tiles, HasSubstr("in blocks of"));
      EXPECT_STREQ(one.node_name, "multiply");
      EXPECT_STREQ(one.output_name, "y") << "where the fused operators' output lies";
      EXPECT_THAT(one.fused, HasSubstr("relu"));
      EXPECT_EQ(one.flops, 2.0 * 3 * 4 * 4);
      EXPECT_GE(one.bytes, 4.0 * (12 + 16 + 12));
    }
    if (op == "Softmax" && kind == "softmax") {
      has_softmax = true;
      EXPECT_STREQ(one.tiles, "") << "it does not say";
    }
  }
  EXPECT_TRUE(has_product && has_softmax);
  check_sums();
}

TEST_F(Profile, AddsUpRuns) {
  open();
  for (int i = 0; i < 5; i++) LK_ASSERT_OK(try_run(numbers(3, 0.1f * float(i))));
  const size_t n_entries = entries().size();
  for (const lk_profile_entry &one : entries()) EXPECT_EQ(one.executions, 5u);
  check_sums();
  EXPECT_EQ(info().runs, 5u);
  EXPECT_EQ(info().binds, 1u);
  EXPECT_GT(info().bind_ns, 0u);
  LK_ASSERT_OK(try_run(numbers(40, 0.1f))); // another shape: another run plan, the same operators
  EXPECT_EQ(info().binds, 2u);
  EXPECT_GE(entries().size(), n_entries);
  double flops = 0;
  for (const lk_profile_entry &one : entries())
    flops += one.op_type == std::string("MatMul") ? one.flops : 0;
  EXPECT_EQ(flops, 2.0 * 4 * 4 * (5 * 3 + 40)) << "the work of all executions";
  check_sums();
}

TEST_F(Profile, OfRunsWithoutRunPlansCountsEachBind) {
  open(-1);
  for (int i = 0; i < 3; i++) LK_ASSERT_OK(try_run(numbers(3, 0.1f)));
  EXPECT_EQ(info().runs, 3u);
  EXPECT_EQ(info().binds, 3u);
  check_sums();
}

TEST_F(Profile, LeavesRunsWithoutItAlone) {
  open();
  LK_ASSERT_OK(try_run(numbers(3, 0.1f)));
  const lk_profile_info before = info();
  check(numbers(3, 0.3f));
  EXPECT_EQ(info().runs, before.runs);
  EXPECT_EQ(info().execute_ns, before.execute_ns);
}

TEST_F(Profile, IsEmptyAgainOnceCleared) {
  open();
  EXPECT_EQ(info().n_entries, 0u);
  LK_ASSERT_OK(try_run(numbers(3, 0.1f)));
  EXPECT_GT(info().n_entries, 0u);
  level2()->profile_clear(profile);
  EXPECT_EQ(info().n_entries, 0u);
  EXPECT_EQ(info().runs, 0u);
  lk_profile_entry entry = {};
  entry.struct_size = sizeof entry;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, level2()->profile_entry(profile, 0, &entry, LK_ERR));
  LK_ASSERT_OK(try_run(numbers(3, 0.1f)));
  EXPECT_EQ(info().runs, 1u);
  EXPECT_EQ(info().binds, 0u);
}

TEST_F(Profile, OutlivesTheSession) {
  open();
  LK_ASSERT_OK(try_run(numbers(3, 0.1f)));
  level2()->close(session);
  session = nullptr;
  EXPECT_FALSE(entries().empty());
  for (const lk_profile_entry &one : entries()) EXPECT_STRNE(one.op_type, "");
}

TEST_F(Profile, OfTwoSessionsAddsUpBoth) {
  open();
  lk_session *clone = nullptr;
  LK_ASSERT_OK(level2()->clone(session, &clone, LK_ERR));
  LK_ASSERT_OK(try_run(numbers(3, 0.1f)));
  LK_ASSERT_OK(try_run_in(clone, numbers(3, 0.1f), profile));
  level2()->close(clone);
  for (const lk_profile_entry &one : entries()) EXPECT_EQ(one.executions, 2u) << one.output_name;
  EXPECT_EQ(info().binds, 2u);
}

TEST_F(Profile, OfARunThatFailsStaysAsItWas) {
  open();
  volatile int32_t cancel = 1;
  LK_EXPECT_STATUS(LK_CANCELLED, try_run_in(session, numbers(3, 0.1f), profile, &cancel));
  EXPECT_EQ(info().runs, 0u);
  EXPECT_EQ(info().n_entries, 0u);
  LK_ASSERT_OK(try_run(numbers(3, 0.1f)));
  EXPECT_EQ(info().runs, 1u);
  check_sums();
}

TEST_F(Profile, IsUsedByOneRunAtATime) {
  open();
  LK_ASSERT_OK(lk_profile_begin(profile, LK_ERR));
  LK_EXPECT_STATUS(LK_BUSY, try_run(numbers(3, 0.1f)));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("another run uses the profile"));
  lk_profile_end(profile, nullptr);
  LK_EXPECT_OK(try_run(numbers(3, 0.1f)));
  EXPECT_EQ(info().runs, 1u);
}

TEST_F(Profile, OfManyThreadsIsOneEach) {
  open();
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      lk_profile *own = nullptr;
      failed += level2()->profile_create(nullptr, &own, nullptr) != LK_OK;
      for (size_t i = 0; i < 20; i++) {
        failed += try_run_in(session, numbers(1 + i % 3, 0.1f * float(t)), own) != LK_OK;
      }
      lk_profile_info now = {};
      now.struct_size = sizeof now;
      failed += level2()->profile_info(own, &now, nullptr) != LK_OK || now.runs != 20;
      level2()->profile_destroy(own);
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
}

TEST_F(Profile, FailsWithoutMemoryAndRunsLater) {
  open();
  check(numbers(3, 0.1f)); // the run plan is there: what allocates is the profile
  lk::FailingAllocator of_profile;
  bool done = false;
  for (size_t n = 1; !done; n++) {
    lk_profile *own = nullptr;
    of_profile.fail_at(n);
    lk_status status = level2()->profile_create(of_profile.get(), &own, LK_ERR);
    if (status == LK_OK) {
      status = try_run_in(session, numbers(3, 0.1f), own);
      done = !of_profile.failed();
      ASSERT_EQ(status, done ? LK_OK : LK_OUT_OF_MEMORY) << "allocation " << n;
      of_profile.fail_never();
      lk_profile_info now = {};
      now.struct_size = sizeof now;
      LK_ASSERT_OK(level2()->profile_info(own, &now, LK_ERR));
      EXPECT_EQ(now.runs, done ? 1u : 0u);
      LK_ASSERT_OK(try_run_in(session, numbers(3, 0.1f), own));
    } else {
      EXPECT_EQ(status, LK_OUT_OF_MEMORY);
      EXPECT_EQ(own, nullptr);
    }
    level2()->profile_destroy(own);
    EXPECT_EQ(of_profile.live_blocks(), 0u);
  }
}

// ---- steps in parallel ----

std::string branches() {
  proto::Graph g;
  g.in("x", LK_F32, {"N", "8", "H", "W"});
  Floats w(8 * 8 * 9, 0.01f);
  g.init(proto::tensor("w", LK_F32, {8, 8, 3, 3}, proto::kRawData, proto::raw(w)));
  for (int b = 0; b < 4; b++) {
    const std::string y = "y" + std::to_string(b);
    g.node(proto::node(
        "Conv", {"x", "w"}, {"c" + std::to_string(b)},
        {proto::attribute("pads", proto::kInts).num(8, 1).num(8, 1).num(8, 1).num(8, 1)}));
    g.node(proto::node("Sigmoid", {"c" + std::to_string(b)}, {y}));
    g.out(y);
  }
  return proto::model(g).bytes;
}

// After runs that met others, a number of runs get a share of the threads, even if they are alone.
void end_crowd(lk_context *context) {
  const lk_threads_ask ask = {sizeof ask, 1, 2, nullptr, nullptr, 0};
  int32_t granted = 0;
  for (int i = 0; i < 1000 && granted < 2; i++) {
    LK_ASSERT_OK(api()->threads_enter(context, &ask, &granted, LK_ERR));
    api()->threads_leave(context);
  }
  ASSERT_EQ(granted, 2);
}

TEST_F(Profile, OfBranchesTimesEachInItsLane) {
  const int32_t processors = api()->processors_get();
  LK_ASSERT_OK(api()->processors_set(2, LK_ERR));
  bytes = branches();
  lk_context_options context_options = LK_CONTEXT_OPTIONS_INIT;
  context_options.allocator = *allocator.get();
  context_options.threads = 2;
  LK_ASSERT_OK(api()->context_create(&context_options, &context, LK_ERR));
  lk_session_options options = LK_SESSION_OPTIONS_INIT;
  options.executor = LK_EXECUTOR_PARALLEL;
  options.inter = 2;
  LK_ASSERT_OK(
      level2()->open_memory(context, bytes.data(), bytes.size(), &options, &session, LK_ERR));
  end_crowd(context);
  Floats x(8 * 24 * 24, 0.5f);
  lk_named_tensor input = named("x", {1, 8, 24, 24}, x.data());
  lk_run_options run_options = lk::run_options(nullptr, 0, profile);
  for (int i = 0; i < 10; i++) {
    std::vector<lk_named_tensor> outputs = {{"y0", {}}, {"y1", {}}, {"y2", {}}, {"y3", {}}};
    LK_ASSERT_OK(level2()->run(session, &input, 1, outputs.data(), 4, &run_options, LK_ERR));
    level2()->outputs_release(session, outputs.data(), 4);
  }
  EXPECT_EQ(session_stats().parallel_runs, 10u);
  uint32_t convolutions = 0;
  for (const lk_profile_entry &one : entries()) {
    EXPECT_EQ(one.executions, 10u);
    EXPECT_EQ(one.threads, 1);
    EXPECT_EQ(one.thread_ns, one.total_ns) << "a lane is one thread";
    convolutions += one.kind == std::string("convolution");
  }
  EXPECT_EQ(convolutions, 4u);
  EXPECT_EQ(info().thread_ns, 2 * info().execute_ns);
  check_sums();
  LK_ASSERT_OK(api()->processors_set(processors, LK_ERR));
}

} // namespace
