// A provider's whole life in ONNX Runtime, with one call that it makes of the system failing at a
// time: ONNX Runtime hears of it, or runs as it should, and works when it is asked again. (What
// asks for memory is tried in executor_glue/ort/allocation_test.cc.)
#ifdef LK_TEST_FAULTS
#include <dlfcn.h>

#include <memory>

#include "tests/executor_glue/ort/models.h"
#include "tests/executor_glue/ort/session.h"
#include "tests/faults/case.h"
#include "tests/harness/folder.h"
#include "tests/harness/places.h"

namespace {

using namespace lk::faults;

class Life {
public:
  Life(const std::string &folder, std::vector<ort::Outcome> wanted)
      : folder_(folder), wanted_(std::move(wanted)) {}

  // Runs of these, and what they give without the provider.
  static std::vector<ort::Inputs> inputs() {
    return {{{"x", ort::noise({3, 4}, 1)}}, {{"x", ort::noise({50000, 4}, 2)}}};
  }

  void live(Case &at) {
    if (!fault_limit_to_ours()) at.complain("the libraries are not loaded");
    at.arm();
    step(at, "register the library", [&] { return host_.register_library(); });
    step(at, "open", [&] {
      ort::Options options;
      options.provider = {{"statistics_file", folder_ + "/at_the_end"}, {"threads", "2"}};
      session_ = std::make_unique<ort::Session>(host_, ort::perceptron(), options);
      return session_->error();
    });
    run(at, "the first run", 0);
    run(at, "a recurring run", 0);
    run(at, "a run of a new size", 1);
    step(at, "set_dynamic", [&] { return session_->set_dynamic({{"latchkey.ort.trim", "1"}}); });
    const ort::RunOptions with_report({{"latchkey.stats", folder_ + "/now"}});
    run(at, "a run with a report", 1, &with_report);
    at.call("close", [&] { session_.reset(); });
    step(at, "unregister the library", [&] { return host_.unregister_library(); });
  }

private:
  // `call` returns what ONNX Runtime says.
  template <typename Call> static void step(Case &at, const char *name, Call call) {
    at.step(name, [&](lk_error *error) {
      const std::string text = call();
      if (text.empty()) return LK_OK;
      error->status = LK_INTERNAL;
      snprintf(error->message, sizeof error->message, "%s", text.c_str());
      return LK_INTERNAL;
    });
  }

  void run(Case &at, const char *name, size_t which, const ort::RunOptions *options = nullptr) {
    ort::Outcome outcome;
    step(at, name, [&] {
      outcome = session_->run(inputs()[which], {"y"}, options);
      return outcome.error;
    });
    const std::vector<float> got = outcome.outputs[0].data<float>();
    const std::vector<float> wanted = wanted_[which].outputs[0].data<float>();
    for (size_t i = 0; i < wanted.size(); i++) {
      if (got.size() != wanted.size() || !(std::fabs(got[i] - wanted[i]) <= 1e-5)) {
        at.complain("element %zu of %s is %g, and should be %g", i, name, double(got[i]),
                    double(wanted[i]));
      }
    }
  }

  std::string folder_;
  std::vector<ort::Outcome> wanted_;
  ort::Host host_{false};
  std::unique_ptr<ort::Session> session_;
};

// In a process of its own: ONNX Runtime's threads do not live on in the children of this one.
std::vector<ort::Outcome> without_provider() {
  std::vector<ort::Outcome> out;
  ort::Host host(false);
  ort::Options options;
  options.on_provider = false;
  for (const ort::Inputs &inputs : Life::inputs()) {
    out.push_back(ort::Session(host, ort::perceptron(), options).run(inputs, {"y"}));
    EXPECT_EQ(out.back().error, "");
  }
  return out;
}

TEST(OrtFaults, EveryCallFailsOnce) {
  // Its database is the user's: whether its files are open depends on other processes.
  setenv("ORT_DISABLE_TELEMETRY", "1", 1);
  ASSERT_NE(dlopen(lk_test_library, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
  ASSERT_NE(dlopen(lk_test_ort_library, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
  const lk::Folder folder;
  const std::vector<ort::Outcome> wanted = without_provider();
  const Scenario scenario = [&](Case &at) { Life(folder.path(), wanted).live(at); };
  const Outcome without = run_case(scenario, {});
  ASSERT_STREQ(without.complaint, "") << without.now;
  Tally tally;
  tally.counts_blocks = false; // ONNX Runtime keeps lines of its log, and more
  for (int kind = 0; kind < FAULT_N_KINDS; kind++) {
    if (kind == FAULT_MEMORY) continue;
    tally.try_each(scenario, fault_kind(kind), false, without);
    if (kind != FAULT_READ_INTERRUPTED) tally.try_each(scenario, fault_kind(kind), true, without);
  }
  tally.print();
  for (fault_kind kind :
       {FAULT_MAP, FAULT_THREAD, FAULT_THREAD_KEY, FAULT_CLOCK, FAULT_MAKE_FILE, FAULT_RENAME}) {
    EXPECT_GT(tally.points[kind], 0u) << fault_kind_name(kind);
  }
}

} // namespace

#else
#include <gtest/gtest.h>

TEST(OrtFaults, EveryCallFailsOnce) {
  GTEST_SKIP() << "the sanitizer has functions of its own in front of the C library's";
}
#endif
