/* Settings, measured: one by itself, or several by turns. */
#pragma once

#include "executor_glue/cli/bench/failures.h"
#include "executor_glue/cli/bench/samples.h"
#include "executor_glue/cli/bench/subject.h"
#include "executor_glue/cli/bench/summary.h"
#include "executor_glue/cli/common/progress.h"

/* The first time through the requests, and all that comes after: known shapes. */
enum { BENCH_PASSES = 2 };

/* What was measured. */
typedef struct bench_result {
  bench_setting setting; /* with the threads that there were */
  char engine[64];       /* that computed */
  const char *cache_mode;
  uint64_t distinct; /* shapes among the requests, of all models */
  uint64_t warmed;   /* requests before anything was measured */
  bench_pass passes[BENCH_PASSES];
  bench_samples samples; /* of all requests, by when they began */
  char **shapes;         /* of each request of the series, as text; NULL: nobody asked */
  bench_failures failed, mismatched; /* also of the warm-up */
  bool interrupted;                  /* ended before all was measured */
  /* LK_OK: the outputs of the first request are those of the first engine, or nobody looked. */
  lk_error difference;
} bench_result;

/* Measures `count` subjects, which get the requests, or the time, by turns, each as much as the
 * others; between interrupt_begin and interrupt_end. Each is warmed up before the first turn. Where
 * a request fails and none of its model has worked, this fails too: its sample and those before it
 * are in `results`, whose passes are not whole then. bench_result_destroy is needed after a failure
 * too. LK_CANCELLED when SIGINT came before a request was measured. */
lk_status bench_measure(const bench_args *args, bench_subject *subjects, uint32_t count,
                        progress *bar, bench_result *results, lk_error *error);
void bench_result_destroy(bench_result *result, uint64_t requests);
