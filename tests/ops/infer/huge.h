// Nodes of every row with dimensions that are huge.
#pragma once

#include <algorithm>
#include <cstring>

#include "tests/harness/op_rows.h"
#include "tests/ops/infer/rules.h"

extern "C" {
#include "base/tensor.h"
}

inline void PrintTo(const lk_op_row &row, std::ostream *out) {
  *out << row.op_type;
}

namespace lk::infer {

inline void PrintTo(const Node &node, std::ostream *out) {
  *out << node.op;
}

inline uint64_t bytes_of(const lk_tensor_desc &desc) {
  int64_t bytes = 0;
  return lk_tensor_size(&desc, "", nullptr, &bytes, nullptr) == LK_OK ? uint64_t(bytes)
                                                                      : UINT64_MAX / 64;
}

// Of all inputs.
inline uint64_t input_bytes(const Node &node) {
  uint64_t sum = 0;
  for (const lk_tensor &tensor : inputs_of(node)) {
    if (tensor.desc.dtype != 0) sum += bytes_of(tensor.desc);
  }
  return sum;
}

inline std::string describe(const Node &node) {
  std::string text = node.op + ":" + std::to_string(node.opset);
  for (const Input &input : node.inputs) {
    text += " [";
    for (const Dim &dim : input.shape) text += std::to_string(dim.number) + ",";
    text += input.absent ? "-]" : "]";
    if (input.dtype != LK_F32 && !input.absent) text += lk_dtype_name(input.dtype);
  }
  for (const auto &[name, values] : node.ints) {
    text += " " + name + "=";
    for (const int64_t value : values) text += std::to_string(value) + ",";
  }
  for (const auto &[name, value] : node.texts) text += " " + name + "=" + value;
  if (!node.post_ops.empty()) text += " +" + std::to_string(node.post_ops.size()) + " post-ops";
  return text;
}

// Of a row, whose rule it is.
inline Node huge_node(const lk_op_row &row, const Rules::mapped_type &rule, unsigned seed,
                      int64_t huge) {
  std::mt19937 random(seed);
  std::vector<Dim> symbols = {{huge, huge}, {huge, huge}, {2, 2}, {1, 1}};
  Draw draw(&random, &symbols);
  draw.node.op = row.op_type;
  draw.node.domain = row.domain;
  draw.node.opset = std::max(draw.one_of(2) ? 13 : LK_MAX_OPSET, row.since);
  rule(draw);
  return draw.node;
}

// Another type for all that is f32, and is no list.
inline Node as_type(Node node, uint32_t dtype) {
  for (Input &input : node.inputs) {
    if (input.dtype == LK_F32 && input.bytes.empty() && !input.absent) input.dtype = dtype;
  }
  return node;
}
inline Node with_post_ops(Node node) {
  for (const uint32_t kind : {LK_POST_GELU, LK_POST_TANH, LK_POST_MISH, LK_POST_LINEAR}) {
    node.post_ops.push_back({kind, -1, 1.5F, 0.25F});
  }
  return node;
}

inline std::string row_name(const lk_op_row &row) {
  std::string name = std::string(row.domain) + row.op_type;
  name.erase(std::remove_if(name.begin(), name.end(), [](char c) { return !isalnum(c); }),
             name.end());
  return name;
}

} // namespace lk::infer
