// A model with weights in files beside it, and its outputs in plain loops.
#pragma once

#include <cmath>
#include <map>

#include "tests/executor_glue/onnx/proto_writer.h"
#include "tests/harness/close.h"
#include "tests/harness/folder.h"

namespace lk::faults {

using Floats = std::vector<float>;

constexpr size_t kWidth = 32;

inline float weight(size_t i) {
  return 0.01f * float(i % 37) - 0.17f;
}
inline float bias(size_t i) {
  return 0.1f * float(i % 5) - 0.2f;
}
inline Floats input(size_t rows) {
  Floats x(rows * kWidth);
  for (size_t i = 0; i < x.size(); i++) x[i] = 0.37f * float(i % 11) - float(i % 3);
  return x;
}
// Relu(x * w + b).
inline Floats output(const Floats &x) {
  Floats y(x.size());
  for (size_t r = 0; r < x.size() / kWidth; r++) {
    for (size_t c = 0; c < kWidth; c++) {
      double sum = bias(c);
      for (size_t k = 0; k < kWidth; k++) sum += double(x[r * kWidth + k]) * weight(k * kWidth + c);
      y[r * kWidth + c] = sum > 0 ? float(sum) : 0.0f;
    }
  }
  return y;
}

// y = Relu(x * w + b), and t = y as 2 x M by a shape that is computed from that of x; beside them
// the branch d = x + x * w, and with `is_random` numbers r of the shape of x.
inline std::string write_model(const lk::Folder &folder, bool is_random) {
  const std::string width = std::to_string(kWidth);
  Floats w(kWidth * kWidth), b(kWidth);
  for (size_t i = 0; i < w.size(); i++) w[i] = weight(i);
  for (size_t i = 0; i < b.size(); i++) b[i] = bias(i);
  folder.write("w.bin", proto::raw(w));
  folder.write("b.bin", proto::raw(b));
  proto::Graph g;
  g.in("x", LK_F32, {"N", width}).out("y", LK_F32, {"N", width}).out("t", LK_F32, {"2", "M"});
  g.out("d", LK_F32, {"N", width});
  if (is_random) g.out("r", LK_F32, {"N", width});
  g.init(proto::external("w", LK_F32, {kWidth, kWidth}, {{"location", "w.bin"}}));
  g.init(proto::external("b", LK_F32, {kWidth}, {{"location", "b.bin"}}));
  const std::vector<int64_t> two = {2}, rest = {-1};
  g.init(proto::tensor("two", LK_I64, {1}, proto::kInt64Data, proto::varints(two)));
  g.init(proto::tensor("rest", LK_I64, {1}, proto::kInt64Data, proto::varints(rest)));
  g.node(proto::node("MatMul", {"x", "w"}, {"h"}));
  g.node(proto::node("Add", {"h", "b"}, {"a"}));
  g.node(proto::node("Relu", {"a"}, {"y"}));
  g.node(proto::node("Concat", {"two", "rest"}, {"shape"},
                     {proto::attribute("axis", proto::kInt).num(3, 0)}));
  g.node(proto::node("Reshape", {"y", "shape"}, {"t"}));
  g.node(proto::node("MatMul", {"x", "w"}, {"v"}));
  g.node(proto::node("Add", {"x", "v"}, {"d"}));
  if (is_random) g.node(proto::node("RandomUniformLike", {"x"}, {"r"}));
  return folder.write("model.onnx", proto::model(g).bytes);
}

} // namespace lk::faults
