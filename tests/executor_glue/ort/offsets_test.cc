// Where ONNX Runtime keeps two settings: found in the objects of the real one, and given up where
// an object does not behave.
#include <malloc.h>

#include <array>

#include "tests/executor_glue/ort/api.h"
#include "tests/harness/lk_test.h"

extern "C" {
#include "executor_glue/ort/offsets.h"
}

namespace {

// ---- the real one ----

void expect_read(const OrtApi *api) {
  const lk_ort_offsets offsets = lk_ort_offsets_find(api);

  OrtSessionOptions *session = nullptr;
  ASSERT_EQ(ort::text(ort_CreateSessionOptions(api)(&session)), "");
  EXPECT_EQ(lk_ort_session_threads(&offsets, session), 0); // the default: as many as it likes
  for (const int threads : {7, 1, 513}) {
    ASSERT_EQ(ort::text(ort_SetIntraOpNumThreads(api)(session, threads)), "");
    EXPECT_EQ(lk_ort_session_threads(&offsets, session), threads);
  }
  ort_ReleaseSessionOptions(api)(session);

  OrtRunOptions *run = nullptr;
  ASSERT_EQ(ort::text(ort_CreateRunOptions(api)(&run)), "");
  const volatile uint8_t *stop = lk_ort_run_terminate(&offsets, run);
  ASSERT_NE(stop, nullptr);
  EXPECT_EQ(*stop, 0);
  ASSERT_EQ(ort::text(ort_RunOptionsSetTerminate(api)(run)), "");
  EXPECT_EQ(*stop, 1);
  ASSERT_EQ(ort::text(ort_RunOptionsUnsetTerminate(api)(run)), "");
  EXPECT_EQ(*stop, 0);
  ort_ReleaseRunOptions(api)(run);
}

// In every version of the interface: a provider may ask for any of them.
TEST(Offsets, ReadsTheObjectsOfOnnxRuntime) {
  const std::string version = ort::base()->GetVersionString();
  const auto newest = static_cast<uint32_t>(std::stoi(version.substr(version.find('.') + 1)));
  ASSERT_GE(newest, LK_ORT_API_VERSION) << version;
  for (uint32_t v = LK_ORT_API_VERSION; v <= newest; v++) {
    SCOPED_TRACE("version " + std::to_string(v));
    const OrtApi *api = ort::base()->GetApi(v);
    ASSERT_NE(api, nullptr);
    expect_read(api);
  }
}

// ---- others ----

// How the objects of a made-up ONNX Runtime behave.
struct Behaviour {
  std::vector<size_t> threads_at = {20}; // where a number of threads is written
  std::vector<size_t> terminate_at = {5}, unset_at = {5};
  bool creates = true, sets = true;
  int written = 0; // added to the number of threads
} behaviour;

constexpr size_t kBytes = 64;
char refusal; // what a failure points at; nobody reads it
int released_statuses, live_objects;

OrtStatus *status(bool good) {
  return good ? nullptr : reinterpret_cast<OrtStatus *>(&refusal);
}
template <typename T> OrtStatus *create(T **out) {
  if (!behaviour.creates) return status(false);
  live_objects++;
  *out = static_cast<T *>(calloc(1, kBytes));
  return nullptr;
}
template <typename T> void release(T *object) {
  live_objects--;
  free(object);
}
OrtStatus *set_threads(OrtSessionOptions *options, int threads) {
  threads += behaviour.written;
  for (size_t at : behaviour.threads_at) {
    memcpy(reinterpret_cast<char *>(options) + at, &threads, sizeof threads);
  }
  return status(behaviour.sets);
}
OrtStatus *terminate(OrtRunOptions *options) {
  for (size_t at : behaviour.terminate_at) reinterpret_cast<char *>(options)[at] = 1;
  return status(behaviour.sets);
}
OrtStatus *unset(OrtRunOptions *options) {
  for (size_t at : behaviour.unset_at) reinterpret_cast<char *>(options)[at] = 0;
  return status(behaviour.sets);
}

lk_ort_offsets find_in(const Behaviour &wanted) {
  behaviour = wanted;
  released_statuses = live_objects = 0;
  OrtApi api = {};
  const auto set = [&](size_t slot, auto *function) {
    api.slots[slot] = reinterpret_cast<ort_function>(function);
  };
  set(10, create<OrtSessionOptions>);
  set(24, set_threads);
  set(39, create<OrtRunOptions>);
  set(46, terminate);
  set(47, unset);
  set(
      93, +[](OrtStatus *) { released_statuses++; });
  set(97, release<OrtRunOptions>);
  set(100, release<OrtSessionOptions>);
  const lk_ort_offsets offsets = lk_ort_offsets_find(&api);
  EXPECT_EQ(live_objects, 0);
  return offsets;
}

void expect_unknown(const lk_ort_offsets &offsets) {
  EXPECT_EQ(offsets.threads, SIZE_MAX);
  EXPECT_EQ(offsets.terminate, SIZE_MAX);
}

TEST(Offsets, FindsTheOnlyPlaceThatChanges) {
  const lk_ort_offsets offsets = find_in({});
  EXPECT_EQ(offsets.threads, 20u);
  EXPECT_EQ(offsets.terminate, 5u);
}

TEST(Offsets, GivesUpWhenNothingChanges) {
  Behaviour b;
  b.threads_at = b.terminate_at = b.unset_at = {};
  expect_unknown(find_in(b));
}

TEST(Offsets, GivesUpWhenTwoPlacesChange) {
  Behaviour b;
  b.threads_at = {20, 40};
  b.terminate_at = b.unset_at = {5, 9};
  expect_unknown(find_in(b));
}

TEST(Offsets, GivesUpWhenSettingAndUnsettingDiffer) {
  Behaviour b;
  b.terminate_at = {5, 9};
  b.unset_at = {5};
  EXPECT_EQ(find_in(b).terminate, SIZE_MAX);
}

TEST(Offsets, GivesUpWhenSomethingElseIsWritten) {
  Behaviour b;
  b.written = 1;
  EXPECT_EQ(find_in(b).threads, SIZE_MAX);
}

TEST(Offsets, GivesUpWhenCallsFail) {
  Behaviour b;
  b.sets = false;
  expect_unknown(find_in(b));
  EXPECT_EQ(released_statuses, 3);
  b.creates = false;
  expect_unknown(find_in(b));
  EXPECT_EQ(released_statuses, 2);
}

TEST(Offsets, SaysNothingWhereNothingIsKnown) {
  const lk_ort_offsets nothing = {SIZE_MAX, SIZE_MAX};
  int object = 5;
  EXPECT_EQ(lk_ort_session_threads(&nothing, reinterpret_cast<OrtSessionOptions *>(&object)), 0);
  EXPECT_EQ(lk_ort_run_terminate(&nothing, reinterpret_cast<OrtRunOptions *>(&object)), nullptr);
  EXPECT_EQ(lk_ort_run_terminate(&nothing, nullptr), nullptr);
}

} // namespace
