// What eviction costs who makes room, and who hits meanwhile. For cache_lookup.cc.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

extern "C" {
#include "base/alloc.h"
#include "keys/cache/cache.h"
#include "keys/key_build.h"
}

namespace eviction {

// A cache of small values; keys are numbers.
class Numbers {
public:
  Numbers(uint32_t mode, uint64_t entries) {
    if (lk_cache_create(lk_allocator_default(), mode, entries, LK_UNLIMITED, &cache_, nullptr) !=
        LK_OK) {
      std::fprintf(stderr, "failed to create a cache\n");
      std::exit(1);
    }
  }
  Numbers(const Numbers &) = delete;
  ~Numbers() { lk_cache_destroy(cache_); }

  void get(uint64_t number) {
    lk_key_head head;
    std::memset(&head, 0, sizeof head);
    head.kind = LK_KIND_USER;
    head.generation = number;
    lk_key_builder builder;
    lk_key key;
    lk_ref *ref = nullptr;
    lk_key_begin(&builder, lk_allocator_default(), &head);
    (void)lk_key_finish(&builder, &key, nullptr);
    (void)lk_cache_get(cache_, nullptr, &key, build, nullptr, &ref, nullptr, nullptr);
    lk_ref_release(ref);
    lk_key_builder_destroy(&builder);
  }
  lk_cache *cache() { return cache_; }

private:
  static lk_status build(void *, const lk_key *, lk_built *out, lk_error *) {
    static int value;
    *out = {&value, 100, nullptr, nullptr};
    return LK_OK;
  }
  lk_cache *cache_ = nullptr;
};

inline double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

using Clock = std::chrono::steady_clock;

// A clock that costs less than what it measures.
class Ticks {
public:
  Ticks() {
    const Clock::time_point start = Clock::now();
    const uint64_t first = now();
    while (Clock::now() - start < std::chrono::milliseconds(20)) {
    }
    const std::chrono::duration<double, std::nano> passed = Clock::now() - start;
    ns_ = passed.count() / static_cast<double>(now() - first);
    for (int i = 0; i < 1000; i++) {
      const uint64_t before = now();
      own_ = std::min(own_, now() - before);
    }
  }
  static uint64_t now() {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return static_cast<uint64_t>(Clock::now().time_since_epoch().count());
#endif
  }
  // Without what the clock itself takes.
  double ns(uint64_t ticks) const {
    return static_cast<double>(ticks - std::min(ticks, own_)) * ns_;
  }

private:
  double ns_ = 1;
  uint64_t own_ = UINT64_MAX;
};

// Nanoseconds for one entry that goes from a cache of `entries`: the limit is lowered by one again
// and again. Of what nobody has hit since it was linked, or when all were hit since the last time.
class OneOf {
public:
  OneOf(uint64_t entries, bool all_hit)
      : entries_(entries), all_hit_(all_hit), numbers_(LK_CACHE_SHARED, entries) {
    for (; next_ < entries; next_++) numbers_.get(next_);
  }
  void sample() {
    constexpr uint64_t N = 256;
    if (all_hit_) hit_all();
    const uint64_t looks = lk_cache_looks(numbers_.cache(), nullptr);
    const Clock::time_point start = Clock::now();
    for (uint64_t i = 1; i <= N; i++) {
      lk_cache_set_capacity(numbers_.cache(), nullptr, entries_ - i, LK_UNSET);
    }
    samples_.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() / N);
    looks_ += static_cast<double>(lk_cache_looks(numbers_.cache(), nullptr) - looks) / N;
    lk_cache_set_capacity(numbers_.cache(), nullptr, entries_, LK_UNSET);
    for (uint64_t i = 0; i < N; i++) numbers_.get(next_++);
  }
  double ns() const { return median(samples_); }
  double best() const { return *std::min_element(samples_.begin(), samples_.end()); }
  double looks() const { return looks_ / static_cast<double>(samples_.size()); }

private:
  void hit_all() {
    std::vector<uint64_t> there;
    (void)lk_cache_visit(
        numbers_.cache(),
        [](void *arg, const lk_entry_info *info) {
          static_cast<std::vector<uint64_t> *>(arg)->push_back(
              lk_key_get_head(info->key)->generation);
        },
        &there, nullptr);
    for (const uint64_t number : there) numbers_.get(number);
  }
  uint64_t entries_, next_ = 0;
  bool all_hit_;
  Numbers numbers_;
  std::vector<double> samples_;
  double looks_ = 0;
};

// A thread that asks for new keys without pause while this lives, so that each call evicts.
class Evictor {
public:
  explicit Evictor(Numbers *numbers) : numbers_(numbers), thread_([this] { loop(); }) {}
  ~Evictor() {
    done_ = true;
    thread_.join();
  }
  uint64_t count() const { return count_; }

private:
  void loop() {
    static std::atomic<uint64_t> next{1 << 20};
    while (!done_) {
      numbers_->get(next++);
      count_++;
    }
  }
  Numbers *numbers_;
  std::atomic<bool> done_{false};
  std::atomic<uint64_t> count_{0};
  std::thread thread_; // last: uses all of the above
};

// A thread that computes without pause: what a busy neighbour costs by itself, be it that two
// processors share a core.
class Neighbour {
public:
  Neighbour() : thread_([this] { loop(); }) {}
  ~Neighbour() {
    done_ = true;
    thread_.join();
  }

private:
  void loop() {
    std::vector<uint64_t> memory(1 << 14, 1);
    uint64_t at = 1;
    while (!done_) {
      for (int i = 0; i < 1000; i++) {
        at = at * 6364136223846793005u + memory[at >> 50];
        memory[at >> 50] = at;
      }
    }
  }
  std::atomic<bool> done_{false};
  std::thread thread_;
};

} // namespace eviction
