// Writes ONNX messages byte by byte, so that tests can also write what no library would.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/alloc.h"
#include "executor_glue/onnx/load.h"
}

namespace proto {

inline std::string varint(uint64_t value) {
  std::string out;
  for (; value > 0x7f; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  return out + static_cast<char>(value);
}
template <typename T> std::string raw(const std::vector<T> &items) {
  return {reinterpret_cast<const char *>(items.data()), items.size() * sizeof(T)};
}
template <typename T> std::string varints(const std::vector<T> &items) {
  std::string out;
  for (T item : items) out += varint(static_cast<uint64_t>(static_cast<int64_t>(item)));
  return out;
}

// A message under construction: fields are appended.
struct Message {
  std::string bytes;

  Message &num(uint32_t field, int64_t value) {
    bytes += varint(uint64_t{field} << 3) + varint(static_cast<uint64_t>(value));
    return *this;
  }
  Message &text(uint32_t field, const std::string &value) {
    bytes += varint(uint64_t{field} << 3 | 2) + varint(value.size()) + value;
    return *this;
  }
  Message &add(uint32_t field, const Message &value) { return text(field, value.bytes); }
  Message &flt(uint32_t field, float value) {
    bytes += varint(uint64_t{field} << 3 | 5);
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
    return *this;
  }
};

enum Field : uint32_t { // of TensorProto
  kFloatData = 4,
  kInt32Data = 5,
  kInt64Data = 7,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11
};

inline Message tensor(const std::string &name, uint32_t dtype, const std::vector<int64_t> &dims,
                      uint32_t field, const std::string &data) {
  Message m;
  for (int64_t d : dims) m.num(1, d);
  m.num(2, dtype);
  if (!name.empty()) m.text(8, name);
  return m.text(field, data);
}

inline Message entry(const std::string &key, const std::string &value) {
  return Message().text(1, key).text(2, value);
}

inline Message external(const std::string &name, uint32_t dtype, const std::vector<int64_t> &dims,
                        std::initializer_list<std::pair<std::string, std::string>> entries) {
  Message m;
  for (int64_t d : dims) m.num(1, d);
  m.num(2, dtype).text(8, name).num(14, 1);
  for (const auto &e : entries) m.add(13, entry(e.first, e.second));
  return m;
}

// A dimension is a number, or a name when it is not one.
inline Message value_info(const std::string &name, uint32_t dtype,
                          const std::vector<std::string> &dims) {
  Message shape;
  for (const std::string &d : dims) {
    const bool number = !d.empty() && d.find_first_not_of("-0123456789") == std::string::npos;
    shape.add(1, number ? Message().num(1, std::stoll(d)) : Message().text(2, d));
  }
  Message type = Message().add(1, Message().num(1, dtype).add(2, shape));
  return Message().text(1, name).add(2, type);
}

enum AttributeType { kFloat = 1, kInt, kString, kTensor, kGraph, kFloats, kInts, kStrings };

inline Message attribute(const std::string &name, AttributeType type) {
  return Message().text(1, name).num(20, type);
}

inline Message node(const std::string &op, const std::vector<std::string> &inputs,
                    const std::vector<std::string> &outputs,
                    const std::vector<Message> &attributes = {}, const std::string &name = "") {
  Message m;
  for (const auto &i : inputs) m.text(1, i);
  for (const auto &o : outputs) m.text(2, o);
  if (!name.empty()) m.text(3, name);
  m.text(4, op);
  for (const auto &a : attributes) m.add(5, a);
  return m;
}

struct Graph {
  Message m;
  Graph &node(const Message &n) { return m.add(1, n), *this; }
  Graph &init(const Message &t) { return m.add(5, t), *this; }
  Graph &in(const std::string &name, uint32_t dtype = LK_F32,
            const std::vector<std::string> &dims = {"N", "4"}) {
    return m.add(11, value_info(name, dtype, dims)), *this;
  }
  Graph &out(const std::string &name, uint32_t dtype = LK_F32,
             const std::vector<std::string> &dims = {"N", "4"}) {
    return m.add(12, value_info(name, dtype, dims)), *this;
  }
};

inline Message model(const Graph &graph, int64_t opset = 13) {
  return Message().num(1, 8).add(7, graph.m).add(8, Message().num(2, opset));
}

// One of every kind of thing that the loader reads.
inline Message small_model() {
  Graph g;
  g.in("x").out("y");
  g.init(tensor("w", LK_F32, {4, 4}, kRawData, raw(std::vector<float>(16, 0.5f))));
  g.init(tensor("b", LK_F32, {4}, kFloatData, raw(std::vector<float>{1, 2, 3, 4})));
  g.init(tensor("shape", LK_I64, {2}, kInt64Data, varints(std::vector<int64_t>{-1, 4})));
  g.node(node(
      "Constant", {}, {"c"},
      {attribute("value", kTensor)
           .add(5, tensor("", LK_I32, {3}, kInt32Data, varints(std::vector<int>{7, -8, 9})))}));
  g.node(node("Constant", {}, {"f"}, {attribute("value_float", kFloat).flt(2, 2.5f)}));
  g.node(node("MatMul", {"x", "w"}, {"h"}, {}, "first"));
  g.node(node("Add", {"h", "b"}, {"a"}));
  g.node(node("Clip", {"a", "", "f"}, {"k"}));
  g.node(node("Reshape", {"k", "shape"}, {"r"}, {attribute("allowzero", kInt).num(3, 0)}));
  g.node(node("LeakyRelu", {"r"}, {"y"}, {attribute("alpha", kFloat).flt(2, 0.25f)}, "last"));
  g.m.add(13, value_info("h", LK_F32, {"N", "4"}));
  return model(g).add(14, entry("author", "test"));
}

// A loaded model. The bytes are copied to memory of just their size, so that ASan sees every read
// beyond them.
class Loaded {
public:
  Loaded() = default;
  Loaded(const Loaded &) = delete;
  ~Loaded() { reset(); }

  // What could not be read and is read by something refuses the model, as in a session.
  lk_status memory(const std::string &bytes,
                   const lk_allocator *allocator = lk_allocator_default()) {
    return refuse_unread(memory_with_unread(bytes, allocator));
  }
  lk_status memory_with_unread(const std::string &bytes,
                               const lk_allocator *allocator = lk_allocator_default()) {
    reset();
    bytes_.assign(bytes.begin(), bytes.end());
    bytes_.shrink_to_fit();
    return lk_onnx_load_memory(allocator, nullptr, bytes_.data(), bytes_.size(), &model, &graph,
                               LK_ERR);
  }
  lk_status copied_file(const std::string &path, const lk_allocator *allocator) {
    reset();
    return lk_onnx_load_file(allocator, nullptr, path.c_str(), true, &model, &graph, LK_ERR);
  }
  lk_status file(const std::string &path, const lk_allocator *allocator = lk_allocator_default()) {
    reset();
    return refuse_unread(
        lk_onnx_load_file(allocator, nullptr, path.c_str(), false, &model, &graph, LK_ERR));
  }
  void reset() {
    lk_graph_destroy(graph);
    lk_onnx_model_release(model);
    graph = nullptr;
    model = nullptr;
  }
  const lk_value &value(const std::string &name) const {
    static const lk_value none{};
    for (size_t i = 0; i < graph->n_values; i++) {
      if (graph->values[i].name == name) return graph->values[i];
    }
    ADD_FAILURE() << "no value " << name;
    return none;
  }
  template <typename T> std::vector<T> constant(const std::string &name) const {
    const lk_value &v = value(name);
    EXPECT_NE(v.constant_kind, LK_CONSTANT_NONE) << name;
    size_t count = 1;
    for (uint32_t i = 0; i < v.constant.desc.rank; i++) {
      count *= static_cast<size_t>(v.constant.desc.dims[i]);
    }
    std::vector<T> out(count);
    if (count > 0) memcpy(out.data(), v.constant.data, count * sizeof(T));
    return out;
  }
  const lk_node *node(const std::string &op) const {
    for (size_t i = 0; i < graph->n_nodes; i++) {
      if (graph->nodes[i].op_type == op) return &graph->nodes[i];
    }
    ADD_FAILURE() << "no node " << op;
    return nullptr;
  }

  lk_onnx_model *model = nullptr;
  lk_graph *graph = nullptr;

private:
  lk_status refuse_unread(lk_status status) {
    if (status == LK_OK) status = lk_onnx_model_refuse_unread(model, graph, LK_ERR);
    if (status != LK_OK) reset();
    return status;
  }

  std::vector<char> bytes_;
};

} // namespace proto
