// Events: a host is told what its cache does, exactly as often as the counters say, with the key,
// and outside every lock.
#include <map>
#include <mutex>
#include <random>

#include "tests/plugin/named_values.h"

extern "C" {
#include "base/time_bucket.h"
}

namespace {

using namespace lk;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

struct Event {
  uint32_t event, kind;
  uint64_t bytes, build_ns;
  std::string key;
  std::thread::id thread;
};

const char *event_name(uint32_t event) {
  static const char *const names[LK_EVENT_COUNT] = {"hit",    "miss",  "wait", "build",
                                                    "failed", "evict", "drop"};
  return event < LK_EVENT_COUNT ? names[event] : "?";
}

// What a context tells. `also` runs in the callback, too, but not for what it asks for itself.
class Recorder {
public:
  std::function<void(const lk_event_info &)> also;
  lk_context *context = nullptr; // prints the keys; NULL: they are not printed

  static void hear(void *user, const lk_event_info *info) {
    static thread_local bool inside = false;
    auto *self = static_cast<Recorder *>(user);
    EXPECT_EQ(info->struct_size, sizeof *info);
    Event event{info->event,    info->kind, info->bytes,
                info->build_ns, "",         std::this_thread::get_id()};
    if (self->context != nullptr) {
      char text[1024];
      EXPECT_EQ(api()->key_print(self->context, info->key, text, sizeof text, nullptr, nullptr),
                LK_OK);
      event.key = text;
    }
    {
      const std::lock_guard<std::mutex> lock(self->mutex_);
      self->events_.push_back(event);
    }
    if (self->also && !inside) {
      inside = true;
      self->also(*info);
      inside = false;
    }
  }

  std::vector<Event> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(events_, {});
  }
  std::vector<std::string> take_names() {
    std::vector<std::string> names;
    for (const Event &event : take()) names.push_back(event_name(event.event));
    return names;
  }

private:
  std::mutex mutex_;
  std::vector<Event> events_;
};

lk_status open_heard(uint32_t mode, Recorder *recorder, const lk_allocator *allocator,
                     Context *out) {
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.cache_mode = mode;
  options.threads = 2;
  if (allocator != nullptr) options.allocator = *allocator;
  options.event = Recorder::hear;
  options.event_user = recorder;
  return api()->context_create(&options, out->out(), LK_ERR);
}

class CacheEvents : public NamedValues {
protected:
  void SetUp() override {
    LK_ASSERT_OK(open_heard(GetParam(), &recorder, nullptr, &context));
    recorder.context = context;
  }
  void TearDown() override {
    recorder.also = nullptr;
    context.reset();
  }
  lk_status fail(const NamedKey &key) {
    NumberBuild build{&built, [](lk_error *error) {
                        error->status = LK_IO;
                        std::strcpy(error->message, "failed to build: on purpose");
                        return LK_IO;
                      }};
    Ref ref; // another thread may have built it
    return api()->get_or_create(context, nullptr, key.get(), NumberBuild::run, &build, ref.out(),
                                nullptr, LK_ERR);
  }
  // As get, but for a wait for another thread's build, which may have failed.
  void get_or_share_failure(const NamedKey &key) {
    NumberBuild build{&built, {}, &ended};
    Ref ref;
    const lk_status status = api()->get_or_create(context, nullptr, key.get(), NumberBuild::run,
                                                  &build, ref.out(), nullptr, nullptr);
    EXPECT_TRUE(status == LK_OK || status == LK_IO) << status;
  }
  // Adds to `sums` what was told, by kind and event.
  static void add(const std::vector<Event> &events, lk_kind_stats (*sums)[LK_KIND_COUNT]) {
    for (const Event &event : events) {
      lk_kind_stats &sum = (*sums)[event.kind];
      uint64_t *const counters[] = {&sum.hits,          &sum.misses,    &sum.waits,  &sum.builds,
                                    &sum.failed_builds, &sum.evictions, &sum.entries};
      ++*counters[event.event]; // entries: those that were dropped
      sum.build_ns += event.build_ns;
      if (event.event == LK_EVENT_BUILD || event.event == LK_EVENT_FAILED) {
        sum.build_times[lk_time_bucket(event.build_ns)]++;
      }
      if (event.event == LK_EVENT_BUILD) sum.bytes += event.bytes;
      if (event.event == LK_EVENT_EVICT || event.event == LK_EVENT_DROP) sum.bytes -= event.bytes;
    }
  }
  static void expect_counted(const lk_stats &now, const std::vector<Event> &events) {
    lk_kind_stats sums[LK_KIND_COUNT] = {};
    add(events, &sums);
    for (int kind = 0; kind < LK_KIND_COUNT; kind++) {
      SCOPED_TRACE(kind);
      EXPECT_EQ(sums[kind].hits, now.kind[kind].hits);
      EXPECT_EQ(sums[kind].misses, now.kind[kind].misses);
      EXPECT_EQ(sums[kind].waits, now.kind[kind].waits);
      EXPECT_EQ(sums[kind].builds, now.kind[kind].builds);
      EXPECT_EQ(sums[kind].failed_builds, now.kind[kind].failed_builds);
      EXPECT_EQ(sums[kind].evictions, now.kind[kind].evictions);
      EXPECT_EQ(sums[kind].build_ns, now.kind[kind].build_ns);
      EXPECT_THAT(now.kind[kind].build_times, ElementsAreArray(sums[kind].build_times));
    }
  }

  Recorder recorder;
};

class AnyCacheEvents : public CacheEvents {}; // also with the cache off
INSTANTIATE_TEST_SUITE_P(Modes, CacheEvents, ::testing::Values(LK_CACHE_THREAD, LK_CACHE_SHARED),
                         cache_mode_name);
INSTANTIATE_TEST_SUITE_P(Modes, AnyCacheEvents,
                         ::testing::Values(LK_CACHE_OFF, LK_CACHE_THREAD, LK_CACHE_SHARED),
                         cache_mode_name);

TEST_P(CacheEvents, TellsOfEachInOrder) {
  const NamedKey key(context, "egg"), other(context, "hen");
  get(key);
  EXPECT_THAT(recorder.take_names(), ElementsAre("miss", "build"));
  get(key);
  find(key);
  EXPECT_THAT(recorder.take_names(), ElementsAre("hit", "hit"));
  find(other);
  EXPECT_THAT(recorder.take_names(), ElementsAre("miss"));
  LK_EXPECT_STATUS(LK_IO, fail(other));
  EXPECT_THAT(recorder.take_names(), ElementsAre("miss", "failed"));
  drop(other);
  EXPECT_THAT(recorder.take_names(), ElementsAre());
  drop(key);
  EXPECT_THAT(recorder.take_names(), ElementsAre("drop"));
  get(key);
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 1, LK_UNSET, LK_ERR));
  (void)recorder.take();
  get(other); // the other one goes first: it makes room
  EXPECT_THAT(recorder.take_names(), ElementsAre("evict", "miss", "build"));
  LK_ASSERT_OK(api()->cache_clear(context, nullptr, LK_ERR));
  EXPECT_THAT(recorder.take_names(), ElementsAre("drop"));
  get(key);
  (void)recorder.take();
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 0, LK_UNSET, LK_ERR));
  EXPECT_THAT(recorder.take_names(), ElementsAre("evict"));
}

TEST_P(CacheEvents, SaysWhatWasCharged) {
  const NamedKey key(context, "egg");
  const Ref ref = get(key);
  const lk_stats now = lk::stats(context);
  std::vector<Event> events = recorder.take();
  ASSERT_EQ(events.size(), 2u);
  for (const Event &event : events) {
    EXPECT_EQ(event.kind, uint32_t(LK_KIND_USER));
    EXPECT_EQ(event.thread, std::this_thread::get_id());
    EXPECT_THAT(event.key, HasSubstr(";out=egg;"));
  }
  EXPECT_EQ(events[0].bytes, 0u);
  EXPECT_EQ(events[0].build_ns, 0u);
  EXPECT_EQ(events[1].bytes, now.bytes);
  EXPECT_EQ(events[1].build_ns, now.kind[LK_KIND_USER].build_ns);
  api()->ref_charge(ref, 5000);
  const uint64_t grown = lk::stats(context).bytes;
  drop(key);
  events = recorder.take();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].bytes, grown);
  EXPECT_EQ(events[0].build_ns, 0u);
  EXPECT_THAT(events[0].key, HasSubstr(";out=egg;"));
}

TEST_P(AnyCacheEvents, TellsWithTheCacheOffToo) {
  const NamedKey key(context, "egg");
  for (int i = 0; i < 2; i++) get(key);
  find(key);
  const std::vector<Event> events = recorder.take();
  expect_counted(lk::stats(context), events);
  EXPECT_EQ(events.size(), GetParam() == LK_CACHE_OFF ? 5u : 4u);
}

// A host of an older header has options without it.
TEST(CacheEventsOfOldHosts, AreNotRead) {
  Recorder recorder;
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.struct_size = offsetof(lk_context_options, event);
  options.event = Recorder::hear;
  options.event_user = &recorder;
  Context context;
  LK_ASSERT_OK(api()->context_create(&options, context.out(), LK_ERR));
  const NamedKey key(context, "a");
  lk_ref *found = nullptr;
  LK_ASSERT_OK(api()->cache_find(context, nullptr, key.get(), &found, LK_ERR));
  EXPECT_EQ(recorder.take().size(), 0u);
}

// Plans of operators are entries as well, and their keys can be printed.
TEST_P(CacheEvents, TellsOfPlans) {
  const Executor executor = lk::executor_in(context);
  TestNode node;
  node.op = "Relu";
  Op relu;
  Plan plan;
  const lk_tensor_desc desc = desc_of(LK_F32, {2, 3});
  LK_ASSERT_OK(node.create(executor, &relu, LK_ERR));
  for (int i = 0; i < 2; i++) {
    LK_ASSERT_OK(lk::bind(relu, {desc}, &plan, LK_ERR));
    plan.reset();
  }
  const std::vector<Event> events = recorder.take();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_STREQ(event_name(events[2].event), "hit");
  for (const Event &event : events) {
    EXPECT_EQ(event.kind, uint32_t(LK_KIND_NAME));
    EXPECT_THAT(event.key, HasSubstr(";op=Relu;"));
  }
}

// What a build asks for is told before the build itself.
TEST_P(CacheEvents, InnerEventsComeFirst) {
  const NamedKey outer(context, "outer"), inner(context, "inner");
  get(outer, nullptr, nullptr, [&](lk_error *) {
    get(inner);
    return LK_OK;
  });
  std::vector<std::string> told;
  for (const Event &event : recorder.take()) {
    told.push_back(std::string(event_name(event.event)) + " " +
                   (event.key.find("inner") != std::string::npos ? "inner" : "outer"));
  }
  EXPECT_THAT(told, ElementsAre("miss inner", "build inner", "miss outer", "build outer"));
}

// An executor's entries, a thread's tables in per-thread mode, and what a context has at its end.
TEST_P(CacheEvents, TellsOfTheEndsOfOwners) {
  Executor executor = lk::executor_in(context);
  {
    const NamedKey mine(context, "mine");
    get(mine, nullptr, executor);
  }
  (void)recorder.take();
  executor.reset();
  EXPECT_THAT(recorder.take_names(), ElementsAre("drop"));
  {
    const NamedKey key(context, "kept"), threads(context, "the thread's");
    get(key);
    std::thread([&] { get(threads); }).join();
    const std::vector<Event> events = recorder.take();
    ASSERT_EQ(events.size(), shared() ? 4u : 5u);
    EXPECT_EQ(events.back().event, uint32_t(shared() ? LK_EVENT_BUILD : LK_EVENT_DROP));
  }
  recorder.context = context; // its keys are printed to the end
  context.reset();
  const std::vector<Event> events = recorder.take();
  ASSERT_EQ(events.size(), shared() ? 2u : 1u);
  for (const Event &event : events) {
    EXPECT_EQ(event.event, uint32_t(LK_EVENT_DROP));
    EXPECT_THAT(event.key, HasSubstr(";out="));
  }
}

// ---- from the callback ----

// It asks for the very key, and finds what was built or builds what is gone.
TEST_P(AnyCacheEvents, TheCallbackMayAskForTheKey) {
  const NamedKey key(context, "egg");
  std::vector<std::string> told;
  recorder.also = [&](const lk_event_info &info) {
    NumberBuild build{&built, {}, &ended};
    Ref ref;
    int hit = -1;
    LK_EXPECT_OK(api()->get_or_create(context, nullptr, info.key, NumberBuild::run, &build,
                                      ref.out(), &hit, LK_ERR));
    told.push_back(std::string(event_name(info.event)) + (hit == 1 ? " hit" : " built"));
  };
  get(key);
  get(key);
  const bool off = GetParam() == LK_CACHE_OFF;
  if (off) {
    EXPECT_THAT(told, ElementsAre("miss built", "build built", "miss built", "build built"));
    return;
  }
  EXPECT_THAT(told, ElementsAre("miss hit", "build hit", "hit hit"));
  told.clear();
  drop(key);
  EXPECT_THAT(told, ElementsAre("drop built"));
  expect_counted(lk::stats(context), recorder.take());
}

// While one thread is in the callback, another one does everything: no lock is held.
TEST_P(AnyCacheEvents, NoLockIsHeldInTheCallback) {
  const NamedKey key(context, "egg"), other(context, "hen"), third(context, "third");
  std::map<uint32_t, int> told;
  const bool off = GetParam() == LK_CACHE_OFF;
  bool inside = false; // also while another thread runs, for which this one waits
  recorder.also = [&](const lk_event_info &info) {
    if (std::exchange(inside, true)) return;
    told[info.event]++;
    std::thread([&] {
      recorder.context = nullptr;
      find(key);
      find(third);
      get(third);
      drop(third);
      (void)lk::stats(context);
      LK_EXPECT_OK(api()->cache_visit(
          context, [](void *, const lk_entry_info *) {}, nullptr, LK_ERR));
    }).join();
    inside = false;
  };
  std::map<uint32_t, int> expected = {{LK_EVENT_MISS, 1}, {LK_EVENT_BUILD, 1}};
  get(key);
  if (!off) {
    get(key);
    drop(key);
    LK_EXPECT_STATUS(LK_IO, fail(other));
    get(other);
    LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 0, LK_UNSET, LK_ERR));
    for (const uint32_t event : {LK_EVENT_HIT, LK_EVENT_FAILED, LK_EVENT_EVICT, LK_EVENT_DROP}) {
      EXPECT_EQ(told[event] > 0, true) << event_name(event);
    }
  }
  for (const auto &[event, count] : expected) EXPECT_GE(told[event], count);
}

// ---- threads ----

TEST_P(CacheEvents, ThoseWhoWaitAreTold) {
  constexpr int N = 4;
  const NamedKey key(context, "egg");
  std::vector<std::thread> threads;
  std::atomic<int> inside{0};
  for (int i = 0; i < N; i++) {
    threads.emplace_back([&] {
      get(key, nullptr, nullptr, [&](lk_error *) {
        inside++;
        wait_until([&] { return shared() ? counts().waits == N - 1 : inside == N; });
        return LK_OK;
      });
    });
  }
  for (std::thread &thread : threads) thread.join();
  const std::vector<Event> events = recorder.take();
  expect_counted(lk::stats(context), events);
  std::map<std::thread::id, std::vector<std::string>> by_thread;
  for (const Event &event : events) {
    if (event.event != LK_EVENT_DROP) by_thread[event.thread].push_back(event_name(event.event));
  }
  int builders = 0;
  EXPECT_EQ(by_thread.size(), size_t(N));
  for (const auto &[thread, told] : by_thread) {
    builders += told == std::vector<std::string>{"miss", "build"};
    EXPECT_TRUE(told.back() == "build" || told == (std::vector<std::string>{"miss", "wait"}));
  }
  EXPECT_EQ(builders, shared() ? 1 : N);
}

// However threads ask, find, fail, drop, clear and evict: what was told is what was counted.
TEST_P(CacheEvents, AreAsManyAsWereCounted) {
  constexpr int KEYS = 8, THREADS = 4;
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 5, LK_UNSET, LK_ERR));
  std::vector<std::unique_ptr<NamedKey>> keys;
  for (int i = 0; i < KEYS; i++) {
    keys.push_back(std::make_unique<NamedKey>(context, std::to_string(i)));
  }
  recorder.context = nullptr;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < THREADS; t++) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < repeats(2000); i++) {
        const NamedKey &key = *keys[random() % KEYS];
        const unsigned what = random() % 20;
        if (what == 0) (void)api()->cache_clear(context, nullptr, nullptr);
        if (what == 1) (void)fail(key);
        if (what == 2 || what == 3) drop(key);
        if (what >= 4 && what < 8) find(key);
        if (what >= 8) get_or_share_failure(key);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  lk::test_error().passed = false;
  const std::vector<Event> events = recorder.take();
  const lk_stats now = lk::stats(context);
  expect_counted(now, events);
  EXPECT_GT(now.kind[LK_KIND_USER].evictions, 0u);
  EXPECT_GT(now.kind[LK_KIND_USER].failed_builds, 0u);
}

// ---- memory ----

TEST_P(AnyCacheEvents, FailedAllocationsAreCountedAlike) {
  fail_every_allocation([&](const FailingAllocator &allocator) {
    Recorder heard;
    Context own;
    lk_status status = open_heard(GetParam(), &heard, allocator.get(), &own);
    if (status != LK_OK) return status;
    NumberBuild build{&built, {}, &ended};
    for (const char *name : {"user:out=a", "user:out=b", "user:out=a"}) {
      Ref ref;
      if (status != LK_OK) break;
      status = api()->get_or_create_text(own, nullptr, name, NumberBuild::run, &build, ref.out(),
                                         nullptr, LK_ERR);
    }
    expect_counted(lk::stats(own), heard.take());
    // A table that has no room for a node is no failure: the value is not kept.
    return allocator.failed() && status == LK_OK ? LK_OUT_OF_MEMORY : status;
  });
  EXPECT_EQ(built, ended);
}

} // namespace
