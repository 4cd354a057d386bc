// A model of any number of operators that no pass fuses: MatMul and Softmax in turn, 4 columns
// wide.
#pragma once

#include <latchkey/session.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/executor_glue/onnx/proto_writer.h"
#include "tests/harness/close.h"

namespace lk {

using Floats = std::vector<float>;

inline Floats chain_weights() {
  Floats w(16);
  for (size_t i = 0; i < w.size(); i++) w[i] = 0.3f * static_cast<float>(i % 7) - 0.8f;
  return w;
}

// x -> (MatMul w, Softmax) * pairs -> y, of so many rows, or of any number of them.
inline std::string chain_model(int pairs, const std::string &rows = "N") {
  proto::Graph g;
  g.in("x", LK_F32, {rows, "4"}).out("y", LK_F32, {rows, "4"});
  g.init(proto::tensor("w", LK_F32, {4, 4}, proto::kRawData, proto::raw(chain_weights())));
  std::string last = "x";
  for (int i = 0; i < pairs; i++) {
    const std::string product = "product" + std::to_string(i);
    const std::string out = i + 1 == pairs ? "y" : "shares" + std::to_string(i);
    g.node(proto::node("MatMul", {last, "w"}, {product}));
    g.node(proto::node("Softmax", {product}, {out},
                       {proto::attribute("axis", proto::kInt).num(3, -1)}));
    last = out;
  }
  return proto::model(g).bytes;
}

// The same in plain loops.
inline Floats chain_expected(Floats x, int pairs) {
  const Floats w = chain_weights();
  for (int pair = 0; pair < pairs; pair++) {
    for (size_t row = 0; row < x.size() / 4; row++) {
      double power[4], sum = 0;
      for (size_t c = 0; c < 4; c++) {
        double product = 0;
        for (size_t k = 0; k < 4; k++) product += double(x[row * 4 + k]) * double(w[k * 4 + c]);
        sum += power[c] = std::exp(product);
      }
      for (size_t c = 0; c < 4; c++) x[row * 4 + c] = static_cast<float>(power[c] / sum);
    }
  }
  return x;
}

inline Floats chain_input(size_t rows, float start = 0.1f) {
  Floats x(rows * 4);
  for (size_t i = 0; i < x.size(); i++) x[i] = start + 0.21f * static_cast<float>(i % 9) - 0.7f;
  return x;
}

// A context and sessions in it, by the two tables.
class Chain {
public:
  Chain(const lk_api *api, const lk_session_api *sessions, uint32_t mode)
      : api_(api), sessions_(sessions) {
    lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
    options.cache_mode = mode;
    options.threads = 1;
    LK_EXPECT_OK(api_->context_create(&options, &context_, LK_ERR));
  }
  Chain(const Chain &) = delete;
  ~Chain() {
    for (lk_session *session : open_) sessions_->close(session);
    api_->context_destroy(context_);
  }

  // `bytes` must outlive this.
  lk_session *open(const std::string &bytes, int32_t run_plans = 0) {
    lk_session_options options = LK_SESSION_OPTIONS_INIT;
    options.run_plans = run_plans;
    lk_session *session = nullptr;
    LK_EXPECT_OK(
        sessions_->open_memory(context_, bytes.data(), bytes.size(), &options, &session, LK_ERR));
    open_.push_back(session);
    return session;
  }

  // Writes over y, which has the size of x.
  void run(lk_session *session, const Floats &x, Floats *y) {
    lk_named_tensor in = {"x", {}}, out = {"y", {}};
    for (lk_named_tensor *t : {&in, &out}) {
      t->tensor.desc.dtype = LK_F32;
      t->tensor.desc.rank = 2;
      t->tensor.desc.dims[0] = static_cast<int64_t>(x.size() / 4);
      t->tensor.desc.dims[1] = 4;
    }
    // Not NULL where there is no row: NULL asks the library to allocate.
    float none = 0;
    in.tensor.data = x.empty() ? &none : const_cast<float *>(x.data());
    out.tensor.data = y->empty() ? &none : y->data();
    LK_EXPECT_OK(sessions_->run(session, &in, 1, &out, 1, nullptr, LK_ERR));
  }

  lk_stats stats() const {
    lk_stats stats = {};
    stats.struct_size = sizeof stats;
    LK_EXPECT_OK(api_->cache_stats(context_, nullptr, &stats, LK_ERR));
    return stats;
  }

  const lk_api *api() const { return api_; }
  lk_context *context() const { return context_; }

private:
  const lk_api *api_;
  const lk_session_api *sessions_;
  lk_context *context_ = nullptr;
  std::vector<lk_session *> open_;
};

} // namespace lk
