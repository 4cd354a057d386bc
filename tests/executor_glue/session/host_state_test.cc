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
