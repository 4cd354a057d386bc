/* A log-linear histogram of nanoseconds, in the way of HdrHistogram (Gil Tene, hdrhistogram.org).
 *
 * Each power of two is divided into the same number of equal buckets. So a value is known to within
 * 1 part in 128 however large it is, and recording one is a few instructions. One thread writes at
 * a time; histograms of several threads are merged.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  HISTOGRAM_BITS = 7,   /* 2^7 buckets for each power of two */
  HISTOGRAM_OCTAVE = 43 /* up to 2^43 ns, 2.4 hours; what is longer is in the last bucket */
};
#define HISTOGRAM_BUCKETS ((HISTOGRAM_OCTAVE - HISTOGRAM_BITS + 1) << HISTOGRAM_BITS)

typedef struct histogram {
  uint64_t count, sum;
  uint64_t min, max; /* exact; 0 while count is */
  uint64_t buckets[HISTOGRAM_BUCKETS];
} histogram;

/* Empties it. Writes all of its memory, so that recording finds every page there. */
void histogram_clear(histogram *self);
void histogram_record(histogram *self, uint64_t value);
/* Adds what is in `from`. */
void histogram_merge(histogram *self, const histogram *from);

/* Nearest rank: the smallest value that at least `permille` thousandths of the values do not
 * exceed. It is within 1/256 of that value, and never outside of what was recorded; 0 when nothing
 * was. */
uint64_t histogram_percentile(const histogram *self, uint64_t permille);
double histogram_mean(const histogram *self); /* exact; 0 when nothing was recorded */

#ifdef __cplusplus
}
#endif
