/* Functions of f32 on vectors. Their largest errors are measured over all 2^32 values by
 * benchmarks/element_accuracy.cc and stated in docs/design/kernels.md.
 *
 * Every lane is computed by itself, so that a value does not depend on where it lies. Polynomials
 * are minimax fits by Remez exchange, weighted for relative error; arguments are reduced after Cody
 * and Waite, "Software Manual for the Elementary Functions" (1980). */
#pragma once

#include <float.h>
#include <math.h>

#include "ops/kernel/vec/vec.h"

/* c[0] + x (c[1] + x (c[2] + ...)). Unrolled: `count` is a constant where it is inlined. */
LK_VEC_FN vec vec_polynomial(vec x, const float *c, int count) {
  vec sum = vec_splat(c[count - 1]);
#pragma GCC unroll 16
  for (int i = count - 2; i >= 0; i--) sum = vec_fma(sum, x, vec_splat(c[i]));
  return sum;
}
#define VEC_POLYNOMIAL(x, ...)                                                                     \
  vec_polynomial(x, (const float[]){__VA_ARGS__}, sizeof((const float[]){__VA_ARGS__}) / 4)

/* ---- exponentials ---- */

/* e^r - 1 for |r| <= ln(2) / 2. */
LK_VEC_FN vec vec_exp_near(vec r) {
  const vec q = VEC_POLYNOMIAL(r, 0x1.fffffep-2F, 0x1.5554b0p-3F, 0x1.555674p-5F, 0x1.1227aep-7F,
                               0x1.6bebb4p-10F);
  return vec_fma(r * r, q, r);
}
/* e^x = 2^n (1 + m): n, a whole number, and m. For |x| < 2^16. ln 2 has two parts, so that n times
 * the first one is exact. */
LK_VEC_FN vec vec_exp_parts(vec x, vec *n) {
  *n = vec_round(x * 0x1.715476p+0F);
  return vec_exp_near(
      vec_fma(*n, vec_splat(-0x1.7f7d1cp-20F), vec_fma(*n, vec_splat(-0x1.62e4p-1F), x)));
}
/* For x in -150 .. 120. */
LK_VEC_FN vec vec_exp_inside(vec x) {
  vec n;
  const vec m = vec_exp_parts(x, &n);
  return vec_scale(m + 1.0F, n);
}
LK_VEC_FN vec vec_exp(vec x) {
  return vec_exp_inside(vec_clip(x, vec_splat(-104), vec_splat(89)));
}
/* e^x for x <= 0, or NaN; 0 for x <= -88, next to where the least normal number is. What is masked
 * lies there, and an instruction with a denormal result takes a hundred times its time on many
 * processors, even if the result is rounded to 0. */
LK_VEC_FN vec vec_exp_or_zero(vec x) {
  vec n;
  const vec m = vec_exp_parts(vec_max_or_second(vec_splat(-88), x), &n);
  const vec power = vec_power(n);
  return vec_fma(m, power, power);
}
/* e^x - 1 for x in -40 .. 40. */
LK_VEC_FN vec vec_expm1_inside(vec x) {
  vec n;
  const vec m = vec_exp_parts(x, &n);
  const vec power = vec_power(n);
  return vec_fma(m, power, power - 1.0F);
}
/* By e^2|x| - 1, which is exact enough for small x too. From 10 on the result is 1. */
LK_VEC_FN vec vec_tanh(vec x) {
  const vec size = vec_abs(x);
  const vec t = vec_expm1_inside(vec_min_or_second(vec_splat(20), size + size));
  return vec_with_sign(t / (t + 2.0F), x);
}
LK_VEC_FN vec vec_sigmoid(vec x) {
  /* of -|x|: cannot overflow, and keeps the small values of negative x */
  const vec z = vec_exp_inside(-vec_min_or_second(vec_splat(104), vec_abs(x)));
  return vec_select(vec_lt(x, vec_splat(0)), z, vec_splat(1)) / (z + 1.0F);
}

/* ---- logarithms ---- */

LK_VEC_FN vec vec_log(vec x) {
  const vec_mask is_small = vec_lt(x, vec_splat(FLT_MIN)); /* denormal, 0 or negative */
  const vec scaled = vec_select(is_small, x * 0x1p23F, x);
  /* x = 2^e m, m in [sqrt(1/2), sqrt(2)) */
  const veci exponent = (veci)((vecu)scaled - 0x3f3504f3) >> 23;
  const vec f = (vec)((vecu)scaled - ((vecu)exponent << 23)) - 1.0F;
  const vec e = vec_from_int(exponent) - vec_select(is_small, vec_splat(23), vec_splat(0));
  const vec p = VEC_POLYNOMIAL(f, 0x1.555548p-2F, -0x1.000006p-2F, 0x1.99a4b6p-3F, -0x1.555c54p-3F,
                               0x1.23376ap-3F, -0x1.fc2140p-4F, 0x1.e6ef8ap-4F, -0x1.de4038p-4F,
                               0x1.145e76p-4F);
  const vec square = f * f;
  const vec rest = vec_fma(e, vec_splat(0x1.7f7d1cp-20F), vec_fma(f * square, p, square * -0.5F));
  const vec log = vec_fma(e, vec_splat(0x1.62e4p-1F), f + rest);
  /* infinity and NaN are their own logarithms, in a way; 0 has minus infinity, less has NaN */
  const vec none = vec_select(vec_eq(x, vec_splat(0)), vec_splat(-INFINITY), vec_splat(NAN));
  return vec_select(vec_le(x, vec_splat(0)), none,
                    vec_select(vec_lt(x, vec_splat(INFINITY)), log, x));
}
/* log(1 + z) for z in 0 .. 1. */
LK_VEC_FN vec vec_log1p_inside(vec z) {
  return z * VEC_POLYNOMIAL(z, 1.0F, -0x1.ffffbep-2F, 0x1.554c80p-2F, -0x1.ff0f86p-3F,
                            0x1.92f68ep-3F, -0x1.39754cp-3F, 0x1.b2531ep-4F, -0x1.d29c52p-5F,
                            0x1.453e98p-6F, -0x1.a932a2p-9F);
}
LK_VEC_FN vec vec_softplus(vec x) {
  const vec z = vec_exp_inside(-vec_min_or_second(vec_splat(104), vec_abs(x)));
  return vec_max_or_second(vec_splat(0), x) + vec_log1p_inside(z);
}

/* ---- the normal distribution ---- */

LK_VEC_FN vec vec_erf(vec x) {
  const vec size = vec_abs(x);
  const vec p = VEC_POLYNOMIAL(x * x, 0x1.06eba8p-3F, -0x1.812742p-2F, 0x1.ce2dcap-4F,
                               -0x1.b80962p-6F, 0x1.549664p-8F, -0x1.a88d90p-11F, 0x1.574edep-14F);
  const vec small = vec_fma(x, p, x);
  /* log(erfc(t)) from 0.94 to 4, where erf becomes 1 */
  const vec t = vec_min_or_second(vec_splat(4), size);
  const vec log =
      VEC_POLYNOMIAL(t, 0x1.795870p-13F, -0x1.21298ap+0F, -0x1.443f6cp-1F, -0x1.bbbdfap-4F,
                     0x1.9c242ep-6F, -0x1.123d6ep-8F, 0x1.ca7b5cp-12F, -0x1.65f0bap-16F);
  vec n;
  const vec m = vec_exp_parts(log, &n), power = vec_power(n);
  const vec large = vec_with_sign(1.0F - vec_fma(m, power, power), x);
  return vec_select(vec_lt(size, vec_splat(0.95F)), small, large);
}
/* x times the normal distribution function: max(x, 0) - |x| h(x), where h(x), the distribution at
 * -|x|, lies in 0 .. 1/2, so that both sides are exact relative to themselves. h is exp(-x^2/2)
 * times a smooth function, here a polynomial of u = |x| / (|x| + 3) over |x| + 3. */
LK_VEC_FN vec vec_gelu(vec x) {
  const vec size = vec_min_or_second(vec_splat(15), vec_abs(x));
  const vec u = size / (size + 3.0F);
  const vec p = VEC_POLYNOMIAL(u, 0x1.800002p+0F, -0x1.0b953cp+1F, 0x1.11bcaep+0F, 0x1.a42e38p-3F,
                               -0x1.041a9ap-2F, -0x1.eae0aap-4F, 0x1.f9ddeap-9F, 0x1.35d69ap-3F,
                               -0x1.0fe7a0p-4F);
  /* as in vec_exp_parts, but x^2 is rounded only when the whole part is gone from it: r = x^2 +
   * 2 n ln(2), and exp(-r/2) */
  const vec n = vec_round(size * size * -0x1.715476p-1F);
  const vec r = vec_fma(n, vec_splat(0x1.7f7d1cp-19F), vec_fma(size, size, n * 0x1.62e4p+0F));
  const vec e = VEC_POLYNOMIAL(r, 1.0F, -0x1.fffff6p-2F, 0x1.fffdc4p-4F, -0x1.555a6ep-6F,
                               0x1.573ad0p-9F, -0x1.0fa7d6p-12F);
  /* minus infinity times 0 is NaN, as of the product that this stands for */
  const vec above = vec_select(vec_eq(x, vec_splat(-INFINITY)), vec_splat(NAN),
                               vec_max_or_second(vec_splat(0), x));
  return vec_fma(-(u * p), vec_scale(e, n), above);
}
/* x (1 + tanh(z)) / 2 is x sigmoid(2 z), where z = sqrt(2 / pi) (x + 0.044715 x^3). */
LK_VEC_FN vec vec_gelu_tanh(vec x) {
  return x * vec_sigmoid(x * vec_fma(x * x, vec_splat(0x1.2444f2p-4F), vec_splat(0x1.988454p+0F)));
}
/* x tanh(log(1 + e^x)), where tanh(log(y)) = (y^2 - 1) / (y^2 + 1). */
LK_VEC_FN vec vec_mish(vec x) {
  const vec e = vec_exp_inside(vec_clip(x, vec_splat(-104), vec_splat(20)));
  const vec n = e * (e + 2.0F);
  return x * (n / (n + 2.0F));
}
