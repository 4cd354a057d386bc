// Keys that name a thread: their values are that thread's in a shared cache, too, beside what all
// threads share. In per-thread mode they are like all others.
#include <cstdlib>
#include <random>

#include "tests/keys/cache/cache_util.h"
#include "tests/keys/cache/worker.h"

extern "C" {
#include "keys/cache/drop.h"
}

namespace {

using namespace lk;
using ::testing::UnorderedElementsAre;

class OfThreadTest : public CacheTest {};
LK_BOTH_MODES(OfThreadTest);

TEST_P(OfThreadTest, IsBuiltByEachThreadForItself) {
  make();
  const ThreadKey mine(1);
  touch(cache, &probe, mine);
  Worker other;
  other.run([&] {
    const ThreadKey theirs(1);
    EXPECT_FALSE(lk_key_equal(theirs, mine));
    EXPECT_EQ(find(cache, theirs), nullptr);
    EXPECT_FALSE(touch(cache, &probe, theirs));
    EXPECT_TRUE(touch(cache, &probe, theirs));
    EXPECT_EQ(find(cache, mine), nullptr) << "not even by another thread's key";
  });
  EXPECT_TRUE(touch(cache, &probe, mine));
  EXPECT_EQ(probe.built, 2);
  EXPECT_THAT(numbers(cache), UnorderedElementsAre(1, 1));
  const lk_stats stats = stats_of(cache);
  EXPECT_EQ(stats.entries, 2u);
  EXPECT_EQ(stats.kind[LK_KIND_USER].hits, 2u);
  EXPECT_EQ(stats.kind[LK_KIND_USER].waits, 0u);
  EXPECT_EQ(stats.kind[LK_KIND_USER].builds, 2u);
}

TEST_P(OfThreadTest, GoesWithItsThreadAndNothingElseDoes) {
  make();
  touch(cache, &probe, ThreadKey(1));
  Probe theirs;
  Ref kept;
  Worker other;
  other.run([&] {
    touch(cache, &theirs, ThreadKey(1));
    touch(cache, &theirs, ThreadKey(2));
    touch(cache, &theirs, ThreadKey(2));
    kept = hold(cache, &theirs, ThreadKey(3));
    touch(cache, &theirs, Key(4));
  });
  EXPECT_EQ(stats_of(cache).entries, 5u);
  other.end();
  EXPECT_EQ(theirs.alive(), shared() ? 2 : 1) << "what is in use elsewhere, and what is shared";
  EXPECT_EQ(value_of(kept)->number, 3u);
  EXPECT_EQ(stats_of(cache).entries, shared() ? 2u : 1u);
  EXPECT_EQ(stats_of(cache).kind[LK_KIND_USER].hits, 1u) << "counted although it is gone";
  kept.reset();
  EXPECT_EQ(theirs.alive(), shared() ? 1 : 0);
  EXPECT_TRUE(touch(cache, &probe, ThreadKey(1)));
  EXPECT_EQ(touch(cache, &theirs, Key(4)), shared());
  cache.reset(); // while there is still who counts its values
}

// By whoever makes room, while its thread sleeps.
TEST_P(OfThreadTest, IsEvictedLikeAllOthers) {
  make(4);
  Worker other;
  Ref used;
  other.run([&] {
    used = hold(cache, &probe, ThreadKey(1));
    touch(cache, &probe, ThreadKey(2));
    touch(cache, &probe, ThreadKey(3));
  });
  for (uint64_t i = 10; i < 13; i++) touch(cache, &probe, Key(i));
  EXPECT_THAT(numbers(cache), UnorderedElementsAre(1, 10, 11, 12)) << "what is in use stays";
  EXPECT_EQ(stats_of(cache).kind[LK_KIND_USER].evictions, 2u);
  EXPECT_EQ(probe.ended, 2);
  used.reset();
  touch(cache, &probe, ThreadKey(13));
  EXPECT_THAT(numbers(cache), UnorderedElementsAre(13, 10, 11, 12)) << "nobody uses it any more";
  other.run([&] {
    for (uint64_t i = 1; i < 4; i++) EXPECT_FALSE(touch(cache, &probe, ThreadKey(i)));
    for (uint64_t i = 1; i < 4; i++) EXPECT_TRUE(touch(cache, &probe, ThreadKey(i)));
  });
  EXPECT_EQ(stats_of(cache).entries, 4u);
  lk_cache_set_capacity(cache, nullptr, 0, LK_UNSET);
  EXPECT_EQ(probe.alive(), 0);
  EXPECT_FALSE(touch(cache, &probe, ThreadKey(1)));
  EXPECT_EQ(stats_of(cache).entries, 0u);
}

TEST_P(OfThreadTest, IsDroppedByAnyThread) {
  make();
  Quota quota;
  LK_ASSERT_OK(lk_quota_create(cache, quota.out(), LK_ERR));
  Worker other;
  std::unique_ptr<ThreadKey> key;
  other.run([&] {
    key = std::make_unique<ThreadKey>(1);
    touch(cache, &probe, *key);
    touch(cache, &probe, ThreadKey(2), 0, quota);
    touch(cache, &probe, ThreadKey(3));
  });
  EXPECT_EQ(lk_cache_drop(cache, quota, *key), 0u);
  EXPECT_EQ(lk_cache_drop(cache, nullptr, *key), 1u);
  EXPECT_EQ(lk_cache_drop(cache, nullptr, *key), 0u);
  EXPECT_EQ(probe.ended, 1);
  EXPECT_EQ(stats_of(cache, quota).entries, 1u);
  quota.reset();
  EXPECT_THAT(numbers(cache), UnorderedElementsAre(3));
  other.run([&] { EXPECT_FALSE(touch(cache, &probe, *key)); });
  lk_cache_clear(cache, nullptr);
  EXPECT_EQ(probe.alive(), 0);
}

TEST_P(OfThreadTest, ABuildThatIsUnderWayWhenItIsDroppedIsNotKept) {
  make();
  const ThreadKey key(1);
  Get get{&probe, 0, 0, LK_OK, [&](Value *, lk_error *error) {
            EXPECT_EQ(lk_cache_drop(cache, nullptr, key), 0u);
            Ref inner; // it would wait for itself
            Get again{&probe, 0, 0, LK_OK, {}};
            LK_EXPECT_STATUS(LK_CYCLE, again.run(cache, nullptr, key, inner.out(), nullptr, error));
            return LK_OK;
          }};
  Ref made;
  LK_ASSERT_OK(get.run(cache, nullptr, key, made.out(), nullptr, LK_ERR));
  EXPECT_EQ(stats_of(cache).entries, 0u);
  EXPECT_FALSE(touch(cache, &probe, key));
  EXPECT_TRUE(touch(cache, &probe, key));
}

// A front that lists too many handles is emptied; what is the thread's own is no handle.
TEST_P(OfThreadTest, StaysWhenItsThreadFindsThousandsOfOthers) {
  make();
  for (uint64_t i = 0; i < 100; i++) touch(cache, &probe, ThreadKey(i));
  for (uint64_t i = 1000; i < 6000; i++) touch(cache, &probe, Key(i));
  for (uint64_t i = 0; i < 100; i++) EXPECT_TRUE(touch(cache, &probe, ThreadKey(i)));
  for (uint64_t i = 1000; i < 6000; i++) EXPECT_TRUE(touch(cache, &probe, Key(i)));
  EXPECT_EQ(stats_of(cache).entries, 5100u);
  EXPECT_EQ(probe.ended, 0);
}

TEST_P(OfThreadTest, CountsHitsForItsExecutor) {
  make();
  Quota quota;
  LK_ASSERT_OK(lk_quota_create(cache, quota.out(), LK_ERR));
  const ThreadKey key(1);
  const Key other(2);
  for (int i = 0; i < 4; i++) touch(cache, &probe, key, 0, quota);
  for (int i = 0; i < 3; i++) touch(cache, &probe, other, 0, quota);
  EXPECT_EQ(stats_of(cache, quota).kind[LK_KIND_USER].hits, 5u);
  EXPECT_EQ(stats_of(cache).kind[LK_KIND_USER].hits, 5u);
  EXPECT_EQ(lk_cache_drop(cache, nullptr, key), 1u);
  EXPECT_EQ(stats_of(cache, quota).kind[LK_KIND_USER].hits, 5u);
  for (const Seen &seen : visit(cache)) EXPECT_EQ(seen.hits, 2u);
}

// What a front lists does not go because the thread has much of its own.
TEST_P(OfThreadTest, LeavesItsThreadsFrontAsLargeAsEver) {
  make();
  for (uint64_t i = 0; i < 5000; i++) touch(cache, &probe, ThreadKey(i));
  const Ref first = hold(cache, &probe, Key(1));
  touch(cache, &probe, Key(2));
  const Ref again = hold(cache, &probe, Key(1));
  EXPECT_EQ(first.get(), again.get()) << "what the table lists";
  EXPECT_EQ(probe.built, 5002);
}

// Memory from which one thread gets nothing while the table of another is in its hands.
struct Holding {
  static inline thread_local bool holds;
  std::atomic<bool> inside{false}, go{false};
  lk_allocator allocator = {this, take, [](void *, void *memory) { std::free(memory); }};

  static void *take(void *user, size_t size, size_t alignment) {
    auto *self = static_cast<Holding *>(user);
    if (holds && !self->inside.exchange(true)) wait_until([&] { return self->go.load(); });
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  }
};

// Who looks at all entries has the thread's table for a moment. The thread must not take that for a
// miss: there is no other place that has its value.
TEST_P(OfThreadTest, IsFoundAlthoughItsTableIsBusy) {
  Holding memory;
  Cache own;
  LK_ASSERT_OK(lk_cache_create(&memory.allocator, GetParam(), LK_UNLIMITED, LK_UNLIMITED, own.out(),
                               LK_ERR));
  const ThreadKey key(1);
  touch(own, &probe, key);
  const pthread_t asking = pthread_self();
  std::atomic<bool> asks{false};
  std::thread visitor([&] {
    Holding::holds = true;
    EXPECT_EQ(visit(own).size(), 1u);
  });
  wait_until([&] { return memory.inside.load(); });
  const uint64_t start = computed_ns(asking);
  std::thread ends([&] { // when the other one has asked in vain for some time, or builds
    wait_until([&] { return asks && (probe.built > 1 || computed_ns(asking) > start + 2000000); });
    memory.go = true;
  });
  asks = true;
  EXPECT_TRUE(touch(own, &probe, key));
  ends.join();
  visitor.join();
  EXPECT_EQ(probe.built, 1);
}

TEST_P(OfThreadTest, CacheMayEndBeforeItsThreads) {
  Worker first, second;
  for (int round = 0; round < 3; round++) {
    make();
    for (Worker *worker : {&first, &second}) {
      worker->run([&] {
        touch(cache, &probe, ThreadKey(1));
        touch(cache, &probe, Key(2));
      });
    }
    cache.reset();
    EXPECT_EQ(probe.alive(), 0);
  }
}

// Threads that come and go, own values and shared ones, little room, executors that end.
TEST_P(OfThreadTest, AllAtOnce) {
  make(20, 20000);
  Quota quota;
  LK_ASSERT_OK(lk_quota_create(cache, quota.out(), LK_ERR));
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<Ref> held;
    for (int i = 0; i < 400; i++) {
      const uint64_t number = random() % 20;
      const Key key(number, LK_KIND_USER, random() % 2 == 0);
      switch (random() % 30) {
      case 0:
        lk_cache_clear(cache, nullptr);
        break;
      case 1:
        lk_cache_clear(cache, quota);
        break;
      case 2:
      case 3:
        lk_cache_drop(cache, nullptr, key);
        break;
      case 4:
        visit(cache);
        stats_of(cache, quota);
        break;
      case 5:
        held.clear();
        break;
      case 6:
        held.push_back(hold(cache, &probe, key, random() % 1000));
        break;
      default:
        touch(cache, &probe, key, random() % 1000, random() % 2 == 0 ? quota.get() : nullptr);
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < repeats(20); i++) std::thread(work, 100 * i + t).join();
    });
  }
  for (std::thread &thread : threads) thread.join();
  const lk_stats stats = stats_of(cache);
  EXPECT_EQ(static_cast<uint64_t>(probe.alive()), stats.entries);
  EXPECT_LE(stats.entries, shared() ? 20u : 0u) << "threads have gone, and theirs with them";
  EXPECT_EQ(stats.unlinked_bytes, 0u);
  quota.reset();
  lk_cache_clear(cache, nullptr);
  EXPECT_EQ(probe.alive(), 0);
}

} // namespace
