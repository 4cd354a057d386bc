// Where ONNX Runtime keeps what its interface does not tell: found in the objects of the real one, and
// given up where an object does not behave.
#include <malloc.h>

#include <array>

#include "tests/executor_glue/ort/api.h"
#include "tests/harness/lk_test.h"

extern "C" {
#include "executor_glue/ort/peek.h"
}

namespace {

// ---- the real one ----------------------------------------------------------------------------------

void expect_read(const OrtApi *api) {
  lk_ort tables = {};
  tables.api = api;
  lk_ort_peek peek;
  lk_ort_peek_find(&tables, &peek);

  OrtSessionOptions *session = nullptr;
  ASSERT_EQ(ort::text(ort_CreateSessionOptions(api)(&session)), "");
  EXPECT_EQ(lk_ort_peek_threads(&peek, session), 0); // the default: as many as it likes
  for (const int threads : {7, 1, 513}) {
    ASSERT_EQ(ort::text(ort_SetIntraOpNumThreads(api)(session, threads)), "");
    EXPECT_EQ(lk_ort_peek_threads(&peek, session), threads);
  }
  ort_ReleaseSessionOptions(api)(session);

  OrtRunOptions *run = nullptr;
  ASSERT_EQ(ort::text(ort_CreateRunOptions(api)(&run)), "");
  const volatile uint8_t *stop = lk_ort_peek_terminate(&peek, run);
  ASSERT_NE(stop, nullptr);
  EXPECT_EQ(*stop, 0);
  ASSERT_EQ(ort::text(ort_RunOptionsSetTerminate(api)(run)), "");
  EXPECT_EQ(*stop, 1);
  ASSERT_EQ(ort::text(ort_RunOptionsUnsetTerminate(api)(run)), "");
  EXPECT_EQ(*stop, 0);
  ort_ReleaseRunOptions(api)(run);
}

// Of every version of the interface that it has, each of which a provider may ask for.
TEST(Peek, ReadsTheObjectsOfOnnxRuntime) {
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

// ---- others ----------------------------------------------------------------------------------------

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

lk_ort_peek peek_at(const Behaviour &wanted) {
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
  lk_ort tables = {};
  tables.api = &api;
  lk_ort_peek peek;
  lk_ort_peek_find(&tables, &peek);
  EXPECT_EQ(live_objects, 0);
  return peek;
}

TEST(Peek, FindsTheOnlyPlaceThatChanges) {
  const lk_ort_peek peek = peek_at({});
  EXPECT_EQ(peek.threads_offset, 20u);
  EXPECT_EQ(peek.terminate_offset, 5u);
}

TEST(Peek, GivesUpWhenNothingChanges) {
  Behaviour b;
  b.threads_at = b.terminate_at = b.unset_at = {};
  const lk_ort_peek peek = peek_at(b);
  EXPECT_EQ(peek.threads_offset, SIZE_MAX);
  EXPECT_EQ(peek.terminate_offset, SIZE_MAX);
}

TEST(Peek, GivesUpWhenTwoPlacesChange) {
  Behaviour b;
  b.threads_at = {20, 40};
  b.terminate_at = b.unset_at = {5, 9};
  const lk_ort_peek peek = peek_at(b);
  EXPECT_EQ(peek.threads_offset, SIZE_MAX);
  EXPECT_EQ(peek.terminate_offset, SIZE_MAX);
}

TEST(Peek, GivesUpWhenSettingAndUnsettingDiffer) {
  Behaviour b;
  b.terminate_at = {5, 9};
  b.unset_at = {5};
  EXPECT_EQ(peek_at(b).terminate_offset, SIZE_MAX);
}

TEST(Peek, GivesUpWhenSomethingElseIsWritten) {
  Behaviour b;
  b.written = 1;
  EXPECT_EQ(peek_at(b).threads_offset, SIZE_MAX);
}

TEST(Peek, GivesUpWhenCallsFail) {
  Behaviour b;
  b.sets = false;
  lk_ort_peek peek = peek_at(b);
  EXPECT_EQ(peek.threads_offset, SIZE_MAX);
  EXPECT_EQ(peek.terminate_offset, SIZE_MAX);
  EXPECT_EQ(released_statuses, 3);
  b.creates = false;
  peek = peek_at(b);
  EXPECT_EQ(peek.threads_offset, SIZE_MAX);
  EXPECT_EQ(peek.terminate_offset, SIZE_MAX);
  EXPECT_EQ(released_statuses, 2);
}

TEST(Peek, SaysNothingWhereNothingIsKnown) {
  const lk_ort_peek nothing = {SIZE_MAX, SIZE_MAX};
  int object = 5;
  EXPECT_EQ(lk_ort_peek_threads(&nothing, reinterpret_cast<OrtSessionOptions *>(&object)), 0);
  EXPECT_EQ(lk_ort_peek_terminate(&nothing, reinterpret_cast<OrtRunOptions *>(&object)), nullptr);
  EXPECT_EQ(lk_ort_peek_terminate(&nothing, nullptr), nullptr);
}

} // namespace
