// What ONNX Runtime's optimizers make of several operators: com.microsoft.
#pragma once

#include "tests/ops/conformance/node.h"

namespace lk::conformance {

// As many as `dims` say, all the same.
template <typename T> Value filled(const Dims &dims, T value) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return lk::tensor<T>(dims, std::vector<T>(static_cast<size_t>(count), value));
}

// EmbedLayerNormalization of so many words, and the quantized one.
inline std::vector<Value> embedded(int64_t words) {
  const Value ids = filled<int32_t>({2, words}, 1), table = x({7, 4}), row = x({4});
  return {ids, ids, table, table, table, row, row};
}
inline std::vector<Value> quantized_embedded(int64_t words) {
  const Value ids = filled<int32_t>({2, words}, 1), scale = lk::floats({}, {0.5F});
  const Value row = lk::tensor<uint8_t>({4}, {1, 9, 3, 7}), zero = filled<uint8_t>({}, 5);
  const Value table = lk::tensor<uint8_t>({3, 4}, {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233});
  std::vector<Value> all = {ids, ids, table, table, table, row, row, ids};
  all.insert(all.end(), 5, scale);
  all.insert(all.end(), 5, zero);
  return all;
}

// QLinearWhere of bytes.
inline std::vector<Value> chosen(const Dims &dims) {
  const Value scale = lk::floats({}, {0.5F}), zero = filled<uint8_t>({}, 5);
  const Value yes = lk::tensor<uint8_t>({1}, {1}, LK_BOOL);
  return {yes, filled<uint8_t>(dims, 9), scale, zero, filled<uint8_t>(dims, 7), scale, zero, scale,
          zero};
}

inline Node by_transposed(const char *op) {
  return {.op = op,
          .opset = 1,
          .inputs = {x({4, 6}), x({3, 6})},
          .other = {x({5, 6}), x({3, 6})},
          .constants = {0, 1},
          .attrs = [](auto *to) { ints(to, "transB", {1}); }};
}

inline std::vector<Node> conformance_fused() {
  return {
      {.op = "BiasAdd",
       .opset = 1,
       .inputs = {x({2, 3, 4}), x({4}), x({2, 3, 4})},
       .other = {x({1, 5, 4}), x({4}), x({1, 5, 4})}},
      {.op = "BiasSplitGelu",
       .opset = 1,
       .inputs = {x({2, 3, 4}), x({4})},
       .other = {x({1, 5, 4}), x({4})}},
      {.op = "EmbedLayerNormalization",
       .opset = 1,
       .inputs = embedded(3),
       .other = embedded(5),
       .constants = {0, 0, 1, 1, 1},
       .empty = false},
      {.op = "ExpandDims",
       .opset = 1,
       .inputs = {x({2, 3}), lk::tensor<int32_t>({}, {1})},
       .other = {x({4, 5}), lk::tensor<int32_t>({}, {-1})}},
      {.op = "FusedConv",
       .opset = 1,
       .inputs = {x({2, 3, 4, 4}), x({4, 3, 1, 1}), x({4}), x({2, 4, 4, 4})},
       .other = {x({1, 3, 3, 5}), x({4, 3, 1, 1}), x({4}), x({1, 4, 3, 5})},
       .constants = {0, 1, 1},
       .attrs = [](auto *to) { text(to, "activation", "Tanh"); }},
      {.op = "FusedGemm",
       .opset = 1,
       .inputs = {x({4, 6}), x({6, 3}), x({3})},
       .other = {x({5, 6}), x({6, 3}), x({3})},
       .constants = {0, 1, 1},
       .attrs = [](auto *to) { text(to, "activation", "LeakyRelu"); }},
      by_transposed("FusedMatMul"),
      {.op = "GatherBlockQuantized",
       .opset = 1,
       .inputs = {filled<uint8_t>({3, 16}, 0x59), lk::ints({0, 2}), x({3, 2})},
       .other = {filled<uint8_t>({3, 16}, 0x59), lk::ints({1}), x({3, 2})},
       .constants = {false, false, true},
       .attrs = [](auto *to) { ints(to, "block_size", {16}); },
       .empty = false},
      {.op = "GroupNorm",
       .opset = 1,
       .inputs = {x({2, 4, 3, 4}), x({4}), x({4})},
       .other = {x({1, 5, 2, 4}), x({4}), x({4})},
       .attrs = [](auto *to) { ints(to, "groups", {2}), ints(to, "activation", {0}); }},
      {.op = "MatMulNBits",
       .opset = 1,
       .inputs = {x({4, 40}), filled<uint8_t>({5, 3, 8}, 0x59), x({5, 3})},
       .other = {x({3, 40}), filled<uint8_t>({5, 3, 8}, 0x59), x({5, 3})},
       .constants = {0, 1, 1},
       .attrs =
           [](auto *to) {
             ints(to, "K", {40});
             ints(to, "N", {5});
             ints(to, "block_size", {16});
           }},
      {.op = "NhwcConv",
       .opset = 1,
       .inputs = {x({2, 4, 4, 3}), x({4, 2, 2, 3}), x({4})},
       .other = {x({1, 3, 5, 3}), x({4, 2, 2, 3}), x({4})},
       .constants = {0, 1, 1}},
      {.op = "NhwcFusedConv",
       .opset = 1,
       .inputs = {x({2, 4, 4, 3}), x({4, 3, 1, 1}), x({4}), x({2, 4, 4, 4})},
       .other = {x({1, 3, 5, 3}), x({4, 3, 1, 1}), x({4}), x({1, 3, 5, 4})},
       .constants = {0, 1, 1},
       .attrs = [](auto *to) { text(to, "activation", "Relu"); }},
      {.op = "NhwcMaxPool",
       .opset = 1,
       .inputs = {filled<uint8_t>({2, 4, 4, 3}, 7)},
       .other = {filled<uint8_t>({1, 3, 5, 3}, 9)},
       .attrs = kernel_of_2,
       .empty = false},
      {.op = "QAttention",
       .opset = 1,
       .inputs = {filled<uint8_t>({2, 3, 8}, 7), filled<int8_t>({8, 12}, -3), x({12}),
                  lk::floats({}, {0.5F}), x({12})},
       .other = {filled<uint8_t>({1, 5, 8}, 7), filled<int8_t>({8, 12}, -3), x({12}),
                 lk::floats({}, {0.5F}), x({12})},
       .constants = {false, true},
       .attrs = [](auto *to) { ints(to, "num_heads", {2}); },
       .empty = false},
      {.op = "QEmbedLayerNormalization",
       .opset = 1,
       .inputs = quantized_embedded(3),
       .other = quantized_embedded(2),
       .constants = {0, 0, 1, 1, 1},
       .empty = false},
      {.op = "QLinearWhere",
       .opset = 1,
       .inputs = chosen({2, 3}),
       .other = chosen({4, 5}),
       .empty = false},
      {.op = "SkipGroupNorm",
       .opset = 1,
       .inputs = {x({2, 4, 3, 4}), x({4}), x({4}), x({2, 4}), x({4})},
       .other = {x({1, 5, 2, 4}), x({4}), x({4}), x({1, 4}), x({4})},
       .attrs = [](auto *to) { ints(to, "groups", {2}), ints(to, "activation", {0}); }},
      by_transposed("TransposeMatMul"),
      {.op = "UnfoldTensor",
       .opset = 1,
       .inputs = {x({2, 7})},
       .other = {x({3, 8})},
       .attrs = [](auto *to) { ints(to, "size", {3}); }},
  };
}

} // namespace lk::conformance
