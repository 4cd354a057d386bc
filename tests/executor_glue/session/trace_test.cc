// Traces of a session's runs: what the events are, where they lie, and what goes when there is no
// room.
#include <jansson.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "tests/executor_glue/session/small_model.h"

namespace {

using namespace lk::small;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void end_trace(lk_trace *trace) {
  level2()->trace_release(trace);
}
void end_json(json_t *value) {
  json_decref(value);
}
using Json = lk::Owned<json_t, end_json>;

struct Event {
  std::string phase, category, name;
  int64_t thread;
  double begin, length; // us
  std::map<std::string, std::string> args;

  double end() const { return begin + length; }
  bool is_within(const Event &other) const {
    // fractions of a microsecond are numbers of thousandths, which a double has nearly
    return other.begin <= begin + 1e-4 && end() <= other.end() + 1e-4;
  }
};

std::string text_of(const json_t *value) {
  if (json_is_string(value)) return json_string_value(value);
  std::ostringstream text;
  text << json_number_value(value);
  return text.str();
}

std::vector<Event> events_of(const std::string &text) {
  json_error_t error;
  const Json root(json_loads(text.c_str(), 0, &error));
  EXPECT_NE(root.get(), nullptr) << error.text << " in line " << error.line;
  EXPECT_STREQ(json_string_value(json_object_get(json_object_get(root, "otherData"), "schema")),
               "latchkey-trace-1");
  std::vector<Event> events;
  size_t i = 0;
  json_t *one = nullptr;
  json_array_foreach(json_object_get(root, "traceEvents"), i, one) {
    Event event;
    event.phase = json_string_value(json_object_get(one, "ph"));
    event.category = json_string_value(json_object_get(one, "cat"));
    event.name = json_string_value(json_object_get(one, "name"));
    event.thread = json_integer_value(json_object_get(one, "tid"));
    event.begin = json_number_value(json_object_get(one, "ts"));
    event.length = json_number_value(json_object_get(one, "dur"));
    EXPECT_EQ(json_integer_value(json_object_get(one, "pid")), getpid());
    const char *key = nullptr;
    json_t *value = nullptr;
    json_object_foreach(json_object_get(one, "args"), key, value) {
      event.args[key] = text_of(value);
    }
    events.push_back(event);
  }
  return events;
}

// Those of one name or category.
std::vector<Event> only(const std::vector<Event> &events, const std::string &what) {
  std::vector<Event> found;
  for (const Event &event : events) {
    if (event.name == what || event.category == what) found.push_back(event);
  }
  return found;
}

// What must hold of every trace: intervals of a thread lie within each other or apart.
void check_nesting(const std::vector<Event> &events) {
  std::map<int64_t, std::vector<const Event *>> open;
  for (const Event &event : events) {
    ASSERT_GE(event.length, 0);
    if (event.phase != "X") continue;
    auto &around = open[event.thread];
    while (!around.empty() && around.back()->end() <= event.begin + 1e-4) around.pop_back();
    if (!around.empty()) {
      EXPECT_TRUE(event.is_within(*around.back())) << event.name << " in " << around.back()->name;
    }
    around.push_back(&event);
  }
}

class Trace : public Session {
protected:
  void make(uint64_t events = 0) {
    const lk_trace_options options = {sizeof options, events};
    LK_ASSERT_OK(level2()->trace_create(context, &options, trace.out(), LK_ERR));
  }
  void open_traced(uint64_t events = 0) {
    open();
    make(events);
    level2()->trace_attach(session, trace);
  }
  std::string text() {
    char *made = nullptr;
    LK_EXPECT_OK(level2()->trace_text(trace, &made, LK_ERR));
    const std::string copy = made != nullptr ? made : "";
    level2()->trace_text_release(trace, made);
    return copy;
  }
  std::vector<Event> events() { return events_of(text()); }
  lk_trace_info info() {
    lk_trace_info now = {};
    now.struct_size = sizeof now;
    LK_EXPECT_OK(level2()->trace_info(trace, &now, LK_ERR));
    return now;
  }
  void TearDown() override {
    level2()->close(session);
    session = nullptr;
    trace.reset();
    Session::TearDown();
  }

  lk::Owned<lk_trace, end_trace> trace;
};

TEST_F(Trace, HasRunsAndTheirOperators) {
  open_traced();
  check(numbers(3, 0.1f));
  check(numbers(3, 0.2f));
  const std::vector<Event> all = events();
  check_nesting(all);
  const std::vector<Event> runs = only(all, "run"), executions = only(runs, "execute");
  ASSERT_EQ(executions.size(), 2u);
  ASSERT_EQ(runs.size(), 4u);
  for (const Event &run : only(runs, "run")) {
    if (run.name == "execute") continue;
    EXPECT_EQ(run.args.at("model"), "a model in memory");
    EXPECT_EQ(run.args.at("status"), "success");
  }
  for (const Event &execution : executions) {
    EXPECT_THAT(execution.args.at("inputs"), HasSubstr("x 3x4:f32"));
  }
  const std::vector<Event> operators = only(all, "operator");
  ASSERT_FALSE(operators.empty());
  size_t products = 0;
  for (const Event &one : operators) {
    const auto &around = executions[one.begin >= executions[1].begin ? 1 : 0];
    EXPECT_TRUE(one.is_within(around)) << one.name;
    EXPECT_EQ(one.args.at("run"), around.args.at("run"));
    if (one.args.at("kernel") != "matmul") continue;
    products++;
    EXPECT_THAT(one.name, HasSubstr("MatMul+"));
    EXPECT_EQ(one.args.at("node"), "multiply");
    EXPECT_EQ(one.args.at("output"), "y");
    EXPECT_THAT(one.args.at("tiles"), HasSubstr("in blocks of"));
    EXPECT_EQ(one.args.at("engine"), "native");
  }
  EXPECT_EQ(products, 2u);
}

TEST_F(Trace, HasABuildWithItsBindsForEachNewSize) {
  open_traced();
  for (const size_t rows : {3, 5, 3}) check(numbers(rows, 0.1f));
  const std::vector<Event> all = events(), builds = only(all, "build run plan");
  ASSERT_EQ(builds.size(), 2u);
  EXPECT_THAT(builds[1].args.at("inputs"), HasSubstr("5x4"));
  size_t within = 0;
  for (const Event &one : only(all, "build")) {
    if (one.name == "build run plan") continue;
    EXPECT_THAT(one.name, HasSubstr("bind "));
    for (const Event &build : builds) within += one.is_within(build);
  }
  EXPECT_GE(within, 2u * 3u) << "each lies in one";
  EXPECT_EQ(within + 2, only(all, "build").size());
  EXPECT_THAT(only(all, "wait for another thread's build"), IsEmpty());
}

TEST_F(Trace, ShowsThreadsAndMemory) {
  open_traced();
  check(numbers(3, 0.1f));
  const std::vector<Event> all = events();
  const std::vector<Event> names = only(all, "thread_name");
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(names[0].thread, gettid());
  EXPECT_FALSE(names[0].args.at("name").empty());
  EXPECT_EQ(only(all, "process_name").size(), 1u);
  const std::vector<Event> memory = only(all, "memory");
  ASSERT_EQ(memory.size(), 1u);
  EXPECT_GT(std::stod(memory[0].args.at("context_bytes")), 65536 * 64);
  EXPECT_EQ(only(all, "threads").size(), 1u);
  ASSERT_EQ(only(all, "cache").size(), 1u);
  EXPECT_EQ(only(all, "cache")[0].args.at("evictions"), "0");
}

TEST_F(Trace, CountsEvictions) {
  open_traced();
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 1, LK_UNSET, LK_ERR));
  for (size_t rows = 1; rows < 4; rows++) check(numbers(rows, 0.1f));
  std::this_thread::sleep_for(std::chrono::milliseconds(2)); // since the last look
  check(numbers(4, 0.1f));
  const std::vector<Event> cache = only(events(), "cache");
  ASSERT_FALSE(cache.empty());
  EXPECT_EQ(cache.back().args.at("entries"), "1");
  EXPECT_GE(std::stoi(cache.back().args.at("evictions")), 3);
  EXPECT_EQ(only(events(), "build run plan").size(), 4u);
}

// On the thread and at the time when a run has caused it: before its build needed the room.
TEST_F(Trace, HasEvictionsWithTheirKeys) {
  open_traced();
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 1, LK_UNSET, LK_ERR));
  for (size_t rows = 1; rows < 4; rows++) check(numbers(rows, 0.1f));
  LK_ASSERT_OK(api()->cache_clear(context, nullptr, LK_ERR)); // which evicts nothing
  const std::vector<Event> all = events(), dropped = only(all, "drop run plan");
  const std::vector<Event> moments = only(all, "evict run plan");
  ASSERT_EQ(moments.size(), 2u);
  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_EQ(dropped[0].phase, "i");
  EXPECT_THAT(dropped[0].args.at("key"), HasSubstr("tensor.input=3x4:f32"));
  const std::vector<Event> runs = only(all, "run");
  for (size_t i = 0; i < moments.size(); i++) {
    EXPECT_EQ(moments[i].phase, "i");
    EXPECT_THAT(moments[i].args.at("key"),
                HasSubstr("tensor.input=" + std::to_string(i + 1) + "x4:f32"));
    EXPECT_GT(std::stod(moments[i].args.at("bytes")), 500);
    EXPECT_EQ(moments[i].thread, gettid());
    const bool is_in_a_run = std::any_of(runs.begin(), runs.end(), [&](const Event &run) {
      return run.name == "run" && moments[i].is_within(run);
    });
    EXPECT_TRUE(is_in_a_run);
  }
}

TEST_F(Trace, HasTheKeysOfTheNewestEvictions) {
  open_traced(8);
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 0, LK_UNSET, LK_ERR));
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, LK_UNLIMITED, LK_UNSET, LK_ERR));
  level2()->trace_attach(session, nullptr);
  for (size_t rows = 1; rows < 21; rows++) check(numbers(rows, 0.1f));
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 0, LK_UNSET, LK_ERR));
  EXPECT_EQ(info().events, 8u);
  EXPECT_EQ(info().dropped, 12u);
  std::vector<std::string> keys;
  for (const Event &event : only(events(), "evict run plan")) keys.push_back(event.args.at("key"));
  ASSERT_EQ(keys.size(), 8u);
  for (const std::string &key : keys) EXPECT_THAT(key, HasSubstr("tensor.input="));
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 8u);
}

// What it has noted is memory that runs may need.
TEST_F(Trace, GivesWayToRunsWithoutMemory) {
  open_traced(4096);
  for (size_t rows = 1; rows < 60; rows++) check(numbers(rows, 0.1f));
  LK_ASSERT_OK(api()->memory_set_limit(context, stats().memory_bytes + 40000, LK_ERR));
  for (size_t rows = 1; rows < 200; rows++) check(numbers(rows, 0.1f));
  std::thread([&] { check(numbers(3, 0.1f)); }).join();
  LK_ASSERT_OK(api()->memory_set_limit(context, LK_UNLIMITED, LK_ERR));
  EXPECT_GT(info().dropped, 0u);
  EXPECT_GT(only(events(), "drop run plan").size(), 0u);
}

TEST_F(Trace, OfMoreThreadsThanItNamesHasTheNewest) {
  open_traced();
  for (int i = 0; i < 1100; i++) {
    std::thread([&] { check(numbers(3, 0.1f)); }).join();
  }
  const std::vector<Event> all = events();
  std::set<int64_t> named;
  for (const Event &event : only(all, "thread_name")) named.insert(event.thread);
  EXPECT_EQ(named.size(), 1024u);
  EXPECT_EQ(named.count(only(all, "run").back().thread), 1u); // counters have no thread
}

TEST_F(Trace, KeepsTheNewestAndCountsTheOthers) {
  open_traced(16);
  check(numbers(3, 0.1f));
  const uint64_t first = info().events + info().dropped;
  for (int i = 0; i < 10; i++) check(numbers(3, 0.1f));
  EXPECT_EQ(info().events, 16u);
  EXPECT_EQ(info().capacity, 16u);
  EXPECT_GT(info().dropped, 10 * 3u);
  EXPECT_GT(info().dropped + 16, first);
  const std::vector<Event> all = events();
  check_nesting(all);
  EXPECT_EQ(only(all, "build run plan").size(), 0u) << "it was the first to go";
  EXPECT_THAT(text(), HasSubstr("\"dropped_events\":" + std::to_string(info().dropped)));
  level2()->trace_clear(trace);
  EXPECT_EQ(info().events, 0u);
  EXPECT_EQ(info().dropped, 0u);
}

TEST_F(Trace, OfOneEventHasTheLast) {
  open_traced(1);
  check(numbers(3, 0.1f));
  EXPECT_EQ(info().events, 1u);
}

TEST_F(Trace, EndsWhenItIsDetached) {
  open_traced();
  check(numbers(3, 0.1f));
  const uint64_t before = info().events;
  level2()->trace_attach(session, nullptr);
  check(numbers(3, 0.1f));
  EXPECT_EQ(info().events, before);
  level2()->trace_attach(session, nullptr); // again changes nothing
  level2()->trace_attach(session, trace);
  check(numbers(3, 0.1f));
  EXPECT_GT(info().events, before);
}

TEST_F(Trace, OfOneRunIsAnOption) {
  open();
  make();
  Floats x = numbers(3, 0.1f);
  lk_named_tensor input = x_of(x);
  lk_named_tensor output = {"y", {}};
  lk_run_options options = lk::run_options(nullptr, 0);
  options.trace = trace;
  LK_ASSERT_OK(level2()->run(session, &input, 1, &output, 1, &options, LK_ERR));
  level2()->outputs_release(session, &output, 1);
  check(x);
  EXPECT_EQ(only(events(), "execute").size(), 1u);
}

TEST_F(Trace, TellsOfRunsThatFail) {
  open_traced();
  const volatile int32_t cancel = 1;
  Floats x = numbers(3, 0.1f);
  lk_named_tensor input = x_of(x);
  lk_named_tensor output = {"y", {}};
  lk_run_options options = lk::run_options(&cancel, 0);
  LK_EXPECT_STATUS(LK_CANCELLED, level2()->run(session, &input, 1, &output, 1, &options, LK_ERR));
  const std::vector<Event> all = events(), runs = only(all, "run");
  check_nesting(all);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].args.at("status"), "cancelled");
  EXPECT_THAT(only(all, "operator"), IsEmpty());
}

TEST_F(Trace, AndAProfileSeeTheSame) {
  open_traced();
  lk_profile *profile = nullptr;
  LK_ASSERT_OK(level2()->profile_create(nullptr, &profile, LK_ERR));
  Floats x = numbers(3, 0.1f);
  lk_named_tensor input = x_of(x);
  lk_named_tensor output = {"y", {}};
  const lk_run_options options = lk::run_options(nullptr, 0, profile);
  LK_EXPECT_OK(level2()->run(session, &input, 1, &output, 1, &options, LK_ERR));
  level2()->outputs_release(session, &output, 1);
  lk_profile_info sum = {};
  sum.struct_size = sizeof sum;
  LK_EXPECT_OK(level2()->profile_info(profile, &sum, LK_ERR));
  const std::vector<Event> all = events();
  ASSERT_EQ(only(all, "execute").size(), 1u);
  // Two nanoseconds less, so that its end is within the run's however viewers round.
  EXPECT_NEAR(only(all, "execute")[0].length * 1000 + 2, double(sum.execute_ns), 1);
  EXPECT_EQ(only(all, "operator").size(), sum.n_entries);
  level2()->profile_destroy(profile);
}

TEST_F(Trace, OfSeveralSessionsHasAll) {
  open_traced();
  lk_session *clone = nullptr;
  LK_ASSERT_OK(level2()->clone(session, &clone, LK_ERR));
  level2()->trace_attach(clone, trace);
  check(numbers(3, 0.1f));
  check_in(clone, numbers(3, 0.1f));
  level2()->close(clone); // what it noted stays
  EXPECT_EQ(only(events(), "execute").size(), 2u);
}

TEST_F(Trace, OutlivesItsSessionAndItsCallersReference) {
  open_traced();
  check(numbers(3, 0.1f));
  level2()->close(session);
  session = nullptr;
  EXPECT_EQ(only(events(), "execute").size(), 1u);
  open();
  level2()->trace_attach(session, trace);
  trace.reset(); // the session has one
  check(numbers(3, 0.1f));
}

TEST_F(Trace, OfManyThreadsIsWhole) {
  open_traced();
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 8; t++) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 20; i++) check(numbers(1 + (i + t) % 5, 0.1f));
    });
  }
  std::thread changes([&] {
    while (!ends) {
      level2()->trace_attach(session, nullptr);
      level2()->trace_attach(session, trace);
      (void)text();
    }
  });
  for (std::thread &thread : threads) thread.join();
  ends = true;
  changes.join();
  level2()->trace_clear(trace);
  threads.clear();
  for (size_t t = 0; t < 8; t++) {
    threads.emplace_back([&] {
      for (size_t i = 0; i < 5; i++) check(numbers(1 + i, 0.1f));
    });
  }
  for (std::thread &thread : threads) thread.join();
  const std::vector<Event> all = events();
  check_nesting(all);
  std::map<std::string, const Event *> executions; // by their run
  const std::vector<Event> executed = only(all, "execute");
  for (const Event &one : executed) executions[one.args.at("run")] = &one;
  EXPECT_EQ(executions.size(), 40u);
  for (const Event &one : only(all, "operator")) {
    const auto found = executions.find(one.args.at("run"));
    ASSERT_NE(found, executions.end());
    EXPECT_TRUE(one.is_within(*found->second));
    EXPECT_EQ(one.thread, found->second->thread);
  }
}

TEST_F(Trace, TellsOfAWaitForAPlace) {
  open_context();
  lk_session_options options = LK_SESSION_OPTIONS_INIT;
  options.max_runs = 1;
  LK_ASSERT_OK(
      level2()->open_memory(context, bytes.data(), bytes.size(), &options, &session, LK_ERR));
  make();
  level2()->trace_attach(session, trace);
  check(numbers(40000, 0.1f));
  // On a busy machine threads may run one after the other, and not wait.
  for (int round = 0; round < 200 && session_stats().waits == 0; round++) {
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; t++) {
      threads.emplace_back([&] {
        for (size_t i = 0; i < 5; i++) check(numbers(40000, 0.1f));
      });
    }
    for (std::thread &thread : threads) thread.join();
  }
  ASSERT_GT(session_stats().waits, 0u);
  const std::vector<Event> all = events();
  check_nesting(all);
  EXPECT_FALSE(only(all, "wait for other runs").empty());
}

// ---- memory ----

TEST_F(Trace, CountsForTheMemoryLimit) {
  open();
  const uint64_t before = stats().memory_bytes;
  make();
  EXPECT_GE(stats().memory_bytes, before + 65536 * 64);
  LK_ASSERT_OK(api()->memory_set_limit(context, stats().memory_bytes + 100000, LK_ERR));
  lk_trace *other = nullptr;
  LK_EXPECT_STATUS(LK_OUT_OF_MEMORY, level2()->trace_create(context, nullptr, &other, LK_ERR));
  EXPECT_EQ(other, nullptr);
  EXPECT_THAT(LK_MESSAGE, HasSubstr("bytes for the events of a trace"));
}

TEST_F(Trace, RefusesBadOptions) {
  open();
  lk_trace_options options = {sizeof options, (UINT64_C(1) << 26) + 1};
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, level2()->trace_create(context, &options, trace.out(), LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("67108865, 1 to 67108864"));
  options = {0, 1};
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   level2()->trace_create(context, &options, trace.out(), LK_ERR));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   level2()->trace_create(nullptr, nullptr, trace.out(), LK_ERR));
}

// A run does without events that have no memory, and never fails for them.
TEST_F(Trace, LosesEventsWithoutMemoryAndNoRuns) {
  open();
  check(numbers(3, 0.1f)); // the run plan is there: what allocates is the trace, and the outputs
  size_t n_lost = 0;
  for (size_t n = 1; n < 100; n++) {
    make(1000);
    level2()->trace_attach(session, trace);
    LK_ASSERT_OK(api()->cache_clear(context, nullptr, LK_ERR));
    check(numbers(3, 0.1f));
    level2()->trace_attach(session, nullptr);
    check(numbers(3, 0.1f));
    level2()->trace_clear(trace);
    level2()->trace_attach(session, trace);
    Floats x = numbers(3, 0.1f);
    Floats y(12);
    lk_named_tensor input = x_of(x);
    lk_named_tensor output = named("y", {3, 4}, y.data());
    allocator.fail_at(n);
    const lk_status status = level2()->run(session, &input, 1, &output, 1, nullptr, LK_ERR);
    const bool has_failed = allocator.failed();
    allocator.fail_never();
    if (status == LK_OK && has_failed) n_lost++;
    if (status == LK_OK) expect_near(y, expected_y(x));
    if (!has_failed) {
      EXPECT_EQ(status, LK_OK);
      EXPECT_GT(n, 1u);
      EXPECT_GT(n_lost, 0u);
      return;
    }
  }
  FAIL() << "does not come to an end";
}

TEST_F(Trace, WithoutMemoryForItsTextFails) {
  open_traced();
  check(numbers(3, 0.1f));
  for (size_t n = 1; n < 100; n++) {
    char *made = nullptr;
    allocator.fail_at(n);
    const lk_status status = level2()->trace_text(trace, &made, LK_ERR);
    const bool has_failed = allocator.failed();
    allocator.fail_never();
    ASSERT_EQ(status, has_failed ? LK_OUT_OF_MEMORY : LK_OK);
    level2()->trace_text_release(trace, made);
    if (!has_failed) return;
  }
  FAIL() << "does not come to an end";
}

// ---- files ----

class TraceFile : public Trace {
protected:
  void SetUp() override {
    folder = std::filesystem::path(::testing::TempDir()) / ("trace" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    open_traced();
    check(numbers(3, 0.1f));
  }
  void TearDown() override {
    std::filesystem::remove_all(folder);
    Trace::TearDown();
  }
  lk_status save(const std::string &path) {
    return level2()->trace_save(trace, path.c_str(), LK_ERR);
  }
  std::filesystem::path folder;
};

TEST_F(TraceFile, IsTheTextAndReplacesAnOlderOne) {
  const std::string path = folder / "trace.json";
  std::ofstream(path) << "old";
  LK_ASSERT_OK(save(path));
  std::ostringstream written;
  written << std::ifstream(path).rdbuf();
  const std::vector<Event> in_file = events_of(written.str());
  EXPECT_EQ(in_file.size(), events().size());
  EXPECT_FALSE(only(in_file, "operator").empty());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "nothing beside";
}

TEST_F(TraceFile, ThatCannotBeWrittenIsNamed) {
  const std::string path = folder / "none" / "trace.json";
  LK_EXPECT_STATUS(LK_IO, save(path));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to write a trace to '" + path + "': No such file"));
  LK_EXPECT_STATUS(LK_IO, save("/dev/full"));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("'/dev/full': No space left"));
  LK_EXPECT_STATUS(LK_IO, save(folder));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, level2()->trace_save(trace, nullptr, LK_ERR));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(TraceFile, MayBeAPipe) {
  LK_EXPECT_OK(save("/dev/null"));
}

// ---- fork ----

TEST_F(Trace, OfAChildBeginsEmpty) {
  open_traced();
  check(numbers(3, 0.1f));
  const pid_t child = fork();
  if (child == 0) {
    bool is_right = info().events == 0;
    check(numbers(3, 0.1f));
    is_right = is_right && only(events(), "execute").size() == 1 && !HasFailure();
    _exit(is_right ? 0 : 1);
  }
  int ended = -1;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(only(events(), "execute").size(), 1u);
}

} // namespace
