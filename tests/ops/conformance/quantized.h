// Whole numbers for real ones.
#pragma once

#include "tests/ops/conformance/node.h"

namespace lk::conformance {

inline std::vector<Node> conformance_quantized() {
  const Dims a = {2, 3, 4}, b = {3, 3, 5};
  const Value scale = x({3});
  const auto bytes = [](const Dims &dims) {
    Value value = x(dims);
    value.desc.dtype = LK_U8;
    value.bytes.assign(static_cast<size_t>(value.count()), 7);
    return value;
  };
  const Value zero = bytes({3});
  return {
      {.op = "DequantizeLinear",
       .opset = 13,
       .inputs = {bytes(a), scale, zero},
       .other = {bytes(b), scale, zero},
       .empty = false},
      {.op = "QuantizeLinear",
       .opset = 13,
       .inputs = {x(a), scale, zero},
       .other = {x(b), scale, zero}},
  };
}

} // namespace lk::conformance
