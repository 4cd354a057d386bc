// The functions of ONNX Runtime that a host calls, by slot, and the library that has them.
#pragma once

#include <dlfcn.h>
#include <glob.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "tests/harness/places.h"

extern "C" {
#include "executor_glue/ort/ort_abi.h"
}

typedef struct OrtEnv OrtEnv;
typedef struct OrtSession OrtSession;
typedef struct OrtMemoryInfo OrtMemoryInfo;

typedef void (*OrtLoggingFunction)(void *user, OrtLoggingLevel level, const char *category,
                                   const char *id, const char *where, const char *line);

// As LK_ORT_API_FUNCTIONS, which has those that the provider itself calls.
// clang-format off
#define LK_TEST_ORT_FUNCTIONS(F)                                                                   \
  F(4,   CreateEnvWithCustomLogger, OrtStatus *,                                                   \
         (OrtLoggingFunction log, void *user, OrtLoggingLevel level, const char *id,               \
          OrtEnv **out))                                                                           \
  F(8,   CreateSessionFromArray, OrtStatus *,                                                      \
         (const OrtEnv *env, const void *model, size_t bytes, const OrtSessionOptions *options,    \
          OrtSession **out))                                                                       \
  F(9,   Run, OrtStatus *,                                                                         \
         (OrtSession *session, const OrtRunOptions *options, const char *const *input_names,       \
          const OrtValue *const *inputs, size_t n_inputs, const char *const *output_names,         \
          size_t n_outputs, OrtValue **outputs))                                                   \
  F(49,  CreateTensorWithDataAsOrtValue, OrtStatus *,                                              \
         (const OrtMemoryInfo *info, void *data, size_t bytes, const int64_t *dims, size_t rank,   \
          uint32_t dtype, OrtValue **out))                                                         \
  F(69,  CreateCpuMemoryInfo, OrtStatus *, (int allocator, int memory, OrtMemoryInfo **out))       \
  F(92,  ReleaseEnv, void, (OrtEnv *env))                                                          \
  F(94,  ReleaseMemoryInfo, void, (OrtMemoryInfo *info))                                           \
  F(95,  ReleaseSession, void, (OrtSession *session))                                              \
  F(130, AddSessionConfigEntry, OrtStatus *,                                                       \
         (OrtSessionOptions *options, const char *key, const char *value))                         \
  F(165, AddRunConfigEntry, OrtStatus *,                                                           \
         (OrtRunOptions *options, const char *key, const char *value))                             \
  F(284, SetEpDynamicOptions, OrtStatus *,                                                         \
         (OrtSession *session, const char *const *keys, const char *const *values, size_t count))  \
  F(301, RegisterExecutionProviderLibrary, OrtStatus *,                                            \
         (OrtEnv *env, const char *name, const char *path))                                        \
  F(302, UnregisterExecutionProviderLibrary, OrtStatus *, (OrtEnv *env, const char *name))         \
  F(303, GetEpDevices, OrtStatus *,                                                                \
         (const OrtEnv *env, const OrtEpDevice *const **out, size_t *count))                       \
  F(304, SessionOptionsAppendExecutionProvider_V2, OrtStatus *,                                    \
         (OrtSessionOptions *options, OrtEnv *env, const OrtEpDevice *const *devices,              \
          size_t n_devices, const char *const *keys, const char *const *values, size_t n_options)) \
  F(312, EpDevice_EpName, const char *, (const OrtEpDevice *device))
// clang-format on

#define LK_TEST_ORT_FUNCTION(slot, name, result, arguments)                                        \
  LK_ORT_FUNCTION(OrtApi, slot, name, result, arguments)
LK_TEST_ORT_FUNCTIONS(LK_TEST_ORT_FUNCTION)
#undef LK_TEST_ORT_FUNCTION

namespace ort {

// The installed ONNX Runtime, or the one whose folder LK_TEST_ONNXRUNTIME holds. Throws when there
// is none: every test of it has failed then.
inline const OrtApiBase *base() {
  static const OrtApiBase *const found = [] {
    const char *given = getenv("LK_TEST_ONNXRUNTIME");
    const std::string folder = given == nullptr ? lk_test_site_packages : given;
    const std::string pattern = folder + "/onnxruntime/capi/libonnxruntime.so.*";
    glob_t files = {};
    const bool is_there = glob(pattern.c_str(), 0, nullptr, &files) == 0;
    void *library = is_there ? dlopen(files.gl_pathv[0], RTLD_NOW | RTLD_LOCAL) : nullptr;
    globfree(&files);
    using GetBase = const OrtApiBase *(*)();
    const auto get_base =
        library == nullptr ? nullptr : reinterpret_cast<GetBase>(dlsym(library, "OrtGetApiBase"));
    if (get_base == nullptr) {
      throw std::runtime_error("no ONNX Runtime: " + pattern);
    }
    return get_base();
  }();
  return found;
}

inline const OrtApi *api() {
  static const OrtApi *const table = base()->GetApi(LK_ORT_API_VERSION);
  return table;
}

// Whether it is 1.`minor` or newer.
inline bool is_at_least(int minor) {
  return std::stoi(std::string(base()->GetVersionString()).substr(2)) >= minor;
}

// What it says, or "" for success.
inline std::string text(OrtStatus *status) {
  if (status == nullptr) return "";
  const std::string message = ort_GetErrorMessage(api())(status);
  ort_ReleaseStatus(api())(status);
  return message.empty() ? "an error without a message" : message;
}

} // namespace ort
