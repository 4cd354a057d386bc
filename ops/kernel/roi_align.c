/* Regions of images as bins. A turn is a bin of a region, with all channels. */
#include "ops/kernel/roi_align.h"

#include <inttypes.h>
#include <math.h>

#include "base/status.h"
#include "base/team/team.h"
#include "ops/kernel/sizes.h"

enum { CHANNELS = 64, SHARED_BINS = 2048 };

/* Along a dimension, of a region: where it begins, and the size and the samples of a bin. */
typedef struct extent {
  double start, size, samples;
} extent;

/* Two neighbours along a dimension. */
typedef struct pair {
  int64_t low, high;
  double weight; /* of `high` */
} pair;

/* Four neighbours of a sample. */
typedef struct sample {
  int64_t index[4];
  double weight[4];
} sample;

/* After every operation, as in arithmetic of the type: a last bit decides how many samples there
 * are, and whether one is outside. */
static double narrow(const lk_roi_align *self, double value) {
  return self->is_wide ? value : (double)(float)value;
}

static double coordinate(const lk_roi_align *self, const void *regions, int64_t at) {
  const double value =
      self->is_wide ? ((const double *)regions)[at] : (double)((const float *)regions)[at];
  const double scaled = narrow(self, value * self->scale);
  return self->half_pixel ? narrow(self, scaled - 0.5) : scaled;
}

/* Of dimension 0 (height) or 1. */
static extent extent_of(const lk_roi_align *self, const void *regions, int64_t region, uint32_t d) {
  const int64_t at = region * 4 + 1 - d;
  const double start = coordinate(self, regions, at);
  double size = narrow(self, coordinate(self, regions, at + 2) - start);
  /* Without half pixels, a region has one element at least. */
  if (!self->half_pixel && size < 1) size = 1;
  const double bin = narrow(self, size / (double)self->bins[d]);
  return (extent){start, bin, self->samples > 0 ? (double)self->samples : ceil(bin)};
}

/* The neighbours of sample `i` of bin `bin`; false: it is outside. */
static bool find_pair(const lk_roi_align *self, const extent *e, uint32_t d, int64_t bin, int64_t i,
                      pair *out) {
  const int64_t length = self->image[d];
  const double begin = narrow(self, e->start + narrow(self, (double)bin * e->size));
  const double middle = narrow(self, ((double)i + 0.5) * e->size);
  double place = narrow(self, begin + narrow(self, middle / e->samples));
  if (length == 0 || !(place >= -1 && place <= (double)length)) return false;
  place = fmax(place, 0);
  out->low = lk_min((int64_t)place, length - 1);
  out->high = lk_min(out->low + 1, length - 1);
  out->weight = out->high > out->low ? place - (double)out->low : 0;
  return true;
}

static sample sample_of(const lk_roi_align *self, const pair *y, const pair *x) {
  const int64_t width = self->image[1];
  return (sample){{y->low * width + x->low, y->low * width + x->high, y->high * width + x->low,
                   y->high * width + x->high},
                  {(1 - y->weight) * (1 - x->weight), (1 - y->weight) * x->weight,
                   y->weight * (1 - x->weight), y->weight * x->weight}};
}

static double element(const lk_roi_align *self, const void *image, int64_t at) {
  return self->is_wide ? ((const double *)image)[at] : (double)((const float *)image)[at];
}

/* Means of f32, which most are. */
static void add_f32(const float *channel, int64_t plane, const sample *s, int64_t count,
                    double *sums) {
  const float weight[] = {(float)s->weight[0], (float)s->weight[1], (float)s->weight[2],
                          (float)s->weight[3]};
  for (int64_t c = 0; c < count; c++, channel += plane) {
    const float upper = weight[0] * channel[s->index[0]] + weight[1] * channel[s->index[1]];
    const float lower = weight[2] * channel[s->index[2]] + weight[3] * channel[s->index[3]];
    sums[c] += (double)(upper + lower);
  }
}

/* What comes of the first `count` channels from element `from` on. The largest is that of the
 * weighted neighbours, not of interpolated samples, as in ONNX's reference and in ONNX Runtime. */
static void take(const lk_roi_align *self, const void *images, int64_t from, const sample *s,
                 int64_t count, double *sums) {
  const int64_t plane = self->image[0] * self->image[1];
  if (!self->is_max && !self->is_wide) {
    add_f32((const float *)images + from, plane, s, count, sums);
    return;
  }
  for (int64_t c = 0; c < count; c++) {
    for (int k = 0; k < 4; k++) {
      const double value = s->weight[k] * element(self, images, from + c * plane + s->index[k]);
      if (!self->is_max) {
        sums[c] += value;
      } else if (sums[c] < value) {
        sums[c] = value;
      }
    }
  }
}

/* Of `count` channels: the sums or the largest of all samples of a bin, which are zeros outside. */
static void take_bin(const lk_roi_align *self, const void *images, int64_t from,
                     const extent extents[2], const int64_t bin[2], int64_t count, double *sums) {
  const int64_t rows = (int64_t)extents[0].samples, columns = (int64_t)extents[1].samples;
  const bool has_samples = rows > 0 && columns > 0;
  for (int64_t c = 0; c < count; c++) sums[c] = self->is_max && has_samples ? -INFINITY : 0;
  for (int64_t i = 0; i < rows && !lk_team_is_stopped(); i++) {
    pair y, x;
    const bool is_inside = find_pair(self, &extents[0], 0, bin[0], i, &y);
    for (int64_t j = 0; j < columns; j++) {
      if (is_inside && find_pair(self, &extents[1], 1, bin[1], j, &x)) {
        const sample s = sample_of(self, &y, &x);
        take(self, images, from, &s, count, sums);
      } else if (self->is_max) {
        for (int64_t c = 0; c < count; c++) sums[c] = fmax(sums[c], 0);
      }
    }
  }
  if (self->is_max || !has_samples) return;
  for (int64_t c = 0; c < count; c++) sums[c] /= (double)rows * (double)columns;
}

static void put(const lk_roi_align *self, void *to, int64_t at, double value) {
  if (self->is_wide) {
    ((double *)to)[at] = value;
  } else {
    ((float *)to)[at] = (float)value;
  }
}

static void align_bins(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_roi_align *self = loop->params;
  const int64_t plane = self->image[0] * self->image[1], bins = self->bins[0] * self->bins[1];
  for (int64_t i = begin; i < end; i++) {
    const int64_t region = i / bins, place = i % bins;
    const int64_t bin[2] = {place / self->bins[1], place % self->bins[1]};
    const int64_t batch = ((const int64_t *)loop->pointers[2])[region];
    const extent extents[2] = {extent_of(self, loop->pointers[1], region, 0),
                               extent_of(self, loop->pointers[1], region, 1)};
    for (int64_t first = 0; first < self->channels; first += CHANNELS) {
      double sums[CHANNELS];
      const int64_t count = lk_min(CHANNELS, self->channels - first);
      take_bin(self, loop->pointers[0], (batch * self->channels + first) * plane, extents, bin,
               count, sums);
      const int64_t to = (region * self->channels + first) * bins + place;
      for (int64_t c = 0; c < count; c++) put(self, loop->pointers[3], to + c * bins, sums[c]);
    }
  }
}

static lk_status check_region(const lk_roi_align *self, void *const *pointers, int64_t region,
                              lk_error *error) {
  const int64_t batch = ((const int64_t *)pointers[2])[region];
  if (batch < 0 || batch >= self->batches) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to align region %" PRId64 ": its batch is %" PRId64
                   ", it must be 0 or more and less than %" PRId64,
                   region, batch, self->batches);
  }
  for (uint32_t d = 0; d < 2; d++) {
    const extent e = extent_of(self, pointers[1], region, d);
    if (isfinite(e.start) && isfinite(e.size) && e.samples <= LK_ROI_SAMPLES) continue;
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to align region %" PRId64 ": it begins at %g and has bins of %g, which "
                   "must be finite, with at most %d samples",
                   region, e.start, e.size, LK_ROI_SAMPLES);
  }
  return LK_OK;
}

lk_status lk_roi_align_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_roi_align *self = params;
  for (int64_t i = 0; i < self->regions; i++) {
    LK_RETURN_NOT_OK(check_region(self, pointers, i, error));
  }
  const int64_t turns = self->regions * self->bins[0] * self->bins[1];
  const bool shared = (double)turns * (double)self->channels >= SHARED_BINS;
  return lk_kernel_turns(turns, shared, align_bins, params, pointers);
}
