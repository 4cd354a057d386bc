// The cache with many threads: executors that close, eviction under way, and everything at once.
// Order is made by handshakes: no sleeps, no time limits of its own.
#include <future>
#include <random>

#include "tests/keys/cache/cache_util.h"
#include "tests/keys/cache/worker.h"

namespace {

using namespace lk;
using ::testing::UnorderedElementsAre;

class CacheThreadsTest : public CacheTest {};
LK_BOTH_MODES(CacheThreadsTest);

TEST_P(CacheThreadsTest, ExecutorThatClosesTakesItsEntriesFromThreadsThatSleep) {
  make();
  Quota mine, others;
  LK_ASSERT_OK(lk_quota_create(cache, mine.out(), LK_ERR));
  LK_ASSERT_OK(lk_quota_create(cache, others.out(), LK_ERR));
  Worker workers[3];
  Probe own, other;
  for (Worker &worker : workers) {
    worker.run([&] {
      for (int again = 0; again < 2; again++) {
        for (uint64_t i = 0; i < 10; i++) touch(cache, &own, Key(i), 100, mine);
        for (uint64_t i = 10; i < 20; i++) touch(cache, &other, Key(i), 100, others);
      }
    });
  }
  const int each = shared() ? 1 : 3;
  EXPECT_EQ(own.alive(), 10 * each);
  mine.reset(); // the workers sleep
  EXPECT_EQ(own.alive(), 0);
  EXPECT_EQ(other.alive(), 10 * each);
  EXPECT_EQ(stats_of(cache).bytes, 10u * each * (entry_overhead() + 100));
  for (Worker &worker : workers) {
    worker.run([&] {
      EXPECT_EQ(find(cache, Key(3)), nullptr);
      for (uint64_t i = 10; i < 20; i++) EXPECT_TRUE(touch(cache, &other, Key(i), 100, others));
    });
  }
}

TEST_P(CacheThreadsTest, EvictionReachesThreadsThatSleep) {
  make();
  Worker workers[2];
  for (Worker &worker : workers) {
    worker.run([&] {
      for (uint64_t i = 0; i < 10; i++) touch(cache, &probe, Key(i));
    });
  }
  lk_cache_set_capacity(cache, nullptr, 4, LK_UNSET);
  EXPECT_EQ(probe.alive(), 4);
  lk_cache_clear(cache, nullptr);
  EXPECT_EQ(probe.alive(), 0);
}

TEST_P(CacheThreadsTest, UseByOtherThreadsIsUse) {
  make(3);
  Worker worker;
  Ref used;
  touch(cache, &probe, Key(1));
  touch(cache, &probe, Key(2));
  worker.run([&] {
    used = hold(cache, &probe, Key(3));
    if (shared()) touch(cache, &probe, Key(1)); // older for this thread, not for that one
  });
  touch(cache, &probe, Key(4));
  if (shared()) {
    EXPECT_THAT(numbers(cache), UnorderedElementsAre(1, 3, 4));
  } else {
    EXPECT_THAT(numbers(cache), UnorderedElementsAre(2, 3, 4));
  }
  touch(cache, &probe, Key(5));
  touch(cache, &probe, Key(6));
  EXPECT_THAT(numbers(cache), UnorderedElementsAre(3, 5, 6)); // in use there
  worker.run([&] { used.reset(); });
  touch(cache, &probe, Key(7));
  EXPECT_THAT(numbers(cache), UnorderedElementsAre(5, 6, 7));
}

// Hits and releases of one entry are counted in two places.
TEST_P(CacheThreadsTest, WhatOneThreadHasTakenAnotherMayRelease) {
  make();
  Worker worker;
  touch(cache, &probe, Key(1));
  std::vector<Ref> taken;
  for (int i = 0; i < 100; i++) taken.push_back(hold(cache, &probe, Key(1)));
  EXPECT_EQ(visit(cache).at(0).in_use, 100u);
  worker.run([&] { taken.resize(40); });
  EXPECT_EQ(visit(cache).at(0).in_use, 40u);
  for (int i = 0; i < 10; i++) taken.push_back(hold(cache, &probe, Key(1)));
  EXPECT_EQ(visit(cache).at(0).in_use, 50u);
  lk_cache_clear(cache, nullptr);
  EXPECT_EQ(probe.alive(), 1);
  worker.run([&] { taken.resize(1); });
  EXPECT_EQ(value_of(taken[0])->state, Value::ALIVE);
  lk_ref_retain(taken[0]);
  worker.run([&] { lk_ref_release(taken[0]); });
  EXPECT_EQ(probe.alive(), 1);
  taken.clear();
  EXPECT_EQ(probe.alive(), 0);
}

// The last use of what eviction has set aside may end on any thread: then it goes first.
TEST_P(CacheThreadsTest, WhatWasInUseGoesWhenAnotherThreadReleasesIt) {
  make(3);
  Worker worker;
  Ref held = hold(cache, &probe, Key(1));
  Ref same = hold(cache, &probe, Key(1));
  for (uint64_t i = 2; i <= 5; i++) touch(cache, &probe, Key(i));
  EXPECT_THAT(numbers(cache), UnorderedElementsAre(1, 4, 5));
  worker.run([&] { held.reset(); });
  touch(cache, &probe, Key(6));
  EXPECT_THAT(numbers(cache), UnorderedElementsAre(1, 5, 6));
  worker.run([&] { same.reset(); });
  touch(cache, &probe, Key(7));
  touch(cache, &probe, Key(8));
  EXPECT_EQ(find(cache, Key(1)), nullptr);
}

// ---- everything at once ----

TEST_P(CacheThreadsTest, EvictionWhileOthersRun) {
  const uint64_t overhead = entry_overhead();
  const uint64_t limit = 30 * (overhead + 100);
  make(40, limit);
  Quota quota;
  LK_ASSERT_OK(lk_quota_create(cache, quota.out(), LK_ERR));
  std::atomic<bool> done{false};
  std::atomic<int> calls{0};
  std::vector<std::thread> threads;
  for (uint32_t seed = 0; seed < 3; seed++) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      std::vector<Ref> held;
      for (int i = 0; i < 4000; i++) {
        const uint64_t number = random() % 80;
        const Key key(number, number % 2 == 0 ? LK_KIND_RUN : LK_KIND_NAME);
        const lk_status wanted = random() % 50 == 0 ? LK_INTERNAL : LK_OK;
        Get get{&probe, 0, random() % 200, wanted, {}};
        if (number % 2 == 0) {
          // A run plan, and the plan that it needs.
          get.during = [&](Value *value, lk_error *error) {
            return need(cache, value, Key(number + 1, LK_KIND_NAME), {&probe, 0, 100, wanted, {}},
                        error);
          };
        }
        Ref ref;
        const lk_status status =
            get.run(cache, random() % 2 == 0 ? quota.get() : nullptr, key, ref.out());
        calls++;
        if (status != LK_OK) {
          EXPECT_EQ(status, LK_INTERNAL);
          continue;
        }
        EXPECT_EQ(value_of(ref)->state, Value::ALIVE);
        EXPECT_EQ(value_of(ref)->number, number);
        if (random() % 16 == 0) lk_ref_charge(ref, random() % 300);
        held.push_back(std::move(ref));
        if (held.size() > 8) held.erase(held.begin() + random() % 8);
        for (const Ref &each : held) EXPECT_EQ(value_of(each)->state, Value::ALIVE);
      }
    });
  }
  std::thread owner([&] {
    std::mt19937 random(99);
    while (!done) {
      switch (random() % 5) {
      case 0:
        lk_cache_clear(cache, quota);
        break;
      case 1:
        lk_cache_set_capacity(cache, nullptr, 5 + random() % 36, LK_UNSET);
        break;
      case 2:
        lk_cache_set_capacity(cache, quota, 3 + random() % 20, LK_UNSET);
        break;
      case 3:
        visit(cache);
        break;
      default: {
        const lk_stats stats = stats_of(cache);
        EXPECT_EQ(all_kinds(stats).entries, stats.entries);
        EXPECT_EQ(all_kinds(stats).bytes, stats.bytes);
        (void)stats_of(cache, quota);
      }
      }
      std::this_thread::yield();
    }
  });
  for (std::thread &thread : threads) thread.join();
  done = true;
  owner.join();
  lk_cache_set_capacity(cache, nullptr, 40, LK_UNSET);
  const lk_stats stats = stats_of(cache);
  EXPECT_LE(stats.bytes, limit);
  EXPECT_LE(stats.entries, 40u);
  const lk_kind_stats counts = all_kinds(stats);
  EXPECT_EQ(counts.builds, static_cast<uint64_t>(probe.built));
  EXPECT_GE(counts.hits + counts.misses, static_cast<uint64_t>(calls));
  for (const Seen &seen : visit(cache)) EXPECT_LE(seen.in_use, 1u); // by its plan
  lk_cache_clear(cache, nullptr);
  EXPECT_EQ(probe.alive(), 0);
  EXPECT_EQ(stats_of(cache).unlinked_bytes, 0u);
  EXPECT_EQ(stats_of(cache).bytes, 0u);
}

// A thread that hits without pause while another evicts all the time.
TEST_P(CacheThreadsTest, HitsWhileAnotherEvicts) {
  make(30);
  std::atomic<bool> done{false};
  Ref pinned = hold(cache, &probe, Key(0));
  std::thread evictor([&] {
    for (uint64_t i = 1; i < 3000; i++) touch(cache, &probe, Key(i));
    done = true;
  });
  uint64_t asked = 0;
  while (!done) {
    touch(cache, &probe, Key(asked++ % 4));
  }
  evictor.join();
  const lk_kind_stats counts = all_kinds(stats_of(cache));
  EXPECT_EQ(counts.hits + counts.misses, asked + 3000);
  EXPECT_LE(stats_of(cache).entries, 30u);
}

} // namespace
