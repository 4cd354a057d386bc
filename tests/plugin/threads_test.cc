// Threads of runs and the processors of the process, by the table: what is asked, refused, and
// said.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "tests/harness/wait.h"
#include "tests/plugin/handles.h"

namespace {

using lk::api;
using lk::Context;
using lk::wait_until;
using ::testing::HasSubstr;

Context open(int32_t threads) {
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.threads = threads;
  Context context;
  EXPECT_EQ(api()->context_create(&options, context.out(), LK_ERR), LK_OK) << LK_MESSAGE;
  return context;
}

lk_threads_ask ask_for(int32_t least, int32_t most) {
  lk_threads_ask ask = {};
  ask.struct_size = sizeof ask;
  ask.least = least;
  ask.most = most;
  return ask;
}

// What the process finds when it starts is told by processes.
std::string in_child(const char *processors, const std::function<std::string()> &fn) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    setenv("LATCHKEY_PROCESSORS", processors, 1);
    const std::string said = fn();
    _exit(write(ends[1], said.data(), said.size()) == ssize_t(said.size()) ? 0 : 1);
  }
  close(ends[1]);
  char text[512];
  const ssize_t size = read(ends[0], text, sizeof text);
  close(ends[0]);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return std::string(text, size_t(size < 0 ? 0 : size));
}

// First in this file: a number that was set once stays.
TEST(Processors, ComeFromTheEnvironment) {
  EXPECT_EQ(in_child("3", [] { return std::to_string(api()->processors_get()); }), "3");
  EXPECT_EQ(in_child("3", [] { return std::to_string(api()->context_threads(open(0))); }), "3");
  EXPECT_EQ(in_child("3",
                     [] {
                       (void)api()->processors_set(5, nullptr);
                       const Context context = open(0);
                       return std::to_string(api()->processors_get());
                     }),
            "5");
  EXPECT_THAT(in_child("0",
                       [] {
                         Context context;
                         lk_error error;
                         return api()->context_create(nullptr, context.out(), &error) ==
                                        LK_OUT_OF_RANGE
                                    ? std::string(error.message)
                                    : std::string("accepted");
                       }),
              HasSubstr("LATCHKEY_PROCESSORS"));
}

class Threads : public ::testing::Test {
protected:
  void SetUp() override { LK_ASSERT_OK(api()->processors_set(4, LK_ERR)); }
};

TEST_F(Threads, AreThoseOfTheContextUnlessTheAskSaysOtherwise) {
  const Context context = open(3);
  const std::pair<lk_threads_ask, int32_t> cases[] = {
      {ask_for(0, 0), 3}, {ask_for(1, 2), 2}, {ask_for(2, 0), 3}, {ask_for(1, 7), 7}};
  for (const auto &one : cases) {
    int32_t threads = 0;
    LK_ASSERT_OK(api()->threads_enter(context, &one.first, &threads, LK_ERR));
    EXPECT_EQ(threads, one.second);
    EXPECT_EQ(host_threads_stats().running, threads);
    api()->threads_leave(context);
    EXPECT_EQ(host_threads_stats().running, 0);
    EXPECT_GE(host_threads_stats().peak, threads);
  }
}

TEST_F(Threads, OutsideOfTheRangeAreRefused) {
  const Context context = open(3);
  for (const auto &ask : {ask_for(-1, 0), ask_for(4, 0), ask_for(3, 2), ask_for(1, 1025)}) {
    int32_t threads = 5;
    LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->threads_enter(context, &ask, &threads, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to ask for threads"));
    EXPECT_EQ(threads, 0);
  }
  lk_threads_ask none = ask_for(1, 1);
  none.struct_size = 0;
  int32_t threads = 0;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->threads_enter(context, &none, &threads, LK_ERR));
  EXPECT_EQ(host_threads_stats().running, 0);
}

// While this thread has them all: what another one is told.
TEST_F(Threads, ThatDoNotComeAreToldWhy) {
  const Context context = open(4);
  const lk_threads_ask all = ask_for(4, 4);
  int32_t mine = 0;
  LK_ASSERT_OK(api()->threads_enter(context, &all, &mine, LK_ERR));
  std::thread([&] {
    int32_t threads = 0;
    lk_threads_ask late = ask_for(1, 1);
    late.deadline_ns = 1;
    LK_EXPECT_STATUS(LK_DEADLINE, api()->threads_enter(context, &late, &threads, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("deadline passed"));
    const volatile int32_t cancel = 1;
    lk_threads_ask cancelled = ask_for(1, 1);
    cancelled.cancel = &cancel;
    LK_EXPECT_STATUS(LK_CANCELLED, api()->threads_enter(context, &cancelled, &threads, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("cancelled"));
    EXPECT_EQ(threads, 0);
  }).join();
  api()->threads_leave(context);
  EXPECT_EQ(host_threads_stats().waiting, 0);
}

TEST_F(Threads, InACrowdAreAShare) {
  const Context context = open(3);
  const lk_threads_ask one = ask_for(1, 1), any = ask_for(0, 0), all = ask_for(3, 0);
  int32_t mine = 0;
  LK_ASSERT_OK(api()->threads_enter(context, &one, &mine, LK_ERR));
  std::thread([&] {
    int32_t threads = 0;
    LK_ASSERT_OK(api()->threads_enter(context, &any, &threads, LK_ERR));
    EXPECT_EQ(threads, 2);
    api()->threads_leave(context);
    LK_ASSERT_OK(api()->threads_enter(context, &all, &threads, LK_ERR));
    EXPECT_EQ(threads, 3);
    api()->threads_leave(context);
  }).join();
  api()->threads_leave(context);
}

TEST_F(Threads, ProcessorsAreSetWithinTheirRange) {
  for (int32_t processors : {0, -1, 1025}) {
    LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->processors_set(processors, LK_ERR));
  }
  EXPECT_EQ(api()->processors_get(), 4);
  LK_ASSERT_OK(api()->processors_set(1024, LK_ERR));
  EXPECT_EQ(api()->processors_get(), 1024);
  EXPECT_EQ(host_threads_stats().processors, 1024);
}

// ---- regions -----------------------------------------------------------------------------------

// Calls `fn(index, count)` for each share.
void parallel(lk_context *context, int32_t threads, std::function<void(int32_t, int32_t)> fn) {
  api()->parallel_run(
      context, threads,
      [](void *arg, int32_t index, int32_t count) {
        (*static_cast<std::function<void(int32_t, int32_t)> *>(arg))(index, count);
      },
      &fn);
}

TEST_F(Threads, ShareAFunction) {
  const Context context = open(3);
  for (const std::pair<int32_t, int32_t> &one :
       {std::pair{0, 3}, std::pair{-1, 3}, std::pair{1, 1}, std::pair{2, 2}, std::pair{5, 5}}) {
    std::atomic<int> here{0};
    std::mutex mutex;
    std::set<int32_t> indices;
    std::set<std::thread::id> threads;
    std::thread::id first;
    parallel(context, one.first, [&](int32_t index, int32_t count) {
      EXPECT_EQ(count, one.second);
      here++;
      wait_until([&] { return here == count; }); // all at the same time
      const std::lock_guard<std::mutex> lock(mutex);
      indices.insert(index);
      threads.insert(std::this_thread::get_id());
      if (index == 0) first = std::this_thread::get_id();
    });
    EXPECT_EQ(here, one.second);
    EXPECT_EQ(int32_t(indices.size()), one.second);
    EXPECT_EQ(int32_t(threads.size()), one.second);
    EXPECT_EQ(*indices.rbegin(), one.second - 1);
    EXPECT_EQ(first, std::this_thread::get_id());
  }
}

TEST_F(Threads, AreCountedByRegions) {
  const Context context = open(2);
  std::thread([&] { // of a thread that has begun none
    EXPECT_EQ(api()->parallel_regions(), 0u);
    parallel(context, 2, [](int32_t, int32_t) {});
    EXPECT_EQ(api()->parallel_regions(), 1u);
    parallel(context, 1, [](int32_t, int32_t) {});
    EXPECT_EQ(api()->parallel_regions(), 1u);
  })
      .join();
}

TEST_F(Threads, OfARegionRunWhatLiesInItAlone) {
  const Context context = open(2);
  std::atomic<int> inner{0};
  parallel(context, 2, [&](int32_t, int32_t) {
    parallel(context, 2, [&](int32_t index, int32_t count) {
      EXPECT_EQ(index, 0);
      EXPECT_EQ(count, 1);
      inner++;
    });
  });
  EXPECT_EQ(inner, 2);
}

TEST_F(Threads, AreNeverMoreThanTheMostThatATeamMayHave) {
  const Context context = open(1);
  std::atomic<int> calls{0};
  int32_t told = 0;
  parallel(context, INT32_MAX, [&](int32_t index, int32_t count) {
    if (index == 0) told = count;
    calls++;
  });
  EXPECT_TRUE(told == 1024 || told == 1) << told; // 1: the system has no room for as many
  EXPECT_EQ(calls, told);
}

// Operators run in lanes of one frame.
TEST_F(Threads, OfARegionRunOperators) {
  const Context context = open(3);
  const lk::Executor executor = lk::executor_in(context);
  lk::TestNode node;
  node.op = "Relu";
  lk::Op op;
  LK_ASSERT_OK(node.create(executor, &op, LK_ERR));
  lk::Frame frame;
  LK_ASSERT_OK(api()->frame_create(executor, frame.out(), LK_ERR));
  LK_ASSERT_OK(api()->frame_lanes(frame, 3, LK_ERR));
  uint32_t slots[3];
  for (uint32_t &slot : slots) {
    const lk_tensor input = {lk::desc_of(LK_F32, {100}), nullptr};
    lk_bind_desc bind = host_bind(&input, 1);
    lk::Plan plan;
    LK_ASSERT_OK(lk::bind(op, bind, &plan, LK_ERR));
    LK_ASSERT_OK(api()->frame_attach(frame, plan, &slot, LK_ERR));
  }
  std::vector<float> x(100, -1.0F), y[3];
  for (auto &each : y) each.assign(100, 7.0F);
  std::atomic<int> failed{0};
  parallel(context, 3, [&](int32_t index, int32_t count) {
    for (int32_t i = index; i < 3; i += count) {
      void *const in[] = {x.data()}, *const out[] = {y[i].data()};
      failed += api()->op_run_lane(frame, uint32_t(index), slots[i], in, out, nullptr) != LK_OK;
    }
  });
  EXPECT_EQ(failed, 0);
  for (const auto &each : y) EXPECT_EQ(each, std::vector<float>(100, 0.0F));
}

// ---- loans -------------------------------------------------------------------------------------

bool rounds_up() {
  volatile float one = 1, little = 1e-10F;
  return one + little > 1;
}

TEST_F(Threads, OfTheHostWorkForALoan) {
  const Context context = open(2);
  lk_loan loan = {};
  uint64_t n_shares = 0;
  bool is_kept = false;
  std::thread helper([&] {
    std::fesetround(FE_UPWARD);
    n_shares = api()->loan_assist(context, &loan);
    is_kept = rounds_up();
  });
  const auto assistant = helper.get_id();
  std::atomic<bool> helped{false};
  std::atomic<int> wrong{0};
  api()->loan_open(context, &loan, 2);
  wait_until([&] { // until it has come, a thread of the library's stands in for it
    std::atomic<int> here{0};
    parallel(context, 2, [&](int32_t, int32_t count) {
      here++;
      wait_until([&] { return here == count; });
      if (std::this_thread::get_id() != assistant) return;
      helped = true;
      wrong += rounds_up();
    });
    return helped.load();
  });
  api()->loan_close(context, &loan);
  helper.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(n_shares, 0u);
  EXPECT_TRUE(is_kept);
}

TEST_F(Threads, ThatComeTooLateForALoanReturn) {
  const Context context = open(2);
  lk_loan loan = {}, of_one = {};
  api()->loan_open(context, &loan, 2);
  api()->loan_close(context, &loan);
  EXPECT_EQ(api()->loan_assist(context, &loan), 0u);
  std::thread helper([&] { EXPECT_EQ(api()->loan_assist(context, &of_one), 0u); });
  api()->loan_open(context, &of_one, 1); // there is nothing to share
  parallel(context, 2, [](int32_t, int32_t) {});
  api()->loan_close(context, &of_one);
  helper.join();
}

} // namespace
