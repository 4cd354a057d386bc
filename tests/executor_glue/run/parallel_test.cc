// The parallel executor on the fake level-1 library: random graphs give what the naive executor
// gives, whatever runs at once and wherever it lies in memory.
#include <random>
#include <thread>

#include "tests/executor_glue/graph/builder.h"
#include "tests/executor_glue/run/fake_api.h"

extern "C" {
#include "base/clock.h"
#include "executor_glue/run/executor.h"
}

using lk::GraphBuilder;
using ::testing::HasSubstr;
using Floats = std::vector<float>;

namespace {

constexpr int64_t ROWS = 3, COLUMNS = 5;

// An executor of its own context, made of a graph that `build` fills in.
class Subject {
public:
  template <class Build>
  Subject(Build build, uint32_t workers, bool run_plans = true, int32_t threads = 2) {
    context.threads = threads;
    build(g);
    LK_EXPECT_OK(g.link());
    const lk_graph_executor_options options = {run_plans, workers, 0, false, nullptr};
    LK_EXPECT_OK(lk_graph_executor_create(lk::fake::api(), &context, &executor, g.get(), &options,
                                          &e, LK_ERR));
  }
  ~Subject() {
    lk_graph_executor_destroy(e);
    lk::fake::clear(&context);
    EXPECT_EQ(context.count.plans, 0);
    EXPECT_EQ(context.count.frames, 0);
    if (!shared) {
      EXPECT_EQ(context.count.allocations_in_steps, 0);
    }
    EXPECT_EQ(context.count.entered, 0);
  }
  lk_status run(int64_t rows, const Floats &x, std::vector<Floats> *out, lk_error *error,
                const lk_run_options *options = nullptr) {
    const int64_t dims[] = {rows, COLUMNS};
    const lk_tensor input = {lk_tensor_desc_make(LK_F32, 2, dims), const_cast<float *>(x.data())};
    std::vector<lk_tensor> outputs(g->n_outputs);
    lk_graph_run what = {};
    what.inputs = &input;
    what.outputs = outputs.data();
    what.options = options;
    const lk_status status = lk_graph_executor_run(e, &what, error);
    out->assign(outputs.size(), {});
    for (size_t i = 0; status == LK_OK && i < outputs.size(); i++) {
      const auto *data = static_cast<const float *>(outputs[i].data);
      (*out)[i].assign(data, data + lk_elements(&outputs[i].desc));
      lk_free(context.allocator.get(), outputs[i].data);
    }
    return status;
  }
  uint64_t parallel_runs() {
    lk_session_stats stats = {};
    lk_graph_executor_stats(e, &stats);
    return stats.parallel_runs;
  }

  bool shared = false; // by threads: one's allocations are seen in the other's steps
  lk_context context;
  lk_executor executor{&context};
  GraphBuilder g;
  lk_graph_executor *e = nullptr;
};

// Operators that keep their input's shape, in every layout, in place or not, and views.
void random_graph(GraphBuilder &g, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> values = {g.input("x", {-1, COLUMNS})};
  const auto any = [&] {
    // mostly new ones: long chains; sometimes old ones: long lifetimes
    const size_t n = values.size();
    return values[random() % 3 == 0 ? random() % n : n - 1 - random() % std::min<size_t>(n, 4)];
  };
  const int count = 5 + int(random() % 40);
  for (int i = 0; i < count; i++) {
    switch (random() % 6) {
    case 0:
      values.push_back(g.node("Relu", {any()}));
      break;
    case 1:
      values.push_back(g.node("Identity", {any()}));
      break;
    case 2: {
      const int32_t a = any();
      values.push_back(g.node("Add", {a, g.filled({COLUMNS}, float(int(random() % 7) - 3))}));
      break;
    }
    default:
      values.push_back(g.node("Add", {any(), any()}));
    }
  }
  for (int i = 0; i < 3; i++) g.output(values[values.size() - 1 - random() % 5]);
}

Floats random_input(std::mt19937 &random, int64_t rows) {
  Floats x(size_t(rows * COLUMNS));
  for (float &v : x) v = float(int(random() % 9) - 4) / 4;
  return x;
}

TEST(Parallel, RandomGraphsGiveWhatTheNaiveExecutorGives) {
  uint64_t at_once = 0;
  for (uint32_t seed = 0; seed < 60; seed++) {
    const auto build = [&](GraphBuilder &g) { random_graph(g, seed); };
    std::mt19937 random(seed);
    Subject naive(build, 1);
    naive.context.scratch_bytes = seed % 4 * 24;
    for (uint32_t workers : {2u, 3u, 5u}) {
      Subject parallel(build, workers, seed % 5 != 0);
      parallel.context.scratch_bytes = naive.context.scratch_bytes;
      for (int i = 0; i < 4; i++) {
        parallel.context.grant = i % 3 == 2 ? 1 : 0; // one thread only: the same steps on it
        const int64_t rows = 1 + i / 2;
        const Floats x = random_input(random, rows);
        std::vector<Floats> expected, got;
        LK_ASSERT_OK(naive.run(rows, x, &expected, LK_ERR));
        LK_ASSERT_OK(parallel.run(rows, x, &got, LK_ERR));
        ASSERT_EQ(got, expected) << "seed " << seed << ", " << workers << " workers";
      }
      at_once += parallel.parallel_runs();
    }
    EXPECT_EQ(naive.parallel_runs(), 0u);
  }
  EXPECT_GT(at_once, 200u) << "most of these graphs have width";
}

void branches(GraphBuilder &g, int n_branches, int depth, const char *last = "Relu") {
  const int32_t x = g.input("x", {-1, COLUMNS});
  for (int b = 0; b < n_branches; b++) {
    int32_t y = x;
    for (int d = 0; d < depth; d++) y = g.node("Add", {y, g.filled({COLUMNS}, float(b + 1))});
    g.output(g.node(b == 1 ? last : "Relu", {y}));
  }
}

TEST(Parallel, ManyThreadsRunOneExecutorAtOnce) {
  const auto build = [](GraphBuilder &g) { branches(g, 4, 6); };
  Subject naive(build, 1), parallel(build, 2);
  parallel.shared = true;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  std::vector<Floats> expected[3];
  Floats inputs[3];
  for (int i = 0; i < 3; i++) {
    inputs[i] = Floats(size_t((i + 1) * COLUMNS), float(i) - 1);
    LK_ASSERT_OK(naive.run(i + 1, inputs[i], &expected[i], LK_ERR));
  }
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; i++) {
        std::vector<Floats> got;
        const int at = (i + t) % 3;
        if (parallel.run(at + 1, inputs[at], &got, nullptr) != LK_OK || got != expected[at]) {
          wrong++;
        }
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(parallel.parallel_runs(), 240u);
}

TEST(Parallel, AGraphWithoutWidthRunsAsTheNaiveOne) {
  const auto build = [](GraphBuilder &g) { branches(g, 1, 8); };
  Subject naive(build, 1), parallel(build, 4);
  std::vector<Floats> expected, got;
  const Floats x(COLUMNS, 1);
  for (int64_t rows = 1; rows <= 3; rows++) {
    const Floats each(size_t(rows * COLUMNS), 1);
    LK_ASSERT_OK(naive.run(rows, each, &expected, LK_ERR));
    LK_ASSERT_OK(parallel.run(rows, each, &got, LK_ERR));
    EXPECT_EQ(got, expected);
  }
  EXPECT_EQ(parallel.parallel_runs(), 0u);
  EXPECT_EQ(naive.context.count.binds, 27); // 9 nodes
  EXPECT_EQ(parallel.context.count.binds, 27);
}

TEST(Parallel, LessThanItAsksForIsEnough) {
  const auto build = [](GraphBuilder &g) { branches(g, 1, 8); };
  Subject parallel(build, 4);
  std::vector<Floats> got;
  const Floats x(COLUMNS, 1);
  LK_ASSERT_OK(parallel.run(1, x, &got, LK_ERR));
  parallel.context.grant = 1; // fewer than the context's 2
  const int before = parallel.context.count.binds;
  LK_ASSERT_OK(parallel.run(1, x, &got, LK_ERR));
  EXPECT_EQ(parallel.context.count.binds, before) << "a plan serves any number of threads";
  EXPECT_EQ(got[0], Floats(COLUMNS, 9));
}

TEST(Parallel, AFailingStepIsNamedAndEndsTheRun) {
  const auto build = [](GraphBuilder &g) { branches(g, 4, 3, "Boom"); };
  Subject parallel(build, 3);
  std::vector<Floats> got;
  const Floats x(COLUMNS, 1);
  for (int i = 0; i < 20; i++) {
    LK_EXPECT_STATUS(LK_INTERNAL, parallel.run(1, x, &got, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("(Boom)"));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("boom"));
  }
}

// The first step that runs makes an end of the run: those that are on finish, and no other begins.
TEST(Parallel, IsStoppedBetweenSteps) {
  const auto build = [](GraphBuilder &g) { branches(g, 4, 3); };
  for (const bool by_deadline : {false, true}) {
    Subject parallel(build, 3);
    std::vector<Floats> got;
    const Floats x(COLUMNS, 1);
    LK_ASSERT_OK(parallel.run(1, x, &got, LK_ERR));
    const int runs = parallel.context.count.runs;
    volatile int32_t cancel = 0;
    lk_run_options options = lk::run_options(&cancel, 0);
    if (by_deadline) options.deadline_ns = lk_now_ns() + 500000000u;
    parallel.context.on_run = [&] {
      if (!by_deadline) __atomic_store_n(&cancel, 1, __ATOMIC_RELAXED);
      while (lk_now_ns() < options.deadline_ns) std::this_thread::yield();
    };
    LK_EXPECT_STATUS(by_deadline ? LK_DEADLINE : LK_CANCELLED,
                     parallel.run(1, x, &got, LK_ERR, &options));
    EXPECT_THAT(LK_MESSAGE, HasSubstr(by_deadline ? "the deadline passed before node"
                                                  : "cancelled before node"));
    EXPECT_LE(parallel.context.count.runs, 2 * runs - 3);
  }
}

TEST(Parallel, SurvivesEveryFailedAllocation) {
  const Floats x(COLUMNS, 1);
  int failures = 0;
  for (size_t nth = 1;; nth++) {
    Subject parallel([](GraphBuilder &g) { branches(g, 3, 3); }, 2);
    std::vector<Floats> got;
    parallel.context.allocator.fail_at(nth);
    const lk_status status = parallel.run(1, x, &got, LK_ERR);
    parallel.context.allocator.fail_never();
    if (!parallel.context.allocator.failed()) {
      EXPECT_GT(failures, 10);
      break;
    }
    if (status != LK_OK) { // the name of an implementation that is not noted is no failure
      EXPECT_EQ(status, LK_OUT_OF_MEMORY);
      failures++;
    }
    LK_ASSERT_OK(parallel.run(1, x, &got, LK_ERR));
    EXPECT_EQ(got[0], Floats(COLUMNS, 4));
  }
}

} // namespace
