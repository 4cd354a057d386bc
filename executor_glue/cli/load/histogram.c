/* A log-linear histogram of nanoseconds. */
#include "executor_glue/cli/load/histogram.h"

#include <string.h>

/* Values below 2^BITS have a bucket each; above, the BITS bits behind the leading one choose. */
static uint32_t bucket_of(uint64_t value) {
  if (value < (UINT64_C(1) << HISTOGRAM_BITS)) return (uint32_t)value;
  if (value >> HISTOGRAM_OCTAVE != 0) return HISTOGRAM_BUCKETS - 1;
  uint32_t shift = 63u - (uint32_t)__builtin_clzll(value) - HISTOGRAM_BITS;
  return (shift << HISTOGRAM_BITS) + (uint32_t)(value >> shift);
}

/* The middle of a bucket: half a bucket from either end. */
static uint64_t middle_of(uint32_t bucket) {
  if (bucket < (2u << HISTOGRAM_BITS)) return bucket;
  uint32_t shift = (bucket >> HISTOGRAM_BITS) - 1;
  uint64_t first = (uint64_t)(bucket - (shift << HISTOGRAM_BITS)) << shift;
  return first + (UINT64_C(1) << shift) / 2;
}

void histogram_clear(histogram *self) {
  memset(self, 0, sizeof *self);
}

void histogram_record(histogram *self, uint64_t value) {
  if (self->count == 0 || value < self->min) self->min = value;
  if (value > self->max) self->max = value;
  self->count++;
  self->sum += value;
  self->buckets[bucket_of(value)]++;
}

void histogram_merge(histogram *self, const histogram *from) {
  if (from->count == 0) return;
  if (self->count == 0 || from->min < self->min) self->min = from->min;
  if (from->max > self->max) self->max = from->max;
  self->count += from->count;
  self->sum += from->sum;
  for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) self->buckets[i] += from->buckets[i];
}

uint64_t histogram_percentile(const histogram *self, uint64_t permille) {
  if (self->count == 0) return 0;
  uint64_t rank = (self->count * permille + 999) / 1000;
  if (rank == 0) rank = 1;
  if (rank >= self->count) return self->max;
  uint32_t bucket = 0;
  for (uint64_t seen = self->buckets[0]; seen < rank;) seen += self->buckets[++bucket];
  /* The last bucket has no other end than the largest value. */
  uint64_t value = bucket < HISTOGRAM_BUCKETS - 1 ? middle_of(bucket) : self->max;
  if (value < self->min) return self->min;
  return value > self->max ? self->max : value;
}

double histogram_mean(const histogram *self) {
  return self->count > 0 ? (double)self->sum / (double)self->count : 0.0;
}
