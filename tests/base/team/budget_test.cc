// How many threads compute at once: who gets how many, who waits for whom, and when waiting ends.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "tests/harness/lk_test.h"
#include "tests/harness/wait.h"

extern "C" {
#include "base/team/budget.h"
}

namespace {

using Clock = std::chrono::steady_clock;
using lk::wait_until;
using std::chrono::milliseconds;

constexpr int kUntilAlone = 32; // runs that meet nobody, before one is taken to be alone

lk_budget_ask ask_for(int least, int most) {
  lk_budget_ask ask = {};
  ask.least = least;
  ask.most = most;
  return ask;
}

lk_budget_ask fixed(int threads) {
  return ask_for(threads, threads);
}

int enter(int least, int most) {
  const lk_budget_ask ask = ask_for(least, most);
  return lk_budget_enter(&ask);
}

uint64_t ns_from_now(milliseconds time) { // what steady_clock reads is CLOCK_MONOTONIC
  return uint64_t((Clock::now() + time).time_since_epoch() / std::chrono::nanoseconds(1));
}

void wait_for_queue(int waiting) {
  wait_until([=] { return lk_budget_state_get().waiting == waiting; });
}

// A thread that is inside until it is told to leave.
class Guest {
public:
  explicit Guest(const lk_budget_ask &ask)
      : thread_([this, ask] {
          const int granted = lk_budget_enter(&ask);
          granted_ = granted;
          if (granted <= 0) return;
          wait_until([this] { return leaves_.load(); });
          lk_budget_leave();
        }) {}
  ~Guest() { leave(); }
  int granted() const {
    wait_until([this] { return granted_ != 0; });
    return granted_;
  }
  bool is_inside() const { return granted_ > 0; }
  void leave() {
    leaves_ = true;
    if (thread_.joinable()) thread_.join();
  }

private:
  std::atomic<int> granted_{0};
  std::atomic<bool> leaves_{false};
  std::thread thread_;
};

class Budget : public ::testing::Test {
protected:
  void SetUp() override {
    lk_budget_set_processors(4);
    for (int i = 0; i <= kUntilAlone; i++) {
      (void)enter(1, 4);
      lk_budget_leave();
    }
  }
  void TearDown() override {
    const lk_budget_state now = lk_budget_state_get();
    EXPECT_EQ(now.running, 0);
    EXPECT_EQ(now.waiting, 0);
  }
};

TEST_F(Budget, GivesAllToARunThatIsAlone) {
  for (int most : {1, 2, 4, 9}) { // also more than there are
    const int granted = enter(1, most);
    EXPECT_EQ(granted, most);
    EXPECT_EQ(lk_budget_state_get().running, most);
    lk_budget_leave();
  }
}

TEST_F(Budget, TellsWhatThisThreadHas) {
  EXPECT_EQ(lk_budget_granted(), 0);
  EXPECT_GE(enter(1, 3), 1);
  EXPECT_EQ(lk_budget_granted(), 3);
  EXPECT_GE(enter(2, 2), 1); // a run in a callback of the run
  EXPECT_EQ(lk_budget_granted(), 3);
  std::thread([] { EXPECT_EQ(lk_budget_granted(), 0); }).join();
  lk_budget_leave();
  EXPECT_EQ(lk_budget_granted(), 3);
  lk_budget_leave();
  EXPECT_EQ(lk_budget_granted(), 0);
}

TEST_F(Budget, LetsNobodyBesideARunThatHasMoreThanThereAre) {
  Guest large(ask_for(1, 9));
  EXPECT_EQ(large.granted(), 9);
  Guest small(ask_for(1, 1));
  wait_for_queue(1);
  EXPECT_FALSE(small.is_inside());
  large.leave();
  EXPECT_EQ(small.granted(), 1);
}

TEST_F(Budget, GivesAShareInACrowdAndForAWhileAfter) {
  {
    Guest first(ask_for(1, 4));
    EXPECT_EQ(first.granted(), 4);
    Guest second(ask_for(1, 4));
    wait_for_queue(1);
    first.leave();
    EXPECT_EQ(second.granted(), 2);
    Guest third(ask_for(1, 4));
    EXPECT_EQ(third.granted(), 2);
    EXPECT_EQ(lk_budget_state_get().running, 4);
  }
  for (int i = 0; i < kUntilAlone; i++) {
    const int granted = enter(1, 4);
    EXPECT_EQ(granted, 2) << i;
    lk_budget_leave();
  }
  const int granted = enter(1, 4);
  EXPECT_EQ(granted, 4);
  lk_budget_leave();
}

TEST_F(Budget, LetsRunsOfOneThreadRunAtOnce) {
  lk_budget_set_processors(2);
  std::vector<std::unique_ptr<Guest>> guests;
  for (int i = 0; i < 8; i++) {
    guests.push_back(std::make_unique<Guest>(ask_for(1, 1 + i % 2)));
    EXPECT_EQ(guests.back()->granted(), 1) << i;
  }
  EXPECT_EQ(lk_budget_state_get().running, 8);
  Guest large(fixed(2)); // has a worker, and is not kept waiting by those that come later
  wait_for_queue(1);
  Guest late(ask_for(1, 1));
  wait_for_queue(2);
  for (auto &guest : guests) guest->leave();
  EXPECT_EQ(large.granted(), 2);
  EXPECT_FALSE(late.is_inside());
  large.leave();
  EXPECT_EQ(late.granted(), 1);
}

TEST_F(Budget, GivesTheMostToAllWhereThereIsRoom) {
  Guest first(ask_for(1, 2)), second(ask_for(1, 2));
  EXPECT_EQ(first.granted(), 2);
  EXPECT_EQ(second.granted(), 2);
  Guest third(ask_for(1, 2));
  wait_for_queue(1); // no room, and a crowd from now on
  first.leave();
  EXPECT_EQ(third.granted(), 2); // half of 4
}

TEST_F(Budget, GivesNoMoreThanThereIsRoomFor) {
  Guest first(fixed(3));
  EXPECT_EQ(first.granted(), 3);
  const int share = enter(1, 4);
  EXPECT_EQ(share, 1); // half of 4 would be 2
  lk_budget_leave();
  Guest second(ask_for(2, 4));
  wait_for_queue(1);
  first.leave();
  EXPECT_EQ(second.granted(), 2);
}

TEST_F(Budget, GivesAFixedRunItsThreadsAlways) {
  Guest first(ask_for(1, 1));
  EXPECT_EQ(first.granted(), 1);
  Guest second(fixed(3));
  EXPECT_EQ(second.granted(), 3);
  Guest third(fixed(3));
  wait_for_queue(1);
  first.leave();                               // room for one
  EXPECT_EQ(lk_budget_state_get().waiting, 1); // who leaves takes those that may go in out of it
  second.leave();
  EXPECT_EQ(third.granted(), 3);
  Guest large(fixed(6));
  wait_for_queue(1);
  third.leave();
  EXPECT_EQ(large.granted(), 6);
}

TEST_F(Budget, ServesInTheOrderOfArrival) {
  for (int repeat = 0; repeat < 20; repeat++) {
    EXPECT_EQ(enter(4, 4), 4);
    std::vector<int> order;
    std::atomic<int> n_ended{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; i++) {
      threads.emplace_back([&, i] {
        EXPECT_EQ(enter(3, 3), 3); // one at a time
        order.push_back(i);
        lk_budget_leave();
        n_ended++;
      });
      wait_for_queue(i + 1);
    }
    lk_budget_leave();
    for (std::thread &t : threads) t.join();
    EXPECT_THAT(order, ::testing::ElementsAre(0, 1, 2, 3, 4, 5));
  }
}

TEST_F(Budget, LetsNobodyPassWhoWouldFit) {
  Guest inside(ask_for(2, 2));
  EXPECT_EQ(inside.granted(), 2);
  Guest large(fixed(4));
  wait_for_queue(1);
  Guest small(ask_for(1, 1)); // there is room for it
  wait_for_queue(2);
  EXPECT_FALSE(small.is_inside());
  inside.leave();
  EXPECT_EQ(large.granted(), 4);
  EXPECT_FALSE(small.is_inside());
  large.leave();
  EXPECT_EQ(small.granted(), 1);
}

TEST_F(Budget, IsFullWhereAllIsGrantedOrSomeoneWaits) {
  EXPECT_FALSE(lk_budget_is_full());
  Guest most(fixed(3));
  EXPECT_EQ(most.granted(), 3);
  EXPECT_FALSE(lk_budget_is_full());
  Guest all(fixed(4));
  wait_for_queue(1);
  EXPECT_TRUE(lk_budget_is_full());
  most.leave();
  EXPECT_EQ(all.granted(), 4);
  EXPECT_TRUE(lk_budget_is_full());
  all.leave();
  EXPECT_FALSE(lk_budget_is_full());
}

TEST_F(Budget, DoesNotLetAThreadWaitForItself) {
  const int outer = enter(1, 4);
  EXPECT_EQ(outer, 4);
  const int inner = enter(1, 4);
  EXPECT_EQ(inner, 1);
  const lk_budget_ask ask = fixed(4);
  const int innermost = lk_budget_enter(&ask);
  EXPECT_EQ(innermost, 4) << "its bits must be the same";
  EXPECT_EQ(lk_budget_state_get().running, 4);
  lk_budget_leave();
  lk_budget_leave();
  EXPECT_EQ(lk_budget_state_get().running, 4);
  lk_budget_leave();
}

TEST_F(Budget, StopsWaitingWhenTold) {
  Guest inside(ask_for(4, 4));
  EXPECT_EQ(inside.granted(), 4);
  volatile int32_t cancel = 0;
  volatile uint8_t stop = 0;
  lk_budget_ask cancelled = ask_for(1, 1), stopped = ask_for(1, 1);
  cancelled.limit.cancel = &cancel;
  stopped.limit.stop = &stop;
  Guest first(cancelled);
  wait_for_queue(1);
  Guest second(stopped);
  wait_for_queue(2);
  __atomic_store_n(const_cast<int32_t *>(&cancel), 1, __ATOMIC_SEQ_CST);
  EXPECT_EQ(first.granted(), LK_WAIT_CANCELLED);
  __atomic_store_n(const_cast<uint8_t *>(&stop), 1, __ATOMIC_SEQ_CST);
  EXPECT_EQ(second.granted(), LK_WAIT_CANCELLED);
  EXPECT_EQ(lk_budget_enter(&cancelled), LK_WAIT_CANCELLED) << "at once";
  inside.leave();
  const int granted = enter(1, 1); // the mark of the queue is gone
  EXPECT_EQ(granted, 1);
  lk_budget_leave();
}

TEST_F(Budget, ServesThoseBehindOneThatGivesUp) {
  Guest inside(ask_for(2, 2));
  EXPECT_EQ(inside.granted(), 2);
  volatile int32_t cancel = 0;
  lk_budget_ask large = fixed(4);
  large.limit.cancel = &cancel;
  Guest gives_up(large);
  wait_for_queue(1);
  Guest small(ask_for(1, 1));
  wait_for_queue(2);
  __atomic_store_n(const_cast<int32_t *>(&cancel), 1, __ATOMIC_SEQ_CST);
  EXPECT_EQ(gives_up.granted(), LK_WAIT_CANCELLED);
  EXPECT_EQ(small.granted(), 1);
}

TEST_F(Budget, WaitsUntilTheDeadlineAndNoLonger) {
  Guest inside(ask_for(4, 4));
  EXPECT_EQ(inside.granted(), 4);
  volatile int32_t cancel = 0;
  for (bool has_flag : {false, true}) {
    lk_budget_ask ask = ask_for(1, 1);
    if (has_flag) ask.limit.cancel = &cancel;
    ask.limit.deadline_ns = ns_from_now(milliseconds(20));
    EXPECT_EQ(lk_budget_enter(&ask), LK_WAIT_DEADLINE);
    EXPECT_GE(ns_from_now(milliseconds(0)), ask.limit.deadline_ns);
    EXPECT_EQ(lk_budget_enter(&ask), LK_WAIT_DEADLINE) << "passed already";
  }
  lk_budget_ask ask = ask_for(1, 1);
  ask.limit.deadline_ns = ns_from_now(std::chrono::minutes(10));
  Guest in_time(ask);
  wait_for_queue(1);
  inside.leave();
  EXPECT_EQ(in_time.granted(), 1);
}

TEST_F(Budget, FollowsTheNumberOfProcessors) {
  Guest first(ask_for(2, 2)), second(ask_for(2, 2));
  EXPECT_EQ(first.granted() + second.granted(), 4);
  Guest third(ask_for(2, 2));
  wait_for_queue(1);
  lk_budget_set_processors(6);
  EXPECT_EQ(third.granted(), 2);
  lk_budget_set_processors(2);
  EXPECT_EQ(lk_budget_state_get().processors, 2);
  Guest fourth(ask_for(1, 1));
  wait_for_queue(1);
  first.leave();
  second.leave(); // 2 of 2
  EXPECT_EQ(lk_budget_state_get().waiting, 1);
  third.leave();
  EXPECT_EQ(fourth.granted(), 1);
  lk_budget_propose_processors(64);
  EXPECT_EQ(lk_budget_state_get().processors, 2) << "it was said already";
}

// 16 threads with asks of all kinds, while the processors change. What is granted is counted here,
// by itself.
TEST_F(Budget, NeverLetsMoreThanTheProcessorsRunWithWorkers) {
  constexpr int kThreads = 16, kRuns = 400, kMost = 5;
  std::atomic<uint64_t> all{0}; // runs in the upper half, their threads in the lower
  std::atomic<int> too_many{0}, wrong{0}, n_done{0};
  const uint64_t waits = lk_budget_state_get().waits;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      volatile int32_t cancel = 0;
      for (int i = 0; i < kRuns; i++) {
        lk_budget_ask ask = ask_for(1 + (t + i) % 2, 2 + i % 3);
        if (i % 7 == 0) ask.least = ask.most;
        if (i % 5 == 0) ask.limit.cancel = &cancel;
        if (i % 11 == 0) ask.limit.deadline_ns = ns_from_now(milliseconds(1));
        const int granted = lk_budget_enter(&ask);
        if (granted == LK_WAIT_DEADLINE && i % 11 == 0) continue;
        if (granted < ask.least || granted > ask.most) wrong++;
        const uint64_t mine = uint64_t(1) << 32 | uint64_t(granted);
        const uint64_t now = all.fetch_add(mine) + mine, running = now & UINT32_MAX;
        if (running > kMost && running > now >> 32) too_many++;
        if (i % 16 == 0) std::this_thread::yield();
        all -= mine;
        lk_budget_leave();
      }
      n_done++;
    });
  }
  for (int i = 0; n_done < kThreads; i++) {
    lk_budget_set_processors(4 + i % 2); // all asks are for 4 at the most
    std::this_thread::sleep_for(milliseconds(1));
  }
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(too_many, 0);
  EXPECT_EQ(wrong, 0);
  const lk_budget_state now = lk_budget_state_get();
  EXPECT_GT(now.waits, waits);
}

TEST_F(Budget, ThreadsThatAreNotInsideGiveNothingBack) {
  Guest other(ask_for(2, 2));
  EXPECT_EQ(other.granted(), 2);
  lk_budget_leave();
  EXPECT_EQ(lk_budget_state_get().running, 2);
  EXPECT_EQ(lk_budget_granted(), 0);
  EXPECT_EQ(enter(1, 1), 1);
  EXPECT_EQ(lk_budget_granted(), 1);
  lk_budget_leave();
  lk_budget_leave();
  EXPECT_EQ(lk_budget_state_get().running, 2);
}

TEST_F(Budget, OfAForkedChildHasOnlyWhatTheChildHas) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer starts no threads after a fork";
#endif
  Guest other(ask_for(1, 1));
  EXPECT_EQ(other.granted(), 1);
  EXPECT_EQ(enter(1, 1), 1);
  const pid_t child = fork();
  if (child == 0) {
    if (lk_budget_state_get().running != 1) _exit(1);
    lk_budget_leave();
    const lk_budget_ask ask = fixed(4);
    if (lk_budget_enter(&ask) != 4) _exit(2);
    lk_budget_leave();
    _exit(lk_budget_state_get().running == 0 ? 0 : 3);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(lk_budget_state_get().running, 2);
  lk_budget_leave();
}

} // namespace
