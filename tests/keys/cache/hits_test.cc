// Hits in shared mode wait for nobody: neither for builds, not even in their own shard, nor for a
// value that is being ended, nor, once a thread has had an entry, for another thread that is
// anywhere else. What is waited for here never comes before the hits are over: a hit that waits
// ends by the test runner's time limit.
#include <future>
#include <mutex>

#include "tests/keys/cache/cache_util.h"

namespace {

using namespace lk;

// Keys of one shard, which has the first four bits of the hash.
std::vector<uint64_t> of_one_shard(size_t count) {
  std::vector<uint64_t> found;
  const uint64_t shard = static_cast<const lk_key *>(Key(0))->hash >> 60;
  for (uint64_t i = 0; found.size() < count; i++) {
    if (static_cast<const lk_key *>(Key(i))->hash >> 60 == shard) found.push_back(i);
  }
  return found;
}

// Stops the thread that has asked for it at its nth allocation.
class StoppingAllocator {
public:
  const lk_allocator *get() const { return &allocator_; }
  static void stop_at(int nth) { countdown_ = nth; }
  static bool never_stopped() { return countdown_ > 0; }
  void wait_for_stop() {
    while (!stopped_ && !over_) std::this_thread::yield();
  }
  void let_go() { go_ = true; }
  void over() { over_ = true; }

private:
  static void *alloc(void *user, size_t size, size_t alignment) {
    auto *self = static_cast<StoppingAllocator *>(user);
    if (countdown_ > 0 && --countdown_ == 0) {
      self->stopped_ = true;
      while (!self->go_) std::this_thread::yield();
    }
    return lk_allocator_default()->alloc(lk_allocator_default()->user, size, alignment);
  }
  static void free(void *, void *block) {
    lk_allocator_default()->free(lk_allocator_default()->user, block);
  }
  static thread_local int countdown_;
  lk_allocator allocator_{this, alloc, free};
  std::atomic<bool> stopped_{false}, go_{false}, over_{false};
};
thread_local int StoppingAllocator::countdown_ = 0;

class Hits : public CacheTest {};
INSTANTIATE_TEST_SUITE_P(Modes, Hits, ::testing::Values(LK_CACHE_SHARED), mode_name);

TEST_P(Hits, DoNotWaitForABuildInTheirShard) {
  make();
  const std::vector<uint64_t> keys = of_one_shard(10);
  for (size_t i = 1; i < keys.size(); i++) touch(cache, &probe, Key(keys[i]));
  HeldBuild builder(cache, &probe, keys[0]);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) { // which have had none of them: the first round asks the shard
    threads.emplace_back([&] {
      for (int round = 0; round < 3; round++) {
        for (size_t i = 1; i < keys.size(); i++) EXPECT_TRUE(touch(cache, &probe, Key(keys[i])));
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (size_t i = 1; i < keys.size(); i++) EXPECT_TRUE(touch(cache, &probe, Key(keys[i])));
  builder.end();
  EXPECT_EQ(probe.built, int(keys.size()));
}

TEST_P(Hits, DoNotWaitForThreadsThatWaitForABuild) {
  make();
  const std::vector<uint64_t> keys = of_one_shard(3);
  touch(cache, &probe, Key(keys[1]));
  touch(cache, &probe, Key(keys[2]));
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&] {
      Get get{&probe, 0, 0, LK_OK, [&](Value *, lk_error *) {
                wait_until([&] { return go.load(); });
                return LK_OK;
              }};
      Ref ref;
      LK_EXPECT_OK(get.run(cache, nullptr, Key(keys[0]), ref.out(), nullptr, LK_ERR));
    });
  }
  wait_until([&] { return all_kinds(stats_of(cache)).waits == 3; });
  EXPECT_TRUE(touch(cache, &probe, Key(keys[1])));
  std::thread([&] {
    for (int round = 0; round < 2; round++) EXPECT_TRUE(touch(cache, &probe, Key(keys[2])));
  }).join();
  go = true;
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(probe.built, 3);
}

// An eviction ends a value that takes its time.
TEST_P(Hits, DoNotWaitForTheEndOfAValue) {
  make();
  const std::vector<uint64_t> keys = of_one_shard(3);
  struct Slow {
    std::promise<void> started, go;
  } slow;
  Ref ref;
  const auto build = [](void *arg, const lk_key *, lk_built *out, lk_error *) {
    out->value = out->user = arg;
    out->destroy = [](void *, void *user) {
      static_cast<Slow *>(user)->started.set_value();
      static_cast<Slow *>(user)->go.get_future().wait();
    };
    return LK_OK;
  };
  LK_ASSERT_OK(
      lk_cache_get(cache, nullptr, Key(keys[0]), build, &slow, ref.out(), nullptr, LK_ERR));
  ref.reset();
  touch(cache, &probe, Key(keys[1]));
  touch(cache, &probe, Key(keys[2]));
  std::thread evicts([&] { lk_cache_set_capacity(cache, nullptr, 2, LK_UNSET); });
  slow.started.get_future().wait();
  EXPECT_TRUE(touch(cache, &probe, Key(keys[1])));
  std::thread([&] {
    for (int round = 0; round < 2; round++) EXPECT_TRUE(touch(cache, &probe, Key(keys[2])));
  }).join();
  slow.go.set_value();
  evicts.join();
}

// Wherever a thread stands still that asks for its first time, and be it with its own front: what
// it has not had is evicted, and what it has had from the others.
TEST_P(Hits, EvictionWaitsForNoFrontWithoutTheVictim) {
  const std::vector<uint64_t> theirs = of_one_shard(3);
  std::vector<uint64_t> ours; // of other shards
  for (uint64_t i = 0; ours.size() < 20; i++) {
    const auto shard_of = [](uint64_t n) {
      return static_cast<const lk_key *>(Key(n))->hash >> 60;
    };
    if (shard_of(i) != shard_of(theirs[0])) ours.push_back(i);
  }
  int stops = 0;
  for (bool stopped = true; stopped; stops++) {
    StoppingAllocator stopping;
    Probe own;
    Cache here;
    LK_ASSERT_OK(lk_cache_create(stopping.get(), LK_CACHE_SHARED, LK_UNLIMITED, LK_UNLIMITED,
                                 here.out(), LK_ERR));
    for (int thread = 0; thread < 2; thread++) { // two fronts have them
      std::thread([&] {
        for (const uint64_t number : ours) touch(here, &own, Key(number));
      }).join();
    }
    for (const uint64_t number : ours) touch(here, &own, Key(number));
    std::thread thread([&] {
      StoppingAllocator::stop_at(stops + 1);
      for (const uint64_t number : theirs) touch(here, &own, Key(number));
      stopped = !StoppingAllocator::never_stopped();
      StoppingAllocator::stop_at(0);
      stopping.over();
    });
    stopping.wait_for_stop();
    lk_cache_set_capacity(here, nullptr, stats_of(here).entries - 10, LK_UNSET);
    EXPECT_EQ(own.ended, 10);
    for (size_t i = 10; i < ours.size(); i++) EXPECT_TRUE(touch(here, &own, Key(ours[i])));
    stopping.let_go();
    thread.join();
  }
  EXPECT_GT(stops, 5) << "it never stood still";
}

// Wherever another thread stands still that asks for its first time, hits, builds or clears in the
// very same shard, and be it with the shard's lock: a thread that has had an entry hits it.
TEST_P(Hits, OfWhatAThreadHasHadDoNotWaitForThreadsThatStandStill) {
  const std::vector<uint64_t> keys = of_one_shard(40);
  const std::function<void(lk_cache *, Probe *)> jobs[] = {
      [&](lk_cache *c, Probe *p) { touch(c, p, Key(keys[0])); },
      [&](lk_cache *c, Probe *p) {
        for (size_t i = 1; i < keys.size(); i++) touch(c, p, Key(keys[i]));
      },
      [&](lk_cache *c, Probe *p) {
        for (size_t i = 1; i < 4; i++) touch(c, p, Key(keys[i]));
        for (size_t i = 1; i < 4; i++) touch(c, p, Key(keys[i]));
        visit(c);
      }};
  for (const auto &job : jobs) {
    int stops = 0;
    for (bool stopped = true; stopped; stops++) {
      StoppingAllocator stopping;
      Probe own;
      Cache here;
      LK_ASSERT_OK(lk_cache_create(stopping.get(), LK_CACHE_SHARED, LK_UNLIMITED, LK_UNLIMITED,
                                   here.out(), LK_ERR));
      touch(here, &own, Key(keys[0]));
      std::thread thread([&] {
        StoppingAllocator::stop_at(stops + 1);
        job(here, &own);
        stopped = !StoppingAllocator::never_stopped();
        StoppingAllocator::stop_at(0);
        stopping.over();
      });
      stopping.wait_for_stop();
      for (int i = 0; i < 3; i++) EXPECT_TRUE(touch(here, &own, Key(keys[0])));
      stopping.let_go();
      thread.join();
    }
    EXPECT_GT(stops, 2) << "it never stood still";
  }
}

} // namespace
