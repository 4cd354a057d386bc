/* What was measured of each request. */
#include "executor_glue/cli/bench/samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

lk_status bench_samples_add(bench_samples *samples, const bench_sample *sample, lk_error *error) {
  if (!LK_GROW(lk_allocator_default(), samples->items, samples->count, samples->capacity)) {
    return lk_fail_memory(error, "latencies", (samples->count + 1) * sizeof *samples->items);
  }
  samples->items[samples->count++] = *sample;
  return LK_OK;
}

lk_status bench_samples_append(bench_samples *samples, const bench_samples *from, lk_error *error) {
  const lk_allocator *allocator = lk_allocator_default();
  const size_t count = samples->count + from->count;
  if (from->count == 0) return LK_OK;
  bench_sample *items = lk_calloc(allocator, count, sizeof *items);
  if (items == NULL) return lk_fail_memory(error, "latencies", count * sizeof *items);
  if (samples->count > 0) memcpy(items, samples->items, samples->count * sizeof *items);
  memcpy(items + samples->count, from->items, from->count * sizeof *items);
  lk_free(allocator, samples->items);
  *samples = (bench_samples){items, count, count};
  return LK_OK;
}

static int compare_begin(const void *a, const void *b) {
  const bench_sample *left = a, *right = b;
  if (left->begin_ns != right->begin_ns) return left->begin_ns < right->begin_ns ? -1 : 1;
  return (left->caller > right->caller) - (left->caller < right->caller);
}

void bench_samples_sort(bench_samples *samples) {
  if (samples->count > 0) {
    qsort(samples->items, samples->count, sizeof *samples->items, compare_begin);
  }
}

void bench_samples_clear(bench_samples *samples) {
  lk_free(lk_allocator_default(), samples->items);
  *samples = (bench_samples){0};
}
