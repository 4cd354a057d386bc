/* Level 2 of the ABI: open a model, run named tensors. Implemented on level 1.
 *
 * Threads: a session may be run and cloned from any number of threads at once. Closing it during
 * such a call is an error of the caller.
 */
#ifndef LATCHKEY_SESSION_H
#define LATCHKEY_SESSION_H

#include <latchkey/latchkey.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LK_SESSION_API_VERSION LK_API_VERSION /* both tables have one number */

typedef struct lk_session lk_session;
typedef struct lk_profile lk_profile; /* what the operators of some runs took */
typedef struct lk_trace lk_trace;     /* what happened when, in the newest runs */

typedef enum lk_executor_kind {
  LK_EXECUTOR_NAIVE = 0,   /* the operators in their order, each on the context's threads */
  LK_EXECUTOR_PARALLEL = 1 /* branches at the same time, each operator on one thread; the same as
                              NAIVE for a graph without branches that are worth it */
} lk_executor_kind;

/* What a run does while max_runs others of its session are running. */
typedef enum lk_when_busy {
  LK_WHEN_BUSY_WAIT = 0, /* it waits, until its deadline if it has one, or until it is cancelled */
  LK_WHEN_BUSY_FAIL = 1  /* it fails with LK_BUSY at once, and nothing is written */
} lk_when_busy;

/* A size for a dimension that the model leaves open. Inputs must have it then. What follows from it
 * is computed when the model is opened, so that new sizes have fewer nodes to bind; where all
 * dimensions have sizes, the run plan is built then. */
typedef struct lk_fixed_dim {
  /* What the model calls it (lk_value_info.symbols): each dimension of that name; or an input and
   * the number of its dimension, "x[0]". LK_NOT_FOUND: no input has it; LK_INVALID_ARGUMENT: NULL,
   * given twice, or an input has another size there already */
  const char *name;
  int64_t size; /* LK_OUT_OF_RANGE: below 0 */
} lk_fixed_dim;

typedef struct lk_session_options {
  size_t struct_size;
  const char *const
      *disabled_passes; /* names as `latchkey inspect` shows them; unknown: an error */
  uint32_t n_disabled_passes;
  int32_t run_plans; /* 0 or 1: what a run has bound is kept for the next run of its sizes, unless
                        the cache is off; -1: every operator asks by name key at each run */
  /* Operators whose inputs are all constants are computed when the model is opened. An operator is
   * left for each run when its result has more bytes than this, or when all results together would
   * need more than this beyond the inputs that they replace. 0: 2 GiB; LK_UNLIMITED: no limit. All
   * of them together may also take 2e11 operations, some seconds of one thread: those on numbers (a
   * product of a x b by b x c has 2abc), and 4 for each byte that is read or written. What does not
   * fit any more is computed at each run. LK_UNLIMITED lifts this limit, too. */
  uint64_t max_folded_bytes;
  uint32_t executor; /* lk_executor_kind */
  int32_t inter;     /* PARALLEL: the most threads for branches, 1..1024; 0: the processors */
  /* The most runs at the same time; each has a frame and an arena. 0: with WHEN_BUSY_WAIT no limit,
   * with WHEN_BUSY_FAIL as many as there are processors when the session is opened. */
  uint32_t max_runs;
  uint32_t when_busy; /* lk_when_busy */
  /* 0: the model's files are mapped as long as the session and its clones are open. They must not
   * be written over meanwhile: put a new file in an old one's place by rename. What a run would
   * read from a file that was cut, as a copy onto it does first, fails it with LK_IO, and so do
   * weights that have changed when they are packed; of those of 16 MiB and more, which are read
   * when they are packed first, a sample tells. Weights that operators read where they lie, of
   * LK_LENT_LEAST_BYTES and more, give other results when they change; a file that is cut during
   * the very run, clone or opening that reads it, or less than 10 ms before such a run, may end the
   * process with SIGBUS, as does any cut before Linux 5.14. 1: the files are read into memory when
   * the model is opened, and may go or change. A clone has what its session has, and a model in
   * memory is never copied. */
  uint32_t copy_model;
  uint32_t n_fixed_dims;
  const lk_fixed_dim *fixed_dims; /* they are copied; a clone has them too */
  /* What ends opening, with LK_CANCELLED or LK_DEADLINE and no session, as the members of
   * lk_run_options of these names end a run: while the passes compute constants, while constants
   * are hashed and packed, and between other steps. They are not kept: a clone has none. */
  const volatile int32_t *cancel;
  uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
  lk_should_stop_fn should_stop;
  void *should_stop_arg;
} lk_session_options;

#define LK_SESSION_OPTIONS_INIT                                                                    \
  {                                                                                                \
    sizeof(lk_session_options), NULL, 0, 0, 0, LK_EXECUTOR_NAIVE, 0, 0, LK_WHEN_BUSY_WAIT, 0, 0,   \
        NULL, NULL, 0, NULL, NULL                                                                  \
  }

/* A set of operators that a model imports. */
typedef struct lk_opset {
  const char *domain; /* "": ai.onnx */
  int64_t version;
} lk_opset;

/* What a model's file says of itself. Borrowed. */
typedef struct lk_model_info {
  size_t struct_size;
  int64_t ir_version;
  const char *producer_name, *producer_version; /* "": it does not say */
  const lk_opset *opsets;                       /* [n_opsets], in the file's order */
  uint32_t n_opsets;
  uint32_t reserved;
} lk_model_info;

/* An input or output of a model. Dimensions that are not fixed are -1, with a name in `symbols`
 * ("" if it has none); rank -1: not even the rank is fixed. */
typedef struct lk_value_info {
  size_t struct_size;
  const char *name; /* borrowed from the session */
  uint32_t dtype;
  int32_t rank;
  int64_t dims[LK_MAX_RANK];
  const char *symbols[LK_MAX_RANK];
} lk_value_info;

/* A named tensor to run. Plain layout. An input is never written to. An output with `data` NULL is
 * allocated by the library (release with outputs_release). With `data` set, desc states the room:
 * it must have the type of what the run produces, and as many elements or more, or its very shape
 * with `exact_outputs` of the run's options; else LK_INVALID_ARGUMENT with both shapes in the
 * message and no byte written. After a run, desc says what was produced; a further run into larger
 * room states the room anew. */
typedef struct lk_named_tensor {
  const char *name;
  lk_tensor tensor;
} lk_named_tensor;

typedef struct lk_run_options {
  size_t struct_size;
  /* NULL, or a flag: non-zero ends the run, between two operators or within one that takes long */
  const volatile int32_t *cancel;
  uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none; the run ends in the same way when it passes */
  lk_profile *profile;  /* NULL, or where the times of the run are added */
  /* NULL, or asked on this thread whether to end the run, once in 40 ms at most and not while the
   * run waits for others; it may run anything but this session's run. */
  lk_should_stop_fn should_stop;
  void *should_stop_arg;
  lk_trace *trace; /* NULL: that of `trace_attach`, if any; or where the run's events are noted */
  int32_t exact_outputs; /* not 0: room for an output must have its very shape */
  /* Not 0: the sizes of the run are known to recur. `auto` chooses for them before the run, as it
   * else does when they are fixed or have come 8 times. No effect with another engine, and where it
   * has chosen for them. */
  int32_t recurs;
  /* Not 0: the run measures, for about so many nanoseconds, what its nodes take by native and by
   * the engine that `auto` asks, in turn and three times each at least; from then on runs of its
   * sizes have what took less time (plan_note_times). LK_UNSUPPORTED: run plans are off, or `auto`
   * is not the engine of the context. */
  uint64_t tune_ns;
} lk_run_options;

/* A step of an operator, added up over the runs of a profile. An operator has one step for each
 * kernel that it runs; where its shapes change, one for each choice that was made.
 * Texts are borrowed from the profile, until it is cleared or destroyed.
 *
 * `wait_ns` is time that the run's threads had and did not compute in, the sum over all of them:
 * they waited for the slowest share of a region, had not woken up yet, or the step used fewer
 * threads than the run had. Waiting inside of a share is not told from computing. */
typedef struct lk_profile_entry {
  size_t struct_size;
  const char *op_type, *node_name, *output_name, *fused; /* as lk_session_node has them */
  const char *kind, *tiles;                              /* as lk_step_info has them */
  uint32_t step;                                         /* from 0, among those of the operator */
  int32_t threads; /* that it is bound for; the run may have more */
  uint64_t executions;
  uint64_t total_ns, min_ns; /* of all executions, of the shortest */
  uint64_t thread_ns;        /* total_ns, counted once for each thread that the run had for it */
  uint64_t wait_ns;          /* of that */
  double flops, bytes;       /* of all executions */
  /* As lk_plan_info has it, of all executions: what all steps of the operator's works were expected
   * to take. It is with that one of them that computes most; 0: it is not, or nothing is known. */
  double expected_ns;
  uint32_t is_expected_measured; /* 1: as measured, and not an estimate */
  uint32_t reserved;
  uint64_t works_ns;  /* with expected_ns: what these steps took, which is to be compared; else 0 */
  const char *engine; /* as lk_step_info has it */
} lk_profile_entry;

/* The runs of a profile. */
typedef struct lk_profile_info {
  size_t struct_size;
  uint64_t runs;
  uint64_t binds;      /* of these, runs that had to build a run plan */
  uint64_t bind_ns;    /* in which run plans were found or built; not part of what follows */
  uint64_t execute_ns; /* from before the first operator until all outputs are written */
  uint64_t thread_ns;  /* execute_ns, counted once for each thread that a run had */
  uint64_t wait_ns;    /* of that, what threads had left between operators and in them */
  uint32_t n_entries;
  uint32_t reserved;
} lk_profile_info;

typedef struct lk_trace_options {
  size_t struct_size;
  uint64_t events; /* the most that are kept, of 64 bytes each: then the oldest go. 0: 65536; up to
                      2^26 */
} lk_trace_options;

typedef struct lk_trace_info {
  size_t struct_size;
  uint64_t events, capacity; /* kept now, and the most */
  uint64_t dropped;          /* that had to go for newer ones, or had no memory */
} lk_trace_info;

typedef struct lk_session_stats {
  size_t struct_size;
  uint64_t nodes_in_file, nodes, constants, weights_bytes; /* after passes; bytes of constants */
  uint64_t runs, run_plan_hits, run_plan_builds;
  uint64_t parallel_runs;       /* those of `runs` with branches at the same time */
  uint64_t waits;               /* runs that have waited because max_runs others were on */
  uint64_t frames, arena_bytes; /* alive now; arenas: of all sessions of the context */
  uint64_t load_ns;
} lk_session_stats;

/* A node as it runs. `fused` names what was fused into it ("bias,relu"). Borrowed. */
typedef struct lk_session_node {
  size_t struct_size;
  const char *op_type, *domain, *name, *output_name, *fused;
  const char *implementation; /* of the newest bind, as lk_plan_info has it; "" before that */
} lk_session_node;

#define LK_NODE_CHANGES 4

/* A field of a node's key that has made it be bound anew. What a bind differs in is found by
 * comparing its inputs' shapes with the nearest of the last four other sizes of the graph. */
typedef struct lk_node_change {
  uint32_t input;
  int32_t dim;      /* -1: the rank */
  int64_t from, to; /* the newest of these changes */
  uint64_t binds;
  uint64_t bind_ns; /* of those; where several fields differed, each has its part */
} lk_node_change;

/* How often a node was bound to a size, which is when a run plan is built, and how long that took;
 * with what is computed then, such as shapes. Where no run plans are kept, nothing is counted. */
typedef struct lk_node_stats {
  size_t struct_size;
  uint64_t binds;
  uint64_t bind_ns, longest_bind_ns;
  uint64_t bind_times[LK_TIME_BUCKETS];
  uint32_t n_changes, reserved;
  lk_node_change changes[LK_NODE_CHANGES]; /* those that have cost the most, in that order */
} lk_node_stats;

/* A size: what a run plan was built for, and what became of it. Valid during the visit. */
typedef struct lk_session_size {
  size_t struct_size;
  /* "run" is the whole model. Where shapes follow from data the model is run in parts, which have
   * the names of their run plans' keys, and inputs of their own. */
  const char *part;
  const lk_tensor_desc *inputs; /* [n_inputs], in the part's order */
  /* [n_values]: those inputs whose values shapes depend on, in the same order; and where not all
   * outputs were wanted, one more: a bit for each that was. */
  const lk_tensor *values;
  const char *const *input_names; /* [n_inputs] */
  const char *const *value_names; /* [n_values]; "": which outputs were wanted */
  uint32_t n_inputs, n_values;
  uint64_t builds; /* more than one: the run plan was evicted or dropped, and needed again; or each
                      thread has its own */
  uint64_t build_ns, longest_build_ns;
  uint64_t last_build_ns; /* when the last one ended: CLOCK_MONOTONIC */
  uint64_t runs;          /* but for some of those that are on, and up to 63 of each loop */
  uint64_t bytes;         /* of the run plan */
  uint32_t run_plans;     /* that exist now */
  uint32_t reserved;
} lk_session_size;

typedef void (*lk_size_fn)(void *arg, const lk_session_size *size);

/* A pass over the graph. Borrowed. */
typedef struct lk_session_pass {
  size_t struct_size;
  const char *name, *summary;
  uint64_t changes; /* rewrites done in this session */
  int32_t enabled;
  uint32_t reserved;
} lk_session_pass;

/* A node that a pass has left as it is: its operators fit, and one condition does not hold. Valid
 * during the visit. */
typedef struct lk_session_refusal {
  size_t struct_size;
  const char *pass; /* as lk_session_pass has it */
  const char *op_type, *domain, *node_name,
      *output_name;   /* as lk_session_node has them; all "": the graph as a whole */
  const char *reason; /* what does not hold, a sentence in ASCII or UTF-8 on one line */
  const char *advice; /* what helps; "": nothing is known to */
} lk_session_refusal;

typedef void (*lk_refusal_fn)(void *arg, const lk_session_refusal *refusal);

typedef struct lk_session_api {
  size_t struct_size;
  uint32_t version;
  uint32_t reserved;

  /* Opens an ONNX file. External data must lie below the model's folder, or below that of a file to
   * which the path leads by links. LK_NOT_FOUND, LK_IO, LK_MALFORMED (what and at which byte),
   * LK_UNSUPPORTED (operator, node, opset), LK_OUT_OF_RANGE (an option), LK_CANCELLED and
   * LK_DEADLINE (as the options say), LK_OUT_OF_MEMORY. */
  lk_status (*open)(lk_context *context, const char *path, const lk_session_options *options,
                    lk_session **out_session, lk_error *error);
  /* The same from memory, which must stay valid until the session and all its clones are closed. No
   * external data. */
  lk_status (*open_memory)(lk_context *context, const void *data, size_t size,
                           const lk_session_options *options, lk_session **out_session,
                           lk_error *error);
  /* Ends the session, and gives the memory of a large one back to the operating system
   * (cache_trim). All sessions of a context must be closed before it is destroyed. NULL is
   * allowed. */
  void (*close)(lk_session *session);

  uint32_t (*input_count)(const lk_session *session);
  uint32_t (*output_count)(const lk_session *session);
  lk_status (*input_info)(const lk_session *session, uint32_t index, lk_value_info *out,
                          lk_error *error);
  lk_status (*output_info)(const lk_session *session, uint32_t index, lk_value_info *out,
                           lk_error *error);
  lk_status (*model_info)(const lk_session *session, lk_model_info *out, lk_error *error);
  /* Metadata of the file: NULL past the end, or when the key is not there. Borrowed. */
  const char *(*metadata_key)(const lk_session *session, uint32_t index);
  const char *(*metadata_value)(const lk_session *session, const char *key);

  /* Runs the model. All inputs must be given, each once, and any of those with a default; outputs
   * that are not asked for are not copied out. Nothing is written to any output when the call fails
   * before the first operator; after that, outputs are undefined on failure and library-allocated
   * ones are freed and NULL. LK_NOT_FOUND names an unknown or missing tensor; LK_BUSY: see
   * when_busy. */
  lk_status (*run)(lk_session *session, const lk_named_tensor *inputs, uint32_t n_inputs,
                   lk_named_tensor *outputs, uint32_t n_outputs, const lk_run_options *options,
                   lk_error *error);
  /* Frees the data of outputs that the library allocated, and sets it NULL. */
  void (*outputs_release)(lk_session *session, lk_named_tensor *outputs, uint32_t n_outputs);

  lk_status (*stats)(lk_session *session, lk_session_stats *out, lk_error *error);
  uint32_t (*node_count)(const lk_session *session);
  lk_status (*node_info)(const lk_session *session, uint32_t index, lk_session_node *out,
                         lk_error *error);
  /* Passes in the order in which they run. */
  uint32_t (*pass_count)(const lk_session *session);
  lk_status (*pass_info)(const lk_session *session, uint32_t index, lk_session_pass *out,
                         lk_error *error);
  /* The executor behind the session: for capacities and statistics. Borrowed. */
  lk_executor *(*executor)(const lk_session *session);

  /* Makes another session of the same model, in the same context and with the same options: an
   * executor, run plans, frames and statistics of its own; the mapped file or memory and
   * packed weights are shared. The file is not opened again: it may have been replaced
   * or removed meanwhile, but must not have been written over, which breaks every session of it.
   * The caller closes the clone, before or after the original. LK_OUT_OF_MEMORY. */
  lk_status (*clone)(lk_session *session, lk_session **out_session, lk_error *error);

  /* Makes an empty profile, for lk_run_options. Runs that succeed add their times to it, of any
   * session; what they read of the clock costs each step about 0.1 us. It copies what it shows, so
   * it may outlive the sessions. One run at a time uses it: another one fails with LK_BUSY, and
   * meanwhile none of the following may be called. `allocator` NULL: the C library's; another one
   * must live longer. LK_OUT_OF_MEMORY. */
  lk_status (*profile_create)(const lk_allocator *allocator, lk_profile **out_profile,
                              lk_error *error);
  void (*profile_destroy)(lk_profile *profile); /* NULL is allowed */
  void (*profile_clear)(lk_profile *profile);
  lk_status (*profile_info)(const lk_profile *profile, lk_profile_info *out, lk_error *error);
  /* In the order in which the steps ran first. LK_OUT_OF_RANGE: there is no such entry. */
  lk_status (*profile_entry)(const lk_profile *profile, uint32_t index, lk_profile_entry *out,
                             lk_error *error);

  /* What node `index` has cost so far. LK_OUT_OF_RANGE: there is no such node. */
  lk_status (*node_stats)(const lk_session *session, uint32_t index, lk_node_stats *out,
                          lk_error *error);
  /* Shows the sizes that were seen, those that were built first at first, up to 4096 of each part;
   * `*out_lost` (may be NULL) is how many are not among them. `visit` runs without a lock, and may
   * run the session. LK_OUT_OF_MEMORY. */
  lk_status (*sizes_visit)(lk_session *session, lk_size_fn visit, void *arg, uint64_t *out_lost,
                           lk_error *error);
  /* All that is counted, of the session, its context and the process, as JSON in ASCII, with a NUL:
   * docs/statistics.md is the schema. report_release frees it, before the session is closed.
   * LK_OUT_OF_MEMORY. */
  lk_status (*report)(lk_session *session, char **out_text, lk_error *error);
  void (*report_release)(lk_session *session, char *text); /* NULL is allowed */

  /* Shows what passes have left of the model, pass by pass, and what passes that are switched off
   * would have rewritten; with bodies of control flow. Sessions keep no list of it: it is found by
   * reading the model and running the passes once more, which takes the time and the memory of a
   * clone. `visit` runs without a lock, and may run the session. The session may be run meanwhile.
   * LK_INVALID_ARGUMENT: session or visit is NULL; LK_OUT_OF_MEMORY. */
  lk_status (*refusals_visit)(lk_session *session, lk_refusal_fn visit, void *arg, lk_error *error);

  /* Makes an empty trace, for sessions of this context. Its events are in memory of the context:
   * they count for its limit, and the context must live longer. `options` NULL: all defaults. Any
   * number of threads and runs may use a trace at the same time. A child of fork begins with an
   * empty one. LK_OUT_OF_RANGE, LK_OUT_OF_MEMORY. */
  lk_status (*trace_create)(lk_context *context, const lk_trace_options *options,
                            lk_trace **out_trace, lk_error *error);
  /* Gives the caller's trace back. Sessions that it is attached to, and runs that are on, keep it
   * until they are done with it. NULL is allowed. */
  void (*trace_release)(lk_trace *trace);
  /* From now on, runs of the session note in `trace` what they do and when: operators with kernel
   * and tiles, run plans that are built, waits. NULL: no longer; a run that is on goes on with what
   * it has begun with. A run without a trace reads no clock. A trace may be attached to several
   * sessions of its context, at any time, by any thread. */
  void (*trace_attach)(lk_session *session, lk_trace *trace);
  void (*trace_clear)(lk_trace *trace);
  lk_status (*trace_info)(lk_trace *trace, lk_trace_info *out, lk_error *error);
  /* Writes all events to a file, as JSON that Perfetto and Chrome open: docs/trace.md has the
   * names. The file appears when it is complete; what is no regular file is written to as it is.
   * LK_IO: it cannot be written; LK_OUT_OF_MEMORY. */
  lk_status (*trace_save)(lk_trace *trace, const char *path, lk_error *error);
  /* The same as text in ASCII or UTF-8, with a NUL. trace_text_release frees it. */
  lk_status (*trace_text)(lk_trace *trace, char **out_text, lk_error *error);
  void (*trace_text_release)(lk_trace *trace, char *text); /* NULL is allowed */

  /* The same JSON as `report` without "session": what a context counts and who has its memory, for
   * hosts that have no session. Any thread may ask at any time. context_report_release frees it,
   * before the context is destroyed. LK_INVALID_ARGUMENT: context is NULL; LK_OUT_OF_MEMORY. */
  lk_status (*context_report)(lk_context *context, char **out_text, lk_error *error);
  void (*context_report_release)(lk_context *context, char *text); /* text NULL is allowed */

  /* Inputs with a default: initializers that the model lists as inputs too, from version 4 of
   * ONNX's IR on. They are not among the inputs above, and no run has to give them: they are
   * constants. The first run that gives one builds, as `open` does, and keeps a second program in
   * which all that runs have given so far are inputs; runs that give none never wait for it.
   * max_runs holds for runs with such inputs and for runs without, each. LK_OUT_OF_RANGE: `index`
   * is not below the count. */
  uint32_t (*default_count)(const lk_session *session);
  lk_status (*default_info)(const lk_session *session, uint32_t index, lk_value_info *out,
                            lk_error *error);
} lk_session_api;

LK_EXPORT const lk_session_api *lk_get_session_api(uint32_t version);

#ifdef __cplusplus
}
#endif

#endif
