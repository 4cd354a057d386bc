// The cache with many threads: one build for all, circles, threads and executors that end, eviction
// under way. Order is made by handshakes: no sleeps, no time limits of its own.
#include <future>
#include <random>

#include "tests/keys/cache/cache_util.h"

namespace {

using namespace lk;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

uint64_t waits(lk_cache *cache) {
  return all_kinds(stats_of(cache)).waits;
}

// A thread that takes one job after another, and sleeps in between.
class Worker {
public:
  Worker() : thread_([this] { loop(); }) {}
  Worker(const Worker &) = delete;
  ~Worker() { end(); }

  void run(std::function<void()> job) {
    start(std::move(job));
    finish();
  }
  void start(std::function<void()> job) {
    std::lock_guard<std::mutex> guard(lock_);
    job_ = std::move(job);
    busy_ = true;
    changed_.notify_all();
  }
  void finish() {
    std::unique_lock<std::mutex> guard(lock_);
    changed_.wait(guard, [this] { return !busy_; });
  }
  void end() {
    if (!thread_.joinable()) return;
    {
      std::lock_guard<std::mutex> guard(lock_);
      ending_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

private:
  void loop() {
    std::unique_lock<std::mutex> guard(lock_);
    for (;;) {
      changed_.wait(guard, [this] { return busy_ || ending_; });
      if (!busy_) return;
      guard.unlock();
      job_();
      guard.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }
  std::mutex lock_;
  std::condition_variable changed_;
  std::function<void()> job_;
  bool busy_ = false, ending_ = false;
  std::thread thread_; // last: uses all of the above
};

class CacheThreadsTest : public CacheTest {};
LK_BOTH_MODES(CacheThreadsTest);

class SharedCacheTest : public CacheTest {};
INSTANTIATE_TEST_SUITE_P(Modes, SharedCacheTest, ::testing::Values(LK_CACHE_SHARED), mode_name);

class ThreadCacheTest : public CacheTest {};
INSTANTIATE_TEST_SUITE_P(Modes, ThreadCacheTest, ::testing::Values(LK_CACHE_THREAD), mode_name);

// ---- single flight ----

constexpr int N = 8;

// N threads ask for one key; the build ends when all others wait for it.
std::vector<lk_status> all_ask(lk_cache *cache, Probe *probe, lk_status build_status,
                               std::vector<std::string> *messages = nullptr) {
  const uint64_t before = waits(cache);
  std::vector<lk_status> statuses(N, LK_INTERNAL);
  std::mutex lock;
  std::vector<std::thread> threads;
  for (int i = 0; i < N; i++) {
    threads.emplace_back([&, i] {
      Get get{probe, 0, 10, LK_OK, [&](Value *, lk_error *error) {
                wait_until([&] { return waits(cache) == before + N - 1; });
                if (build_status == LK_OK) return LK_OK;
                return lk_fail(error, build_status, "no luck with %d", 77);
              }};
      Ref ref;
      lk_error error;
      statuses[i] = get.run(cache, nullptr, Key(1), ref.out(), nullptr, &error);
      if (statuses[i] == LK_OK) {
        EXPECT_EQ(value_of(ref)->number, 1u);
      } else if (messages != nullptr) {
        std::lock_guard<std::mutex> guard(lock);
        messages->push_back(error.message);
        EXPECT_EQ(error.status, statuses[i]);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  return statuses;
}

TEST_P(SharedCacheTest, OneBuildForAllWhoAsk) {
  make();
  EXPECT_THAT(all_ask(cache, &probe, LK_OK), ::testing::Each(LK_OK));
  EXPECT_EQ(probe.built, 1);
  const lk_kind_stats counts = stats_of(cache).kind[LK_KIND_USER];
  EXPECT_EQ(counts.builds, 1u);
  EXPECT_EQ(counts.waits, static_cast<uint64_t>(N - 1));
  EXPECT_EQ(counts.misses, static_cast<uint64_t>(N));
  EXPECT_EQ(counts.hits, 0u);
  EXPECT_EQ(visit(cache).at(0).in_use, 0u);
}

TEST_P(SharedCacheTest, FailedBuildIsToldToAllWhoWait) {
  make();
  std::vector<std::string> messages;
  EXPECT_THAT(all_ask(cache, &probe, LK_ONEDNN, &messages), ::testing::Each(LK_ONEDNN));
  EXPECT_EQ(messages.size(), static_cast<size_t>(N));
  EXPECT_THAT(messages, ::testing::Each("no luck with 77"));
  EXPECT_EQ(stats_of(cache).kind[LK_KIND_USER].failed_builds, 1u);
  EXPECT_EQ(stats_of(cache).entries, 0u);
  EXPECT_THAT(all_ask(cache, &probe, LK_OK), ::testing::Each(LK_OK)); // the next call tries again
  EXPECT_EQ(probe.built, 1);
}

TEST_P(SharedCacheTest, ValueTooLargeToKeepIsStillSharedByThoseWhoWaited) {
  make(LK_UNLIMITED, 5);
  EXPECT_THAT(all_ask(cache, &probe, LK_OK), ::testing::Each(LK_OK));
  EXPECT_EQ(probe.built, 1);
  EXPECT_EQ(probe.ended, 1);
  EXPECT_EQ(stats_of(cache).unlinked_bytes, 0u);
}

TEST_P(CacheThreadsTest, NothingWaitsForTheBuildOfAnotherKey) {
  make();
  for (uint64_t i = 1; i < 100; i++) touch(cache, &probe, Key(i)); // all shards
  Worker builder;
  std::promise<void> started, go;
  builder.start([&] {
    Get get{&probe, 0, 0, LK_OK, [&](Value *, lk_error *) {
              started.set_value();
              go.get_future().wait();
              return LK_OK;
            }};
    Ref ref;
    LK_EXPECT_OK(get.run(cache, nullptr, Key(1000), ref.out(), nullptr, LK_ERR));
  });
  started.get_future().wait();
  for (uint64_t i = 1; i < 100; i++) EXPECT_TRUE(touch(cache, &probe, Key(i)));
  for (uint64_t i = 200; i < 300; i++) EXPECT_FALSE(touch(cache, &probe, Key(i)));
  lk_cache_set_capacity(cache, nullptr, 20, LK_UNSET); // nor does eviction, nor anything else
  EXPECT_EQ(visit(cache).size(), 20u);
  lk_cache_clear(cache, nullptr);
  go.set_value();
  builder.finish();
  EXPECT_EQ(stats_of(cache).entries, 1u);
}

// ---- circles ----

TEST_P(SharedCacheTest, TwoThreadsThatWaitForEachOtherAreACycle) {
  make();
  Owned<lk_intern, lk_intern_destroy> words;
  LK_ASSERT_OK(lk_intern_create(allocator.get(), words.out(), LK_ERR));
  lk_cache_set_words(cache, words);
  std::atomic<int> building{0}, cycles{0};
  const auto ask = [&](uint64_t own, uint64_t other) {
    Get get{&probe, 0, 0, LK_OK, [&](Value *, lk_error *error) {
              building++;
              wait_until([&] { return building == 2; });
              Get inner{&probe, 0, 0, LK_OK, {}};
              lk_ref *ref = nullptr;
              const lk_status status = inner.run(cache, nullptr, Key(other), &ref, nullptr, error);
              EXPECT_EQ(status, LK_CYCLE); // one finds it, the other is told
              if (status == LK_CYCLE) {
                EXPECT_THAT(error->message, HasSubstr("'dst'"));
                cycles++;
              }
              return status;
            }};
    Ref ref;
    lk_error error;
    EXPECT_EQ(get.run(cache, nullptr, Key(own), ref.out(), nullptr, &error), LK_CYCLE);
  };
  std::thread a([&] { ask(1, 2); });
  std::thread b([&] { ask(2, 1); });
  a.join();
  b.join();
  EXPECT_EQ(cycles, 2);
  EXPECT_EQ(stats_of(cache).entries, 0u);
  EXPECT_FALSE(touch(cache, &probe, Key(1)));
  EXPECT_FALSE(touch(cache, &probe, Key(2)));
}

TEST_P(SharedCacheTest, CircleThroughThreeThreadsAndTwoCaches) {
  make();
  Cache other;
  LK_ASSERT_OK(lk_cache_create(allocator.get(), LK_CACHE_SHARED, LK_UNLIMITED, LK_UNLIMITED,
                               other.out(), LK_ERR));
  lk_cache *const caches[] = {cache, other, cache};
  std::atomic<int> building{0}, failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++) {
    threads.emplace_back([&, i] {
      Get get{&probe, 0, 0, LK_OK, [&](Value *, lk_error *error) {
                building++;
                wait_until([&] { return building == 3; });
                const int next = (i + 1) % 3;
                Get inner{&probe, 0, 0, LK_OK, {}};
                lk_ref *ref = nullptr;
                return inner.run(caches[next], nullptr, Key(next), &ref, nullptr, error);
              }};
      Ref ref;
      if (get.run(caches[i], nullptr, Key(i), ref.out()) == LK_CYCLE) failed++;
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(failed, 3);
  EXPECT_EQ(probe.built, 0);
}

TEST_P(SharedCacheTest, WaitingForABuilderThatAsksForSomethingElseIsNoCycle) {
  make();
  for (int round = 0; round < 200; round++) {
    const Key shared_key(10 + 3 * round), a(11 + 3 * round), b(12 + 3 * round);
    const auto ask = [&](const lk_key *first, const lk_key *second) {
      const auto plain = [&](Value *, lk_error *) { return LK_OK; };
      Get get{&probe, 0, 0, LK_OK, plain};
      Ref one, two;
      LK_EXPECT_OK(get.run(cache, nullptr, first, one.out(), nullptr, LK_ERR));
      Get outer{&probe, 0, 0, LK_OK, [&](Value *, lk_error *error) {
                  Ref inner;
                  Get wanted{&probe, 0, 0, LK_OK, {}};
                  return wanted.run(cache, nullptr, shared_key, inner.out(), nullptr, error);
                }};
      LK_EXPECT_OK(outer.run(cache, nullptr, second, two.out(), nullptr, LK_ERR));
    };
    std::thread one([&] { ask(shared_key, a); });
    std::thread two([&] { ask(shared_key, b); });
    one.join();
    two.join();
  }
  EXPECT_EQ(probe.built, 600);
}

// ---- the end of threads, executors, caches ----

TEST_P(ThreadCacheTest, ThreadThatEndsFreesItsOwnAndNoOthers) {
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

TEST_P(SharedCacheTest, ThreadThatEndsLeavesItsEntriesToOthers) {
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

TEST_P(CacheThreadsTest, CacheMayEndBeforeItsThreadsAndAfterThem) {
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

TEST_P(CacheThreadsTest, ThreadsAndCachesEndAtTheSameTime) {
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
      EXPECT_EQ(lk_cache_find(cache, Key(3)), nullptr);
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
        const Key key(number, number % 2 == 0 ? LK_KIND_NAME : LK_KIND_VALUE);
        const lk_status wanted = random() % 50 == 0 ? LK_ONEDNN : LK_OK;
        Get get{&probe, 0, random() % 200, wanted, {}};
        if (number % 2 == 0) {
          // A plan, and the value that it needs.
          get.during = [&](Value *value, lk_error *error) {
            Get inner{&probe, 0, 100, wanted, {}};
            lk_ref *need = nullptr;
            const lk_status status =
                inner.run(cache, nullptr, Key(number + 1, LK_KIND_VALUE), &need, nullptr, error);
            if (status == LK_OK) value->needs.push_back(need);
            return status;
          };
        }
        Ref ref;
        const lk_status status =
            get.run(cache, random() % 2 == 0 ? quota.get() : nullptr, key, ref.out());
        calls++;
        if (status != LK_OK) {
          EXPECT_EQ(status, LK_ONEDNN);
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
