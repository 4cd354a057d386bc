/* The weights of mel bands, by the formulas of ONNX's own reference. A turn is a band: a triangle
 * over the frequencies between the middles of its neighbours. */
#include "ops/kernel/signal/mel.h"

#include <math.h>

#include "ops/kernel/sizes.h"

/* The element of the spectrum that edge `index` lies at. */
static int64_t edge_at(const lk_mel *self, int64_t index) {
  const double low = 2595 * log1p(self->lower / 700) / log(10);
  const double high = 2595 * log1p(self->upper / 700) / log(10);
  const double mel = (double)index * ((high - low) / (double)(self->bands + 2)) + low;
  const double hertz = 700 * expm1(mel / 2595 * log(10));
  const double at = floor((double)(self->length + 1) * hertz / (double)self->rate);
  return lk_min((int64_t)at, self->length / 2); /* rounding must not lead behind the last one */
}

static void fill_bands(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_mel *self = loop->params;
  for (int64_t band = begin; band < end; band++) {
    double *to = (double *)loop->pointers[0] + band;
    const int64_t left = edge_at(self, band), middle = edge_at(self, band + 1);
    const int64_t right = edge_at(self, band + 2);
    for (int64_t i = 0; i <= self->length / 2; i++) to[i * self->bands] = 0;
    for (int64_t i = left; i <= middle; i++) {
      to[i * self->bands] = middle == left ? 1 : (double)(i - left) / (double)(middle - left);
    }
    for (int64_t i = middle; i < right; i++) {
      to[i * self->bands] = (double)(right - i) / (double)(right - middle);
    }
  }
}

lk_status lk_mel_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_mel *self = params;
  const int64_t elements = self->bands * (self->length / 2);
  return lk_kernel_turns(self->bands, lk_sharing_pays_for(elements, LK_SHARING_ELEMENT), fill_bands,
                         params, pointers);
}
