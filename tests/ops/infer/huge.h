// Nodes of every row with dimensions that are huge, and some that rules seldom draw.
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

inline std::string describe(const Node &node) {
  std::string text = node.op + ":" + std::to_string(node.opset);
  for (const Input &input : node.inputs) {
    text += " [";
    for (const Dim &dim : input.shape) text += std::to_string(dim.number) + ",";
    text += input.absent ? "-]" : "]";
  }
  for (const auto &[name, values] : node.ints) {
    text += " " + name + "=";
    for (const int64_t value : values) text += std::to_string(value) + ",";
  }
  for (const auto &[name, value] : node.texts) text += " " + name + "=" + value;
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

inline std::string row_name(const lk_op_row &row) {
  std::string name = std::string(row.domain) + row.op_type;
  name.erase(std::remove_if(name.begin(), name.end(), [](char c) { return !isalnum(c); }),
             name.end());
  return name;
}

// ---- nodes with one share of work that is huge: what rules seldom draw ----

struct Builder {
  Node node;
  explicit Builder(const char *op, int32_t opset = 17) {
    node.op = op;
    node.opset = opset;
  }
  Builder &tensor(const std::vector<int64_t> &dims, uint32_t dtype = LK_F32) {
    Input input;
    input.dtype = dtype;
    for (const int64_t dim : dims) input.shape.push_back({dim, dim});
    node.inputs.push_back(input);
    return *this;
  }
  template <typename T> Builder &values(const std::vector<T> &list, uint32_t dtype) {
    tensor({int64_t(list.size())}, dtype);
    node.inputs.back().bytes.resize(list.size() * sizeof(T));
    std::memcpy(node.inputs.back().bytes.data(), list.data(), list.size() * sizeof(T));
    return *this;
  }
  Builder &ints(const char *name, const std::vector<int64_t> &list) {
    node.ints[name] = list;
    return *this;
  }
  Builder &outputs(uint32_t n) {
    node.n_outputs = n;
    return *this;
  }
};

inline std::vector<Node> huge_nodes() {
  const int64_t n = 12000000;
  std::vector<uint8_t> all(size_t{n}, 1);
  return {
      Builder("TopK").tensor({n / 4}).values<int64_t>({n / 8}, LK_I64).outputs(2).node,
      Builder("TopK").tensor({n / 4}, LK_I64).values<int64_t>({n / 16}, LK_I64).outputs(2).node,
      Builder("TopK")
          .tensor({n / 4, 2})
          .values<int64_t>({9}, LK_I64)
          .ints("axis", {0})
          .outputs(2)
          .node,
      Builder("Unique").tensor({n / 16}).outputs(4).node,
      Builder("Unique").tensor({n / 16}).ints("sorted", {0}).node,
      Builder("Unique").tensor({n, 2}).ints("axis", {1}).node,
      Builder("Unique").tensor({2, n}).ints("axis", {0}).node,
      Builder("NonZero", 13).tensor({n}).node,
      Builder("Compress").tensor({n}).values(all, LK_BOOL).node,
      Builder("Conv").tensor({1, 1, 600, 600}).tensor({1, 1, 255, 255}).node,
      Builder("Conv").tensor({1, 16, 600, 600}).tensor({16, 1, 65, 65}).ints("group", {16}).node,
      Builder("ConvTranspose").tensor({1, 1, 99, 99}).tensor({1, 1, 99, 99}).node,
      Builder("ConvInteger", 10).tensor({1, 1, 400, 400}, LK_U8).tensor({1, 1, 99, 99}, LK_U8).node,
      Builder("MaxPool").tensor({1, 1, 1200, 1200}).ints("kernel_shape", {999, 999}).node,
      Builder("MaxPool").tensor({1, 1, 4 * n}).ints("kernel_shape", {3}).outputs(2).node,
      Builder("AveragePool").tensor({1, 1, 1200, 1200}).ints("kernel_shape", {999, 999}).node,
      Builder("LpPool").tensor({1, 1, 500, 500}).ints("kernel_shape", {399, 399}).node,
      Builder("Softmax").tensor({4 * n}).node,
      Builder("Softmax").tensor({n, 4}).ints("axis", {0}).node,
      Builder("LogSoftmax").tensor({4 * n}).node,
      Builder("Hardmax").tensor({1, 4 * n}).node,
      Builder("LayerNormalization").tensor({4 * n}).tensor({1}).node,
      Builder("InstanceNormalization").tensor({1, 1, 4 * n}).tensor({1}).tensor({1}).node,
      Builder("LpNormalization").tensor({1, 4 * n}).node,
      Builder("MeanVarianceNormalization").tensor({1, 1, 1, 4 * n}).node,
      Builder("ReduceSum", 13).tensor({4 * n}).node,
      Builder("ReduceMax", 13).tensor({4 * n}, LK_I64).node,
      Builder("ReduceLogSumExp", 13).tensor({4 * n}).node,
      Builder("ArgMax", 13).tensor({4 * n}).node,
      Builder("CumSum", 14).tensor({4 * n}).values<int64_t>({0}, LK_I64).node,
      Builder("MaxUnpool")
          .tensor({1, 1, n})
          .tensor({1, 1, n}, LK_I64)
          .ints("kernel_shape", {2})
          .node,
      Builder("ScatterND").tensor({n}).tensor({n, 1}, LK_I64).tensor({n}).node,
      Builder("ScatterElements").tensor({n}).tensor({n}, LK_I64).tensor({n}).node,
      Builder("GatherElements").tensor({n}).tensor({n}, LK_I64).node,
      Builder("Gather").tensor({n}).tensor({n}, LK_I64).node,
      Builder("Gather").tensor({1, 2 * n}).tensor({1}, LK_I64).node,
      Builder("GatherND").tensor({n}).tensor({n, 1}, LK_I64).node,
      Builder("DFT").tensor({1, 10007, 1}).node,
      Builder("DFT").tensor({1, 1 << 20, 2}).node,
      Builder("MatMul").tensor({1, n}).tensor({n, 3}).node,
      Builder("MatMul").tensor({n, 3}).tensor({3, 2}).node,
      Builder("MatMul").tensor({1, 9}).tensor({9, n / 3}).node,
      Builder("MatMul").tensor({700, 700}, LK_F64).tensor({700, 700}, LK_F64).node,
      Builder("Pad", 13).tensor({2}).values<int64_t>({2 * n, 2 * n}, LK_I64).node,
      Builder("Concat").tensor({2 * n}).tensor({2 * n}).ints("axis", {0}).node,
      Builder("Transpose").tensor({2, n}).node,
      Builder("Tile", 13).tensor({3}).values<int64_t>({n}, LK_I64).node,
      Builder("Det").tensor({700, 700}).node,
  };
}

} // namespace lk::infer
