/* Traces: what happened when, as events in a ring whose memory counts for the context's limit.
 * From its begin to its end, a trace listens to what leaves the context's cache.
 *
 * A run that is traced collects its events in memory of its own, and hands them over when it ends:
 * between two operators it reads the clock and nothing else. Where the ring is full, the oldest
 * events go, and are counted.
 *
 * Threads: any number may call these functions at the same time. */
#pragma once

#include <latchkey/session.h>

#include "executor_glue/run/labels.h"
#include "executor_glue/run/run_times.h"

/* What an event is. Intervals: */
typedef enum lk_trace_kind {
  LK_TRACE_RUN,        /* labels: title; number: its status */
  LK_TRACE_PLACE,      /* a run waited because of max_runs others */
  LK_TRACE_PROCESSORS, /* a run waited for processors; number: the threads that it got */
  LK_TRACE_BUILD,      /* a run plan was built; labels: its own, or of the graph where it failed */
  LK_TRACE_BUILD_WAIT, /* another thread built it meanwhile */
  LK_TRACE_BIND,       /* a node was bound; labels: of the graph */
  LK_TRACE_EXECUTE,    /* all steps of a run; labels: of the run plan; number: threads */
  LK_TRACE_STEP,       /* labels: of the run plan; value: compute_ns; number: threads */
  /* At a moment: */
  LK_TRACE_EVICT, /* an entry was evicted; value: its bytes; more: which of the keys, from 1;
                     number: its lk_kind */
  LK_TRACE_DROP,  /* the same: it was dropped */
  /* Levels, at a moment: */
  LK_TRACE_MEMORY,  /* value: bytes of the context; more: of the cache */
  LK_TRACE_CACHE,   /* value: entries; more: evictions so far */
  LK_TRACE_THREADS, /* value: threads that compute in the process; more: runs that wait */
} lk_trace_kind;

typedef struct lk_trace_event {
  uint64_t begin_ns; /* CLOCK_MONOTONIC */
  uint64_t ns;
  lk_labels *labels; /* NULL: it needs none */
  uint64_t value, more;
  uint64_t run;   /* from 1; 0: of no run */
  uint32_t index; /* in the labels */
  int32_t number; /* see lk_trace_kind */
  int32_t thread; /* the kernel's number */
  uint32_t kind;  /* lk_trace_kind */
} lk_trace_event;

lk_status lk_trace_create(lk_context *context, const lk_trace_options *options,
                          lk_trace **out_trace, lk_error *error);
void lk_trace_retain(lk_trace *trace);
void lk_trace_release(lk_trace *trace); /* NULL is allowed */
void lk_trace_clear(lk_trace *trace);
/* Gives back all memory but the ring's, because a run needs it: all events go, and are counted.
 * NULL is allowed. */
void lk_trace_give_way(lk_trace *trace);
const lk_allocator *lk_trace_allocator(const lk_trace *trace); /* the context's */
lk_status lk_trace_info_get(lk_trace *trace, lk_trace_info *out, lk_error *error);

/* ---- for runs ---- */

/* What one run has noted. */
typedef struct lk_trace_run lk_trace_run;
struct lk_trace_run {
  lk_trace *trace;
  uint64_t number;
  int32_t thread; /* that the run began on */
  lk_trace_event *events;
  size_t n_events, capacity;
  uint64_t lost;      /* events without memory */
  lk_run_times times; /* room for those of the run */
  lk_trace_run *next; /* of those that are idle */
};

/* NULL: there is no memory, and the run goes without events, which is counted. */
lk_trace_run *lk_trace_run_begin(lk_trace *trace);
/* Notes an event of the run. `event`: thread and run are filled in here, the thread where it is
 * 0. */
void lk_trace_note(lk_trace_run *run, const lk_trace_event *event);
/* Notes what the steps took, where they have ended. */
void lk_trace_note_steps(lk_trace_run *run, const lk_run_times *times, lk_labels *labels);
/* Hands over what was noted. NULL is allowed. */
void lk_trace_run_end(lk_trace_run *run);

/* An event by itself, as of this thread. Where it is a run, memory, cache and threads are looked at
 * too, once in a millisecond at most. */
void lk_trace_add(lk_trace *trace, lk_trace_event event);

/* ---- for who shows it ---- */

enum { LK_TRACE_KEY_BYTES = 256 };

typedef struct lk_trace_thread {
  int32_t number;
  char name[16];
} lk_trace_thread;

/* The key of what has left, as text, which may be cut off. */
typedef struct lk_trace_key {
  char text[LK_TRACE_KEY_BYTES];
} lk_trace_key;

/* A copy of what the ring has at one moment, with references to the labels. */
typedef struct lk_trace_copy {
  const lk_allocator *allocator;
  lk_trace_event *events; /* in the order of their begin; of those that begin together, the longest
                             is the first */
  lk_trace_thread *threads;
  lk_trace_key *keys; /* the newest */
  size_t n_events, n_threads, n_keys;
  uint64_t end_key; /* the number behind the newest one */
  uint64_t dropped;
  int64_t realtime_ns; /* what CLOCK_REALTIME was ahead of CLOCK_MONOTONIC at this moment */
} lk_trace_copy;

lk_status lk_trace_copy_create(lk_trace *trace, lk_trace_copy *out, lk_error *error);
void lk_trace_copy_destroy(lk_trace_copy *copy);
/* Of an LK_TRACE_EVICT or LK_TRACE_DROP; "": newer ones have taken its place. Valid as long as the
 * copy. */
const char *lk_trace_copy_key(const lk_trace_copy *copy, const lk_trace_event *event);
