// A process that forks after it has run primitives, while it runs them or builds them: its child
// finds what there was, builds what is new, and computes what it should.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "tests/harness/wait.h"
#include "tests/ops/engine/onednn/random_nodes.h"

namespace {

using lk::api;
using lk::Case;
using lk::Host;
using lk::RandomNodes;
using lk::Value;

#if defined(__SANITIZE_THREAD__)
#define LK_SKIP_UNDER_TSAN() GTEST_SKIP() << "ThreadSanitizer starts no threads after a fork"
#else
#define LK_SKIP_UNDER_TSAN() (void)0
#endif
#if defined(__SANITIZE_ADDRESS__)
#define LK_SKIP_UNDER_ASAN()                                                                       \
  GTEST_SKIP() << "AddressSanitizer's own allocator does not outlive a fork"
#else
#define LK_SKIP_UNDER_ASAN() (void)0
#endif

// Calls `work` in a child, which has two minutes; 0: it came to its end, and nothing failed in it.
int in_child(const std::function<void()> &work) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(120);
    work();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  EXPECT_GT(pid, 0);
  int status = -1;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return status;
}

// A node with the bits of its output by this host.
struct Known {
  Case node;
  Value output;
};

std::vector<Known> run_some(Host *host, unsigned seed, int count) {
  RandomNodes random(seed);
  std::vector<Known> all;
  for (int i = 0; i < count; i++) {
    all.push_back({random.any(), {}});
    host->run(all.back().node, &all.back().output);
  }
  return all;
}

void expect_same_bits(Host *host, const std::vector<Known> &all) {
  for (const Known &each : all) {
    Value output;
    host->run(each.node, &output);
    EXPECT_EQ(output.bytes, each.output.bytes) << each.node.node.op;
  }
}

// Nodes that the host has not seen, beside an engine that knows no locks.
void expect_right(Host *host, Host *native, unsigned seed, int count) {
  RandomNodes random(seed);
  for (int i = 0; i < count; i++) {
    const Case node = random.any();
    Value expected, output;
    native->run(node, &expected);
    host->run(node, &output);
    EXPECT_TRUE(lk::all_close(expected, output, {1e-5, 1e-5})) << node.node.op;
  }
}

uint64_t builds(const Host &host) {
  return host.stats().kind[LK_KIND_VALUE].builds;
}

class OnednnFork : public ::testing::TestWithParam<int> {};

TEST_P(OnednnFork, ChildFindsWhatThereWasAndBuildsWhatIsNew) {
  LK_SKIP_UNDER_TSAN();
  Host native("native", GetParam()), onednn("onednn", GetParam());
  const std::vector<Known> known = run_some(&onednn, 1, 60);
  const uint64_t built = builds(onednn);
  EXPECT_GT(built, 20u);
  const auto go_on = [&](unsigned seed) {
    expect_same_bits(&onednn, known);
    EXPECT_EQ(builds(onednn), built);
    expect_right(&onednn, &native, seed, 60);
    EXPECT_GT(builds(onednn), built + 20);
    // in a context of its own, which opens the module anew
    Host other("onednn", GetParam());
    expect_right(&other, &native, 1, 20);
    EXPECT_GT(builds(other), 5u);
  };
  EXPECT_EQ(in_child([&] {
              go_on(2);
              const uint64_t before = builds(onednn);
              std::thread([&] { expect_right(&onednn, &native, 3, 20); }).join();
              EXPECT_GT(builds(onednn), before);
            }),
            0);
  go_on(2); // and so does the parent
}

// A plan that is in use across the fork: its primitive, its packed weights, and its slot of a frame
// with memory objects and a stream.
TEST_P(OnednnFork, ChildRunsThePlansThatWereAttached) {
  const Value x = lk::random({40, 64}, 1), w = lk::random({64, 48}, 2), y = lk::ref::matmul(x, w);
  const lk::Context context = lk::open_with("onednn", GetParam());
  const lk::Executor executor = lk::executor_in(context);
  lk::TestNode node;
  node.op = "MatMul";
  node.n_inputs = 2;
  node.constants = {w};
  lk::Op op;
  lk::Plan plan;
  lk::Frame frame;
  uint32_t slot = 0;
  LK_ASSERT_OK(node.create(executor, &op, LK_ERR));
  LK_ASSERT_OK(lk::bind(op, {x.desc, w.desc}, &plan, LK_ERR, -1, LK_LAYOUT_PLAIN));
  EXPECT_EQ(host_plan_info(plan).n_values, lk::kHasPrimitives ? 1u : 0u);
  LK_ASSERT_OK(api()->frame_create(executor, frame.out(), LK_ERR));
  LK_ASSERT_OK(api()->frame_attach(frame, plan, &slot, LK_ERR));
  const auto expect_run = [&] {
    lk::Memory from = x.in(LK_LAYOUT_PLAIN), to(y.bytes.size());
    void *inputs[] = {from.data(), nullptr}, *outputs[] = {to.data()};
    LK_EXPECT_OK(api()->op_run(frame, slot, inputs, outputs, LK_ERR));
    EXPECT_TRUE(lk::all_close(y, Value::from(y.desc, to.data()), {1e-5, 1e-5}));
  };
  expect_run();
#if !defined(__SANITIZE_THREAD__)
  EXPECT_EQ(in_child([&] {
              for (int i = 0; i < 3; i++) expect_run();
            }),
            0);
#endif
  expect_run();
}

INSTANTIATE_TEST_SUITE_P(Threads, OnednnFork, ::testing::Values(1, 3));

// Threads that build primitives nearly all the time, and run them in between: no child is made
// within a build, and each goes on.
TEST(OnednnForks, ChildOfAnyMomentOfBuildsGoesOn) {
  LK_SKIP_UNDER_TSAN();
  LK_SKIP_UNDER_ASAN();
  Host native("native"), onednn("onednn");
  const std::vector<Known> known = run_some(&onednn, 1, 10);
  std::atomic<bool> done{false};
  std::atomic<int64_t> rows{1};
  const Value w = lk::random({64, 64}, 1);
  const auto build = [&] {
    while (!done) {
      Case node;
      const Value x = lk::random({rows++, 64}, 2);
      node.node.op = "MatMul";
      node.inputs = {x, w};
      node.node.constants = {w};
      node.node.post_ops = {{LK_POST_TANH, -1, 0, 0}};
      Value output;
      onednn.run(node, &output);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++) threads.emplace_back(build);
  for (unsigned i = 0; i < 30; i++) {
    const int64_t seen = rows;
    lk::wait_until([&] { return rows > seen + int64_t(i % 4); }); // in the midst of the next
    EXPECT_EQ(in_child([&] {
                const uint64_t before = builds(onednn);
                expect_same_bits(&onednn, known);
                expect_right(&onednn, &native, 100 + i, 10);
                EXPECT_GT(builds(onednn), before);
              }),
              0)
        << i;
    if (HasFailure()) break;
  }
  done = true;
  for (std::thread &thread : threads) thread.join();
}

} // namespace
