/* Vectors of float, int32_t and double in the width that LK_VEC_BYTES says: 64 (AVX-512), 32 (AVX2
 * and FMA) or 16 (SSE2). For sources that are compiled once for each width; the file that includes
 * this one turns the instruction set on first.
 *
 * Arithmetic is GCC's vector extension: a + b, a * b and so on for each lane. Here is what it
 * lacks, or does not say precisely: loads, masks, and what becomes of NaN. */
#pragma once

#include <immintrin.h>
#include <stdint.h>

#define LK_VEC_LANES (LK_VEC_BYTES / 4)

typedef float vec __attribute__((vector_size(LK_VEC_BYTES)));
typedef int32_t veci __attribute__((vector_size(LK_VEC_BYTES)));
typedef uint32_t vecu __attribute__((vector_size(LK_VEC_BYTES)));
typedef double vecd __attribute__((vector_size(LK_VEC_BYTES))); /* half as many lanes */

typedef uint8_t vec_bytes __attribute__((vector_size(LK_VEC_LANES))); /* a byte for each lane */

/* Memory of any alignment and type. */
typedef uint8_t vecb __attribute__((vector_size(LK_VEC_BYTES)));
typedef float vec_any __attribute__((vector_size(LK_VEC_BYTES), aligned(1), may_alias));
typedef int32_t veci_any __attribute__((vector_size(LK_VEC_BYTES), aligned(1), may_alias));
typedef double vecd_any __attribute__((vector_size(LK_VEC_BYTES), aligned(1), may_alias));

#define LK_VEC_FN static inline __attribute__((always_inline))

LK_VEC_FN vec vec_load(const float *from) {
  return *(const vec_any *)from;
}
LK_VEC_FN void vec_store(float *to, vec x) {
  *(vec_any *)to = x;
}
LK_VEC_FN veci veci_load(const int32_t *from) {
  return *(const veci_any *)from;
}
LK_VEC_FN void veci_store(int32_t *to, veci x) {
  *(veci_any *)to = x;
}
LK_VEC_FN vecd vecd_load(const double *from) {
  return *(const vecd_any *)from;
}
LK_VEC_FN void vecd_store(double *to, vecd x) {
  *(vecd_any *)to = x;
}
LK_VEC_FN vec vec_splat(float x) {
  return x - (vec){0}; /* not +: -0 must stay */
}
LK_VEC_FN veci veci_splat(int32_t x) {
  return x + (veci){0};
}
LK_VEC_FN vec vec_from_int(veci x) {
  return __builtin_convertvector(x, vec);
}

#if LK_VEC_BYTES < 64
/* A vector of a stream: of a loop that reads memory from one end to the other. */
LK_VEC_FN vec vec_load_stream(const float *from) {
  return vec_load(from);
}

typedef veci vec_mask; /* all bits of a lane, or none */
typedef vecd vecd_mask;

/* 1 where the mask is set, else 0. */
LK_VEC_FN veci vec_ones(vec_mask mask) {
  return mask & 1;
}
LK_VEC_FN vec_mask veci_nonzero(veci x) {
  return x != 0;
}
#endif

/* ---- what the instruction sets have under names that differ in a prefix ---- */

#if LK_VEC_BYTES == 64
#define LK_MM(name) _mm512_##name
typedef __m512 lk_mm;
typedef __m512d lk_mmd;
typedef __m512i lk_mmi;
#elif LK_VEC_BYTES == 32
#define LK_MM(name) _mm256_##name
typedef __m256 lk_mm;
typedef __m256d lk_mmd;
typedef __m256i lk_mmi;
#else
#define LK_MM(name) _mm_##name
typedef __m128 lk_mm;
typedef __m128d lk_mmd;
typedef __m128i lk_mmi;
#endif

LK_VEC_FN vec vec_sqrt(vec x) {
  return (vec)LK_MM(sqrt_ps)((lk_mm)x);
}
LK_VEC_FN vecd vecd_sqrt(vecd x) {
  return (vecd)LK_MM(sqrt_pd)((lk_mmd)x);
}
LK_VEC_FN vec vec_max_or_second(vec a, vec b) {
  return (vec)LK_MM(max_ps)((lk_mm)a, (lk_mm)b);
}
LK_VEC_FN vec vec_min_or_second(vec a, vec b) {
  return (vec)LK_MM(min_ps)((lk_mm)a, (lk_mm)b);
}
LK_VEC_FN vecb vecb_max(vecb a, vecb b) {
  return (vecb)LK_MM(max_epu8)((lk_mmi)a, (lk_mmi)b);
}
/* Of each lane, both int16_t: the sum of their products, which wraps around with the sum. */
LK_VEC_FN veci veci_add_products(veci sum, veci left, veci right) {
  return (veci)((vecu)sum + (vecu)LK_MM(madd_epi16)((lk_mmi)left, (lk_mmi)right));
}
/* To the nearest, ties to even; what is no number or too large is any number. */
LK_VEC_FN veci vec_to_int(vec x) {
  return (veci)LK_MM(cvtps_epi32)((lk_mm)x);
}
/* Toward zero; INT32_MIN where that is no int32_t, and of NaN. */
LK_VEC_FN veci vec_cut(vec x) {
  return (veci)LK_MM(cvttps_epi32)((lk_mm)x);
}
/* 2^n for whole n in -126 .. 127, and 0 for -127. */
LK_VEC_FN vec vec_power(vec n) {
  return (vec)((vecu)(vec_to_int(n) + 127) << 23);
}
#if LK_VEC_BYTES < 64
/* x 2^n, rounded once, for whole n in -300 .. 300 and x near 1: by two powers, because one of them
 * alone may not be a number of the type. The first is added to the exponent. */
LK_VEC_FN vec vec_scale(vec x, vec n) {
  const veci whole = vec_to_int(n), half = whole >> 1;
  return (vec)((vecu)x + ((vecu)half << 23)) * (vec)((vecu)(whole - half + 127) << 23);
}
#endif
#if LK_VEC_BYTES > 16
LK_VEC_FN vec vec_fma(vec a, vec b, vec c) {
  return (vec)LK_MM(fmadd_ps)((lk_mm)a, (lk_mm)b, (lk_mm)c);
}
LK_VEC_FN vecd vecd_fma(vecd a, vecd b, vecd c) {
  return (vecd)LK_MM(fmadd_pd)((lk_mmd)a, (lk_mmd)b, (lk_mmd)c);
}
#endif

#if LK_VEC_BYTES == 64
#include "ops/kernel/vec/vec_avx512.h"
#elif LK_VEC_BYTES == 32
#include "ops/kernel/vec/vec_avx2.h"
#else
#include "ops/kernel/vec/vec_sse2.h"
#endif

/* As many vectors as lanes, as a matrix. A round moves the highest bit of the number of a row to
 * the end of that of a column, and the other way round, so that after all of them they have changed
 * places. */
LK_VEC_FN void vec_transpose(vec rows[LK_VEC_LANES]) {
#pragma GCC unroll 4
  for (int round = 1; round < LK_VEC_LANES; round *= 2) {
    vec next[LK_VEC_LANES];
#pragma GCC unroll 8
    for (int i = 0; i < LK_VEC_LANES / 2; i++) {
      next[2 * i] = vec_interleave_low(rows[i], rows[i + LK_VEC_LANES / 2]);
      next[2 * i + 1] = vec_interleave_high(rows[i], rows[i + LK_VEC_LANES / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < LK_VEC_LANES; i++) rows[i] = next[i];
  }
}

LK_VEC_FN vec vec_abs(vec x) {
  return (vec)((veci)x & 0x7fffffff);
}
LK_VEC_FN veci vec_sign_bits(vec x) {
  return (veci)((vecu)x & 0x80000000U);
}
/* The magnitude of x, which is not negative, with the sign of `sign`. */
LK_VEC_FN vec vec_with_sign(vec x, vec sign) {
  return (vec)((veci)x | vec_sign_bits(sign));
}
LK_VEC_FN vec_mask vec_is_nan(vec x) {
  return vec_unordered(x, x);
}
/* NaN in either comes out, as in numpy and ONNX; x86's own instruction returns its second operand
 * then. */
LK_VEC_FN vec vec_max(vec a, vec b) {
  return vec_select(vec_is_nan(a), a, vec_max_or_second(a, b));
}
LK_VEC_FN vec vec_min(vec a, vec b) {
  return vec_select(vec_is_nan(a), a, vec_min_or_second(a, b));
}
/* Held between two numbers; NaN stays NaN, and where low is over high, everything is high. */
LK_VEC_FN vec vec_clip(vec x, vec low, vec high) {
  return vec_min_or_second(high, vec_max_or_second(low, x));
}
