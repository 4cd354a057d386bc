// Norms over dimensions, channels and groups.
#pragma once

#include "tests/ops/conformance/node.h"

namespace lk::conformance {

inline void groups_of_two(std::vector<lk_attr> *attrs) {
  ints(attrs, "num_groups", {2});
}

inline std::vector<Node> conformance_norms() {
  const Dims a = {2, 3, 4}, b = {3, 5, 4}, c = {2, 4, 3, 3}, d = {3, 4, 2, 3};
  const Value row = x({4}), channels = x({4, 1, 1});
  const auto norm = [&](const char *op, int32_t opset, std::vector<Value> more) {
    Node node = {.op = op, .opset = opset, .inputs = {x(a)}, .other = {x(b)}};
    for (const Value &value : more) node.inputs.push_back(value);
    for (const Value &value : more) node.other.push_back(value);
    return node;
  };
  Node skip = norm("SkipLayerNormalization", 1, {}), skip_rms = skip;
  for (Node *node : {&skip, &skip_rms}) {
    node->inputs = {x(a), x(a), row};
    node->other = {x(b), x(b), row};
  }
  skip_rms.op = "SkipSimplifiedLayerNormalization";
  return {
      {.op = "GroupNormalization",
       .opset = 21,
       .inputs = {x(c), row, row},
       .other = {x(d), row, row},
       .attrs = groups_of_two},
      {.op = "GroupNormalization",
       .opset = 1,
       .inputs = {x(c), channels, channels},
       .other = {x(d), channels, channels},
       .attrs = groups_of_two,
       .empty = false,
       .domain = "latchkey"},
      {.op = "InstanceNormalization",
       .opset = 13,
       .inputs = {x(c), row, row},
       .other = {x(d), row, row}},
      norm("LayerNormalization", 17, {row, row}),
      norm("RMSNormalization", 23, {row}),
      norm("SimplifiedLayerNormalization", 13, {row}),
      skip,
      skip_rms,
  };
}

} // namespace lk::conformance
