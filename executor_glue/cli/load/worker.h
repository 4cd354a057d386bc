/* A thread that sends requests, phase by phase: first the warm-up, then what is measured.
 *
 * During a phase a worker takes no lock, allocates nothing outside the library, and writes to
 * memory of its own. With --rate and --requests there is one shared counter, which hands out the
 * requests.
 */
#pragma once

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>

#include "executor_glue/cli/load/failures.h"
#include "executor_glue/cli/load/histogram.h"
#include "executor_glue/cli/load/models.h"

enum { LOAD_PHASES = 2, LOAD_LINE = 128 /* two cache lines: processors fetch them in pairs */ };

/* What a phase is: set while all workers wait, constant while they work. */
typedef struct load_phase {
  uint64_t begin_ns;  /* CLOCK_MONOTONIC */
  uint64_t end_ns;    /* no request begins, or with a rate is due, at or after it */
  uint64_t last_ns;   /* with a rate: a request that has not begun by then never does */
  uint64_t requests;  /* of all workers; UINT64_MAX: any number */
  double interval_ns; /* between two requests that are due; 0: no rate */
  uint64_t seed;
} load_phase;

/* What all workers share. */
typedef struct load_run {
  const load_models *models;
  uint64_t total_weight;
  uint32_t n_threads;
  load_phase phase;
  atomic_bool *worked;                      /* [models]: a request of it has succeeded */
  alignas(LOAD_LINE) atomic_bool stop;      /* no request begins any more */
  alignas(LOAD_LINE) _Atomic uint64_t next; /* number of the request that is handed out next */
  alignas(LOAD_LINE) pthread_mutex_t mutex;
  pthread_cond_t opened;
  uint32_t n_waiting; /* guarded by mutex, as is the next */
  uint32_t n_opened;  /* phases */
} load_run;

/* Of one model on one thread. */
typedef struct load_counts {
  alignas(LOAD_LINE) histogram latency;
  uint64_t late_sum_ns, late_max_ns; /* with a rate: from due to begun */
} load_counts;

typedef struct load_worker {
  alignas(LOAD_LINE) load_run *run;
  uint32_t index;
  pthread_t thread;
  load_counts *counts;                /* [models] */
  load_failures failures, mismatches; /* of all phases */
  uint64_t begun;                     /* requests of this phase */
  uint64_t last_ns; /* when the last of them ended; the phase's begin if there is none */
  uint64_t left_ns; /* when it found no more to send */
  lk_error fatal;   /* of the first request of a model; LK_OK: there is none */
  alignas(LOAD_LINE) _Atomic uint64_t done; /* requests of all phases, for the line of progress */
} load_worker;

/* The function of the thread; `worker` is a load_worker. The last one to wait for a phase wakes the
 * main thread (interrupt_wake). */
void *load_worker_main(void *worker);

/* For the main thread: whether all workers wait, and the way on for them. */
bool load_run_all_wait(load_run *run);
void load_run_open(load_run *run);
