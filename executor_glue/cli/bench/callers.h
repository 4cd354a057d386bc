/* The threads that send requests: each its next when the last one is answered, and with a rate not
 * before that is due.
 *
 * They live from the first phase to the last, since a cache of the thread's own ends with it. The
 * first caller is the thread that calls bench_callers_run. Between the requests of a phase a caller
 * takes no lock; a shared counter hands out the requests.
 */
#pragma once

#include "executor_glue/cli/bench/failures.h"
#include "executor_glue/cli/bench/pace.h"
#include "executor_glue/cli/bench/samples.h"
#include "executor_glue/cli/bench/subject.h"
#include "executor_glue/cli/bench/summary.h"
#include "executor_glue/cli/common/progress.h"

/* Request `number` of a phase is request `number` % requests of the series, in pass `number` /
 * requests. */
typedef struct bench_phase {
  uint64_t first, end; /* numbers: from `first`, less than `end` */
  bench_pace pace;     /* when they begin */
  uint64_t warmed;     /* so many of the series, from the first, have run before pass 0 */
  bool keeps;          /* samples are kept */
} bench_phase;

/* What a phase was. */
typedef struct bench_phase_end {
  uint64_t sent;       /* requests */
  uint64_t elapsed_ns; /* until the last one was answered */
  uint64_t cpu_ns;     /* processor time of the process meanwhile */
  uint64_t rss_peak;   /* the most memory of the process meanwhile */
} bench_phase_end;

typedef struct bench_callers bench_callers;

/* Starts all callers of the setting but the first. Both are borrowed while there are callers.
 * LK_OUT_OF_MEMORY. */
lk_status bench_callers_create(const bench_args *args, const bench_subject *subject,
                               bench_callers **out, lk_error *error);
/* Runs a phase and adds its samples to `samples`, by when they began. SIGINT (interrupt.h) ends it.
 * A request that fails is noted. Where none of its model has worked it ends the phase and is the
 * status; its sample is there, as are those before. */
lk_status bench_callers_run(bench_callers *callers, const bench_phase *phase, progress *bar,
                            bench_samples *samples, bench_phase_end *out, lk_error *error);
/* What all sessions of a model did until now. */
lk_status bench_callers_plans(const bench_callers *callers, uint32_t model, bench_plans *out,
                              lk_error *error);
/* Requests of all phases that failed, and those that had another output than alone. */
void bench_callers_failures(const bench_callers *callers, bench_failures *failed,
                            bench_failures *mismatched);
void bench_callers_destroy(bench_callers *callers); /* NULL is allowed */
