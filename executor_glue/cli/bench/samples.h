/* What was measured of each request. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <latchkey/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_sample {
  uint64_t begin_ns; /* CLOCK_MONOTONIC */
  uint64_t ns;       /* of the run; with a rate, since the request was due */
  uint64_t late_ns;  /* with a rate: it began so much later than it was due */
  uint32_t request;  /* in the series */
  uint32_t pass;     /* how often the series had been through before */
  uint16_t caller;
  bool is_new; /* no request before it had its shapes */
  bool ok;     /* false: it failed */
} bench_sample;

typedef struct bench_samples {
  bench_sample *items;
  size_t count, capacity;
} bench_samples;

/* LK_OUT_OF_MEMORY. */
lk_status bench_samples_add(bench_samples *samples, const bench_sample *sample, lk_error *error);
/* Appends all of `from`. LK_OUT_OF_MEMORY, and then nothing is appended. */
lk_status bench_samples_append(bench_samples *samples, const bench_samples *from, lk_error *error);
/* By when they began. */
void bench_samples_sort(bench_samples *samples);
void bench_samples_clear(bench_samples *samples);

#ifdef __cplusplus
}
#endif
