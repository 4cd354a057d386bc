// Losses, poolings and norms without scales, products by an equation.
#pragma once

#include "tests/ops/conformance/node.h"

namespace lk::conformance {

inline std::vector<Node> conformance_algebra() {
  const Dims a = {2, 3, 4, 4}, b = {3, 3, 5, 4}, m = {4, 6}, n = {5, 6};
  std::vector<Node> nodes;
  for (const char *op :
       {"GlobalLpPool", "GlobalMaxPool", "LpNormalization", "MeanVarianceNormalization"}) {
    nodes.push_back({.op = op, .opset = 22, .inputs = {x(a)}, .other = {x(b)}});
  }
  nodes.push_back(
      {.op = "LpPool", .opset = 22, .inputs = {x(a)}, .other = {x(b)}, .attrs = kernel_of_2});
  for (const char *op : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
    nodes.push_back({.op = op,
                     .opset = 13,
                     .inputs = {x(m), lk::ints({0, 5, 2, 3}), x({6})},
                     .other = {x(n), lk::ints({0, 5, 2, 3, 1}), x({6})},
                     .empty = false});
  }
  nodes.push_back({.op = "Einsum",
                   .opset = 12,
                   .inputs = {x(m), x({6, 3})},
                   .other = {x(n), x({6, 3})},
                   .constants = {0, 1},
                   .attrs = [](auto *to) {
                     static const char equation[] = "ij,jk->ik";
                     to->push_back({"equation", LK_ATTR_STRING, sizeof equation - 1, equation});
                   }});
  return nodes;
}

} // namespace lk::conformance
