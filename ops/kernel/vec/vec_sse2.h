/* What vec.h needs of SSE2, for processors that have nothing better. Included by vec.h alone. */
#pragma once

#include "ops/kernel/number.h"

/* The first `count` lanes, 0 < count < lanes; the others are 0. */
LK_VEC_FN vec vec_load_part(const float *from, int64_t count) {
  vec x = {0};
  for (int64_t i = 0; i < count; i++) x[i] = from[i];
  return x;
}
/* The lanes of `where`; the others are those of `others`, and nothing is read for them. */
LK_VEC_FN vec vec_load_where(const float *from, vec_mask where, vec others) {
  if (_mm_movemask_ps((__m128)where) == 15) return vec_load(from);
  for (int64_t i = 0; i < LK_VEC_LANES; i++) {
    if (where[i] != 0) others[i] = from[i];
  }
  return others;
}
LK_VEC_FN void vec_store_part(float *to, vec x, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] = x[i];
}

LK_VEC_FN vecd vecd_load_part(const double *from, int64_t count) {
  (void)count; /* 1 */
  return (vecd){*from, 0};
}
LK_VEC_FN void vecd_store_part(double *to, vecd x, int64_t count) {
  (void)count;
  *to = x[0];
}

/* Rounded twice: there is no instruction. */
LK_VEC_FN vec vec_fma(vec a, vec b, vec c) {
  return a * b + c;
}
LK_VEC_FN vecd vecd_fma(vecd a, vecd b, vecd c) {
  return a * b + c;
}
/* The lower halves of both by turns; the upper ones. */
LK_VEC_FN vec vec_interleave_low(vec a, vec b) {
  return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}
LK_VEC_FN vec vec_interleave_high(vec a, vec b) {
  return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}

#define LK_VEC_COMPARE(name, instruction)                                                          \
  LK_VEC_FN vec_mask vec_##name(vec a, vec b) {                                                    \
    return (vec_mask)_mm_##instruction##_ps((__m128)a, (__m128)b);                                 \
  }                                                                                                \
  LK_VEC_FN vecd_mask vecd_##name(vecd a, vecd b) {                                                \
    return (vecd_mask)_mm_##instruction##_pd((__m128d)a, (__m128d)b);                              \
  }
LK_VEC_COMPARE(lt, cmplt)
LK_VEC_COMPARE(le, cmple)
LK_VEC_COMPARE(eq, cmpeq)
LK_VEC_COMPARE(unordered, cmpunord)
#undef LK_VEC_COMPARE

LK_VEC_FN vec vec_select(vec_mask mask, vec yes, vec no) {
  return (vec)((mask & (veci)yes) | (~mask & (veci)no));
}
LK_VEC_FN vecd vecd_select(vecd_mask mask, vecd yes, vecd no) {
  return (vecd)(((veci)mask & (veci)yes) | (~(veci)mask & (veci)no));
}
/* Lane i is x[from[i]]. */
LK_VEC_FN vec vec_pick(vec x, veci from) {
  return (vec){x[from[0]], x[from[1]], x[from[2]], x[from[3]]};
}
LK_VEC_FN int vec_any_lane(vec_mask mask) {
  return _mm_movemask_ps((__m128)mask) != 0;
}
LK_VEC_FN int vecd_any_lane(vecd_mask mask) {
  return _mm_movemask_pd((__m128d)mask) != 0;
}

/* Toward zero. From 2^23 on every f32 is whole; so are, here, infinities and NaN. The sign stays,
 * that of zero too. */
LK_VEC_FN vec vec_trunc(vec x) {
  const vec size = (vec)((veci)x & 0x7fffffff);
  const vec whole = vec_from_int((veci)_mm_cvttps_epi32((__m128)x));
  const vec signed_whole = (vec)((veci)whole | ((veci)x & INT32_MIN));
  return vec_select(vec_lt(size, vec_splat(0x1p23F)), signed_whole, x);
}
/* By way of a number so large that it has no fraction, and one less where that rounds up. */
LK_VEC_FN vecd vecd_trunc(vecd x) {
  const vecd sign = (vecd)_mm_and_pd((__m128d)x, _mm_set1_pd(-0.0));
  const vecd size = (vecd)_mm_andnot_pd(_mm_set1_pd(-0.0), (__m128d)x);
  const vecd near = (size + 0x1p52) - 0x1p52;
  const vecd over = (vecd)_mm_and_pd((__m128d)vecd_lt(size, near), _mm_set1_pd(1));
  const vecd whole = (vecd)_mm_or_pd((__m128d)(near - over), (__m128d)sign);
  return vecd_select(vecd_lt(size, (vecd){0x1p52, 0x1p52}), whole, x);
}
/* `whole` + or - 1 with the sign of x where it became 0. */
LK_VEC_FN vec vec_moved(vec whole, vec_mask where, float by, vec x) {
  const vec moved = whole + (vec)(where & (veci)vec_splat(by));
  return (vec)((veci)moved | ((veci)x & INT32_MIN));
}
LK_VEC_FN vec vec_floor(vec x) {
  const vec whole = vec_trunc(x);
  return vec_moved(whole, vec_lt(x, whole), -1, x);
}
LK_VEC_FN vec vec_ceil(vec x) {
  const vec whole = vec_trunc(x);
  return vec_moved(whole, vec_lt(whole, x), 1, x);
}
/* To the nearest, ties to even: by way of a number so large that it has no fraction. */
LK_VEC_FN vec vec_round(vec x) {
  const vec size = (vec)((veci)x & 0x7fffffff);
  const vec rounded = (size + 0x1p23F) - 0x1p23F;
  const vec signed_one = (vec)((veci)rounded | ((veci)x & INT32_MIN));
  return vec_select(vec_lt(size, vec_splat(0x1p23F)), signed_one, x);
}

LK_VEC_FN vecd vecd_low(vec x) {
  return (vecd)_mm_cvtps_pd((__m128)x);
}
LK_VEC_FN vecd vecd_high(vec x) {
  return (vecd)_mm_cvtps_pd(_mm_movehl_ps((__m128)x, (__m128)x));
}
LK_VEC_FN vec vec_from_halves(vecd low, vecd high) {
  return (vec)_mm_movelh_ps(_mm_cvtpd_ps((__m128d)low), _mm_cvtpd_ps((__m128d)high));
}

LK_VEC_FN vecd vecd_from_low_ints(veci x) {
  return (vecd)_mm_cvtepi32_pd((__m128i)x);
}
LK_VEC_FN vecd vecd_from_high_ints(veci x) {
  return (vecd)_mm_cvtepi32_pd(_mm_unpackhi_epi64((__m128i)x, (__m128i)x));
}
/* Toward zero; INT32_MIN where that is no int32_t, and of NaN. */
LK_VEC_FN veci veci_from_halves(vecd low, vecd high) {
  return (veci)_mm_unpacklo_epi64(_mm_cvttpd_epi32((__m128d)low), _mm_cvttpd_epi32((__m128d)high));
}

LK_VEC_FN vec vec_load_f16(const uint16_t *from) {
  vec x;
  for (int i = 0; i < LK_VEC_LANES; i++) x[i] = lk_f16_to_f32(from[i]);
  return x;
}
LK_VEC_FN void vec_store_f16(uint16_t *to, vec x) {
  for (int i = 0; i < LK_VEC_LANES; i++) to[i] = lk_f32_to_f16(x[i]);
}

/* The low byte of each lane. */
LK_VEC_FN vec_bytes veci_low_bytes(veci x) {
  const __m128i low = _mm_and_si128((__m128i)x, _mm_set1_epi32(UINT8_MAX));
  const __m128i words = _mm_packs_epi32(low, low);
  return (vec_bytes)_mm_cvtsi128_si32(_mm_packus_epi16(words, words));
}

LK_VEC_FN veci veci_load_u8(const uint8_t *from) {
  return (veci){from[0], from[1], from[2], from[3]};
}
LK_VEC_FN veci veci_load_i8(const int8_t *from) {
  return (veci){from[0], from[1], from[2], from[3]};
}
