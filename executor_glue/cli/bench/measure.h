/* One setting, measured: a number of threads, of callers, and a batch. */
#pragma once

#include "executor_glue/cli/bench/args.h"
#include "executor_glue/cli/bench/order_stats.h"
#include "executor_glue/cli/bench/samples.h"
#include "executor_glue/cli/common/inputs.h"
#include "executor_glue/cli/common/progress.h"

/* The first time through the requests, and all that comes after: known shapes. */
enum { BENCH_PASSES = 2 };

typedef struct bench_setting {
  int32_t threads; /* 0: the library's default */
  uint32_t callers;
  int64_t batch; /* 0: none is given */
} bench_setting;

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
  double mean; /* this and the next are 0 without requests */
  double at[BENCH_QUANTILES];
  bool has_interval[BENCH_QUANTILES];                 /* false: too few requests for one */
  double low[BENCH_QUANTILES], high[BENCH_QUANTILES]; /* of the 95 % interval */
} bench_times;

/* By the shapes of a request. */
enum { BENCH_NEW, BENCH_KNOWN, BENCH_SHAPES };

typedef struct bench_pass {
  bench_times all, by_shapes[BENCH_SHAPES];
  double requests_per_s; /* the sum over callers: a caller's requests by the time of their runs */
  uint64_t rss_before, rss_after;
  lk_stats before, after;
  lk_session_stats session_before, session_after;
} bench_pass;

/* A setting that is open: what is measured. */
typedef struct bench_subject {
  bench_setting setting;
  cli_model model;
  input_series *series;
  lk_named_tensor *rows; /* input_series_rows */
} bench_subject;

/* What was measured. */
typedef struct bench_result {
  bench_setting setting; /* with the threads that there were */
  const char *cache_mode;
  uint64_t distinct; /* shapes among the requests */
  uint64_t warmed;   /* requests before anything was measured */
  bench_pass passes[BENCH_PASSES];
  bench_samples samples; /* of all requests, by when they began */
  char **shapes;         /* of each request of the series, as text; NULL: nobody asked */
  bool interrupted;      /* ended before all was measured */
} bench_result;

/* Opens the model. bench_subject_close is needed after a failure too. */
lk_status bench_subject_open(const bench_args *args, const bench_setting *setting,
                             bench_subject *out, lk_error *error);
void bench_subject_close(bench_subject *subject);

/* Measures, between interrupt_begin and interrupt_end. When a request fails, its sample and those
 * before it are in `out`, whose passes are not whole then. bench_result_destroy is needed after a
 * failure too. LK_CANCELLED when SIGINT came before a request was measured. */
lk_status bench_measure(const bench_args *args, bench_subject *subject, progress *bar,
                        bench_result *out, lk_error *error);
void bench_result_destroy(bench_result *result, uint64_t requests);
