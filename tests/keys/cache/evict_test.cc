// Budgets: what goes, in which order, and that the limits hold; against a simple model at random.
#include <algorithm>
#include <list>
#include <map>
#include <random>

#include "tests/keys/cache/cache_util.h"

namespace {

using namespace lk;
using ::testing::ElementsAre;

class CacheEvictTest : public CacheTest {};
LK_BOTH_MODES(CacheEvictTest);

TEST_P(CacheEvictTest, LeastRecentlyUsedGoesFirst) {
  make(3);
  for (uint64_t i = 1; i <= 3; i++) touch(cache, &probe, Key(i));
  touch(cache, &probe, Key(1));
  touch(cache, &probe, Key(4));
  EXPECT_THAT(numbers(cache), ElementsAre(4, 1, 3));
  touch(cache, &probe, Key(3));
  touch(cache, &probe, Key(5));
  EXPECT_THAT(numbers(cache), ElementsAre(5, 3, 4));
  EXPECT_EQ(stats_of(cache).kind[LK_KIND_USER].evictions, 2u);
  EXPECT_EQ(probe.alive(), 3);
}

TEST_P(CacheEvictTest, BytesAreALimitThatIsNeverExceeded) {
  const uint64_t overhead = entry_overhead();
  const uint64_t limit = 5 * overhead + 1000;
  make(LK_UNLIMITED, limit);
  std::mt19937 random(3);
  for (int i = 0; i < 500; i++) {
    touch(cache, &probe, Key(i), random() % 900);
    EXPECT_LE(stats_of(cache).bytes, limit);
  }
  EXPECT_LE(stats_of(cache).peak_bytes, limit);
  // What exactly fits pushes all others out; a byte more is the caller's alone and pushes nobody.
  touch(cache, &probe, Key(1000), limit - overhead);
  EXPECT_THAT(numbers(cache), ElementsAre(1000));
  Ref large = hold(cache, &probe, Key(1001), limit - overhead + 1);
  EXPECT_EQ(value_of(large)->number, 1001u);
  EXPECT_THAT(numbers(cache), ElementsAre(1000));
  Ref endless = hold(cache, &probe, Key(1002), UINT64_MAX);
  EXPECT_THAT(numbers(cache), ElementsAre(1000));
}

TEST_P(CacheEvictTest, UnusedGoesBeforeUsed) {
  make(3);
  Ref first = hold(cache, &probe, Key(1));
  Ref second = hold(cache, &probe, Key(2));
  touch(cache, &probe, Key(3));
  touch(cache, &probe, Key(4));
  EXPECT_THAT(numbers(cache), ElementsAre(4, 2, 1));
  Ref fourth = hold(cache, &probe, Key(4));
  Ref fifth = hold(cache, &probe, Key(5)); // nothing unused is left: the oldest is let go
  EXPECT_THAT(numbers(cache), ElementsAre(5, 4, 2));
  EXPECT_EQ(value_of(first)->state, Value::ALIVE);
  EXPECT_EQ(stats_of(cache).unlinked_bytes, entry_overhead());
  first.reset();
  EXPECT_EQ(stats_of(cache).unlinked_bytes, 0u);
  EXPECT_EQ(probe.ended, 2); // 3 and 1
}

TEST_P(CacheEvictTest, ColdRunPlanGoesAndThenWhatOnlyItNeeded) {
  make(6);
  const Key cold_run(1, LK_KIND_RUN), cold(11, LK_KIND_NAME);
  const Key hot_run(2, LK_KIND_RUN), hot(12, LK_KIND_NAME);
  hold_plan(cache, &probe, cold_run, cold);
  hold_plan(cache, &probe, hot_run, hot);
  touch(cache, &probe, Key(21));
  touch(cache, &probe, hot_run); // the values of run plans are not touched by this
  touch(cache, &probe, Key(22)); // full
  touch(cache, &probe, Key(23));
  EXPECT_THAT(numbers(cache), ElementsAre(23, 22, 2, 21, 12, 11));
  touch(cache, &probe, Key(24)); // what only the cold run plan needed is unused now, and oldest
  EXPECT_THAT(numbers(cache), ElementsAre(24, 23, 22, 2, 21, 12));
  touch(cache, &probe, Key(25)); // the hot one's value is older than 21, but in use
  EXPECT_THAT(numbers(cache), ElementsAre(25, 24, 23, 22, 2, 12));
  const lk_stats stats = stats_of(cache);
  EXPECT_EQ(stats.kind[LK_KIND_RUN].evictions, 1u);
  EXPECT_EQ(stats.kind[LK_KIND_NAME].evictions, 1u);
  EXPECT_EQ(stats.kind[LK_KIND_USER].evictions, 1u);
}

TEST_P(CacheEvictTest, RoundsGoOnUntilWhatARunPlanHoldsIsFree) {
  const uint64_t overhead = entry_overhead();
  make(LK_UNLIMITED, 8 * overhead + 400000);
  for (uint64_t i = 0; i < 4; i++) {
    hold_plan(cache, &probe, Key(i, LK_KIND_RUN), Key(10 + i, LK_KIND_NAME), 100000);
  }
  touch(cache, &probe, Key(20), 150000); // the bytes of two values, which two run plans hold
  EXPECT_THAT(numbers(cache), ElementsAre(20, 3, 13, 2, 12));
  EXPECT_EQ(stats_of(cache).unlinked_bytes, 0u);
}

TEST_P(CacheEvictTest, ShrinkingEvictsBeforeItReturnsAndKeepsTheMostRecent) {
  make();
  for (uint64_t i = 0; i < 1000; i++) touch(cache, &probe, Key(i), 100);
  lk_cache_set_capacity(cache, nullptr, 10, LK_UNSET);
  EXPECT_EQ(probe.alive(), static_cast<int>(stats_of(cache).entries));
  const std::vector<uint64_t> left = numbers(cache);
  EXPECT_EQ(left.size(), 10u);
  for (size_t i = 0; i < left.size(); i++) EXPECT_EQ(left[i], 999 - i);
  lk_stats stats = stats_of(cache);
  EXPECT_EQ(stats.capacity_entries, 10u);
  EXPECT_EQ(stats.capacity_bytes, LK_UNLIMITED);
  lk_cache_set_capacity(cache, nullptr, LK_UNSET, 3 * (entry_overhead() + 100));
  EXPECT_EQ(stats_of(cache).entries, 3u);
  EXPECT_EQ(numbers(cache).at(0), 999u);
}

TEST_P(CacheEvictTest, NoMoreGoesThanIsNeeded) {
  make(1600);
  for (uint64_t i = 0; i < 1600; i++) touch(cache, &probe, Key(i));
  EXPECT_EQ(stats_of(cache).entries, 1600u);
  for (uint64_t i = 0; i < 25; i++) touch(cache, &probe, Key(5000 + i));
  EXPECT_EQ(stats_of(cache).entries, 1600u);
  const std::vector<uint64_t> left = numbers(cache);
  EXPECT_EQ(left.front(), 5024u);
  EXPECT_EQ(left.back(), 25u); // the oldest twenty-five went
}

TEST_P(CacheEvictTest, ZeroEmptiesAndDisables) {
  for (const bool by_bytes : {false, true}) {
    make();
    Ref used = hold(cache, &probe, Key(1), 10);
    touch(cache, &probe, Key(2), 10);
    lk_cache_set_capacity(cache, nullptr, by_bytes ? LK_UNSET : 0, by_bytes ? 0 : LK_UNSET);
    EXPECT_EQ(stats_of(cache).entries, 0u);
    EXPECT_EQ(value_of(used)->state, Value::ALIVE);
    EXPECT_FALSE(touch(cache, &probe, Key(2)));
    EXPECT_FALSE(touch(cache, &probe, Key(2)));
    EXPECT_EQ(probe.alive(), 1);
    used.reset();
    lk_cache_set_capacity(cache, nullptr, 5, LK_UNLIMITED);
    EXPECT_FALSE(touch(cache, &probe, Key(2)));
    EXPECT_TRUE(touch(cache, &probe, Key(2)));
    cache.reset();
    EXPECT_EQ(probe.alive(), 0);
  }
}

TEST_P(CacheEvictTest, GrowingAValueEvictsOthers) {
  const uint64_t overhead = entry_overhead();
  make(LK_UNLIMITED, 3 * overhead + 300);
  touch(cache, &probe, Key(1), 100);
  touch(cache, &probe, Key(2), 100);
  Ref used = hold(cache, &probe, Key(3), 100);
  lk_ref_charge(used, 201);
  EXPECT_THAT(numbers(cache), ElementsAre(3, 2));
  lk_ref_charge(used, 1 << 20); // more than all: the cache lets it go too
  EXPECT_THAT(numbers(cache), ElementsAre());
  EXPECT_EQ(stats_of(cache).unlinked_bytes, overhead + (1 << 20));
}

TEST_P(CacheEvictTest, QuotaIsALimitForItsOwnEntriesOnly) {
  make(10);
  Quota quota;
  LK_ASSERT_OK(lk_quota_create(cache, quota.out(), LK_ERR));
  EXPECT_EQ(stats_of(cache, quota).capacity_entries, LK_UNLIMITED);
  lk_cache_set_capacity(cache, quota, 2, LK_UNSET);
  EXPECT_EQ(stats_of(cache, quota).capacity_entries, 2u);
  touch(cache, &probe, Key(100));
  for (uint64_t i = 1; i <= 5; i++) touch(cache, &probe, Key(i), 0, quota);
  EXPECT_THAT(numbers(cache), ElementsAre(5, 4, 100));
  EXPECT_EQ(stats_of(cache, quota).kind[LK_KIND_USER].evictions, 3u);
  lk_cache_clear(cache, quota);
  EXPECT_THAT(numbers(cache), ElementsAre(100));
  lk_cache_set_capacity(cache, quota, 0, LK_UNSET);
  EXPECT_FALSE(touch(cache, &probe, Key(6), 0, quota));
  EXPECT_THAT(numbers(cache), ElementsAre(100));
}

// ---- what it costs: how many entries are looked at ----

constexpr uint64_t LOOKS = 8; // for one that goes, on average; and at most
constexpr uint64_t MOST_LOOKS = 64;

TEST_P(CacheEvictTest, CostsTheSameHoweverFullTheCacheIs) {
  for (const bool hit : {false, true}) {
    for (const uint64_t n : {1024u, 65536u}) {
      make(n);
      for (int round = 0; round < (hit ? 2 : 1); round++) {
        for (uint64_t i = 0; i < n; i++) touch(cache, &probe, Key(i));
      }
      EXPECT_EQ(lk_cache_looks(cache, nullptr), 0u);
      for (uint64_t i = 1; i <= 1000; i++) {
        const uint64_t before = lk_cache_looks(cache, nullptr);
        touch(cache, &probe, Key(n + i));
        ASSERT_LE(lk_cache_looks(cache, nullptr) - before, hit ? MOST_LOOKS : 1);
        ASSERT_LE(lk_cache_looks(cache, nullptr), hit ? LOOKS * i : i);
        ASSERT_EQ(stats_of(cache).kind[LK_KIND_USER].evictions, i);
      }
      cache.reset();
    }
  }
}

TEST_P(CacheEvictTest, WhatIsInUseIsLookedAtOnce) {
  constexpr uint64_t N = 2000;
  make(2 * N);
  std::vector<Ref> held;
  for (uint64_t i = 0; i < N; i++) held.push_back(hold(cache, &probe, Key(i)));
  for (uint64_t i = 0; i < 3 * N; i++) touch(cache, &probe, Key(N + i));
  EXPECT_EQ(stats_of(cache).kind[LK_KIND_USER].evictions, 2 * N);
  EXPECT_EQ(lk_cache_looks(cache, nullptr), N + 2 * N);
  for (const Ref &each : held) EXPECT_EQ(value_of(each)->state, Value::ALIVE);
  uint64_t looks = N + 2 * N;
  if (shared()) { // used by others in between, and released by them: still in use
    std::thread([&] {
      for (uint64_t i = 0; i < N; i++) EXPECT_TRUE(touch(cache, &probe, Key(i))) << i;
    }).join();
    touch(cache, &probe, Key(5 * N));
    EXPECT_EQ(lk_cache_looks(cache, nullptr), ++looks);
  }
  held.clear(); // nobody uses them any more
  for (uint64_t i = 0; i < 10; i++) touch(cache, &probe, Key(6 * N + i));
  EXPECT_EQ(stats_of(cache).entries, 2 * N);
  if (!shared()) {
    EXPECT_EQ(lk_cache_looks(cache, nullptr), looks + 10); // older than the rest: they are next
    EXPECT_EQ(find(cache, Key(N - 1)), nullptr);
  } else {
    EXPECT_LE(lk_cache_looks(cache, nullptr), looks + 10 * LOOKS + MOST_LOOKS);
  }
}

TEST_P(CacheEvictTest, QuotaLooksAtItsOwnEntriesOnly) {
  make();
  Quota mine, others;
  LK_ASSERT_OK(lk_quota_create(cache, mine.out(), LK_ERR));
  LK_ASSERT_OK(lk_quota_create(cache, others.out(), LK_ERR));
  lk_cache_set_capacity(cache, mine, 10, LK_UNSET);
  for (uint64_t i = 0; i < 20000; i++) touch(cache, &probe, Key(i), 0, others);
  for (uint64_t i = 0; i < 110; i++) touch(cache, &probe, Key(20000 + i), 0, mine);
  EXPECT_EQ(lk_cache_looks(cache, mine), 100u);
  EXPECT_EQ(lk_cache_looks(cache, others), 0u);
  EXPECT_EQ(lk_cache_looks(cache, nullptr), 0u);
  EXPECT_EQ(stats_of(cache, mine).entries, 10u);
  EXPECT_EQ(stats_of(cache, others).entries, 20000u);
  // A limit of the context takes whose they may be.
  lk_cache_set_capacity(cache, nullptr, 5, LK_UNSET);
  EXPECT_EQ(stats_of(cache, mine).entries, 5u);
  EXPECT_EQ(stats_of(cache, others).entries, 0u);
}

// The order is not exactly that of use, but whatever was used a moment ago is there.
TEST_P(CacheEvictTest, MostRecentlyUsedStay) {
  for (const uint64_t n : {20u, 100u, 300u}) {
    make(n);
    std::mt19937 random(7);
    std::list<uint64_t> recent;
    for (uint64_t step = 0; step < 20 * n; step++) {
      // Some are asked for far more often than others.
      const uint64_t number = random() % (1 + random() % (4 * n));
      touch(cache, &probe, Key(number));
      recent.remove(number);
      recent.push_front(number);
      if (recent.size() > 10) recent.pop_back();
      const std::vector<uint64_t> left = numbers(cache);
      ASSERT_TRUE(std::equal(recent.begin(), recent.end(), left.begin())) << step;
    }
    EXPECT_GT(stats_of(cache).kind[LK_KIND_USER].evictions, n);
    cache.reset();
  }
}

// ---- at random, against a model ----

// A clock over plain lists: the hand takes the older one of the first that is fresh and the first
// that it has left, by what it knew of their last use; what is in use is parked, what was hit in
// between is left, behind what was used before among the last 16 there.
class Model {
public:
  struct Entry {
    uint64_t number, bytes;
    int owner; // index of its quota, -1: none
    int users = 0;
    bool linked = false, parked = false;
    uint64_t used_at = 0, hits = 0, seen_at = 0, seen_hits = 0;
  };
  using Handle = std::shared_ptr<Entry>;
  using Circle = std::list<Handle>;
  struct Clock {
    Circle fresh, again, parked;
    size_t credit = 0; // looks that were not needed
    void remove(const Handle &entry) {
      for (Circle *circle : {&fresh, &again, &parked}) circle->remove(entry);
    }
  };
  struct Account {
    uint64_t limit_entries = LK_UNLIMITED, limit_bytes = LK_UNLIMITED, entries = 0, bytes = 0;
    uint64_t hits = 0, misses = 0, evictions = 0;
    Clock clock;
    bool fits(uint64_t more_entries, uint64_t more_bytes) const {
      return entries + more_entries <= limit_entries && bytes + more_bytes <= limit_bytes;
    }
    bool keeps() const { return limit_entries > 0 && limit_bytes > 0; }
  };

  Account cache, quotas[2];
  std::list<Handle> lru; // newest first
  uint64_t unlinked = 0;

  Handle find(uint64_t number) {
    for (auto at = lru.begin(); at != lru.end(); ++at) {
      if ((*at)->number != number) continue;
      lru.splice(lru.begin(), lru, at);
      lru.front()->used_at = ++now_;
      lru.front()->hits++;
      cache.hits++;
      return lru.front();
    }
    return nullptr;
  }

  Handle get(uint64_t number, uint64_t bytes, int owner, bool *hit) {
    Handle found = find(number);
    *hit = found != nullptr;
    if (found) return found;
    cache.misses++;
    auto entry = std::make_shared<Entry>(Entry{number, bytes, owner});
    entry->users = 1; // while it is being added
    unlinked += bytes;
    if (make_room(owner, 1, bytes)) {
      entry->used_at = entry->seen_at = ++now_;
      lru.push_front(entry);
      for (Account *account : accounts_of(entry)) account->clock.fresh.push_back(entry);
      count(*entry, 1);
    }
    entry->users = 0;
    return entry;
  }

  void release(const Handle &entry) {
    entry->users--;
    if (!entry->linked && entry->users == 0) unlinked -= entry->bytes;
    if (entry->parked && entry->users == 0) {
      entry->parked = false;
      for (Account *account : accounts_of(entry)) {
        account->clock.remove(entry);
        account->clock.again.push_front(entry);
      }
    }
  }
  // For what nobody but the model's caller has.
  void forget_if_unused(const Handle &entry) {
    if (!entry->linked && entry->users == 0) unlinked -= entry->bytes;
  }

  void charge(const Handle &entry, uint64_t bytes) {
    const bool grown = bytes > entry->bytes;
    if (entry->linked) {
      count(*entry, -1);
      entry->bytes = bytes;
      count(*entry, 1);
    } else {
      unlinked += bytes - entry->bytes;
      entry->bytes = bytes;
    }
    if (grown) make_room(entry->owner, 0, 0);
  }

  bool make_room(int owner, uint64_t entries, uint64_t bytes) {
    std::vector<Account *> limits;
    if (owner >= 0) limits.push_back(&quotas[owner]);
    limits.push_back(&cache);
    for (const Account *account : limits) {
      if (entries > account->limit_entries || bytes > account->limit_bytes) return false;
    }
    for (Account *account : limits) {
      while (!account->fits(entries, bytes)) {
        Handle victim = choose(account->clock, false);
        if (!victim) victim = choose(account->clock, true);
        if (!victim) break;
        unlink(victim, true);
      }
    }
    return true;
  }

  void clear(int owner, bool eviction) {
    for (auto at = lru.begin(); at != lru.end();) {
      const Handle here = *at++;
      if (owner < 0 || here->owner == owner) unlink(here, eviction);
    }
  }

private:
  static constexpr size_t LOOKS = 8;
  uint64_t now_ = 0;

  std::vector<Account *> accounts_of(const Handle &entry) {
    if (entry->owner < 0) return {&cache};
    return {&cache, &quotas[entry->owner]};
  }
  void count(Entry &entry, int sign) {
    for (Account *account : {&cache, entry.owner >= 0 ? &quotas[entry.owner] : nullptr}) {
      if (account == nullptr) continue;
      account->entries += sign;
      account->bytes += sign * entry.bytes;
    }
    if (sign > 0 && !entry.linked) {
      entry.linked = true;
      unlinked -= entry.bytes;
    }
  }
  void unlink(const Handle &entry, bool eviction) {
    for (Account *account : accounts_of(entry)) {
      account->clock.remove(entry);
      if (eviction) account->evictions++;
    }
    count(*entry, -1);
    entry->linked = entry->parked = false;
    if (entry->users > 0) unlinked += entry->bytes;
    lru.remove(entry);
  }
  void park(const Handle &entry) {
    entry->parked = true;
    for (Account *account : accounts_of(entry)) {
      account->clock.remove(entry);
      account->clock.parked.push_back(entry);
    }
  }
  // The hand looks on until one goes, at 8 for each on average.
  Handle choose(Clock &clock, bool used) {
    for (;;) {
      Circle found;
      const size_t most = std::min<size_t>(clock.credit + 8, 64);
      size_t looks = 0;
      Handle cold;
      while (looks < most && !cold) {
        Circle *circle = used ? &clock.parked : &clock.fresh;
        const auto older = [](const Circle &a, const Circle &b) {
          return !a.empty() && (b.empty() || a.front()->seen_at < b.front()->seen_at);
        };
        if (!used && older(clock.again, clock.fresh)) circle = &clock.again;
        if (circle->empty()) break;
        if (std::find(found.begin(), found.end(), circle->front()) != found.end()) break;
        looks++;
        const Handle entry = circle->front();
        if (!used && entry->users > 0) {
          park(entry);
          continue;
        }
        if (entry->seen_hits == entry->hits) cold = entry;
        entry->seen_hits = entry->hits;
        entry->seen_at = entry->used_at;
        clock.remove(entry);
        (used ? clock.parked : clock.again).push_back(entry);
        found.push_back(entry);
      }
      clock.credit = most - looks;
      found.sort([](const Handle &a, const Handle &b) { return a->seen_at < b->seen_at; });
      if (!used) leave(clock, found);
      if (cold) return cold;
      if (!found.empty()) return found.front();
      if (looks == 0) return nullptr;
    }
  }
  void leave(Clock &clock, const Circle &found) {
    for (const Handle &entry : found) clock.remove(entry);
    for (const Handle &entry : found) {
      auto place = clock.again.end();
      for (int i = 0; i < 16 && place != clock.again.begin(); i++) {
        if ((*std::prev(place))->seen_at <= entry->seen_at) break;
        --place;
      }
      clock.again.insert(place, entry);
    }
  }
};

class Differential {
public:
  Differential(uint32_t mode, uint32_t seed) : random_(seed), overhead_(entry_overhead()) {
    LK_EXPECT_OK(
        lk_cache_create(allocator_.get(), mode, LK_UNLIMITED, LK_UNLIMITED, cache_.out(), LK_ERR));
    for (Quota &quota : quotas_) LK_EXPECT_OK(lk_quota_create(cache_, quota.out(), LK_ERR));
    set_capacity(-1);
  }
  ~Differential() { held_.clear(); }

  void step() {
    const uint32_t what = random_() % 100;
    const int owner = static_cast<int>(random_() % 3) - 1;
    if (what < 70) {
      get(owner);
    } else if (what < 78) {
      Ref ref(find(cache_, Key(number())));
      const Model::Handle entry = model_.find(last_number_);
      ASSERT_EQ(ref.get() != nullptr, entry != nullptr);
      if (entry == nullptr) model_.cache.misses++;
    } else if (what < 88) {
      if (held_.empty()) return;
      const size_t at = random_() % held_.size();
      model_.release(held_[at].second);
      held_.erase(held_.begin() + static_cast<long>(at));
    } else if (what < 93) {
      if (held_.empty()) return;
      auto &[ref, entry] = held_[random_() % held_.size()];
      const uint64_t bytes = random_() % 400;
      lk_ref_charge(ref, bytes);
      model_.charge(entry, bytes + overhead_);
    } else if (what < 98) {
      set_capacity(owner);
    } else {
      lk_cache_clear(cache_, owner < 0 ? nullptr : quotas_[owner].get());
      model_.clear(owner, false);
    }
  }

  void compare() {
    std::vector<uint64_t> expected;
    int alive = 0;
    for (const auto &entry : model_.lru) {
      expected.push_back(entry->number);
      alive++;
    }
    std::vector<Model::Entry *> unlinked;
    for (const auto &held : held_) {
      if (!held.second->linked) unlinked.push_back(held.second.get());
      ASSERT_EQ(value_of(held.first)->state, Value::ALIVE);
      ASSERT_EQ(value_of(held.first)->number, held.second->number);
    }
    std::sort(unlinked.begin(), unlinked.end());
    unlinked.erase(std::unique(unlinked.begin(), unlinked.end()), unlinked.end());
    ASSERT_EQ(numbers(cache_), expected);
    ASSERT_EQ(probe_.alive(), alive + static_cast<int>(unlinked.size()));
    std::map<uint64_t, uint32_t> users;
    for (const auto &entry : model_.lru) users[entry->number] = entry->users;
    for (const Seen &seen : visit(cache_)) ASSERT_EQ(seen.in_use, users[seen.number]);
    compare(stats_of(cache_), model_.cache);
    ASSERT_EQ(stats_of(cache_).unlinked_bytes, model_.unlinked);
    const lk_kind_stats counts = all_kinds(stats_of(cache_));
    ASSERT_EQ(counts.hits, model_.cache.hits);
    ASSERT_EQ(counts.misses, model_.cache.misses);
    for (int i = 0; i < 2; i++) compare(stats_of(cache_, quotas_[i]), model_.quotas[i]);
  }

private:
  uint64_t number() { return last_number_ = random_() % 90; }

  void compare(const lk_stats &stats, const Model::Account &model) {
    ASSERT_EQ(stats.entries, model.entries);
    ASSERT_EQ(stats.bytes, model.bytes);
    ASSERT_EQ(all_kinds(stats).entries, model.entries);
    ASSERT_EQ(all_kinds(stats).bytes, model.bytes);
    ASSERT_EQ(all_kinds(stats).evictions, model.evictions);
    ASSERT_EQ(stats.capacity_entries, model.limit_entries);
    ASSERT_EQ(stats.capacity_bytes, model.limit_bytes);
  }

  void get(int owner) {
    const Key key(number());
    const uint64_t bytes = random_() % 300;
    Get get{&probe_, 0, bytes, LK_OK, {}};
    Ref ref;
    int hit = 0;
    bool expected = false;
    LK_ASSERT_OK(
        get.run(cache_, owner < 0 ? nullptr : quotas_[owner].get(), key, ref.out(), &hit, LK_ERR));
    Model::Handle entry = model_.get(last_number_, bytes + overhead_, owner, &expected);
    ASSERT_EQ(hit == 1, expected);
    if (random_() % 4 == 0 && held_.size() < 30) {
      entry->users++;
      held_.emplace_back(std::move(ref), entry);
    } else {
      model_.forget_if_unused(entry);
    }
  }

  void set_capacity(int owner) {
    const uint64_t entries = random_() % 20 == 0 ? 0 : 1 + random_() % 60;
    const uint64_t bytes = random_() % 3 == 0 ? LK_UNLIMITED : random_() % (60 * (overhead_ + 150));
    Model::Account &account = owner < 0 ? model_.cache : model_.quotas[owner];
    lk_cache_set_capacity(cache_, owner < 0 ? nullptr : quotas_[owner].get(), entries, bytes);
    account.limit_entries = entries;
    account.limit_bytes = bytes;
    if (!account.keeps()) {
      model_.clear(owner, true);
    } else {
      model_.make_room(owner, 0, 0);
    }
  }

  std::mt19937 random_;
  uint64_t overhead_;
  uint64_t last_number_ = 0;
  FailingAllocator allocator_;
  Probe probe_;
  Cache cache_;
  Quota quotas_[2];
  Model model_;
  std::vector<std::pair<Ref, Model::Handle>> held_;
};

TEST_P(CacheEvictTest, BehavesAsTheModel) {
  for (uint32_t seed = 0; seed < 40; seed++) {
    SCOPED_TRACE(seed);
    Differential both(GetParam(), seed);
    for (int step = 0; step < 400; step++) {
      both.step();
      both.compare();
      if (HasFatalFailure()) FAIL() << "at step " << step;
    }
  }
}

} // namespace
