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
