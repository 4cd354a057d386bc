/* Lanes of vectors of any type that meet, in an order that is always the same: halves, quarters and
 * neighbours. In one vector, they change places with the other half; of several vectors, the lanes
 * of two are woven together, so that one vector has results of all in the end. */
#pragma once

#define PLAIN_ROTATED_4(x) __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3)
#define PLAIN_ROTATED_2(x) __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5)
#define PLAIN_ROTATED_1(x) __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6)
/* The low and the high halves of two vectors of 8 lanes, or of 16, woven. */
#define PLAIN_LOW_8(x, y) __builtin_shufflevector(x, y, 0, 8, 1, 9, 2, 10, 3, 11)
#define PLAIN_HIGH_8(x, y) __builtin_shufflevector(x, y, 4, 12, 5, 13, 6, 14, 7, 15)
#define PLAIN_LOW_16(x, y)                                                                         \
  __builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define PLAIN_HIGH_16(x, y)                                                                        \
  __builtin_shufflevector(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
/* x[0] of `count` vectors becomes what the lanes of each have met, in lane i that of vector i. Of
 * fewer vectors than lanes, the lanes of a vector have met in part: those of vector i are lanes i,
 * i + count and so on. `MEET(high, low, PICK)`. */
#define PLAIN_WEAVE(x, count, lanes, MEET, PICK)                                                   \
  _Pragma("GCC unroll 4") for (int half = (count) / 2; half > 0; half /= 2) {                      \
    _Pragma("GCC unroll 8") for (int i = 0; i < half; i++) {                                       \
      const __typeof__(*(x)) high = PLAIN_HIGH_##lanes((x)[i], (x)[i + half]);                     \
      const __typeof__(*(x)) low = PLAIN_LOW_##lanes((x)[i], (x)[i + half]);                       \
      (x)[i] = MEET(high, low, PICK);                                                              \
    }                                                                                              \
  }
