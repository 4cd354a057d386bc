// Forks while other threads are inside the cache and the weights store: what the child, which has
// only the thread that forked, can do with both.
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <random>

#include "tests/keys/cache/cache_util.h"

extern "C" {
#include "keys/cache/drop.h"
#include "keys/weights/weights.h"
}

namespace {

using namespace lk;

#if defined(__SANITIZE_THREAD__)
// It keeps at most 64 locks of a thread in mind, and a fork takes those of all caches.
#define LK_SKIP_UNDER_TSAN() GTEST_SKIP() << "ThreadSanitizer ends at the 64th lock that is held"
#else
#define LK_SKIP_UNDER_TSAN() (void)0
#endif
#if defined(__SANITIZE_ADDRESS__)
#define LK_SKIP_UNDER_ASAN()                                                                       \
  GTEST_SKIP() << "AddressSanitizer's own allocator does not outlive a fork"
#else
#define LK_SKIP_UNDER_ASAN() (void)0
#endif

// Runs `work` in a child, which has a minute; 0: it returned, and no expectation failed in it.
// What the child does not free is its own.
template <typename Work> int in_child(Work work) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    work();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  EXPECT_GT(pid, 0);
  int status = -1;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return status;
}

class ForkTest : public CacheTest {
protected:
  // What a child may be asked for by the cache, from the thread that forked and from one of its
  // own; then its end.
  void use(uint64_t first) {
    const auto once = [&](uint64_t at) {
      for (uint64_t i = at; i < at + 40; i++) touch(cache, &probe, Key(i), 100);
      for (uint64_t i = at; i < at + 40; i++) EXPECT_TRUE(touch(cache, &probe, Key(i), 100)) << i;
    };
    once(first);
    std::thread(once, first + 1000).join();
    const lk_stats stats = stats_of(cache);
    EXPECT_EQ(visit(cache).size(), stats.entries);
    lk_cache_set_capacity(cache, nullptr, 7, LK_UNSET);
    EXPECT_EQ(stats_of(cache).entries, 7u);
    EXPECT_EQ(visit(cache).size(), 7u);
    lk_cache_clear(cache, nullptr);
    EXPECT_EQ(stats_of(cache).entries, 0u);
    EXPECT_EQ(stats_of(cache).bytes, 0u);
    lk_cache_set_capacity(cache, nullptr, 60, LK_UNSET);
    once(first + 2000);
  }
  void use_and_end(uint64_t first) {
    use(first);
    lk_cache_destroy(cache.get());
  }
};
LK_BOTH_MODES(ForkTest);

class ThreadForkTest : public ForkTest {};
INSTANTIATE_TEST_SUITE_P(Modes, ThreadForkTest, ::testing::Values(LK_CACHE_THREAD), mode_name);

// Whether this is the child, which has its time; the parent has waited for its end.
bool fork_and_wait(int *status) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    return true;
  }
  EXPECT_EQ(waitpid(pid, status, 0), pid);
  return false;
}

TEST_P(ForkTest, ChildHasWhatItsThreadHad) {
  LK_SKIP_UNDER_TSAN();
  make();
  for (uint64_t i = 1; i < 50; i++) touch(cache, &probe, Key(i));
  EXPECT_EQ(in_child([&] {
              for (uint64_t i = 1; i < 50; i++) EXPECT_TRUE(touch(cache, &probe, Key(i)));
              use_and_end(100);
            }),
            0);
  for (uint64_t i = 1; i < 50; i++) EXPECT_TRUE(touch(cache, &probe, Key(i)));
}

// Their tables lie in the cache, and their thread-local memory may be another thread's.
TEST_P(ForkTest, TablesOfOtherThreadsEndInTheChild) {
  LK_SKIP_UNDER_TSAN();
  make();
  std::promise<void> may_end;
  std::shared_future<void> end = may_end.get_future().share();
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 1; i < 50; i++) touch(cache, &probe, Key(100 * t + i));
      ready++;
      end.wait();
    });
  }
  wait_until([&] { return ready == 4; });
  touch(cache, &probe, Key(1));
  const uint64_t had = stats_of(cache).entries;
  const int built = probe.built;
  EXPECT_EQ(in_child([&] {
              EXPECT_EQ(probe.alive(), built);
              EXPECT_TRUE(touch(cache, &probe, Key(1)));
              // The shared entries stay, those of threads that are not there have ended.
              EXPECT_EQ(stats_of(cache).entries, shared() ? had : 1u);
              EXPECT_EQ(static_cast<uint64_t>(probe.alive()), stats_of(cache).entries);
              EXPECT_EQ(all_kinds(stats_of(cache)).hits, shared() ? 2u : 1u);
              use_and_end(1000);
              EXPECT_EQ(probe.alive(), 0);
            }),
            0);
  EXPECT_EQ(stats_of(cache).entries, had);
  may_end.set_value();
  for (std::thread &thread : threads) thread.join();
}

// What is one thread's in a shared cache too: the child has that of the thread which forked.
TEST_P(ForkTest, ChildHasTheOwnValuesOfItsThreadAlone) {
  LK_SKIP_UNDER_TSAN();
  make();
  const ThreadKey mine(1);
  touch(cache, &probe, mine);
  std::promise<void> ready, may_end;
  std::unique_ptr<ThreadKey> theirs;
  std::thread other([&] {
    theirs = std::make_unique<ThreadKey>(1);
    touch(cache, &probe, *theirs);
    touch(cache, &probe, Key(2));
    ready.set_value();
    may_end.get_future().wait();
  });
  ready.get_future().wait();
  EXPECT_EQ(in_child([&] {
              EXPECT_TRUE(touch(cache, &probe, mine));
              EXPECT_EQ(stats_of(cache).entries, shared() ? 2u : 1u);
              EXPECT_EQ(lk_cache_drop(cache, nullptr, *theirs), 0u);
              std::thread([&] { EXPECT_FALSE(touch(cache, &probe, ThreadKey(1))); }).join();
              EXPECT_EQ(static_cast<uint64_t>(probe.alive()), stats_of(cache).entries);
              EXPECT_EQ(lk_cache_drop(cache, nullptr, mine), 1u);
              use_and_end(1000);
              EXPECT_EQ(probe.alive(), 0);
            }),
            0);
  EXPECT_TRUE(touch(cache, &probe, mine));
  EXPECT_EQ(lk_cache_drop(cache, nullptr, *theirs), 1u);
  may_end.set_value();
  other.join();
}

// A build that forks goes on in both, and is kept for its thread in both.
TEST_P(ForkTest, BuildOfAThreadsOwnGoesOnInBoth) {
  LK_SKIP_UNDER_TSAN();
  make();
  bool is_child = false;
  int status = -1;
  const ThreadKey key(1);
  Get get{&probe, 0, 0, LK_OK, [&](Value *, lk_error *) {
            is_child = fork_and_wait(&status);
            return LK_OK;
          }};
  Ref ref;
  LK_EXPECT_OK(get.run(cache, nullptr, key, ref.out(), nullptr, LK_ERR));
  EXPECT_TRUE(touch(cache, &probe, key));
  if (is_child) {
    ref.reset();
    use_and_end(100);
    _exit(HasFailure() ? 1 : 0);
  }
  EXPECT_EQ(status, 0);
}

TEST_P(ForkTest, ChildBuildsWhatAnotherThreadWasBuilding) {
  LK_SKIP_UNDER_TSAN();
  make();
  HeldBuild builder(cache, &probe, 7);
  std::thread waiter([&] {
    if (shared()) touch(cache, &probe, Key(7));
  });
  wait_until([&] { return !shared() || all_kinds(stats_of(cache)).waits == 1; });
  EXPECT_EQ(in_child([&] {
              EXPECT_FALSE(touch(cache, &probe, Key(7)));
              EXPECT_TRUE(touch(cache, &probe, Key(7)));
              use_and_end(100);
            }),
            0);
  builder.end();
  waiter.join();
  EXPECT_EQ(probe.built, 1);
}

TEST_P(ForkTest, BuildThatForksGoesOnInBoth) {
  LK_SKIP_UNDER_TSAN();
  make();
  std::promise<void> other_started, go;
  std::thread other([&] { // a build of the same shard, and one that waits for ours
    Get get{&probe, 0, 0, LK_OK, [&](Value *, lk_error *) {
              other_started.set_value();
              go.get_future().wait();
              return LK_OK;
            }};
    Ref ref;
    LK_EXPECT_OK(get.run(cache, nullptr, Key(1), ref.out(), nullptr, LK_ERR));
  });
  other_started.get_future().wait();
  std::thread waiter;
  bool is_child = false;
  int status = -1;
  for (uint64_t i = 2; i < 20; i++) { // several, so that one has the other's shard
    Get get{&probe, 0, 0, LK_OK, [&](Value *, lk_error *) {
              const uint64_t waits = all_kinds(stats_of(cache)).waits;
              // Threads that begin or end while it forks can stop a child inside AddressSanitizer:
              // this one waits, and where nobody waits there is none.
              if (shared()) waiter = std::thread([&, i] { touch(cache, &probe, Key(i)); });
              wait_until([&] { return !shared() || all_kinds(stats_of(cache)).waits > waits; });
              is_child = fork_and_wait(&status);
              return LK_OK;
            }};
    Ref ref;
    LK_EXPECT_OK(get.run(cache, nullptr, Key(i), ref.out(), nullptr, LK_ERR));
    EXPECT_EQ(value_of(ref)->number, i);
    if (is_child) {
      ref.reset();
      EXPECT_TRUE(touch(cache, &probe, Key(i)));
      EXPECT_FALSE(touch(cache, &probe, Key(1)));
      use_and_end(100);
      _exit(HasFailure() ? 1 : 0);
    }
    if (waiter.joinable()) waiter.join();
    EXPECT_EQ(status, 0);
  }
  go.set_value();
  other.join();
}

// Their flights are in no shard, so that nothing but the thread that forks knows of its own.
TEST_P(ForkTest, BuildWhoseKeyWasDroppedGoesOnInBoth) {
  LK_SKIP_UNDER_TSAN();
  make();
  HeldBuild other(cache, &probe, 1);
  std::thread waiter;
  bool is_child = false;
  int status = -1;
  Get get{&probe, 0, 0, LK_OK, [&](Value *, lk_error *) {
            if (shared()) waiter = std::thread([&] { touch(cache, &probe, Key(2)); });
            wait_until([&] { return !shared() || all_kinds(stats_of(cache)).waits == 1; });
            EXPECT_EQ(lk_cache_drop(cache, nullptr, Key(1)), 0u);
            EXPECT_EQ(lk_cache_drop(cache, nullptr, Key(2)), 0u);
            is_child = fork_and_wait(&status);
            return LK_OK;
          }};
  Ref ref;
  LK_EXPECT_OK(get.run(cache, nullptr, Key(2), ref.out(), nullptr, LK_ERR));
  if (is_child) {
    const int ended = probe.ended;
    ref.reset();
    EXPECT_EQ(probe.ended, ended + 1); // none of those who waited has a reference here
    EXPECT_FALSE(touch(cache, &probe, Key(2)));
    EXPECT_FALSE(touch(cache, &probe, Key(1)));
    EXPECT_EQ(lk_cache_drop(cache, nullptr, Key(2)), 1u);
    use_and_end(100);
    _exit(HasFailure() ? 1 : 0);
  }
  if (waiter.joinable()) waiter.join();
  EXPECT_EQ(status, 0);
  other.end();
  EXPECT_EQ(stats_of(cache).entries, 0u);
}

// In this mode the values of a thread end with it; a cache's end waits for that.
TEST_P(ThreadForkTest, ChildDoesNotWaitForThreadsThatWereEnding) {
  LK_SKIP_UNDER_TSAN();
  static std::atomic<bool> is_ending, may_end;
  is_ending = may_end = false;
  make();
  std::thread thread([&] {
    lk_ref *ref = nullptr;
    const lk_build_fn build = [](void *, const lk_key *, lk_built *out, lk_error *) {
      static int value;
      *out = {&value, 1,
              [](void *, void *) {
                is_ending = true;
                wait_until([] { return may_end.load(); });
              },
              nullptr};
      return LK_OK;
    };
    LK_EXPECT_OK(lk_cache_get(cache, nullptr, Key(1), build, nullptr, &ref, nullptr, LK_ERR));
    lk_ref_release(ref);
  });
  wait_until([] { return is_ending.load(); });
  EXPECT_EQ(in_child([&] { use_and_end(100); }), 0);
  may_end = true;
  thread.join();
}

// Threads that do everything at once, some of which end, and a child of any moment of it.
TEST_P(ForkTest, ChildOfAnyMomentWorks) {
  LK_SKIP_UNDER_TSAN();
  LK_SKIP_UNDER_ASAN();
  make(60, 40000);
  touch(cache, &probe, Key(1));
  std::atomic<bool> done{false};
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 300 && !done; i++) {
      const uint64_t number = random() % 100;
      switch (random() % 40) {
      case 0:
        lk_cache_clear(cache, nullptr);
        break;
      case 1:
        stats_of(cache);
        break;
      case 2: {
        Owned<lk_quota, lk_quota_destroy> quota;
        LK_EXPECT_OK(lk_quota_create(cache, quota.out(), LK_ERR));
        touch(cache, &probe, Key(1000 + number), 10, quota);
        break;
      }
      case 3:
        visit(cache);
        break;
      case 4:
      case 5:
        lk_cache_drop(cache, nullptr, Key(number));
        break;
      default:
        touch(cache, &probe, Key(number, LK_KIND_USER, random() % 4 == 0), random() % 1000);
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; t++) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; !done; i++) std::thread(work, 100 * i + t).join();
    });
  }
  std::mt19937 random(11);
  for (int i = 0; i < 60; i++) {
    usleep(random() % 2000);
    ASSERT_EQ(in_child([&] { use_and_end(5000); }), 0) << i;
  }
  done = true;
  for (std::thread &thread : threads) thread.join();
}

// ---- weights ----

lk_status copy_bytes(const void *params, const void *from, void *to, lk_error *) {
  std::memcpy(to, from, *static_cast<const size_t *>(params));
  return LK_OK;
}

// One thread packs and does not come to an end; another one waits for it. Packing it anew, and
// ending what lent the bytes that it reads, must not wait for either.
TEST(WeightsFork, ChildPacksWhatAnotherThreadWasPacking) {
  LK_SKIP_UNDER_TSAN();
  LK_SKIP_UNDER_ASAN(); // a thread begins meanwhile, and allocates
  static std::promise<void> *started, *go;
  std::promise<void> started_now, go_now;
  started = &started_now;
  go = &go_now;
  FailingAllocator allocator;
  Owned<lk_weights, lk_weights_destroy> weights;
  LK_ASSERT_OK(lk_weights_create(allocator.get(), LK_UNLIMITED, weights.out(), LK_ERR));
  std::vector<char> bytes(4096, 'w');
  size_t size = bytes.size();
  lk_content *content = nullptr;
  LK_ASSERT_OK(lk_weights_intern(weights, bytes.data(), size, false, &content, LK_ERR));
  const auto pack = [&](decltype(lk_packer::pack) how) {
    const lk_packer packer = {how, nullptr, &size, sizeof size};
    const lk_weights_layout layout = {.numbers = {9}, .bytes = nullptr, .n_bytes = 0};
    lk_packed *packed = nullptr;
    LK_EXPECT_OK(lk_content_pack(content, &layout, size, &packer, &packed, LK_ERR));
    return packed;
  };
  std::thread packing([&] {
    lk_packed_release(pack([](const void *params, const void *from, void *to, lk_error *error) {
      started->set_value();
      go->get_future().wait();
      return copy_bytes(params, from, to, error);
    }));
  });
  started_now.get_future().wait();
  std::thread waiting([&] { lk_packed_release(pack(copy_bytes)); });
  EXPECT_EQ(in_child([&] {
              lk_packed *packed = pack(copy_bytes);
              EXPECT_EQ(std::memcmp(lk_packed_data(packed), bytes.data(), size), 0);
              std::thread([&] { EXPECT_EQ(pack(copy_bytes), packed); }).join();
              lk_packed_release(packed);
              lk_content_release(content, bytes.data());
              lk_content *again = nullptr;
              LK_EXPECT_OK(lk_weights_intern(weights, bytes.data(), size, false, &again, LK_ERR));
              lk_content_release(again, bytes.data());
            }),
            0);
  go_now.set_value();
  packing.join();
  waiting.join();
  lk_content_release(content, bytes.data());
}

} // namespace
