/* Functions of f32 on vectors: the inverses of sine, cosine and tangent, hyperbolic functions, and
 * their inverses. As vec_math.h, which they are made of. */
#pragma once

#include "ops/kernel/vec/vec_math.h"

/* ---- inverses of sine, cosine and tangent ---- */

/* pi/2 in two parts, the first of which is an f32. */
#define VEC_HALF_PI 0x1.921fb6p+0F
#define VEC_HALF_PI_REST -0x1.777a5cp-25F

/* Of -1/2 .. 1/2. */
LK_VEC_FN vec vec_asin_near(vec x) {
  const vec square = x * x;
  const vec p = VEC_POLYNOMIAL(square, 0x1.5555c8p-3F, 0x1.330204p-4F, 0x1.747bb8p-5F,
                               0x1.8c3e50p-6F, 0x1.595c60p-5F);
  return vec_fma(x * square, p, x);
}
/* Beyond 1/2, by the half angle, whose sine is the root of (1 - |x|) / 2. */
LK_VEC_FN vec vec_asin(vec x) {
  const vec size = vec_abs(x);
  const vec_mask is_small = vec_le(size, vec_splat(0.5F));
  const vec half = vec_sqrt((1.0F - size) * 0.5F);
  const vec near = vec_asin_near(vec_select(is_small, size, half));
  const vec large = vec_fma(near, vec_splat(-2), vec_splat(VEC_HALF_PI));
  return vec_with_sign(vec_select(is_small, near, large + VEC_HALF_PI_REST), x);
}
LK_VEC_FN vec vec_acos(vec x) {
  const vec size = vec_abs(x);
  const vec_mask is_small = vec_le(size, vec_splat(0.5F));
  const vec near = vec_asin_near(vec_select(is_small, x, vec_sqrt((1.0F - size) * 0.5F)));
  const vec twice = near + near;
  const vec left = (VEC_HALF_PI * 2 - twice) + VEC_HALF_PI_REST * 2;
  const vec middle = VEC_HALF_PI - (near - VEC_HALF_PI_REST);
  return vec_select(is_small, middle, vec_select(vec_lt(x, vec_splat(0)), left, twice));
}
/* From tan(pi/8) on by the angle to pi/4, and from tan(3 pi/8) on by that to pi/2. */
LK_VEC_FN vec vec_atan(vec x) {
  const vec size = vec_abs(x), one = vec_splat(1), zero = vec_splat(0);
  const vec_mask is_far = vec_lt(vec_splat(0x1.3504f4p+1F), size);
  const vec_mask is_near = vec_le(size, vec_splat(0x1.a8279ap-2F));
  const vec over = vec_select(is_near, size, vec_select(is_far, -one, size - 1.0F));
  const vec under = vec_select(is_near, one, vec_select(is_far, size, size + 1.0F));
  const vec t = over / under, square = t * t;
  const vec p = VEC_POLYNOMIAL(square, -0x1.55554ap-2F, 0x1.9991e2p-3F, -0x1.23b9a4p-3F,
                               0x1.b22494p-4F, -0x1.f2e778p-5F);
  const vec quarters = vec_select(is_near, zero, vec_select(is_far, one, vec_splat(0.5F)));
  const vec angle = vec_fma(t * square, p, vec_fma(quarters, vec_splat(VEC_HALF_PI_REST), t));
  return vec_with_sign(vec_fma(quarters, vec_splat(VEC_HALF_PI), angle), x);
}

/* ---- hyperbolic functions ---- */

/* e^x / 2, which is finite where a hyperbolic function of x is, for x from 0 on. */
LK_VEC_FN vec vec_half_exp(vec x) {
  vec n;
  const vec m = vec_exp_parts(vec_min_or_second(vec_splat(91), x), &n);
  return vec_scale(m + 1.0F, n - 1.0F);
}
LK_VEC_FN vec vec_cosh(vec x) {
  const vec half = vec_half_exp(vec_abs(x));
  return half + 0.25F / half;
}
LK_VEC_FN vec vec_sinh(vec x) {
  const vec size = vec_abs(x), square = size * size, half = vec_half_exp(size);
  const vec p =
      VEC_POLYNOMIAL(square, 0x1.555556p-3F, 0x1.1110e0p-7F, 0x1.a022bcp-13F, 0x1.756c1ep-19F);
  const vec near = vec_fma(size * square, p, size);
  return vec_with_sign(vec_select(vec_lt(size, vec_splat(1)), near, half - 0.25F / half), x);
}

/* ---- their inverses ---- */

/* log(1 + z), z >= 0: what 1 + z loses by rounding is put back. */
LK_VEC_FN vec vec_log1p(vec z) {
  const vec u = z + 1.0F;
  const vec lost = vec_select(vec_lt(u, vec_splat(INFINITY)), (z - (u - 1.0F)) / u, vec_splat(0));
  return vec_log(u) + lost;
}
/* log(x + sqrt(x^2 +- 1)) where that is log(1 + z); from 2^12 on it is log(2 x). */
LK_VEC_FN vec vec_log_of_twice(vec x, vec z) {
  const vec_mask is_far = vec_le(vec_splat(4096), x);
  const vec near = vec_log1p(vec_select(is_far, x - 1.0F, z));
  return near + vec_select(is_far, vec_splat(0x1.62e430p-1F), vec_splat(0));
}
LK_VEC_FN vec vec_asinh(vec x) {
  const vec size = vec_abs(x), square = size * size;
  const vec z = size + square / (vec_sqrt(square + 1.0F) + 1.0F);
  return vec_with_sign(vec_log_of_twice(size, z), x);
}
LK_VEC_FN vec vec_acosh(vec x) {
  const vec t = x - 1.0F;
  const vec y = vec_log_of_twice(x, t + vec_sqrt(t * (t + 2.0F)));
  return vec_select(vec_lt(x, vec_splat(1)), vec_splat(NAN), y);
}
LK_VEC_FN vec vec_atanh(vec x) {
  const vec size = vec_abs(x);
  return vec_with_sign(vec_log1p((size + size) / (1.0F - size)) * 0.5F, x);
}
