/* Conversions between element types, without undefined behaviour: what is out of range comes out
 * as x86-64 instructions leave it. */
#pragma once

#include <latchkey/base.h>
#include <stdint.h>

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

double lk_f16_to_f64(uint16_t bits);
double lk_bf16_to_f64(uint16_t bits);
/* To the nearest, ties to even; beyond the largest finite value: infinity. NaN stays NaN. */
uint16_t lk_f64_to_f16(double value);
uint16_t lk_f64_to_bf16(double value);
