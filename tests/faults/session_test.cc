// A session's whole life, with one call of the C library or of the system failing at a time: each
// function fails with a sentence or does what it should, and works when it is called again.
#ifdef LK_TEST_FAULTS
#include "tests/faults/case.h"
#include "tests/faults/session_model.h"
#include "tests/harness/folder.h"

namespace {

using namespace lk::faults;

const lk_api *api() {
  return lk_get_api(LK_API_VERSION);
}
const lk_session_api *level2() {
  return lk_get_session_api(LK_SESSION_API_VERSION);
}

struct Way {
  const char *name;
  uint32_t executor, cache_mode, copy_model;
  bool in_child; // of a fork: calls fail there
};

constexpr Way kWays[] = {
    {"one operator after the other", LK_EXECUTOR_NAIVE, LK_CACHE_SHARED, 0, false},
    {"branches, a copied model", LK_EXECUTOR_PARALLEL, LK_CACHE_THREAD, 1, false},
    {"in a child of fork", LK_EXECUTOR_NAIVE, LK_CACHE_SHARED, 0, true},
};

constexpr int32_t kThreads = 3;

class Life {
public:
  Life(const std::string &path, const Way &way) : path_(path), way_(way) {
    for (size_t rows : {1, 3, 4, 6, 8, 256}) {
      x_[rows] = input(rows);
      y_[rows] = output(x_[rows]);
    }
  }

  void live(Case &at) {
    if (!way_.in_child) at.arm();
    open(at);
    if (way_.in_child) {
      run(at, "a run before the fork", session_, 256);
      in_child(at);
      run(at, "a run after the fork", session_, 256);
      close(at);
      return;
    }
    use(at);
    fork_and_run(at);
    close(at);
  }

private:
  void open(Case &at) {
    lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
    options.cache_mode = way_.cache_mode;
    options.threads = kThreads;
    at.step(
        "context_create",
        [&](lk_error *error) { return api()->context_create(&options, &context_, error); },
        [&] {
          if (context_ != nullptr) at.complain("a context that failed");
        });
    lk_session_options wanted = LK_SESSION_OPTIONS_INIT;
    wanted.executor = way_.executor;
    wanted.inter = way_.executor == LK_EXECUTOR_PARALLEL ? 2 : 0;
    wanted.copy_model = way_.copy_model;
    const lk_fixed_dim width = {"x[1]", kWidth};
    wanted.fixed_dims = &width;
    wanted.n_fixed_dims = 1;
    at.step(
        "open",
        [&](lk_error *error) {
          return level2()->open(context_, path_.c_str(), &wanted, &session_, error);
        },
        [&] {
          if (session_ != nullptr) at.complain("a session that failed");
        });
  }

  void use(Case &at) {
    run(at, "the first run", session_, 256);
    run(at, "a recurring run", session_, 256);
    run(at, "a run of a new size", session_, 3 + 1);
    lk_session *clone = nullptr;
    at.step(
        "clone", [&](lk_error *error) { return level2()->clone(session_, &clone, error); },
        [&] {
          if (clone != nullptr) at.complain("a clone that failed");
        });
    run(at, "a run of the clone", clone, 256);
    at.call("cache_trim", [&] { api()->cache_trim(context_); });
    run(at, "a run after cache_trim", session_, 256);
    at.step("cache_clear",
            [&](lk_error *error) { return api()->cache_clear(context_, nullptr, error); });
    at.step("cache_set_capacity", [&](lk_error *error) {
      return api()->cache_set_capacity(context_, nullptr, 2, LK_UNLIMITED, error);
    });
    for (size_t rows : {256, 8, 6, 256}) run(at, "a run with eviction", session_, rows);
    at.call("close the clone", [&] { level2()->close(clone); });
  }

  void run(Case &at, const char *name, lk_session *session, size_t rows) {
    std::vector<lk_named_tensor> outputs = {{"y", {}}, {"t", {}}, {"d", {}}, {"r", {}}};
    lk_named_tensor x = {
        "x", {{LK_F32, 2, LK_LAYOUT_PLAIN, 0, {int64_t(rows), kWidth}}, x_.at(rows).data()}};
    at.step(
        name,
        [&](lk_error *error) {
          return level2()->run(session, &x, 1, outputs.data(), uint32_t(outputs.size()), nullptr,
                               error);
        },
        [&] {
          for (const lk_named_tensor &each : outputs) {
            if (each.tensor.data != nullptr) at.complain("an output of a run that failed");
          }
        });
    const float *y = static_cast<float *>(outputs[0].tensor.data);
    const float *t = static_cast<float *>(outputs[1].tensor.data);
    const float *d = static_cast<float *>(outputs[2].tensor.data);
    const float *r = static_cast<float *>(outputs[3].tensor.data);
    const Floats &wanted = y_.at(rows);
    for (size_t i = 0; i < wanted.size(); i++) {
      const float product = d[i] - x_.at(rows)[i] + bias(i % kWidth);
      const float from_d = product > 0 ? product : 0;
      if (!lk::is_close(wanted[i], y[i]) || !lk::is_close(wanted[i], from_d) || t[i] != y[i] ||
          !(r[i] >= 0 && r[i] < 1)) {
        at.complain("element %zu of %s: y %g, t %g, d %g, r %g; y is %g", i, name, double(y[i]),
                    double(t[i]), double(d[i]), double(r[i]), double(wanted[i]));
      }
    }
    at.call("outputs_release",
            [&] { level2()->outputs_release(session, outputs.data(), uint32_t(outputs.size())); });
  }

  // Without handlers, a fork is not promised to find the locks free.
  static bool has_fork_handlers(const Case &at) { return !at.has_met(FAULT_FORK_HANDLER); }

  void fork_and_run(Case &at) {
    if (!has_fork_handlers(at)) return;
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      run(at, "a run in a child", session_, 256);
      run(at, "a run of a new size in a child", session_, 8);
      close(at);
      _exit(0);
    }
    wait_for(at, child);
  }

  void in_child(Case &at) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      at.arm();
      use(at);
      close(at);
      at.finish();
      _exit(0);
    }
    wait_for(at, child);
  }

  static void wait_for(Case &at, pid_t child) {
    int status = 0;
    if (waitpid(child, &status, 0) != child) at.complain("no child");
    if (WIFSIGNALED(status)) at.complain("the child got %s", strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0) _exit(1); // it has complained
  }

  void close(Case &at) {
    // As many threads in each case: they stay, and with them their memory, which is no leak.
    api()->parallel_run(
        context_, kThreads, [](void *, int32_t, int32_t) {}, nullptr);
    at.call("close", [&] { level2()->close(session_); });
    at.call("context_destroy", [&] { api()->context_destroy(context_); });
  }

  std::string path_;
  Way way_;
  std::map<size_t, Floats> x_, y_;
  lk_context *context_ = nullptr;
  lk_session *session_ = nullptr;
};

class SessionFaults : public ::testing::TestWithParam<Way> {};

TEST_P(SessionFaults, EveryCallFailsOnce) {
  const lk::Folder folder;
  const std::string path = write_model(folder, true);
  const Life life(path, GetParam());
  const Scenario scenario = [&](Case &at) { Life(life).live(at); };
  const Outcome without = run_case(scenario, {});
  ASSERT_STREQ(without.complaint, "") << without.now;
  Tally tally;
  for (int kind = 0; kind < FAULT_N_KINDS; kind++) {
    tally.try_each(scenario, fault_kind(kind), false, without);
    if (kind == FAULT_READ_INTERRUPTED) continue; // nothing would ever be read
    if (kind == FAULT_MEMORY && GetParam().name != kWays[0].name) continue; // slow
    tally.try_each(scenario, fault_kind(kind), true, without);
  }
  tally.print();
  EXPECT_GT(tally.told[FAULT_MEMORY], 100u);
  EXPECT_GT(tally.told[FAULT_ENTROPY], 0u);
  if (GetParam().in_child) return; // it opens nothing
  const fault_kind readers = GetParam().copy_model != 0 ? FAULT_READ : FAULT_MAP;
  for (fault_kind kind : {FAULT_PATH, FAULT_OPEN, FAULT_STATUS, FAULT_THREAD_KEY, readers}) {
    EXPECT_GT(tally.told[kind], 0u) << fault_kind_name(kind);
  }
  EXPECT_GT(tally.points[FAULT_THREAD], 0u);
}

INSTANTIATE_TEST_SUITE_P(Ways, SessionFaults, ::testing::ValuesIn(kWays),
                         [](const auto &info) { return std::to_string(info.index); });

} // namespace

#else
#include <gtest/gtest.h>

TEST(SessionFaults, EveryCallFailsOnce) {
  GTEST_SKIP() << "the sanitizer has functions of its own in front of the C library's";
}
#endif
