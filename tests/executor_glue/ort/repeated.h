// A run that is prepared once and repeated by any number of threads. A repetition is ONNX Runtime's
// Run and the release of its outputs, nothing else.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/executor_glue/ort/session.h"

namespace ort {

class Repeated {
public:
  // `session` outlives it.
  Repeated(const Session &session, Inputs inputs, std::string output)
      : session_(&session), inputs_(std::move(inputs)), output_(std::move(output)) {
    EXPECT_EQ(session.error(), "");
    for (const auto &input : inputs_) {
      names_.push_back(input.first.c_str());
      values_.push_back(session.value_of(input.second));
    }
  }
  Repeated(const Repeated &) = delete;
  ~Repeated() {
    for (OrtValue *value : values_) ort_ReleaseValue(api())(value);
  }

  void run() const {
    run([](const void *) {});
  }
  // `look` at the data of the output, while it is there.
  template <typename Look> void run(Look look) const {
    const char *const name = output_.c_str();
    OrtValue *value = nullptr;
    OrtStatus *const failed = ort_Run(api())(session_->get(), nullptr, names_.data(),
                                             values_.data(), values_.size(), &name, 1, &value);
    if (failed != nullptr) {
      ADD_FAILURE() << text(failed);
      return;
    }
    const void *data = nullptr;
    if (OrtStatus *unseen = ort_GetTensorData(api())(value, &data)) ADD_FAILURE() << text(unseen);
    look(data);
    ort_ReleaseValue(api())(value);
  }

private:
  const Session *session_;
  const Inputs inputs_;
  const std::string output_;
  std::vector<const char *> names_;
  std::vector<OrtValue *> values_;
};

} // namespace ort
