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
  const auto bytes = [](const Dims &dims) {
    Value value = x(dims);
    value.desc.dtype = LK_U8;
    value.bytes.assign(static_cast<size_t>(value.count()), 7);
    return value;
  };
  // all inputs, of two rows
  const Value w = bytes({1, 4, 12}), r = bytes({1, 3, 12}), bias = x({1, 24}), p = x({1, 9});
  const Value state = x({1, 2, 3}), scale = lk::floats({1}, {0.5F}), zero = bytes({1});
  const Value lengths = lk::tensor<int32_t>({2}, {2, 3});
  const Node quantized = {
      .op = "DynamicQuantizeLSTM",
      .opset = 14,
      .inputs = {x(a), w, r, bias, lengths, state, state, p, scale, zero, scale, zero},
      .other = {x({5, 2, 4}), w, r, bias, lengths, state, state, p, scale, zero, scale, zero},
      .constants = {false, true, true, true},
      .empty = false};
  return {quantized, layer("GRU", 3), layer("LSTM", 4), layer("RNN", 1)};
}

} // namespace lk::conformance
