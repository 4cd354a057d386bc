// How many runs of an executor are on at once: the bound holds, and one more waits or is refused.
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/executor_glue/graph/builder.h"
#include "tests/executor_glue/run/fake_api.h"

extern "C" {
#include "executor_glue/run/executor.h"
}

using lk::GraphBuilder;
using ::testing::HasSubstr;

namespace {

// Holds everybody who passes until it is opened.
class Barrier {
public:
  void pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    inside_++;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void wait_for(int inside) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return inside_ >= inside; });
  }
  void open() {
    std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool open_ = false;
};

class RunGate : public ::testing::Test {
protected:
  void make(uint32_t max_runs, bool fail_busy) {
    g.output(g.node("Relu", {g.input("x", {1})}));
    LK_ASSERT_OK(g.link());
    const lk_graph_executor_options options = {true, 1, max_runs, fail_busy, nullptr};
    LK_ASSERT_OK(lk_graph_executor_create(lk::fake::api(), &context, &executor, g.get(), &options,
                                          &e, LK_ERR));
  }
  void TearDown() override {
    lk_graph_executor_destroy(e);
    lk::fake::clear(&context);
  }
  lk_status run(lk_error *error, const lk_run_options *options = nullptr,
                const volatile uint8_t *stop = nullptr) {
    const int64_t dims[] = {1};
    float x = 3, y = 0;
    const lk_tensor input = {lk_tensor_desc_make(LK_F32, 1, dims), &x};
    lk_tensor output = {lk_tensor_desc_make(LK_F32, 1, dims), &y};
    lk_graph_run what = {};
    what.inputs = &input;
    what.outputs = &output;
    what.options = options;
    what.stop = stop;
    const lk_status status = lk_graph_executor_run(e, &what, error);
    EXPECT_EQ(y, status == LK_OK ? 3 : 0);
    return status;
  }
  // A run on a thread of its own, which is on until the barrier is opened.
  std::thread hold(Barrier *barrier) {
    context.on_run = [barrier] { barrier->pass(); };
    std::thread holder([this] { LK_EXPECT_OK(run(LK_ERR)); });
    barrier->wait_for(1);
    return holder;
  }
  uint64_t waits() {
    lk_session_stats stats = {};
    lk_graph_executor_stats(e, &stats);
    return stats.waits;
  }
  static uint64_t now_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return uint64_t(now.tv_sec) * 1000000000u + uint64_t(now.tv_nsec);
  }

  lk_context context;
  lk_executor executor{&context};
  GraphBuilder g;
  lk_graph_executor *e = nullptr;
};

TEST_F(RunGate, NeverMoreThanTheBound) {
  make(2, false);
  std::atomic<int> inside{0}, most{0}, failed{0};
  context.on_run = [&] {
    const int now = ++inside;
    int seen = most;
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    std::this_thread::yield();
    inside--;
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; t++) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; i++) failed += run(nullptr) != LK_OK;
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_LE(most, 2);
}

TEST_F(RunGate, OneMoreWaitsForAPlace) {
  make(1, false);
  Barrier barrier;
  std::thread first = hold(&barrier);
  std::atomic<bool> done{false};
  std::thread second([&] {
    LK_EXPECT_OK(run(LK_ERR));
    done = true;
  });
  while (waits() == 0) std::this_thread::yield();
  EXPECT_FALSE(done);
  barrier.open();
  first.join();
  second.join();
  EXPECT_EQ(waits(), 1u);
}

TEST_F(RunGate, OneMoreIsRefused) {
  make(1, true);
  Barrier barrier;
  std::thread first = hold(&barrier);
  LK_EXPECT_STATUS(LK_BUSY, run(LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("1 runs of it are on, at most 1"));
  barrier.open();
  first.join();
  LK_EXPECT_OK(run(LK_ERR));
  EXPECT_EQ(waits(), 0u);
}

// A child does not have the thread whose run was on.
TEST_F(RunGate, OfAChildIsEmpty) {
  make(1, true);
  Barrier barrier;
  std::thread holder = hold(&barrier);
  LK_EXPECT_STATUS(LK_BUSY, run(LK_ERR));
  const pid_t child = fork();
  if (child == 0) {
    context.on_run = {};
    _exit(run(LK_ERR) == LK_OK ? 0 : 1);
  }
  barrier.open();
  holder.join();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(RunGate, WaitsUntilItsDeadline) {
  make(1, false);
  Barrier barrier;
  std::thread first = hold(&barrier);
  const lk_run_options options = lk::run_options(nullptr, now_ns() + 3000000);
  LK_EXPECT_STATUS(LK_DEADLINE, run(LK_ERR, &options));
  EXPECT_GE(now_ns(), options.deadline_ns);
  EXPECT_THAT(LK_MESSAGE, HasSubstr("deadline"));
  barrier.open();
  first.join();
}

TEST_F(RunGate, WaitsUntilItIsCancelled) {
  make(1, false);
  Barrier barrier;
  std::thread first = hold(&barrier);
  volatile int32_t cancel = 0;
  volatile uint8_t stop = 0;
  const lk_run_options options = lk::run_options(&cancel, 0);
  std::thread second([&] {
    lk_error error;
    EXPECT_EQ(run(&error, &options), LK_CANCELLED);
    EXPECT_THAT(error.message, HasSubstr("cancelled"));
  });
  std::thread third([&] { EXPECT_EQ(run(nullptr, nullptr, &stop), LK_CANCELLED); });
  while (waits() < 2) std::this_thread::yield();
  __atomic_store_n(&cancel, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  second.join();
  third.join();
  barrier.open();
  first.join();
}

} // namespace
