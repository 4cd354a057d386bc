// Element-wise operators.
#pragma once

#include "tests/ops/infer/draw.h"

namespace lk::infer {

inline Rules infer_elementwise() {
  Rules rules;
  for (const char *op :
       {"Abs",      "Acos",      "Acosh",    "Asin",       "Asinh",       "Atan",
        "Atanh",    "Ceil",      "Celu",     "Cos",        "Cosh",        "Elu",
        "Erf",      "Exp",       "Floor",    "Gelu",       "HardSwish",   "IsInf",
        "IsNaN",    "LeakyRelu", "Log",      "Mish",       "Neg",         "QuickGelu",
        "Relu",     "Round",     "Selu",     "Shrink",     "Sigmoid",     "Sign",
        "Sin",      "Sinh",      "Softplus", "Softsign",   "Sqrt",        "Swish",
        "GeluTanh", "Tan",       "Tanh",     "Reciprocal", "HardSigmoid", "ThresholdedRelu"}) {
    rules[op] = unary;
  }
  for (const char *op : {"Add", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual",
                         "Mul", "Pow", "Sub"}) {
    rules[op] = [](Draw &d) { binary(d); };
  }
  rules["Mod"] = [](Draw &d) {
    binary(d);
    d.node.ints["fmod"] = {1};
  };
  for (const char *op : {"And", "Or", "Xor"}) rules[op] = [](Draw &d) { binary(d, LK_BOOL); };
  for (const char *op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) {
    rules[op] = [](Draw &d) { binary(d, LK_U32); };
  }
  rules["BitShift"] = [](Draw &d) {
    binary(d, LK_U32);
    d.node.texts["direction"] = "RIGHT";
  };
  for (const char *op : {"Max", "Mean", "Min", "Sum"}) {
    rules[op] = [](Draw &d) {
      const Shape shape = d.shape(0, 4);
      for (int64_t n = d.between(1, 3); n > 0; n--) d.tensor(d.beside(shape));
    };
  }
  for (const char *op : {"BiasGelu", "FastGelu", "PRelu", "SwiGLU"}) {
    rules[op] = [](Draw &d) {
      const Shape shape = d.shape(0, 4);
      d.tensor(shape);
      d.tensor(d.beside(shape));
    };
  }
  rules["BitwiseNot"] = [](Draw &d) { d.tensor(d.shape(0, 4), LK_U8); };
  rules["Not"] = [](Draw &d) { d.tensor(d.shape(0, 4), LK_BOOL); };
  for (const char *op : {"BitCast", "Cast"}) {
    rules[op] = [](Draw &d) {
      unary(d);
      d.node.ints["to"] = {d.one_of(3) ? LK_F32 : LK_I32};
    };
  }
  rules["CastLike"] = [](Draw &d) {
    unary(d);
    d.tensor(d.shape(0, 4), d.one_of(3) ? LK_F32 : LK_I64);
  };
  rules["Clip"] = [](Draw &d) {
    unary(d);
    if (d.one_of(2)) d.tensor({});
    if (d.one_of(2)) d.tensor(d.one_of(2) ? Shape{} : Shape{Draw::number(1)});
  };
  rules["Where"] = [](Draw &d) {
    const Shape shape = d.shape(0, 4);
    d.tensor(d.beside(shape), LK_BOOL);
    d.tensor(d.beside(shape));
    d.tensor(d.beside(shape));
  };
  return rules;
}

} // namespace lk::infer
