// A cache of values of an engine that computes nothing, found by the keys of works. For
// cache_lookup.cc.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <vector>

extern "C" {
#include "base/alloc.h"
#include "base/tensor.h"
#include "keys/cache/cache.h"
#include "ops/engine/value_key.h"
}

namespace value_hits {

enum class Kind { convolution, product, pooling };

inline void set_tensor(lk_work *work, uint32_t role, std::initializer_list<int64_t> dims,
                       lk_layout layout = LK_LAYOUT_PLAIN) {
  work->roles |= 1u << role;
  work->tensors[role] =
      lk_tensor_desc_make(LK_F32, static_cast<uint32_t>(dims.size()), dims.begin());
  work->tensors[role].layout = layout;
}

inline lk_work make(Kind kind, int64_t width) {
  lk_work work;
  std::memset(&work, 0, sizeof work);
  switch (kind) {
  case Kind::convolution:
    work.kind = LK_WORK_CONV;
    set_tensor(&work, LK_ROLE_SRC, {1, 64, 28, width}, LK_LAYOUT_CHANNELS_LAST);
    set_tensor(&work, LK_ROLE_WEIGHTS, {64, 64, 3, 3}, LK_LAYOUT_ANY);
    set_tensor(&work, LK_ROLE_BIAS, {64});
    set_tensor(&work, LK_ROLE_DST, {1, 64, 28, width}, LK_LAYOUT_CHANNELS_LAST);
    work.constants = 1u << LK_ROLE_WEIGHTS;
    work.n_post_ops = 2;
    work.post_ops[0] = {LK_POST_RELU, 0, 0, 0};
    work.post_ops[1] = {LK_POST_CLIP, 0, 0, 6};
    break;
  case Kind::product:
    work.kind = LK_WORK_PRODUCT;
    set_tensor(&work, LK_ROLE_SRC, {1, width, 256});
    set_tensor(&work, LK_ROLE_WEIGHTS, {256, 256}, LK_LAYOUT_ANY);
    set_tensor(&work, LK_ROLE_DST, {1, width, 256});
    work.constants = 1u << LK_ROLE_WEIGHTS;
    return work;
  case Kind::pooling:
    work.kind = LK_WORK_POOL;
    set_tensor(&work, LK_ROLE_SRC, {1, 64, 28, width});
    set_tensor(&work, LK_ROLE_DST, {1, 64, 28, width});
    work.pooling = LK_POOLING_MEAN;
  }
  work.window.rank = 2;
  for (int i = 0; i < 2; i++) {
    work.window.kernel[i] = 3;
    work.window.strides[i] = work.window.dilations[i] = 1;
    work.window.begin[i] = work.window.end[i] = 1;
    work.window.out[i] = i == 0 ? 28 : width;
  }
  return work;
}

// Works of 20 widths, and one number that makes those of a width differ, whatever it means: few
// enough to stay in the processor's cache, as a work does that was just made.
class Works {
public:
  explicit Works(Kind kind) {
    for (int which = 0; which < 20; which++) works_.push_back(make(kind, 32 + 8 * which));
  }
  const lk_work &of(int node, int which) {
    works_[which].groups = 1 + node;
    return works_[which];
  }

private:
  std::vector<lk_work> works_;
};

// As lk_value_get does it.
class Values {
public:
  explicit Values(Kind kind) : works_(kind) {
    check(lk_cache_create(lk_allocator_default(), LK_CACHE_SHARED, LK_UNLIMITED, LK_UNLIMITED,
                          &cache_, nullptr) == LK_OK,
          "create a cache");
    const lk_key_engine engine = {1, 2, 0, 0};
    for (uint32_t i = 0; i < LK_WORK_KINDS; i++) {
      check(lk_value_key_fix(lk_allocator_default(), &engine, i, &fixed_[i], nullptr) == LK_OK,
            "begin a key");
    }
  }
  Values(const Values &) = delete;
  ~Values() {
    lk_cache_destroy(cache_);
    for (lk_key *key : fixed_) lk_key_destroy(lk_allocator_default(), key);
  }

  void get(int node, int which) {
    with_key(node, which, [&](const lk_key &key) {
      lk_ref *ref = nullptr;
      (void)lk_cache_get(cache_, nullptr, &key, build, nullptr, &ref, nullptr, nullptr);
      check(ref != nullptr, "get a value");
      lk_ref_release(ref);
    });
  }
  // `use` gets the key without its hash, which a look-up may not need.
  template <typename Use> void with_key(int node, int which, Use use) {
    lk_key_builder builder;
    lk_key key;
    lk_value_key_begin(&builder, lk_allocator_default(), fixed_, &works_.of(node, which));
    check(lk_key_finish_partial(&builder, &key, nullptr) == LK_OK, "build a key");
    use(key);
    lk_key_builder_destroy(&builder);
  }

private:
  static void check(bool good, const char *what) {
    if (good) return;
    std::fprintf(stderr, "failed to %s\n", what);
    std::exit(1);
  }
  static lk_status build(void *, const lk_key *, lk_built *out, lk_error *) {
    static int value;
    *out = {&value, 1000, nullptr, nullptr};
    return LK_OK;
  }
  Works works_;
  lk_cache *cache_ = nullptr;
  lk_key *fixed_[LK_WORK_KINDS] = {};
};

} // namespace value_hits
