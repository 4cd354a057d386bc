/* What the samples of a pass come to: throughput and quantiles. */
#pragma once

#include <latchkey/session.h>

#include "executor_glue/cli/bench/samples.h"
#include "executor_glue/cli/bench/subject.h"

typedef struct bench_quantile {
  const char *title; /* "p99.9" */
  const char *key;   /* "p99_9", of JSON */
  uint32_t permille;
} bench_quantile;

enum { BENCH_P50, BENCH_P90, BENCH_P95, BENCH_P99, BENCH_P99_9, BENCH_QUANTILES };
extern const bench_quantile bench_quantiles[BENCH_QUANTILES];

/* How long some requests took, in ms. */
typedef struct bench_times {
  uint64_t requests;
  double mean, min, max; /* these and the next are 0 without requests */
  double at[BENCH_QUANTILES];
  bool has_interval[BENCH_QUANTILES];                 /* false: too few requests for one */
  double low[BENCH_QUANTILES], high[BENCH_QUANTILES]; /* of the 95 % interval */
} bench_times;

/* By the shapes of a request. */
enum { BENCH_NEW, BENCH_KNOWN, BENCH_SHAPES };

/* Run plans that were found, and that were built. */
typedef struct bench_plans {
  uint64_t hits, builds;
} bench_plans;

/* What a pass was for one of the models. */
typedef struct bench_model_pass {
  const char *name;  /* borrowed from bench_args */
  uint64_t distinct; /* shapes among its requests */
  bench_times times;
  bench_plans plans;
} bench_model_pass;

typedef struct bench_pass {
  bench_times all, by_shapes[BENCH_SHAPES];
  bench_model_pass *models; /* [n_models] */
  uint32_t n_models;
  /* The sum over callers: a caller's requests by the time of their runs. With a rate, all requests
   * by the time that passed. */
  double requests_per_s;
  double late_mean, late_max;  /* with a rate: from due to begun, in ms */
  uint64_t unserved;           /* with a rate: due, and never begun */
  uint64_t elapsed_ns, cpu_ns; /* while requests were sent, and processor time meanwhile */
  uint64_t rss_before, rss_after, rss_peak;
  lk_stats before, after;
} bench_pass;

/* Fills in the times and the throughput of `out` by the samples [count] of a pass,
 * without those that failed. `rate`: that of --rate, or 0. LK_OUT_OF_MEMORY. */
lk_status bench_summarize(const bench_subject *subject, double rate, const bench_sample *samples,
                          size_t count, bench_pass *out, lk_error *error);
