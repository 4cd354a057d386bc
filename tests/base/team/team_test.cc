// Regions, loans, and what happens to a team's threads.
#include <fenv.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/harness/lk_test.h"
#include "tests/harness/wait.h"

extern "C" {
#include "base/stop.h"
#include "base/team/budget.h"
#include "base/team/team.h"
#include "base/team/team_for.h"
}

namespace {

using lk::wait_until;
using lk::wait_until_others_sleep;

void run(int threads, const std::function<void()> &fn) {
  lk_team_run([](void *arg) { (*static_cast<const std::function<void()> *>(arg))(); },
              const_cast<std::function<void()> *>(&fn), threads);
}

TEST(Team, EveryNumberRunsOnce) {
  for (int repeat = 0; repeat < 200; repeat++) {
    for (int threads : {1, 2, 3, 5, 8}) {
      std::vector<std::atomic<int>> runs(threads);
      std::atomic<int> wrong{0};
      run(threads, [&] {
        if (lk_team_size() != threads) wrong++;
        runs[lk_team_rank()]++;
      });
      EXPECT_EQ(wrong, 0);
      for (const auto &n : runs) EXPECT_EQ(n, 1);
    }
  }
  EXPECT_EQ(lk_team_rank(), 0);
  EXPECT_EQ(lk_team_size(), 1);
}

TEST(Team, SharesRunAtTheSameTime) {
  for (int repeat = 0; repeat < 100; repeat++) {
    std::atomic<int> here{0};
    run(4, [&] {
      here++;
      wait_until([&] { return here == 4; }); // would never end on fewer threads
    });
    EXPECT_EQ(here, 4);
  }
}

TEST(Team, ARegionInsideARegionRunsOnItsThreadAlone) {
  std::atomic<int> inner{0}, wrong{0};
  run(3, [&] {
    const int rank = lk_team_rank();
    const auto thread = std::this_thread::get_id();
    run(4, [&] {
      inner++;
      if (lk_team_size() != 1 || lk_team_rank() != 0) wrong++;
      if (std::this_thread::get_id() != thread) wrong++;
      run(2, [&] { inner++; });
    });
    if (lk_team_rank() != rank || lk_team_size() != 3) wrong++;
  });
  EXPECT_EQ(inner, 6);
  EXPECT_EQ(wrong, 0);
}

TEST(Team, ZeroAsksForAsManyThreadsAsWereSet) {
  const int before = lk_team_threads();
  lk_team_set_threads(3);
  const uint64_t regions = lk_team_regions();
  std::atomic<int> runs{0}, told{0};
  run(0, [&] {
    runs++;
    told += lk_team_threads();
  });
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(told, 9);
  EXPECT_EQ(lk_team_regions(), regions + 1);
  run(1, [] {});
  EXPECT_EQ(lk_team_regions(), regions + 1);
  lk_team_set_threads(before);
  std::thread([] {
    const int fresh = lk_team_threads();
    EXPECT_GE(fresh, 1);
  }).join();
}

TEST(Team, LoopsDoEveryTurnOnce) {
  const int before = lk_team_threads();
  lk_team_set_threads(3);
  for (bool shared : {false, true}) {
    for (int64_t count : {0, 1, 2, 3, 4, 7, 1000}) {
      std::vector<std::atomic<int>> turns(count);
      lk_team_for(
          count, shared,
          [](const void *arg, int64_t begin, int64_t end) {
            auto *all = const_cast<std::vector<std::atomic<int>> *>(
                static_cast<const std::vector<std::atomic<int>> *>(arg));
            for (int64_t i = begin; i < end; i++) (*all)[i]++;
          },
          &turns);
      for (const auto &n : turns) EXPECT_EQ(n, 1) << count;
    }
  }
  lk_team_set_threads(before);
}

// Turns that are counted, and what happens after some of them.
struct WatchedTurns {
  explicit WatchedTurns(int64_t count) : turns(static_cast<size_t>(count)) {}
  std::vector<std::atomic<int>> turns;
  std::atomic<int> done{0};
  int last = INT_MAX; // after so many, it is cancelled
  volatile int32_t cancel = 0;
  bool looks = false; // the turns do so themselves

  static void run(const void *arg, int64_t begin, int64_t end) {
    auto *self = const_cast<WatchedTurns *>(static_cast<const WatchedTurns *>(arg));
    for (int64_t i = begin; i < end; i++) {
      if (self->looks && lk_team_is_stopped()) return;
      self->turns[static_cast<size_t>(i)]++;
      if (++self->done == self->last) __atomic_store_n(&self->cancel, 1, __ATOMIC_RELAXED);
    }
  }
  void loop(int64_t count, bool shared) {
    lk_stop stop;
    const lk_wait_limit limit = {&cancel, nullptr, 0};
    lk_stop_init(&stop, &limit, nullptr, nullptr);
    EXPECT_EQ(lk_team_watch(&stop), nullptr);
    EXPECT_TRUE(lk_team_is_watched());
    (looks ? lk_team_for_looking : lk_team_for)(count, shared, run, this);
    EXPECT_EQ(lk_team_watch(nullptr), &stop);
    EXPECT_FALSE(lk_team_is_stopped());
  }
};

TEST(Team, LoopsThatAreWatchedDoEveryTurnOnce) {
  const int before = lk_team_threads();
  lk_team_set_threads(3);
  for (const bool looks : {false, true}) {
    for (const bool shared : {false, true}) {
      for (const int64_t count : {0, 1, 2, 3, 7, 5000}) {
        WatchedTurns all(count);
        all.looks = looks;
        all.loop(count, shared);
        for (const auto &n : all.turns) EXPECT_EQ(n, 1) << count;
      }
    }
  }
  lk_team_set_threads(before);
}

TEST(Team, LoopsThatAreStoppedLeaveTheRest) {
  const int before = lk_team_threads();
  lk_team_set_threads(3);
  for (const bool looks : {false, true}) {
    for (const bool shared : {false, true}) {
      WatchedTurns all(1 << 22);
      all.looks = looks;
      all.last = 100;
      all.loop(1 << 22, shared);
      EXPECT_GE(all.done, 100);
      EXPECT_LT(all.done, 1 << 21);
      for (const auto &n : all.turns) EXPECT_LE(n, 1);
      const int done = all.done;
      all.loop(1 << 22, shared); // it is stopped from the beginning
      EXPECT_EQ(all.done, done);
    }
  }
  lk_team_set_threads(before);
}

TEST(Team, MastersDoNotDisturbEachOther) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> masters;
  for (int m = 0; m < 6; m++) {
    masters.emplace_back([&, m] {
      for (int i = 0; i < 300; i++) {
        const int threads = 2 + (m + i) % 3;
        std::atomic<int> sum{0};
        run(threads, [&] { sum += 1 + lk_team_rank(); });
        if (sum != threads * (threads + 1) / 2) wrong++;
      }
    });
  }
  for (std::thread &t : masters) t.join();
  EXPECT_EQ(wrong, 0);
}

size_t threads_of_process() {
  size_t count = 0;
  lk::for_each_thread([&](pid_t) { count++; });
  return count;
}

// Exit status of a child that returns what `fn` returns.
int in_child(const std::function<int()> &fn) {
  const pid_t child = fork();
  if (child == 0) _exit(fn());
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Team, ThreadsSleepBetweenRegionsAndAreWoken) {
  std::atomic<int> runs{0};
  for (int i = 0; i < 20; i++) {
    run(3, [&] { runs++; });
    wait_until_others_sleep();
  }
  EXPECT_EQ(runs, 60);
}

// They look for longer there, and sleep too.
TEST(Team, ThreadsSleepInARunAndAreWoken) {
  std::atomic<int> runs{0};
  const int threads = lk_team_begin(3);
  run(3, [&] { runs++; });
  wait_until_others_sleep();
  run(3, [&] { runs++; });
  EXPECT_EQ(runs, 6);
  lk_team_end(threads);
}

// The threads of a region of three that has them all at once.
std::set<std::thread::id> members() {
  std::set<std::thread::id> ids;
  std::mutex mutex;
  std::atomic<int> here{0};
  run(3, [&] {
    here++;
    wait_until([&] { return here == 3; });
    const std::lock_guard<std::mutex> lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  ids.erase(std::this_thread::get_id());
  return ids;
}

TEST(Team, IsHandedOn) {
  const auto first = members();
  EXPECT_EQ(first.size(), 2u);
  const size_t before = threads_of_process();
  for (int i = 0; i < 20; i++) {
    std::thread([&] {
      EXPECT_EQ(members(), first);
      EXPECT_EQ(threads_of_process(), before + 1);
    }).join();
    wait_until([&] { return threads_of_process() == before; }); // the host's has ended
  }
}

TEST(Team, StaysWithItsRun) {
  const int threads = lk_team_begin(3);
  const auto mine = members();
  std::set<std::thread::id> others;
  std::thread([&] { others = members(); }).join();
  for (std::thread::id id : others) EXPECT_EQ(mine.count(id), 0u);
  const int inner = lk_team_begin(2); // as a run in a callback of a run
  EXPECT_EQ(lk_team_threads(), 2);
  run(0, [] {});
  lk_team_end(inner);
  EXPECT_EQ(lk_team_threads(), 3);
  EXPECT_EQ(members(), mine);
  lk_team_end(threads);
  EXPECT_EQ(members(), mine) << "the one that was given back last";
}

TEST(Team, IsNotGivenAwayInsideARegion) {
  const auto first = members();
  std::atomic<int> wrong{0};
  run(3, [&] {
    run(2, [] {});
    if (lk_team_rank() != 0) return;
    std::thread([&] {
      for (std::thread::id id : members()) wrong += int(first.count(id));
    }).join();
  });
  EXPECT_EQ(wrong, 0);
}

// Eight at once, then none: the threads of one team stay, and of the others as many as there are
// processors.
TEST(Team, KeepsFewIdleThreads) {
  constexpr int kMasters = 8, kThreads = 4;
  members(); // one team is there
  const size_t before = threads_of_process();
  std::atomic<int> n_inside{0}, wrong{0};
  std::vector<std::thread> masters;
  for (int i = 0; i < kMasters; i++) {
    masters.emplace_back([&] {
      const int threads = lk_team_begin(kThreads);
      run(0, [&] { wrong += int(lk_team_size() != kThreads); });
      n_inside++;
      wait_until([&] { return n_inside == kMasters; });
      lk_team_end(threads);
    });
  }
  for (std::thread &t : masters) t.join();
  EXPECT_EQ(wrong, 0);
  const size_t most = before + kThreads - 1 + size_t(lk_budget_processors());
  wait_until(
      [&] { return threads_of_process() <= most; }); // ended, the kernel takes a moment to count
}

TEST(Team, RefusesMoreThreadsThanThereCanBe) {
  std::atomic<int> runs{0};
  run(1 << 20, [&] { runs += lk_team_size(); });
  EXPECT_EQ(runs, 1);
}

TEST(Team, RunsAloneWhereThreadsCannotBeStarted) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer needs the memory that this test takes away";
#endif
  const int status = in_child([] {
    const rlimit none = {1 << 20,
                         1 << 20}; // no room for a stack, but for those that were used before
    setrlimit(RLIMIT_AS, &none);
    const int threads = lk_team_begin(500);
    int runs = 0;
    lk_team_run([](void *arg) { *static_cast<int *>(arg) += lk_team_size(); }, &runs, 500);
    lk_team_end(threads);
    return runs == 1 ? 0 : 2;
  });
  EXPECT_EQ(status, 0);
}

TEST(Team, WorksInAForkedChild) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer starts no threads after a fork";
#endif
  run(3, [] {});
  EXPECT_EQ(in_child([] {
              std::atomic<int> runs{0};
              run(3, [&] {
                runs++;
                wait_until([&] { return runs == 3; });
              });
              return runs == 3 ? 0 : 1;
            }),
            0);
  std::atomic<int> runs{0};
  run(3, [&] { runs++; });
  EXPECT_EQ(runs, 3);
}

uint64_t ns_since(std::chrono::steady_clock::time_point begin) {
  const auto took = std::chrono::steady_clock::now() - begin;
  return uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
}

constexpr uint64_t NAP_NS = 10000000;
void nap() {
  std::this_thread::sleep_for(std::chrono::nanoseconds(NAP_NS));
}

TEST(TeamTimes, AddUpSharesAndWhatTheyWaitedForEachOther) {
  lk_team_times times = {};
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(lk_team_measure(&times), nullptr);
  for (int i = 0; i < 3; i++) {
    run(2, [] {
      if (lk_team_rank() == 1) nap();
    });
  }
  nap(); // outside of regions
  EXPECT_EQ(lk_team_measure(nullptr), &times);
  EXPECT_GE(times.region_ns, 3 * NAP_NS);
  EXPECT_LE(times.region_ns + NAP_NS, ns_since(begin));
  EXPECT_GE(times.share_ns, 3 * NAP_NS);
  EXPECT_LE(times.share_ns, 2 * times.region_ns);
  const lk_team_times before = times;
  run(2, nap); // nobody measures any more
  EXPECT_EQ(times.region_ns, before.region_ns);
  EXPECT_EQ(times.share_ns, before.share_ns);
}

TEST(TeamTimes, TakeRegionsInsideOfOthersAsPartsOfThem) {
  lk_team_times times = {};
  const auto begin = std::chrono::steady_clock::now();
  lk_team_measure(&times);
  run(2, [] { run(2, [] { run(1, nap); }); });
  EXPECT_EQ(lk_team_measure(nullptr), &times);
  EXPECT_GE(times.region_ns, NAP_NS);
  EXPECT_LE(times.region_ns, ns_since(begin));
  EXPECT_GE(times.share_ns, 2 * NAP_NS);
  EXPECT_LE(times.share_ns, 2 * times.region_ns);
}

TEST(TeamTimes, AreThoseOfTheThreadThatMeasures) {
  lk_team_times times = {};
  lk_team_measure(&times);
  std::thread([] { run(2, nap); }).join();
  EXPECT_EQ(lk_team_measure(nullptr), &times);
  EXPECT_EQ(times.region_ns, 0u);
  EXPECT_EQ(times.share_ns, 0u);
}

// A process whose main thread ends by pthread_exit ends with its last thread.
TEST(Team, EndsWithTheLastThreadThatHasHadOne) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer starts no threads after a fork";
#endif
  run(3, [] {}); // the parent keeps its own
  int status = -1;
  std::thread([&] { // its child has no thread that has had a team
    status = in_child([] {
      for (int i = 0; i < 3; i++) {
        std::thread first([] { run(3, [] {}); }), second([] { run(2, [] {}); });
        first.join();
        second.join();
        wait_until([] { return threads_of_process() == 1; });
      }
      return int(threads_of_process());
    });
  })
      .join();
  EXPECT_EQ(status, 1);
  EXPECT_EQ(members().size(), 2u);
}

TEST(Team, OfARunStaysWithTheParentOfAFork) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer starts no threads after a fork";
#endif
  const int threads = lk_team_begin(3);
  members(); // takes a team
  EXPECT_EQ(in_child([] { return int(members().size()); }), 2);
  EXPECT_EQ(members().size(), 2u);
  lk_team_end(threads);
}

TEST(Team, ItsThreadsRoundToNearest) {
  std::atomic<int> wrong{0};
  std::thread([&] {
    fesetround(FE_UPWARD);
    const auto master = std::this_thread::get_id();
    std::atomic<int> here{0};
    run(3, [&] {
      here++;
      wait_until([&] { return here == 3; });
      const bool is_master = std::this_thread::get_id() == master;
      if (fegetround() != (is_master ? FE_UPWARD : FE_TONEAREST)) wrong++;
    });
  }).join();
  EXPECT_EQ(wrong, 0);
}

TEST(Team, ItsThreadsTakeNoSignals) {
  std::atomic<int> open{0};
  std::thread([&] {
    const auto master = std::this_thread::get_id();
    std::atomic<int> here{0};
    run(3, [&] {
      here++;
      wait_until([&] { return here == 3; });
      sigset_t blocked;
      pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
      if (std::this_thread::get_id() != master && sigismember(&blocked, SIGUSR1) != 1) open++;
    });
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    EXPECT_EQ(sigismember(&blocked, SIGUSR1), 0);
  }).join();
  EXPECT_EQ(open, 0);
}

// ---- loans ----

TEST(Loan, AnAssistantWorksInTheTeamsThreadsPlace) {
  lk_team_loan loan = {};
  std::atomic<bool> helped{false};
  uint64_t n_shares = 0;
  std::thread helper([&] { n_shares = lk_team_assist(&loan); });
  const auto assistant = helper.get_id();
  lk_team_loan_open(&loan, 2);
  wait_until([&] { // until it has come, the team's own thread does it
    std::atomic<int> here{0};
    run(2, [&] {
      here++;
      wait_until([&] { return here == 2; });
      if (lk_team_rank() == 1 && std::this_thread::get_id() == assistant) helped = true;
    });
    return helped.load();
  });
  std::atomic<int> others{0};
  const auto master = std::this_thread::get_id();
  for (int i = 0; i < 100; i++) {
    if (i % 20 == 0) wait_until_others_sleep(); // the assistant, too
    run(2, [&] {
      const auto me = std::this_thread::get_id();
      if (me != master && me != assistant) others++;
    });
  }
  EXPECT_LE(others, 1);      // one that was awake already when the assistant came
  wait_until_others_sleep(); // the assistant, and the thread whose place it has
  lk_team_loan_close(&loan);
  helper.join();
  EXPECT_GT(n_shares, 0u);
  std::atomic<int> runs{0};
  run(2, [&] {
    runs++;
    wait_until([&] { return runs == 2; }); // the team's own thread is back
  });
  EXPECT_EQ(runs, 2);
}

TEST(Loan, WithoutAssistantsTheTeamsOwnThreadsWork) {
  lk_team_loan loan = {};
  lk_team_loan_open(&loan, 3);
  std::atomic<int> runs{0};
  run(3, [&] {
    runs++;
    wait_until([&] { return runs == 3; });
  });
  lk_team_loan_close(&loan);
  EXPECT_EQ(runs, 3);
}

TEST(Loan, LateAndTooManyAssistantsGoAgain) {
  lk_team_loan loan = {};
  std::vector<std::thread> helpers;
  std::atomic<int> gone{0};
  for (int i = 0; i < 6; i++) { // some come before it is open; there is room for one
    helpers.emplace_back([&] {
      lk_team_assist(&loan);
      gone++;
    });
  }
  std::thread([&] {
    lk_team_loan_open(&loan, 2);
    wait_until([&] { return gone == 5; });
    std::atomic<int> runs{0};
    run(2, [&] { runs++; });
    EXPECT_EQ(runs, 2);
    lk_team_loan_close(&loan);
    lk_team_assist(&loan); // closed: at once
    for (std::thread &t : helpers) t.join();
  }).join();
  EXPECT_EQ(gone, 6);
}

TEST(Loan, ForOneThreadTakesNobody) {
  lk_team_loan loan = {};
  std::thread helper([&] { lk_team_assist(&loan); });
  lk_team_loan_open(&loan, 1);
  lk_team_loan_close(&loan);
  helper.join();
}

TEST(Loan, ThatTookNoTeamKeepsNobody) {
  for (int threads : {1, 2}) { // no other is wanted; this thread has a team already
    lk_team_loan loan = {};
    uint64_t n_shares = 1;
    std::thread helper([&] { n_shares = lk_team_assist(&loan); });
    const int before = lk_team_begin(2);
    run(2, [] {});
    lk_team_loan_open(&loan, threads);
    helper.join(); // does not wait for the end
    lk_team_loan_close(&loan);
    lk_team_end(before);
    EXPECT_EQ(n_shares, 0u);
  }
}

// Who is still leaving when the next region starts must not be waited for.
TEST(Loan, IsOverWhenItIsClosed) {
  for (int i = 0; i < 2000; i++) {
    lk_team_loan loan = {};
    std::thread helper([&] { lk_team_assist(&loan); });
    lk_team_loan_open(&loan, 2);
    run(2, [] {});
    lk_team_loan_close(&loan);
    const auto assistant = helper.get_id();
    std::atomic<int> here{0}, wrong{0};
    run(2, [&] {
      if (std::this_thread::get_id() == assistant) wrong++;
      here++;
      wait_until([&] { return here == 2; });
    });
    EXPECT_EQ(wrong, 0);
    helper.join();
  }
}

TEST(Loan, IsNotForAThreadThatHasATeam) {
  const int threads = lk_team_begin(2);
  run(2, [] {}); // takes a team
  lk_team_loan loan = {};
  std::thread helper([&] { EXPECT_EQ(lk_team_assist(&loan), 0u); });
  lk_team_loan_open(&loan, 2);
  std::atomic<int> runs{0};
  run(2, [&] {
    runs++;
    wait_until([&] { return runs == 2; });
  });
  lk_team_loan_close(&loan);
  helper.join();
  lk_team_end(threads);
}

// Its team has no other master meanwhile, and none after it until the last assistant has left.
TEST(Loan, KeepsItsTeamToItself) {
  std::atomic<bool> ends{false};
  std::thread other([&] {
    while (!ends) {
      std::atomic<int> here{0};
      run(2, [&] {
        here++;
        wait_until([&] { return here == 2; });
      });
    }
  });
  for (int i = 0; i < 500; i++) {
    lk_team_loan loan = {};
    std::thread helper([&] { lk_team_assist(&loan); });
    lk_team_loan_open(&loan, 2);
    for (int r = 0; r < 3; r++) {
      std::atomic<int> here{0};
      run(2, [&] {
        here++;
        wait_until([&] { return here == 2; });
      });
    }
    lk_team_loan_close(&loan);
    helper.join();
  }
  ends = true;
  other.join();
}

double third() {
  const volatile double one = 1, three = 3;
  return one / three;
}

TEST(Loan, FindsAndLeavesItsThreadsAsTheyAre) {
  lk_team_loan loan = {};
  std::atomic<int> wrong{0};
  std::atomic<bool> helped{false};
  std::thread helper([&] {
    fesetenv(FE_DFL_ENV); // a new thread has that of its maker
    fesetround(FE_UPWARD);
    feraiseexcept(FE_OVERFLOW);
    lk_team_assist(&loan);
    if (fegetround() != FE_UPWARD || fetestexcept(FE_ALL_EXCEPT) != FE_OVERFLOW) wrong++;
    if (third() == 1.0 / 3) wrong++; // the compiler rounds to nearest
  });
  const auto assistant = helper.get_id();
  lk_team_loan_open(&loan, 2);
  wait_until([&] {
    std::atomic<int> here{0};
    run(2, [&] {
      here++;
      wait_until([&] { return here == 2; });
      if (std::this_thread::get_id() != assistant) return;
      helped = true;
      if (third() != 1.0 / 3) wrong++;
    });
    return helped.load();
  });
  lk_team_loan_close(&loan);
  helper.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Loan, ComesAndGoesManyTimes) {
  for (int i = 0; i < 300; i++) {
    lk_team_loan loan = {};
    std::vector<std::thread> helpers;
    for (int h = 0; h < 2; h++) helpers.emplace_back([&] { lk_team_assist(&loan); });
    lk_team_loan_open(&loan, 3);
    std::atomic<int> sum{0};
    for (int r = 0; r < 5; r++) run(3, [&] { sum += 1 + lk_team_rank(); });
    lk_team_loan_close(&loan);
    for (std::thread &t : helpers) t.join();
    EXPECT_EQ(sum, 30);
  }
}

} // namespace
