/* What a session is, for the files of this folder. */
#pragma once

#include <latchkey/session.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/bump.h"
#include "base/fork.h"
#include "executor_glue/flow/flow.h"
#include "executor_glue/graph/graph.h"
#include "executor_glue/graph/value_names.h"
#include "executor_glue/onnx/load.h"
#include "executor_glue/run/labels.h"

/* Memory of outputs that the library allocated and nobody has released yet. */
#define LK_OUTPUT_BUCKETS 64u
typedef struct lk_session_output {
  struct lk_session_output *next;
  void *data;
} lk_session_output;

typedef struct lk_session_outputs {
  lk_fork_entry fork;
  pthread_mutex_t mutex; /* guards the buckets */
  lk_session_output *buckets[LK_OUTPUT_BUCKETS];
} lk_session_outputs;

/* Where runs note what they do. */
typedef struct lk_session_trace {
  lk_fork_entry fork;
  pthread_mutex_t mutex;      /* of who changes `attached`, or takes a reference */
  lk_trace *_Atomic attached; /* NULL: none. With a reference */
  lk_labels_place labels;     /* the model's name */
} lk_session_trace;

/* Inputs with a default are constants of the session. The first run that gives one builds a variant
 * of it, in which those that runs have given so far are inputs; a run that gives yet another one
 * builds the next variant, and the one before goes with its last run. */
typedef struct lk_session_variant {
  uint32_t users; /* runs in it, and the session while it is the newest */
  bool *covers;   /* [count of the session's defaults]: it is an input of the graph */
  lk_graph *graph;
  lk_executor *executor;
  lk_flow *flow;
  _Atomic uint64_t builds_seen; /* as the session's, of this flow */
} lk_session_variant;

typedef struct lk_session_defaults {
  lk_value_info *infos; /* [count]; in `memory`, as their names */
  size_t count;
  lk_bump memory;
  lk_fork_entry fork;
  pthread_mutex_t mutex; /* guards what follows */
  pthread_cond_t built;
  bool is_building;
  lk_session_variant *newest; /* NULL: no run has given one */
  lk_session_stats gone;      /* the counts of variants that are no more */
} lk_session_defaults;

struct lk_session {
  const lk_api *api;
  lk_context *context;
  const lk_allocator *allocator; /* the context's */
  lk_executor *executor;
  lk_onnx_model *model;
  lk_graph *graph;
  lk_value_names metadata; /* of the graph, by number */
  lk_flow *flow;
  uint64_t *pass_changes;       /* [lk_n_passes] */
  const char **disabled_passes; /* [lk_n_passes]: the first ones, by the names in the table */
  lk_session_options options;   /* with that list, and the next one */
  lk_fixed_dim *fixed_dims;     /* [n_fixed_dims], with copies of the names */
  uint64_t n_constants, constant_bytes, load_ns;
  atomic_bool has_lendable;  /* the graph, or that of a variant, lk_session_has_lendable */
  atomic_bool reads_mapping; /* and when a run plan was last built, plans of the context did */
  atomic_uint_least64_t look_again_ns; /* when to look next whether the files are whole */
  /* When a run last looked at what reads the model's pages: run plan builds of `flow`, and the
   * context's packings of weights; each + 1, 0: never. */
  _Atomic uint64_t builds_seen, packings_seen;
  lk_session_outputs outputs;
  lk_session_defaults defaults;
  lk_session_trace trace;
  lk_reporter reporter;
};

/* open.c */
lk_status lk_session_open(lk_context *context, const char *path, const lk_session_options *options,
                          lk_session **out_session, lk_error *error);
lk_status lk_session_open_memory(lk_context *context, const void *data, size_t size,
                                 const lk_session_options *options, lk_session **out_session,
                                 lk_error *error);
lk_status lk_session_clone(lk_session *session, lk_session **out_session, lk_error *error);
void lk_session_close(lk_session *session);

/* lendable.c */
/* Whether operators may read constants of the graph or its bodies where they lie in the file. */
bool lk_session_has_lendable(const lk_graph *graph);

/* executor_options.c */
lk_graph_executor_options lk_session_executor_options(const lk_api *api,
                                                      const lk_session_options *options);

/* run.c */
lk_status lk_session_run(lk_session *session, const lk_named_tensor *inputs, uint32_t n_inputs,
                         lk_named_tensor *outputs, uint32_t n_outputs,
                         const lk_run_options *options, lk_error *error);

/* trace.c */
void lk_session_trace_init(lk_session *session);
void lk_session_trace_destroy(lk_session *session);
void lk_session_trace_attach(lk_session *session, lk_trace *trace);
/* The trace that is attached, with a reference for the caller; NULL: none. */
lk_trace *lk_session_trace_retain(lk_session *session);
/* Notes a run that has ended. */
void lk_session_trace_note(lk_session *session, lk_trace *trace, uint64_t begin_ns,
                           lk_status status);

/* outputs.c */
void lk_session_outputs_init(lk_session *session);
void lk_session_outputs_destroy(lk_session *session); /* frees what was not released */
/* Notes `data`, which came from the context's allocator. */
lk_status lk_session_output_add(lk_session *session, void *data, lk_error *error);
void lk_session_outputs_release(lk_session *session, lk_named_tensor *outputs, uint32_t n_outputs);

/* defaults.c */
void lk_session_defaults_init(lk_session *session);
void lk_session_defaults_destroy(lk_session *session); /* no run may be on */
/* Notes which the session's graph has, as it was loaded. */
lk_status lk_session_defaults_take(lk_session *session, lk_error *error);

/* Whether one of the inputs is such an initializer. */
bool lk_session_gives_default(const lk_session *session, const lk_named_tensor *inputs,
                              uint32_t n_inputs);
/* The variant that takes these inputs, built if there is none. lk_session_variant_leave is needed.
 * What `options` say ends the run ends this, too. The errors of opening a session. */
lk_status lk_session_variant_enter(lk_session *session, const lk_named_tensor *inputs,
                                   uint32_t n_inputs, const lk_run_options *options,
                                   lk_session_variant **out_variant, lk_error *error);
void lk_session_variant_leave(lk_session *session, lk_session_variant *variant);
/* Adds what runs in variants have counted. */
void lk_session_defaults_stats(lk_session *session, lk_session_stats *stats);

/* refusals.c */
lk_status lk_session_visit_refusals(lk_session *session, lk_refusal_fn visit, void *arg,
                                    lk_error *error);

/* report.c */
lk_status lk_session_get_stats(lk_session *session, lk_session_stats *out, lk_error *error);
lk_status lk_session_report(lk_session *session, char **out_text, lk_error *error);
void lk_session_report_release(lk_session *session, char *text);
lk_status lk_context_report(lk_context *context, char **out_text, lk_error *error);
void lk_context_report_release(lk_context *context, char *text);
/* From the first on, the socket of the process tells of the session. */
void lk_session_reporter_enter(lk_session *session);
void lk_session_reporter_leave(lk_session *session); /* it may not have entered */
