// Schedules of random orders, against what plain loops over all pairs of steps say.
#include <algorithm>
#include <atomic>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/alloc.h"
#include "executor_glue/run/ready_queue.h"
#include "executor_glue/run/schedule.h"
}

namespace {

struct Dag {
  uint32_t n = 0;
  std::vector<std::set<uint32_t>> before; // of each step: direct
  std::vector<double> costs;

  uint32_t words() const { return (n + 63) / 64; }
  std::vector<uint64_t> bits() const {
    std::vector<uint64_t> all(size_t(n) * words());
    for (uint32_t s = 0; s < n; s++) {
      for (uint32_t p : before[s]) all[s * words() + p / 64] |= uint64_t(1) << p % 64;
    }
    return all;
  }
};

Dag random_dag(std::mt19937 &random, uint32_t n) {
  Dag dag;
  dag.n = n;
  dag.before.resize(n);
  for (uint32_t s = 0; s < n; s++) {
    for (uint32_t k = random() % 4; s > 0 && k > 0; k--) dag.before[s].insert(random() % s);
    dag.costs.push_back(double(1 + random() % 100));
  }
  return dag;
}

class Schedule {
public:
  explicit Schedule(const Dag &dag) {
    LK_EXPECT_OK(lk_schedule_create(lk_get_api(LK_API_VERSION), lk_allocator_default(),
                                    dag.bits().data(), dag.words(), dag.costs.data(), dag.n,
                                    &schedule_, LK_ERR));
  }
  ~Schedule() { lk_schedule_destroy(lk_allocator_default(), schedule_); }
  const lk_schedule *operator->() const { return schedule_; }
  const lk_schedule *get() const { return schedule_; }

private:
  lk_schedule *schedule_ = nullptr;
};

// The longest way from the beginning of a step to the end of all.
std::vector<double> urgency(const Dag &dag) {
  std::vector<double> longest(dag.n, 0);
  for (uint32_t s = dag.n; s-- > 0;) {
    longest[s] += dag.costs[s];
    for (uint32_t p : dag.before[s]) longest[p] = std::max(longest[p], longest[s]);
  }
  return longest;
}

TEST(RunSchedule, HasEveryEdgeTheMostUrgentFirst) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; round++) {
    const Dag dag = random_dag(random, 1 + random() % 150);
    const std::vector<double> urgent = urgency(dag);
    const Schedule schedule(dag);
    std::vector<std::set<uint32_t>> before(dag.n);
    uint32_t n_roots = 0;
    for (uint32_t s = 0; s < dag.n; s++) {
      EXPECT_EQ(schedule->n_predecessors[s], dag.before[s].size());
      n_roots += dag.before[s].empty();
      for (uint32_t i = schedule->first_successor[s]; i < schedule->first_successor[s + 1]; i++) {
        before[schedule->successors[i]].insert(s);
        if (i > schedule->first_successor[s]) {
          EXPECT_GE(urgent[schedule->successors[i - 1]], urgent[schedule->successors[i]]);
        }
      }
    }
    EXPECT_EQ(before, dag.before);
    ASSERT_EQ(schedule->n_roots, n_roots);
    for (uint32_t i = 0; i < n_roots; i++) {
      EXPECT_TRUE(dag.before[schedule->roots[i]].empty());
      if (i > 0) {
        EXPECT_GE(urgent[schedule->roots[i - 1]], urgent[schedule->roots[i]]);
      }
    }
    if (HasFailure()) return;
  }
}

double length_of(const Dag &dag, uint32_t workers) {
  const Schedule schedule(dag);
  double length = 0;
  LK_EXPECT_OK(lk_schedule_makespan(lk_get_api(LK_API_VERSION), lk_allocator_default(),
                                    schedule.get(), dag.costs.data(), workers, &length, LK_ERR));
  return length;
}

TEST(RunSchedule, LengthIsBetweenItsBounds) {
  std::mt19937 random(2);
  for (int round = 0; round < 200; round++) {
    const Dag dag = random_dag(random, 1 + random() % 80);
    const std::vector<double> urgent = urgency(dag);
    double sum = 0;
    for (double cost : dag.costs) sum += cost;
    const double longest = *std::max_element(urgent.begin(), urgent.end());
    EXPECT_DOUBLE_EQ(length_of(dag, 1), sum);
    for (uint32_t workers : {2u, 3u, 8u}) {
      const double length = length_of(dag, workers);
      EXPECT_GE(length, std::max(longest, sum / workers) - 1e-6);
      EXPECT_LE(length, sum + 1e-6);
    }
    EXPECT_DOUBLE_EQ(length_of(dag, dag.n), longest) << "with a worker for each step";
    if (HasFailure()) return;
  }
}

TEST(RunSchedule, ChainsSideBySideShareTheWorkers) {
  Dag dag;
  dag.n = 8;
  dag.before = {{}, {0}, {1}, {2}, {}, {4}, {5}, {6}};
  dag.costs = {1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_DOUBLE_EQ(length_of(dag, 1), 8);
  EXPECT_DOUBLE_EQ(length_of(dag, 2), 4);
  EXPECT_DOUBLE_EQ(length_of(dag, 3), 4);
}

TEST(RunSchedule, SurvivesEveryFailedAllocation) {
  std::mt19937 random(3);
  const Dag dag = random_dag(random, 40);
  lk::fail_every_allocation([&](lk::FailingAllocator &allocator) {
    lk_schedule *schedule = nullptr;
    lk_ready_queue *turns = nullptr;
    double length = 0;
    lk_status status =
        lk_schedule_create(lk_get_api(LK_API_VERSION), allocator.get(), dag.bits().data(),
                           dag.words(), dag.costs.data(), dag.n, &schedule, LK_ERR);
    if (status == LK_OK) {
      status = lk_schedule_makespan(lk_get_api(LK_API_VERSION), allocator.get(), schedule,
                                    dag.costs.data(), 2, &length, LK_ERR);
    }
    if (status == LK_OK) status = lk_ready_queue_create(allocator.get(), schedule, &turns, LK_ERR);
    lk_ready_queue_destroy(turns);
    lk_schedule_destroy(allocator.get(), schedule);
    return status;
  });
}

// ---- turns ----

class Turns {
public:
  explicit Turns(const lk_schedule *schedule) {
    LK_EXPECT_OK(lk_ready_queue_create(lk_allocator_default(), schedule, &turns_, LK_ERR));
    LK_EXPECT_OK(api_->context_create(nullptr, &context_, LK_ERR));
  }
  ~Turns() {
    lk_ready_queue_destroy(turns_);
    api_->context_destroy(context_);
  }
  bool run(uint32_t workers, lk_run_step_fn *step, void *arg) const {
    return lk_ready_queue_run(turns_, api_, context_, workers, step, arg);
  }

private:
  const lk_api *api_ = lk_get_api(LK_API_VERSION);
  lk_context *context_ = nullptr;
  lk_ready_queue *turns_ = nullptr;
};

struct Taken {
  const Dag *dag;
  uint32_t fails_at = UINT32_MAX;
  std::vector<std::atomic<int>> runs, in_lane;
  std::vector<uint32_t> value; // plain memory: written by a step, read by those that wait for it
  std::atomic<int> early{0}, shared_lane{0};

  explicit Taken(const Dag &d) : dag(&d), runs(d.n), in_lane(64), value(d.n) {}
  static bool run(void *arg, uint32_t step, uint32_t lane) {
    auto *self = static_cast<Taken *>(arg);
    if (self->in_lane[lane]++ != 0) self->shared_lane++;
    uint32_t sum = 1;
    for (uint32_t p : self->dag->before[step]) {
      if (self->runs[p] != 1) self->early++;
      sum += self->value[p];
    }
    if (step % 7 == 0) std::this_thread::yield();
    self->value[step] = sum;
    self->runs[step]++;
    self->in_lane[lane]--;
    return step != self->fails_at;
  }
};

TEST(RunTurns, EveryStepRunsOnceAfterWhatItWaitsFor) {
  std::mt19937 random(4);
  for (int round = 0; round < 100; round++) {
    const Dag dag = random_dag(random, 1 + random() % 120);
    const Schedule schedule(dag);
    const Turns turns(schedule.get());
    std::vector<uint32_t> value(dag.n, 1);
    for (uint32_t s = 0; s < dag.n; s++) {
      for (uint32_t p : dag.before[s]) value[s] += value[p];
    }
    for (uint32_t workers : {1u, 2u, 4u, 3u}) {
      Taken taken(dag);
      ASSERT_TRUE(turns.run(workers, Taken::run, &taken));
      EXPECT_EQ(taken.early, 0);
      EXPECT_EQ(taken.shared_lane, 0);
      EXPECT_EQ(taken.value, value);
      for (const auto &runs : taken.runs) ASSERT_EQ(runs, 1);
    }
  }
}

TEST(RunTurns, AStepThatSaysSoEndsTheRun) {
  std::mt19937 random(5);
  for (int round = 0; round < 60; round++) {
    const Dag dag = random_dag(random, 2 + random() % 60);
    const Schedule schedule(dag);
    const Turns turns(schedule.get());
    Taken taken(dag);
    taken.fails_at = random() % dag.n;
    EXPECT_FALSE(turns.run(1 + round % 3, Taken::run, &taken));
    EXPECT_EQ(taken.runs[taken.fails_at], 1);
    for (uint32_t s = 0; s < dag.n; s++) {
      EXPECT_LE(taken.runs[s], 1);
      if (dag.before[s].count(taken.fails_at) > 0) {
        EXPECT_EQ(taken.runs[s], 0) << "it waits for what failed";
      }
    }
    Taken again(dag); // the same turns serve the next run
    EXPECT_TRUE(turns.run(2, Taken::run, &again));
    if (HasFailure()) return;
  }
}

} // namespace
