// Looking up by text, finding without building, and references that are kept, through the table.
#include "tests/plugin/named_values.h"

namespace {

using namespace lk;
using ::testing::HasSubstr;

class CacheFind : public NamedValues {
protected:
  lk_status get_text(const std::string &text, Ref *out, int *out_hit, lk_error *error) {
    NumberBuild build{&built, {}, &ended};
    lk_ref *ref = nullptr;
    const lk_status status = api()->get_or_create_text(
        context, nullptr, text.c_str(), NumberBuild::run, &build, &ref, out_hit, error);
    out->reset(ref);
    return status;
  }
  std::string text_of(const NamedKey &key) {
    char text[1024];
    LK_EXPECT_OK(api()->key_print(context, key.get(), text, sizeof text, nullptr, LK_ERR));
    return text;
  }
};

INSTANTIATE_TEST_SUITE_P(Modes, CacheFind, ::testing::Values(LK_CACHE_THREAD, LK_CACHE_SHARED),
                         cache_mode_name);

// ---- by text ----

TEST_P(CacheFind, TextFindsWhatTheKeyBuilt) {
  const NamedKey key(context, "a; name=");
  Ref by_key = get(key), by_text;
  int hit = -1;
  LK_ASSERT_OK(get_text(text_of(key), &by_text, &hit, LK_ERR));
  EXPECT_EQ(hit, 1);
  EXPECT_EQ(api()->ref_value(by_key), api()->ref_value(by_text));
  LK_ASSERT_OK(get_text("user:out=other", &by_text, &hit, LK_ERR));
  EXPECT_EQ(hit, 0);
  EXPECT_EQ(number_of(by_text), 2);
  LK_ASSERT_OK(get_text("user:out=other", &by_text, &hit, LK_ERR));
  EXPECT_EQ(hit, 1);
  const lk_kind_stats now = counts();
  EXPECT_EQ(now.hits, 2u);
  EXPECT_EQ(now.misses, 2u);
  EXPECT_EQ(now.builds, 2u);
}

TEST_P(CacheFind, TextIsCheckedAsAKeyIs) {
  Ref ref;
  LK_EXPECT_STATUS(LK_MALFORMED, get_text("not a key", &ref, nullptr, LK_ERR));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, get_text("run:out=graph", &ref, nullptr, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to get a value: its key is of kind run"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, get_text("name:out=conv1", &ref, nullptr, LK_ERR));
  const Context other = lk::open(GetParam());
  const Executor there = lk::executor_in(other);
  NumberBuild build{&built, {}, &ended};
  lk_ref *none = nullptr;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   api()->get_or_create_text(context, there, "user:out=a", NumberBuild::run, &build,
                                             &none, nullptr, LK_ERR));
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(ref.get(), nullptr);
  EXPECT_EQ(built, 0);
}

TEST_P(CacheFind, TextChargesTheExecutor) {
  const Executor executor = lk::executor_in(context);
  NumberBuild build{&built, {}, &ended};
  Ref ref;
  LK_ASSERT_OK(api()->get_or_create_text(context, executor, "user:out=a", NumberBuild::run, &build,
                                         ref.out(), nullptr, LK_ERR));
  EXPECT_EQ(lk::stats(context, executor).entries, 1u);
  EXPECT_EQ(counts(executor).misses, 1u);
}

// ---- without building ----

TEST_P(CacheFind, FindsWhatIsThereAndBuildsNothing) {
  const NamedKey key(context, "a");
  const Executor executor = lk::executor_in(context);
  EXPECT_EQ(find(key, executor).get(), nullptr);
  EXPECT_EQ(built, 0);
  EXPECT_EQ(counts().misses, 1u);
  EXPECT_EQ(counts(executor).misses, 1u);
  const Ref made = get(key, nullptr, executor);
  for (int i = 0; i < 3; i++) {
    const Ref found = find(key, executor);
    ASSERT_NE(found.get(), nullptr);
    EXPECT_EQ(api()->ref_value(found), api()->ref_value(made));
  }
  EXPECT_EQ(built, 1);
  EXPECT_EQ(counts().misses, 2u);
  EXPECT_EQ(counts().hits, 3u);
  EXPECT_EQ(counts(executor).hits, 3u);
  EXPECT_EQ(lk::stats(context).entries, 1u);
}

// What one thread has built another one finds in shared mode; in per-thread mode it has none.
TEST_P(CacheFind, FindsWhatAnotherThreadHasBuilt) {
  const NamedKey key(context, "a");
  const Ref made = get(key);
  std::thread([&] {
    for (int i = 0; i < 3; i++) EXPECT_EQ(find(key).get() != nullptr, shared());
  }).join();
  EXPECT_EQ(counts().hits, shared() ? 3u : 0u);
  EXPECT_EQ(counts().misses, shared() ? 1u : 4u);
}

TEST_P(CacheFind, DoesNotWaitForABuild) {
  const NamedKey key(context, "a");
  HeldBuild held(key, &built, &ended);
  EXPECT_EQ(find(key).get(), nullptr); // it returns, although the build goes on
  EXPECT_EQ(counts().waits, 0u);
  EXPECT_EQ(held.end(), 1);
  EXPECT_EQ(find(key).get() != nullptr, shared());
}

TEST_P(CacheFind, ABuildMayLookForItsOwnKey) {
  const NamedKey key(context, "a");
  const Ref made = get(key, nullptr, nullptr, [&](lk_error *) {
    EXPECT_EQ(find(key).get(), nullptr);
    return LK_OK;
  });
  EXPECT_NE(find(key).get(), nullptr);
}

TEST_P(CacheFind, KeepsWhatItFindsFromBeingEvicted) {
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 2, LK_UNSET, LK_ERR));
  const NamedKey first(context, "1"), second(context, "2"), third(context, "3");
  get(first);
  get(second);
  EXPECT_NE(find(first).get(), nullptr); // so the second one was used least recently
  get(third);
  EXPECT_NE(find(first).get(), nullptr);
  EXPECT_EQ(find(second).get(), nullptr);
}

TEST_P(CacheFind, RefusesWhatGetRefuses) {
  const Context other = lk::open(GetParam());
  const NamedKey there(other, "a");
  lk_ref *ref = nullptr;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   api()->cache_find(context, nullptr, there.get(), &ref, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to find a value: its key is of another context"));
  lk_key *plan = nullptr;
  LK_ASSERT_OK(api()->key_parse(context, "name:out=conv1", &plan, LK_ERR));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->cache_find(context, nullptr, plan, &ref, LK_ERR));
  EXPECT_THAT(LK_MESSAGE,
              HasSubstr("failed to find a value: its key is of kind name; one of this "
                        "context is required, of key_create, or of kind user or value"));
  api()->key_destroy(context, plan);
  LK_ASSERT_OK(api()->key_parse(context, "run:out=graph", &plan, LK_ERR));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->cache_find(context, nullptr, plan, &ref, LK_ERR));
  EXPECT_EQ(ref, nullptr);
  api()->key_destroy(context, plan);
}

// What an engine builds is asked for like what is the host's, by a text that names no executor.
TEST_P(CacheFind, TakesTheTextOfAValueKey) {
  const Context other = lk::open(GetParam());
  lk_key *key = nullptr, *there = nullptr;
  LK_ASSERT_OK(api()->key_parse(context, "value:op=conv", &key, LK_ERR));
  LK_ASSERT_OK(api()->key_parse(other, "value:op=conv", &there, LK_ERR));
  lk_ref *ref = nullptr;
  LK_EXPECT_OK(api()->cache_find(context, nullptr, key, &ref, LK_ERR));
  EXPECT_EQ(ref, nullptr);
  EXPECT_EQ(lk::stats(context).kind[LK_KIND_VALUE].misses, 1u);
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->cache_find(context, nullptr, there, &ref, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to find a value: its key is of another context"));
  NumberBuild build{&built, {}, &ended};
  LK_EXPECT_STATUS(
      LK_INVALID_ARGUMENT,
      api()->get_or_create(context, nullptr, key, NumberBuild::run, &build, &ref, nullptr, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to get a value: its key is of kind value"));
  api()->key_destroy(context, key);
  api()->key_destroy(other, there);
}

// ---- references ----

TEST_P(CacheFind, RetainsOnAnyThread) {
  const NamedKey key(context, "a");
  Ref made = get(key), found = find(key);
  for (lk_ref *ref : {made.get(), found.get()}) api()->ref_retain(ref);
  Ref kept(made.get()), kept_too(found.get());
  made.reset();
  found.reset();
  EXPECT_EQ(counts().hits, 1u) << "a reference more is no use of the entry";
  LK_ASSERT_OK(api()->cache_clear(context, nullptr, LK_ERR));
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(number_of(kept), 1);
  std::thread([&] {
    api()->ref_retain(kept);
    api()->ref_release(kept);
    kept.reset();
  }).join();
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(number_of(kept_too), 1);
  kept_too.reset();
  EXPECT_EQ(ended, 1);
}

// What is kept counts as in use, and is not chosen while there is something else.
TEST_P(CacheFind, WhatIsRetainedIsInUse) {
  const NamedKey key(context, "a");
  Ref made = get(key);
  const auto users = [&] {
    uint32_t in_use = 0;
    LK_EXPECT_OK(api()->cache_visit(
        context,
        [](void *arg, const lk_entry_info *info) { *static_cast<uint32_t *>(arg) += info->in_use; },
        &in_use, LK_ERR));
    return in_use;
  };
  EXPECT_EQ(users(), 1u);
  for (int i = 0; i < 5; i++) api()->ref_retain(made);
  EXPECT_EQ(users(), 6u);
  for (int i = 0; i < 5; i++) api()->ref_release(made);
  EXPECT_EQ(users(), 1u);
}

// ---- memory ----

TEST_P(CacheFind, FailedAllocationsLeaveNothing) {
  fail_every_allocation([&](const FailingAllocator &allocator) {
    Context own;
    lk_status status = host_context_create(GetParam(), 1, allocator.get(), own.out(), LK_ERR);
    if (status != LK_OK) return status;
    NumberBuild build{&built, {}, &ended};
    // Also the first call of a thread: it has no table yet.
    std::thread([&] {
      Ref made, found;
      status = api()->get_or_create_text(own, nullptr, "user:out=a", NumberBuild::run, &build,
                                         made.out(), nullptr, LK_ERR);
      EXPECT_EQ(status == LK_OK, made.get() != nullptr);
      lk_key *key = nullptr;
      if (status == LK_OK) status = api()->key_parse(own, "user:out=a", &key, LK_ERR);
      if (status == LK_OK) status = api()->cache_find(own, nullptr, key, found.out(), LK_ERR);
      if (status == LK_OK) status = api()->cache_drop(own, nullptr, key, nullptr, LK_ERR);
      if (status == LK_OK) {
        lk_ref *gone = nullptr;
        status = api()->cache_find(own, nullptr, key, &gone, LK_ERR);
        EXPECT_EQ(gone, nullptr);
      }
      api()->key_destroy(own, key);
    }).join();
    // A table that has no room for a node is no failure: the value is not kept.
    return allocator.failed() && status == LK_OK ? LK_OUT_OF_MEMORY : status;
  });
  EXPECT_EQ(built, ended);
}

} // namespace
