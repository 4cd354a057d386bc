// Values that hold the last reference to others: however many hang together, their end takes a
// stack of one size, and all of them have ended when the call returns.
#include <pthread.h>

#include <functional>

#include "tests/keys/cache/cache_util.h"

extern "C" {
#include "keys/cache/drop.h"
}

namespace {

using namespace lk;

using ChainTest = CacheTest;

LK_BOTH_MODES(ChainTest);

struct Link {
  lk_ref *next;
  uint64_t *ended;
  std::function<void()> *at_end;
};

lk_status build(void *arg, const lk_key *, lk_built *out, lk_error *) {
  *out = {new Link(*static_cast<Link *>(arg)), 16,
          [](void *value, void *) {
            auto *link = static_cast<Link *>(value);
            lk_ref_release(link->next);
            if (link->at_end != nullptr) (*link->at_end)();
            ++*link->ended;
            delete link;
          },
          nullptr};
  return LK_OK;
}

// The head of so many, each of which refers to the one before it; the cache has dropped them all.
lk_ref *chain(lk_cache *cache, uint64_t length, uint64_t *ended,
              std::function<void()> *at_end = nullptr) {
  lk_ref *head = nullptr;
  for (uint64_t i = 0; i < length; i++) {
    Link link{head, ended, i % 100 == 0 ? at_end : nullptr};
    lk_ref *ref = nullptr;
    const Key key(i);
    LK_EXPECT_OK(lk_cache_get(cache, nullptr, key, build, &link, &ref, nullptr, LK_ERR));
    (void)lk_cache_drop(cache, nullptr, key);
    head = ref;
  }
  return head;
}

void on_a_small_stack(std::function<void()> work) {
  pthread_attr_t attributes;
  pthread_t thread;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 512 << 10), 0);
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void *arg) -> void * {
                  (*static_cast<std::function<void()> *>(arg))();
                  return nullptr;
                },
                &work),
            0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

TEST_P(ChainTest, OfManyEndsWithItsHead) {
  make();
  constexpr uint64_t kLength = 100000;
  uint64_t ended = 0;
  on_a_small_stack([&] {
    lk_ref *head = chain(cache, kLength, &ended);
    EXPECT_EQ(ended, 0u);
    lk_ref_release(head);
    EXPECT_EQ(ended, kLength);
  });
}

TEST_P(ChainTest, OfManyEndsWhenItsHeadIsDropped) {
  make();
  constexpr uint64_t kLength = 100000;
  uint64_t ended = 0;
  on_a_small_stack([&] {
    Link link{chain(cache, kLength, &ended), &ended, nullptr};
    lk_ref *ref = nullptr;
    LK_EXPECT_OK(lk_cache_get(cache, nullptr, Key(kLength), build, &link, &ref, nullptr, LK_ERR));
    lk_ref_release(ref);
    EXPECT_EQ(ended, 0u);
    lk_cache_clear(cache, nullptr);
    EXPECT_EQ(ended, kLength + 1);
  });
}

// A value may be the owner of a whole cache, or of an executor: its own values end with it, however
// deep it lies.
TEST_P(ChainTest, WhatEndsWithinAnEndIsGoneAtOnce) {
  make();
  uint64_t ended = 0, inner_ended = 0, inner_made = 0;
  std::function<void()> at_end = [&] {
    Cache inner;
    LK_ASSERT_OK(lk_cache_create(allocator.get(), GetParam(), LK_UNLIMITED, LK_UNLIMITED,
                                 inner.out(), LK_ERR));
    Link link{chain(inner, 10, &inner_ended), &inner_ended, nullptr};
    lk_ref *ref = nullptr;
    LK_EXPECT_OK(lk_cache_get(inner, nullptr, Key(77), build, &link, &ref, nullptr, LK_ERR));
    lk_ref_release(ref);
    inner_made += 11;
    inner.reset();
    EXPECT_EQ(inner_ended, inner_made);
  };
  lk_ref_release(chain(cache, 1000, &ended, &at_end));
  EXPECT_EQ(ended, 1000u);
  EXPECT_EQ(inner_made, 110u);
}

// A value of another cache that was put off, since ends were nested too deep, ends before its cache
// does.
TEST_P(ChainTest, WhatIsPutOffEndsBeforeItsCache) {
  make();
  uint64_t ended = 0, inner_ended = 0, inner_made = 0;
  std::function<void()> at_end = [&] {
    Cache inner;
    LK_ASSERT_OK(lk_cache_create(allocator.get(), GetParam(), LK_UNLIMITED, LK_UNLIMITED,
                                 inner.out(), LK_ERR));
    lk_ref_release(chain(inner, 200, &inner_ended));
    inner_made += 200;
    inner.reset();
    EXPECT_EQ(inner_ended, inner_made);
  };
  on_a_small_stack([&] {
    lk_ref_release(chain(cache, 1000, &ended, &at_end));
    EXPECT_EQ(ended, 1000u);
    EXPECT_EQ(inner_made, 2000u);
  });
}

} // namespace
