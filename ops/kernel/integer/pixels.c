/* Planes of bytes as pixels of four. */
#include "ops/kernel/integer/pixels.h"

#include <emmintrin.h>
#include <stdint.h>

#include "ops/kernel/sizes.h"

enum {
  AT_ONCE = 16,          /* pixels of a vector of bytes */
  TURN_PIXELS = 8 * 1024 /* a multiple of them */
};

static __m128i load(const uint8_t *planes, int64_t channels, int64_t pixels, int channel) {
  if (channel >= channels) return _mm_setzero_si128();
  return _mm_loadu_si128((const __m128i *)(const void *)(planes + channel * pixels));
}

/* Vectors of as many pixels as one has bytes. */
static void turn_around(const uint8_t *planes, int64_t channels, int64_t pixels, uint32_t *to) {
  const __m128i a = load(planes, channels, pixels, 0), b = load(planes, channels, pixels, 1);
  const __m128i c = load(planes, channels, pixels, 2), d = load(planes, channels, pixels, 3);
  const __m128i ab[] = {_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)};
  const __m128i cd[] = {_mm_unpacklo_epi8(c, d), _mm_unpackhi_epi8(c, d)};
  __m128i *words = (__m128i *)(void *)to;
  for (int i = 0; i < 2; i++) {
    _mm_storeu_si128(words + 2 * i, _mm_unpacklo_epi16(ab[i], cd[i]));
    _mm_storeu_si128(words + 2 * i + 1, _mm_unpackhi_epi16(ab[i], cd[i]));
  }
}

static void take_pixels(const uint8_t *planes, const lk_pixels *self, int64_t count, uint32_t *to) {
  const int64_t channels = self->channels, pixels = self->pixels;
  int64_t i = 0;
  for (; i + AT_ONCE <= count; i += AT_ONCE) turn_around(planes + i, channels, pixels, to + i);
  for (; i < count; i++) {
    to[i] = 0;
    for (int64_t c = 0; c < channels; c++) {
      to[i] |= (uint32_t)planes[c * pixels + i] << (uint32_t)(8 * c);
    }
  }
}

static void do_turns(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_pixels *self = loop->params;
  const int64_t of_image = lk_div_up(self->pixels, TURN_PIXELS);
  for (int64_t turn = begin; turn < end; turn++) {
    const int64_t image = turn / of_image, first = turn % of_image * TURN_PIXELS;
    take_pixels((const uint8_t *)loop->pointers[0] + image * self->channels * self->pixels + first,
                self, lk_min(self->pixels - first, TURN_PIXELS),
                (uint32_t *)loop->pointers[1] + image * self->pixels + first);
  }
}

lk_status lk_pixels_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_pixels *self = params;
  const int64_t turns = self->images * lk_div_up(self->pixels, TURN_PIXELS);
  return lk_kernel_turns(turns,
                         lk_sharing_pays_for(self->images * self->pixels, LK_SHARING_ELEMENT),
                         do_turns, self, pointers);
}
