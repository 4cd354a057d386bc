// Frames that go from one run plan to another, while the entry that had them ends.
#include <atomic>
#include <functional>

#include "tests/executor_glue/run/fake_api.h"

using std::atomic_size_t; // of members that no test looks at, as is the next one
#define _Atomic
extern "C" {
#include "base/alloc.h"
#include "base/tensor.h"
#include "executor_glue/graph/graph.h"
#include "executor_glue/run/frame_pool.h"
}

namespace {

constexpr int kMostIdle = 8; // four for each of the fake's two processors

// Called before each allocation of the context: the pool allocates without its lock, so other
// threads may do then whatever this does.
std::function<void()> before_allocation;
const lk_allocator *underneath;

void *allocate(void *, size_t bytes, size_t alignment) {
  std::function<void()> hook;
  hook.swap(before_allocation); // once
  if (hook) hook();
  return underneath->alloc(underneath->user, bytes, alignment);
}
void release(void *, void *block) {
  underneath->free(underneath->user, block);
}

const lk_allocator hooked = {nullptr, allocate, release};

class FramePool : public ::testing::Test {
protected:
  void SetUp() override {
    underneath = context.allocator.get();
    api = *lk::fake::api();
    api.context_allocator = [](const lk_context *) { return &hooked; };
    program.api = &api;
    program.context = &context;
    program.executor = &executor;
    program.graph = &graph;
    program.allocator = &hooked;
    LK_ASSERT_OK(lk_size_log_create(&hooked, "run", &sizes, LK_ERR));
    LK_ASSERT_OK(lk_frame_pool_create(&program, sizes, &pool, LK_ERR));
  }
  void TearDown() override {
    before_allocation = nullptr;
    lk_frame_pool_destroy(pool);
    lk_size_log_destroy(sizes);
    EXPECT_EQ(context.count.frames, 0);
    EXPECT_EQ(context.allocator.live_blocks(), 0u);
  }

  // What the run plan of an input of `n` elements has in the log.
  lk_size_record *note(int64_t n) {
    const lk_tensor_desc input = lk_tensor_desc_make(LK_F32, 1, &n);
    const lk_size_build build = {&input, nullptr, 1, 0, 1000, 2000, 500, false};
    lk_size_record *record = nullptr;
    LK_EXPECT_OK(lk_size_log_add(sizes, &build, &record, LK_ERR));
    return record;
  }
  // An entry of a run plan without steps.
  lk_plan_entry *entry(int64_t n, uint64_t arena_bytes) {
    auto *plan = static_cast<lk_run_plan *>(lk_calloc(&hooked, 1, sizeof(lk_run_plan)));
    plan->program = &program;
    plan->arena_bytes = arena_bytes;
    lk_plan_entry *made = nullptr;
    LK_EXPECT_OK(lk_plan_entry_create(pool, plan, true, &made, LK_ERR));
    lk_plan_entry_set_size(made, note(n));
    return made;
  }
  // As many runs at a time as frames are kept, of `runs` runs each.
  void fill(lk_plan_entry *of, int runs) {
    std::vector<lk_lease> leases(kMostIdle);
    for (lk_lease &lease : leases) LK_ASSERT_OK(lk_lease_acquire(of, &lease, LK_ERR));
    for (lk_lease &lease : leases) {
      for (int i = 0; i < runs; i++) lk_execution_frame_add_run(lease.frame);
      lk_lease_release(of, &lease);
    }
  }
  // Runs of the size, as the log shows them; -1: it has no such size.
  int64_t runs_of(int64_t n) {
    std::pair<int64_t, int64_t> found = {n, -1};
    auto look = [](void *arg, const lk_session_size *size) {
      auto *wanted = static_cast<std::pair<int64_t, int64_t> *>(arg);
      if (size->inputs[0].dims[0] == wanted->first) wanted->second = int64_t(size->runs);
    };
    LK_EXPECT_OK(lk_size_log_visit(sizes, look, &found, LK_ERR));
    return found.second;
  }

  lk_context context;
  lk_executor executor{&context};
  lk_graph graph = {};
  lk_program program = {};
  lk_api api = {};
  lk_size_log *sizes = nullptr;
  lk_frame_pool *pool = nullptr;
};

// Between the moment a frame is taken from another entry and that when it is attached to its new
// plan, the other entry ends, and so many sizes are built that its record leaves the log.
TEST_F(FramePool, AFrameTakenFromAnEntryNeedsItsRecordNoMore) {
  lk_plan_entry *first = entry(1, 0);
  fill(first, 3);
  lk_plan_entry *second = entry(2, 1000);
  int64_t runs = -1;
  before_allocation = [&] { // of the second's arena
    runs = runs_of(1);
    lk_plan_entry_destroy(first);
    first = nullptr;
    for (int64_t n = 10; n < 10 + LK_SIZES_MAX; n++) lk_size_log_release(sizes, note(n));
    EXPECT_EQ(runs_of(1), -1);
  };
  lk_lease lease;
  LK_ASSERT_OK(lk_lease_acquire(second, &lease, LK_ERR));
  EXPECT_EQ(first, nullptr) << "the other entry has not ended meanwhile";
  EXPECT_GE(runs, 3) << "the runs of the frame that was taken, at least";
  lk_lease_release(second, &lease);
  lk_plan_entry_destroy(second);
}

// The same where the new plan gets no arena, so that the frame is freed.
TEST_F(FramePool, NorWhereItIsFreed) {
  lk_plan_entry *first = entry(1, 0);
  fill(first, 3);
  lk_plan_entry *second = entry(2, 1000);
  before_allocation = [&] {
    lk_plan_entry_destroy(first);
    first = nullptr;
    for (int64_t n = 10; n < 10 + LK_SIZES_MAX; n++) lk_size_log_release(sizes, note(n));
    context.allocator.fail_at(1, true);
  };
  lk_lease lease;
  LK_EXPECT_STATUS(LK_OUT_OF_MEMORY, lk_lease_acquire(second, &lease, LK_ERR));
  context.allocator.fail_never();
  EXPECT_EQ(first, nullptr) << "the other entry has not ended meanwhile";
  lk_plan_entry_destroy(second);
}

} // namespace
