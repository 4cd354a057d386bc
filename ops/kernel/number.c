/* The two 16-bit floating-point formats: sign, exponent, fraction (f16: 5 and 10 bits; bf16: 8 and
 * 7). */
#include "ops/kernel/number.h"

#include <math.h>
#include <string.h>

/* An f64: its fraction, and what its exponent stands above. */
enum { WIDE_FRACTION = 52, WIDE_BIAS = 1023 };

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

uint16_t lk_f64_to_f16(double value) {
  return to_bits(value, 10, 5);
}
uint16_t lk_f64_to_bf16(double value) {
  return to_bits(value, 7, 8);
}
