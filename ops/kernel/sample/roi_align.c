/* Regions of images as bins. A turn is a bin of a region, with all channels. */
#include "ops/kernel/sample/roi_align.h"

#include <inttypes.h>
#include <math.h>

#include "base/status.h"
#include "base/team/look.h"
#include "base/team/team.h"
#include "ops/kernel/sizes.h"

enum { CHANNELS = 64, SAMPLES = 64 /* that are known at a time */ };
enum { BIN = 512 /* operations of its samples, each of four neighbours */ };

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
  float narrow[4]; /* the same weights */
} sample;

/* Some of the samples of a bin. */
typedef struct samples {
  int64_t count, outside; /* those outside are zeros */
  sample inside[SAMPLES];
} samples;

/* After every operation, as in arithmetic of the type: a last bit decides how many samples there
 * are, and whether one is outside. */
static inline double narrow(const lk_roi_align *self, double value) {
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

static void add_sample(const lk_roi_align *self, const pair *y, const pair *x, samples *to) {
  const int64_t top = y->low * self->image[1], bottom = y->high * self->image[1];
  const double above = 1 - y->weight, before = 1 - x->weight;
  sample *s = &to->inside[to->count++];
  s->index[0] = top + x->low;
  s->index[1] = top + x->high;
  s->index[2] = bottom + x->low;
  s->index[3] = bottom + x->high;
  s->weight[0] = above * before;
  s->weight[1] = above * x->weight;
  s->weight[2] = y->weight * before;
  s->weight[3] = y->weight * x->weight;
  for (int k = 0; k < 4; k++) s->narrow[k] = (float)s->weight[k];
}

/* What comes of one channel: `sum` and the samples. The largest is that of the weighted neighbours,
 * not of interpolated samples, as in ONNX's reference and in ONNX Runtime. */
#define LARGEST_OF(name, type)                                                                     \
  static double name(const type *channel, const samples *all, double largest) {                    \
    double of[4] = {largest, largest, largest, largest}; /* which do not wait for each other */    \
    for (int64_t i = 0; i < all->count; i++) {                                                     \
      const sample *s = &all->inside[i];                                                           \
      _Pragma("GCC unroll 4") for (int k = 0; k < 4; k++) {                                        \
        const double value = s->weight[k] * (double)channel[s->index[k]];                          \
        of[k] = of[k] < value ? value : of[k];                                                     \
      }                                                                                            \
    }                                                                                              \
    for (int k = 0; k < 4; k++) largest = largest < of[k] ? of[k] : largest;                       \
    return largest;                                                                                \
  }
LARGEST_OF(largest_f32, float)
LARGEST_OF(largest_f64, double)

/* Means of f32, which most are: a sample after the other, whose weights stay in registers. */
static void add_f32(const float *channels, int64_t plane, const samples *all, int64_t count,
                    double *sums) {
  for (int64_t i = 0; i < all->count; i++) {
    const sample s = all->inside[i];
    const float *channel = channels;
    for (int64_t c = 0; c < count; c++, channel += plane) {
      const float upper = s.narrow[0] * channel[s.index[0]] + s.narrow[1] * channel[s.index[1]];
      const float lower = s.narrow[2] * channel[s.index[2]] + s.narrow[3] * channel[s.index[3]];
      sums[c] += (double)(upper + lower);
    }
  }
}
static double sum_f64(const double *channel, const samples *all, double sum) {
  for (int64_t i = 0; i < all->count; i++) {
    const sample *s = &all->inside[i];
    for (int k = 0; k < 4; k++) sum += s->weight[k] * channel[s->index[k]];
  }
  return sum;
}

/* What comes of the first `count` channels from element `from` on. */
static void take(const lk_roi_align *self, const void *images, int64_t from, const samples *all,
                 int64_t count, double *sums) {
  const int64_t plane = self->image[0] * self->image[1];
  const float *narrow = (const float *)images + from;
  const double *wide = (const double *)images + from;
  if (!self->is_max && !self->is_wide) {
    add_f32(narrow, plane, all, count, sums);
    return;
  }
  for (int64_t c = 0; c < count; c++) {
    const int64_t at = c * plane;
    sums[c] = !self->is_max   ? sum_f64(wide + at, all, sums[c])
              : self->is_wide ? largest_f64(wide + at, all, sums[c])
                              : largest_f32(narrow + at, all, sums[c]);
    if (self->is_max && all->outside > 0) sums[c] = fmax(sums[c], 0);
  }
}

/* A dimension of a region, with the neighbours of its first samples: those of bin 0, then those of
 * bin 1 and so on. They are found once for all bins of the other dimension. */
typedef struct side {
  extent extent;
  int64_t samples, known;
  bool is_inside[SAMPLES];
  pair pairs[SAMPLES];
} side;

static void find_side(const lk_roi_align *self, const void *regions, int64_t region, uint32_t d,
                      side *out) {
  out->extent = extent_of(self, regions, region, d);
  out->samples = (int64_t)out->extent.samples;
  out->known = 0;
  for (int64_t bin = 0; bin < self->bins[d] && out->known < SAMPLES; bin++) {
    for (int64_t i = 0; i < out->samples && out->known < SAMPLES; i++, out->known++) {
      out->is_inside[out->known] =
          find_pair(self, &out->extent, d, bin, i, &out->pairs[out->known]);
    }
  }
}

/* NULL: it is outside. */
static const pair *pair_of(const lk_roi_align *self, const side *of, uint32_t d, int64_t bin,
                           int64_t i, pair *room) {
  const int64_t at = bin * of->samples + i;
  if (at < of->known) return of->is_inside[at] ? &of->pairs[at] : NULL;
  return find_pair(self, &of->extent, d, bin, i, room) ? room : NULL;
}

/* Of `count` channels: the sums or the largest of all samples of a bin, which are zeros outside. */
static void take_bin(const lk_roi_align *self, const void *images, int64_t from,
                     const side sides[2], const int64_t bin[2], int64_t count, double *sums) {
  const int64_t rows = sides[0].samples, columns = sides[1].samples;
  const bool has_samples = rows > 0 && columns > 0;
  samples all;
  all.count = all.outside = 0;
  for (int64_t c = 0; c < count; c++) sums[c] = self->is_max && has_samples ? -INFINITY : 0;
  for (int64_t i = 0; i < rows && !lk_team_is_stopped(); i++) {
    pair room[2];
    const pair *y = pair_of(self, &sides[0], 0, bin[0], i, &room[0]);
    if (y == NULL) {
      all.outside += columns;
      continue;
    }
    for (int64_t j = 0; j < columns; j++) {
      const pair *x = pair_of(self, &sides[1], 1, bin[1], j, &room[1]);
      if (x == NULL) {
        all.outside++;
        continue;
      }
      add_sample(self, y, x, &all);
      if (all.count < SAMPLES) continue;
      take(self, images, from, &all, count, sums);
      all.count = 0;
    }
  }
  take(self, images, from, &all, count, sums);
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
  int64_t region = begin / bins, place = begin % bins;
  for (int64_t left = end - begin; left > 0; region++, place = 0) {
    const int64_t batch = ((const int64_t *)loop->pointers[2])[region];
    side sides[2];
    for (uint32_t d = 0; d < 2; d++) find_side(self, loop->pointers[1], region, d, &sides[d]);
    int64_t bin[2] = {place / self->bins[1], place % self->bins[1]};
    for (; place < bins && left > 0; place++, left--) {
      for (int64_t first = 0; first < self->channels; first += CHANNELS) {
        double sums[CHANNELS];
        const int64_t count = lk_min(CHANNELS, self->channels - first);
        take_bin(self, loop->pointers[0], (batch * self->channels + first) * plane, sides, bin,
                 count, sums);
        const int64_t to = (region * self->channels + first) * bins + place;
        for (int64_t c = 0; c < count; c++) put(self, loop->pointers[3], to + c * bins, sums[c]);
      }
      if (++bin[1] < self->bins[1]) continue;
      bin[1] = 0;
      bin[0]++;
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
    LK_RETURN_NOT_OK(lk_look_check_after(i, LK_LOOK_FEW, "check regions", error));
    LK_RETURN_NOT_OK(check_region(self, pointers, i, error));
  }
  const int64_t turns = self->regions * self->bins[0] * self->bins[1];
  return lk_kernel_turns(turns, lk_sharing_pays_for(turns * self->channels, BIN), align_bins,
                         params, pointers);
}
