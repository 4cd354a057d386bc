// Tensors of any number type from doubles that the type holds exactly.
#pragma once

#include "tests/harness/op_value.h"

namespace lk {

// IEEE 754 binary16: infinities, zero and normal numbers.
inline uint16_t half_bits(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7e00;
  if (std::isinf(value)) return sign | 0x7c00;
  if (value == 0) return sign;
  int exponent = 0;
  const double mantissa = (2 * std::frexp(std::fabs(value), &exponent) - 1) * 1024;
  EXPECT_EQ(mantissa, std::floor(mantissa)) << value << " is no f16";
  EXPECT_TRUE(exponent >= -13 && exponent <= 16) << value << " is no normal f16";
  return static_cast<uint16_t>(sign | (exponent + 14) << 10 | static_cast<int>(mantissa));
}

inline uint16_t bfloat_bits(double value) {
  const float narrow = static_cast<float>(value);
  uint32_t bits = 0;
  std::memcpy(&bits, &narrow, sizeof bits);
  EXPECT_EQ(bits & 0xffff, 0u) << value << " is no bf16";
  return static_cast<uint16_t>(bits >> 16);
}

template <typename T> Value numbers_of(const Dims &dims, const std::vector<double> &values) {
  std::vector<T> typed;
  for (double value : values) typed.push_back(static_cast<T>(value));
  return tensor<T>(dims, typed);
}

inline Value numbers(uint32_t dtype, const Dims &dims, const std::vector<double> &values) {
  std::vector<uint16_t> halves;
  switch (dtype) {
  case LK_F32:
    return numbers_of<float>(dims, values);
  case LK_F64:
    return numbers_of<double>(dims, values);
  case LK_I8:
    return numbers_of<int8_t>(dims, values);
  case LK_I16:
    return numbers_of<int16_t>(dims, values);
  case LK_I32:
    return numbers_of<int32_t>(dims, values);
  case LK_I64:
    return numbers_of<int64_t>(dims, values);
  case LK_U8:
    return numbers_of<uint8_t>(dims, values);
  case LK_U16:
    return numbers_of<uint16_t>(dims, values);
  case LK_U32:
    return numbers_of<uint32_t>(dims, values);
  case LK_U64:
    return numbers_of<uint64_t>(dims, values);
  case LK_F16:
    for (double value : values) halves.push_back(half_bits(value));
    return tensor<uint16_t>(dims, halves, LK_F16);
  case LK_BF16:
    for (double value : values) halves.push_back(bfloat_bits(value));
    return tensor<uint16_t>(dims, halves, LK_BF16);
  default:
    ADD_FAILURE() << "no numbers of type " << dtype;
    return Value();
  }
}

} // namespace lk
