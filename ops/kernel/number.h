/* Conversions between element types, without undefined behaviour: what is out of range comes out
 * as x86-64 instructions leave it. */
#pragma once

#include <latchkey/base.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Toward zero; out of range and NaN: the least value (cvttsd2si). */
static inline int64_t lk_f64_to_i64(double value) {
  return value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : INT64_MIN;
}
static inline int32_t lk_f64_to_i32(double value) {
  return value > -0x1p31 - 1 && value < 0x1p31 ? (int32_t)value : INT32_MIN;
}
/* Negative values wrap around, as compilers for x86-64 have it. */
static inline uint64_t lk_f64_to_u64(double value) {
  if (value < 0x1p63) return (uint64_t)lk_f64_to_i64(value);
  return (uint64_t)lk_f64_to_i64(value - 0x1p63) ^ (UINT64_C(1) << 63);
}

/* The integer types: X(lk_dtype, name, C type). */
#define LK_EACH_INTEGER(X)                                                                         \
  X(LK_I8, i8, int8_t)                                                                             \
  X(LK_I16, i16, int16_t)                                                                          \
  X(LK_I32, i32, int32_t)                                                                          \
  X(LK_I64, i64, int64_t)                                                                          \
  X(LK_U8, u8, uint8_t)                                                                            \
  X(LK_U16, u16, uint16_t)                                                                         \
  X(LK_U32, u32, uint32_t)                                                                         \
  X(LK_U64, u64, uint64_t)
#define LK_IS_SIGNED(type) ((type)-1 < (type)1)

/* Without branches, so that a compiler makes vectors of them; the way of processors that treat
 * denormal numbers as 0 is the same. */
static inline float lk_f16_to_f32(uint16_t bits) {
  const uint32_t exponents = UINT32_C(31) << 23, least = UINT32_C(113) << 23;
  const uint32_t moved = (uint32_t)(bits & 0x7fff) << 13, exponent = moved & exponents;
  const uint32_t tiny = moved + least; /* 2^-14 more than a denormal number is */
  const uint32_t normal = moved + (UINT32_C(112) << 23);
  const uint32_t special = moved + (UINT32_C(224) << 23);
  float above, base, value;
  memcpy(&above, &tiny, sizeof above);
  memcpy(&base, &least, sizeof base);
  above -= base;
  uint32_t wide;
  memcpy(&wide, &above, sizeof wide);
  wide = exponent == 0 ? wide : exponent == exponents ? special : normal;
  wide |= (uint32_t)(bits & 0x8000) << 16;
  memcpy(&value, &wide, sizeof value);
  return value;
}
/* To the nearest, ties to even; beyond the largest finite value: infinity. NaN stays NaN. */
static inline uint16_t lk_f32_to_f16(float value) {
  const uint32_t least = UINT32_C(113) << 23, infinity = UINT32_C(255) << 23;
  uint32_t wide, tiny;
  memcpy(&wide, &value, sizeof wide);
  const uint32_t sign = wide >> 16 & 0x8000;
  wide &= INT32_MAX;
  float size;
  memcpy(&size, &wide, sizeof size);
  size += 0.5F; /* whose last bit is 2^-24, and the low bits are those of a denormal number */
  memcpy(&tiny, &size, sizeof tiny);
  const uint32_t normal = (wide - (UINT32_C(112) << 23) + 0xfff + (wide >> 13 & 1)) >> 13;
  const uint32_t finite = wide < least ? tiny & 0x7ff : normal < 0x7c00 ? normal : 0x7c00;
  return (uint16_t)(sign | (wide > infinity ? 0x7e00 : wide == infinity ? 0x7c00 : finite));
}

static inline double lk_f16_to_f64(uint16_t bits) {
  return (double)lk_f16_to_f32(bits);
}
static inline double lk_bf16_to_f64(uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return (double)value;
}

/* f64 to f32, so that it can be rounded to f16 or bf16 as if it had been f64: where digits are cut
 * off, the last one that is left is odd, and so no tie (Boldo and Melquiond, "When double rounding
 * is odd", 2005). */
static inline float lk_f64_to_odd_f32(double value) {
  float near = (float)value;
  const double back = (double)near;
  uint32_t bits;
  memcpy(&bits, &near, sizeof bits);
  const bool is_over = __builtin_fabs(back) > __builtin_fabs(value);
  const bool is_inexact = back < value || back > value; /* not NaN */
  if (is_inexact) bits = (bits - (is_over ? 1 : 0)) | 1;
  memcpy(&near, &bits, sizeof near);
  return near;
}
/* To the nearest, ties to even; beyond the largest finite value: infinity. NaN stays NaN. */
static inline uint16_t lk_f64_to_f16(double value) {
  return lk_f32_to_f16(lk_f64_to_odd_f32(value));
}
static inline uint16_t lk_f64_to_bf16(double value) {
  const float odd = lk_f64_to_odd_f32(value);
  uint32_t bits;
  memcpy(&bits, &odd, sizeof bits);
  const uint32_t nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return (uint16_t)(value != value ? (bits >> 16 & 0x8000) | 0x7fc0 : nearest);
}
