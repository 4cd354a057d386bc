// Every allocation of the provider fails once: nothing crashes, nothing leaks, and the host gets
// either an error or what it asked for.
#include "tests/executor_glue/ort/failing_malloc.h"
#include "tests/executor_glue/ort/models.h"
#include "tests/executor_glue/ort/session.h"
#include "tests/harness/folder.h"

#ifdef LK_TEST_FAILS_MALLOC

using ::testing::HasSubstr;

namespace ort {
namespace {

const Inputs kInputs = {{"x", noise({3, 4}, 1)}};

// Two subgraphs, and a node between them that is left.
std::string half_claimed() {
  proto::Graph g;
  g.in("x").out("y");
  g.init(weights("w", {4, 4}, 3)).init(ints("rows", {-1, 4}));
  g.node(proto::node("MatMul", {"x", "w"}, {"a"}));
  add_unsupported(&g, "a", "b");
  g.node(proto::node("Reshape", {"b", "rows"}, {"c"}));
  g.node(proto::node("Softmax", {"c"}, {"y"}, {int_attribute("axis", -1)}));
  return bytes_of(g);
}

class Allocation : public ::testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    FailingMalloc::load();
    Options cpu;
    cpu.on_provider = false;
    wanted = Session(host, model, cpu).run(kInputs, {"y"});
    ASSERT_EQ(wanted.error, "");
    ASSERT_EQ(register_and_run(), ""); // loads the libraries, and makes what is made once
    FailingMalloc::begin();
  }

  // All that a session does, from registering the library on. The first failure that its host hears
  // of, or "".
  std::string register_and_run() {
    const std::string unregistered = host.register_library();
    if (!unregistered.empty()) return unregistered;
    Options options;
    options.provider = {{"cache", GetParam()},
                        {"disabled_passes", "activation, residual"},
                        {"statistics_file", folder.path() + "/at_the_end"}};
    const RunOptions with_report({{"latchkey.stats", folder.path() + "/now"}});
    std::string error;
    {
      const Session session(host, model, options);
      error = session.error();
      for (int i = 0; i < 2 && error.empty(); i++) {
        const Outcome outcome = session.run(kInputs, {"y"}, i == 0 ? nullptr : &with_report);
        error = outcome.error;
        if (error.empty()) expect_same(outcome.outputs, wanted.outputs);
      }
    }
    EXPECT_EQ(host.unregister_library(), "");
    return error;
  }

  Host host{false};
  const lk::Folder folder;
  const std::string model = half_claimed();
  Outcome wanted;
};

TEST_P(Allocation, FailsAnywhere) {
  const size_t before = FailingMalloc::live_blocks();
  size_t told = 0, logged = 0;
  int64_t nth = 1;
  for (bool failed = true; failed && !HasFailure(); nth++) {
    SCOPED_TRACE("allocation " + std::to_string(nth));
    const size_t lines = host.lines("failed to allocate").size();
    FailingMalloc::fail_at(nth);
    const std::string error = register_and_run();
    FailingMalloc::fail_never();
    failed = FailingMalloc::failed();
    EXPECT_EQ(FailingMalloc::live_blocks(), before);
    if (!error.empty()) {
      EXPECT_TRUE(failed);
      EXPECT_THAT(error, HasSubstr("failed to allocate"));
      told++;
    }
    // After a failed claim ONNX Runtime logs a line and runs without the provider. Some failures
    // are told to nobody: the cache keeps nothing, the offsets of settings are not found.
    logged += error.empty() && host.lines("failed to allocate").size() > lines;
  }
  EXPECT_GT(nth, 200);
  EXPECT_GT(told, 150u);
  EXPECT_GT(logged, 50u);
}

INSTANTIATE_TEST_SUITE_P(Caches, Allocation, ::testing::Values("shared", "thread", "off"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace ort

#else
#include <gtest/gtest.h>

TEST(Allocation, FailsAnywhere) {
  GTEST_SKIP() << "the sanitizer has a malloc of its own";
}
#endif
