// An environment of ONNX Runtime, with the provider's library registered in it.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "tests/executor_glue/ort/api.h"
#include "tests/harness/places.h"

namespace ort {

// An environment. It collects the lines of the log of `level` and above.
class Host {
public:
  static constexpr const char *kName = "latchkey"; // of the registration

  explicit Host(bool with_library = true, OrtLoggingLevel level = ORT_LOGGING_LEVEL_WARNING) {
    EXPECT_EQ(text(ort_CreateEnvWithCustomLogger(api())(log, this, level, "test", &env_)), "");
    EXPECT_EQ(text(ort_CreateCpuMemoryInfo(api())(0, 0, &memory_)), "");
    if (with_library) {
      EXPECT_EQ(register_library(), "");
    }
  }
  Host(const Host &) = delete;
  ~Host() {
    if (registered_) {
      EXPECT_EQ(unregister_library(), "");
    }
    ort_ReleaseMemoryInfo(api())(memory_);
    ort_ReleaseEnv(api())(env_);
  }

  std::string register_library() {
    const std::string error =
        text(ort_RegisterExecutionProviderLibrary(api())(env_, kName, lk_test_ort_library));
    registered_ = error.empty();
    return error;
  }
  std::string unregister_library() {
    registered_ = false;
    return text(ort_UnregisterExecutionProviderLibrary(api())(env_, kName));
  }

  // The provider's, or NULL.
  const OrtEpDevice *device() const {
    const OrtEpDevice *const *devices = nullptr;
    size_t count = 0;
    EXPECT_EQ(text(ort_GetEpDevices(api())(env_, &devices, &count)), "");
    for (size_t i = 0; i < count; i++) {
      if (std::string(ort_EpDevice_EpName(api())(devices[i])) == "LatchkeyExecutionProvider") {
        return devices[i];
      }
    }
    return nullptr;
  }

  OrtEnv *env() const { return env_; }
  const OrtMemoryInfo *memory() const { return memory_; }
  // The lines so far that contain `part`.
  std::vector<std::string> lines(const std::string &part) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::string> out;
    for (const std::string &line : lines_) {
      if (line.find(part) != std::string::npos) out.push_back(line);
    }
    return out;
  }

private:
  static void log(void *user, OrtLoggingLevel, const char *, const char *, const char *,
                  const char *line) {
    Host *self = static_cast<Host *>(user);
    const std::lock_guard<std::mutex> lock(self->mutex_);
    self->lines_.emplace_back(line);
  }

  OrtEnv *env_ = nullptr;
  OrtMemoryInfo *memory_ = nullptr;
  bool registered_ = false;
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

} // namespace ort
