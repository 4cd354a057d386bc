/* Functions of f32 on vectors that need more digits on the way: sine, cosine, tangent, powers. They
 * go by way of double, in halves; see vec_math.h for the rest. */
#pragma once

#include "ops/kernel/vec/vec_math.h"

typedef uint64_t vecul __attribute__((vector_size(LK_VEC_BYTES)));

LK_VEC_FN vecd vecd_splat(double x) {
  return x - (vecd){0};
}
LK_VEC_FN vecd vecd_polynomial(vecd x, const double *c, int count) {
  vecd sum = vecd_splat(c[count - 1]);
#pragma GCC unroll 16
  for (int i = count - 2; i >= 0; i--) sum = vecd_fma(sum, x, vecd_splat(c[i]));
  return sum;
}
#define VECD_POLYNOMIAL(x, ...)                                                                    \
  vecd_polynomial(x, (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / 8)

/* Rounds |x| < 2^51 to the nearest: added to it, the number's last bit is worth 1. The sum's low
 * bits are those of the whole number. */
#define VECD_WHOLE 0x1.8p52

/* ---- sine, cosine and tangent ---- */

/* Beyond it, reducing by pi/2 in two parts is not exact enough. */
#define VEC_SINE_LIMIT 0x1p20F

/* Sine and cosine of what x, |x| <= VEC_SINE_LIMIT, has beyond a number of quarters of a circle,
 * which is returned. */
LK_VEC_FN vecul vecd_circle(vecd x, vecd *sine, vecd *cosine) {
  const vecd sum = x * 0x1.45f306dc9c883p-1 + VECD_WHOLE;
  const vecd n = sum - VECD_WHOLE;
  const vecd r =
      vecd_fma(n, vecd_splat(-0x1.0b4611a626331p-34), vecd_fma(n, vecd_splat(-0x1.921fb544p+0), x));
  const vecd square = r * r;
  *sine = r * VECD_POLYNOMIAL(square, 0x1.fffffffff5e4ep-1, -0x1.55555548c99f6p-3,
                              0x1.111107090a518p-7, -0x1.a00ebb936b217p-13, 0x1.6cae02b75de28p-19);
  *cosine =
      VECD_POLYNOMIAL(square, 0x1.ffffffffffda9p-1, -0x1.ffffffffdf9e2p-2, 0x1.55555542e82aep-5,
                      -0x1.6c16b1f1a0e82p-10, 0x1.a00e2d4d84881p-16, -0x1.23b49af2b1109p-22);
  return (vecul)sum;
}
/* sin(x + quarters pi/2). */
LK_VEC_FN vecd vecd_sine(vecd x, uint64_t quarters) {
  vecd sine, cosine;
  const vecul quarter = vecd_circle(x, &sine, &cosine) + quarters;
  const vecul is_odd = -(quarter & 1);
  const vecul value = ((vecul)sine & ~is_odd) | ((vecul)cosine & is_odd);
  return (vecd)(value ^ ((quarter & 2) << 62));
}
LK_VEC_FN vecd vecd_tan(vecd x) {
  vecd sine, cosine;
  const vecul is_odd = -(vecd_circle(x, &sine, &cosine) & 1);
  const vecul over = ((vecul)sine & ~is_odd) | ((vecul)-cosine & is_odd);
  const vecul under = ((vecul)cosine & ~is_odd) | ((vecul)sine & is_odd);
  return (vecd)over / (vecd)under;
}
/* y, with the C library's function in the lanes that are beyond the limit; and `at_zero`, because
 * the sum above loses the sign of -0. */
LK_VEC_FN vec vec_circle_end(vec x, vec y, vec at_zero, float (*beyond)(float)) {
  if (vec_any_lane(vec_lt(vec_splat(VEC_SINE_LIMIT), vec_abs(x)))) {
    for (int i = 0; i < LK_VEC_LANES; i++) {
      if (fabsf(x[i]) > VEC_SINE_LIMIT) y[i] = beyond(x[i]);
    }
  }
  return vec_select(vec_eq(x, vec_splat(0)), at_zero, y);
}
LK_VEC_FN vec vec_sin(vec x) {
  const vec y = vec_from_halves(vecd_sine(vecd_low(x), 0), vecd_sine(vecd_high(x), 0));
  return vec_circle_end(x, y, x, sinf);
}
LK_VEC_FN vec vec_cos(vec x) {
  const vec y = vec_from_halves(vecd_sine(vecd_low(x), 1), vecd_sine(vecd_high(x), 1));
  return vec_circle_end(x, y, vec_splat(1), cosf);
}
LK_VEC_FN vec vec_tan(vec x) {
  const vec y = vec_from_halves(vecd_tan(vecd_low(x)), vecd_tan(vecd_high(x)));
  return vec_circle_end(x, y, x, tanf);
}

/* ---- powers ---- */

/* Of x >= 0 that was an f32, so that no denormal comes here. By atanh((m - 1) / (m + 1)). */
LK_VEC_FN vecd vecd_log2(vecd x) {
  const uint64_t one = UINT64_C(0x3ff0000000000000), root = UINT64_C(0x3fe6a09e667f3bcd);
  const vecul biased = ((vecul)x + (one - root)) >> 52;
  const vecd m = (vecd)((vecul)x - (biased << 52) + one);
  /* 2^52 with the exponent for its last bits */
  const vecd e = (vecd)(biased | UINT64_C(0x4330000000000000)) - (0x1p52 + 1023);
  const vecd s = (m - 1.0) / (m + 1.0);
  const vecd log =
      vecd_fma(s,
               VECD_POLYNOMIAL(s * s, 0x1.71547652bee1ep+1, 0x1.ec709d1293c5dp-1,
                               0x1.277780184ea9bp-1, 0x1.a58d70fff76ccp-2, 0x1.5cea242ff58d0p-2),
               e);
  const vecd at_zero = vecd_select(vecd_eq(x, vecd_splat(0)), vecd_splat(-(double)INFINITY), log);
  return vecd_select(vecd_lt(x, vecd_splat((double)INFINITY)), at_zero, x); /* NaN stays too */
}
/* Of x in -1000 .. 1000, or NaN. */
LK_VEC_FN vecd vecd_exp2(vecd x) {
  const vecd sum = x + VECD_WHOLE;
  const vecd f = x - (sum - VECD_WHOLE);
  const vecd p = VECD_POLYNOMIAL(
      f, 0x1.ffffffffaa66bp-1, 0x1.62e42ff11c123p-1, 0x1.ebfbe0a6ce20dp-3, 0x1.c6b08aa6aaddfp-5,
      0x1.3b29da82e2e99p-7, 0x1.5d8a75a29bf24p-10, 0x1.446b87ca9dc99p-13, 0x1.fe15a31d8f74fp-17);
  return p * (vecd)(((vecul)sum + 1023) << 52);
}
/* |x|^y but for the cases below. Beyond the clipped exponents, f32 has 0 and infinity. */
LK_VEC_FN vecd vecd_pow(vecd x, vecd y) {
  const vecd t = y * vecd_log2(x);
  const vecd low = vecd_select(vecd_lt(t, vecd_splat(-160)), vecd_splat(-160), t);
  return vecd_exp2(vecd_select(vecd_lt(vecd_splat(140), low), vecd_splat(140), low));
}
/* With the special cases of C's pow (annex F.10.4.4), which are numpy's too. */
LK_VEC_FN vec vec_pow(vec x, vec y) {
  const vec size = vec_abs(x), one = vec_splat(1);
  vec power = vec_from_halves(vecd_pow(vecd_low(size), vecd_low(y)),
                              vecd_pow(vecd_high(size), vecd_high(y)));
  const vec_mask is_whole = vec_eq(vec_trunc(y), y);
  const vec half = y * 0.5F;
  /* a negative base: NaN but for whole exponents, negative for odd ones; -0 and -infinity have no
   * NaN */
  const vec signed_power = vec_select(vec_eq(vec_trunc(half), half), power,
                                      vec_select(is_whole, vec_with_sign(power, x), power));
  const vec_mask is_negative = vec_lt(x, vec_splat(0));
  const vec wrong = vec_select(vec_lt(vec_splat(-INFINITY), x), vec_splat(NAN), power);
  const vec of_negative = vec_select(is_whole, signed_power, wrong);
  power = vec_select(is_negative, of_negative, signed_power);
  /* 1, and -1 to an infinite power */
  const vec of_one = vec_select(vec_eq(vec_abs(y), vec_splat(INFINITY)), one, power);
  power = vec_select(vec_eq(size, one), of_one, power);
  power = vec_select(vec_eq(x, one), one, power);
  return vec_select(vec_eq(y, vec_splat(0)), one, power);
}
