// Element programs one element at a time, in plain C++: what element_test.cc expects, and the
// functions of f32 with the largest errors that they may have, which benchmarks/element_accuracy.cc
// measures over all values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

extern "C" {
#include "ops/kernel/element/element.h"
#include "ops/kernel/isa.h"
#include "ops/kernel/number.h"
}

namespace lk {

// ---- functions of one number -------------------------------------------------------------------

inline double sigmoid(double x) {
  const double z = std::exp(-std::fabs(x));
  return (x < 0 ? z : 1) / (1 + z);
}
inline double softplus(double x) {
  return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
}
inline double clip(double x, double low, double high) {
  const double up = x < low ? low : x;
  return up > high ? high : up;
}

// In double, of an f32 or f64.
inline double element_function(uint32_t op, double x, double p, double q) {
  switch (op) {
  case LK_ELEMENT_ABS:
    return std::fabs(x);
  case LK_ELEMENT_NEG:
    return -x;
  case LK_ELEMENT_SIGN:
    return x < 0 ? -1 : x > 0 ? 1 : x;
  case LK_ELEMENT_FLOOR:
    return std::floor(x);
  case LK_ELEMENT_CEIL:
    return std::ceil(x);
  case LK_ELEMENT_ROUND:
    return std::nearbyint(x);
  case LK_ELEMENT_RECIPROCAL:
    return 1 / x;
  case LK_ELEMENT_SQRT:
    return std::sqrt(x);
  case LK_ELEMENT_SQUARE:
    return x * x;
  case LK_ELEMENT_EXP:
    return std::exp(x);
  case LK_ELEMENT_LOG:
    return std::log(x);
  case LK_ELEMENT_SIN:
    return std::sin(x);
  case LK_ELEMENT_COS:
    return std::cos(x);
  case LK_ELEMENT_TAN:
    return std::tan(x);
  case LK_ELEMENT_ASIN:
    return std::asin(x);
  case LK_ELEMENT_ACOS:
    return std::acos(x);
  case LK_ELEMENT_ATAN:
    return std::atan(x);
  case LK_ELEMENT_SINH:
    return std::sinh(x);
  case LK_ELEMENT_COSH:
    return std::cosh(x);
  case LK_ELEMENT_ASINH:
    return std::asinh(x);
  case LK_ELEMENT_ACOSH:
    return std::acosh(x);
  case LK_ELEMENT_ATANH:
    return std::atanh(x);
  case LK_ELEMENT_TANH:
    return std::tanh(x);
  case LK_ELEMENT_ERF:
    return std::erf(x);
  case LK_ELEMENT_SIGMOID:
    return sigmoid(x);
  case LK_ELEMENT_SOFTPLUS:
    return std::isnan(x) ? x : softplus(x);
  case LK_ELEMENT_SOFTSIGN:
    return x / (1 + std::fabs(x));
  case LK_ELEMENT_MISH:
    return x * std::tanh(std::isnan(x) ? x : softplus(x));
  case LK_ELEMENT_GELU:
    return x * (0.5 * std::erfc(-x / std::sqrt(2.0)));
  case LK_ELEMENT_GELU_TANH:
    return x * sigmoid(2 * std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x));
  case LK_ELEMENT_RELU:
    return x < 0 ? 0 : x;
  case LK_ELEMENT_LEAKY_RELU:
    return x < 0 ? p * x : x;
  case LK_ELEMENT_THRESHOLD:
    return x > p ? x : 0;
  case LK_ELEMENT_SHRINK:
    return x < -p ? x + q : x > p ? x - q : 0;
  case LK_ELEMENT_ELU:
    return x < 0 ? p * std::expm1(q * x) : x;
  case LK_ELEMENT_CLIP:
    return clip(x, p, q);
  case LK_ELEMENT_SATURATE:
    return std::isnan(x) ? p : clip(x, p, q);
  case LK_ELEMENT_HARDSIGMOID:
    return clip(p * x + q, 0, 1);
  case LK_ELEMENT_HARDSWISH:
    return x * clip(p * x + q, 0, 1);
  case LK_ELEMENT_SWISH:
    return x * sigmoid(p * x);
  case LK_ELEMENT_QUOTIENT:
    return x / p;
  default:
    return p * x + q; // LK_ELEMENT_LINEAR
  }
}

// The largest error in units of the last place, for AVX2 and AVX-512, and for SSE2.
// docs/design/kernels.md has what was measured.
struct FunctionOfOne {
  const char *name;
  uint32_t op;
  float p, q;
  double ulp, ulp_sse2;
};
constexpr FunctionOfOne FUNCTIONS[] = {
    {"abs", LK_ELEMENT_ABS, 0, 0, 0, 0},
    {"neg", LK_ELEMENT_NEG, 0, 0, 0, 0},
    {"sign", LK_ELEMENT_SIGN, 0, 0, 0, 0},
    {"floor", LK_ELEMENT_FLOOR, 0, 0, 0, 0},
    {"ceil", LK_ELEMENT_CEIL, 0, 0, 0, 0},
    {"round", LK_ELEMENT_ROUND, 0, 0, 0, 0},
    {"reciprocal", LK_ELEMENT_RECIPROCAL, 0, 0, 0.5, 0.5},
    {"sqrt", LK_ELEMENT_SQRT, 0, 0, 0.5, 0.5},
    {"square", LK_ELEMENT_SQUARE, 0, 0, 0.5, 0.5},
    {"exp", LK_ELEMENT_EXP, 0, 0, 1.1, 1.5},
    {"log", LK_ELEMENT_LOG, 0, 0, 1.1, 1.5},
    {"sin", LK_ELEMENT_SIN, 0, 0, 0.6, 0.6},
    {"cos", LK_ELEMENT_COS, 0, 0, 0.6, 0.6},
    {"tanh", LK_ELEMENT_TANH, 0, 0, 3, 3},
    {"tan", LK_ELEMENT_TAN, 0, 0, 1.5, 1.5},
    {"asin", LK_ELEMENT_ASIN, 0, 0, 2.5, 2.5},
    {"acos", LK_ELEMENT_ACOS, 0, 0, 1.5, 1.5},
    {"atan", LK_ELEMENT_ATAN, 0, 0, 2.5, 2.5},
    {"sinh", LK_ELEMENT_SINH, 0, 0, 2, 2},
    {"cosh", LK_ELEMENT_COSH, 0, 0, 2, 2},
    {"asinh", LK_ELEMENT_ASINH, 0, 0, 2.5, 2.5},
    {"acosh", LK_ELEMENT_ACOSH, 0, 0, 2.5, 2.5},
    {"atanh", LK_ELEMENT_ATANH, 0, 0, 3, 3},
    {"erf", LK_ELEMENT_ERF, 0, 0, 1.5, 2},
    {"sigmoid", LK_ELEMENT_SIGMOID, 0, 0, 2.5, 3},
    {"softplus", LK_ELEMENT_SOFTPLUS, 0, 0, 3, 3},
    {"softsign", LK_ELEMENT_SOFTSIGN, 0, 0, 1.5, 1.5},
    {"mish", LK_ELEMENT_MISH, 0, 0, 5, 5.5},
    {"gelu", LK_ELEMENT_GELU, 0, 0, 6, 100},
    {"gelu_tanh", LK_ELEMENT_GELU_TANH, 0, 0, 210, 210},
    {"relu", LK_ELEMENT_RELU, 0, 0, 0, 0},
    {"leaky_relu", LK_ELEMENT_LEAKY_RELU, 0.01F, 0, 0.5, 0.5},
    {"threshold", LK_ELEMENT_THRESHOLD, 1, 0, 0, 0},
    {"shrink", LK_ELEMENT_SHRINK, 0.5F, 0.25F, 0.5, 0.5},
    {"elu", LK_ELEMENT_ELU, 1, 1, 2, 2.5},
    {"clip", LK_ELEMENT_CLIP, -1, 6, 0, 0},
    {"saturate", LK_ELEMENT_SATURATE, -1, 6, 0, 0},
    {"hard_sigmoid", LK_ELEMENT_HARDSIGMOID, 0.2F, 0.5F, 0.5, 1e9},
    {"hard_swish", LK_ELEMENT_HARDSWISH, 1.0F / 6, 0.5F, 1.5, 1e9},
    {"swish", LK_ELEMENT_SWISH, 1, 0, 3.5, 4},
    {"linear", LK_ELEMENT_LINEAR, 2, 1, 0.5, 1e9},
    {"quotient", LK_ELEMENT_QUOTIENT, 3, 0, 0.5, 0.5},
};

// Units of the last place between a result and the true value. Below 2^-119 of a gated function it
// is that of 2^-119: what is multiplied there has fewer digits than others.
inline double ulps(uint32_t op, float found, double expected) {
  if (std::isnan(expected) || std::isnan(found)) {
    return std::isnan(expected) && std::isnan(found) ? 0 : INFINITY;
  }
  const bool is_gated = op == LK_ELEMENT_SWISH || op == LK_ELEMENT_MISH || op == LK_ELEMENT_GELU ||
                        op == LK_ELEMENT_GELU_TANH || op == LK_ELEMENT_HARDSWISH;
  // infinity stands for the number behind the largest one
  const auto finite = [](double x) {
    return std::fabs(x) < 0x1p128 ? x : std::copysign(0x1p128, x);
  };
  const double value = finite(found), truth = finite(expected);
  const int exponent = truth == 0 ? -126 : std::min(std::ilogb(truth), 127);
  return std::fabs(value - truth) /
         std::ldexp(1.0, std::max(exponent, is_gated ? -119 : -126) - 23);
}

// ---- programs ----------------------------------------------------------------------------------

union Number {
  float f32;
  double f64;
  int32_t i32;
  int64_t i64;
  uint64_t u64;
};

template <typename T> T wrapping(uint32_t op, T x, T y, bool *fault) {
  using U = std::make_unsigned_t<T>;
  const bool is_minus_one = std::is_signed_v<T> && y == T(-1);
  switch (op) {
  case LK_ELEMENT_ADD:
    return T(U(x) + U(y));
  case LK_ELEMENT_SUB:
    return T(U(x) - U(y));
  case LK_ELEMENT_MUL:
    return T(U(x) * U(y));
  case LK_ELEMENT_MIN:
    return std::min(x, y);
  case LK_ELEMENT_MAX:
    return std::max(x, y);
  case LK_ELEMENT_AND:
    return x & y;
  case LK_ELEMENT_OR:
    return x | y;
  case LK_ELEMENT_XOR:
    return x ^ y;
  case LK_ELEMENT_SHIFT_LEFT:
    return uint64_t(y) < 8 * sizeof(T) ? T(U(x) << y) : 0;
  case LK_ELEMENT_SHIFT_RIGHT:
    return uint64_t(y) < 8 * sizeof(T) ? T(x >> y) : T(x < 0 ? -1 : 0);
  case LK_ELEMENT_POW: {
    if (y < 0) {
      *fault |= x == 0;
      if (x == T(-1)) return (y & 1) != 0 ? x : T(1);
      return x == 1; // 1 / x^-y toward zero
    }
    // from the highest bit of the exponent on
    U power = 1;
    for (int bit = 8 * int(sizeof(T)) - 1; bit >= 0; bit--) {
      power *= power;
      if ((U(y) >> bit & 1) != 0) power *= U(x);
    }
    return T(power);
  }
  default:
    break;
  }
  if (y == 0) {
    *fault = true;
    return 0;
  }
  if (is_minus_one) return op == LK_ELEMENT_DIV ? T(U(0) - U(x)) : 0;
  if (op == LK_ELEMENT_DIV) return x / y;
  const T rest = x % y;
  const bool differs = op == LK_ELEMENT_MOD && rest != 0 && (rest < 0) != (y < 0);
  return differs ? rest + y : rest;
}

inline double floating(uint32_t op, double x, double y) {
  switch (op) {
  case LK_ELEMENT_ADD:
    return x + y;
  case LK_ELEMENT_SUB:
    return x - y;
  case LK_ELEMENT_MUL:
    return x * y;
  case LK_ELEMENT_DIV:
    return x / y;
  case LK_ELEMENT_POW:
    return std::pow(x, y);
  case LK_ELEMENT_MIN:
    return std::isnan(x) || std::isnan(y) ? NAN : std::min(x, y);
  case LK_ELEMENT_MAX:
    return std::isnan(x) || std::isnan(y) ? NAN : std::max(x, y);
  case LK_ELEMENT_FMOD:
    return std::fmod(x, y);
  default: {
    const double rest = std::fmod(x, y);
    return rest == 0 ? std::copysign(0, y) : (rest < 0) != (y < 0) ? rest + y : rest;
  }
  }
}

template <typename T> bool compare(uint32_t op, T x, T y) {
  return op == LK_ELEMENT_EQUAL ? x == y : op == LK_ELEMENT_LESS ? x < y : x <= y;
}

inline double to_double(uint32_t class_, Number x) {
  switch (class_) {
  case LK_ELEMENT_F32:
    return x.f32;
  case LK_ELEMENT_F64:
    return x.f64;
  case LK_ELEMENT_I32:
  case LK_ELEMENT_BOOL:
    return x.i32;
  case LK_ELEMENT_I64:
    return double(x.i64);
  default:
    return double(x.u64);
  }
}

inline Number cast(uint32_t from, uint32_t to, Number x) {
  Number y = {};
  const bool is_whole = from != LK_ELEMENT_F32 && from != LK_ELEMENT_F64;
  const uint64_t bits = from == LK_ELEMENT_I32 ? uint64_t(int64_t(x.i32)) : x.u64;
  const double value = to_double(from, x);
  switch (to) {
  case LK_ELEMENT_F32:
    y.f32 = from == LK_ELEMENT_I64   ? float(x.i64)
            : from == LK_ELEMENT_U64 ? float(x.u64)
                                     : float(value);
    break;
  case LK_ELEMENT_F64:
    y.f64 = value;
    break;
  case LK_ELEMENT_I32:
    y.i32 = is_whole ? int32_t(bits) : lk_f64_to_i32(value);
    break;
  case LK_ELEMENT_I64:
    y.i64 = is_whole ? int64_t(bits) : lk_f64_to_i64(value);
    break;
  case LK_ELEMENT_BOOL:
    y.i32 = is_whole ? bits != 0 : value != 0;
    break;
  default:
    y.u64 = is_whole ? bits : lk_f64_to_u64(value);
    break;
  }
  return y;
}

inline Number element_step(const lk_element_step &step, Number a, Number b, Number c, bool *fault) {
  const uint32_t op = step.op, class_ = step.class_;
  const bool is_float = class_ == LK_ELEMENT_F32 || class_ == LK_ELEMENT_F64;
  const bool is_narrow = class_ == LK_ELEMENT_I32 || class_ == LK_ELEMENT_BOOL;
  Number y = {};
  if (op == LK_ELEMENT_WHERE) return a.i32 != 0 ? b : c;
  if (op >= LK_ELEMENT_TO_F32 && op <= LK_ELEMENT_TO_BOOL) {
    return cast(class_, op - LK_ELEMENT_TO_F32 + LK_ELEMENT_F32, a);
  }
  const double x = to_double(class_, a), z = to_double(class_, b);
  if (op == LK_ELEMENT_EQUAL || op == LK_ELEMENT_LESS || op == LK_ELEMENT_LESS_EQUAL) {
    y.i32 = is_float                   ? compare(op, x, z)
            : is_narrow                ? compare(op, a.i32, b.i32)
            : class_ == LK_ELEMENT_I64 ? compare(op, a.i64, b.i64)
                                       : compare(op, a.u64, b.u64);
    return y;
  }
  if (op == LK_ELEMENT_NOT) {
    y.i32 = is_float || is_narrow ? x == 0 : a.u64 == 0;
    return y;
  }
  if (op == LK_ELEMENT_IS_NAN || op == LK_ELEMENT_IS_INF) {
    y.i32 =
        op == LK_ELEMENT_IS_NAN ? std::isnan(x) : std::isinf(x) && (x < 0 ? step.p : step.q) != 0;
    return y;
  }
  if (is_float) {
    double value = op >= LK_ELEMENT_ADD ? floating(op, x, z)
                                        : element_function(op, x, double(step.p), double(step.q));
    if (op == LK_ELEMENT_FMA) value = std::fma(x, z, to_double(class_, c));
    if (class_ == LK_ELEMENT_F64) {
      y.f64 = value;
    } else {
      y.f32 = op == LK_ELEMENT_FMA    ? std::fma(a.f32, b.f32, c.f32)
              : op == LK_ELEMENT_FMOD ? std::fmod(a.f32, b.f32)
                                      : float(value);
    }
    return y;
  }
  const auto whole = [&](auto p, auto q, auto r) {
    using T = decltype(p);
    switch (op) {
    case LK_ELEMENT_ABS:
      return p < 0 ? wrapping<T>(LK_ELEMENT_SUB, 0, p, fault) : p;
    case LK_ELEMENT_NEG:
      return wrapping<T>(LK_ELEMENT_SUB, 0, p, fault);
    case LK_ELEMENT_SIGN:
      return T(p < 0 ? -1 : p > 0);
    case LK_ELEMENT_SQUARE:
      return wrapping<T>(LK_ELEMENT_MUL, p, p, fault);
    case LK_ELEMENT_RELU:
      return p < 0 ? T(0) : p;
    case LK_ELEMENT_BIT_NOT:
      return T(~p);
    case LK_ELEMENT_FMA:
      return wrapping<T>(LK_ELEMENT_ADD, wrapping<T>(LK_ELEMENT_MUL, p, q, fault), r, fault);
    default:
      return wrapping<T>(op, p, q, fault);
    }
  };
  if (is_narrow) y.i32 = whole(a.i32, b.i32, c.i32);
  if (class_ == LK_ELEMENT_I64) y.i64 = whole(a.i64, b.i64, c.i64);
  if (class_ == LK_ELEMENT_U64) y.u64 = whole(a.u64, b.u64, c.u64);
  return y;
}

// ---- memory ------------------------------------------------------------------------------------

template <typename T> T read_as(const void *at) {
  T x;
  std::memcpy(&x, at, sizeof x);
  return x;
}

inline Number read_element(uint32_t dtype, const void *at) {
  Number x = {};
  switch (dtype) {
  case LK_F16:
    x.f32 = float(lk_f16_to_f64(read_as<uint16_t>(at)));
    break;
  case LK_BF16:
    x.f32 = float(lk_bf16_to_f64(read_as<uint16_t>(at)));
    break;
  case LK_I8:
    x.i32 = read_as<int8_t>(at);
    break;
  case LK_U8:
    x.i32 = read_as<uint8_t>(at);
    break;
  case LK_BOOL:
    x.i32 = read_as<uint8_t>(at) != 0;
    break;
  case LK_I16:
    x.i32 = read_as<int16_t>(at);
    break;
  case LK_U16:
    x.i32 = read_as<uint16_t>(at);
    break;
  case LK_U32:
    x.i64 = read_as<uint32_t>(at);
    break;
  case LK_F32:
  case LK_I32:
    std::memcpy(&x, at, 4);
    break;
  default:
    std::memcpy(&x, at, 8);
    break;
  }
  return x;
}

inline void write_element(uint32_t dtype, void *at, Number x, size_t size) {
  uint64_t bits = x.u64;
  if (dtype == LK_F16) bits = lk_f64_to_f16(double(x.f32));
  if (dtype == LK_BF16) bits = lk_f64_to_bf16(double(x.f32));
  if (dtype == LK_BOOL) bits = x.i32 != 0;
  std::memcpy(at, &bits, size);
}

// Values of a program for one element; `inputs` in its order.
inline void element_reference(const lk_element_program &program, const Number *inputs,
                              Number *outputs, bool *fault) {
  Number values[LK_ELEMENT_VALUES] = {};
  std::memcpy(values, inputs, program.n_inputs * sizeof *values);
  std::memcpy(values + LK_ELEMENT_INPUTS, program.numbers, sizeof program.numbers);
  for (uint32_t i = 0; i < program.n_steps; i++) {
    const lk_element_step &step = program.steps[i];
    values[LK_ELEMENT_INPUTS + LK_ELEMENT_NUMBERS + i] = element_step(
        step, values[step.operands[0]], values[step.operands[1]], values[step.operands[2]], fault);
  }
  for (uint32_t i = 0; i < program.n_outputs; i++) outputs[i] = values[program.outputs[i]];
}

} // namespace lk
