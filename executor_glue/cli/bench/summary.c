/* What the samples of a pass come to: throughput and quantiles. */
#include "executor_glue/cli/bench/summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/cli/bench/order_stats.h"

const bench_quantile bench_quantiles[BENCH_QUANTILES] = {{"p50", "p50", 500},
                                                         {"p90", "p90", 900},
                                                         {"p95", "p95", 950},
                                                         {"p99", "p99", 990},
                                                         {"p99.9", "p99_9", 999}};

static int compare_ns(const void *a, const void *b) {
  const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
  return (left > right) - (left < right);
}

/* Sorts them. */
static bench_times summarize(uint64_t *times, uint64_t count) {
  bench_times out = {.requests = count};
  uint64_t total = 0;
  if (count == 0) return out;
  for (uint64_t i = 0; i < count; i++) total += times[i];
  qsort(times, count, sizeof *times, compare_ns);
  out.mean = (double)total / (double)count / 1e6;
  out.min = (double)times[0] / 1e6;
  out.max = (double)times[count - 1] / 1e6;
  for (uint32_t q = 0; q < BENCH_QUANTILES; q++) {
    const uint32_t permille = bench_quantiles[q].permille;
    order_interval ranks;
    out.at[q] = (double)times[order_rank(count, permille) - 1] / 1e6;
    out.has_interval[q] = order_interval_of(count, permille, &ranks);
    if (!out.has_interval[q]) continue;
    out.low[q] = (double)times[ranks.low - 1] / 1e6;
    out.high[q] = (double)times[ranks.high - 1] / 1e6;
  }
  return out;
}

static lk_status throughput(const bench_sample *samples, size_t count, uint32_t callers,
                            double *out, lk_error *error) {
  const lk_allocator *allocator = lk_allocator_default();
  struct {
    uint64_t requests, ns;
  } *shares = lk_calloc(allocator, callers, sizeof *shares);
  if (shares == NULL) return lk_fail_memory(error, "counters", callers * sizeof *shares);
  for (size_t i = 0; i < count; i++) {
    if (!samples[i].ok) continue;
    shares[samples[i].caller].requests++;
    shares[samples[i].caller].ns += samples[i].ns;
  }
  *out = 0;
  for (uint32_t c = 0; c < callers; c++) {
    if (shares[c].ns > 0) *out += (double)shares[c].requests * 1e9 / (double)shares[c].ns;
  }
  lk_free(allocator, shares);
  return LK_OK;
}

/* What was due at a rate and served: the time that passed counts, and the last interval too. */
static void summarize_rate(double rate, const bench_sample *samples, size_t count,
                           bench_pass *out) {
  uint64_t served = 0, sum = 0, most = 0;
  for (size_t i = 0; i < count; i++) {
    if (!samples[i].ok) continue;
    served++;
    sum += samples[i].late_ns;
    if (samples[i].late_ns > most) most = samples[i].late_ns;
  }
  if (served == 0) return;
  const double asked = (double)served / rate, elapsed = (double)out->elapsed_ns / 1e9;
  out->requests_per_s = (double)served / (elapsed > asked ? elapsed : asked);
  out->late_mean = (double)sum / (double)served / 1e6;
  out->late_max = (double)most / 1e6;
}

/* `times`: room for [count]. */
static bench_times summarize_model(const bench_subject *subject, uint32_t model,
                                   const bench_sample *samples, size_t count, uint64_t *times) {
  uint64_t n_times = 0;
  for (size_t i = 0; i < count; i++) {
    const bench_sample *one = &samples[i];
    if (one->ok && subject->requests[one->request].model == model) times[n_times++] = one->ns;
  }
  return summarize(times, n_times);
}

lk_status bench_summarize(const bench_subject *subject, double rate, const bench_sample *samples,
                          size_t count, bench_pass *out, lk_error *error) {
  const lk_allocator *allocator = lk_allocator_default();
  LK_RETURN_NOT_OK(
      throughput(samples, count, subject->setting.callers, &out->requests_per_s, error));
  if (rate > 0) summarize_rate(rate, samples, count, out);
  uint64_t *times = lk_calloc(allocator, count, sizeof *times);
  if (times == NULL) return lk_fail_memory(error, "times", count * sizeof *times);
  for (uint32_t m = 0; m < out->n_models; m++) {
    out->models[m].times = summarize_model(subject, m, samples, count, times);
  }
  /* New shapes from the front, known ones from the back. */
  uint64_t n_new = 0, n_known = 0;
  for (size_t i = 0; i < count; i++) {
    if (!samples[i].ok) continue;
    times[samples[i].is_new ? n_new++ : count - ++n_known] = samples[i].ns;
  }
  memmove(times + n_new, times + count - n_known, n_known * sizeof *times);
  out->by_shapes[BENCH_NEW] = summarize(times, n_new);
  out->by_shapes[BENCH_KNOWN] = summarize(times + n_new, n_known);
  out->all = summarize(times, n_new + n_known);
  lk_free(allocator, times);
  return LK_OK;
}
