/* Images at places between their elements. A turn is a few places of an image, with all channels,
 * for which neighbours and weights are found once. */
#include "ops/kernel/sample/grid_sample.h"

#include <emmintrin.h>
#include <math.h>
#include <string.h>

#include "base/team/look.h"
#include "ops/kernel/sizes.h"

enum { AXIS_TAPS = 4, TAPS = 64, CHUNK = 16 };
enum { SAMPLE = 64 /* operations of neighbours anywhere, with weights */ };

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

/* Places of a chunk whose neighbours are lists. */
typedef struct listed {
  int64_t count, place[CHUNK];
  place_taps taps[CHUNK];
} listed;

#define SUM(name, type)                                                                            \
  static void name(const listed *self, const type *from, type *to) {                               \
    for (int64_t i = 0; i < self->count; i++) {                                                    \
      const place_taps *taps = &self->taps[i];                                                     \
      double sum = 0;                                                                              \
      for (int64_t k = 0; k < taps->count; k++) {                                                  \
        sum += taps->weight[k] * (double)from[taps->index[k]];                                     \
      }                                                                                            \
      to[self->place[i]] = (type)sum;                                                              \
    }                                                                                              \
  }
SUM(sum_f32, float)
SUM(sum_f64, double)

/* ---- places between four elements of an image of two dimensions: most places ---- */

enum { QUAD = 4 };

/* The first of the four, and the weights of all: 0 of places that are no such ones. */
typedef struct quads {
  int64_t count, index[CHUNK];
  _Alignas(16) float weight[CHUNK][QUAD];
} quads;

static bool can_have_quads(const lk_grid_sample *self) {
  return self->rank == 2 && self->mode == LK_SAMPLE_LINEAR && !self->is_wide && !self->grid_is_wide;
}

/* False: the place has other neighbours. */
static bool add_quad(const lk_grid_sample *self, const void *grid, int64_t at, quads *out,
                     int64_t place) {
  const double x = place_of(self, grid, at, self->dims[1]);
  const double y = place_of(self, grid, at + 1, self->dims[0]);
  float *weight = out->weight[place];
  const bool is_inside =
      x >= 0 && y >= 0 && x < (double)(self->dims[1] - 1) && y < (double)(self->dims[0] - 1);
  if (!is_inside) return false;
  const int64_t column = (int64_t)x, row = (int64_t)y;
  const double right = x - (double)column, below = y - (double)row;
  weight[0] = (float)((1 - below) * (1 - right));
  weight[1] = (float)((1 - below) * right);
  weight[2] = (float)(below * (1 - right));
  weight[3] = (float)(below * right);
  out->index[place] = row * self->dims[1] + column;
  out->count++;
  return true;
}

static inline __m128 products_of(const quads *self, int64_t place, const float *from, int64_t row) {
  const float *at = from + self->index[place];
  __m128 x = _mm_loadl_pi(_mm_setzero_ps(), (const __m64 *)(const void *)at);
  x = _mm_loadh_pi(x, (const __m64 *)(const void *)(at + row));
  return _mm_mul_ps(x, _mm_load_ps(self->weight[place]));
}

/* Of all places of a chunk. `row`: elements from a line of the image to the next one. */
static void sum_quads(const quads *self, const float *from, int64_t row, float *to) {
  for (int64_t i = 0; i < CHUNK; i += 4) {
    const __m128 a = products_of(self, i, from, row), b = products_of(self, i + 1, from, row);
    const __m128 c = products_of(self, i + 2, from, row), d = products_of(self, i + 3, from, row);
    const __m128 ab = _mm_add_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
    const __m128 cd = _mm_add_ps(_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
    _mm_storeu_ps(to + i, _mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab)));
  }
}

/* ---- chunks ---- */

static void find_places(const lk_grid_sample *self, const void *grid, int64_t first, int64_t count,
                        quads *four, listed *rest) {
  const bool has_quads = can_have_quads(self);
  four->count = rest->count = 0;
  for (int64_t i = 0; i < CHUNK; i++) {
    four->index[i] = 0;
    for (int k = 0; k < QUAD; k++) four->weight[i][k] = 0;
  }
  for (int64_t i = 0; i < count; i++) {
    const int64_t at = (first + i) * self->rank;
    if (has_quads && add_quad(self, grid, at, four, i)) continue;
    rest->place[rest->count] = i;
    weigh_place(self, grid, at, &rest->taps[rest->count++]);
  }
}

static void sample_chunk(const lk_grid_sample *self, void *const *pointers, int64_t batch,
                         int64_t first, int64_t count) {
  quads four;
  listed rest;
  int64_t image = 1;
  for (uint32_t d = 0; d < self->rank; d++) image *= self->dims[d];
  find_places(self, pointers[1], batch * self->places + first, count, &four, &rest);
  for (int64_t c = batch * self->channels, done = 0; c < (batch + 1) * self->channels; c++) {
    if (lk_look_more(&done, count, LK_LOOK_FEW)) return;
    const int64_t from = c * image, to = c * self->places + first;
    if (self->is_wide) {
      sum_f64(&rest, (const double *)pointers[0] + from, (double *)pointers[2] + to);
      continue;
    }
    const float *plane = (const float *)pointers[0] + from;
    float *results = (float *)pointers[2] + to, room[CHUNK];
    if (four.count > 0) {
      sum_quads(&four, plane, self->dims[1], count == CHUNK ? results : room);
      if (count < CHUNK) memcpy(results, room, (size_t)count * sizeof *room);
    }
    sum_f32(&rest, plane, results);
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
  const int64_t samples = turns * CHUNK * (self->channels + 1);
  return lk_kernel_turns(turns, lk_sharing_pays_for(samples, SAMPLE), sample_turns, params,
                         pointers);
}
