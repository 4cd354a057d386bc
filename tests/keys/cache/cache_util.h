// What the tests of the cache share: keys by number, values that tell of their end, builds.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "tests/harness/lk_test.h"
#include "tests/harness/wait.h"

extern "C" {
#include "base/alloc.h"
#include "base/status.h"
#include "keys/cache/cache.h"
#include "keys/key_build.h"
}

namespace lk {

using Cache = Owned<lk_cache, lk_cache_destroy>;
using Quota = Owned<lk_quota, lk_quota_destroy>;
using Ref = Owned<lk_ref, lk_ref_release>;

// A key that differs from others by kind and number; all have the same length, but for those of the
// thread that has made them.
class Key {
public:
  explicit Key(uint64_t number, uint32_t kind = LK_KIND_USER, bool of_thread = false,
               uint32_t op = LK_WORD_VALUE) {
    lk_key_head head;
    std::memset(&head, 0, sizeof head);
    head.kind = kind;
    head.op = op;
    head.out = LK_WORD_DST;
    head.generation = number;
    lk_key_builder builder;
    lk_key_begin(&builder, lk_allocator_default(), &head);
    if (of_thread) {
      const lk_thread_identity thread = lk_thread_identity_get();
      const lk_key_call call = {-1, thread.hash, thread.generation};
      lk_key_seal(&builder);
      lk_key_add_call(&builder, &call);
    }
    lk_key key;
    LK_EXPECT_OK(lk_key_finish(&builder, &key, LK_ERR));
    LK_EXPECT_OK(lk_key_copy(lk_allocator_default(), &key, &copy_, LK_ERR));
    lk_key_builder_destroy(&builder);
  }
  Key(const Key &) = delete;
  ~Key() { lk_free(lk_allocator_default(), copy_); }
  operator const lk_key *() const { return copy_; }

private:
  lk_key *copy_ = nullptr;
};

class ThreadKey : public Key {
public:
  explicit ThreadKey(uint64_t number) : Key(number, LK_KIND_USER, true) {}
};

inline uint64_t key_number(const lk_key *key) {
  return lk_key_get_head(key)->generation;
}

// Builds values and hears of their end. One for many keys.
struct Probe {
  std::atomic<int> built{0}, ended{0}, failed{0};
  int alive() const { return built - ended; }
};

struct Value {
  static constexpr uint64_t ALIVE = 0xa11fe;
  uint64_t state = ALIVE;
  uint64_t number = 0;
  Probe *probe = nullptr;
  std::vector<lk_ref *> needs; // references to other entries, as a run plan has of plans
};

inline const Value *value_of(const lk_ref *ref) {
  return static_cast<const Value *>(lk_ref_value(ref));
}

inline void end_value(void *pointer, void *user) {
  auto *value = static_cast<Value *>(pointer);
  EXPECT_EQ(value->state, Value::ALIVE) << "ended twice";
  EXPECT_EQ(user, value->probe);
  for (lk_ref *need : value->needs) lk_ref_release(need);
  value->state = 0;
  value->probe->ended++;
  delete value;
}

// One call of get: what is built if it misses.
struct Get {
  Probe *probe = nullptr;
  uint64_t number = 0;
  uint64_t bytes = 0;
  lk_status status = LK_OK;                             // of the build
  std::function<lk_status(Value *, lk_error *)> during; // runs inside the build

  static lk_status build(void *arg, const lk_key *, lk_built *out, lk_error *error) {
    auto *get = static_cast<Get *>(arg);
    auto *value = new Value;
    value->number = get->number;
    value->probe = get->probe;
    lk_status status = get->status;
    if (get->during) {
      const lk_status inner = get->during(value, error);
      if (inner != LK_OK) status = inner;
    }
    if (status != LK_OK) {
      for (lk_ref *need : value->needs) lk_ref_release(need);
      delete value;
      get->probe->failed++;
      if (!get->during) return lk_fail(error, status, "failed on purpose: %d", (int)status);
      return status;
    }
    get->probe->built++;
    *out = {value, get->bytes, end_value, get->probe};
    return LK_OK;
  }

  lk_status run(lk_cache *cache, lk_quota *quota, const lk_key *key, lk_ref **out_ref,
                int *out_hit = nullptr, lk_error *error = nullptr) {
    number = key_number(key);
    return lk_cache_get(cache, quota, key, build, this, out_ref, out_hit, error);
  }
};

// For `during`: asks for one more entry, which `value` then needs, as a run plan needs plans.
inline lk_status need(lk_cache *cache, Value *value, const lk_key *key, Get get, lk_error *error,
                      lk_quota *quota = nullptr) {
  lk_ref *ref = nullptr;
  const lk_status status = get.run(cache, quota, key, &ref, nullptr, error);
  if (status == LK_OK) value->needs.push_back(ref);
  return status;
}

// A get that must succeed; returns whether it hit, and drops the reference.
inline bool touch(lk_cache *cache, Probe *probe, const lk_key *key, uint64_t bytes = 0,
                  lk_quota *quota = nullptr) {
  Get get{probe, 0, bytes, LK_OK, {}};
  Ref ref;
  int hit = -1;
  LK_EXPECT_OK(get.run(cache, quota, key, ref.out(), &hit, LK_ERR));
  if (ref.get() != nullptr) {
    EXPECT_EQ(value_of(ref)->state, Value::ALIVE);
    EXPECT_EQ(value_of(ref)->number, key_number(key));
  }
  return hit == 1;
}

inline Ref hold(lk_cache *cache, Probe *probe, const lk_key *key, uint64_t bytes = 0,
                lk_quota *quota = nullptr) {
  Get get{probe, 0, bytes, LK_OK, {}};
  Ref ref;
  LK_EXPECT_OK(get.run(cache, quota, key, ref.out(), nullptr, LK_ERR));
  return ref;
}

// An entry whose value needs another one, which it asks for while it is built.
inline Ref hold_plan(lk_cache *cache, Probe *probe, const lk_key *key, const lk_key *needed,
                     uint64_t needed_bytes = 0) {
  Get get{probe, 0, 0, LK_OK, [&](Value *value, lk_error *error) {
            return need(cache, value, needed, {probe, 0, needed_bytes, LK_OK, {}}, error);
          }};
  Ref ref;
  LK_EXPECT_OK(get.run(cache, nullptr, key, ref.out(), nullptr, LK_ERR));
  return ref;
}

// What is there, with a reference, else NULL: a miss whose build fails.
inline lk_ref *find(lk_cache *cache, const lk_key *key) {
  lk_ref *ref = nullptr;
  const auto fail = [](void *, const lk_key *, lk_built *, lk_error *) { return LK_NOT_FOUND; };
  (void)lk_cache_get(cache, nullptr, key, fail, nullptr, &ref, nullptr, nullptr);
  return ref;
}

inline lk_stats stats_of(lk_cache *cache, lk_quota *quota = nullptr) {
  lk_stats stats;
  std::memset(&stats, 0, sizeof stats);
  lk_cache_get_stats(cache, quota, &stats);
  return stats;
}

inline lk_kind_stats all_kinds(const lk_stats &stats) {
  lk_kind_stats sum{};
  for (const lk_kind_stats &kind : stats.kind) {
    sum.hits += kind.hits;
    sum.misses += kind.misses;
    sum.builds += kind.builds;
    sum.failed_builds += kind.failed_builds;
    sum.waits += kind.waits;
    sum.evictions += kind.evictions;
    sum.entries += kind.entries;
    sum.bytes += kind.bytes;
  }
  return sum;
}

struct Seen {
  uint64_t number, bytes, hits, age;
  uint32_t kind, in_use;
};

// Newest first.
inline std::vector<Seen> visit(lk_cache *cache) {
  std::vector<Seen> seen;
  LK_EXPECT_OK(lk_cache_visit(
      cache,
      [](void *arg, const lk_entry_info *info) {
        EXPECT_EQ(info->struct_size, sizeof *info);
        static_cast<std::vector<Seen> *>(arg)->push_back(
            {key_number(info->key), info->bytes, info->hits, info->age, info->kind, info->in_use});
      },
      &seen, LK_ERR));
  return seen;
}

inline std::vector<uint64_t> numbers(lk_cache *cache) {
  std::vector<uint64_t> result;
  for (const Seen &seen : visit(cache)) result.push_back(seen.number);
  return result;
}

// What an entry is charged besides its value's bytes; keys of this file are all of one length.
inline uint64_t entry_overhead() {
  Cache cache;
  Probe probe;
  LK_EXPECT_OK(lk_cache_create(lk_allocator_default(), LK_CACHE_SHARED, LK_UNLIMITED, LK_UNLIMITED,
                               cache.out(), LK_ERR));
  touch(cache, &probe, Key(0));
  return stats_of(cache).bytes;
}

// A build on a thread of its own that has begun, and ends when it is told to.
class HeldBuild {
public:
  HeldBuild(lk_cache *cache, Probe *probe, uint64_t number)
      : thread_([this, cache, probe, number] {
          Get get{probe, 0, 0, LK_OK, [this](Value *, lk_error *) {
                    started_.set_value();
                    go_.get_future().wait();
                    return LK_OK;
                  }};
          Ref ref;
          LK_EXPECT_OK(get.run(cache, nullptr, Key(number), ref.out(), nullptr, LK_ERR));
        }) {
    started_.get_future().wait();
  }
  void end() {
    go_.set_value();
    thread_.join();
  }

private:
  std::promise<void> started_, go_;
  std::thread thread_;
};

// Parameter of tests that run in both modes.
inline std::string mode_name(const ::testing::TestParamInfo<uint32_t> &info) {
  return info.param == LK_CACHE_SHARED ? "shared" : "thread";
}

class CacheTest : public ::testing::TestWithParam<uint32_t> {
protected:
  void make(uint64_t entries = LK_UNLIMITED, uint64_t bytes = LK_UNLIMITED) {
    LK_ASSERT_OK(lk_cache_create(allocator.get(), GetParam(), entries, bytes, cache.out(), LK_ERR));
  }
  bool shared() const { return GetParam() == LK_CACHE_SHARED; }

  FailingAllocator allocator; // also checks that all is given back
  Probe probe;
  Cache cache;
};

#define LK_BOTH_MODES(suite)                                                                       \
  INSTANTIATE_TEST_SUITE_P(Modes, suite, ::testing::Values(LK_CACHE_THREAD, LK_CACHE_SHARED),      \
                           ::lk::mode_name)

} // namespace lk
