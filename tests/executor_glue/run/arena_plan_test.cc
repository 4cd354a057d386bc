// The memory plan: blocks that are alive together never overlap, and the arena is no larger than
// needed bounds allow.
#include <algorithm>
#include <random>
#include <vector>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/alloc.h"
#include "executor_glue/run/arena_plan.h"
}

namespace {

uint64_t rounded(uint64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

uint64_t plan(std::vector<lk_arena_block> &blocks) {
  uint64_t bytes = 0;
  LK_EXPECT_OK(lk_arena_plan(lk_get_api(LK_API_VERSION), lk_allocator_default(), nullptr,
                             blocks.data(), blocks.size(), &bytes, LK_ERR));
  return bytes;
}

void expect_valid(const std::vector<lk_arena_block> &blocks, uint64_t total) {
  uint64_t sum = 0, live_max = 0;
  uint32_t steps = 0;
  for (const auto &b : blocks) {
    sum += rounded(b.bytes);
    steps = std::max(steps, b.last + 1);
    EXPECT_EQ(b.offset % 64, 0u);
    EXPECT_LE(b.offset + b.bytes, total);
  }
  for (uint32_t s = 0; s < steps; s++) {
    uint64_t live = 0;
    for (const auto &b : blocks) live += b.first <= s && s <= b.last ? rounded(b.bytes) : 0;
    live_max = std::max(live_max, live);
  }
  EXPECT_GE(total, live_max);
  EXPECT_LE(total, sum);
  for (size_t i = 0; i < blocks.size(); i++) {
    for (size_t j = 0; j < i; j++) {
      const auto &a = blocks[i], &b = blocks[j];
      const bool together = a.first <= b.last && b.first <= a.last;
      const bool overlap = a.bytes > 0 && b.bytes > 0 && a.offset < b.offset + b.bytes &&
                           b.offset < a.offset + a.bytes;
      ASSERT_FALSE(together && overlap) << "blocks " << i << " and " << j;
    }
  }
}

TEST(ArenaPlan, NoBlocksNoBytes) {
  std::vector<lk_arena_block> none;
  EXPECT_EQ(plan(none), 0u);
}

TEST(ArenaPlan, ChainOfEqualBlocksNeedsTwo) {
  std::vector<lk_arena_block> blocks;
  for (uint32_t i = 0; i < 20; i++) blocks.push_back({1000, i, i + 1, 99});
  EXPECT_EQ(plan(blocks), 2 * rounded(1000));
  expect_valid(blocks, 2 * rounded(1000));
}

TEST(ArenaPlan, EmptyBlocksTakeNoRoom) {
  std::vector<lk_arena_block> blocks = {{0, 0, 5, 7}, {64, 0, 5, 7}, {0, 2, 3, 7}};
  EXPECT_EQ(plan(blocks), 64u);
  EXPECT_EQ(blocks[0].offset, 0u);
  EXPECT_EQ(blocks[2].offset, 0u);
}

TEST(ArenaPlan, TakesTheSmallestGapThatFits) {
  // At step 1: [0,1024) a, [1024,1536) free, [1536,..) b ... the 128-byte block goes where it fits
  // best, and the total stays that of the live maximum.
  std::vector<lk_arena_block> blocks = {
      {4096, 0, 1, 0}, {2048, 0, 3, 0}, {1024, 2, 3, 0}, {3072, 2, 3, 0}};
  EXPECT_EQ(plan(blocks), 4096u + 2048u);
  expect_valid(blocks, 4096u + 2048u);
}

TEST(ArenaPlan, RandomLifetimes) {
  std::mt19937 random(20240607);
  for (int round = 0; round < 300; round++) {
    const uint32_t steps = 1 + random() % 60;
    std::vector<lk_arena_block> blocks(random() % 120);
    for (auto &b : blocks) {
      b.first = random() % steps;
      b.last = b.first + random() % std::min<uint32_t>(steps - b.first, 1 + random() % 12);
      b.bytes = random() % 8 == 0 ? 0 : random() % (random() % 4 == 0 ? 100000 : 700);
    }
    expect_valid(blocks, plan(blocks));
    if (HasFatalFailure()) return;
  }
}

TEST(ArenaPlan, SumsThatOverflowAreRefused) {
  std::vector<lk_arena_block> blocks = {{UINT64_MAX / 2, 0, 1, 0}, {UINT64_MAX / 2 + 100, 0, 1, 0}};
  uint64_t bytes = 1;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE,
                   lk_arena_plan(lk_get_api(LK_API_VERSION), lk_allocator_default(), nullptr,
                                 blocks.data(), 2, &bytes, LK_ERR));
  EXPECT_EQ(bytes, 0u);
}

TEST(ArenaPlan, SurvivesEveryFailedAllocation) {
  lk::fail_every_allocation([](lk::FailingAllocator &allocator) {
    lk_arena_block blocks[2] = {{100, 0, 1, 0}, {200, 1, 2, 0}};
    uint64_t bytes = 0;
    return lk_arena_plan(lk_get_api(LK_API_VERSION), allocator.get(), nullptr, blocks, 2, &bytes,
                         LK_ERR);
  });
}

} // namespace
