// LK_KEY_OF_THREAD through the table: a host's values that belong to one thread, beside what all
// threads of the context share.
#include "tests/plugin/named_values.h"

namespace {

using namespace lk;
using ::testing::HasSubstr;

class KeyOfThread : public NamedValues {
protected:
  std::unique_ptr<NamedKey> own(const std::string &name, lk_executor *executor = nullptr) {
    return std::make_unique<NamedKey>(context, name, executor, LK_KEY_OF_THREAD);
  }
  std::string text_of(const NamedKey &key) {
    char text[1024];
    LK_EXPECT_OK(api()->key_print(context, key.get(), text, sizeof text, nullptr, LK_ERR));
    return text;
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, KeyOfThread, ::testing::Values(LK_CACHE_THREAD, LK_CACHE_SHARED),
                         cache_mode_name);

TEST_P(KeyOfThread, IsItsThreadsAndTheOthersAreShared) {
  const auto mine = own("scratch");
  const NamedKey common(context, "plan");
  const Ref first = get(*mine), shared_one = get(common);
  std::thread([&] {
    const auto theirs = own("scratch");
    EXPECT_EQ(find(*theirs).get(), nullptr);
    EXPECT_EQ(find(*mine).get(), nullptr);
    EXPECT_NE(number_of(get(*theirs)), number_of(first));
    int hit = -1;
    get(*theirs, &hit);
    EXPECT_EQ(hit, 1);
    EXPECT_EQ(number_of(get(common)) == number_of(shared_one), shared());
    EXPECT_EQ(lk::stats(context).entries, shared() ? 3u : 4u);
  }).join();
  EXPECT_EQ(ended, shared() ? 1 : 2) << "its value went with the thread";
  EXPECT_EQ(lk::stats(context).entries, 2u);
  EXPECT_EQ(api()->ref_value(find(*mine)), api()->ref_value(first));
}

// In a context whose keys are all the thread's, the flag changes no byte.
TEST_P(KeyOfThread, NamesTheThread) {
  const auto with = own("a");
  const NamedKey without(context, "a");
  EXPECT_THAT(text_of(*with), HasSubstr("thread_generation:"));
  if (shared()) {
    EXPECT_EQ(text_of(without), "user:fixed=72;out=a;call=in_place_input:-1");
  } else {
    EXPECT_EQ(text_of(without), text_of(*with));
  }
  const std::string here = text_of(*with);
  std::thread([&] { EXPECT_NE(text_of(*own("a")), here); }).join();
  EXPECT_EQ(text_of(*own("a")), here);
}

TEST_P(KeyOfThread, IsFoundByItsText) {
  const auto key = own("a");
  const Ref made = get(*key);
  const auto never = [](void *, const lk_key *, lk_built *, lk_error *) { return LK_INTERNAL; };
  Ref by_text, found;
  int hit = -1;
  LK_ASSERT_OK(api()->get_or_create_text(context, nullptr, text_of(*key).c_str(), never, nullptr,
                                         by_text.out(), &hit, LK_ERR));
  EXPECT_EQ(hit, 1);
  EXPECT_EQ(api()->ref_value(by_text), api()->ref_value(made));
  lk_key *parsed = nullptr;
  LK_ASSERT_OK(api()->key_parse(context, text_of(*key).c_str(), &parsed, LK_ERR));
  LK_ASSERT_OK(api()->cache_find(context, nullptr, parsed, found.out(), LK_ERR));
  EXPECT_EQ(api()->ref_value(found), api()->ref_value(made));
  uint64_t dropped = 0;
  LK_ASSERT_OK(api()->cache_drop(context, nullptr, parsed, &dropped, LK_ERR));
  EXPECT_EQ(dropped, 1u);
  EXPECT_EQ(find(*key).get(), nullptr);
  api()->key_destroy(context, parsed);
}

// The flag is the description's, as shapes are, and the thread is the one that asks.
TEST_P(KeyOfThread, GoesForKeysThatAreLikeAnother) {
  const auto key = own("a");
  const Ref made = get(*key);
  const auto ask = [&](uint32_t flags, int *out_hit) {
    lk_key_desc desc{};
    desc.struct_size = sizeof desc;
    desc.flags = flags;
    NumberBuild build{&built, {}, &ended};
    Ref ref;
    LK_EXPECT_OK(api()->get_or_create_like(context, nullptr, key->get(), &desc, NumberBuild::run,
                                           &build, ref.out(), out_hit, LK_ERR));
    return ref;
  };
  int hit = -1;
  ask(LK_KEY_OF_THREAD, &hit);
  EXPECT_EQ(hit, 1);
  ask(0, &hit);
  EXPECT_EQ(hit, shared() ? 0 : 1) << "what all threads share is another value";
  std::thread([&] {
    int there = -1;
    ask(LK_KEY_OF_THREAD, &there);
    EXPECT_EQ(there, 0);
    ask(LK_KEY_OF_THREAD, &there);
    EXPECT_EQ(there, 1);
    ask(0, &there);
    EXPECT_EQ(there, 1);
  }).join();
}

TEST_P(KeyOfThread, IsEvictedAndGoesWithItsExecutor) {
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 2, LK_UNSET, LK_ERR));
  Executor executor = lk::executor_in(context);
  const auto first = own("1"), second = own("2", executor);
  get(*first);
  get(*second, nullptr, executor);
  get(NamedKey(context, "3"));
  EXPECT_EQ(find(*first).get(), nullptr);
  EXPECT_EQ(counts().evictions, 1u);
  EXPECT_NE(find(*second, executor).get(), nullptr);
  EXPECT_EQ(lk::stats(context, executor).entries, 1u);
  executor.reset();
  EXPECT_EQ(find(*second).get(), nullptr);
  EXPECT_EQ(lk::stats(context).entries, 1u);
}

TEST_P(KeyOfThread, RefusesOtherFlags) {
  const NamedKey like(context, "a");
  lk_key_desc desc{};
  desc.struct_size = sizeof desc;
  desc.name = "a";
  desc.flags = LK_KEY_OF_THREAD | 6;
  lk_key *key = nullptr;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->key_create(context, nullptr, &desc, &key, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("flags are 0x7, of which LK_KEY_OF_THREAD (0x1) alone exists"));
  EXPECT_EQ(key, nullptr);
  NumberBuild build{&built, {}, &ended};
  lk_ref *ref = nullptr;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   api()->get_or_create_like(context, nullptr, like.get(), &desc, NumberBuild::run,
                                             &build, &ref, nullptr, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("flags are 0x7"));
  EXPECT_EQ(built, 0);
}

struct Told {
  std::atomic<int> dropped{0};
  static void event(void *user, const lk_event_info *info) {
    if (info->event == LK_EVENT_DROP) static_cast<Told *>(user)->dropped++;
  }
};

TEST(KeyOfThreadEvents, TellTheEndOfItsThread) {
  Told told;
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.cache_mode = LK_CACHE_SHARED;
  options.event = Told::event;
  options.event_user = &told;
  std::atomic<int> built{0};
  Context context;
  LK_ASSERT_OK(api()->context_create(&options, context.out(), LK_ERR));
  std::thread([&] {
    NumberBuild build{&built, {}};
    for (const uint32_t flags : {0u, uint32_t(LK_KEY_OF_THREAD)}) {
      const NamedKey key(context, "a", nullptr, flags);
      Ref ref;
      LK_EXPECT_OK(api()->get_or_create(context, nullptr, key.get(), NumberBuild::run, &build,
                                        ref.out(), nullptr, LK_ERR));
    }
  }).join();
  EXPECT_EQ(built, 2);
  EXPECT_EQ(told.dropped, 1);
}

} // namespace
