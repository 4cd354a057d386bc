/* Images at places between their elements. A turn is a few places of an image, with all channels,
 * for which neighbours and weights are found once. */
#include "ops/kernel/grid_sample.h"

#include <math.h>

#include "ops/kernel/sizes.h"

enum { AXIS_TAPS = 4, TAPS = 64, CHUNK = 16, SHARED_TAPS = 16 * 1024 };

/* Neighbours along one dimension. */
typedef struct axis_taps {
  int64_t index[AXIS_TAPS]; /* -1: outside, where there are zeros */
  double weight[AXIS_TAPS];
} axis_taps;

/* Neighbours that are in the image. */
typedef struct place_taps {
  int64_t count, index[TAPS];
  double weight[TAPS];
} place_taps;

/* In the grid's type, as other runtimes do: for nearest, a last bit decides which element it is. */
static double place_of(const lk_grid_sample *self, const void *grid, int64_t at, int64_t length) {
  if (self->grid_is_wide) {
    const double value = ((const double *)grid)[at];
    return self->align_corners ? (value + 1) / 2 * (double)(length - 1)
                               : ((value + 1) * (double)length - 1) / 2;
  }
  const float value = ((const float *)grid)[at];
  const float place = self->align_corners ? (value + 1) / 2 * (float)(length - 1)
                                          : ((value + 1) * (float)length - 1) / 2;
  return (double)place;
}

/* Mirrored at both ends until it lies between them. */
static double reflect(double place, double low, double high) {
  const double range = high - low;
  if (place >= low && place <= high) return place;
  if (range <= 0 || !isfinite(place)) return low;
  const double rest = fmod(place < low ? low - place : place - low, 2 * range);
  return rest <= range ? low + rest : high - (rest - range);
}

/* The index of an element, that of another one or -1 where it is outside. */
static int64_t inside(const lk_grid_sample *self, double index, int64_t length, double low,
                      double high) {
  const double last = (double)(length - 1);
  if (index >= 0 && index <= last) return (int64_t)index;
  if (length == 0 || self->padding == LK_SAMPLE_ZEROS) return -1;
  if (self->padding == LK_SAMPLE_REFLECTION) index = reflect(index, low, high);
  return (int64_t)fmin(fmax(index, 0), last);
}

/* R. Keys, "Cubic convolution interpolation for digital image processing" (1981), equation 4. */
static double cubic(double distance) {
  const double a = -0.75, d = fabs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

/* The neighbours along a dimension, and returns how many. NaN lies before the image.
 *
 * A place outside goes to the border before its neighbours are found, but not for cubic: there
 * ONNX's reference does that too, which makes a jump half an element before the border, and ONNX
 * Runtime and PyTorch, which models come from, do not. */
static int64_t weigh_axis(const lk_grid_sample *self, double place, int64_t length,
                          axis_taps *out) {
  const double low = self->align_corners ? 0 : -0.5;
  const double high = (double)length - (self->align_corners ? 1 : 0.5);
  if (isnan(place)) place = -INFINITY;
  if (self->mode == LK_SAMPLE_NEAREST) place = rint(place);
  if (place < low || place > high) {
    const bool to_border = self->padding == LK_SAMPLE_BORDER && self->mode != LK_SAMPLE_CUBIC;
    if (to_border) place = fmin(fmax(place, 0), (double)length - 1);
    if (self->padding == LK_SAMPLE_REFLECTION) place = reflect(place, low, high);
  }
  /* Further outside, all neighbours are outside as well. */
  place = fmin(fmax(place, -AXIS_TAPS), (double)length + AXIS_TAPS);
  const double first = floor(place), rest = place - first;
  if (self->mode == LK_SAMPLE_NEAREST) {
    /* of a reflected place, which need not be an integer, the element toward zero */
    out->index[0] = inside(self, trunc(place), length, low, high);
    out->weight[0] = 1;
    return 1;
  }
  const bool is_cubic = self->mode == LK_SAMPLE_CUBIC;
  const int64_t before = is_cubic ? 1 : 0, count = is_cubic ? 4 : 2;
  for (int64_t i = 0; i < count; i++) {
    const double offset = (double)(i - before), distance = offset - rest;
    out->index[i] = inside(self, first + offset, length, low, high);
    out->weight[i] = is_cubic ? cubic(distance) : 1 - fabs(distance);
  }
  return count;
}

/* The products of the dimensions' neighbours. */
static void weigh_place(const lk_grid_sample *self, const void *grid, int64_t at, place_taps *out) {
  place_taps *taps = out;
  taps->count = 1;
  taps->index[0] = 0;
  taps->weight[0] = 1;
  for (uint32_t d = 0; d < self->rank; d++) {
    axis_taps axis;
    const int64_t length = self->dims[d];
    const double place = place_of(self, grid, at + self->rank - 1 - d, length);
    const int64_t n = weigh_axis(self, place, length, &axis), count = taps->count;
    int64_t kept = 0, to[AXIS_TAPS];
    for (int64_t i = 0; i < n; i++) {
      if (axis.index[i] >= 0) to[kept++] = i;
    }
    /* from the last one on, so that those before are still to be read */
    for (int64_t i = count; i-- > 0;) {
      const int64_t index = taps->index[i] * length;
      const double weight = taps->weight[i];
      for (int64_t k = kept; k-- > 0;) {
        taps->index[i * kept + k] = index + axis.index[to[k]];
        taps->weight[i * kept + k] = weight * axis.weight[to[k]];
      }
    }
    taps->count = count * kept;
  }
}

#define SUM(name, type)                                                                            \
  static void name(const place_taps *taps, int64_t count, const type *from, type *to) {            \
    for (int64_t i = 0; i < count; i++) {                                                          \
      double sum = 0;                                                                              \
      for (int64_t k = 0; k < taps[i].count; k++) {                                                \
        sum += taps[i].weight[k] * (double)from[taps[i].index[k]];                                 \
      }                                                                                            \
      to[i] = (type)sum;                                                                           \
    }                                                                                              \
  }
SUM(sum_f32, float)
SUM(sum_f64, double)

/* The same of places that have all four neighbours of two dimensions: most places of an image. */
enum { QUAD = 4 };
typedef struct quads {
  int64_t index[QUAD][CHUNK];
  double weight[QUAD][CHUNK];
} quads;

/* False: a place has more or fewer. */
static bool find_quads(const place_taps *taps, int64_t count, quads *out) {
  for (int64_t i = 0; i < count; i++) {
    if (taps[i].count != QUAD) return false;
    for (int64_t k = 0; k < QUAD; k++) {
      out->index[k][i] = taps[i].index[k];
      out->weight[k][i] = taps[i].weight[k];
    }
  }
  return true;
}

static void sum_quads_f32(const quads *of, int64_t count, const float *from, float *to) {
  for (int64_t i = 0; i < count; i++) {
    double sum = of->weight[0][i] * (double)from[of->index[0][i]];
    for (int64_t k = 1; k < QUAD; k++) sum += of->weight[k][i] * (double)from[of->index[k][i]];
    to[i] = (float)sum;
  }
}

static void sample_chunk(const lk_grid_sample *self, void *const *pointers, int64_t batch,
                         int64_t first, int64_t count) {
  place_taps taps[CHUNK];
  int64_t image = 1;
  for (uint32_t d = 0; d < self->rank; d++) image *= self->dims[d];
  for (int64_t i = 0; i < count; i++) {
    weigh_place(self, pointers[1], (batch * self->places + first + i) * self->rank, &taps[i]);
  }
  quads of_four;
  const bool are_quads = !self->is_wide && find_quads(taps, count, &of_four);
  for (int64_t c = batch * self->channels; c < (batch + 1) * self->channels; c++) {
    const int64_t from = c * image, to = c * self->places + first;
    if (are_quads) {
      sum_quads_f32(&of_four, count, (const float *)pointers[0] + from, (float *)pointers[2] + to);
    } else if (self->is_wide) {
      sum_f64(taps, count, (const double *)pointers[0] + from, (double *)pointers[2] + to);
    } else {
      sum_f32(taps, count, (const float *)pointers[0] + from, (float *)pointers[2] + to);
    }
  }
}

static void sample_turns(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_grid_sample *self = loop->params;
  const int64_t chunks = lk_div_up(self->places, CHUNK);
  for (int64_t i = begin; i < end; i++) {
    const int64_t first = i % chunks * CHUNK;
    sample_chunk(self, loop->pointers, i / chunks, first, lk_min(CHUNK, self->places - first));
  }
}

lk_status lk_grid_sample_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_grid_sample *self = params;
  const int64_t turns = self->batches * lk_div_up(self->places, CHUNK);
  const bool shared = (double)turns * CHUNK * (double)(self->channels + 1) >= SHARED_TAPS;
  return lk_kernel_turns(turns, shared, sample_turns, params, pointers);
}
