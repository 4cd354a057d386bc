// A small model with its results in plain loops, and the fixture that opens and runs it.
#pragma once

#include <latchkey/session.h>

#include <cmath>

#include "tests/executor_glue/onnx/proto_writer.h"
#include "tests/harness/close.h"

namespace lk::small {

using Floats = std::vector<float>;

inline const lk_api *api() {
  return lk_get_api(LK_API_VERSION);
}
inline const lk_session_api *level2() {
  return lk_get_session_api(LK_SESSION_API_VERSION);
}

// y = Relu(x * w + b), s = Softmax(y), t = y transposed to 2 x (2N) by a Reshape whose shape is
// computed from that of x.
inline std::string model_bytes(float bias = 0.5f) {
  proto::Graph g;
  g.in("x").out("y").out("s").out("t", LK_F32, {"2", "M"});
  Floats w(16);
  for (size_t i = 0; i < w.size(); i++) w[i] = 0.1f * static_cast<float>(i) - 0.7f;
  g.init(proto::tensor("w", LK_F32, {4, 4}, proto::kRawData, proto::raw(w)));
  g.init(proto::tensor("b", LK_F32, {4}, proto::kRawData,
                       proto::raw(Floats{bias, -bias, 2 * bias, 0})));
  auto ints = [](const std::vector<int64_t> &v) {
    return proto::tensor("", LK_I64, {static_cast<int64_t>(v.size())}, proto::kInt64Data,
                         proto::varints(v));
  };
  auto constant = [&](const std::string &name, const std::vector<int64_t> &v) {
    g.node(proto::node("Constant", {}, {name},
                       {proto::attribute("value", proto::kTensor).add(5, ints(v))}));
  };
  constant("zero", {0});
  constant("two", {2});
  g.node(proto::node("MatMul", {"x", "w"}, {"h"}, {}, "multiply"));
  g.node(proto::node("Add", {"h", "b"}, {"a"}));
  g.node(proto::node("Relu", {"a"}, {"y"}));
  g.node(proto::node("Softmax", {"y"}, {"s"}, {proto::attribute("axis", proto::kInt).num(3, -1)}));
  g.node(proto::node("Shape", {"x"}, {"dims"}));
  g.node(proto::node("Gather", {"dims", "zero"}, {"n"},
                     {proto::attribute("axis", proto::kInt).num(3, 0)}));
  g.node(proto::node("Mul", {"n", "two"}, {"m"}));
  g.node(proto::node("Concat", {"two", "m"}, {"shape"},
                     {proto::attribute("axis", proto::kInt).num(3, 0)}));
  g.node(proto::node("Reshape", {"y", "shape"}, {"t"}));
  return proto::model(g).add(14, proto::entry("author", "test")).bytes;
}

// y = x + zeros of 1 x 4, 16 bytes, which are computed from a constant.
inline std::string zeros_model_bytes() {
  proto::Graph g;
  g.in("x").out("y");
  g.init(proto::tensor("shape", LK_I64, {2}, proto::kInt64Data,
                       proto::varints(std::vector<int64_t>{1, 4})));
  g.node(proto::node("ConstantOfShape", {"shape"}, {"zeros"}));
  g.node(proto::node("Add", {"x", "zeros"}, {"y"}));
  return proto::model(g).bytes;
}

// The same as model_bytes in plain loops.
inline Floats expected_y(const Floats &x, float bias = 0.5f) {
  const float b[] = {bias, -bias, 2 * bias, 0};
  Floats y(x.size());
  for (size_t r = 0; r < x.size() / 4; r++) {
    for (size_t c = 0; c < 4; c++) {
      double sum = b[c];
      for (size_t k = 0; k < 4; k++) sum += x[r * 4 + k] * (0.1 * double(k * 4 + c) - 0.7);
      y[r * 4 + c] = sum > 0 ? float(sum) : 0.0f;
    }
  }
  return y;
}
inline Floats expected_s(const Floats &y) {
  Floats s(y.size());
  for (size_t r = 0; r < y.size() / 4; r++) {
    double sum = 0;
    for (size_t c = 0; c < 4; c++) sum += std::exp(double(y[r * 4 + c]));
    for (size_t c = 0; c < 4; c++) s[r * 4 + c] = float(std::exp(double(y[r * 4 + c])) / sum);
  }
  return s;
}
inline Floats numbers(size_t rows, float start) {
  Floats x(rows * 4);
  for (size_t i = 0; i < x.size(); i++) x[i] = start + 0.37f * float(i % 11) - float(i % 3);
  return x;
}
// From -0.41 to 0.59 of `scale`.
inline Floats spread(size_t n, float scale) {
  Floats out(n);
  for (size_t i = 0; i < n; i++) out[i] = scale * (float(i * 7919 % 1009) / 1009 - 0.41f);
  return out;
}
inline void expect_near(const Floats &got, const Floats &wanted) {
  // Four products of numbers up to 10, which may cancel: half a unit of each is up to 5e-7.
  EXPECT_TRUE(lk::all_close(wanted, got, {1e-5, 4e-6}));
}

// A context whose allocator finds leaks, and a session in it.
class Session : public ::testing::Test {
protected:
  void open_context(uint32_t mode = LK_CACHE_DEFAULT, uint64_t cache_bytes = LK_UNSET) {
    lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
    options.allocator = *allocator.get();
    options.cache_mode = mode;
    options.cache_bytes = cache_bytes;
    options.threads = 2;
    LK_ASSERT_OK(api()->context_create(&options, &context, LK_ERR));
  }
  void open(int32_t run_plans = 0) {
    if (context == nullptr) open_context();
    lk_session_options options = LK_SESSION_OPTIONS_INIT;
    options.run_plans = run_plans;
    LK_ASSERT_OK(
        level2()->open_memory(context, bytes.data(), bytes.size(), &options, &session, LK_ERR));
  }
  void TearDown() override {
    level2()->close(session);
    api()->context_destroy(context);
  }

  static lk_named_tensor named(const char *name, const std::vector<int64_t> &dims, void *data,
                               uint32_t dtype = LK_F32) {
    lk_named_tensor t = {name, {{dtype, uint32_t(dims.size()), LK_LAYOUT_PLAIN, 0, {}}, data}};
    for (size_t i = 0; i < dims.size(); i++) t.tensor.desc.dims[i] = dims[i];
    return t;
  }
  static lk_named_tensor x_of(Floats &x) {
    return named("x", {int64_t(x.size() / 4), 4}, x.data());
  }
  static lk_status run_in(lk_session *which, std::vector<lk_named_tensor> inputs,
                          std::vector<lk_named_tensor> &outputs) {
    return level2()->run(which, inputs.data(), uint32_t(inputs.size()), outputs.data(),
                         uint32_t(outputs.size()), nullptr, LK_ERR);
  }
  lk_status run(std::vector<lk_named_tensor> inputs, std::vector<lk_named_tensor> &outputs) {
    return run_in(session, std::move(inputs), outputs);
  }
  // Runs with x and compares all outputs.
  static void check_in(lk_session *which, Floats x, float bias = 0.5f) {
    std::vector<lk_named_tensor> outputs = {{"t", {}}, {"y", {}}, {"s", {}}};
    LK_ASSERT_OK(run_in(which, {x_of(x)}, outputs));
    const Floats y = expected_y(x, bias);
    const int64_t rows = int64_t(x.size() / 4);
    expect_near(elements(outputs[0]), y);
    expect_near(elements(outputs[1]), y);
    expect_near(elements(outputs[2]), expected_s(y));
    EXPECT_EQ(outputs[0].tensor.desc.dims[0], 2);
    EXPECT_EQ(outputs[0].tensor.desc.dims[1], 2 * rows);
    EXPECT_EQ(outputs[1].tensor.desc.dims[0], rows);
    level2()->outputs_release(which, outputs.data(), 3);
    for (const auto &output : outputs) EXPECT_EQ(output.tensor.data, nullptr);
  }
  void check(Floats x) { check_in(session, std::move(x)); }
  static Floats elements(const lk_named_tensor &t) {
    size_t n = 1;
    for (uint32_t i = 0; i < t.tensor.desc.rank; i++) n *= size_t(t.tensor.desc.dims[i]);
    const float *data = static_cast<const float *>(t.tensor.data);
    return n > 0 ? Floats(data, data + n) : Floats();
  }
  lk_stats stats(lk_executor *executor = nullptr) {
    lk_stats s = {};
    s.struct_size = sizeof s;
    LK_EXPECT_OK(api()->cache_stats(context, executor, &s, LK_ERR));
    return s;
  }
  std::vector<lk_session_pass> passes() {
    std::vector<lk_session_pass> all(level2()->pass_count(session));
    EXPECT_FALSE(all.empty());
    for (uint32_t i = 0; i < all.size(); i++) {
      all[i].struct_size = sizeof all[i];
      LK_EXPECT_OK(level2()->pass_info(session, i, &all[i], LK_ERR));
    }
    return all;
  }
  static lk_session_stats stats_in(lk_session *which) {
    lk_session_stats s = {};
    s.struct_size = sizeof s;
    LK_EXPECT_OK(level2()->stats(which, &s, LK_ERR));
    return s;
  }
  lk_session_stats session_stats() { return stats_in(session); }

  lk::FailingAllocator allocator; // first, so that it looks for leaks last
  std::string bytes = model_bytes();
  lk_context *context = nullptr;
  lk_session *session = nullptr;
};

} // namespace lk::small
