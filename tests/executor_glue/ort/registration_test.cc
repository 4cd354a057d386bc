// The library is registered and unregistered, also by an ONNX Runtime that is too old for it.
#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "tests/executor_glue/ort/models.h"
#include "tests/executor_glue/ort/session.h"
#include "tests/harness/places.h"

using ::testing::AllOf;
using ::testing::HasSubstr;

namespace ort {
namespace {

const Inputs kInputs = {{"x", noise({3, 4}, 1)}};

TEST(Registration, BringsOneDevice) {
  const Host host;
  ASSERT_NE(host.device(), nullptr);
  EXPECT_STREQ(ort_EpDevice_EpName(api())(host.device()), "LatchkeyExecutionProvider");
}

TEST(Registration, IsUndone) {
  Host host;
  EXPECT_EQ(host.unregister_library(), "");
  EXPECT_EQ(host.device(), nullptr);
}

TEST(Registration, ComesAndGoes) {
  Host host(false);
  const std::string model = perceptron();
  Options cpu;
  cpu.on_provider = false;
  const Outcome wanted = Session(host, model, cpu).run(kInputs, {"y"});
  for (int i = 0; i < 20; i++) {
    ASSERT_EQ(host.register_library(), "");
    {
      const Session first(host, model), second(host, model);
      expect_same(first.run(kInputs, {"y"}).outputs, wanted.outputs);
      expect_same(second.run(kInputs, {"y"}).outputs, wanted.outputs);
    }
    ASSERT_EQ(host.unregister_library(), "");
  }
}

// ONNX Runtime hands the same environment to all who ask for one: a library that one has registered
// is there for the other, until it is taken back.
TEST(Registration, IsOfAllEnvironments) {
  auto first = std::make_unique<Host>();
  Host second(false);
  EXPECT_NE(second.device(), nullptr);
  EXPECT_NE(second.register_library(), ""); // under the same name
  const std::string model = perceptron();
  Options cpu;
  cpu.on_provider = false;
  const Outcome wanted = Session(second, model, cpu).run(kInputs, {"y"});
  ASSERT_EQ(wanted.error, "");
  {
    const Session one(*first, model), other(second, model);
    expect_same(one.run(kInputs, {"y"}).outputs, wanted.outputs);
    expect_same(other.run(kInputs, {"y"}).outputs, wanted.outputs);
  }
  first.reset(); // takes its registration back
  EXPECT_EQ(second.device(), nullptr);
  ASSERT_EQ(second.register_library(), "");
  expect_same(Session(second, model).run(kInputs, {"y"}).outputs, wanted.outputs);
}

// What the library keeps for a thread is freed when the thread ends, maybe after everything else.
class LastThread : public ::testing::TestWithParam<const char *> {};

TEST_P(LastThread, EndsAfterTheLibrary) {
  auto host = std::make_unique<Host>();
  Options options;
  options.provider = {{"cache", GetParam()}};
  auto session = std::make_unique<Session>(*host, perceptron(), options);
  std::mutex mutex;
  std::condition_variable changed;
  bool has_run = false, may_end = false;
  std::string error = "it has not run";
  std::thread thread([&] {
    error = session->run(kInputs, {"y"}).error;
    std::unique_lock<std::mutex> lock(mutex);
    has_run = true;
    changed.notify_all();
    changed.wait(lock, [&] { return may_end; });
  });
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return has_run; });
  }
  session.reset();
  EXPECT_EQ(host->unregister_library(), "");
  host.reset();
  {
    const std::lock_guard<std::mutex> lock(mutex);
    may_end = true;
  }
  changed.notify_all();
  thread.join();
  EXPECT_EQ(error, "");
}

INSTANTIATE_TEST_SUITE_P(Caches, LastThread, ::testing::Values("shared", "thread"),
                         [](const auto &info) { return std::string(info.param); });

// ---- the entry points, called directly ----

struct FakeStatus {
  OrtErrorCode code;
  std::string message;
};
OrtStatus *create_status(OrtErrorCode code, const char *message) {
  return reinterpret_cast<OrtStatus *>(new FakeStatus{code, message});
}

// ONNX Runtime 1.22: all of its tables but the one that is needed.
const OrtApi *old_table(uint32_t version) {
  static OrtApi table = [] {
    OrtApi made = {};
    made.slots[0] = reinterpret_cast<ort_function>(create_status);
    return made;
  }();
  return version <= 22 ? &table : nullptr;
}
const OrtApiBase kOldRuntime = {old_table, [] { return "1.22.1"; }};

using CreateFactories = decltype(&CreateEpFactories);

CreateFactories entry_point() {
  void *library = dlopen(lk_test_ort_library, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  if (library == nullptr) return nullptr;
  const auto found = reinterpret_cast<CreateFactories>(dlsym(library, "CreateEpFactories"));
  EXPECT_NE(found, nullptr);
  return found;
}

TEST(EntryPoint, RefusesAnOldOnnxRuntimeInASentence) {
  const CreateFactories create = entry_point();
  ASSERT_NE(create, nullptr);
  OrtEpFactory *factories[1] = {};
  size_t count = 9;
  OrtStatus *status = create("latchkey", &kOldRuntime, nullptr, factories, 1, &count);
  ASSERT_NE(status, nullptr);
  const std::unique_ptr<FakeStatus> refused(reinterpret_cast<FakeStatus *>(status));
  EXPECT_THAT(refused->message, AllOf(HasSubstr("failed to register LatchkeyExecutionProvider"),
                                      HasSubstr("1.22.1"), HasSubstr("1.23 or newer")));
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(factories[0], nullptr);
}

TEST(EntryPoint, NeedsRoomForAFactory) {
  const CreateFactories create = entry_point();
  ASSERT_NE(create, nullptr);
  size_t count = 9;
  EXPECT_THAT(text(create("latchkey", base(), nullptr, nullptr, 0, &count)),
              HasSubstr("room for 0 factories"));
  EXPECT_EQ(count, 0u);
}

// ---- an ONNX Runtime whose objects do not show where a setting is ----

std::vector<std::string> lines; // that were logged
OrtStatus *log_line(const OrtLogger *, OrtLoggingLevel level, const char *message, const char *,
                    int, const char *) {
  if (level == ORT_LOGGING_LEVEL_WARNING) lines.emplace_back(message);
  return nullptr;
}

// The real one's table, as far as the oldest has it, with functions in other places.
OrtApi changed_table = {};
const OrtApiBase kChanged = {[](uint32_t) -> const OrtApi * { return &changed_table; },
                             [] { return "1.23.9"; }};

// What registering with `changed` functions logs.
std::vector<std::string> warnings(const std::vector<std::pair<size_t, ort_function>> &changed) {
  std::copy_n(api()->slots, 380, changed_table.slots);
  changed_table.slots[247] = reinterpret_cast<ort_function>(log_line);
  for (const auto &one : changed) changed_table.slots[one.first] = one.second;
  lines.clear();
  OrtEpFactory *factories[1] = {};
  size_t count = 0;
  const auto logger = reinterpret_cast<const OrtLogger *>(&lines);
  EXPECT_EQ(text(entry_point()("latchkey", &kChanged, logger, factories, 1, &count)), "");
  EXPECT_EQ(count, 1u);
  void *library = dlopen(lk_test_ort_library, RTLD_NOW | RTLD_LOCAL);
  const auto release =
      reinterpret_cast<decltype(&ReleaseEpFactory)>(dlsym(library, "ReleaseEpFactory"));
  EXPECT_EQ(release(factories[0]), nullptr);
  return lines;
}

TEST(EntryPoint, WarnsOnceOfSettingsThatItCannotRead) {
  ASSERT_NE(entry_point(), nullptr);
  const auto keep_threads = reinterpret_cast<ort_function>(
      +[](OrtSessionOptions *, int) -> OrtStatus * { return nullptr; });
  const auto keep_terminate =
      reinterpret_cast<ort_function>(+[](OrtRunOptions *) -> OrtStatus * { return nullptr; });
  EXPECT_THAT(warnings({}), ::testing::IsEmpty());
  EXPECT_THAT(warnings({{24, keep_threads}}),
              ::testing::ElementsAre(AllOf(
                  HasSubstr("LatchkeyExecutionProvider: failed to find intra_op_num_threads in"),
                  HasSubstr("ONNX Runtime 1.23.9"), HasSubstr("option threads"),
                  ::testing::Not(HasSubstr("terminate")))));
  EXPECT_THAT(warnings({{46, keep_terminate}}),
              ::testing::ElementsAre(AllOf(HasSubstr("find the terminate flag of runs in"),
                                           ::testing::Not(HasSubstr("option threads")))));
  EXPECT_THAT(warnings({{24, keep_threads}, {46, keep_terminate}}),
              ::testing::ElementsAre(
                  HasSubstr("find intra_op_num_threads and the terminate flag of runs in")));
}

} // namespace
} // namespace ort
