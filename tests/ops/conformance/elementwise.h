// Element-wise operators.
#pragma once

#include "tests/ops/conformance/node.h"

namespace lk::conformance {

// 0, 1, 0, ... of a type, or 1 only.
inline Value whole(uint32_t dtype, const Dims &dims, bool ones = false) {
  Value value;
  value.desc = lk::desc_of(dtype, dims);
  const size_t size = lk::dtype_bytes(dtype);
  value.bytes.resize(size_t(lk::count_of(dims)) * size);
  for (size_t i = 0; i < value.bytes.size(); i += size) value.bytes[i] = ones || i / size % 2 == 0;
  return value;
}
inline void direction(std::vector<lk_attr> *attrs) {
  attrs->push_back({"direction", LK_ATTR_STRING, 4, "LEFT"});
}

inline std::vector<Node> conformance_elementwise() {
  const Dims a = {2, 3, 4, 4}, b = {3, 3, 5, 4};
  const auto attr = [](const char *name, int64_t value) {
    return [=](auto *to) { ints(to, name, {value}); };
  };
  const auto bits = [&](lk_dtype dtype) {
    return [=](const Dims &dims) { return whole(dtype, dims); };
  };
  std::vector<Node> nodes;
  // inputs of one shape, by `value`
  const auto add = [&](std::vector<const char *> ops, size_t inputs, auto value) {
    for (const char *op : ops) {
      nodes.push_back({.op = op,
                       .opset = LK_MAX_OPSET,
                       .inputs = std::vector<Value>(inputs, value(a)),
                       .other = std::vector<Value>(inputs, value(b))});
    }
  };
  add({"Abs",
       "Acos",
       "Acosh",
       "Asin",
       "Asinh",
       "Atan",
       "Atanh",
       "Ceil",
       "Celu",
       "Cos",
       "Cosh",
       "Elu",
       "Erf",
       "Exp",
       "FastGelu",
       "Floor",
       "Gelu",
       "HardSigmoid",
       "IsInf",
       "IsNaN",
       "HardSwish",
       "LeakyRelu",
       "Log",
       "Mish",
       "Neg",
       "Reciprocal",
       "Relu",
       "Round",
       "Selu",
       "Shrink",
       "Sigmoid",
       "Sign",
       "Sin",
       "Sinh",
       "Softplus",
       "Softsign",
       "Sqrt",
       "QuickGelu",
       "GeluTanh",
       "Swish",
       "Tan",
       "Tanh",
       "ThresholdedRelu"},
      1, x);
  add({"Add", "BiasGelu", "CastLike", "Div", "Equal", "Greater", "GreaterOrEqual", "Less",
       "LessOrEqual", "Mod", "Mul", "PRelu", "Pow", "Sub", "SwiGLU"},
      2, x);
  add({"Max", "Mean", "Min", "Sum"}, 3, x);
  add({"Not"}, 1, bits(LK_BOOL));
  add({"And", "Or", "Xor"}, 2, bits(LK_BOOL));
  add({"BitwiseNot"}, 1, bits(LK_U16));
  add({"BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor"}, 2, bits(LK_U8));
  for (Node &node : nodes) {
    if (node.op == std::string("BitShift")) node.attrs = direction;
    // x is no shape that depends on the batch
    if (node.inputs[0].desc.dtype != LK_F32) node.empty = false;
  }
  const Value f = lk::floats({}, {1}), yes = whole(LK_BOOL, {4});
  nodes.push_back({.op = "BitCast",
                   .opset = 26,
                   .inputs = {x(a)},
                   .other = {x(b)},
                   .attrs = attr("to", LK_I32)});
  nodes.push_back(
      {.op = "Cast", .opset = 13, .inputs = {x(a)}, .other = {x(b)}, .attrs = attr("to", LK_I32)});
  nodes.push_back(
      {.op = "Clip", .opset = 13, .inputs = {x(a), f}, .other = {x(b), f}, .constants = {0, 1}});
  nodes.push_back(
      {.op = "Where", .opset = 16, .inputs = {yes, x(a), x(a)}, .other = {yes, x(b), x(b)}});
  return nodes;
}

} // namespace lk::conformance
