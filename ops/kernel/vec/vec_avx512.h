/* What vec.h needs of AVX-512 F, BW, DQ and VL. Included by vec.h alone. */
#pragma once

typedef __mmask16 vec_mask; /* a bit for each lane */
typedef __mmask8 vecd_mask;

LK_VEC_FN vec_mask vec_first(int64_t count) {
  return (vec_mask)((1u << count) - 1);
}
/* The first `count` lanes, 0 < count < lanes; the others are 0. */
LK_VEC_FN vec vec_load_part(const float *from, int64_t count) {
  return (vec)_mm512_maskz_loadu_ps(vec_first(count), from);
}
/* The lanes of `where`; the others are those of `others`, and nothing is read for them. */
LK_VEC_FN vec vec_load_where(const float *from, vec_mask where, vec others) {
  return (vec)_mm512_mask_loadu_ps((__m512)others, where, from);
}
/* A vector of a stream: of a loop that reads memory from one end to the other. As two halves, since
 * AMD's prefetchers (Zen 4) follow lines that are read twice better than those of one load: an Add
 * in memory takes 0.8 of the time, in the second-level cache 0.95, in the first one the same. */
LK_VEC_FN vec vec_load_stream(const float *from) {
  const __m256 low = _mm256_loadu_ps(from), high = _mm256_loadu_ps(from + 8);
  return (vec)_mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}
LK_VEC_FN void vec_store_part(float *to, vec x, int64_t count) {
  _mm512_mask_storeu_ps(to, vec_first(count), (__m512)x);
}

LK_VEC_FN vecd vecd_load_part(const double *from, int64_t count) {
  return (vecd)_mm512_maskz_loadu_pd((__mmask8)vec_first(count), from);
}
LK_VEC_FN void vecd_store_part(double *to, vecd x, int64_t count) {
  _mm512_mask_storeu_pd(to, (__mmask8)vec_first(count), (__m512d)x);
}

/* The lower halves of both by turns; the upper ones. */
LK_VEC_FN vec vec_interleave_low(vec a, vec b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
LK_VEC_FN vec vec_interleave_high(vec a, vec b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
}

#define LK_VEC_COMPARE(name, predicate)                                                            \
  LK_VEC_FN vec_mask vec_##name(vec a, vec b) {                                                    \
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, predicate);                                    \
  }                                                                                                \
  LK_VEC_FN vecd_mask vecd_##name(vecd a, vecd b) {                                                \
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, predicate);                                  \
  }
LK_VEC_COMPARE(lt, _CMP_LT_OQ)
LK_VEC_COMPARE(le, _CMP_LE_OQ)
LK_VEC_COMPARE(eq, _CMP_EQ_OQ)
LK_VEC_COMPARE(unordered, _CMP_UNORD_Q)
#undef LK_VEC_COMPARE

LK_VEC_FN vec vec_select(vec_mask mask, vec yes, vec no) {
  return (vec)_mm512_mask_blend_ps(mask, (__m512)no, (__m512)yes);
}
LK_VEC_FN vecd vecd_select(vecd_mask mask, vecd yes, vecd no) {
  return (vecd)_mm512_mask_blend_pd(mask, (__m512d)no, (__m512d)yes);
}
/* Lane i is x[from[i]]. */
LK_VEC_FN vec vec_pick(vec x, veci from) {
  return (vec)_mm512_permutexvar_ps((__m512i)from, (__m512)x);
}
/* 1 where the mask is set, else 0. */
LK_VEC_FN veci vec_ones(vec_mask mask) {
  return (veci)_mm512_maskz_set1_epi32(mask, 1);
}
LK_VEC_FN vec_mask veci_nonzero(veci x) {
  return _mm512_test_epi32_mask((__m512i)x, (__m512i)x);
}
LK_VEC_FN int vec_any_lane(vec_mask mask) {
  return mask != 0;
}
LK_VEC_FN int vecd_any_lane(vecd_mask mask) {
  return mask != 0;
}

LK_VEC_FN vec vec_floor(vec x) {
  return (vec)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
LK_VEC_FN vec vec_ceil(vec x) {
  return (vec)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
/* To the nearest, ties to even. */
LK_VEC_FN vec vec_round(vec x) {
  return (vec)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
LK_VEC_FN vec vec_trunc(vec x) {
  return (vec)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
LK_VEC_FN vecd vecd_trunc(vecd x) {
  return (vecd)_mm512_roundscale_pd((__m512d)x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
/* x 2^n, rounded once, for whole n in -300 .. 300 and x near 1. */
LK_VEC_FN vec vec_scale(vec x, vec n) {
  return (vec)_mm512_scalef_ps((__m512)x, (__m512)n);
}

LK_VEC_FN vecd vecd_low(vec x) {
  return (vecd)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)x));
}
LK_VEC_FN vecd vecd_high(vec x) {
  return (vecd)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)x, 1));
}
LK_VEC_FN vec vec_from_halves(vecd low, vecd high) {
  return (vec)_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)low)),
                                 _mm512_cvtpd_ps((__m512d)high), 1);
}

LK_VEC_FN vecd vecd_from_low_ints(veci x) {
  return (vecd)_mm512_cvtepi32_pd(_mm512_castsi512_si256((__m512i)x));
}
LK_VEC_FN vecd vecd_from_high_ints(veci x) {
  return (vecd)_mm512_cvtepi32_pd(_mm512_extracti64x4_epi64((__m512i)x, 1));
}
/* Toward zero; INT32_MIN where that is no int32_t, and of NaN. */
LK_VEC_FN veci veci_from_halves(vecd low, vecd high) {
  return (veci)_mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvttpd_epi32((__m512d)low)),
                                  _mm512_cvttpd_epi32((__m512d)high), 1);
}

LK_VEC_FN vec vec_load_f16(const uint16_t *from) {
  return (vec)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)from));
}
LK_VEC_FN void vec_store_f16(uint16_t *to, vec x) {
  _mm256_storeu_si256((__m256i *)(void *)to,
                      _mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/* The low byte of each lane. */
LK_VEC_FN vec_bytes veci_low_bytes(veci x) {
  return (vec_bytes)_mm512_cvtepi32_epi8((__m512i)x);
}

LK_VEC_FN veci veci_load_u8(const uint8_t *from) {
  return (veci)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)from));
}
LK_VEC_FN veci veci_load_i8(const int8_t *from) {
  return (veci)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)from));
}
