// Attention.
#pragma once

#include "tests/ops/conformance/node.h"

namespace lk::conformance {

inline std::vector<Node> conformance_attention() {
  const Value q = x({2, 4, 3, 8}), k = x({2, 2, 5, 8});
  const Value q_other = x({1, 4, 2, 8}), k_other = x({1, 2, 7, 8});
  const Value rows = x({2, 3, 8}), rows_other = x({1, 5, 8});
  return {
      {.op = "Attention",
       .opset = 23,
       .inputs = {q, k, k},
       .other = {q_other, k_other, k_other},
       .attrs = [](auto *to) { ints(to, "is_causal", {1}); }},
      {.op = "MultiHeadAttention",
       .opset = 1,
       .inputs = {rows, rows, rows},
       .other = {rows_other, rows_other, rows_other},
       .attrs = [](auto *to) { ints(to, "num_heads", {2}); }},
  };
}

} // namespace lk::conformance
