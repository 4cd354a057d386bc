// The cache as one thread sees it: hits, builds, references, counters, failures.
#include <random>

#include "tests/keys/cache/cache_util.h"

namespace {

using namespace lk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

LK_BOTH_MODES(CacheTest);

TEST_P(CacheTest, BuildsOnceAndFindsAgain) {
  make();
  const Key a(1), b(2);
  EXPECT_EQ(lk_cache_mode_get(cache), GetParam());
  EXPECT_FALSE(touch(cache, &probe, a));
  EXPECT_TRUE(touch(cache, &probe, a));
  EXPECT_FALSE(touch(cache, &probe, b));
  EXPECT_TRUE(touch(cache, &probe, a));
  EXPECT_TRUE(touch(cache, &probe, b));
  EXPECT_EQ(probe.built, 2);
  EXPECT_EQ(probe.ended, 0);
  const lk_kind_stats counts = stats_of(cache).kind[LK_KIND_USER];
  EXPECT_EQ(counts.hits, 3u);
  EXPECT_EQ(counts.misses, 2u);
  EXPECT_EQ(counts.builds, 2u);
  EXPECT_EQ(counts.failed_builds, 0u);
  EXPECT_EQ(counts.waits, 0u);
  EXPECT_EQ(counts.entries, 2u);
  cache.reset();
  EXPECT_EQ(probe.ended, 2);
}

TEST_P(CacheTest, CountsEachKindApart) {
  make();
  for (uint32_t kind = 0; kind < LK_KIND_COUNT; kind++) {
    for (uint64_t i = 0; i <= kind; i++) {
      EXPECT_FALSE(touch(cache, &probe, Key(7 + i, kind))); // equal numbers, other kinds
      EXPECT_TRUE(touch(cache, &probe, Key(7 + i, kind)));
    }
  }
  const lk_stats stats = stats_of(cache);
  for (uint32_t kind = 0; kind < LK_KIND_COUNT; kind++) {
    EXPECT_EQ(stats.kind[kind].hits, kind + 1);
    EXPECT_EQ(stats.kind[kind].misses, kind + 1);
    EXPECT_EQ(stats.kind[kind].entries, kind + 1);
  }
  EXPECT_EQ(stats.entries, 10u);
}

TEST_P(CacheTest, ChargesValueKeyAndItself) {
  make();
  const uint64_t overhead = entry_overhead();
  EXPECT_GT(overhead, Key(1).operator const lk_key *()->size);
  Ref one = hold(cache, &probe, Key(1), 1000);
  touch(cache, &probe, Key(2, LK_KIND_NAME), 50);
  lk_stats stats = stats_of(cache);
  EXPECT_EQ(stats.bytes, 2 * overhead + 1050);
  EXPECT_EQ(stats.kind[LK_KIND_USER].bytes, overhead + 1000);
  EXPECT_EQ(stats.kind[LK_KIND_NAME].bytes, overhead + 50);
  lk_ref_charge(one, 3000);
  EXPECT_EQ(stats_of(cache).bytes, 2 * overhead + 3050);
  lk_ref_charge(one, 10);
  EXPECT_EQ(stats_of(cache).bytes, 2 * overhead + 60);
  lk_cache_clear(cache, nullptr);
  lk_ref_charge(one, 20);
  stats = stats_of(cache);
  EXPECT_EQ(stats.bytes, 0u);
  EXPECT_EQ(stats.kind[LK_KIND_USER].bytes, 0u);
  EXPECT_EQ(stats.unlinked_bytes, overhead + 20);
  EXPECT_EQ(stats.peak_bytes, 2 * overhead + 3050);
  one.reset();
  EXPECT_EQ(stats_of(cache).unlinked_bytes, 0u);
}

TEST_P(CacheTest, FindsWhatIsThere) {
  make();
  const Key a(1);
  EXPECT_EQ(find(cache, a), nullptr);
  touch(cache, &probe, a);
  Ref found(find(cache, a));
  ASSERT_NE(found.get(), nullptr);
  EXPECT_EQ(value_of(found)->number, 1u);
  EXPECT_TRUE(lk_key_equal(lk_ref_key(found), a));
  const lk_kind_stats counts = stats_of(cache).kind[LK_KIND_USER];
  EXPECT_EQ(counts.hits, 1u);
  EXPECT_EQ(counts.misses, 2u);
}

TEST_P(CacheTest, LastUserEndsWhatWasCleared) {
  make();
  const Key a(1);
  Ref one = hold(cache, &probe, a);
  Ref two = hold(cache, &probe, a);
  EXPECT_EQ(lk_ref_value(one), lk_ref_value(two));
  lk_cache_clear(cache, nullptr);
  EXPECT_EQ(stats_of(cache).entries, 0u);
  EXPECT_GT(stats_of(cache).unlinked_bytes, 0u);
  EXPECT_EQ(probe.ended, 0);
  EXPECT_FALSE(touch(cache, &probe, a)); // a new one beside the old one
  EXPECT_EQ(probe.alive(), 2);
  lk_ref_retain(one);
  lk_ref_release(one);
  one.reset();
  EXPECT_EQ(probe.ended, 0);
  EXPECT_EQ(value_of(two)->state, Value::ALIVE);
  two.reset();
  EXPECT_EQ(probe.ended, 1);
  EXPECT_EQ(stats_of(cache).unlinked_bytes, 0u);
  lk_ref_release(nullptr);
}

TEST_P(CacheTest, FailedBuildLeavesNothingBehind) {
  make();
  const Key a(1);
  Get failing{&probe, 0, 0, LK_INTERNAL, {}};
  lk_ref *ref = reinterpret_cast<lk_ref *>(1);
  int hit = -1;
  LK_EXPECT_STATUS(LK_INTERNAL, failing.run(cache, nullptr, a, &ref, &hit, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("failed on purpose"));
  EXPECT_EQ(ref, nullptr);
  EXPECT_EQ(hit, 0);
  EXPECT_EQ(failing.run(cache, nullptr, a, &ref), LK_INTERNAL); // no error struct, no hit flag
  lk_stats stats = stats_of(cache);
  EXPECT_EQ(stats.entries, 0u);
  EXPECT_EQ(stats.bytes, 0u);
  EXPECT_EQ(stats.unlinked_bytes, 0u);
  EXPECT_EQ(stats.kind[LK_KIND_USER].failed_builds, 2u);
  EXPECT_EQ(stats.kind[LK_KIND_USER].builds, 0u);
  EXPECT_FALSE(touch(cache, &probe, a));
  EXPECT_TRUE(touch(cache, &probe, a));
}

TEST_P(CacheTest, EmptyValueIsAnErrorOfTheBuild) {
  make();
  Owned<lk_intern, lk_intern_destroy> words;
  LK_ASSERT_OK(lk_intern_create(allocator.get(), words.out(), LK_ERR));
  const Key a(1);
  lk_ref *ref = nullptr;
  const auto nothing = [](void *, const lk_key *, lk_built *, lk_error *) { return LK_OK; };
  LK_EXPECT_STATUS(LK_INTERNAL,
                   lk_cache_get(cache, nullptr, a, nothing, nullptr, &ref, nullptr, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("#")); // numbers, as long as there are no words
  lk_cache_set_words(cache, words);
  LK_EXPECT_STATUS(LK_INTERNAL,
                   lk_cache_get(cache, nullptr, a, nothing, nullptr, &ref, nullptr, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to build value of 'dst': the build gave no value"));
  EXPECT_EQ(stats_of(cache).entries, 0u);
  const auto silent = [](void *, const lk_key *, lk_built *, lk_error *) { return LK_BUSY; };
  LK_EXPECT_STATUS(LK_BUSY,
                   lk_cache_get(cache, nullptr, a, silent, nullptr, &ref, nullptr, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to build value of 'dst': busy"));
}

// What is cut off is at its end: the output's name has room as well.
TEST_P(CacheTest, LongNamesOfOperatorsAreCut) {
  make();
  Owned<lk_intern, lk_intern_destroy> words;
  LK_ASSERT_OK(lk_intern_create(allocator.get(), words.out(), LK_ERR));
  const std::string name(200, 'x');
  uint32_t op = 0;
  LK_ASSERT_OK(lk_intern_get(words.get(), name.c_str(), name.size(), &op, LK_ERR));
  lk_cache_set_words(cache, words);
  lk_ref *ref = nullptr;
  const auto nothing = [](void *, const lk_key *, lk_built *, lk_error *) { return LK_OK; };
  LK_EXPECT_STATUS(LK_INTERNAL, lk_cache_get(cache, nullptr, Key(1, LK_KIND_USER, false, op),
                                             nothing, nullptr, &ref, nullptr, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr(" " + std::string(55, 'x') + " of 'dst'"));
}

TEST_P(CacheTest, BuildMayAskForOtherKeys) {
  make();
  hold_plan(cache, &probe, Key(1, LK_KIND_RUN), Key(2, LK_KIND_NAME));
  EXPECT_EQ(probe.built, 2);
  const std::vector<Seen> seen = visit(cache);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].number, 1u); // linked last
  EXPECT_EQ(seen[0].in_use, 0u);
  EXPECT_EQ(seen[1].in_use, 1u); // by the plan
  lk_cache_clear(cache, nullptr);
  EXPECT_EQ(probe.ended, 2);
}

TEST_P(CacheTest, BuildThatAsksForItselfIsACycle) {
  make();
  Owned<lk_intern, lk_intern_destroy> words;
  LK_ASSERT_OK(lk_intern_create(allocator.get(), words.out(), LK_ERR));
  lk_cache_set_words(cache, words);
  const Key a(1), b(2);
  Get inner{&probe, 0, 0, LK_OK, [&](Value *, lk_error *error) {
              lk_ref *ref = nullptr;
              Get again{&probe, 0, 0, LK_OK, {}};
              return again.run(cache, nullptr, a, &ref, nullptr, error);
            }};
  Get outer{&probe, 0, 0, LK_OK, [&](Value *, lk_error *error) {
              lk_ref *ref = nullptr;
              return inner.run(cache, nullptr, b, &ref, nullptr, error);
            }};
  Ref ref;
  LK_EXPECT_STATUS(LK_CYCLE, outer.run(cache, nullptr, a, ref.out(), nullptr, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("'dst'"));
  EXPECT_EQ(probe.built, 0);
  EXPECT_EQ(probe.failed, 2);
  EXPECT_EQ(stats_of(cache).entries, 0u);
  EXPECT_FALSE(touch(cache, &probe, a));
  EXPECT_FALSE(touch(cache, &probe, b));
  // The same key in another cache is another value.
  Cache other;
  LK_ASSERT_OK(lk_cache_create(allocator.get(), GetParam(), LK_UNLIMITED, LK_UNLIMITED, other.out(),
                               LK_ERR));
  Get across{&probe, 0, 0, LK_OK, [&](Value *, lk_error *error) {
               Ref unused;
               Get elsewhere{&probe, 0, 0, LK_OK, {}};
               return elsewhere.run(other, nullptr, Key(3), unused.out(), nullptr, error);
             }};
  LK_EXPECT_OK(across.run(cache, nullptr, Key(3), ref.out(), nullptr, LK_ERR));
}

TEST_P(CacheTest, KindOutOfRangeIsRefused) {
  make();
  const Key bad(1, LK_KIND_COUNT);
  Get get{&probe, 0, 0, LK_OK, {}};
  Ref ref;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, get.run(cache, nullptr, bad, ref.out(), nullptr, LK_ERR));
  EXPECT_EQ(find(cache, bad), nullptr);
}

TEST_P(CacheTest, VisitTellsAgeHitsAndUse) {
  make();
  touch(cache, &probe, Key(1), 10);
  touch(cache, &probe, Key(2), 20);
  Ref used = hold(cache, &probe, Key(3, LK_KIND_RUN), 30);
  touch(cache, &probe, Key(1), 10);
  touch(cache, &probe, Key(1), 10);
  const std::vector<Seen> seen = visit(cache);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_THAT(numbers(cache), ElementsAre(1, 3, 2));
  EXPECT_EQ(seen[0].hits, 2u);
  EXPECT_EQ(seen[0].age, 0u);
  EXPECT_EQ(seen[1].in_use, 1u);
  EXPECT_EQ(seen[1].kind, static_cast<uint32_t>(LK_KIND_RUN));
  EXPECT_EQ(seen[2].age, 2u);
  EXPECT_EQ(seen[2].bytes, entry_overhead() + 20);
  // The visitor may use the cache.
  struct Both {
    lk_cache *cache;
    int calls;
  } both{cache, 0};
  LK_EXPECT_OK(lk_cache_visit(
      cache,
      [](void *arg, const lk_entry_info *info) {
        auto *b = static_cast<Both *>(arg);
        Ref(find(b->cache, info->key)).reset();
        lk_cache_clear(b->cache, nullptr);
        b->calls++;
      },
      &both, LK_ERR));
  EXPECT_EQ(both.calls, 3);
}

TEST_P(CacheTest, QuotasHaveCountersAndLifeOfTheirOwn) {
  make();
  Quota one, two;
  LK_ASSERT_OK(lk_quota_create(cache, one.out(), LK_ERR));
  LK_ASSERT_OK(lk_quota_create(cache, two.out(), LK_ERR));
  touch(cache, &probe, Key(1), 10, one);
  touch(cache, &probe, Key(1), 10, one);
  touch(cache, &probe, Key(2), 20, two);
  touch(cache, &probe, Key(3), 30);
  touch(cache, &probe, Key(1), 10, two); // a hit on an entry of the other's
  const lk_stats first = stats_of(cache, one);
  EXPECT_EQ(first.entries, 1u);
  EXPECT_EQ(first.bytes, entry_overhead() + 10);
  EXPECT_EQ(first.kind[LK_KIND_USER].hits, 2u);
  EXPECT_EQ(first.kind[LK_KIND_USER].misses, 1u);
  EXPECT_EQ(stats_of(cache, two).kind[LK_KIND_USER].hits, 0u);
  Ref used = hold(cache, &probe, Key(2), 20, two);
  Ref alone = hold(cache, &probe, Key(4), 20, two);
  EXPECT_EQ(stats_of(cache, two).kind[LK_KIND_USER].hits, 1u);
  one.reset();
  EXPECT_EQ(probe.ended, 1);
  two.reset();
  EXPECT_EQ(probe.ended, 1);
  EXPECT_THAT(numbers(cache), ElementsAre(3));
  EXPECT_EQ(value_of(used)->number, 2u);
  used.reset();
  alone.reset();
  EXPECT_EQ(probe.ended, 3);
  EXPECT_EQ(stats_of(cache).kind[LK_KIND_USER].hits, 3u);
}

TEST_P(CacheTest, ManyCachesInOneThread) {
  std::vector<Cache> caches(11);
  for (Cache &each : caches) {
    LK_ASSERT_OK(lk_cache_create(allocator.get(), GetParam(), LK_UNLIMITED, LK_UNLIMITED,
                                 each.out(), LK_ERR));
  }
  const Key a(1);
  for (int round = 0; round < 3; round++) {
    for (Cache &each : caches) EXPECT_EQ(touch(each, &probe, a), round > 0);
  }
  caches[3].reset();
  caches[7].reset();
  EXPECT_EQ(probe.ended, 2);
  LK_ASSERT_OK(lk_cache_create(allocator.get(), GetParam(), LK_UNLIMITED, LK_UNLIMITED,
                               caches[3].out(), LK_ERR));
  EXPECT_FALSE(touch(caches[3], &probe, a)); // perhaps at the address of the old one
  EXPECT_TRUE(touch(caches[3], &probe, a));
  EXPECT_TRUE(touch(caches[4], &probe, a));
}

TEST_P(CacheTest, MoreEntriesThanAFrontHolds) {
  make();
  constexpr uint64_t N = 6000;
  for (int round = 0; round < 2; round++) {
    for (uint64_t i = 0; i < N; i++) ASSERT_EQ(touch(cache, &probe, Key(i)), round == 1);
  }
  const lk_stats stats = stats_of(cache);
  EXPECT_EQ(stats.entries, N);
  EXPECT_EQ(stats.kind[LK_KIND_USER].hits, N);
  uint64_t hits = 0;
  for (const Seen &seen : visit(cache)) {
    hits += seen.hits;
    EXPECT_EQ(seen.in_use, 0u);
  }
  EXPECT_EQ(hits, N);
}

// Keys whose hash and fixed part were left out find the same as those that have both, in whatever
// order.
TEST_P(CacheTest, PartialKeysFindTheSame) {
  make(60);
  lk_key_head head;
  std::memset(&head, 0, sizeof head);
  head.kind = LK_KIND_NAME;
  lk_key_builder builder;
  lk_key_begin(&builder, allocator.get(), &head);
  lk_key_seal(&builder);
  lk_key made;
  LK_ASSERT_OK(lk_key_finish(&builder, &made, LK_ERR));
  // Two copies of one fixed part, and one with other bytes.
  lk_key *fixed[3];
  LK_ASSERT_OK(lk_key_copy(allocator.get(), &made, &fixed[0], LK_ERR));
  LK_ASSERT_OK(lk_key_copy(allocator.get(), &made, &fixed[1], LK_ERR));
  lk_key_builder_destroy(&builder);
  head.generation = 1;
  lk_key_begin(&builder, allocator.get(), &head);
  LK_ASSERT_OK(lk_key_finish(&builder, &made, LK_ERR));
  LK_ASSERT_OK(lk_key_copy(allocator.get(), &made, &fixed[2], LK_ERR));
  EXPECT_NE(fixed[0]->serial, fixed[1]->serial);
  std::mt19937 random(5);
  int hits = 0;
  uint64_t number = 0;
  for (int step = 0; step < 20000; step++) {
    // Now in order, now anything; longer keys among shorter ones that begin alike.
    number = random() % 8 == 0 ? random() % 80 : (number + 1) % 80;
    const size_t which = random() % 16 == 0 ? random() % 3 : number % 3;
    lk_key_builder call;
    if (random() % 8 == 0) {
      lk_key_begin_with(&call, allocator.get(), fixed[which]); // with all bytes
    } else {
      lk_key_begin_from(&call, allocator.get(), fixed[which]);
    }
    const int64_t values[] = {7, static_cast<int64_t>(number)};
    lk_key_add_attr(&call, LK_WORD_DILATIONS, values, 2);
    if (number % 3 == 0) lk_key_add_attr(&call, LK_WORD_FLAGS, values, 1);
    lk_key partial;
    LK_ASSERT_OK(lk_key_finish_partial(&call, &partial, LK_ERR));
    EXPECT_EQ(partial.partial, 1u);
    lk_key_builder copy;
    lk_key_begin_with(&copy, allocator.get(), fixed[which]);
    lk_key_add_attr(&copy, LK_WORD_DILATIONS, values, 2);
    if (number % 3 == 0) lk_key_add_attr(&copy, LK_WORD_FLAGS, values, 1);
    lk_key hashed;
    LK_ASSERT_OK(lk_key_finish(&copy, &hashed, LK_ERR));
    Ref ref;
    int hit = 0;
    struct Build {
      Probe *probe;
      uint64_t number;
    } arg{&probe, 3 * number + which / 2};
    const auto build = [](void *pointer, const lk_key *, lk_built *out, lk_error *) {
      const auto *from = static_cast<Build *>(pointer);
      auto *value = new Value;
      value->number = from->number;
      value->probe = from->probe;
      from->probe->built++;
      *out = {value, 0, end_value, from->probe};
      return LK_OK;
    };
    const lk_key *asked = random() % 2 == 0 ? &hashed : &partial;
    LK_ASSERT_OK(lk_cache_get(cache, nullptr, asked, build, &arg, ref.out(), &hit, LK_ERR));
    ASSERT_EQ(value_of(ref)->number, 3 * number + which / 2);
    ASSERT_TRUE(lk_key_equal(lk_ref_key(ref), &hashed));
    Ref found(find(cache, &partial));
    ASSERT_NE(found.get(), nullptr);
    ASSERT_EQ(lk_ref_value(found), lk_ref_value(ref));
    hits += hit;
    lk_key completed = partial;
    lk_key_complete(&completed);
    ASSERT_TRUE(lk_key_equal(&completed, &hashed));
    ASSERT_EQ(completed.hash, hashed.hash);
    if (random() % 1000 == 0) lk_cache_clear(cache, nullptr);
  }
  EXPECT_GT(hits, 5000);
  EXPECT_EQ(probe.built + hits, 20000);
  for (lk_key *each : fixed) lk_free(allocator.get(), each);
}

// With a limit of one entry, tables of shards are often empty: to link into them takes memory, for
// what others have by then.
void fail_each_allocation(uint32_t mode, uint64_t most, uint64_t least) {
  bool failed = true;
  for (size_t nth = 1; failed; nth++) {
    ASSERT_LT(nth, 1000u);
    FailingAllocator failing;
    Probe values;
    {
      Cache own;
      Quota quota;
      failing.fail_at(nth);
      lk_status status =
          lk_cache_create(failing.get(), mode, most, LK_UNLIMITED, own.out(), LK_ERR);
      if (status == LK_OK) status = lk_quota_create(own, quota.out(), LK_ERR);
      std::vector<Ref> held;
      for (uint64_t i = 0; i < 60 && own.get() != nullptr; i++) {
        Get get{&values, 0, 1, LK_OK, {}};
        Ref ref;
        const lk_status each = get.run(own, quota, Key(i % 50), ref.out(), nullptr, LK_ERR);
        if (each == LK_OK) {
          ASSERT_EQ(value_of(ref)->number, i % 50);
          if (i % 3 == 0) held.push_back(std::move(ref));
        } else {
          ASSERT_EQ(each, LK_OUT_OF_MEMORY);
          ASSERT_TRUE(failing.failed());
          ASSERT_EQ(ref.get(), nullptr);
        }
        test_error().passed = false;
      }
      if (own.get() != nullptr) {
        std::vector<Seen> all;
        (void)lk_cache_visit(
            own, [](void *arg, const lk_entry_info *) { ++*static_cast<int *>(arg); },
            &values.failed, nullptr);
        const lk_stats stats = stats_of(own);
        EXPECT_LE(stats.entries, most);
        EXPECT_GE(stats.entries, least);
      } else {
        EXPECT_EQ(status, LK_OUT_OF_MEMORY);
      }
      test_error().passed = false;
      failed = failing.failed();
    }
    EXPECT_EQ(values.alive(), 0);
  }
}

TEST_P(CacheTest, EveryAllocationMayFail) {
  fail_each_allocation(GetParam(), 40, 38);
  fail_each_allocation(GetParam(), 1, 0);
}

TEST(CacheOff, BuildsEachTimeAndKeepsNothing) {
  FailingAllocator allocator;
  Probe probe;
  Cache cache;
  LK_ASSERT_OK(lk_cache_create(allocator.get(), LK_CACHE_OFF, LK_UNLIMITED, LK_UNLIMITED,
                               cache.out(), LK_ERR));
  const Key a(1);
  EXPECT_FALSE(touch(cache, &probe, a));
  EXPECT_FALSE(touch(cache, &probe, a));
  EXPECT_EQ(probe.ended, 2);
  EXPECT_EQ(find(cache, a), nullptr);
  Ref used = hold(cache, &probe, a, 100);
  EXPECT_EQ(stats_of(cache).entries, 0u);
  EXPECT_EQ(stats_of(cache).unlinked_bytes, entry_overhead() + 100);
  lk_ref_charge(used, 200);
  lk_cache_clear(cache, nullptr);
  used.reset();
  Get recursive{&probe, 0, 0, LK_OK, {}};
  recursive.during = [&](Value *, lk_error *error) {
    lk_ref *ref = nullptr;
    return recursive.run(cache, nullptr, a, &ref, nullptr, error);
  };
  lk_ref *ref = nullptr;
  LK_EXPECT_STATUS(LK_CYCLE, recursive.run(cache, nullptr, a, &ref, nullptr, LK_ERR));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   lk_cache_create(allocator.get(), LK_CACHE_DEFAULT, 1, 1, cache.out(), LK_ERR));
  lk_cache_destroy(nullptr);
  lk_quota_destroy(nullptr);
}

} // namespace
