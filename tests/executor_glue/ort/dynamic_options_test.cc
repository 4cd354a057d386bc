// What a host asks of the cache while a session lives: it empties, shrinks and grows, under runs
// too.
#include <atomic>
#include <thread>

#include "tests/executor_glue/ort/models.h"
#include "tests/executor_glue/ort/session.h"

using ::testing::AllOf;
using ::testing::HasSubstr;

namespace ort {
namespace {

Inputs rows(int64_t n) {
  return {{"x", noise({n, 4}, static_cast<uint32_t>(n))}};
}
Entries entry(const std::string &name, const std::string &value) {
  return {{"ep.latchkeyexecutionprovider." + name, value}};
}

class DynamicOptions : public ::testing::TestWithParam<const char *> {
protected:
  Options options() const {
    Options made;
    made.provider = {{"cache", GetParam()}};
    return made;
  }
  void run_shapes(const Session &session, int64_t count) const {
    for (int64_t n = 1; n <= count; n++) {
      const Outcome found = session.run(rows(n), {"y"});
      ASSERT_EQ(found.error, "");
      expect_same(found.outputs, reference.run(rows(n), {"y"}).outputs);
    }
  }
  json_int_t cached(const Session &session, const char *what = "entries") const {
    return session.report(rows(1), {"y"}).number(std::string("context.cache.") + what);
  }

  Host host;
  const std::string model = perceptron();
  Session reference{host, model, [] {
                      Options cpu;
                      cpu.on_provider = false;
                      return cpu;
                    }()};
};

TEST_P(DynamicOptions, ClearAndTrim) {
  const Session session(host, model, options());
  run_shapes(session, 8);
  const json_int_t before = cached(session);
  ASSERT_GE(before, 8);
  EXPECT_EQ(session.set_dynamic(entry("cache_action", "trim")), "");
  EXPECT_EQ(cached(session), before);
  EXPECT_EQ(session.set_dynamic(entry("cache_action", "clear")), "");
  EXPECT_LT(cached(session), 8); // what the reports' own runs have made since
  run_shapes(session, 8);
  EXPECT_EQ(cached(session), before);
}

TEST_P(DynamicOptions, ResizeTheCache) {
  const Session session(host, model, options());
  run_shapes(session, 8);
  ASSERT_GE(cached(session), 8);
  ASSERT_GT(cached(session, "bytes"), 4096);
  EXPECT_EQ(session.set_dynamic(entry("cache_entries", "3")), "");
  EXPECT_LE(cached(session), 3);
  run_shapes(session, 8);
  EXPECT_LE(cached(session), 3);
  EXPECT_EQ(session.set_dynamic(entry("cache_entries", "100")), "");
  run_shapes(session, 8);
  EXPECT_GE(cached(session), 8);
  EXPECT_EQ(session.set_dynamic(entry("cache_bytes", "4k")), "");
  EXPECT_LE(cached(session, "bytes"), 4096);
  run_shapes(session, 8);
}

TEST_P(DynamicOptions, LimitAllMemory) {
  const Session session(host, model, options());
  run_shapes(session, 2);
  EXPECT_EQ(session.set_dynamic(entry("memory_bytes", "1k")), "");
  EXPECT_THAT(session.run(rows(9), {"y"}).error, HasSubstr("failed to allocate"));
  EXPECT_EQ(session.set_dynamic(entry("memory_bytes", "64m")), "");
  run_shapes(session, 9);
}

TEST_P(DynamicOptions, ComeWhileOthersRun) {
  const Session session(host, model, options());
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++) {
    threads.emplace_back([&] {
      while (!stop) run_shapes(session, 6);
    });
  }
  for (int i = 0; i < 20; i++) {
    EXPECT_EQ(session.set_dynamic(entry("cache_action", "clear")), "");
    EXPECT_EQ(session.set_dynamic(entry("cache_entries", i % 2 == 0 ? "2" : "1000")), "");
    EXPECT_EQ(session.set_dynamic(entry("cache_action", "trim")), "");
  }
  stop = true;
  for (std::thread &thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Caches, DynamicOptions, ::testing::Values("shared", "thread"),
                         [](const auto &info) { return std::string(info.param); });

// Without a cache no plan holds on to a copy that was packed for another shape's layout, so it goes
// when it is too large, and is made again.
TEST(DynamicWeights, AreLimited) {
  Host host;
  Options options;
  options.provider = {{"cache", "off"}};
  const Session session(host, perceptron(), options);
  const auto packed = [&] {
    for (int64_t n = 1; n <= 4; n++) EXPECT_EQ(session.run(rows(n), {"y"}).error, "");
    return session.report(rows(1), {"y"}).number("context.weights.packed");
  };
  const json_int_t once = packed();
  ASSERT_GE(once, 2);
  EXPECT_EQ(packed(), once);
  EXPECT_EQ(session.set_dynamic(entry("weights_bytes", "1")), "");
  const json_int_t limited = packed();
  EXPECT_GE(limited, once);
  if (once > 2) { // some shapes want another layout of the two weights: so on AVX2 and AVX-512
    EXPECT_GT(packed(), limited);
    EXPECT_EQ(session.set_dynamic(entry("weights_bytes", "64m")), "");
    const json_int_t again = packed();
    EXPECT_EQ(packed(), again);
  }
}

TEST(DynamicOptionErrors, NameTheOptionAndWhatIsAllowed) {
  Host host;
  const Session session(host, perceptron());
  ASSERT_EQ(session.run(rows(2), {"y"}).error, "");
  EXPECT_THAT(session.set_dynamic(entry("cash", "1")),
              AllOf(HasSubstr("failed to read dynamic provider option 'cash'"),
                    HasSubstr("not one of cache_action, cache_bytes")));
  EXPECT_THAT(session.set_dynamic(entry("cache_action", "burn")),
              AllOf(HasSubstr("'cache_action': it is 'burn'"), HasSubstr("one of clear, trim")));
  EXPECT_THAT(session.set_dynamic(entry("cache_entries", "many")),
              HasSubstr("it is 'many', it must be a number"));
  EXPECT_THAT(session.set_dynamic(entry("cache_bytes", "-1")),
              HasSubstr("it is '-1', it must be a number of"));
  // Those of other providers are ignored; one bad entry leaves all as it was.
  EXPECT_EQ(session.set_dynamic({{"ep.dynamic.workload_type", "Efficient"}}), "");
  Entries both = entry("cache_action", "clear");
  both.push_back(entry("cache_bytes", "lots")[0]);
  const json_int_t before = session.report(rows(2), {"y"}).number("context.cache.entries");
  EXPECT_THAT(session.set_dynamic(both), HasSubstr("'lots'"));
  EXPECT_EQ(session.report(rows(2), {"y"}).number("context.cache.entries"), before);
}

} // namespace
} // namespace ort
