// Recurrent layers.
#pragma once

#include "tests/ops/conformance/node.h"

namespace lk::conformance {

inline std::vector<Node> conformance_recurrent() {
  const Dims a = {3, 2, 4}, b = {5, 6, 4};
  const auto layer = [&](const char *op, int64_t gates) {
    const Value w = x({1, 3 * gates, 4}), r = x({1, 3 * gates, 3}), bias = x({1, 6 * gates});
    return Node{.op = op,
                .opset = 14,
                .inputs = {x(a), w, r, bias},
                .other = {x(b), w, r, bias},
                .constants = {false, true, true, true}};
  };
  return {layer("GRU", 3), layer("LSTM", 4), layer("RNN", 1)};
}

} // namespace lk::conformance
