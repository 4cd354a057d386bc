// An allocator within a limit, of the C library's memory and of a host's.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/alloc.h"
#include "base/memory_budget.h"
#include "base/pages.h"
#include "base/status.h"
}

using ::testing::HasSubstr;

namespace {

class MemoryBudget : public ::testing::TestWithParam<bool> {
protected:
  void make(uint64_t limit) {
    lk_memory_budget_init(&budget, GetParam() ? host.get() : nullptr, limit);
    allocator = lk_memory_budget_allocator(&budget);
  }
  uint64_t bytes() const { return lk_memory_budget_state(&budget).bytes; }

  lk::FailingAllocator host;
  lk_memory_budget budget = {};
  lk_allocator allocator = {};
};

INSTANTIATE_TEST_SUITE_P(, MemoryBudget, ::testing::Bool(),
                         [](const auto &info) { return info.param ? "OfAHost" : "OfTheSystem"; });

TEST_P(MemoryBudget, CountsWhatBlocksTake) {
  make(LK_MEMORY_UNLIMITED);
  std::vector<void *> blocks;
  uint64_t taken = 0;
  for (const size_t alignment : {1, 16, 64, 1024}) {
    for (const size_t size : {0, 1, 100, 5000, 300000}) {
      void *block = lk_alloc_aligned(&allocator, size, alignment);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u);
      std::memset(block, 7, size);
      blocks.push_back(block);
      // of a host's, what was asked for (0 is 1) and a header, as far before as it is aligned
      taken += GetParam() ? std::max(size, size_t{1}) + std::max(alignment, size_t{16})
                          : lk_block_bytes(block);
      EXPECT_EQ(bytes(), taken) << size << " aligned to " << alignment;
    }
  }
  blocks.push_back(lk_alloc_pages(&allocator, 300000));
  taken += GetParam() ? 300000 + LK_DATA_ALIGNMENT : lk_block_bytes(blocks.back());
  EXPECT_EQ(bytes(), taken);
  const uint64_t most = bytes();
  for (void *block : blocks) lk_free(&allocator, block);
  lk_free(&allocator, nullptr);
  lk_memory_budget_trim(&budget);
  const lk_memory_state state = lk_memory_budget_state(&budget);
  EXPECT_EQ(state.bytes, 0u);
  EXPECT_EQ(state.peak, most);
  EXPECT_EQ(state.refusals, 0u);
  EXPECT_EQ(lk_tally_sum(&budget.counts, LK_MEMORY_ALLOCATIONS), blocks.size());
}

TEST_P(MemoryBudget, RefusesWhatWouldPassTheLimit) {
  make(10000);
  void *first = lk_alloc(&allocator, 6000);
  ASSERT_NE(first, nullptr);
  const uint64_t held = bytes();
  EXPECT_EQ(lk_alloc(&allocator, 6000), nullptr);
  LK_EXPECT_STATUS(LK_OUT_OF_MEMORY, lk_fail_memory(LK_ERR, "a thing", 6000));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to allocate 6000 bytes for a thing: " +
                                    std::to_string(held) + " of at most 10000 bytes are in use"));
  EXPECT_EQ(lk_alloc(&allocator, SIZE_MAX), nullptr);
  EXPECT_EQ(lk_alloc(&allocator, SIZE_MAX - 100), nullptr);
  EXPECT_EQ(bytes(), held);
  EXPECT_GE(lk_memory_budget_state(&budget).refusals, 2u);
  lk_free(&allocator, first);
  void *second = lk_alloc(&allocator, 6000);
  EXPECT_NE(second, nullptr);
  LK_EXPECT_STATUS(LK_OUT_OF_MEMORY, lk_fail_memory(LK_ERR, "a thing", 6000));
  EXPECT_EQ(std::string(LK_MESSAGE), "failed to allocate 6000 bytes for a thing"); // of the system
  lk_memory_budget_set_limit(&budget, 1);
  EXPECT_EQ(lk_alloc(&allocator, 1), nullptr);
  lk_free(&allocator, second);
  EXPECT_EQ(bytes(), 0u);
}

TEST_P(MemoryBudget, GivesBackWhatTheHostHasNot) {
  if (!GetParam()) return; // the system's cannot be told to fail
  make(LK_MEMORY_UNLIMITED);
  host.fail_at(1);
  EXPECT_EQ(lk_alloc(&allocator, 100), nullptr);
  EXPECT_EQ(bytes(), 0u);
  EXPECT_EQ(lk_memory_budget_state(&budget).refusals, 0u);
  host.fail_never();
  void *block = lk_alloc(&allocator, 100);
  EXPECT_NE(block, nullptr);
  lk_free(&allocator, block);
}

TEST_P(MemoryBudget, IsNeverPassedByManyThreads) {
  make(14000); // one thread alone would pass it
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; t++) {
    threads.emplace_back([&] {
      std::vector<void *> mine;
      for (int i = 0; i < 2000; i++) {
        if (void *block = lk_alloc(&allocator, 1000 + size_t(i))) mine.push_back(block);
        if (mine.size() > 12) {
          lk_free(&allocator, mine.back());
          mine.pop_back();
        }
      }
      for (void *block : mine) lk_free(&allocator, block);
    });
  }
  for (std::thread &thread : threads) thread.join();
  const lk_memory_state state = lk_memory_budget_state(&budget);
  EXPECT_EQ(state.bytes, 0u);
  EXPECT_LE(state.peak, 14000u);
  EXPECT_GT(state.refusals, 0u);
}

// ---- spare blocks ----

class Spare : public ::testing::Test {
protected:
  void SetUp() override {
    lk_memory_budget_init(&budget, nullptr, LK_MEMORY_UNLIMITED);
    allocator = lk_memory_budget_allocator(&budget);
  }
  void TearDown() override {
    lk_memory_budget_trim(&budget);
    EXPECT_EQ(bytes(), 0u);
  }
  char *alloc(size_t size) { return static_cast<char *>(lk_alloc_pages(&allocator, size)); }
  uint64_t bytes() const { return lk_memory_budget_state(&budget).bytes; }

  lk_memory_budget budget = {};
  lk_allocator allocator = {};
};

TEST_F(Spare, ServesWhoNeedsAboutAsMuch) {
  char *first = alloc(1 << 20);
  const uint64_t held = bytes();
  lk_free(&allocator, first);
  EXPECT_EQ(bytes(), held);
  for (size_t size : {size_t{1} << 20, size_t{900} << 10}) {
    char *again = alloc(size);
    EXPECT_EQ(again, first);
    EXPECT_EQ(bytes(), held);
    lk_free(&allocator, again);
  }
  for (size_t size : {size_t{700} << 10, (size_t{1} << 20) + 1}) {
    char *other = alloc(size);
    EXPECT_NE(other, first);
    EXPECT_GT(bytes(), held);
    lk_free(&allocator, other);
    lk_memory_budget_trim(&budget);
    lk_free(&allocator, first = alloc(1 << 20));
  }
}

TEST_F(Spare, FewStayAndNoneThatIsVeryLarge) {
  std::vector<char *> blocks;
  for (int i = 0; i < 2 * LK_SPARE_BLOCKS; i++) blocks.push_back(alloc(100 << 10));
  const uint64_t held = bytes();
  for (char *block : blocks) lk_free(&allocator, block);
  EXPECT_EQ(bytes(), held / 2);
  lk_memory_budget_trim(&budget);
  EXPECT_EQ(bytes(), 0u);
  void *second = alloc(LK_SPARE_BYTES / 2); // with a page more, two are too much
  lk_free(&allocator, alloc(LK_SPARE_BYTES / 2));
  const uint64_t of_both = bytes();
  lk_free(&allocator, second);
  EXPECT_EQ(bytes(), of_both / 2);
  lk_memory_budget_trim(&budget);
  lk_free(&allocator, alloc(LK_SPARE_BYTES));
  EXPECT_EQ(bytes(), 0u);
}

// Runs of sizes that all differ, one after the other, leave no more than the lower limit or the
// largest of them.
TEST_F(Spare, NoMoreStayThanWasInUse) {
  for (const size_t mib : {7, 5, 12, 3, 9, 2}) {
    lk_free(&allocator, alloc(mib << 20));
    EXPECT_LE(bytes(), LK_SPARE_LEAST_BYTES) << mib;
  }
  EXPECT_GT(bytes(), LK_SPARE_LEAST_BYTES / 4);
  lk_free(&allocator, alloc(LK_SPARE_LEAST_BYTES));
  EXPECT_LE(bytes(), LK_SPARE_LEAST_BYTES + 2 * LK_PAGE);
  char *blocks[] = {alloc(15 << 20), alloc(15 << 20)};
  const uint64_t both = bytes();
  for (char *block : blocks) lk_free(&allocator, block);
  EXPECT_EQ(bytes(), both) << "they were in use at one time";
}

// As many as a decoder has caches: no run waits for pages that the one before it had.
TEST_F(Spare, ServeRunsOfManyOutputs) {
  std::set<char *> first, second;
  for (std::set<char *> *run : {&first, &second}) {
    for (int i = 0; i < LK_SPARE_BLOCKS; i++) run->insert(alloc(100 << 10));
    for (char *block : *run) lk_free(&allocator, block);
  }
  EXPECT_EQ(first, second);
}

// What was kept for other sizes does not stay in the way.
TEST_F(Spare, OldOnesGoForNewOnes) {
  for (size_t size : {size_t{100} << 10, size_t{500} << 10, LK_SPARE_BYTES / 4, size_t{40} << 10}) {
    const size_t count = std::min<size_t>(LK_SPARE_BLOCKS, LK_SPARE_BYTES / (size + 2 * LK_PAGE));
    std::vector<char *> blocks;
    for (size_t i = 0; i < count; i++) blocks.push_back(alloc(size));
    for (char *block : blocks) lk_free(&allocator, block);
    EXPECT_LE(bytes(), LK_SPARE_BYTES);
    char *last = blocks.back();
    bool is_kept = false;
    for (size_t i = 0; i < count; i++) is_kept |= (blocks[i] = alloc(size)) == last;
    EXPECT_TRUE(is_kept) << size;
    for (char *block : blocks) lk_free(&allocator, block);
  }
}

TEST_F(Spare, GoBeforeAnybodyIsRefused) {
  lk_memory_budget_set_limit(&budget, 3 << 20);
  lk_free(&allocator, alloc(1 << 20));
  lk_free(&allocator, alloc(1 << 19));
  void *large = alloc((3 << 20) - (1 << 18)); // does not fit beside any of them
  EXPECT_NE(large, nullptr);
  EXPECT_EQ(lk_memory_budget_state(&budget).refusals, 0u);
  EXPECT_EQ(alloc(1 << 20), nullptr);
  EXPECT_EQ(lk_memory_budget_state(&budget).refusals, 1u);
  lk_free(&allocator, large);
}

// A block has one owner at a time, and what is held is what there is.
TEST_F(Spare, AreOfOneThreadAtATime) {
  lk_memory_budget_set_limit(&budget, 12 << 20);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 3000; i++) {
        const size_t size = (256 << 10) + random() % 8 * (128 << 10);
        char *block = alloc(size);
        if (block == nullptr) continue; // the limit
        block[0] = block[size - 1] = char(t);
        if (i % 100 == 0) lk_memory_budget_trim(&budget);
        wrong += block[0] != char(t) || block[size - 1] != char(t);
        lk_free(&allocator, block);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(lk_memory_budget_state(&budget).peak, uint64_t{12} << 20);
}

} // namespace
