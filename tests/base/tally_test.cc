// Counts of many threads: nothing is lost, and each count is apart from the others.
#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

extern "C" {
#include "base/tally.h"
}

namespace {

TEST(Tally, HasWhatAllThreadsAdded) {
  static lk_tally tally;
  constexpr unsigned kThreads = 3 * LK_TALLY_LINES + 1, kTimes = 1000;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; t++) {
    threads.emplace_back([t] {
      for (unsigned i = 0; i < kTimes; i++) lk_tally_add(&tally, t % LK_TALLY_COUNTS);
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (unsigned which = 0; which < LK_TALLY_COUNTS; which++) {
    const unsigned adders = kThreads / LK_TALLY_COUNTS + (which < kThreads % LK_TALLY_COUNTS);
    EXPECT_EQ(lk_tally_sum(&tally, which), uint64_t{adders} * kTimes) << which;
  }
}

TEST(ThreadNumber, StaysAndTellsThreadsApart) {
  std::set<unsigned> numbers;
  for (int t = 0; t < 20; t++) {
    std::thread([&] {
      const unsigned number = lk_thread_number();
      EXPECT_EQ(lk_thread_number(), number);
      EXPECT_TRUE(numbers.insert(number).second) << number;
    }).join();
  }
  EXPECT_EQ(numbers.count(0), 0u);
}

} // namespace
