// Models as text and as ONNX bytes.
#include "tests/stress/model.h"

#include "tests/executor_glue/onnx/proto_writer.h"

namespace stress {
namespace {

template <typename Map, typename Print>
std::string items(const Map &map, const std::string &between, Print print) {
  std::string text;
  for (const auto &item : map) text += (text.empty() ? "" : between) + print(item);
  return text;
}

// Without a shape: any rank will do.
proto::Message open_value(const std::string &name, uint32_t dtype) {
  return proto::Message().text(1, name).add(
      2, proto::Message().add(1, proto::Message().num(1, dtype)));
}

proto::Message node_message(const Node &node) {
  std::vector<proto::Message> attributes;
  for (const auto &a : node.numbers) {
    attributes.push_back(proto::attribute(a.first, proto::kInt).num(3, a.second));
  }
  for (const auto &a : node.floats) {
    attributes.push_back(proto::attribute(a.first, proto::kFloat).flt(2, a.second));
  }
  for (const auto &a : node.lists) {
    attributes.push_back(proto::attribute(a.first, proto::kInts));
    for (int64_t value : a.second) attributes.back().num(8, value);
  }
  return proto::node(node.op, node.inputs, {node.output}, attributes);
}

} // namespace

std::string Model::text() const {
  std::string result = "model '" + name + "'\n";
  for (const auto &c : constants)
    result += "  " + c.first + " " + lk::text_of(c.second.desc) + "\n";
  for (const Node &node : nodes) {
    result += "  " + node.output + " = " + node.op + "(";
    result += items(node.inputs, ", ", [](const std::string &input) { return input; });
    for (const auto &a : node.numbers) result += ", " + a.first + "=" + std::to_string(a.second);
    for (const auto &a : node.floats) result += ", " + a.first + "=" + std::to_string(a.second);
    for (const auto &a : node.lists) result += ", " + a.first + "=" + lk::text_of(a.second);
    result += ")\n";
  }
  return result;
}

std::string onnx_bytes(const Model &model) {
  proto::Graph graph;
  for (const auto &input : model.inputs) graph.m.add(11, open_value(input.first, input.second));
  for (const auto &output : model.outputs) graph.m.add(12, open_value(output, LK_F32));
  for (const auto &c : model.constants) {
    const std::string raw(c.second.bytes.begin(), c.second.bytes.end());
    graph.init(proto::tensor(c.first, c.second.desc.dtype, c.second.dims(), proto::kRawData, raw));
  }
  for (const Node &node : model.nodes) graph.node(node_message(node));
  return proto::model(graph, kOpset).bytes;
}

} // namespace stress
