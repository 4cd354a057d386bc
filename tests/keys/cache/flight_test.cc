// Single flight: one build for all who ask, and circles of threads that wait for each other. Order
// is made by handshakes: no sleeps, no time limits of its own.
#include <future>

#include "tests/keys/cache/cache_util.h"
#include "tests/keys/cache/worker.h"

namespace {

using namespace lk;
using ::testing::HasSubstr;

uint64_t waits(lk_cache *cache) {
  return all_kinds(stats_of(cache)).waits;
}

class CacheFlightTest : public CacheTest {};
LK_BOTH_MODES(CacheFlightTest);

class SharedFlightTest : public CacheTest {};
INSTANTIATE_TEST_SUITE_P(Modes, SharedFlightTest, ::testing::Values(LK_CACHE_SHARED), mode_name);

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

TEST_P(SharedFlightTest, OneBuildForAllWhoAsk) {
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

TEST_P(SharedFlightTest, FailedBuildIsToldToAllWhoWait) {
  make();
  std::vector<std::string> messages;
  EXPECT_THAT(all_ask(cache, &probe, LK_INTERNAL, &messages), ::testing::Each(LK_INTERNAL));
  EXPECT_EQ(messages.size(), static_cast<size_t>(N));
  EXPECT_THAT(messages, ::testing::Each("no luck with 77"));
  EXPECT_EQ(stats_of(cache).kind[LK_KIND_USER].failed_builds, 1u);
  EXPECT_EQ(stats_of(cache).entries, 0u);
  EXPECT_THAT(all_ask(cache, &probe, LK_OK), ::testing::Each(LK_OK)); // the next call tries again
  EXPECT_EQ(probe.built, 1);
}

// What ended a build was its builder's own affair: those who waited for it make theirs.
TEST_P(SharedFlightTest, BuildThatWasCancelledIsMadeByOneWhoWaits) {
  make();
  struct Build {
    std::atomic<int> calls{0};
    std::promise<void> begun, may_end;
  } build;
  const lk_build_fn fn = [](void *arg, const lk_key *, lk_built *out, lk_error *error) {
    auto *self = static_cast<Build *>(arg);
    if (self->calls++ > 0) {
      *out = {arg, 0, nullptr, nullptr};
      return LK_OK;
    }
    self->begun.set_value();
    self->may_end.get_future().wait();
    return lk_fail(error, LK_CANCELLED, "cancelled");
  };
  std::thread builder([&] {
    Ref ref;
    LK_EXPECT_STATUS(LK_CANCELLED,
                     lk_cache_get(cache, nullptr, Key(5), fn, &build, ref.out(), nullptr, LK_ERR));
  });
  build.begun.get_future().wait();
  std::thread waiter([&] {
    Ref ref;
    LK_EXPECT_OK(lk_cache_get(cache, nullptr, Key(5), fn, &build, ref.out(), nullptr, LK_ERR));
  });
  wait_until([&] { return waits(cache) == 1; });
  build.may_end.set_value();
  builder.join();
  waiter.join();
  EXPECT_EQ(build.calls, 2);
}

// The value that has to go for the new one does not end before those who waited for the new one
// have it, nor before one has it who asks only then.
TEST_P(SharedFlightTest, WaitersHaveTheValueBeforeAnotherGoes) {
  make(1);
  std::promise<void> ending, had_by_waiter, had_by_late_one;
  struct Slow {
    std::promise<void> *ending, *waiter, *late_one;
  } slow{&ending, &had_by_waiter, &had_by_late_one};
  const lk_build_fn build = [](void *arg, const lk_key *, lk_built *out, lk_error *) {
    *out = {arg, 0,
            [](void *value, void *) {
              const auto *of = static_cast<Slow *>(value);
              of->ending->set_value();
              of->waiter->get_future().wait();
              of->late_one->get_future().wait();
            },
            nullptr};
    return LK_OK;
  };
  Ref old;
  LK_ASSERT_OK(lk_cache_get(cache, nullptr, Key(1), build, &slow, old.out(), nullptr, LK_ERR));
  old.reset();
  HeldBuild builder(cache, &probe, 2);
  std::thread waiter([&] {
    touch(cache, &probe, Key(2));
    had_by_waiter.set_value();
  });
  std::thread late_one([&] {
    ending.get_future().wait();
    EXPECT_TRUE(touch(cache, &probe, Key(2)));
    had_by_late_one.set_value();
  });
  wait_until([&] { return waits(cache) == 1; });
  builder.end();
  waiter.join();
  late_one.join();
  EXPECT_EQ(probe.built, 1);
  EXPECT_EQ(stats_of(cache).entries, 1u);
  EXPECT_EQ(stats_of(cache).unlinked_bytes, 0u);
  EXPECT_TRUE(touch(cache, &probe, Key(2)));
}

// A value that ends may ask for the very key that takes its place.
TEST_P(CacheFlightTest, ValueThatGoesMayAskForTheOneThatComes) {
  make(1);
  struct Asks {
    lk_cache *cache;
    Probe *probe;
  } asks{cache, &probe};
  const lk_build_fn build = [](void *arg, const lk_key *, lk_built *out, lk_error *) {
    *out = {arg, 0,
            [](void *value, void *) {
              const auto *of = static_cast<Asks *>(value);
              touch(of->cache, of->probe, Key(2));
            },
            nullptr};
    return LK_OK;
  };
  Ref old;
  LK_ASSERT_OK(lk_cache_get(cache, nullptr, Key(1), build, &asks, old.out(), nullptr, LK_ERR));
  old.reset();
  touch(cache, &probe, Key(2));
  EXPECT_EQ(stats_of(cache).entries, 1u);
  EXPECT_TRUE(touch(cache, &probe, Key(2)));
}

TEST_P(SharedFlightTest, ValueTooLargeToKeepIsStillSharedByThoseWhoWaited) {
  make(LK_UNLIMITED, 5);
  EXPECT_THAT(all_ask(cache, &probe, LK_OK), ::testing::Each(LK_OK));
  EXPECT_EQ(probe.built, 1);
  EXPECT_EQ(probe.ended, 1);
  EXPECT_EQ(stats_of(cache).unlinked_bytes, 0u);
}

TEST_P(CacheFlightTest, NothingWaitsForTheBuildOfAnotherKey) {
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

TEST_P(SharedFlightTest, TwoThreadsThatWaitForEachOtherAreACycle) {
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

TEST_P(SharedFlightTest, CircleThroughThreeThreadsAndTwoCaches) {
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

TEST_P(SharedFlightTest, WaitingForABuilderThatAsksForSomethingElseIsNoCycle) {
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

// A value that cannot be kept ends while its build is still in flight: it is told so, as the build
// itself would be, and does not wait for what waits for it.
TEST_P(CacheFlightTest, ValueThatEndsInFlightMayNotAskForItsKey) {
  make();
  struct Asks {
    lk_cache *cache;
    FailingAllocator *allocator;
    int ended = 0;
    lk_status status = LK_OK;
    lk_error error{};
  } asks{cache, &allocator};
  const lk_build_fn build = [](void *arg, const lk_key *, lk_built *out, lk_error *) {
    *out = {arg, 0,
            [](void *value, void *) {
              auto *of = static_cast<Asks *>(value);
              const auto fail = [](void *, const lk_key *, lk_built *, lk_error *) {
                return LK_NOT_FOUND;
              };
              Ref ref;
              of->ended++;
              of->status = lk_cache_get(of->cache, nullptr, Key(1), fail, nullptr, ref.out(),
                                        nullptr, &of->error);
            },
            nullptr};
    static_cast<Asks *>(arg)->allocator->fail_at(1); // of the entry
    return LK_OK;
  };
  Ref ref;
  LK_EXPECT_STATUS(LK_OUT_OF_MEMORY,
                   lk_cache_get(cache, nullptr, Key(1), build, &asks, ref.out(), nullptr, LK_ERR));
  allocator.fail_never();
  EXPECT_EQ(asks.ended, 1);
  EXPECT_EQ(asks.status, LK_CYCLE);
  EXPECT_THAT(asks.error.message, HasSubstr("its build asks for"));
  EXPECT_FALSE(touch(cache, &probe, Key(1)));
  EXPECT_TRUE(touch(cache, &probe, Key(1)));
}

} // namespace
