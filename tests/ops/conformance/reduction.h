// Reductions, and what goes along one dimension.
#pragma once

#include "tests/ops/conformance/node.h"

namespace lk::conformance {

inline std::vector<Node> conformance_reduction() {
  const Dims a = {2, 3, 4, 4}, b = {3, 3, 5, 4};
  std::vector<Node> nodes;
  for (const char *op :
       {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
        "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "CumProd", "CumSum"}) {
    const Value axis = lk::ints({-1});
    nodes.push_back({.op = op,
                     .opset = LK_MAX_OPSET,
                     .inputs = {x(a), axis},
                     .other = {x(b), axis},
                     .constants = {0, 1}});
  }
  for (const char *op : {"ArgMax", "ArgMin", "Hardmax", "LogSoftmax", "Softmax"}) {
    nodes.push_back(
        {.op = op, .opset = LK_MAX_OPSET, .inputs = {x(a)}, .other = {x(b)}, .attrs = [](auto *to) {
           ints(to, "axis", {1});
         }});
  }
  return nodes;
}

} // namespace lk::conformance
