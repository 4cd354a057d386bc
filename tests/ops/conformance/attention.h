// Attention.
#pragma once

#include "tests/ops/conformance/node.h"

namespace lk::conformance {

inline void linear_heads(std::vector<lk_attr> *attrs) {
  ints(attrs, "q_num_heads", {2});
  ints(attrs, "kv_num_heads", {2});
  attrs->push_back({"update_rule", LK_ATTR_STRING, 6, "linear"});
}

inline std::vector<Node> conformance_attention() {
  const Value q = x({2, 4, 3, 8}), k = x({2, 2, 5, 8});
  const Value q_other = x({1, 4, 2, 8}), k_other = x({1, 2, 7, 8});
  const Value rows = x({2, 3, 8}), rows_other = x({1, 5, 8});
  const Value one_head = x({2, 3, 4}), one_head_other = x({1, 5, 4});
  const Value taps = x({4, 1, 3}), angles = x({9, 4});
  return {
      {.op = "Attention",
       .opset = 23,
       .inputs = {q, k, k},
       .other = {q_other, k_other, k_other},
       .attrs = [](auto *to) { ints(to, "is_causal", {1}); }},
      {.op = "Attention",
       .opset = 1,
       .inputs = {q, x({2, 4, 5, 8}), x({2, 4, 5, 8}), x({2, 1, 1, 5})},
       .other = {q_other, x({1, 4, 7, 8}), x({1, 4, 7, 8}), x({1, 4, 2, 1})},
       .domain = "latchkey"},
      {.op = "Attention",
       .opset = 1,
       .inputs = {rows, x({8, 12}), x({12})},
       .other = {rows_other, x({8, 12}), x({12})},
       .constants = {false, true},
       .attrs = [](auto *to) { ints(to, "num_heads", {2}); },
       .domain = "com.microsoft"},
      {.op = "MultiHeadAttention",
       .opset = 1,
       .inputs = {rows, rows, rows},
       .other = {rows_other, rows_other, rows_other},
       .attrs = [](auto *to) { ints(to, "num_heads", {2}); }},
      {.op = "GroupQueryAttention",
       .opset = 1,
       .inputs = {rows, one_head, one_head, x({2, 1, 4, 4}), x({2, 1, 4, 4}),
                  lk::tensor<int32_t>({2}, {2, 1}), lk::tensor<int32_t>({}, {3})},
       .other = {rows_other, one_head_other, one_head_other, x({1, 1, 7, 4}), x({1, 1, 7, 4}),
                 lk::tensor<int32_t>({1}, {5}), lk::tensor<int32_t>({}, {6})},
       .attrs =
           [](auto *to) {
             ints(to, "num_heads", {2});
             ints(to, "kv_num_heads", {1});
           },
       .empty = false}, // it would have no length
      {.op = "GroupQueryAttention",
       .opset = 1,
       .inputs = {rows, one_head, one_head, x({2, 1, 2, 4}), x({2, 1, 2, 4}),
                  lk::tensor<int32_t>({2}, {4, 3}), lk::tensor<int32_t>({}, {5})},
       .other = {rows_other, one_head_other, one_head_other, x({1, 1, 7, 4}), x({1, 1, 7, 4}),
                 lk::tensor<int32_t>({1}, {8}), lk::tensor<int32_t>({}, {9})},
       .attrs =
           [](auto *to) {
             ints(to, "num_heads", {2});
             ints(to, "kv_num_heads", {1});
             ints(to, "sliding_window_cache", {1});
             ints(to, "local_window_size", {2});
           },
       .empty = false}, // it would have no length
      {.op = "CausalConvWithState",
       .opset = 27,
       .inputs = {x({2, 4, 9}), taps},
       .other = {x({1, 4, 6}), taps},
       .empty = false}, // it would have no channels
      {.op = "LinearAttention",
       .opset = 27,
       .inputs = {rows, rows, rows},
       .other = {rows_other, rows_other, rows_other},
       .attrs = linear_heads},
      {.op = "RotaryEmbedding",
       .opset = 23,
       .inputs = {x({2, 4, 3, 8}), x({2, 3, 4}), x({2, 3, 4})},
       .other = {x({1, 4, 2, 8}), x({1, 2, 4}), x({1, 2, 4})}},
      {.op = "RotaryEmbedding",
       .opset = 1,
       .inputs = {x({2, 4, 1, 8}), lk::ints({1}), angles, angles},
       .other = {x({1, 4, 3, 8}), lk::ints({1}), angles, angles},
       .domain = "com.microsoft"},
  };
}

} // namespace lk::conformance
