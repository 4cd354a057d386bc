// Functions of an element as nodes and as plain loops, and numbers for which they are special.
#pragma once

#include <cfloat>
#include <cmath>

#include "tests/ops/engine/host.h"

namespace lk {

struct Function {
  const char *op;
  int32_t opset;
  double (*loop)(double);
  bool is_taken; // by oneDNN, which is as exact there
  const char *attr = nullptr;
  float number = 0;
  const char *domain = "";
};

inline double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
inline double softplus(double x) {
  return x > 30 ? x : std::log1p(std::exp(x));
}
inline double gelu_tanh(double x) {
  return x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) / 2;
}

inline const Function FUNCTIONS[] = {
    {"Abs", 13, [](double x) { return std::fabs(x); }, true},
    {"Sqrt", 13, [](double x) { return std::sqrt(x); }, true},
    {"Round", 11, [](double x) { return std::nearbyint(x); }, true},
    {"Pow", 13, [](double x) { return x * x; }, true},
    {"Reciprocal", 13, [](double x) { return 1 / x; }, true},
    {"Sigmoid", 13, sigmoid, true},
    {"Tanh", 13, [](double x) { return std::tanh(x); }, true},
    {"HardSwish", 14,
     [](double x) { return x * std::fmin(std::fmax(double(1 / 6.0F) * x + 0.5, 0), 1); }, true},
    {"Swish", 24, [](double x) { return x * sigmoid(2 * x); }, true, "alpha", 2},
    {"LeakyRelu", 16, [](double x) { return x < 0 ? 0.25 * x : x; }, true, "alpha", 0.25F},
    {"Elu", 7, [](double x) { return x < 0 ? 0.5 * std::expm1(x) : x; }, false, "alpha", 0.5F},
    {"FastGelu", 1, gelu_tanh, true, nullptr, 0, "com.microsoft"},
    {"LeakyRelu", 16, [](double x) { return x < 0 ? -2 * x : x; }, false, "alpha", -2},
    {"Relu", 14, [](double x) { return x > 0 || std::isnan(x) ? x : 0; }, false},
    {"Neg", 13, [](double x) { return -x; }, false},
    {"Exp", 13, [](double x) { return std::exp(x); }, false},
    {"Log", 13, [](double x) { return std::log(x); }, false},
    {"Softplus", 7, softplus, false},
    {"Mish", 18, [](double x) { return x * std::tanh(softplus(x)); }, false},
    {"Gelu", 20,
     [](double x) { return x == -HUGE_VAL ? NAN : x * (1 + std::erf(x / M_SQRT2)) / 2; }, false},
    {"Selu", 7,
     [](double x) {
       return double(1.05070102F) * (x < 0 ? double(1.67326319F) * std::expm1(x) : x);
     },
     false},
};

inline Case case_of(const Function &function, const Value &x) {
  Case made;
  made.node.op = function.op;
  made.node.opset = function.opset;
  made.node.domain = function.domain;
  if (function.attr != nullptr) made.node.floats = {{function.attr, {function.number}}};
  made.inputs = {x};
  if (made.node.op == "Pow") {
    made.node.constants = {lk::tensor<float>({}, {2})};
    made.inputs.push_back(made.node.constants[0]);
  }
  return made;
}

inline const float SPECIAL[] = {
    0.0F,    -0.0F,  1,       -1,         0.5F,     -0.5F,    2.5F,   -2.5F,    1e-40F, -1e-40F,
    FLT_MIN, 1e-30F, -1e-30F, FLT_MAX,    -FLT_MAX, 1e20F,    -1e20F, 88,       -88,    104,
    -104,    -16,    16,      8388607.5F, -1000.5F, INFINITY, NAN,    -INFINITY};

// `dims` with some dimensions of size 1, and some of the first ones left out.
inline Dims repeated(Draw *draw, const Dims &dims) {
  Dims made = dims;
  const int64_t kept = draw->in(0, (int64_t(1) << dims.size()) - 1);
  for (size_t i = 0; i < dims.size(); i++) {
    if ((kept >> i & 1) == 0) made[i] = 1;
  }
  while (!made.empty() && made[0] == 1 && draw->maybe()) made.erase(made.begin());
  return made;
}

} // namespace lk
