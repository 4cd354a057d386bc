// Sessions of models in memory, on the provider or on ONNX Runtime's own, and their runs.
//
//   ort::Host host;                                // registers the library
//   ort::Session session(host, model);             // on the provider; or error() says why not
//   ort::Outcome outcome = session.run({{"x", ort::noise({2, 4}, 1)}}, {"y"});
//   ort::Report report = session.report(inputs, {"y"});
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/executor_glue/ort/host.h"
#include "tests/executor_glue/ort/report.h"
#include "tests/executor_glue/ort/tensor.h"
#include "tests/harness/folder.h"

namespace ort {

using Entries = std::vector<std::pair<std::string, std::string>>;

// Of one run, or of several in a row.
class RunOptions {
public:
  explicit RunOptions(const Entries &entries = {}) {
    EXPECT_EQ(text(ort_CreateRunOptions(api())(&options_)), "");
    for (const auto &e : entries) {
      EXPECT_EQ(text(ort_AddRunConfigEntry(api())(options_, e.first.c_str(), e.second.c_str())),
                "");
    }
  }
  RunOptions(const RunOptions &) = delete;
  ~RunOptions() { ort_ReleaseRunOptions(api())(options_); }
  void terminate() { EXPECT_EQ(text(ort_RunOptionsSetTerminate(api())(options_)), ""); }
  const OrtRunOptions *get() const { return options_; }

private:
  OrtRunOptions *options_ = nullptr;
};

struct Outcome {
  std::string error; // "": the outputs are there
  std::vector<Tensor> outputs;
};

struct Options {
  bool on_provider = true;    // else on ONNX Runtime's own
  int threads = 1;            // for one operator; 0: as it likes
  bool run_statistics = true; // what Session::report needs
  Entries provider = {};      // more options of the provider
  Entries session = {};       // entries of the session's configuration
};

using Inputs = std::vector<std::pair<std::string, Tensor>>;
using Names = std::vector<std::string>;

class Session {
public:
  Session(Host &host, const std::string &model, const Options &options = {}) : host_(&host) {
    OrtSessionOptions *so = nullptr;
    EXPECT_EQ(text(ort_CreateSessionOptions(api())(&so)), "");
    if (options.threads > 0) {
      EXPECT_EQ(text(ort_SetIntraOpNumThreads(api())(so, options.threads)), "");
    }
    for (const auto &e : options.session) {
      EXPECT_EQ(text(ort_AddSessionConfigEntry(api())(so, e.first.c_str(), e.second.c_str())), "");
    }
    if (options.on_provider) append_provider(so, options);
    if (error_.empty()) {
      error_ = text(
          ort_CreateSessionFromArray(api())(host.env(), model.data(), model.size(), so, &session_));
    }
    ort_ReleaseSessionOptions(api())(so);
  }
  Session(Session &&other) noexcept
      : host_(other.host_), session_(std::exchange(other.session_, nullptr)),
        error_(std::move(other.error_)) {}
  ~Session() { ort_ReleaseSession(api())(session_); }

  // Why it could not be opened, or "".
  const std::string &error() const { return error_; }

  Outcome run(const Inputs &inputs, const Names &outputs,
              const RunOptions *options = nullptr) const {
    Outcome outcome;
    if (session_ == nullptr) return outcome.error = "no session: " + error_, outcome;
    std::vector<const char *> in_names, out_names;
    std::vector<OrtValue *> in, out(outputs.size());
    for (const auto &input : inputs) {
      in_names.push_back(input.first.c_str());
      in.push_back(value_of(input.second));
    }
    for (const auto &output : outputs) out_names.push_back(output.c_str());
    outcome.error = text(ort_Run(api())(session_, options == nullptr ? nullptr : options->get(),
                                        in_names.data(), in.data(), in.size(), out_names.data(),
                                        out.size(), out.data()));
    for (OrtValue *value : out) {
      if (value != nullptr) outcome.outputs.push_back(tensor_of(value));
    }
    for (OrtValue *value : in) ort_ReleaseValue(api())(value);
    for (OrtValue *value : out) ort_ReleaseValue(api())(value);
    return outcome;
  }

  // As it is before the run that asks for it.
  Report report(const Inputs &inputs, const Names &outputs) const {
    const lk::Folder folder;
    const std::string path = folder.path() + "/report.json";
    const RunOptions options({{"latchkey.stats", path}});
    EXPECT_EQ(run(inputs, outputs, &options).error, "");
    return Report(path);
  }

  // While it lives; why not, or "".
  std::string set_dynamic(const Entries &entries) const {
    std::vector<const char *> keys, values;
    for (const auto &e : entries) {
      keys.push_back(e.first.c_str());
      values.push_back(e.second.c_str());
    }
    return text(ort_SetEpDynamicOptions(api())(session_, keys.data(), values.data(), keys.size()));
  }

  // For `Repeated`, which calls Run itself.
  OrtSession *get() const { return session_; }
  // The caller's to release. Its data stays where it is, and is read only.
  OrtValue *value_of(const Tensor &tensor) const {
    static char nothing;
    char *data = tensor.bytes.empty() ? &nothing : const_cast<char *>(tensor.bytes.data());
    OrtValue *value = nullptr;
    EXPECT_EQ(text(ort_CreateTensorWithDataAsOrtValue(api())(
                  host_->memory(), data, tensor.bytes.size(), tensor.dims.data(),
                  tensor.dims.size(), tensor.dtype, &value)),
              "");
    return value;
  }

private:
  void append_provider(OrtSessionOptions *so, const Options &options) {
    const OrtEpDevice *device = host_->device();
    std::vector<const char *> keys, values;
    if (options.run_statistics) {
      keys.push_back("run_statistics");
      values.push_back("on");
    }
    for (const auto &o : options.provider) {
      keys.push_back(o.first.c_str());
      values.push_back(o.second.c_str());
    }
    error_ = device == nullptr
                 ? "no device of the provider"
                 : text(ort_SessionOptionsAppendExecutionProvider_V2(api())(
                       so, host_->env(), &device, 1, keys.data(), values.data(), keys.size()));
  }

  static Tensor tensor_of(OrtValue *value) {
    Tensor out;
    OrtTensorTypeAndShapeInfo *info = nullptr;
    const void *data = nullptr;
    size_t rank = 0;
    EXPECT_EQ(text(ort_GetTensorTypeAndShape(api())(value, &info)), "");
    EXPECT_EQ(text(ort_GetTensorElementType(api())(info, &out.dtype)), "");
    EXPECT_EQ(text(ort_GetDimensionsCount(api())(info, &rank)), "");
    out.dims.resize(rank);
    EXPECT_EQ(text(ort_GetDimensions(api())(info, out.dims.data(), rank)), "");
    ort_ReleaseTensorTypeAndShapeInfo(api())(info);
    EXPECT_EQ(text(ort_GetTensorData(api())(value, &data)), "");
    size_t bytes = out.dtype == LK_BOOL ? 1 : out.dtype == LK_I64 || out.dtype == LK_F64 ? 8 : 4;
    for (int64_t d : out.dims) bytes *= static_cast<size_t>(d);
    if (bytes > 0) out.bytes.assign(static_cast<const char *>(data), bytes);
    return out;
  }

  Host *host_;
  OrtSession *session_ = nullptr;
  std::string error_;
};

} // namespace ort
