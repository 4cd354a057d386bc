// Options of the provider: each has its effect, and errors name the option and what is allowed.
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "tests/executor_glue/ort/models.h"
#include "tests/executor_glue/ort/session.h"
#include "tests/harness/folder.h"

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

namespace ort {
namespace {

class SessionOptions : public ::testing::Test {
protected:
  static Options with(const Entries &provider, int threads = 1) {
    Options options;
    options.provider = provider;
    options.threads = threads;
    return options;
  }
  static Inputs rows(int64_t n) { return {{"x", noise({n, 4}, uint32_t(n))}}; }

  // Runs with `n_shapes` shapes, one after the other, three times; what the session then says.
  Report after_runs(const Options &options, int64_t n_shapes = 4) {
    const Session session(host, model, options);
    EXPECT_EQ(session.error(), "");
    for (int64_t i = 0; i < 3 * n_shapes; i++) {
      EXPECT_EQ(session.run(rows(1 + i % n_shapes), {"y"}).error, "");
    }
    return session.report(rows(1), {"y"});
  }
  // Why a session with these options cannot be opened.
  std::string refusal(const Entries &provider) {
    return Session(host, model, with(provider)).error();
  }

  Host host;
  const std::string model = perceptron();
};

TEST_F(SessionOptions, SwitchTheCache) {
  const Report off = after_runs(with({{"cache", "off"}}));
  EXPECT_EQ(off.number("context.cache.entries"), 0);
  EXPECT_EQ(off.number("subgraphs.0.run_plan_hits"), 0);
  for (const char *mode : {"shared", "thread"}) {
    SCOPED_TRACE(mode);
    const Report on = after_runs(with({{"cache", mode}}));
    EXPECT_GT(on.number("context.cache.entries"), 0);
    EXPECT_EQ(on.number("subgraphs.0.runs"), 12);
    EXPECT_EQ(on.number("subgraphs.0.run_plan_hits"), 8);
    EXPECT_EQ(on.number("subgraphs.0.run_plan_builds"), 4);
  }
}

TEST_F(SessionOptions, LimitTheCache) {
  const Report few = after_runs(with({{"cache_entries", "3"}}));
  EXPECT_LE(few.number("context.cache.entries"), 3);
  EXPECT_GT(few.number("context.cache.kinds.run.evictions"), 0);
  const Report unlimited = after_runs(with({}));
  EXPECT_EQ(unlimited.number("context.cache.kinds.run.evictions"), 0);
  ASSERT_GT(unlimited.number("context.cache.bytes"), 4 * 1024);
  const Report small = after_runs(with({{"cache_bytes", "4k"}}));
  EXPECT_LE(small.number("context.cache.bytes"), 4 * 1024);
  EXPECT_GT(small.number("context.cache.kinds.run.evictions"), 0);
}

// Without a cache no plan holds on to a copy that was packed for another shape's layout, so it goes
// when it is too large.
TEST_F(SessionOptions, LimitTheWeights) {
  const auto packed = [&](const char *limit) {
    return after_runs(with({{"cache", "off"}, {"weights_bytes", limit}}))
        .number("context.weights.packed");
  };
  const json_int_t once = packed("64m");
  EXPECT_EQ(packed("2g"), once);
  EXPECT_GE(packed("1"), once);
  if (once > 2) { // some shapes want another layout of the two weights: so on AVX2 and AVX-512
    EXPECT_GT(packed("1"), once);
  }
}

TEST_F(SessionOptions, SetTheThreads) {
  EXPECT_EQ(after_runs(with({{"threads", "3"}})).number("context.threads"), 3);
  EXPECT_EQ(after_runs(with({{"threads", "1"}})).number("context.threads"), 1);
}

// What the session says to all its providers.
TEST_F(SessionOptions, TakeTheThreadsOfTheSession) {
  EXPECT_EQ(after_runs(with({}, 1)).number("context.threads"), 1);
  EXPECT_EQ(after_runs(with({}, 2)).number("context.threads"), 2);
  EXPECT_EQ(after_runs(with({}, 5)).number("context.threads"), 5);
  EXPECT_EQ(after_runs(with({{"threads", "3"}}, 2)).number("context.threads"), 3);
  EXPECT_GE(after_runs(with({}, 0)).number("context.threads"), 1);
}

// A team goes from run to run, and grows. It lives as long as a thread that has had one: this one.
TEST_F(SessionOptions, RunWithAsManyThreads) {
  const auto count = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  proto::Graph g;
  g.in("x", LK_F32, {"N", "256"}).out("y", LK_F32, {"N", "256"});
  g.init(weights("w", {256, 256}, 1));
  g.node(proto::node("MatMul", {"x", "w"}, {"h"})).node(proto::node("Relu", {"h"}, {"y"}));
  const std::string large = bytes_of(g);
  const auto started_by_a_run = [&](const Options &options) {
    const Session session(host, large, options);
    std::ptrdiff_t started = -1;
    std::thread([&] {
      const std::ptrdiff_t before = count();
      EXPECT_EQ(session.run({{"x", noise({256, 256}, 1)}}, {"y"}).error, "");
      started = count() - before;
    }).join();
    return started;
  };
  EXPECT_EQ(started_by_a_run(with({}, 1)), 0);
  EXPECT_EQ(Session(host, large, with({}, 9)).run({{"x", noise({256, 256}, 1)}}, {"y"}).error, "");
  EXPECT_EQ(started_by_a_run(with({}, 9)), 0);
  EXPECT_EQ(started_by_a_run(with({}, 11)), 2);
  EXPECT_EQ(started_by_a_run(with({{"threads", "12"}}, 3)), 1);
  EXPECT_EQ(started_by_a_run(with({{"threads", "2"}}, 3)), 0);
}

TEST_F(SessionOptions, DisablePasses) {
  const std::string image = classifier();
  const auto nodes = [&](const Entries &provider) {
    const Session session(host, image, with(provider));
    EXPECT_EQ(session.error(), "");
    return session.report({{"x", noise({1, 3, 8, 8}, 1)}}, {"y"}).size("subgraphs.0.nodes");
  };
  const size_t all = nodes({});
  EXPECT_EQ(all, 6u); // of nine: two Relu and an Add are post-ops
  EXPECT_EQ(nodes({{"disabled_passes", ""}}), 6u);
  EXPECT_EQ(nodes({{"disabled_passes", "activation, activation_after_residual"}}), 8u);
  EXPECT_EQ(nodes({{"disabled_passes", "activation,activation_after_residual,residual"}}), 9u);
  const Session session(host, image, with({{"disabled_passes", "no_such_pass"}}));
  EXPECT_THAT(session.error(), HasSubstr("no_such_pass"));
}

TEST_F(SessionOptions, WriteStatisticsToAFile) {
  const lk::Folder folder;
  const std::string path = folder.path() + "/statistics.json";
  {
    const Session session(host, model, with({{"statistics_file", path}}));
    for (int i = 0; i < 3; i++) EXPECT_EQ(session.run(rows(2), {"y"}).error, "");
    EXPECT_NE(access(path.c_str(), F_OK), 0); // when the session ends
  }
  const Report report(path);
  EXPECT_EQ(report.string("provider"), "LatchkeyExecutionProvider");
  EXPECT_EQ(report.number("claims.nodes"), 4);
  EXPECT_EQ(report.number("claims.claimed"), 4);
  EXPECT_EQ(report.number("subgraphs.0.runs"), 3);
}

TEST_F(SessionOptions, WriteATraceToAFile) {
  const lk::Folder folder;
  const std::string path = folder.path() + "/trace.json";
  {
    const Session session(host, model, with({{"trace_file", path}}));
    for (int i = 0; i < 3; i++) EXPECT_EQ(session.run(rows(2), {"y"}).error, "");
    EXPECT_NE(access(path.c_str(), F_OK), 0); // when the session ends
  }
  const Report report(path);
  EXPECT_EQ(report.string("otherData.schema"), "latchkey-trace-1");
  EXPECT_EQ(report.string("traceEvents.0.name"), "process_name");
}

TEST_F(SessionOptions, WarnThatATraceCannotBeWritten) {
  const std::string path = "/no/such/folder/trace.json";
  EXPECT_EQ(Session(host, model, with({{"trace_file", path}})).error(), "");
  EXPECT_EQ(host.lines(path).size(), 1u);
}

// Too late for a failure: the session is ending.
TEST_F(SessionOptions, WarnThatStatisticsCannotBeWritten) {
  const std::string path = "/no/such/folder/statistics.json";
  EXPECT_EQ(Session(host, model, with({{"statistics_file", path}})).error(), "");
  EXPECT_EQ(host.lines(path).size(), 1u);
}

TEST_F(SessionOptions, FailARunWhoseStatisticsCannotBeWritten) {
  const Session session(host, model);
  const std::string path = "/no/such/folder/statistics.json";
  const RunOptions options({{"latchkey.stats", path}});
  EXPECT_THAT(session.run(rows(2), {"y"}, &options).error,
              AllOf(HasSubstr(path), HasSubstr("No such file")));
  EXPECT_EQ(session.run(rows(2), {"y"}).error, "");
}

// Whoever can name a file in a run's options could overwrite any file of the process.
TEST_F(SessionOptions, AllowRunsToWriteStatistics) {
  const lk::Folder folder;
  const std::string path = folder.path() + "/precious";
  const RunOptions options({{"latchkey.stats", path}});
  for (const Entries &given : {Entries{{"run_statistics", "off"}}, Entries{}}) {
    Options by_default;
    by_default.run_statistics = false;
    by_default.provider = given;
    const Session session(host, model, by_default);
    EXPECT_THAT(session.run(rows(2), {"y"}, &options).error,
                AllOf(HasSubstr("failed to write statistics to '" + path + "'"),
                      HasSubstr("run_statistics=on")));
    EXPECT_NE(access(path.c_str(), F_OK), 0);
    EXPECT_EQ(session.run(rows(2), {"y"}).error, "");
  }
  const Session session(host, model, with({}));
  EXPECT_EQ(session.run(rows(2), {"y"}, &options).error, "");
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  EXPECT_THAT(refusal({{"run_statistics", "yes"}}),
              HasSubstr("it is 'yes', it must be one of off, on"));
}

TEST_F(SessionOptions, ComeAsEntriesOfTheSessionToo) {
  Options options;
  options.session = {{"ep.latchkeyexecutionprovider.threads", "4"},
                     {"ep.latchkeyexecutionprovider.cache", "off"}};
  const Report report = after_runs(options);
  EXPECT_EQ(report.number("context.threads"), 4);
  EXPECT_EQ(report.number("context.cache.entries"), 0);
  options.session = {{"ep.latchkeyexecutionprovider.treads", "4"}};
  EXPECT_THAT(Session(host, model, options).error(), HasSubstr("'treads'"));
  // Options of other providers are ignored.
  options.session = {{"ep.otherexecutionprovider.treads", "4"},
                     {"session.set_denormal_as_zero", "0"}};
  EXPECT_EQ(Session(host, model, options).error(), "");
}

TEST_F(SessionOptions, ThatThereAreNotAreNamed) {
  EXPECT_THAT(refusal({{"cache", "shared"}, {"cash", "shared"}}),
              AllOf(HasSubstr("'cash'"), HasSubstr("not one of cache, cache_bytes, ")));
  EXPECT_THAT(refusal({{"Threads", "2"}}), HasSubstr("'Threads'"));
  EXPECT_THAT(refusal({{std::string(900, 'o'), "2"}}), HasSubstr("'oooo"));
}

TEST_F(SessionOptions, WithBadValuesAreNamedAndSayWhatIsAllowed) {
  const struct {
    const char *option, *value, *allowed;
  } cases[] = {
      {.option = "cache", .value = "on", .allowed = "off, thread, shared"},
      {.option = "cache", .value = "", .allowed = "off, thread, shared"},
      {.option = "claim", .value = "everything", .allowed = "gains, all"},
      {.option = "cache_entries", .value = "-1", .allowed = "a number"},
      {.option = "cache_entries", .value = "10k", .allowed = "a number"},
      {.option = "cache_entries", .value = "99999999999999999999999", .allowed = "a number"},
      {.option = "cache_bytes", .value = "lots", .allowed = "a number of bytes"},
      {.option = "cache_bytes", .value = "1t", .allowed = "a number of bytes"},
      {.option = "weights_bytes", .value = "1.5g", .allowed = "a number of bytes"},
      {.option = "threads", .value = "0", .allowed = "1 to 1024"},
      {.option = "threads", .value = "1025", .allowed = "1 to 1024"},
      {.option = "threads", .value = "two", .allowed = "1 to 1024"},
      {.option = "precision", .value = "bf16", .allowed = "f32"},
      {.option = "log_level", .value = "verbose", .allowed = "off, warning, info, debug"},
      {.option = "engine", .value = "", .allowed = "the name of an engine"},
  };
  for (const auto &c : cases) {
    EXPECT_THAT(refusal({{c.option, c.value}}),
                AllOf(HasSubstr("'" + std::string(c.option) + "'"),
                      HasSubstr("'" + std::string(c.value) + "'"), HasSubstr(c.allowed)));
  }
  std::string passes = "p0";
  for (int i = 1; i < 40; i++) passes += ",p" + std::to_string(i);
  EXPECT_THAT(refusal({{"disabled_passes", passes}}), HasSubstr("at most 32"));
  EXPECT_EQ(refusal({{"precision", "f32"}}), "");
}

// Without oneDNN's module, `auto` is native.
TEST_F(SessionOptions, ChooseAnEngine) {
  const Session session(host, model, with({{"engine", "auto"}}));
  EXPECT_EQ(session.error(), "");
  EXPECT_EQ(session.run(rows(3), {"y"}).error, "");
  EXPECT_THAT(session.report(rows(1), {"y"}).string("context.engine.name"),
              AnyOf("auto", "native"));
}

// One that is a module, or that there is none of: the context looks for it.
TEST_F(SessionOptions, NameAnyEngine) {
  EXPECT_THAT(refusal({{"engine", "nosuch"}}),
              AllOf(HasSubstr("engine 'nosuch'"), HasSubstr("liblatchkey_nosuch.so")));
  EXPECT_THAT(refusal({{"engine", "no/such"}}), HasSubstr("engine 'no/such'"));
}

// By its name, in whatever memory that is.
TEST_F(SessionOptions, OfEqualEnginesShareAContext) {
  const auto shared_with = [&](const std::string &engine) {
    const Session first(host, model, with({{"engine", engine}}));
    const Session second(host, model, with({{"engine", "native"}}));
    EXPECT_EQ(first.error() + second.error(), "");
    EXPECT_EQ(first.run(rows(3), {"y"}).error, "");
    EXPECT_EQ(second.run(rows(3), {"y"}).error, "");
    return second.report(rows(1), {"y"}).number("context.weights.shared");
  };
  EXPECT_GT(shared_with("native"), shared_with("auto"));
}

// Two sessions have one context where they name the same file, in whatever memory the name is.
TEST_F(SessionOptions, ReadATuningFile) {
  const lk::Folder folder;
  const std::string damaged = "# latchkey tuning 1\ndamaged\n";
  const std::string one = folder.write("one", damaged), two = folder.write("two", damaged);
  const auto shared_with = [&](const std::string &file) {
    const Session first(host, model, with({{"tuning", file}}));
    const Session second(host, model, with({{"tuning", one}}));
    EXPECT_EQ(first.error() + second.error(), "");
    EXPECT_EQ(first.run(rows(3), {"y"}).error, "");
    EXPECT_EQ(second.run(rows(3), {"y"}).error, "");
    return second.report(rows(1), {"y"}).number("context.weights.shared");
  };
  EXPECT_GT(shared_with(one), shared_with(two));
  EXPECT_EQ(after_runs(with({{"tuning", one}})).number("context.engine.tuning_skipped"), 1);
  const std::string nosuch = folder.path() + "/nosuch";
  EXPECT_THAT(refusal({{"tuning", nosuch}}), AllOf(HasSubstr(nosuch), HasSubstr("tuning file")));
}

// Latchkey says what a context was made with. (ONNX Runtime has one environment in a process, with
// one log, so this host is alone in its process.)
TEST(SessionLog, HasAsMuchOfLatchkeyAsTheOptionSays) {
  proto::Graph g;
  g.in("x", LK_F32, {"N", "4"}).out("y", LK_F32, {"N", "4"});
  g.node(proto::node("Exp", {"x"}, {"y"}));
  const std::string model = bytes_of(g);
  Host host(true, ORT_LOGGING_LEVEL_INFO);
  size_t threads = 1; // each session has a context of its own
  const auto said = [&](const char *level) {
    const size_t before = host.lines("context of").size();
    Options options;
    options.provider = {{"log_level", level}, {"threads", std::to_string(++threads)}};
    const Session session(host, model, options);
    EXPECT_EQ(session.run({{"x", noise({2, 4}, 1)}}, {"y"}).error, "");
    return host.lines("context of").size() - before;
  };
  EXPECT_EQ(said("off"), 0u);
  EXPECT_EQ(said("warning"), 0u);
  EXPECT_EQ(said("info"), 1u);
  EXPECT_EQ(said("debug"), 1u);
}

} // namespace
} // namespace ort
