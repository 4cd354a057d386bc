// One build for all who ask, through the public table: whoever waits gets the same value or the
// same error, builds may ask for other keys, and circles of threads that would wait for ever are
// named.
#include <set>

#include "tests/isolation/node_model.h"
#include "tests/plugin/named_values.h"

namespace {

using lk::api;
using lk::Context;
using lk::NamedKey;
using lk::NumberBuild;
using lk::wait_until;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

// The number that was found or built; 0 when that failed.
int get(const NamedKey &key, std::atomic<int> *count, lk_error *error,
        std::function<lk_status(lk_error *)> during = {}) {
  NumberBuild build{count, std::move(during)};
  lk_ref *ref = nullptr;
  lk_error own;
  if (error == nullptr) error = &own;
  error->status = LK_OK;
  const lk_status status = api()->get_or_create(key.context(), nullptr, key.get(), NumberBuild::run,
                                                &build, &ref, nullptr, error);
  EXPECT_EQ(status, error->status);
  EXPECT_EQ(status == LK_OK, ref != nullptr);
  const int number = ref != nullptr ? *static_cast<int *>(api()->ref_value(ref)) : 0;
  api()->ref_release(ref);
  return number;
}

constexpr int N = 6;

class SingleFlight : public ::testing::TestWithParam<uint32_t> {
protected:
  bool shared() const { return GetParam() == LK_CACHE_SHARED; }
  lk_kind_stats counts() { return lk::stats(context).kind[LK_KIND_USER]; }
  // N threads ask at once; a build ends when all others wait, or in per-thread mode build too.
  std::vector<int> all(const NamedKey &key, lk_status result, std::vector<std::string> *messages) {
    std::vector<int> numbers(N);
    messages->resize(N);
    std::vector<std::thread> threads;
    const uint64_t waits = counts().waits;
    std::atomic<int> inside{0};
    for (int i = 0; i < N; i++) {
      threads.emplace_back([&, i] {
        lk_error error{};
        numbers[i] = get(key, &builds, &error, [&](lk_error *out) {
          inside++;
          wait_until([&] { return shared() ? counts().waits == waits + N - 1 : inside == N; });
          if (result == LK_OK) return LK_OK;
          out->status = result;
          std::strcpy(out->message, "failed to build: on purpose");
          return result;
        });
        (*messages)[i] = error.status == LK_OK ? "" : error.message;
        EXPECT_EQ(error.status, result);
      });
    }
    for (std::thread &thread : threads) thread.join();
    return numbers;
  }

  Context context = lk::open(GetParam());
  std::atomic<int> builds{0};
};
LK_IN_BOTH_MODES(SingleFlight);

TEST_P(SingleFlight, OneBuildForAllThreads) {
  const NamedKey key(context, "a");
  std::vector<std::string> messages;
  const std::vector<int> numbers = all(key, LK_OK, &messages);
  EXPECT_EQ(builds, shared() ? 1 : N);
  EXPECT_EQ(std::set<int>(numbers.begin(), numbers.end()).size(), shared() ? 1u : size_t(N));
  EXPECT_THAT(numbers, Each(::testing::Gt(0)));
  EXPECT_EQ(counts().builds, uint64_t(builds));
  EXPECT_EQ(counts().waits, shared() ? uint64_t(N - 1) : 0u);
}

TEST_P(SingleFlight, AFailureIsToldToAllAndTheNextCallBuilds) {
  const NamedKey key(context, "a");
  std::vector<std::string> messages;
  EXPECT_THAT(all(key, LK_INTERNAL, &messages), Each(0));
  EXPECT_THAT(messages, Each("failed to build: on purpose"));
  EXPECT_EQ(builds, shared() ? 1 : N);
  EXPECT_EQ(lk::stats(context).entries, 0u);
  builds = 0;
  EXPECT_THAT(all(key, LK_OK, &messages), Each(::testing::Gt(0)));
  EXPECT_EQ(builds, shared() ? 1 : N);
}

// Every build asks for those of higher numbers, which others are building just then.
TEST_P(SingleFlight, NestedAsksEnd) {
  constexpr int depth = 6;
  for (int round = 0; round < 30; round++) {
    std::vector<std::unique_ptr<NamedKey>> keys;
    for (int i = 0; i < depth; i++) {
      keys.push_back(std::make_unique<NamedKey>(context, std::to_string(round * depth + i)));
    }
    std::atomic<int> started{0};
    const std::function<lk_status(int, lk_error *)> nested = [&](int level, lk_error *error) {
      for (int next = level + 1; next < depth; next++) {
        if (get(*keys[next], &builds, error, [&, next](lk_error *e) { return nested(next, e); }) ==
            0) {
          return error->status;
        }
      }
      return LK_OK;
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
      threads.emplace_back([&, t] {
        started++;
        wait_until([&] { return started == 4; });
        for (int i = 0; i < depth; i++) {
          const int first = (i + t) % depth;
          EXPECT_GT(
              get(*keys[first], &builds, nullptr, [&](lk_error *e) { return nested(first, e); }),
              0);
        }
      });
    }
    for (std::thread &thread : threads) thread.join();
    EXPECT_TRUE(!shared() || builds == (round + 1) * depth) << builds;
  }
}

TEST_P(SingleFlight, ABuildThatAsksForItselfIsNamed) {
  const NamedKey a(context, "egg"), b(context, "hen");
  lk_error error;
  const auto ask_a = [&](lk_error *e) { return get(a, &builds, e) != 0 ? LK_OK : e->status; };
  EXPECT_EQ(get(a, &builds, &error, ask_a), 0);
  EXPECT_EQ(error.status, LK_CYCLE);
  EXPECT_THAT(error.message, HasSubstr("'egg'"));
  EXPECT_EQ(get(a, &builds, &error,
                [&](lk_error *e) { return get(b, &builds, e, ask_a) != 0 ? LK_OK : e->status; }),
            0);
  EXPECT_EQ(error.status, LK_CYCLE);
  EXPECT_THAT(error.message, AllOf(HasSubstr("'egg'"), HasSubstr("'hen'")));
  EXPECT_EQ(lk::stats(context).entries, 0u);
  EXPECT_GT(get(a, &builds, &error), 0) << "nothing is left of it";
}

// `n` threads, each in the build of its own key, ask for that of the next one. All are told: one
// finds the circle, the others waited for it.
void circle(const std::vector<std::unique_ptr<NamedKey>> &keys, const std::string &names) {
  const int n = int(keys.size());
  std::atomic<int> building{0}, builds{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < n; i++) {
    threads.emplace_back([&, i] {
      lk_error error;
      const auto ask_next = [&](lk_error *e) {
        building++;
        wait_until([&] { return building == n; });
        EXPECT_EQ(get(*keys[(i + 1) % n], &builds, e), 0);
        return e->status;
      };
      EXPECT_EQ(get(*keys[i], &builds, &error, ask_next), 0);
      EXPECT_EQ(error.status, LK_CYCLE);
      // The two keys between which it was closed.
      int named = 0;
      for (const char name : names) {
        named +=
            std::string(error.message).find("'" + std::string(1, name) + "'") != std::string::npos;
      }
      EXPECT_EQ(named, 2) << error.message;
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(builds, n);
  for (const auto &key : keys) EXPECT_GT(get(*key, &builds, nullptr), 0) << "the next call builds";
}

// ---- where nothing is kept ----

// N threads ask at once, each of whose builds ends when all are inside: so all build, and none
// waits. Each has a value of its own.
void expect_all_build(const NamedKey &key, lk_executor *executor) {
  std::atomic<int> inside{0}, ended{0};
  std::vector<std::thread> threads;
  std::vector<int> numbers(N), hits(N, -1);
  const lk_kind_stats before = lk::stats(key.context()).kind[LK_KIND_USER];
  for (int i = 0; i < N; i++) {
    threads.emplace_back([&, i] {
      NumberBuild build{&inside,
                        [&](lk_error *) {
                          wait_until([&] { return inside == N; });
                          return LK_OK;
                        },
                        &ended};
      lk::Ref ref;
      LK_EXPECT_OK(api()->get_or_create(key.context(), executor, key.get(), NumberBuild::run,
                                        &build, ref.out(), &hits[i], LK_ERR));
      numbers[i] = lk::number_of(ref);
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(std::set<int>(numbers.begin(), numbers.end()).size(), size_t(N));
  EXPECT_THAT(hits, Each(0));
  EXPECT_EQ(ended, N);
  const lk_stats now = lk::stats(key.context());
  EXPECT_EQ(now.kind[LK_KIND_USER].misses - before.misses, uint64_t(N));
  EXPECT_EQ(now.kind[LK_KIND_USER].builds - before.builds, uint64_t(N));
  EXPECT_EQ(now.kind[LK_KIND_USER].waits, before.waits);
  EXPECT_EQ(now.entries, 0u);
}

TEST(NoFlight, EachBuildsWithTheCacheOff) {
  const Context context = lk::open(LK_CACHE_OFF);
  expect_all_build(NamedKey(context, "a"), nullptr);
}

TEST_P(SingleFlight, EachBuildsWithACapacityOfZero) {
  const NamedKey key(context, "a");
  const lk::Executor executor = lk::executor_in(context);
  for (const bool bytes : {false, true}) {
    LK_ASSERT_OK(api()->cache_set_capacity(context, executor, bytes ? LK_UNLIMITED : 0,
                                           bytes ? 0 : LK_UNLIMITED, LK_ERR));
    expect_all_build(key, executor);
  }
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 0, LK_UNSET, LK_ERR));
  expect_all_build(key, nullptr);
}

// A build that waits for itself is named there, too. One thread's build that asks for another one's
// builds it, so threads are in no circle.
TEST(NoFlight, ABuildThatAsksForItselfIsNamed) {
  const Context context = lk::open(LK_CACHE_OFF);
  const NamedKey a(context, "egg"), b(context, "hen");
  std::atomic<int> builds{0};
  lk_error error;
  const auto ask_a = [&](lk_error *e) { return get(a, &builds, e) != 0 ? LK_OK : e->status; };
  EXPECT_EQ(get(a, &builds, &error,
                [&](lk_error *e) { return get(b, &builds, e, ask_a) != 0 ? LK_OK : e->status; }),
            0);
  EXPECT_EQ(error.status, LK_CYCLE);
  EXPECT_EQ(builds, 2);
  EXPECT_GT(get(a, &builds, nullptr,
                [&](lk_error *e) { return get(b, &builds, e) != 0 ? LK_OK : e->status; }),
            0);
}

// What is larger than a limit is not kept, but those who ask while it is built share it.
TEST_P(SingleFlight, WhatIsTooLargeIsSharedByThoseWhoWait) {
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, LK_UNSET, 8, LK_ERR));
  const NamedKey key(context, "a");
  std::vector<std::string> messages;
  const std::vector<int> numbers = all(key, LK_OK, &messages);
  EXPECT_EQ(builds, shared() ? 1 : N);
  EXPECT_EQ(std::set<int>(numbers.begin(), numbers.end()).size(), shared() ? 1u : size_t(N));
  EXPECT_EQ(lk::stats(context).entries, 0u);
  EXPECT_GT(get(key, &builds, nullptr), 0);
  EXPECT_EQ(builds, shared() ? 2 : N + 1) << "the next call builds";
}

TEST(SharedFlight, CirclesOfThreads) {
  const Context context = lk::open(LK_CACHE_SHARED);
  for (const char *names : {"ab", "cde", "fghij"}) {
    std::vector<std::unique_ptr<NamedKey>> keys;
    for (const char *name = names; *name != '\0'; name++) {
      keys.push_back(std::make_unique<NamedKey>(context, std::string(1, *name)));
    }
    circle(keys, names);
  }
}

TEST(SharedFlight, CirclesThroughTwoContexts) {
  const Context contexts[] = {lk::open(LK_CACHE_SHARED), lk::open(LK_CACHE_SHARED)};
  for (const char *names : {"ab", "cde", "fghi"}) {
    std::vector<std::unique_ptr<NamedKey>> keys;
    for (size_t i = 0; names[i] != '\0'; i++) {
      keys.push_back(std::make_unique<NamedKey>(contexts[i % 2], std::string(1, names[i])));
    }
    circle(keys, names);
  }
}

} // namespace
