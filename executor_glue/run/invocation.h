/* One call of lk_graph_executor_run: copies of its arguments, and what it has taken for itself. */
#pragma once

#include "base/stop.h"
#include "executor_glue/run/executor.h"
#include "executor_glue/run/executor_state.h"
#include "executor_glue/run/profile.h"
#include "executor_glue/run/trace.h"

/* A graph with a few inputs and outputs needs no memory of the allocator for a call. */
enum { LK_INVOCATION_WORDS = 96 };

typedef struct lk_invocation {
  lk_graph_executor *executor;
  lk_tensor *inputs;     /* [n_inputs]: nothing beyond the rank */
  lk_tensor_desc *descs; /* [n_inputs]: of `inputs` */
  lk_tensor *values;     /* [n_by_value + 1]: the last one is `wanted_bits`, unless `wants_all` */
  void **outputs; /* [n_outputs]: where each is written; NULL: not wanted, or nothing to write */
  bool *owned;    /* [n_outputs]: allocated here */
  bool *wanted;   /* [n_outputs] */
  bool wants_all;
  int64_t *wanted_bits; /* the same as `wanted`, for the key */
  void *memory;         /* of all these; NULL: `few` */
  uint64_t few[LK_INVOCATION_WORDS];
  lk_ref *ref; /* NULL: the entry is not cached */
  lk_plan_entry *entry;
  lk_stop stop;
  int32_t threads;             /* that the run has been granted */
  bool has_threads, has_place; /* and has to give back */
  bool has_built;              /* a run plan */
  bool has_waited;             /* for another thread's */
  bool recurs;                 /* a run plan that it builds is for sizes that do */
  bool chooses;                /* `auto` is to choose for its sizes now: options->recurs */
  bool is_due;                 /* it has claimed its entry, see lk_settle_run */
  lk_plan_entry *made;         /* that its next build is; NULL: it is to be built */
  /* Who watches; each may be NULL. */
  lk_profile *profile;  /* that it has taken */
  lk_trace_run *traced; /* what it has noted so far */
  lk_run_times *times;  /* of one of these: where its steps are timed */
} lk_invocation;

/* Copies the arguments, and checks the inputs. `invocation` need not be initialized, and is ended
 * also after a failure. */
lk_status lk_invocation_begin(lk_invocation *invocation, lk_graph_executor *executor,
                              const lk_graph_run *run, lk_error *error);
/* What ends the run early, all of it. */
void lk_graph_run_stop(const lk_graph_run *run, lk_stop *out_stop);
/* The caller's memory, or new memory, for each wanted output. `run` NULL: new memory for all. */
lk_status lk_invocation_make_outputs(lk_invocation *invocation, const lk_run_plan *plan,
                                     const lk_graph_run *run, lk_error *error);
/* Frees the copies, and the outputs that were allocated unless they are the caller's by now. */
void lk_invocation_end(lk_invocation *invocation, bool keeps_outputs);
