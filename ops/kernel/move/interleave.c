#include "ops/kernel/move/interleave.h"

#include <emmintrin.h>
#include <string.h>

/* Of the halves of two vectors, elements of so many bits in turns. */
#define LOW_8 _mm_unpacklo_epi8
#define HIGH_8 _mm_unpackhi_epi8
#define LOW_16 _mm_unpacklo_epi16
#define HIGH_16 _mm_unpackhi_epi16
#define LOW_32 _mm_unpacklo_epi32
#define HIGH_32 _mm_unpackhi_epi32
#define LOW_64 _mm_unpacklo_epi64
#define HIGH_64 _mm_unpackhi_epi64
#define LOW_128(x, y) (x)
#define HIGH_128(x, y) (y)

static __m128i load(const void *array, int64_t byte) {
  return _mm_loadu_si128((const __m128i *)(const void *)((const char *)array + byte));
}

static void store(char *to, __m128i x) {
  _mm_storeu_si128((__m128i *)(void *)to, x);
}

static void copy_rest(void *const *from, int arrays, int64_t first, int64_t count, size_t element,
                      char *to) {
  to += (size_t)(first * arrays) * element;
  for (int64_t i = first; i < count; i++) {
    for (int a = 0; a < arrays; a++, to += element) {
      memcpy(to, (const char *)from[a] + (size_t)i * element, element);
    }
  }
}

#define INTERLEAVE(bits, twice)                                                                    \
  static void two_of_##bits(void *const *from, int64_t count, char *to) {                          \
    enum { BYTES = (bits) / 8, AT_ONCE = 16 / BYTES };                                             \
    int64_t i = 0;                                                                                 \
    for (; i + AT_ONCE <= count; i += AT_ONCE) {                                                   \
      const __m128i x = load(from[0], i * BYTES), y = load(from[1], i * BYTES);                    \
      store(to + 2 * i * BYTES, LOW_##bits(x, y));                                                 \
      store(to + 2 * i * BYTES + 16, HIGH_##bits(x, y));                                           \
    }                                                                                              \
    copy_rest(from, 2, i, count, BYTES, to);                                                       \
  }                                                                                                \
  static void four_of_##bits(void *const *from, int64_t count, char *to) {                         \
    enum { BYTES = (bits) / 8, AT_ONCE = 16 / BYTES };                                             \
    int64_t i = 0;                                                                                 \
    for (; i + AT_ONCE <= count; i += AT_ONCE) {                                                   \
      const __m128i a = load(from[0], i * BYTES), b = load(from[1], i * BYTES);                    \
      const __m128i c = load(from[2], i * BYTES), d = load(from[3], i * BYTES);                    \
      const __m128i low_ab = LOW_##bits(a, b), low_cd = LOW_##bits(c, d);                          \
      const __m128i high_ab = HIGH_##bits(a, b), high_cd = HIGH_##bits(c, d);                      \
      char *rows = to + 4 * i * BYTES;                                                             \
      store(rows, LOW_##twice(low_ab, low_cd));                                                    \
      store(rows + 16, HIGH_##twice(low_ab, low_cd));                                              \
      store(rows + 32, LOW_##twice(high_ab, high_cd));                                             \
      store(rows + 48, HIGH_##twice(high_ab, high_cd));                                            \
    }                                                                                              \
    copy_rest(from, 4, i, count, BYTES, to);                                                       \
  }
INTERLEAVE(8, 16)
INTERLEAVE(16, 32)
INTERLEAVE(32, 64)
INTERLEAVE(64, 128)

lk_interleave_fn *lk_interleave_find(uint32_t arrays, size_t element) {
  static lk_interleave_fn *const fns[][2] = {[1] = {two_of_8, four_of_8},
                                             [2] = {two_of_16, four_of_16},
                                             [4] = {two_of_32, four_of_32},
                                             [8] = {two_of_64, four_of_64}};
  if ((arrays != 2 && arrays != 4) || element >= sizeof fns / sizeof fns[0]) return NULL;
  return fns[element][arrays == 4];
}
