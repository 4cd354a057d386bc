// What a session tells of its nodes and of the sizes that it has seen.
#include <jansson.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "tests/executor_glue/session/small_model.h"

namespace {

using namespace lk::small;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Size {
  std::string part;
  int64_t rows; // of the first input
  uint32_t n_values;
  uint64_t builds, build_ns, longest_build_ns, last_build_ns, runs, bytes, run_plans;
};

class Statistics : public Session {
protected:
  std::vector<Size> sizes(uint64_t *lost = nullptr) {
    std::vector<Size> all;
    auto copy = [](void *arg, const lk_session_size *size) {
      static_cast<std::vector<Size> *>(arg)->push_back(
          {size->part, size->n_inputs > 0 ? size->inputs[0].dims[0] : -1, size->n_values,
           size->builds, size->build_ns, size->longest_build_ns, size->last_build_ns, size->runs,
           size->bytes, size->run_plans});
    };
    LK_EXPECT_OK(level2()->sizes_visit(session, copy, &all, lost, LK_ERR));
    return all;
  }
  lk_node_stats node_stats(uint32_t index) {
    lk_node_stats stats = {};
    stats.struct_size = sizeof stats;
    LK_EXPECT_OK(level2()->node_stats(session, index, &stats, LK_ERR));
    return stats;
  }
  // Of all nodes.
  uint64_t most_binds() {
    uint64_t most = 0;
    for (uint32_t i = 0; i < level2()->node_count(session); i++) {
      most = std::max(most, node_stats(i).binds);
    }
    return most;
  }
  void drop_run_plans() {
    LK_ASSERT_OK(api()->cache_clear(context, level2()->executor(session), LK_ERR));
  }
};

TEST_F(Statistics, CountBuildsAndRunsOfASize) {
  open();
  EXPECT_TRUE(sizes().empty());
  for (int i = 0; i < 3; i++) check(numbers(2, 0.1f));
  check(numbers(5, 0.2f));
  uint64_t lost = 99;
  auto all = sizes(&lost);
  EXPECT_EQ(lost, 0u);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].part, "run");
  EXPECT_EQ(all[0].rows, 2);
  EXPECT_EQ(all[0].runs, 3u);
  EXPECT_EQ(all[0].builds, 1u);
  EXPECT_EQ(all[0].run_plans, 1u);
  EXPECT_EQ(all[0].n_values, 0u);
  EXPECT_GT(all[0].bytes, 0u);
  EXPECT_GT(all[0].build_ns, 0u);
  EXPECT_EQ(all[0].longest_build_ns, all[0].build_ns);
  EXPECT_EQ(all[1].rows, 5);
  EXPECT_EQ(all[1].runs, 1u);
  EXPECT_GT(all[1].last_build_ns, all[0].last_build_ns);
}

TEST_F(Statistics, ShowWhatWasBuiltAgain) {
  open();
  check(numbers(2, 0.1f));
  check(numbers(2, 0.1f));
  drop_run_plans();
  EXPECT_EQ(sizes()[0].run_plans, 0u);
  EXPECT_EQ(sizes()[0].runs, 2u) << "of frames that have gone";
  check(numbers(2, 0.3f));
  const auto all = sizes();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].builds, 2u);
  EXPECT_EQ(all[0].run_plans, 1u);
  EXPECT_EQ(all[0].runs, 3u);
  EXPECT_GT(all[0].build_ns, all[0].longest_build_ns);
}

TEST_F(Statistics, TellWantedOutputsApart) {
  open();
  Floats x = numbers(2, 0.1f);
  std::vector<lk_named_tensor> outputs = {{"y", {}}};
  LK_ASSERT_OK(run({x_of(x)}, outputs));
  level2()->outputs_release(session, outputs.data(), 1);
  check(x);
  const auto all = sizes();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].n_values, 1u);
  EXPECT_EQ(all[1].n_values, 0u);
}

TEST_F(Statistics, CountRunsOfAllThreads) {
  constexpr int kThreads = 4, kRuns = 150; // no multiple of what frames hand over together
  open();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([this] {
      for (int i = 0; i < kRuns; i++) {
        check(numbers(3, 0.1f));
        if (i % 50 == 0) (void)sizes();
      }
    });
  }
  for (auto &thread : threads) thread.join();
  uint64_t runs = 0;
  for (const auto &size : sizes()) runs += size.runs;
  EXPECT_EQ(runs, uint64_t(kThreads * kRuns));
  EXPECT_EQ(runs, session_stats().runs);
}

TEST_F(Statistics, CountFailedRunsNowhere) {
  open();
  Floats x = numbers(2, 0.1f);
  std::vector<lk_named_tensor> outputs = {{"y", {}}};
  lk_named_tensor in = x_of(x);
  const int32_t cancel = 1;
  const lk_run_options options = lk::run_options(&cancel, 0);
  LK_EXPECT_STATUS(LK_CANCELLED,
                   level2()->run(session, &in, 1, outputs.data(), 1, &options, LK_ERR));
  for (const auto &size : sizes()) EXPECT_EQ(size.runs, 0u);
}

TEST_F(Statistics, CountBindsOfNodes) {
  open();
  EXPECT_EQ(most_binds(), 0u);
  check(numbers(2, 0.1f));
  check(numbers(2, 0.1f));
  EXPECT_EQ(most_binds(), 1u);
  check(numbers(5, 0.2f));
  uint64_t sum_ns = 0;
  for (uint32_t i = 0; i < level2()->node_count(session); i++) {
    const lk_node_stats stats = node_stats(i);
    EXPECT_EQ(stats.binds, 2u) << "all nodes are needed for the outputs";
    EXPECT_EQ(std::accumulate(stats.bind_times, stats.bind_times + LK_TIME_BUCKETS, UINT64_C(0)),
              stats.binds);
    EXPECT_LE(stats.longest_bind_ns, stats.bind_ns);
    EXPECT_GE(2 * stats.longest_bind_ns, stats.bind_ns);
    sum_ns += stats.bind_ns;
  }
  uint64_t build_ns = 0;
  for (const auto &size : sizes()) build_ns += size.build_ns;
  EXPECT_GT(sum_ns, 0u);
  EXPECT_LE(sum_ns, build_ns);
}

TEST_F(Statistics, OfWhatIsNotThereFail) {
  open();
  lk_node_stats stats = {};
  stats.struct_size = sizeof stats;
  const uint32_t count = level2()->node_count(session);
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, level2()->node_stats(session, count, &stats, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("node " + std::to_string(count)));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, level2()->node_stats(session, 0, nullptr, LK_ERR));
}

TEST_F(Statistics, AreNotCountedWithoutRunPlans) {
  open(-1);
  check(numbers(2, 0.1f));
  EXPECT_TRUE(sizes().empty());
  EXPECT_EQ(most_binds(), 0u);
}

TEST_F(Statistics, OfAClonesOwnRuns) {
  open();
  check(numbers(2, 0.1f));
  lk_session *clone = nullptr;
  LK_ASSERT_OK(level2()->clone(session, &clone, LK_ERR));
  std::swap(session, clone);
  EXPECT_TRUE(sizes().empty());
  std::swap(session, clone);
  level2()->close(clone);
  EXPECT_EQ(sizes().size(), 1u);
}

// Shapes follow from data in the middle: a part before that and one behind it.
TEST_F(Statistics, TellOfEachPart) {
  proto::Graph g;
  g.in("x").out("p", LK_I64, {"2", "K"});
  g.node(proto::node("Relu", {"x"}, {"r"}));
  g.node(proto::node("NonZero", {"r"}, {"n"}));
  g.node(proto::node("Neg", {"n"}, {"p"}));
  bytes = proto::model(g).bytes;
  open();
  Floats x = {1, -1, 2, -2};
  std::vector<lk_named_tensor> outputs = {{"p", {}}};
  LK_ASSERT_OK(run({x_of(x)}, outputs));
  EXPECT_EQ(outputs[0].tensor.desc.dims[1], 2);
  level2()->outputs_release(session, outputs.data(), 1);
  const auto all = sizes();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_THAT(all[0].part, StartsWith("run:"));
  EXPECT_NE(all[0].part, all[1].part);
  for (const auto &size : all) EXPECT_EQ(size.runs, 1u);
  uint64_t without = 0;
  for (uint32_t i = 0; i < level2()->node_count(session); i++) without += node_stats(i).binds == 0;
  EXPECT_EQ(without, 1u) << "NonZero runs alone";
}

TEST_F(Statistics, AsJsonHaveTheSameNumbers) {
  open();
  for (int i = 0; i < 3; i++) check(numbers(2, 0.1f));
  char *text = nullptr;
  LK_ASSERT_OK(level2()->report(session, &text, LK_ERR));
  const std::string json = text;
  level2()->report_release(session, text);
  level2()->report_release(session, nullptr);
  EXPECT_THAT(json, StartsWith("{\"schema\":\"latchkey-statistics-1\""));
  EXPECT_THAT(json, HasSubstr("\"runs\":3,\"parallel_runs\":0,\"run_plan_hits\":2"));
  EXPECT_THAT(json, HasSubstr("{\"name\":\"x\",\"dtype\":\"f32\",\"shape\":[2,4]}"));
}

TEST_F(Statistics, OfAContextAreThoseOfItsSessionsReport) {
  open();
  for (int i = 0; i < 3; i++) check(numbers(2, 0.1f));
  char *whole = nullptr, *part = nullptr;
  LK_ASSERT_OK(level2()->report(session, &whole, LK_ERR));
  LK_ASSERT_OK(level2()->context_report(context, &part, LK_ERR));
  json_t *both[2] = {json_loads(whole, 0, nullptr), json_loads(part, 0, nullptr)};
  level2()->report_release(session, whole);
  level2()->context_report_release(context, part);
  level2()->context_report_release(context, nullptr);
  EXPECT_EQ(json_object_get(both[1], "session"), nullptr);
  EXPECT_STREQ(json_string_value(json_object_get(both[1], "schema")), "latchkey-statistics-1");
  EXPECT_TRUE(json_is_object(json_object_get(both[1], "process")));
  json_t *contexts[2];
  for (int i = 0; i < 2; i++) {
    contexts[i] = json_object_get(both[i], "context");
    json_t *memory = json_object_get(contexts[i], "memory");
    // The text of the first report counted when the second one was asked for.
    for (const char *name : {"bytes", "peak_bytes", "allocations"}) json_object_del(memory, name);
    json_object_del(json_object_get(memory, "owners"), "other");
  }
  EXPECT_TRUE(json_equal(contexts[0], contexts[1]));
  for (json_t *each : both) json_decref(each);
}

TEST(ContextReport, NeedsNoSession) {
  char *text = nullptr;
  lk_context *context = nullptr;
  LK_ASSERT_OK(api()->context_create(nullptr, &context, LK_ERR));
  LK_ASSERT_OK(level2()->context_report(context, &text, LK_ERR));
  EXPECT_THAT(text, HasSubstr("\"arenas\":0"));
  level2()->context_report_release(context, text);
  api()->context_destroy(context);
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, level2()->context_report(nullptr, &text, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("context is NULL"));
  EXPECT_EQ(text, nullptr);
}

// Of jansson, whose memory is not the context's.
struct JsonMemory {
  static inline size_t until_failure = 0, live = 0; // 0: none fails
  static void *allocate(size_t size) {
    if (until_failure > 0 && --until_failure == 0) return nullptr;
    live++;
    return malloc(size);
  }
  static void release(void *block) {
    live -= block != nullptr;
    free(block);
  }
};

TEST_F(Statistics, AreWholeOrNotThere) {
  open();
  check(numbers(2, 0.1f));
  json_set_alloc_funcs(JsonMemory::allocate, JsonMemory::release);
  size_t failures = 0, tolerated = 0;
  for (;; failures++) {
    char *text = nullptr;
    JsonMemory::until_failure = failures + 1;
    const lk_status status = level2()->report(session, &text, LK_ERR);
    const bool has_failed = JsonMemory::until_failure == 0;
    JsonMemory::until_failure = 0;
    ASSERT_EQ(JsonMemory::live, 0u) << "leak when allocation " << failures + 1 << " fails";
    // A text that finds no memory is tried once more, as if it were no UTF-8.
    if (has_failed && status == LK_OK) tolerated++;
    if (status == LK_OK) {
      ASSERT_THAT(text, EndsWith("\"sizes_lost\":0}}")) << failures;
    } else {
      ASSERT_EQ(status, LK_OUT_OF_MEMORY) << failures;
      ASSERT_EQ(text, nullptr);
    }
    level2()->report_release(session, text);
    if (!has_failed) break;
  }
  json_set_alloc_funcs(malloc, free);
  EXPECT_GT(failures, 500u);
  EXPECT_LT(tolerated, failures / 4);
}

TEST(StatisticsFaults, OfAReportAreTold) {
  const std::string bytes = model_bytes();
  lk::fail_every_allocation([&](const lk::FailingAllocator &allocator) {
    lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
    options.allocator = *allocator.get();
    lk_context *context = nullptr;
    lk_session *session = nullptr;
    char *text = nullptr;
    lk_status status = api()->context_create(&options, &context, LK_ERR);
    if (status == LK_OK) {
      status =
          level2()->open_memory(context, bytes.data(), bytes.size(), nullptr, &session, LK_ERR);
    }
    if (status == LK_OK) status = level2()->report(session, &text, LK_ERR);
    EXPECT_EQ(text != nullptr, status == LK_OK);
    if (session != nullptr) level2()->report_release(session, text);
    if (status == LK_OK) {
      status = level2()->context_report(context, &text, LK_ERR);
      EXPECT_EQ(text != nullptr, status == LK_OK);
      level2()->context_report_release(context, text);
    }
    level2()->close(session);
    api()->context_destroy(context);
    return status;
  });
}

} // namespace
