/* A load from begin to end: workers, the clock, a line of progress, and what was counted. */
#pragma once

#include "executor_glue/cli/load/worker.h"

/* Of one model, or of all. */
typedef struct load_totals {
  histogram latency;
  double requests_per_s;
  uint64_t late_sum_ns, late_max_ns;
  uint64_t run_plan_hits, run_plan_builds;
} load_totals;

/* Of one thread. */
typedef struct load_share {
  uint64_t requests;
  double seconds; /* in which it sent them */
} load_share;

typedef struct load_result {
  const load_models *models;
  load_totals *totals; /* [models + 1]: the last one is the sum */
  load_share *shares;  /* [threads] */
  double seconds;      /* from the begin of the clock until the last request ended */
  double cpu_seconds;  /* processor time of the process in that time */
  lk_stats cache_before, cache_after;
  uint64_t rss_before, rss_after, rss_peak;
  uint64_t unserved; /* with a rate: due, but never begun */
  load_failures failures, mismatches;
  bool interrupted;
} load_result;

/* LK_OK also when requests failed after the first of their model succeeded. load_result_destroy is
 * needed after a failure too. */
lk_status load_run_all(const load_models *models, load_result *out, lk_error *error);
void load_result_destroy(load_result *result);
