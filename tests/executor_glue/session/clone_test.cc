// Clones of a session: what they share, what they do not, and in which order all of it may end.
#include <atomic>
#include <cstdio>
#include <thread>

#include "tests/executor_glue/session/small_model.h"
#include "tests/harness/folder.h"

namespace {

using namespace lk::small;
using ::testing::HasSubstr;

void close_session(lk_session *session) {
  level2()->close(session);
}
using Owner = lk::Owned<lk_session, close_session>;

class Clone : public Session, public ::testing::WithParamInterface<uint32_t> {
protected:
  Owner clone(lk_session *of) {
    Owner made;
    LK_EXPECT_OK(level2()->clone(of, made.out(), LK_ERR));
    return made;
  }
  Owner clone() { return clone(session); }
};
INSTANTIATE_TEST_SUITE_P(Modes, Clone, ::testing::Values(LK_CACHE_SHARED, LK_CACHE_THREAD),
                         [](const auto &info) {
                           return info.param == LK_CACHE_SHARED ? "shared" : "thread";
                         });

class CloneErrors : public Session {};

TEST_P(Clone, SharesWeightsAndNothingElse) {
  open_context(GetParam());
  open();
  check(numbers(3, 0.5f));
  const lk_stats before = stats();
  const lk_session_stats of_original = session_stats();
  const Owner other = clone();
  EXPECT_EQ(stats_in(other).runs, 0u);
  EXPECT_EQ(stats_in(other).nodes_in_file, of_original.nodes_in_file);
  EXPECT_EQ(stats_in(other).weights_bytes, of_original.weights_bytes);
  EXPECT_EQ(level2()->node_count(other), level2()->node_count(session));
  lk_executor *const mine = level2()->executor(session), *const its = level2()->executor(other);
  ASSERT_NE(mine, its);
  EXPECT_EQ(stats(its).entries, 0u);

  check_in(other, numbers(3, 0.7f));
  const lk_stats after = stats();
  EXPECT_EQ(after.weights_packed, before.weights_packed);
  EXPECT_EQ(after.weights_bytes, before.weights_bytes);
  EXPECT_EQ(after.kind[LK_KIND_RUN].builds, before.kind[LK_KIND_RUN].builds + 1);
  EXPECT_EQ(session_stats().runs, of_original.runs);
  EXPECT_EQ(stats_in(other).run_plan_builds, 1u);

  LK_ASSERT_OK(api()->cache_clear(context, mine, LK_ERR)); // nobody else's
  check_in(other, numbers(3, 0.9f));
  EXPECT_EQ(stats_in(other).run_plan_hits, 1u);
}

TEST_P(Clone, HasTheOptionsOfItsOriginal) {
  open_context(GetParam());
  const char *const off[] = {"activation", "constants"};
  lk_session_options options = LK_SESSION_OPTIONS_INIT;
  options.disabled_passes = off;
  options.n_disabled_passes = 2;
  options.run_plans = -1;
  {
    const std::string name = "x[0]"; // the session has a copy
    const lk_fixed_dim rows = {name.c_str(), 2};
    options.fixed_dims = &rows;
    options.n_fixed_dims = 1;
    LK_ASSERT_OK(
        level2()->open_memory(context, bytes.data(), bytes.size(), &options, &session, LK_ERR));
  }
  const Owner first = clone(), second = clone(first);
  for (lk_session *made : {first.get(), second.get()}) {
    for (uint32_t i = 0; i < level2()->pass_count(made); i++) {
      lk_session_pass mine = {}, its = {};
      mine.struct_size = its.struct_size = sizeof mine;
      LK_ASSERT_OK(level2()->pass_info(session, i, &mine, LK_ERR));
      LK_ASSERT_OK(level2()->pass_info(made, i, &its, LK_ERR));
      EXPECT_EQ(mine.enabled, its.enabled) << mine.name;
      EXPECT_EQ(mine.changes, its.changes) << mine.name;
    }
    EXPECT_EQ(level2()->node_count(made), level2()->node_count(session));
    lk_value_info x = {};
    x.struct_size = sizeof x;
    LK_ASSERT_OK(level2()->input_info(made, 0, &x, LK_ERR));
    EXPECT_EQ(x.dims[0], 2);
    check_in(made, numbers(2, 0.5f));
  }
  EXPECT_EQ(stats().kind[LK_KIND_RUN].builds, 0u);
}

TEST_P(Clone, KeepsTheLimitOfFolding) {
  bytes = zeros_model_bytes();
  open_context(GetParam());
  lk_session_options options = LK_SESSION_OPTIONS_INIT;
  options.max_folded_bytes = 15;
  LK_ASSERT_OK(
      level2()->open_memory(context, bytes.data(), bytes.size(), &options, &session, LK_ERR));
  EXPECT_EQ(level2()->node_count(session), 2u);
  EXPECT_EQ(level2()->node_count(clone()), 2u);
}

// The model in a file, its weights in another one beside it.
std::string in_two_files(const lk::Folder &folder, float weight) {
  proto::Graph g;
  g.in("x").out("y");
  g.init(proto::external("w", LK_F32, {4}, {{"location", "w.bin"}}));
  g.node(proto::node("Mul", {"x", "w"}, {"y"}));
  folder.write("w.bin", proto::raw(Floats(4, weight)));
  return folder.write("m.onnx", proto::model(g).bytes);
}

TEST_P(Clone, IsOfTheModelThatWasOpenedAlthoughTheFilesWereReplaced) {
  open_context(GetParam());
  const lk::Folder folder, other;
  const std::string path = in_two_files(folder, 3), weights = folder.path() + "/w.bin";
  LK_ASSERT_OK(level2()->open(context, path.c_str(), nullptr, &session, LK_ERR));
  ASSERT_EQ(std::rename(in_two_files(other, 5).c_str(), path.c_str()), 0);
  ASSERT_EQ(std::rename((other.path() + "/w.bin").c_str(), weights.c_str()), 0);
  Floats x = numbers(2, 0.5f);
  const auto expect_times = [&](lk_session *which, float weight) {
    std::vector<lk_named_tensor> outputs = {{"y", {}}};
    LK_ASSERT_OK(run_in(which, {x_of(x)}, outputs));
    Floats wanted = x;
    for (float &value : wanted) value *= weight;
    expect_near(elements(outputs[0]), wanted);
    level2()->outputs_release(which, outputs.data(), 1);
  };
  expect_times(clone(), 3);
  Owner anew;
  LK_ASSERT_OK(level2()->open(context, path.c_str(), nullptr, anew.out(), LK_ERR));
  expect_times(anew, 5);
  ASSERT_EQ(std::remove(path.c_str()), 0);
  ASSERT_EQ(std::remove(weights.c_str()), 0);
  Owner last = clone();
  level2()->close(session);
  session = nullptr;
  expect_times(last, 3);
  expect_times(clone(last), 3);
}

TEST_P(Clone, EndsInAnyOrder) {
  open_context(GetParam());
  for (int first = 0; first < 3; first++) {
    Owner sessions[3];
    LK_ASSERT_OK(level2()->open_memory(context, bytes.data(), bytes.size(), nullptr,
                                       sessions[0].out(), LK_ERR));
    sessions[1] = clone(sessions[0]);
    sessions[2] = clone(sessions[1]);
    for (const Owner &each : sessions) check_in(each, numbers(3, 0.2f));
    for (int i = 0; i < 3; i++) {
      sessions[(first + i) % 3].reset();
      for (const Owner &each : sessions) {
        if (each.get() != nullptr) check_in(each, numbers(3, 0.4f)), check_in(each, numbers(5, 1));
      }
    }
    EXPECT_EQ(stats().kind[LK_KIND_RUN].entries, 0u);
    EXPECT_EQ(stats().weights_entries, 0u);
  }
}

TEST_P(Clone, IsMadeWhileOthersRunAndClone) {
  open_context(GetParam());
  open();
  std::atomic<int> running{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; !done || i < 3; i++) {
        check(numbers(size_t(1 + (i + t) % 4), float(t)));
        running++;
      }
    });
  }
  while (running < 2) std::this_thread::yield();
  std::vector<std::thread> makers;
  for (int t = 0; t < 2; t++) {
    makers.emplace_back([&, t] {
      for (int i = 0; i < 15; i++) {
        const Owner made = clone();
        check_in(made, numbers(size_t(1 + i % 4), float(t)));
      }
    });
  }
  for (auto &maker : makers) maker.join();
  done = true;
  for (auto &thread : threads) thread.join();
}

TEST_F(CloneErrors, NothingToClone) {
  lk_session *none = reinterpret_cast<lk_session *>(1);
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, level2()->clone(nullptr, &none, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to call clone"));
  EXPECT_EQ(none, nullptr);
}

TEST_F(CloneErrors, SurvivesEveryFailedAllocation) {
  open_context();
  const lk::Folder folder;
  const std::string path = in_two_files(folder, 3);
  for (const bool file : {false, true}) {
    Owner original, made;
    if (file) {
      LK_ASSERT_OK(level2()->open(context, path.c_str(), nullptr, original.out(), LK_ERR));
    } else {
      LK_ASSERT_OK(level2()->open_memory(context, bytes.data(), bytes.size(), nullptr,
                                         original.out(), LK_ERR));
    }
    for (size_t n = 1;; n++) {
      allocator.fail_at(n);
      const lk_status status = level2()->clone(original, made.out(), LK_ERR);
      allocator.fail_never();
      lk::test_error().passed = false;
      if (status == LK_OK) break;
      ASSERT_EQ(status, LK_OUT_OF_MEMORY) << "allocation " << n << ": " << LK_MESSAGE;
      ASSERT_EQ(made.get(), nullptr);
      ASSERT_LT(n, 100000u);
    }
    original.reset();
    if (!file) check_in(made, numbers(2, 0.5f));
  }
}

} // namespace
