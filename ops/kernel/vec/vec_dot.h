/* Sums of products of small integers: what the vectors of vec.h need for matrices of bytes. A lane
 * of 32 bits holds a group of elements, whose products are added to the lane of the sum. Exact, but
 * that sums wrap around as int32_t does.
 *
 * LK_DOT_GROUP is 4: unsigned bytes by signed ones, with AVX-512 VNNI, or with AVX2 where no signed
 * byte is larger than LK_INTEGER_SMALL: vpmaddubsw saturates sums of two products; or 2: int16_t by
 * int16_t, for which every vector has an instruction. */
#pragma once

#include "ops/kernel/vec/vec.h"

#if LK_DOT_GROUP == 4
typedef uint8_t lk_dot_left;
typedef int8_t lk_dot_right;

LK_VEC_FN veci vec_dot(veci sum, veci left, veci right) {
#if LK_VEC_BYTES == 64
  return (veci)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)left, (__m512i)right);
#else
  const __m256i pairs = _mm256_maddubs_epi16((__m256i)left, (__m256i)right);
  return (veci)((vecu)sum + (vecu)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#endif
}
#else
typedef int16_t lk_dot_left;
typedef int16_t lk_dot_right;

LK_VEC_FN veci vec_dot(veci sum, veci left, veci right) {
  return veci_add_products(sum, left, right);
}
#endif

/* vec_to_int, held between two whole numbers that have an i32, as every number then has; NaN is the
 * lower one. Clipped first: that makes no difference for whole limits. */
LK_VEC_FN veci vec_to_int_between(vec x, vec low, vec high) {
  return vec_to_int(vec_min_or_second(vec_max_or_second(x, low), high));
}
