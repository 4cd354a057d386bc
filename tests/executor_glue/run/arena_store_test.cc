// Arenas: who gets which, how many are kept, and when they go.
#include <cstring>
#include <thread>
#include <vector>

#include "tests/executor_glue/run/fake_api.h"

extern "C" {
#include "executor_glue/run/arena_store.h"
}

namespace {

constexpr uint64_t kMost = 8;  // idle ones: four for each of the fake's two processors
constexpr uint64_t kSlots = 8; // and one for each slot of threads
constexpr int kLook = 64;      // uses until it is looked at what is needed

class Arenas : public ::testing::Test {
protected:
  void SetUp() override {
    LK_ASSERT_OK(lk_arena_store_open(lk::fake::api(), &context, &store, LK_ERR));
  }
  void TearDown() override {
    lk_arena_store_close(store);
    EXPECT_EQ(allocator.live_blocks(), 0u);
  }
  lk_arena *take(uint64_t bytes) {
    lk_arena *arena = nullptr;
    LK_EXPECT_OK(lk_arena_take(store, bytes, &arena, LK_ERR));
    EXPECT_GE(arena->bytes, bytes);
    std::memset(arena->data, 0x5a, bytes);
    return arena;
  }
  void give(lk_arena *arena) { lk_arena_give(store, arena); }
  uint64_t bytes() const { return lk_arena_store_bytes(store); }

  lk_context context;
  lk::FailingAllocator &allocator = context.allocator;
  lk_arena_store *store = nullptr;
};

TEST_F(Arenas, AreUsedAgain) {
  lk_arena *const first = take(1000);
  give(first);
  for (int i = 0; i < 10; i++) {
    lk_arena *const again = take(uint64_t(900 + i));
    EXPECT_EQ(again, first);
    give(again);
  }
  EXPECT_EQ(bytes(), 1000u);
}

TEST_F(Arenas, BelongToAllExecutorsOfAContext) {
  lk_arena_store *same = nullptr, *other = nullptr;
  lk_context stranger;
  LK_ASSERT_OK(lk_arena_store_open(lk::fake::api(), &context, &same, LK_ERR));
  LK_ASSERT_OK(lk_arena_store_open(lk::fake::api(), &stranger, &other, LK_ERR));
  EXPECT_EQ(same, store);
  EXPECT_NE(other, store);
  give(take(5000));
  lk_arena_store_close(same);
  EXPECT_EQ(bytes(), 5000u) << "somebody has it open";
  EXPECT_EQ(lk_arena_store_bytes(other), 0u);
  lk_arena_store_close(other);
}

TEST_F(Arenas, TooSmallOnesMakeRoomForLargerOnes) {
  for (uint64_t size = 100; size < 100000; size *= 2) give(take(size));
  EXPECT_EQ(bytes(), 51200u);
}

TEST_F(Arenas, HaveRoomWhereSizesGrow) {
  give(take(1000));
  lk_arena *const larger = take(1200);
  give(larger);
  EXPECT_EQ(bytes(), 1500u);
  EXPECT_EQ(take(1500), larger);
  give(larger);
  give(take(4000));
  EXPECT_EQ(bytes(), 4000u);
}

TEST_F(Arenas, AreFewWhenIdle) {
  std::vector<lk_arena *> taken;
  for (int i = 0; i < 30; i++) taken.push_back(take(1000));
  EXPECT_EQ(bytes(), 30000u);
  for (lk_arena *arena : taken) give(arena);
  EXPECT_LE(bytes(), (kMost + 1) * 1000);
}

TEST_F(Arenas, ThatAreNotNeededAnyMoreGo) {
  std::vector<lk_arena *> taken;
  for (int i = 0; i < 5; i++) taken.push_back(take(1000));
  for (lk_arena *arena : taken) give(arena);
  EXPECT_EQ(bytes(), 5000u);
  for (int i = 0; i < 3 * kLook; i++) give(take(1000));
  EXPECT_EQ(bytes(), 1000u);
}

TEST_F(Arenas, OfThreadsThatHaveEndedServeOthersAndGo) {
  lk_arena *const mine = take(1000), *theirs = nullptr;
  std::thread([&] { give(theirs = take(1 << 20)); }).join();
  lk_arena *const found = take(1 << 20); // no thread is near it
  EXPECT_EQ(found, theirs);
  std::thread([&] { give(found); }).join();
  give(mine);
  EXPECT_EQ(bytes(), (uint64_t{1} << 20) + 1000);
  for (int i = 0; i < 3 * kLook; i++) give(take(1000));
  EXPECT_EQ(bytes(), 1000u);
}

TEST_F(Arenas, AreFreedOnDemandWhoseverTheyAre) {
  for (int i = 0; i < 3; i++) {
    lk_arena *const mine = take(1000);
    std::thread([&] { give(take(2000)); }).join();
    give(mine);
  }
  EXPECT_GT(bytes(), 1000u);
  lk_arena_store_trim(store);
  EXPECT_EQ(bytes(), 0u);
}

TEST_F(Arenas, ThatAreTooLargeForLongGo) {
  give(take(1 << 20));
  for (int i = 0; i < kLook; i++) give(take(1000));
  EXPECT_EQ(bytes(), uint64_t{1} << 20) << "it was needed in this stretch";
  for (int i = 0; i < kLook + 1; i++) give(take(1000));
  EXPECT_EQ(bytes(), 1000u);
  for (int i = 0; i < 3 * kLook; i++) give(take(i % kLook == 0 ? 4000 : 1000));
  EXPECT_EQ(bytes(), 4000u) << "needed now and then";
}

TEST_F(Arenas, LargeOnesAreLeftToThoseWhoNeedThem) {
  lk_arena *const large = take(1 << 20), *const small = take(1000);
  give(small);
  give(large); // the last one
  EXPECT_EQ(take(900), small);
  EXPECT_EQ(take(1 << 20), large);
  give(small);
  give(large);
}

TEST_F(Arenas, AreFreedOnDemand) {
  lk_arena *const kept = take(1000), *const a = take(2000), *const b = take(3000);
  give(a);
  give(b);
  lk_arena_store_trim(store);
  EXPECT_EQ(bytes(), 1000u);
  give(kept);
  EXPECT_EQ(take(1000), kept);
  give(kept);
}

TEST_F(Arenas, WithoutMemoryAreAnError) {
  give(take(1000));
  lk_arena *arena = nullptr;
  for (size_t nth : {1, 2}) { // the arena, and what says how large it is
    allocator.fail_at(nth);
    LK_EXPECT_STATUS(LK_OUT_OF_MEMORY, lk_arena_take(store, 5000, &arena, LK_ERR));
    EXPECT_EQ(arena, nullptr);
    EXPECT_EQ(bytes(), 0u) << "the one that is too small is gone";
  }
  allocator.fail_never();
  give(take(5000));
  lk_context stranger;
  lk_arena_store *none = nullptr;
  stranger.allocator.fail_at(1);
  LK_EXPECT_STATUS(LK_OUT_OF_MEMORY,
                   lk_arena_store_open(lk::fake::api(), &stranger, &none, LK_ERR));
  EXPECT_EQ(none, nullptr);
}

TEST_F(Arenas, HaveOneUserAtATime) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; t++) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 2000; i++) {
        const uint64_t size = uint64_t(100 + (t * 31 + i * 17) % 4000);
        lk_arena *arena = nullptr;
        LK_EXPECT_OK(lk_arena_take(store, size, &arena, LK_ERR));
        auto *const data = static_cast<unsigned char *>(arena->data);
        std::memset(data, t, size);
        if (i % 50 == 0) std::this_thread::yield();
        bool whole = true;
        for (uint64_t b = 0; b < size; b += 16) whole = whole && data[b] == t;
        EXPECT_TRUE(whole);
        lk_arena_give(store, arena);
        if (i % 500 == 0) lk_arena_store_trim(store);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_LE(bytes(), (kMost + kSlots) * 4100);
}

} // namespace
