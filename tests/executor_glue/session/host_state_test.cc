// What a host has set for its thread, floating point and OpenMP, neither changes a result nor is
// changed.
#include <dlfcn.h>
#include <latchkey/session.h>

#include <cfenv>
#include <functional>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "tests/executor_glue/session/small_model.h"
#include "tests/harness/folder.h"

namespace {

using lk::small::api;
using lk::small::Floats;
using lk::small::level2;
using lk::small::spread;

constexpr int64_t kRows = 64, kWidth = 256; // enough to use threads

// y = tenths(x w), where tenths are folded from 1 and 10; d = x w times a number so small that
// products are denormal; g = rows of y by indices.
std::string model_bytes() {
  proto::Graph g;
  const std::string rows = std::to_string(kRows), width = std::to_string(kWidth);
  g.in("x", LK_F32, {rows, width}).in("i", LK_I64, {"1"});
  g.out("y", LK_F32, {rows, width}).out("d", LK_F32, {rows, width}).out("g", LK_F32, {"1", width});
  const auto floats = [&](const char *name, const std::vector<int64_t> &dims,
                          const Floats &values) {
    g.init(proto::tensor(name, LK_F32, dims, proto::kRawData, proto::raw(values)));
  };
  floats("w", {kWidth, kWidth}, spread(kWidth * kWidth, 0.3f));
  floats("one", {kWidth}, Floats(kWidth, 1));
  floats("ten", {kWidth}, Floats(kWidth, 10));
  floats("tiny", {kWidth}, Floats(kWidth, 1e-38f));
  g.node(proto::node("Div", {"one", "ten"}, {"tenth"}));
  g.node(proto::node("MatMul", {"x", "w"}, {"h"}));
  g.node(proto::node("Mul", {"h", "tenth"}, {"y"}));
  g.node(proto::node("Mul", {"h", "tiny"}, {"d"}));
  g.node(proto::node("Gather", {"y", "i"}, {"g"}));
  return proto::model(g).bytes;
}

// Opens, runs, closes: all that may compute.
lk_status run(int32_t threads, int64_t index, bool cancelled, std::vector<Floats> *out) {
  static const std::string bytes = model_bytes();
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.threads = threads;
  lk_context *context = nullptr;
  lk_session *session = nullptr;
  static Floats x = spread(kRows * kWidth, 1); // before anything is set
  lk_status status = api()->context_create(&options, &context, LK_ERR);
  if (status == LK_OK) {
    status = level2()->open_memory(context, bytes.data(), bytes.size(), nullptr, &session, LK_ERR);
  }
  const volatile int32_t cancel = cancelled ? 1 : 0;
  const lk_run_options run_options = lk::run_options(&cancel, 0);
  const lk_named_tensor inputs[] = {
      {"x", {{LK_F32, 2, LK_LAYOUT_PLAIN, 0, {kRows, kWidth}}, x.data()}},
      {"i", {{LK_I64, 1, LK_LAYOUT_PLAIN, 0, {1}}, &index}}};
  out->assign({Floats(kRows * kWidth), Floats(kRows * kWidth), Floats(kWidth)});
  lk_named_tensor outputs[] = {
      {"y", {{LK_F32, 2, LK_LAYOUT_PLAIN, 0, {kRows, kWidth}}, (*out)[0].data()}},
      {"d", {{LK_F32, 2, LK_LAYOUT_PLAIN, 0, {kRows, kWidth}}, (*out)[1].data()}},
      {"g", {{LK_F32, 2, LK_LAYOUT_PLAIN, 0, {1, kWidth}}, (*out)[2].data()}}};
  if (status == LK_OK) {
    status = level2()->run(session, inputs, 2, outputs, 3, &run_options, LK_ERR);
  }
  level2()->close(session);
  api()->context_destroy(context);
  return status;
}

struct Setting {
  const char *name;
  std::function<void()> set;
};

std::vector<Setting> settings() {
  std::vector<Setting> all = {
      {.name = "upward", .set = [] { fesetround(FE_UPWARD); }},
      {.name = "downward", .set = [] { fesetround(FE_DOWNWARD); }},
      {.name = "toward zero", .set = [] { fesetround(FE_TOWARDZERO); }},
      {.name = "exceptions seen", .set = [] { feraiseexcept(FE_DIVBYZERO); }}};
#if defined(__x86_64__)
  all.push_back({.name = "denormals flushed", .set = [] { _mm_setcsr(_mm_getcsr() | 0x8040); }});
  all.push_back({.name = "trap for denormals", .set = [] { _mm_setcsr(_mm_getcsr() & ~0x100u); }});
#endif
  return all;
}

// All that the control word has, and the exceptions seen.
std::vector<unsigned> state() {
  std::vector<unsigned> now = {unsigned(fegetround()), unsigned(fetestexcept(FE_ALL_EXCEPT))};
#if defined(__x86_64__)
  now.push_back(_mm_getcsr());
#endif
  return now;
}

bool same(const std::vector<Floats> &a, const std::vector<Floats> &b) {
  for (size_t i = 0; i < a.size(); i++) {
    if (memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)) != 0) return false;
  }
  return true;
}

class HostState : public ::testing::TestWithParam<int32_t> {};

TEST_P(HostState, OfFloatingPointIsNotUsedAndNotChanged) {
  std::vector<Floats> plain, got;
  LK_ASSERT_OK(run(GetParam(), 3, false, &plain));
  size_t n_denormal = 0;
  for (float d : plain[1]) n_denormal += d != 0 && std::abs(d) < 1.17549435e-38f;
  EXPECT_GT(n_denormal, 1000u) << "the model shows nothing";
  for (const Setting &setting : settings()) {
    SCOPED_TRACE(setting.name);
    fenv_t clean;
    fegetenv(&clean);
    feclearexcept(FE_ALL_EXCEPT);
    setting.set();
    const auto before = state();
    const lk_status status = run(GetParam(), 3, false, &got);
    const auto after = state();
    const lk_status failed = run(GetParam(), kRows, false, &got), // after operators that computed
        cancelled = run(GetParam(), 3, true, &got);
    const auto last = state();
    const lk_status again = run(GetParam(), 3, false, &got);
    fesetenv(&clean);
    EXPECT_EQ(status, LK_OK);
    EXPECT_EQ(failed, LK_OUT_OF_RANGE);
    EXPECT_EQ(cancelled, LK_CANCELLED);
    EXPECT_EQ(again, LK_OK);
    EXPECT_EQ(after, before);
    EXPECT_EQ(last, before);
    EXPECT_TRUE(same(got, plain));
  }
}

// A call of each function that opens, runs, asks or shows, with the state before and behind it.
class Calls {
public:
  template <typename Call> void operator()(const char *name, Call call) {
    const auto before = state();
    const lk_status status = call();
    if (state() != before) changed += std::string(" ") + name;
    if (status != LK_OK) failed += std::string(" ") + name;
  }
  std::string changed, failed;
};

void call_all(int32_t threads, const std::string &file, Calls *calls) {
  Calls &call = *calls;
  const lk_session_api *s = level2();
  static const std::string bytes = model_bytes();
  static Floats x = spread(kRows * kWidth, 1);
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.threads = threads;
  lk_context *context = nullptr;
  lk_session *session = nullptr, *twin = nullptr;
  lk_profile *profile = nullptr;
  lk_trace *trace = nullptr;
  char *text = nullptr;
  int64_t index = 3;
  const lk_named_tensor inputs[] = {
      {"x", {{LK_F32, 2, LK_LAYOUT_PLAIN, 0, {kRows, kWidth}}, x.data()}},
      {"i", {{LK_I64, 1, LK_LAYOUT_PLAIN, 0, {1}}, &index}}};
  const auto run = [&](lk_session *which) {
    lk_named_tensor outputs[] = {{"y", {}}, {"g", {}}};
    const lk_run_options run_options = lk::run_options(nullptr, 0, profile);
    const lk_status status = s->run(which, inputs, 2, outputs, 2, &run_options, nullptr);
    s->outputs_release(which, outputs, 2);
    return status;
  };
  call("context_create", [&] { return api()->context_create(&options, &context, nullptr); });
  call("open_memory", [&] {
    return s->open_memory(context, bytes.data(), bytes.size(), nullptr, &session, nullptr);
  });
  call("run", [&] { return run(session); });
  call("clone", [&] { return s->clone(session, &twin, nullptr); });
  call("trace_create", [&] { return s->trace_create(context, nullptr, &trace, nullptr); });
  s->trace_attach(session, trace);
  call("profile_create", [&] { return s->profile_create(nullptr, &profile, nullptr); });
  call("run that is watched", [&] { return run(session); });
  call("run of a clone", [&] { return run(twin); });
  call("stats", [&] {
    lk_session_stats stats = {};
    stats.struct_size = sizeof stats;
    return s->stats(session, &stats, nullptr);
  });
  call("cache_stats", [&] {
    lk_stats stats = {};
    stats.struct_size = sizeof stats;
    return api()->cache_stats(context, nullptr, &stats, nullptr);
  });
  call("profile_info", [&] {
    lk_profile_info info = {};
    info.struct_size = sizeof info;
    return s->profile_info(profile, &info, nullptr);
  });
  call("profile_entry", [&] {
    lk_profile_entry entry = {};
    entry.struct_size = sizeof entry;
    return s->profile_entry(profile, 0, &entry, nullptr);
  });
  for (uint32_t i = 0; i < s->node_count(session); i++) {
    call("node_stats", [&] {
      lk_node_stats stats = {};
      stats.struct_size = sizeof stats;
      return s->node_stats(session, i, &stats, nullptr);
    });
  }
  call("sizes_visit", [&] {
    return s->sizes_visit(
        session, [](void *, const lk_session_size *) {}, nullptr, nullptr, nullptr);
  });
  call("refusals_visit", [&] {
    return s->refusals_visit(
        session, [](void *, const lk_session_refusal *) {}, nullptr, nullptr);
  });
  call("report", [&] { return s->report(session, &text, nullptr); });
  s->report_release(session, text);
  call("context_report", [&] { return s->context_report(context, &text, nullptr); });
  s->context_report_release(context, text);
  call("trace_info", [&] {
    lk_trace_info info = {};
    info.struct_size = sizeof info;
    return s->trace_info(trace, &info, nullptr);
  });
  call("trace_save", [&] { return s->trace_save(trace, file.c_str(), nullptr); });
  call("trace_text", [&] { return s->trace_text(trace, &text, nullptr); });
  s->trace_text_release(trace, text);
  call("cache_clear", [&] { return api()->cache_clear(context, nullptr, nullptr); });
  call("tensor_convert", [&] {
    Floats to(x.size());
    lk_tensor from = {{LK_F32, 4, LK_LAYOUT_PLAIN, 0, {1, kRows, kWidth, 1}}, x.data()},
              other = from;
    other.desc.layout = LK_LAYOUT_CHANNELS_LAST;
    other.data = to.data();
    return api()->tensor_convert(&from, &other, nullptr);
  });
  call("the end", [&] {
    s->trace_release(trace);
    s->profile_destroy(profile);
    s->close(twin);
    s->close(session);
    api()->context_destroy(context);
    return LK_OK;
  });
}

TEST_P(HostState, OfFloatingPointIsLeftByEachFunction) {
  const lk::Folder folder;
  for (const Setting &setting : settings()) {
    SCOPED_TRACE(setting.name);
    Calls calls;
    fenv_t clean;
    fegetenv(&clean);
    feclearexcept(FE_ALL_EXCEPT);
    setting.set();
    call_all(GetParam(), folder.path() + "/trace.json", &calls);
    fesetenv(&clean);
    EXPECT_EQ(calls.changed, "");
    EXPECT_EQ(calls.failed, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, HostState, ::testing::Values(1, 2));

// The host's OpenMP is libgomp.
TEST(HostOpenMP, KeepsItsNumberOfThreads) {
  void *library = dlopen("libgomp.so.1", RTLD_NOW);
  if (library == nullptr) GTEST_SKIP() << dlerror();
  const auto get = reinterpret_cast<int (*)()>(dlsym(library, "omp_get_max_threads"));
  const auto set = reinterpret_cast<void (*)(int)>(dlsym(library, "omp_set_num_threads"));
  ASSERT_TRUE(get != nullptr && set != nullptr);
  const int before = get();
  std::vector<Floats> got;
  for (int threads : {1, 5}) {
    set(threads);
    for (bool cancelled : {false, true}) {
      EXPECT_EQ(run(2, 3, cancelled, &got), cancelled ? LK_CANCELLED : LK_OK);
      EXPECT_EQ(get(), threads);
    }
    EXPECT_EQ(run(2, kRows, false, &got), LK_OUT_OF_RANGE);
    EXPECT_EQ(get(), threads);
  }
  set(before);
}

} // namespace
