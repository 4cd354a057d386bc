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

TEST(AllocLines, AreZeroAndNobodyElses) {
  std::vector<char *> blocks;
  for (size_t size : {1, 8, 63, 64, 65, 200}) {
    auto *block = static_cast<char *>(lk_calloc_lines(lk_allocator_default(), size));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % LK_CACHE_LINE, 0u) << size;
    const size_t whole = (size + LK_CACHE_LINE - 1) / LK_CACHE_LINE * LK_CACHE_LINE;
    for (size_t i = 0; i < whole; i++) EXPECT_EQ(block[i], 0) << size << " " << i;
    std::fill(block, block + whole, '\x5a'); // a sanitizer knows whether that is ours
    blocks.push_back(block);
  }
  for (char *block : blocks) lk_free(lk_allocator_default(), block);
  EXPECT_EQ(lk_calloc_lines(lk_allocator_default(), SIZE_MAX), nullptr);
}

} // namespace
