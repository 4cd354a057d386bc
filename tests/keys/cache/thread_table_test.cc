// Threads' tables: they end with their thread or with their cache, whichever ends first.
#include <pthread.h>

#include "tests/keys/cache/cache_util.h"
#include "tests/keys/cache/worker.h"

extern "C" pthread_mutex_t lk_registry; // of thread_table.h, which is C

namespace {

using namespace lk;

class ThreadTableTest : public CacheTest {};
LK_BOTH_MODES(ThreadTableTest);

class SharedTableTest : public CacheTest {};
INSTANTIATE_TEST_SUITE_P(Modes, SharedTableTest, ::testing::Values(LK_CACHE_SHARED), mode_name);

class OwnTableTest : public CacheTest {};
INSTANTIATE_TEST_SUITE_P(Modes, OwnTableTest, ::testing::Values(LK_CACHE_THREAD), mode_name);

TEST_P(OwnTableTest, ThreadThatEndsFreesItsOwnAndNoOthers) {
  make();
  touch(cache, &probe, Key(1));
  Ref kept;
  Probe other;
  std::thread([&] {
    EXPECT_FALSE(touch(cache, &other, Key(1))); // a table of its own
    touch(cache, &other, Key(2));
    touch(cache, &other, Key(2));
    kept = hold(cache, &other, Key(3));
  }).join();
  EXPECT_EQ(other.built, 3);
  EXPECT_EQ(other.ended, 2);
  EXPECT_EQ(value_of(kept)->number, 3u); // in use elsewhere
  kept.reset();
  EXPECT_EQ(other.ended, 3);
  EXPECT_EQ(stats_of(cache).entries, 1u);
  EXPECT_EQ(stats_of(cache).kind[LK_KIND_USER].hits, 1u); // counted although it is gone
  EXPECT_TRUE(touch(cache, &probe, Key(1)));
  EXPECT_EQ(probe.ended, 0);
}

TEST_P(SharedTableTest, ThreadThatEndsLeavesItsEntriesToOthers) {
  make();
  std::thread([&] {
    for (uint64_t i = 0; i < 50; i++) touch(cache, &probe, Key(i));
    for (uint64_t i = 0; i < 50; i++) touch(cache, &probe, Key(i));
  }).join();
  for (uint64_t i = 0; i < 50; i++) EXPECT_TRUE(touch(cache, &probe, Key(i)));
  EXPECT_EQ(stats_of(cache).kind[LK_KIND_USER].hits, 100u);
  for (const Seen &seen : visit(cache)) {
    EXPECT_EQ(seen.hits, 2u);
    EXPECT_EQ(seen.in_use, 0u);
  }
}

TEST_P(ThreadTableTest, CacheMayEndBeforeItsThreadsAndAfterThem) {
  Worker first, second;
  for (int round = 0; round < 3; round++) {
    make();
    Worker brief;
    for (Worker *worker : {&first, &second, &brief}) {
      worker->run([&] {
        EXPECT_FALSE(touch(cache, &probe, Key(0)) && !shared());
        touch(cache, &probe, Key(1));
      });
    }
    brief.end();
    cache.reset();
    EXPECT_EQ(probe.alive(), 0);
  }
}

TEST_P(ThreadTableTest, ThreadsAndCachesEndAtTheSameTime) {
  for (int round = 0; round < 50; round++) {
    Cache own;
    LK_ASSERT_OK(lk_cache_create(allocator.get(), GetParam(), LK_UNLIMITED, LK_UNLIMITED, own.out(),
                                 LK_ERR));
    std::atomic<int> done{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) {
      threads.emplace_back([&, i] {
        for (uint64_t k = 0; k < 20; k++) touch(own, &probe, Key(k * (i + 1)));
        done++; // and end, while the cache does
      });
    }
    wait_until([&] { return done == 4; });
    own.reset();
    EXPECT_EQ(probe.alive(), 0);
    for (std::thread &thread : threads) thread.join();
  }
}

// Whatever numbers they have: here such as have one remainder with every small power of two.
TEST_P(ThreadTableTest, FourCachesInTurnsNeedNoLockOfTheProcess) {
  std::vector<Cache> caches(25);
  for (Cache &each : caches) {
    LK_ASSERT_OK(lk_cache_create(allocator.get(), GetParam(), LK_UNLIMITED, LK_UNLIMITED,
                                 each.out(), LK_ERR));
  }
  lk_cache *const used[] = {caches[0], caches[8], caches[16], caches[24]};
  const Key key(1);
  for (lk_cache *each : used) touch(each, &probe, key);
  pthread_mutex_lock(&lk_registry); // taking it once more would be for ever
  for (int round = 0; round < 3; round++) {
    for (lk_cache *each : used) EXPECT_TRUE(touch(each, &probe, key));
  }
  pthread_mutex_unlock(&lk_registry);
}

} // namespace
