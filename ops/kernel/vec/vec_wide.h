/* Functions of f64 on vectors, to three units of the last place, most to one. As vec_math.h:
 * arguments are reduced after Cody and Waite, and what follows are Taylor series, as long as the
 * last digit asks for. */
#pragma once

#include "ops/kernel/vec/vec_double.h"

LK_VEC_FN vecd wide_abs(vecd x) {
  return (vecd)((vecul)x & UINT64_C(0x7fffffffffffffff));
}
/* The magnitude of x, which is not negative, with the sign of `sign`. */
LK_VEC_FN vecd wide_with_sign(vecd x, vecd sign) {
  return (vecd)((vecul)x | ((vecul)sign & UINT64_C(0x8000000000000000)));
}
/* Held between two numbers; NaN stays NaN. */
LK_VEC_FN vecd wide_clip(vecd x, double low, double high) {
  const vecd least = vecd_splat(low), most = vecd_splat(high);
  const vecd up = vecd_select(vecd_lt(x, least), least, x);
  return vecd_select(vecd_lt(most, up), most, up);
}

/* ---- exponentials ---- */

/* 2^n for whole n in -1022 .. 1023. */
LK_VEC_FN vecd wide_power(vecd n) {
  return (vecd)(((vecul)(n + VECD_WHOLE) + 1023) << 52);
}
/* x 2^n, rounded once, for whole n in -1100 .. 1100 and x near 1. */
LK_VEC_FN vecd wide_scale(vecd x, vecd n) {
#if LK_VEC_BYTES == 64
  return (vecd)_mm512_scalef_pd((__m512d)x, (__m512d)n);
#else
  const vecd half = (n * 0.5 + VECD_WHOLE) - VECD_WHOLE;
  return x * wide_power(half) * wide_power(n - half);
#endif
}
/* e^x = 2^n (1 + m): n, a whole number, and m. For |x| < 2^20. */
LK_VEC_FN vecd wide_exp_parts(vecd x, vecd *n) {
  *n = (x * 0x1.71547652b82fep+0 + VECD_WHOLE) - VECD_WHOLE;
  const vecd r = vecd_fma(*n, vecd_splat(-0x1.a39ef35793c76p-33),
                          vecd_fma(*n, vecd_splat(-0x1.62e42feep-1), x));
  const vecd q = VECD_POLYNOMIAL(r, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040,
                                 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800,
                                 1.0 / 479001600, 1.0 / 6227020800);
  return vecd_fma(r * r, q, r);
}
LK_VEC_FN vecd wide_exp(vecd x) {
  vecd n;
  const vecd m = wide_exp_parts(wide_clip(x, -746, 710), &n);
  return wide_scale(m + 1.0, n);
}
/* e^x - 1 for x in -700 .. 700. */
LK_VEC_FN vecd wide_expm1_inside(vecd x) {
  vecd n;
  const vecd m = wide_exp_parts(x, &n), power = wide_power(n);
  return vecd_fma(m, power, power - 1.0);
}
/* By e^2|x| - 1. From 20 on the result is 1. */
LK_VEC_FN vecd wide_tanh(vecd x) {
  const vecd size = wide_abs(x);
  const vecd t = wide_expm1_inside(wide_clip(size + size, 0, 44));
  return wide_with_sign(t / (t + 2.0), x);
}
LK_VEC_FN vecd wide_sigmoid(vecd x) {
  /* of -|x|: cannot overflow, and keeps the small values of negative x */
  const vecd z = wide_exp(-wide_abs(x));
  return vecd_select(vecd_lt(x, vecd_splat(0)), z, vecd_splat(1)) / (z + 1.0);
}
LK_VEC_FN vecd wide_elu(vecd x, vecd p, vecd q) {
  const vecd below = p * wide_expm1_inside(wide_clip(q * x, -60, 60));
  return vecd_select(vecd_lt(x, vecd_splat(0)), below, x);
}
/* x (1 + tanh(z)) / 2 is x sigmoid(2 z), where z = sqrt(2 / pi) (x + 0.044715 x^3). */
LK_VEC_FN vecd wide_gelu_tanh(vecd x) {
  return x * wide_sigmoid(2 * 0x1.9884533d43651p-1 * (x + 0.044715 * x * x * x));
}
/* x tanh(log(1 + e^x)), where tanh(log(y)) = (y^2 - 1) / (y^2 + 1). */
LK_VEC_FN vecd wide_mish(vecd x) {
  const vecd e = wide_exp(wide_clip(x, -800, 40));
  const vecd n = e * (e + 2.0);
  return x * (n / (n + 2.0));
}

/* ---- logarithms ---- */

/* Of x = 2^e (1 + f) by s = f / (2 + f): log(1 + f) = f - f^2/2 + s (f^2/2 + R), where R is what
 * atanh(s) has behind its first term. */
LK_VEC_FN vecd wide_log(vecd x) {
  const uint64_t one = UINT64_C(0x3ff0000000000000), root = UINT64_C(0x3fe6a09e667f3bcd);
  const vecd_mask is_small = vecd_lt(x, vecd_splat(0x1p-1022)); /* denormal, 0 or negative */
  const vecd scaled = vecd_select(is_small, x * 0x1p54, x);
  const vecul biased = ((vecul)scaled + (one - root)) >> 52;
  const vecd f = (vecd)((vecul)scaled - (biased << 52) + one) - 1.0;
  /* 2^52 with the exponent for its last bits */
  const vecd e = (vecd)(biased | UINT64_C(0x4330000000000000)) - (0x1p52 + 1023) -
                 vecd_select(is_small, vecd_splat(54), vecd_splat(0));
  const vecd s = f / (f + 2.0), square = s * s, half = f * f * 0.5;
  const vecd rest = square * VECD_POLYNOMIAL(square, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11,
                                             2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21);
  const vecd low = vecd_fma(s, half + rest, e * 0x1.a39ef35793c76p-33);
  const vecd log = vecd_fma(e, vecd_splat(0x1.62e42feep-1), f - (half - low));
  /* infinity and NaN are their own logarithms, in a way; 0 has minus infinity, less has NaN */
  const vecd none = vecd_select(vecd_eq(x, vecd_splat(0)), vecd_splat(-(double)INFINITY),
                                vecd_splat((double)NAN));
  return vecd_select(vecd_le(x, vecd_splat(0)), none,
                     vecd_select(vecd_lt(x, vecd_splat((double)INFINITY)), log, x));
}
/* log(1 + e^x): what 1 + z loses by rounding is put back. */
LK_VEC_FN vecd wide_softplus(vecd x) {
  const vecd z = wide_exp(-wide_abs(x)), u = z + 1.0;
  return vecd_select(vecd_lt(x, vecd_splat(0)), vecd_splat(0), x) +
         (wide_log(u) + (z - (u - 1.0)) / u);
}

/* ---- sine and cosine ---- */

/* Beyond it, reducing by pi/2 in three parts is not exact enough. */
#define WIDE_SINE_LIMIT 0x1p20

/* sin(x + quarters pi/2) for |x| up to the limit. The first two parts of pi/2 have 33 bits each, so
 * that they times a number of quarters are exact; `tail` is what rounding takes off r. */
LK_VEC_FN vecd wide_circle(vecd x, uint64_t quarters) {
  const vecd sum = x * 0x1.45f306dc9c883p-1 + VECD_WHOLE, n = sum - VECD_WHOLE;
  const vecd first = vecd_fma(n, vecd_splat(-0x1.921fb544p+0), x), part = n * 0x1.0b4611a6p-34;
  const vecd second = first - part;
  const vecd third = n * 0x1.3198a2e037073p-69 - ((first - second) - part);
  const vecd r = second - third, tail = (second - r) - third;
  const vecd square = r * r, half = square * 0.5;
  const vecd sine = r + vecd_fma(r * square,
                                 VECD_POLYNOMIAL(square, -1.0 / 6, 1.0 / 120, -1.0 / 5040,
                                                 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800,
                                                 -1.0 / 1307674368000, 1.0 / 355687428096000),
                                 vecd_fma(-half, tail, tail));
  const vecd near = 1.0 - half;
  const vecd cosine =
      near + vecd_fma(square * square,
                      VECD_POLYNOMIAL(square, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800,
                                      1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000),
                      ((1.0 - near) - half) - r * tail);
  const vecul quarter = (vecul)sum + quarters, is_odd = -(quarter & 1);
  const vecul value = ((vecul)sine & ~is_odd) | ((vecul)cosine & is_odd);
  return (vecd)(value ^ ((quarter & 2) << 62));
}
/* As vec_circle_end. */
LK_VEC_FN vecd wide_circle_end(vecd x, vecd y, vecd at_zero, double (*beyond)(double)) {
  if (__builtin_expect(vecd_any_lane(vecd_lt(vecd_splat(WIDE_SINE_LIMIT), wide_abs(x))), 0)) {
    for (int i = 0; i < LK_VEC_LANES / 2; i++) {
      if (fabs(x[i]) > WIDE_SINE_LIMIT) y[i] = beyond(x[i]);
    }
  }
  return vecd_select(vecd_eq(x, vecd_splat(0)), at_zero, y);
}
LK_VEC_FN vecd wide_sin(vecd x) {
  return wide_circle_end(x, wide_circle(x, 0), x, sin);
}
LK_VEC_FN vecd wide_cos(vecd x) {
  return wide_circle_end(x, wide_circle(x, 1), vecd_splat(1), cos);
}

/* ---- what a division leaves ---- */

/* Of magnitudes whose quotient is below 2^52, exact: the quotient may have been rounded up to a
 * whole number, and then the rest is one divisor too small. The product is not rounded. */
LK_VEC_FN vecd wide_rest_inside(vecd x, vecd y) {
  const vecd rest = vecd_fma(-vecd_trunc(x / y), y, x);
  return vecd_select(vecd_lt(rest, vecd_splat(0)), rest + y, rest);
}
LK_VEC_FN vecd wide_fmod(vecd x, vecd y) {
  const vecd a = wide_abs(x), b = wide_abs(y);
  /* SSE2 rounds products: only what is its own rest needs none */
  const vecd limit = LK_VEC_BYTES == 16 ? b : b * 0x1p52;
  vecd rest = vecd_select(vecd_lt(a, b), a, wide_rest_inside(a, b));
  rest = wide_with_sign(rest, x);
  /* infinite x, and 0 for y, have become NaN, as they should */
  if (__builtin_expect(vecd_any_lane(vecd_le(limit, a)), LK_VEC_BYTES == 16)) {
    for (int i = 0; i < LK_VEC_LANES / 2; i++) {
      if (a[i] >= limit[i] && b[i] > 0) rest[i] = fmod(x[i], y[i]);
    }
  }
  return rest;
}
/* With the sign of the divisor. */
LK_VEC_FN vecd wide_mod(vecd x, vecd y) {
  const vecd rest = wide_fmod(x, y), zero = vecd_splat(0);
  const vecd_mask differs = vecd_lt(rest * wide_with_sign(vecd_splat(1), y), zero);
  return vecd_select(vecd_eq(rest, zero), wide_with_sign(zero, y),
                     vecd_select(differs, rest + y, rest));
}
