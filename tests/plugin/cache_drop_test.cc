// Dropping one key: it leaves every table at once, what is in use lives on, and a build that is
// under way is not kept.
#include <random>

#include "tests/plugin/named_values.h"

namespace {

using namespace lk;

class CacheDrop : public NamedValues {};
INSTANTIATE_TEST_SUITE_P(Modes, CacheDrop, ::testing::Values(LK_CACHE_THREAD, LK_CACHE_SHARED),
                         cache_mode_name);

class SharedDrop : public NamedValues {}; // only here somebody waits
INSTANTIATE_TEST_SUITE_P(Modes, SharedDrop, ::testing::Values(LK_CACHE_SHARED), cache_mode_name);

TEST_P(CacheDrop, DropsOneKeyAndNoOther) {
  const NamedKey key(context, "a"), other(context, "b");
  EXPECT_EQ(drop(key), 0u);
  get(key);
  get(other);
  EXPECT_EQ(drop(key), 1u);
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(drop(key), 0u);
  EXPECT_EQ(find(key).get(), nullptr);
  EXPECT_NE(find(other).get(), nullptr);
  int hit = -1;
  EXPECT_EQ(number_of(get(key, &hit)), 3);
  EXPECT_EQ(hit, 0);
  const lk_stats now = lk::stats(context);
  EXPECT_EQ(now.entries, 2u);
  EXPECT_EQ(now.unlinked_bytes, 0u);
  EXPECT_EQ(now.kind[LK_KIND_USER].evictions, 0u);
  LK_EXPECT_OK(api()->cache_drop(context, nullptr, key.get(), nullptr, LK_ERR));
  EXPECT_EQ(lk::stats(context).entries, 1u);
}

TEST_P(CacheDrop, WhatIsInUseLivesUntilItIsReleased) {
  const NamedKey key(context, "a");
  Ref first = get(key), second = get(key); // of the entry, and of this thread's table
  EXPECT_EQ(drop(key), 1u);
  EXPECT_EQ(lk::stats(context).entries, 0u);
  EXPECT_GT(lk::stats(context).unlinked_bytes, 0u);
  EXPECT_EQ(number_of(get(key)), 2); // the old one is not found although it is there
  first.reset();
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(number_of(second), 1);
  second.reset();
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(lk::stats(context).unlinked_bytes, 0u);
}

TEST_P(CacheDrop, OnlyWhatBelongsToTheExecutor) {
  const Executor mine = lk::executor_in(context), others = lk::executor_in(context);
  const NamedKey key(context, "a");
  get(key, nullptr, mine);
  EXPECT_EQ(drop(key, others), 0u);
  EXPECT_EQ(lk::stats(context, mine).entries, 1u);
  EXPECT_EQ(drop(key, mine), 1u);
  EXPECT_EQ(lk::stats(context, mine).entries, 0u);
  get(key, nullptr, mine);
  EXPECT_EQ(drop(key), 1u);
  EXPECT_EQ(ended, 2);
}

// Threads that have found the key and sleep. In shared mode it is one entry that all their fronts
// list; in per-thread mode each has its own.
TEST_P(CacheDrop, LeavesTheTablesOfAllThreads) {
  constexpr int N = 5;
  const NamedKey key(context, "a");
  std::atomic<int> ready{0};
  std::atomic<bool> dropped{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < N; i++) {
    threads.emplace_back([&] {
      for (int round = 0; round < 3; round++) get(key);
      ready++;
      wait_until([&] { return dropped.load(); });
      EXPECT_EQ(find(key).get(), nullptr);
    });
  }
  wait_until([&] { return ready == N; });
  EXPECT_EQ(built, shared() ? 1 : N);
  EXPECT_EQ(drop(key), shared() ? 1u : uint64_t(N));
  EXPECT_EQ(ended, built);
  EXPECT_EQ(lk::stats(context).entries, 0u);
  dropped = true;
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(counts().misses, counts().builds + counts().waits + N);
}

// ---- builds that are under way ----

TEST_P(CacheDrop, ABuildThatIsUnderWayIsNotKept) {
  const NamedKey key(context, "a"), other(context, "b");
  HeldBuild held(key, &built, &ended), kept(other, &built, &ended);
  const int first = 1 + (built == 2 ? 0 : 1);
  EXPECT_EQ(drop(key), 0u);
  // Builds anew although the first build goes on, and is kept.
  int hit = -1;
  EXPECT_EQ(number_of(get(key, &hit)), 3);
  EXPECT_EQ(hit, 0);
  EXPECT_EQ(held.end(), first);
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(number_of(get(key, &hit)), 3);
  EXPECT_EQ(hit, 1);
  (void)kept.end();
  EXPECT_EQ(counts().builds, 3u);
  EXPECT_EQ(counts().waits, 0u);
  // The thread of the other key ends with its table in per-thread mode.
  EXPECT_EQ(lk::stats(context).entries, shared() ? 2u : 1u);
}

// Those who asked before get the value; those who ask after it get another one.
TEST_P(SharedDrop, ThoseWhoWaitGetTheValue) {
  const NamedKey key(context, "a");
  HeldBuild held(key, &built, &ended);
  std::vector<std::thread> waiters;
  for (int i = 0; i < 3; i++) {
    waiters.emplace_back([&] { EXPECT_EQ(number_of(get(key)), 1); });
  }
  wait_until([&] { return counts().waits == 3; });
  EXPECT_EQ(drop(key), 0u);
  HeldBuild second(key, &built, &ended);
  std::thread late([&] { EXPECT_EQ(number_of(get(key)), 2); });
  wait_until([&] { return counts().waits == 4; });
  EXPECT_EQ(held.end(), 1);
  for (std::thread &waiter : waiters) waiter.join();
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(lk::stats(context).entries, 0u);
  EXPECT_EQ(second.end(), 2);
  late.join();
  EXPECT_EQ(number_of(find(key)), 2);
  EXPECT_EQ(counts().builds, 2u);
}

TEST_P(SharedDrop, ABuildThatFailsIsToldToThoseWhoWait) {
  const NamedKey key(context, "a");
  std::atomic<bool> inside{false}, go{false};
  const auto ask = [&](lk_status expected) {
    NumberBuild build{&built, [&](lk_error *error) {
                        inside = true;
                        wait_until([&] { return go.load(); });
                        error->status = LK_IO;
                        std::strcpy(error->message, "failed to build: on purpose");
                        return LK_IO;
                      }};
    lk_ref *ref = nullptr;
    LK_EXPECT_STATUS(expected, api()->get_or_create(context, nullptr, key.get(), NumberBuild::run,
                                                    &build, &ref, nullptr, LK_ERR));
    EXPECT_EQ(ref, nullptr);
  };
  std::thread builder([&] { ask(LK_IO); });
  wait_until([&] { return inside.load(); });
  std::thread waiter([&] { ask(LK_IO); });
  wait_until([&] { return counts().waits == 1; });
  EXPECT_EQ(drop(key), 0u);
  go = true;
  builder.join();
  waiter.join();
  EXPECT_EQ(built, 1);
  EXPECT_EQ(number_of(get(key)), 2);
}

TEST_P(CacheDrop, ABuildMayDropItsOwnKey) {
  const NamedKey key(context, "a"), inner(context, "b");
  const Ref made = get(key, nullptr, nullptr, [&](lk_error *) {
    get(inner);
    EXPECT_EQ(drop(inner), 1u);
    EXPECT_EQ(drop(key), 0u);
    EXPECT_EQ(drop(key), 0u);
    return LK_OK;
  });
  EXPECT_EQ(find(key).get(), nullptr);
  EXPECT_EQ(lk::stats(context).entries, 0u);
  EXPECT_EQ(number_of(made), 1);
}

TEST_P(CacheDrop, TellsWhoseBuildItIs) {
  const Executor mine = lk::executor_in(context), others = lk::executor_in(context);
  const NamedKey key(context, "a");
  get(key, nullptr, mine, [&](lk_error *) {
    EXPECT_EQ(drop(key, others), 0u);
    return LK_OK;
  });
  EXPECT_NE(find(key).get(), nullptr);
  EXPECT_EQ(drop(key), 1u);
  get(key, nullptr, mine, [&](lk_error *) {
    EXPECT_EQ(drop(key, mine), 0u);
    return LK_OK;
  });
  EXPECT_EQ(find(key).get(), nullptr);
}

// Each value is a version. A version is raised, then the key is dropped: who asks after that never
// gets one that is older, however many threads ask, build, drop and evict meanwhile.
TEST_P(CacheDrop, NobodyGetsWhatIsOlderThanADrop) {
  constexpr int KEYS = 3, THREADS = 4;
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 2, LK_UNSET, LK_ERR));
  std::vector<std::unique_ptr<NamedKey>> keys;
  for (int i = 0; i < KEYS; i++) {
    keys.push_back(std::make_unique<NamedKey>(context, std::to_string(i)));
  }
  struct Version {
    std::atomic<int> now{1}, dropped{0}; // the second: all below it were dropped
    std::mutex raising;
  } versions[KEYS];
  struct Build {
    static lk_status run(void *arg, const lk_key *, lk_built *out, lk_error *) {
      out->value = new int(static_cast<Version *>(arg)->now);
      out->bytes = 1;
      out->destroy = [](void *value, void *) { delete static_cast<int *>(value); };
      std::this_thread::yield();
      return LK_OK;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < THREADS; t++) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < repeats(4000); i++) {
        const unsigned k = random() % KEYS;
        Version &version = versions[k];
        if (random() % 4 == 0) {
          const std::lock_guard<std::mutex> lock(version.raising);
          const int next = ++version.now;
          drop(*keys[k]);
          version.dropped = next;
          continue;
        }
        const int oldest = version.dropped;
        Ref ref;
        if (random() % 3 == 0) {
          ref = find(*keys[k]);
        } else {
          LK_EXPECT_OK(api()->get_or_create(context, nullptr, keys[k]->get(), Build::run, &version,
                                            ref.out(), nullptr, LK_ERR));
        }
        EXPECT_TRUE(ref.get() == nullptr || number_of(ref) >= oldest);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (const auto &key : keys) drop(*key);
  EXPECT_EQ(lk::stats(context).entries, 0u);
  EXPECT_EQ(lk::stats(context).unlinked_bytes, 0u);
}

// ---- what the library keeps ----

// As docs/c_host.md shows it.
lk_status drop_by_text(const lk_api *api, lk_context *context, const char *text,
                       uint64_t *out_dropped, lk_error *error) {
  lk_key *key = NULL;
  lk_status status = api->key_parse(context, text, &key, error);
  if (status != LK_OK) return status;
  status = api->cache_drop(context, NULL, key, out_dropped, error);
  api->key_destroy(context, key);
  return status;
}

// A plan's key is in no host's hands but as its text. Dropping it is as if it were evicted.
TEST_P(CacheDrop, DropsAPlanByItsText) {
  const Executor executor = lk::executor_in(context);
  const lk_tensor_desc desc = desc_of(LK_F32, {2, 3});
  TestNode node;
  node.op = "Relu";
  Op relu;
  Plan plan, again;
  LK_ASSERT_OK(node.create(executor, &relu, LK_ERR));
  LK_ASSERT_OK(lk::bind(relu, {desc}, &plan, LK_ERR));
  struct Texts {
    lk_context *context;
    std::string text;
  } shown{context, ""};
  LK_ASSERT_OK(api()->cache_visit(
      context,
      [](void *arg, const lk_entry_info *info) {
        char text[2048];
        auto *to = static_cast<Texts *>(arg);
        LK_EXPECT_OK(api()->key_print(to->context, info->key, text, sizeof text, nullptr, LK_ERR));
        to->text = text;
      },
      &shown, LK_ERR));
  uint64_t dropped = 0;
  LK_ASSERT_OK(drop_by_text(api(), context, shown.text.c_str(), &dropped, LK_ERR));
  EXPECT_EQ(dropped, 1u);
  EXPECT_EQ(lk::stats(context).entries, 0u);
  std::vector<float> in(6, -1), out(6, 7);
  LK_ASSERT_OK(lk::run(executor, plan, {in.data()}, out.data(), LK_ERR));
  EXPECT_EQ(out, std::vector<float>(6, 0)) << "who has the plan still runs it";
  LK_ASSERT_OK(lk::bind(relu, {desc}, &again, LK_ERR));
  EXPECT_EQ(lk::stats(context).kind[LK_KIND_NAME].builds, 2u);
}

TEST_P(CacheDrop, RefusesAKeyOfAnotherContext) {
  const Context other = lk::open(GetParam());
  const NamedKey there(other, "a");
  lk_key *plan = nullptr;
  LK_ASSERT_OK(api()->key_parse(other, "name:out=conv1", &plan, LK_ERR));
  for (const lk_key *key :
       {static_cast<const lk_key *>(plan), static_cast<const lk_key *>(there.get())}) {
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                     api()->cache_drop(context, nullptr, key, nullptr, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, ::testing::HasSubstr(
                                "failed to drop a value: its key is of another context; one of "
                                "this context is required, of key_create or key_parse"));
  }
  api()->key_destroy(other, plan);
}

// ---- nothing to drop ----

TEST(CacheOff, FindsAndDropsNothing) {
  const Context context = lk::open(LK_CACHE_OFF);
  const NamedKey key(context, "a");
  std::atomic<int> built{0};
  NumberBuild build{&built, {}};
  Ref made;
  LK_ASSERT_OK(api()->get_or_create(context, nullptr, key.get(), NumberBuild::run, &build,
                                    made.out(), nullptr, LK_ERR));
  lk_ref *found = nullptr;
  uint64_t dropped = 99;
  LK_EXPECT_OK(api()->cache_find(context, nullptr, key.get(), &found, LK_ERR));
  EXPECT_EQ(found, nullptr);
  LK_EXPECT_OK(api()->cache_drop(context, nullptr, key.get(), &dropped, LK_ERR));
  EXPECT_EQ(dropped, 0u);
  EXPECT_EQ(lk::stats(context).kind[LK_KIND_USER].misses, 2u);
  api()->ref_retain(made);
  api()->ref_release(made);
  EXPECT_EQ(number_of(made), 1);
}

} // namespace
