/* The two 16-bit floating-point formats: sign, exponent, fraction (f16: 5 and 10 bits; bf16: 8 and
 * 7). */
#include "ops/kernel/number.h"

#include <math.h>
#include <stdbool.h>

static double from_bits(uint16_t bits, int fraction_bits, int exponent_bits) {
  int bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  int fraction = bits & ((1 << fraction_bits) - 1);
  double value;
  if (exponent == (1 << exponent_bits) - 1) {
    value = fraction != 0 ? (double)NAN : (double)INFINITY;
  } else if (exponent == 0) {
    value = ldexp(fraction, 1 - bias - fraction_bits);
  } else {
    value = ldexp(fraction | 1 << fraction_bits, exponent - bias - fraction_bits);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

static uint16_t to_bits(double value, int fraction_bits, int exponent_bits) {
  int bias = (1 << (exponent_bits - 1)) - 1;
  unsigned sign = signbit(value) ? 0x8000u : 0u;
  unsigned infinity = ((1u << exponent_bits) - 1) << fraction_bits;
  if (isnan(value)) return (uint16_t)(sign | infinity | 1u << (fraction_bits - 1));
  if (isinf(value)) return (uint16_t)(sign | infinity);
  if (value == 0) return (uint16_t)sign;
  int exponent;
  (void)frexp(value, &exponent); /* |value| is in [2^(exponent-1), 2^exponent) */
  int scale = exponent - 1 > 1 - bias ? exponent - 1 : 1 - bias;
  /* In units of the last bit: a whole number up to 2^(fraction_bits + 1) and an exact remainder. */
  double units = ldexp(fabs(value), fraction_bits - scale);
  unsigned whole = (unsigned)units;
  double rest = units - whole;
  bool up = rest > 0.5 || (rest == 0.5 && (whole & 1) != 0);
  whole += up ? 1 : 0;
  /* The hidden bit of `whole` adds one to the exponent; so does a carry out of the fraction. */
  unsigned bits = ((unsigned)(scale + bias - 1) << fraction_bits) + whole;
  return (uint16_t)(sign | (bits < infinity ? bits : infinity));
}

double lk_f16_to_f64(uint16_t bits) {
  return from_bits(bits, 10, 5);
}
double lk_bf16_to_f64(uint16_t bits) {
  return from_bits(bits, 7, 8);
}

uint16_t lk_f64_to_f16(double value) {
  return to_bits(value, 10, 5);
}
uint16_t lk_f64_to_bf16(double value) {
  return to_bits(value, 7, 8);
}
