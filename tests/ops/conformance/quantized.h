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
  const Value zero = bytes({3}), one = lk::floats({1}, {0.5F}), z = bytes({1});
  const Value m = bytes({4, 6}), n = bytes({5, 6}), w = bytes({6, 3}), k = bytes({4, 3, 3, 3});
  const Value image = bytes({2, 3, 4, 4}), other = bytes({3, 3, 5, 4});
  return {
      {.op = "ConvInteger",
       .opset = 10,
       .inputs = {image, k, z, z},
       .other = {other, k, z, z},
       .constants = {0, 1},
       .empty = false},
      {.op = "DequantizeLinear",
       .opset = 13,
       .inputs = {bytes(a), scale, zero},
       .other = {bytes(b), scale, zero},
       .empty = false},
      {.op = "DynamicQuantizeLinear",
       .opset = 11,
       .inputs = {x(a)},
       .other = {x(b)},
       .empty = false},
      {.op = "DynamicQuantizeMatMul",
       .opset = 13,
       .inputs = {x({4, 6}), w, one, z},
       .other = {x({5, 6}), w, one, z},
       .constants = {0, 1}},
      {.op = "MatMulInteger",
       .opset = 10,
       .inputs = {m, w, z, zero},
       .other = {n, w, z, zero},
       .constants = {0, 1},
       .empty = false},
      {.op = "MatMulIntegerToFloat",
       .opset = 13,
       .inputs = {m, w, one, scale, z, zero},
       .other = {n, w, one, scale, z, zero},
       .constants = {0, 1},
       .empty = false},
      {.op = "QGemm",
       .opset = 13,
       .inputs = {m, one, z, w, scale, zero},
       .other = {n, one, z, w, scale, zero},
       .constants = {0, 0, 0, 1},
       .empty = false},
      {.op = "QLinearAdd",
       .opset = 13,
       .inputs = {m, one, z, m, one, z, one, z},
       .other = {n, one, z, n, one, z, one, z},
       .empty = false},
      {.op = "QLinearAveragePool",
       .opset = 13,
       .inputs = {image, one, z, one, z},
       .other = {other, one, z, one, z},
       .attrs = kernel_of_2,
       .empty = false},
      {.op = "QLinearConcat",
       .opset = 13,
       .inputs = {one, z, m, one, z, m, one, z},
       .other = {one, z, n, one, z, n, one, z},
       .attrs = [](auto *to) { ints(to, "axis", {1}); },
       .empty = false},
      {.op = "QLinearConv",
       .opset = 10,
       .inputs = {image, one, z, k, one, z, one, z},
       .other = {other, one, z, k, one, z, one, z},
       .constants = {0, 0, 0, 1},
       .empty = false},
      {.op = "QLinearGlobalAveragePool",
       .opset = 13,
       .inputs = {image, one, z, one, z},
       .other = {other, one, z, one, z},
       .empty = false},
      {.op = "QLinearLeakyRelu",
       .opset = 13,
       .inputs = {m, one, z, one, z},
       .other = {n, one, z, one, z},
       .empty = false},
      {.op = "QLinearMatMul",
       .opset = 10,
       .inputs = {m, one, z, w, scale, zero, one, z},
       .other = {n, one, z, w, scale, zero, one, z},
       .constants = {0, 0, 0, 1},
       .empty = false},
      {.op = "QLinearMul",
       .opset = 13,
       .inputs = {m, one, z, m, one, z, one, z},
       .other = {n, one, z, n, one, z, one, z},
       .empty = false},
      {.op = "QLinearSigmoid",
       .opset = 13,
       .inputs = {m, one, z, one, z},
       .other = {n, one, z, one, z},
       .empty = false},
      {.op = "QLinearSoftmax",
       .opset = 13,
       .inputs = {m, one, z, one, z},
       .other = {n, one, z, one, z},
       .attrs = [](auto *to) { ints(to, "axis", {1}), ints(to, "opset", {13}); },
       .empty = false},
      {.op = "QuantizeLinear",
       .opset = 13,
       .inputs = {x(a), scale, zero},
       .other = {x(b), scale, zero}},
  };
}

} // namespace lk::conformance
