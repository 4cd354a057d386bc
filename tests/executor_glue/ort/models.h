// Parts of small ONNX models, and the few models that several tests use.
#pragma once

#include <string>
#include <vector>

#include "tests/executor_glue/ort/tensor.h"

namespace ort {

using Dims = std::vector<std::string>;

// ---- parts ----

inline proto::Message weights(const std::string &name, const std::vector<int64_t> &dims,
                              uint32_t seed) {
  return proto::tensor(name, LK_F32, dims, proto::kRawData, noise(dims, seed).bytes);
}
inline proto::Message ints(const std::string &name, const std::vector<int64_t> &data) {
  return proto::tensor(name, LK_I64, {static_cast<int64_t>(data.size())}, proto::kInt64Data,
                       proto::varints(data));
}
inline proto::Message number(const std::string &name, float value) {
  return proto::tensor(name, LK_F32, {}, proto::kRawData, proto::raw(std::vector<float>{value}));
}
inline proto::Message int_attribute(const std::string &name, int64_t value) {
  return proto::attribute(name, proto::kInt).num(3, value);
}
inline proto::Message ints_attribute(const std::string &name, const std::vector<int64_t> &values) {
  proto::Message m = proto::attribute(name, proto::kInts);
  for (int64_t v : values) m.num(8, v);
  return m;
}
inline proto::Message graph_attribute(const std::string &name, proto::Graph graph) {
  return proto::attribute(name, proto::kGraph).add(6, graph.m.text(2, name));
}

// An operator that Latchkey does not have: y = x, by ONNX Runtime's own sample of an operator.
inline void add_unsupported(proto::Graph *g, const std::string &x, const std::string &y) {
  g->node(proto::node("SampleOp", {x}, {y}).text(7, "com.microsoft"));
}

inline std::string bytes_of(proto::Graph graph, int64_t opset = 17) {
  graph.m.text(2, "test");
  const proto::Message microsoft = proto::Message().text(1, "com.microsoft").num(2, 1);
  return proto::model(graph, opset).add(8, microsoft).bytes;
}

// ---- models ----

// x [N, 4] -> y [N, 4]: two layers, four nodes when ONNX Runtime has made a Gemm of MatMul and Add.
inline std::string perceptron(uint32_t seed = 1) {
  proto::Graph g;
  g.in("x").out("y");
  g.init(weights("w1", {4, 16}, seed)).init(weights("b1", {16}, seed + 1));
  g.init(weights("w2", {16, 4}, seed + 2));
  g.node(proto::node("MatMul", {"x", "w1"}, {"h1"}, {}, "first"));
  g.node(proto::node("Add", {"h1", "b1"}, {"h2"}));
  g.node(proto::node("Relu", {"h2"}, {"h3"}));
  g.node(proto::node("MatMul", {"h3", "w2"}, {"h4"}, {}, "second"));
  g.node(proto::node("Softmax", {"h4"}, {"y"}, {int_attribute("axis", -1)}));
  return bytes_of(g);
}

// x [N, 3, H, W] -> y [N, 10]: a small image classifier.
inline std::string classifier(const Dims &dims = {"N", "3", "H", "W"}) {
  proto::Graph g;
  g.in("x", LK_F32, dims).out("y", LK_F32, {dims[0], "10"});
  g.init(weights("w1", {16, 3, 3, 3}, 11)).init(weights("b1", {16}, 12));
  g.init(weights("w2", {16, 16, 3, 3}, 13)).init(weights("w3", {16, 10}, 14));
  const auto pads = ints_attribute("pads", {1, 1, 1, 1});
  g.node(proto::node("Conv", {"x", "w1", "b1"}, {"c1"}, {pads}));
  g.node(proto::node("Relu", {"c1"}, {"r1"}));
  g.node(proto::node("Conv", {"r1", "w2"}, {"c2"}, {pads}));
  g.node(proto::node("Add", {"c2", "r1"}, {"a2"}));
  g.node(proto::node("Relu", {"a2"}, {"r2"}));
  g.node(proto::node("GlobalAveragePool", {"r2"}, {"p"}));
  g.node(proto::node("Flatten", {"p"}, {"f"}));
  g.node(proto::node("MatMul", {"f", "w3"}, {"m"}));
  g.node(proto::node("Softmax", {"m"}, {"y"}, {int_attribute("axis", 1)}));
  return bytes_of(g);
}

} // namespace ort
