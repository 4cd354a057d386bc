/* What vec.h needs of AVX2, FMA and F16C. Included by vec.h alone. */
#pragma once

LK_VEC_FN __m256i vec_first(int64_t count) {
  return (__m256i)((veci){0, 1, 2, 3, 4, 5, 6, 7} < (int32_t)count);
}
/* The first `count` lanes, 0 < count < lanes; the others are 0. */
LK_VEC_FN vec vec_load_part(const float *from, int64_t count) {
  return (vec)_mm256_maskload_ps(from, vec_first(count));
}
/* The lanes of `where`; the others are those of `others`, and nothing is read for them. */
LK_VEC_FN vec vec_load_where(const float *from, vec_mask where, vec others) {
  const __m256 loaded = _mm256_maskload_ps(from, (__m256i)where);
  return (vec)_mm256_blendv_ps((__m256)others, loaded, (__m256)where);
}
LK_VEC_FN void vec_store_part(float *to, vec x, int64_t count) {
  _mm256_maskstore_ps(to, vec_first(count), (__m256)x);
}
LK_VEC_FN __m256i vecd_first(int64_t count) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}
LK_VEC_FN vecd vecd_load_part(const double *from, int64_t count) {
  return (vecd)_mm256_maskload_pd(from, vecd_first(count));
}
LK_VEC_FN void vecd_store_part(double *to, vecd x, int64_t count) {
  _mm256_maskstore_pd(to, vecd_first(count), (__m256d)x);
}

/* The lower halves of both by turns; the upper ones. */
LK_VEC_FN vec vec_interleave_low(vec a, vec b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
LK_VEC_FN vec vec_interleave_high(vec a, vec b) {
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

#define LK_VEC_COMPARE(name, predicate)                                                            \
  LK_VEC_FN vec_mask vec_##name(vec a, vec b) {                                                    \
    return (vec_mask)_mm256_cmp_ps((__m256)a, (__m256)b, predicate);                               \
  }                                                                                                \
  LK_VEC_FN vecd_mask vecd_##name(vecd a, vecd b) {                                                \
    return (vecd_mask)_mm256_cmp_pd((__m256d)a, (__m256d)b, predicate);                            \
  }
LK_VEC_COMPARE(lt, _CMP_LT_OQ)
LK_VEC_COMPARE(le, _CMP_LE_OQ)
LK_VEC_COMPARE(eq, _CMP_EQ_OQ)
LK_VEC_COMPARE(unordered, _CMP_UNORD_Q)
#undef LK_VEC_COMPARE

LK_VEC_FN vec vec_select(vec_mask mask, vec yes, vec no) {
  return (vec)_mm256_blendv_ps((__m256)no, (__m256)yes, (__m256)mask);
}
LK_VEC_FN vecd vecd_select(vecd_mask mask, vecd yes, vecd no) {
  return (vecd)_mm256_blendv_pd((__m256d)no, (__m256d)yes, (__m256d)mask);
}
/* Lane i is x[from[i]]. */
LK_VEC_FN vec vec_pick(vec x, veci from) {
  return (vec)_mm256_permutevar8x32_ps((__m256)x, (__m256i)from);
}
LK_VEC_FN int vec_any_lane(vec_mask mask) {
  return _mm256_movemask_ps((__m256)mask) != 0;
}
LK_VEC_FN int vecd_any_lane(vecd_mask mask) {
  return _mm256_movemask_pd((__m256d)mask) != 0;
}

LK_VEC_FN vec vec_floor(vec x) {
  return (vec)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
LK_VEC_FN vec vec_ceil(vec x) {
  return (vec)_mm256_round_ps((__m256)x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
/* To the nearest, ties to even. */
LK_VEC_FN vec vec_round(vec x) {
  return (vec)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
LK_VEC_FN vec vec_trunc(vec x) {
  return (vec)_mm256_round_ps((__m256)x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
LK_VEC_FN vecd vecd_trunc(vecd x) {
  return (vecd)_mm256_round_pd((__m256d)x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

LK_VEC_FN vecd vecd_low(vec x) {
  return (vecd)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)x));
}
LK_VEC_FN vecd vecd_high(vec x) {
  return (vecd)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)x, 1));
}
LK_VEC_FN vec vec_from_halves(vecd low, vecd high) {
  return (vec)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps((__m256d)low)),
                                   _mm256_cvtpd_ps((__m256d)high), 1);
}

LK_VEC_FN vecd vecd_from_low_ints(veci x) {
  return (vecd)_mm256_cvtepi32_pd(_mm256_castsi256_si128((__m256i)x));
}
LK_VEC_FN vecd vecd_from_high_ints(veci x) {
  return (vecd)_mm256_cvtepi32_pd(_mm256_extracti128_si256((__m256i)x, 1));
}
/* Toward zero; INT32_MIN where that is no int32_t, and of NaN. */
LK_VEC_FN veci veci_from_halves(vecd low, vecd high) {
  return (veci)_mm256_set_m128i(_mm256_cvttpd_epi32((__m256d)high),
                                _mm256_cvttpd_epi32((__m256d)low));
}

LK_VEC_FN vec vec_load_f16(const uint16_t *from) {
  return (vec)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)from));
}
LK_VEC_FN void vec_store_f16(uint16_t *to, vec x) {
  _mm_storeu_si128((__m128i *)(void *)to,
                   _mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/* The low byte of each lane. */
LK_VEC_FN vec_bytes veci_low_bytes(veci x) {
  const __m256i low = _mm256_and_si256((__m256i)x, _mm256_set1_epi32(UINT8_MAX));
  const __m256i words = _mm256_packus_epi32(low, low), bytes = _mm256_packus_epi16(words, words);
  const __m128i both =
      _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
  return (vec_bytes)_mm_cvtsi128_si64(both);
}

LK_VEC_FN veci veci_load_u8(const uint8_t *from) {
  return (veci)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)from));
}
LK_VEC_FN veci veci_load_i8(const int8_t *from) {
  return (veci)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)from));
}
