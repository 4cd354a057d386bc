/* What kernels need of the lanes of a vector together: sums and maxima of all, every second one,
 * the first few. Additions to vec.h, for the widths that it has. */
#pragma once

#include "ops/kernel/vec/vec.h"

#if LK_VEC_BYTES == 64
#define VEC_ROTATED_8(x)                                                                           \
  __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
#define VEC_ROTATED_4(x)                                                                           \
  __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11)
#define VEC_ROTATED_2(x)                                                                           \
  __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)
#define VEC_ROTATED_1(x)                                                                           \
  __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)
#define VEC_EVEN(a, b)                                                                             \
  __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define VEC_ODD(a, b)                                                                              \
  __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#define VEC_BEHIND_1(a, b)                                                                         \
  __builtin_shufflevector(a, b, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
#define VEC_BEHIND_2(a, b)                                                                         \
  __builtin_shufflevector(a, b, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17)
#define VEC_NUMBERED                                                                               \
  { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 }
#elif LK_VEC_BYTES == 32
#define VEC_ROTATED_4(x) __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3)
#define VEC_ROTATED_2(x) __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5)
#define VEC_ROTATED_1(x) __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6)
#define VEC_EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define VEC_ODD(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#define VEC_BEHIND_1(a, b) __builtin_shufflevector(a, b, 1, 2, 3, 4, 5, 6, 7, 8)
#define VEC_BEHIND_2(a, b) __builtin_shufflevector(a, b, 2, 3, 4, 5, 6, 7, 8, 9)
#define VEC_NUMBERED                                                                               \
  { 0, 1, 2, 3, 4, 5, 6, 7 }
#else
#define VEC_ROTATED_2(x) __builtin_shufflevector(x, x, 2, 3, 0, 1)
#define VEC_ROTATED_1(x) __builtin_shufflevector(x, x, 1, 0, 3, 2)
#define VEC_EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define VEC_ODD(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7)
#define VEC_BEHIND_1(a, b) __builtin_shufflevector(a, b, 1, 2, 3, 4)
#define VEC_BEHIND_2(a, b) __builtin_shufflevector(a, b, 2, 3, 4, 5)
#define VEC_NUMBERED                                                                               \
  { 0, 1, 2, 3 }
#endif

/* The even lanes of a and then of b; the odd ones. */
LK_VEC_FN vec vec_even(vec a, vec b) {
  return VEC_EVEN(a, b);
}
LK_VEC_FN vec vec_odd(vec a, vec b) {
  return VEC_ODD(a, b);
}

/* The lanes of a but for the first one or two, and so many of b behind them. */
LK_VEC_FN vec vec_behind_1(vec a, vec b) {
  return VEC_BEHIND_1(a, b);
}
LK_VEC_FN vec vec_behind_2(vec a, vec b) {
  return VEC_BEHIND_2(a, b);
}

/* Always in the same order: halves, quarters and so on. */
LK_VEC_FN float vec_sum_of_lanes(vec x) {
#if LK_VEC_BYTES == 64
  x += VEC_ROTATED_8(x);
#endif
#if LK_VEC_BYTES >= 32
  x += VEC_ROTATED_4(x);
#endif
  x += VEC_ROTATED_2(x);
  x += VEC_ROTATED_1(x);
  return x[0];
}
/* NaN does not count. */
LK_VEC_FN float vec_largest_of_lanes(vec x) {
#if LK_VEC_BYTES == 64
  x = vec_max_or_second(VEC_ROTATED_8(x), x);
#endif
#if LK_VEC_BYTES >= 32
  x = vec_max_or_second(VEC_ROTATED_4(x), x);
#endif
  x = vec_max_or_second(VEC_ROTATED_2(x), x);
  x = vec_max_or_second(VEC_ROTATED_1(x), x);
  return x[0];
}

/* The first `count` lanes of x, and `others` behind them. */
LK_VEC_FN vec vec_first_of(vec x, int64_t count, vec others) {
  const veci chosen = (veci)VEC_NUMBERED < (int32_t)count;
  return (vec)(((veci)x & chosen) | ((veci)others & ~chosen));
}

/* `count` elements, 0 < count <= lanes, and `others` behind them. */
LK_VEC_FN vec vec_load_first(const float *from, int64_t count, vec others) {
  return count == LK_VEC_LANES ? vec_load(from)
                               : vec_first_of(vec_load_part(from, count), count, others);
}
LK_VEC_FN void vec_store_first(float *to, vec x, int64_t count) {
  if (count == LK_VEC_LANES) {
    vec_store(to, x);
  } else {
    vec_store_part(to, x, count);
  }
}

/* Of the elements `at` and so on, those among `count`. */
#if LK_VEC_BYTES == 64
typedef __mmask16 vec_inside;
#else
typedef veci vec_inside; /* -1 or 0 */
#endif
LK_VEC_FN vec_inside vec_inside_of(int64_t at, int64_t count) {
  const int64_t before = at < 0 ? -at : 0, end = count - at;
  const int64_t first = before < LK_VEC_LANES ? before : LK_VEC_LANES;
  const int64_t last = end < 0 ? 0 : end < LK_VEC_LANES ? end : LK_VEC_LANES;
#if LK_VEC_BYTES == 64
  return (__mmask16)(((1U << last) - 1) >> first << first);
#else
  const veci numbers = VEC_NUMBERED;
  return (numbers >= (int32_t)first) & (numbers < (int32_t)last);
#endif
}

/* 0 in lanes that are not inside, whose memory is not touched. */
LK_VEC_FN vec vec_load_inside(const float *from, vec_inside inside) {
#if LK_VEC_BYTES == 64
  return (vec)_mm512_maskz_loadu_ps(inside, from);
#elif LK_VEC_BYTES == 32
  return (vec)_mm256_maskload_ps(from, (__m256i)inside);
#else
  vec x = {0};
  for (int64_t i = 0; i < LK_VEC_LANES; i++) {
    if (inside[i] != 0) x[i] = from[i];
  }
  return x;
#endif
}
