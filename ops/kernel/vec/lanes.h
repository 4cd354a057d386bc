/* What moves elements in registers: vectors of LK_VEC_BYTES as lanes of 16 bytes, each of which is
 * loaded or stored by itself; and blocks of any size. */
#pragma once

#include <immintrin.h>
#include <stdint.h>

#define LANES_FN static inline __attribute__((always_inline))

enum { LANES = LK_VEC_BYTES / 16 };

#if LK_VEC_BYTES == 64
typedef __m512i lanes;
#define LANES_OP(name) _mm512_##name
/* Lane l from `from` + l * step. */
LANES_FN lanes lanes_gather(const char *from, int64_t step) {
  lanes x = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)from));
  x = _mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(const void *)(from + step)), 1);
  x = _mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(const void *)(from + 2 * step)), 2);
  return _mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(const void *)(from + 3 * step)),
                            3);
}
LANES_FN void lanes_scatter(char *to, int64_t step, lanes x) {
  _mm_storeu_si128((__m128i *)(void *)to, _mm512_castsi512_si128(x));
  _mm_storeu_si128((__m128i *)(void *)(to + step), _mm512_extracti32x4_epi32(x, 1));
  _mm_storeu_si128((__m128i *)(void *)(to + 2 * step), _mm512_extracti32x4_epi32(x, 2));
  _mm_storeu_si128((__m128i *)(void *)(to + 3 * step), _mm512_extracti32x4_epi32(x, 3));
}
LANES_FN lanes lanes_load(const char *from) {
  return _mm512_loadu_si512((const void *)from);
}
LANES_FN void lanes_store(char *to, lanes x) {
  _mm512_storeu_si512((void *)to, x);
}
#elif LK_VEC_BYTES == 32
typedef __m256i lanes;
#define LANES_OP(name) _mm256_##name
LANES_FN lanes lanes_gather(const char *from, int64_t step) {
  const lanes x = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)from));
  return _mm256_inserti128_si256(x, _mm_loadu_si128((const __m128i *)(const void *)(from + step)),
                                 1);
}
LANES_FN void lanes_scatter(char *to, int64_t step, lanes x) {
  _mm_storeu_si128((__m128i *)(void *)to, _mm256_castsi256_si128(x));
  _mm_storeu_si128((__m128i *)(void *)(to + step), _mm256_extracti128_si256(x, 1));
}
LANES_FN lanes lanes_load(const char *from) {
  return _mm256_loadu_si256((const __m256i *)(const void *)from);
}
LANES_FN void lanes_store(char *to, lanes x) {
  _mm256_storeu_si256((__m256i *)(void *)to, x);
}
#else
typedef __m128i lanes;
#define LANES_OP(name) _mm_##name
LANES_FN lanes lanes_load(const char *from) {
  return _mm_loadu_si128((const __m128i *)(const void *)from);
}
LANES_FN void lanes_store(char *to, lanes x) {
  _mm_storeu_si128((__m128i *)(void *)to, x);
}
LANES_FN lanes lanes_gather(const char *from, int64_t step) {
  (void)step;
  return lanes_load(from);
}
LANES_FN void lanes_scatter(char *to, int64_t step, lanes x) {
  (void)step;
  lanes_store(to, x);
}
#endif

/* Each lane is a square of elements, one row in each vector: transposed in place. An unpacking
 * interleaves the elements of two rows, so as many steps as an index has bits put all of them into
 * their places. */
LANES_FN void lanes_turn_8(lanes x[2]) {
  const lanes a = x[0], b = x[1];
  x[0] = LANES_OP(unpacklo_epi64)(a, b);
  x[1] = LANES_OP(unpackhi_epi64)(a, b);
}
LANES_FN void lanes_turn_4(lanes x[4]) {
  const lanes a = LANES_OP(unpacklo_epi32)(x[0], x[1]), b = LANES_OP(unpackhi_epi32)(x[0], x[1]);
  const lanes c = LANES_OP(unpacklo_epi32)(x[2], x[3]), d = LANES_OP(unpackhi_epi32)(x[2], x[3]);
  x[0] = LANES_OP(unpacklo_epi64)(a, c);
  x[1] = LANES_OP(unpackhi_epi64)(a, c);
  x[2] = LANES_OP(unpacklo_epi64)(b, d);
  x[3] = LANES_OP(unpackhi_epi64)(b, d);
}
/* One of the steps: rows i and i + half become rows 2i and 2i + 1. */
#define LANES_STEP(rows, type)                                                                     \
  LANES_FN void lanes_step_##rows(lanes x[rows]) {                                                 \
    lanes y[rows];                                                                                 \
    for (int i = 0; i < (rows) / 2; i++) {                                                         \
      y[2 * i] = LANES_OP(unpacklo_##type)(x[i], x[i + (rows) / 2]);                               \
      y[2 * i + 1] = LANES_OP(unpackhi_##type)(x[i], x[i + (rows) / 2]);                           \
    }                                                                                              \
    for (int i = 0; i < (rows); i++) x[i] = y[i];                                                  \
  }
LANES_STEP(8, epi16)
LANES_STEP(16, epi8)
#undef LANES_STEP
LANES_FN void lanes_turn_2(lanes x[8]) {
  for (int i = 0; i < 3; i++) lanes_step_8(x);
}
LANES_FN void lanes_turn_1(lanes x[16]) {
  for (int i = 0; i < 4; i++) lanes_step_16(x);
}

/* ---- blocks, from `from` to `to` ---- */

/* A memcpy of a constant size is loads and stores at any alignment; two of them may lie over each
 * other. */
#define BLOCK_ENDS(size)                                                                           \
  {                                                                                                \
    char head[size], tail[size];                                                                   \
    memcpy(head, from, size);                                                                      \
    memcpy(tail, from + block - (size), size);                                                     \
    memcpy(to, head, size);                                                                        \
    memcpy(to + block - (size), tail, size);                                                       \
  }
LANES_FN void block_vectors(const char *from, char *to, size_t block) {
  const lanes last = lanes_load(from + block - LK_VEC_BYTES);
  for (size_t i = 0; i + LK_VEC_BYTES < block; i += LK_VEC_BYTES) {
    lanes_store(to + i, lanes_load(from + i));
  }
  lanes_store(to + block - LK_VEC_BYTES, last);
}

/* X(class, a statement that moves one), in the order of lk_block_class. */
#define EACH_BLOCK(X)                                                                              \
  X(1, memcpy(to, from, 1))                                                                        \
  X(2, memcpy(to, from, 2))                                                                        \
  X(4, memcpy(to, from, 4))                                                                        \
  X(8, memcpy(to, from, 8))                                                                        \
  X(16, memcpy(to, from, 16))                                                                      \
  X(to_4, BLOCK_ENDS(2))                                                                           \
  X(to_8, BLOCK_ENDS(4))                                                                           \
  X(to_16, BLOCK_ENDS(8))                                                                          \
  X(to_32, BLOCK_ENDS(16))                                                                         \
  X(to_64, BLOCK_ENDS(32))                                                                         \
  X(vectors, block_vectors(from, to, block))                                                       \
  X(large, memcpy(to, from, block))
