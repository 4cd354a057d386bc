/* The two 16-bit floating-point formats: sign, exponent, fraction (f16: 5 and 10 bits; bf16: 8 and
 * 7). */
#include "ops/kernel/number.h"

#include <math.h>
#include <string.h>

/* An f64: its fraction, and what its exponent stands above. */
enum { WIDE_FRACTION = 52, WIDE_BIAS = 1023 };

static double from_bits(uint16_t bits, int fraction_bits, int exponent_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  const uint64_t fraction = bits & ((1U << fraction_bits) - 1);
  /* the least number that is not 0, a power of 2 */
  const uint64_t least_bits = (uint64_t)(1 - bias - fraction_bits + WIDE_BIAS) << WIDE_FRACTION;
  const uint64_t normal = (uint64_t)(exponent - bias + WIDE_BIAS) << WIDE_FRACTION |
                          fraction << (WIDE_FRACTION - fraction_bits);
  double least, value;
  memcpy(&least, &least_bits, sizeof least);
  memcpy(&value, &normal, sizeof value);
  if (exponent == (1 << exponent_bits) - 1) {
    value = fraction != 0 ? (double)NAN : (double)INFINITY;
  } else if (exponent == 0) {
    value = (double)fraction * least;
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

static uint16_t to_bits(double value, int fraction_bits, int exponent_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const unsigned sign = signbit(value) ? 0x8000u : 0u;
  const unsigned infinity = ((1u << exponent_bits) - 1) << fraction_bits;
  uint64_t wide;
  if (isnan(value)) return (uint16_t)(sign | infinity | 1u << (fraction_bits - 1));
  if (isinf(value)) return (uint16_t)(sign | infinity);
  memcpy(&wide, &value, sizeof wide);
  const int exponent = (int)(wide >> WIDE_FRACTION & 0x7ff) - WIDE_BIAS;
  const int scale = exponent > 1 - bias ? exponent : 1 - bias;
  const int shift = WIDE_FRACTION - fraction_bits + scale - exponent;
  /* less than half of the least number, and so are all denormal ones */
  if (shift > WIDE_FRACTION + 1) return (uint16_t)sign;
  /* In units of the last bit: a whole number up to 2^(fraction_bits + 1) and an exact remainder. */
  const uint64_t hidden = UINT64_C(1) << WIDE_FRACTION, half = UINT64_C(1) << (shift - 1);
  const uint64_t units = (wide & (hidden - 1)) | hidden, rest = units & (2 * half - 1);
  unsigned whole = (unsigned)(units >> shift);
  whole += rest > half || (rest == half && (whole & 1) != 0) ? 1 : 0;
  /* The hidden bit of `whole` adds one to the exponent; so does a carry out of the fraction. */
  const unsigned bits = ((unsigned)(scale + bias - 1) << fraction_bits) + whole;
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
