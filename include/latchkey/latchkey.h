/* Level 1 of the ABI: context, executor, op, plan, frame, threads, and the cache itself.
 *
 * lk_get_api(LK_API_VERSION) returns one table of functions. Version 0 may still change; from
 * version 1 on, members are only added at the end. Structs of options and descriptions begin with
 * `struct_size`, which the caller sets to sizeof: a longer struct from a newer header is accepted
 * when the part that this library does not know is zero.
 *
 * Life of a node, for an executor of one's own:
 *   once:            context_create, executor_create, and op_create for each node of the graph
 *   for each shape:  op_bind (shapes in; a plan out, from the cache when it was seen before), and
 *                    frame_attach (argument handles for this plan in this frame)
 *   for each run:    op_run (frame, slot, pointers)
 * Where a node's output shapes follow from data, op_run_alloc at each run does the work of op_bind,
 * frame_attach and op_run.
 *
 * Threads: a context, an executor and an op may be used from any number of threads at once. A plan
 * is immutable and shared. A frame belongs to one thread at a time (op_run_lane says how several
 * may run in it). Destroying an object while another thread is inside a call with it is an error of
 * the caller, except where stated.
 */
#ifndef LATCHKEY_LATCHKEY_H
#define LATCHKEY_LATCHKEY_H

#include <latchkey/base.h>
#include <latchkey/key.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LK_API_VERSION 0u

typedef struct lk_context lk_context;   /* engine, cache, weights, options */
typedef struct lk_executor lk_executor; /* an identity that is never reused, and its limits */
typedef struct lk_op lk_op;             /* one node of a graph, immutable */
typedef struct lk_plan lk_plan;         /* a node bound to shapes: primitives, packed weights */
typedef struct lk_frame lk_frame;       /* everything that changes while a plan runs */
typedef struct lk_ref lk_ref;           /* a counted reference to a cached value */
typedef struct lk_dims lk_dims;         /* dimensions that are not known yet, by number */

/* ---- context ------------------------------------------------------------------------------- */

typedef enum lk_cache_mode {
  LK_CACHE_DEFAULT = 0, /* LATCHKEY_CACHE, else shared */
  LK_CACHE_OFF = 1,     /* nothing is kept; run plans are off too; everything still works */
  LK_CACHE_THREAD = 2,  /* all tables belong to the calling thread */
  LK_CACHE_SHARED = 3   /* one table for all threads, a front table for each */
} lk_cache_mode;

#define LK_UNSET UINT64_MAX /* not given: the environment decides, then the default */
#define LK_UNLIMITED (UINT64_MAX - 1)

typedef enum lk_log_level {
  LK_LOG_OFF = 0,
  LK_LOG_WARNING = 1,
  LK_LOG_INFO = 2,
  LK_LOG_DEBUG = 3
} lk_log_level;

/* Called from any thread, with one line without a newline. It must not call the library. */
typedef void (*lk_log_fn)(void *user, lk_log_level level, const char *line);

/* Set to LK_CONTEXT_OPTIONS_INIT, then change what is wanted. A value comes from here first, then
 * from the environment variable, then from the default. A bad value anywhere is LK_OUT_OF_RANGE and
 * names the option or variable and its range. */
typedef struct lk_context_options {
  size_t struct_size;
  lk_allocator allocator; /* {0}: the C library's */
  uint32_t cache_mode;    /* lk_cache_mode; LATCHKEY_CACHE=off|thread|shared; default shared */
  int32_t threads;        /* 0 = unset; 1..1024; LATCHKEY_THREADS; default: processors_get */
  uint64_t cache_entries; /* LATCHKEY_CACHE_ENTRIES; default 65536; 0 disables */
  uint64_t cache_bytes;   /* LATCHKEY_CACHE_BYTES, with k, m or g; default 32 MiB; 0 disables */
  uint64_t weights_bytes; /* packed weights; default unlimited */
  int32_t verbose;        /* -1 = unset; lk_log_level; LATCHKEY_VERBOSE=0..3; default 1 */
  uint32_t reserved;
  lk_log_fn log; /* NULL: lines are dropped */
  void *log_user;
} lk_context_options;

#define LK_CONTEXT_OPTIONS_INIT                                                                    \
  {                                                                                                \
    sizeof(lk_context_options), {NULL, NULL, NULL}, 0, 0, LK_UNSET, LK_UNSET, LK_UNSET, -1, 0,     \
        NULL, NULL                                                                                 \
  }

/* What a cache entry is for. Each kind has its own counters. */
typedef enum lk_kind {
  LK_KIND_NAME = 0,  /* name key: a node's plan */
  LK_KIND_VALUE = 1, /* value key: a primitive */
  LK_KIND_RUN = 2,   /* a run plan of a whole graph, and its frames */
  LK_KIND_USER = 3,  /* a value of the host's own */
  LK_KIND_COUNT = 4
} lk_kind;

typedef struct lk_kind_stats {
  uint64_t hits, misses, builds, failed_builds, waits, evictions;
  uint64_t entries, bytes; /* now */
  uint64_t build_ns;       /* total; nested builds are counted in each */
} lk_kind_stats;

typedef struct lk_stats {
  size_t struct_size;
  lk_kind_stats kind[LK_KIND_COUNT];
  uint64_t entries, bytes, peak_bytes;       /* linked in the cache */
  uint64_t unlinked_bytes;                   /* evicted, still in use by somebody */
  uint64_t capacity_entries, capacity_bytes; /* LK_UNLIMITED: none */
  uint64_t weights_entries, weights_bytes;   /* packed copies now */
  uint64_t weights_packed, weights_shared;   /* packings done; times one was found ready */
  uint64_t weights_capacity_bytes;
  uint64_t ref_primitives; /* primitives built on a ref: implementation */
  uint64_t reorders;       /* reorder steps in the plans that were built */
  uint64_t allocations;    /* calls of the context's allocator so far */
} lk_stats;

/* ---- threads -------------------------------------------------------------------------------
 *
 * The budget of the process: a run asks for threads before it begins (threads_enter) and gives them
 * back when it ends (threads_leave). As soon as one run has several threads, no more threads
 * compute than there are processors, whichever contexts the runs belong to. A run for which there
 * is no room waits, and runs that wait begin in the order of their arrival. Runs of one thread do
 * not wait for each other.
 *
 * Teams: an operator that is split shares its work with other threads, which sleep when there is
 * none. parallel_run does the same for a function of the host's. Such a stretch of shared work is
 * called a region. A thread that begins a region takes a team that is idle, or a new one, and gives
 * it back at the end of the region, or with frame_begin at frame_end.
 *
 * Loans: a host with threads of its own lends them for a run (loan_open, loan_assist, loan_close).
 * They then do the shares that threads of the library would have done, so that host and library do
 * not keep two teams on the same processors. */

/* What a run asks for. Zero is a good value for every member but struct_size. */
typedef struct lk_threads_ask {
  size_t struct_size;
  int32_t least; /* the fewest threads that the run is content with; 0: one */
  int32_t most;  /* the most; 0: the context's. A run that asks for more than there are processors
                    gets them when no other run is inside */
  const volatile int32_t *cancel; /* ends the wait within 5 ms of becoming non-zero; NULL: none */
  const volatile uint8_t *stop;   /* the same */
  uint64_t deadline_ns;           /* of CLOCK_MONOTONIC: ends the wait; 0: none */
} lk_threads_ask;

/* One share of a region: number `index` of `count`. */
typedef void (*lk_parallel_fn)(void *arg, int32_t index, int32_t count);

/* A loan of the host's threads, in memory of the host's. All bytes are zero before anybody uses it;
 * it must stay valid until loan_close and every loan_assist have returned. */
typedef struct lk_loan {
  uint64_t opaque[2];
} lk_loan;

/* What a number of this machine's threads reach at the most, as measured. */
typedef struct lk_machine_peak {
  size_t struct_size;
  int32_t threads; /* that took part */
  uint32_t reserved;
  double gflops; /* 10^9 multiplications and additions of f32 in a second, in registers */
  double gbytes; /* 10^9 bytes in a second, read from memory behind the caches */
} lk_machine_peak;

/* The budget of the process. */
typedef struct lk_threads_stats {
  size_t struct_size;
  int32_t processors;
  int32_t running; /* threads that are granted now */
  int32_t peak;    /* the most that were granted at the same time */
  int32_t waiting; /* runs that wait now */
  uint64_t waits;  /* runs that have had to wait so far */
} lk_threads_stats;

/* ---- nodes --------------------------------------------------------------------------------- */

typedef enum lk_attr_type {
  LK_ATTR_INTS = 1,   /* data: const int64_t[count]; a single INT has count 1 */
  LK_ATTR_FLOATS = 2, /* data: const float[count] */
  LK_ATTR_STRING = 3, /* data: const char[count], not necessarily NUL-terminated */
  LK_ATTR_TENSOR = 4  /* data: const lk_tensor[count] */
} lk_attr_type;

typedef struct lk_attr {
  const char *name;
  uint32_t type; /* lk_attr_type */
  uint32_t count;
  const void *data;
} lk_attr;

/* Fused operators, which are applied to output 0 in their order. X(symbol, value, name) */
// clang-format off
#define LK_POST_OP_LIST(X)                                                             \
  X(LK_POST_RELU,         1, "relu")         /* x < 0 ? alpha * x : x */               \
  X(LK_POST_CLIP,         2, "clip")         /* min(max(x, alpha), beta) */            \
  X(LK_POST_SIGMOID,      3, "sigmoid")                                                \
  X(LK_POST_HARDSIGMOID,  4, "hard_sigmoid") /* clip(alpha * x + beta, 0, 1) */        \
  X(LK_POST_HARDSWISH,    5, "hard_swish")   /* x * clip(x / 6 + 1/2, 0, 1) */         \
  X(LK_POST_SWISH,        6, "swish")        /* x * sigmoid(alpha * x) */              \
  X(LK_POST_LINEAR,       7, "linear")       /* alpha * x + beta */                    \
  X(LK_POST_ADD,          8, "add")          /* + input */                             \
  X(LK_POST_MUL,          9, "mul")          /* * input */                             \
  X(LK_POST_SUB,         10, "sub")          /* - input */                             \
  X(LK_POST_DIV,         11, "div")          /* / input */
// clang-format on

typedef enum lk_post_op_kind {
#define LK_POST_OP_ENUM(symbol, value, name) symbol = value,
  LK_POST_OP_LIST(LK_POST_OP_ENUM)
#undef LK_POST_OP_ENUM
} lk_post_op_kind;

/* Those that take an operand. */
#define LK_POST_OP_IS_BINARY(kind)                                                                 \
  ((kind) == LK_POST_ADD || (kind) == LK_POST_MUL || (kind) == LK_POST_SUB || (kind) == LK_POST_DIV)

typedef struct lk_post_op {
  uint32_t kind; /* lk_post_op_kind */
  int32_t input; /* add .. div: index of the node's input, which broadcasts to output 0; else -1 */
  float alpha, beta;
} lk_post_op;

typedef enum lk_input_flags {
  LK_INPUT_ABSENT = 1, /* an optional input that is not there */
  LK_INPUT_COPY = 2    /* `constant` is copied now; without it, its memory must stay valid and
                          unchanged until the op is destroyed */
} lk_input_flags;

typedef struct lk_node_input {
  const lk_tensor *constant; /* NULL: comes at run time */
  uint32_t flags;            /* lk_input_flags */
  uint32_t reserved;
} lk_node_input;

/* A node. Operators are ONNX's, with its attribute names and the meaning of the given opset; the
 * operand order is ONNX's, followed by the inputs that only post-ops use. */
typedef struct lk_node_desc {
  size_t struct_size;
  const char *op_type;
  const char *domain;      /* NULL or "" = ai.onnx; "latchkey" = operators that only fusion makes */
  const char *output_name; /* output tensor 0: part of the key; required */
  const char *scope;       /* graph within the executor: NULL or "" = the main graph */
  uint64_t generation;     /* raised when the node or a constant of it changes */
  uint32_t position;       /* among nodes that write the same output tensor in place */
  int32_t opset;           /* 7..LK_MAX_OPSET */
  uint32_t n_inputs, n_outputs, n_attrs, n_post_ops;
  const lk_node_input *inputs;
  const lk_attr *attrs;
  const lk_post_op *post_ops;
} lk_node_desc;

/* ---- operators that exist ------------------------------------------------------------------ */

/* The latest opset of ai.onnx that the rows know. */
#define LK_MAX_OPSET 23

/* What others may do with an operator, whatever its attributes. */
typedef enum lk_op_flags {
  LK_OP_ON_ONEDNN = 1 << 0,       /* some of its nodes compute on oneDNN; else all on kernels */
  LK_OP_WORTH_CLAIMING = 1 << 1,  /* arithmetic on data; a host hands the others over beside it */
  LK_OP_SHAPE_ONLY = 1 << 2,      /* reads the shape of its input, never an element */
  LK_OP_RANDOM = 1 << 3,          /* equal inputs do not give equal outputs */
  LK_OP_DATA_DEPENDENT = 1 << 4,  /* shapes of outputs follow from elements: known when run */
  LK_OP_COMMUTATIVE = 1 << 5,     /* its inputs may change places */
  LK_OP_POST_OPS = 1 << 6,        /* takes post-ops */
  LK_OP_TENSOR_POST_OPS = 1 << 7, /* a post-op with a tensor costs it less than a node of its own */
  LK_OP_COLUMNS = 1 << 8 /* output 0 has the last dimension of input 1, of rank 2 or more */
} lk_op_flags;

/* Sets of element types: bit d is the lk_dtype d. */
#define LK_TYPE(dtype) (1u << (dtype))
/* What sizes, axes and indices are made of, and what is asked of them. */
#define LK_TYPES_OF_SHAPES (LK_TYPE(LK_I64) | LK_TYPE(LK_I32) | LK_TYPE(LK_BOOL))

/* A number among the parameters of an operator. */
typedef struct lk_op_number {
  const char *attr; /* the attribute that has it; NULL: none */
  float fallback;   /* where it is not given */
  uint32_t input;   /* the input that has it instead, from opset `input_since` on; 0: none */
  int32_t input_since;
} lk_op_number;

/* The post-op that an operator becomes when it is fused into the one that makes its input. */
typedef struct lk_op_fusion {
  uint32_t kind; /* lk_post_op_kind; 0: none. add .. div: the operand is the other input, and where
                    that is one number, the post-op may be linear */
  lk_op_number alpha, beta;
} lk_op_fusion;

#define LK_MAX_TYPE_GROUPS 4

/* A row of the operator table. Static, valid for ever. */
typedef struct lk_op_row {
  size_t struct_size;
  const char *op_type, *domain; /* domain "": ai.onnx */
  const char *summary;          /* one line */
  int32_t since;                /* the opset from which on the row holds, up to LK_MAX_OPSET */
  uint32_t flags;               /* lk_op_flags */
  uint32_t min_inputs, max_inputs, max_outputs; /* inputs without those of post-ops */
  /* Types, as ONNX has them: a letter for each input, and the last one for those behind it. Inputs
   * with one letter have one type, of types[0] for T, types[1] for U, types[2] for V, types[3] for
   * W (0: any). Outputs too, but for '?': attributes decide; a letter that no input has is the one
   * type of its set. */
  const char *input_types, *output_types;
  uint32_t types[LK_MAX_TYPE_GROUPS]; /* LK_TYPE bits */
  uint32_t reserved;
  uint64_t shape_inputs;    /* bit i: shapes or parameters depend on input i, by value */
  uint64_t in_place_inputs; /* bit i: output 0 may be written over input i */
  uint64_t mode_inputs;     /* bit i: of the values that input i may have, not all are supported */
  lk_op_fusion fusion;
} lk_op_row;

typedef struct lk_op_info {
  size_t struct_size;
  const lk_op_row *row;
  uint64_t shape_inputs;    /* of the row, without those that are absent */
  uint64_t in_place_inputs; /* of the row */
  uint32_t n_inputs, n_outputs;
} lk_op_info;

typedef enum lk_bind_flags {
  LK_BIND_OWN = 1 /* the plan is the caller's own: it is made without a look-up, takes less memory,
                     and the cache neither keeps nor counts it. For hosts that keep plans by a key
                     of their own, such as one for a whole graph */
} lk_bind_flags;

typedef struct lk_bind_desc {
  size_t struct_size;
  const lk_tensor *inputs; /* [n_inputs]: descriptions; data of shape inputs that are known now */
  const lk_layout *wishes; /* [n_outputs]: the layout wanted, LK_LAYOUT_ANY: the operator chooses;
                              NULL: it chooses all */
  uint32_t n_inputs;
  uint32_t n_outputs;
  int32_t in_place_input; /* input that output 0 will be written over, or -1 */
  uint32_t flags;         /* lk_bind_flags */
} lk_bind_desc;

typedef struct lk_plan_info {
  size_t struct_size;
  uint64_t bytes;         /* of the plan itself: charged to the cache, or LK_BIND_OWN */
  uint64_t scratch_bytes; /* scratchpad and temporaries that a frame lends it */
  int32_t alias_input;    /* output 0 has the bytes of this input: same pointer allowed; or -1 */
  uint32_t n_steps;       /* primitives and kernels */
  uint32_t n_reorders;
  uint32_t n_ref;             /* steps on a ref: implementation */
  const char *implementation; /* of the main primitive, as oneDNN names it; "" if none */
  uint32_t known_when_run;    /* 1: a shape input had no data; only op_run_alloc can run the node */
  uint32_t reserved;
  double flops; /* multiplications and additions; 0: a few for each element, or known when run */
} lk_plan_info;

/* A step of a plan: what it runs, and how much work that is. Texts are borrowed from the plan,
 * `tiles` until this thread asks again. */
typedef struct lk_step_info {
  size_t struct_size;
  const char *kind;           /* "convolution", "reorder"; of a kernel its name, such as "copy" */
  const char *implementation; /* of a primitive, as oneDNN names it; else "kernel" */
  const char *tiles;          /* how a kernel cuts its work; "": it does not, or oneDNN decides */
  /* Multiplications and additions of a convolution or matrix product, without those of post-ops; of
   * other arithmetic one for each element of the largest operand; 0: elements only move. */
  double flops;
  double bytes; /* of all operands, each counted once */
} lk_step_info;

/* What a step took. */
typedef struct lk_step_time {
  uint64_t ns;         /* from its beginning to its end */
  uint64_t compute_ns; /* in which threads computed, the sum over all of them */
} lk_step_time;

/* In what plan_output says of a plan that is known_when_run, and in op_infer. */
#define LK_DIM_UNKNOWN INT64_C(-1)
#define LK_RANK_UNKNOWN UINT32_MAX

/* An output that op_run_alloc wants memory for. */
typedef struct lk_output_request {
  size_t struct_size;
  lk_tensor_desc desc; /* all known */
  uint64_t bytes;      /* may be 0 */
  uint64_t alignment;  /* of the memory, for speed; that of the elements is enough */
  uint32_t index;      /* which output */
  int32_t alias_input; /* this input's pointer may be given: the bytes are the same; or -1 */
} lk_output_request;

/* Gives memory for an output; NULL: there is none. `request` is valid during the call. The function
 * must not use the frame of the run. */
typedef void *(*lk_output_alloc_fn)(void *arg, const lk_output_request *request);

/* ---- the cache itself ---------------------------------------------------------------------- */

/* What a build hands over: a value, the bytes that it is charged for, and how to destroy it.
 * `destroy` runs on any thread, as soon as nobody uses the value. An empty value (NULL) is an error
 * of the build. */
typedef struct lk_built {
  void *value;
  uint64_t bytes;
  void (*destroy)(void *value, void *user);
  void *user;
} lk_built;

typedef lk_status (*lk_build_fn)(void *arg, lk_built *out, lk_error *error);

/* One entry, as cache_visit shows it. `key` is valid during the call. */
typedef struct lk_entry_info {
  size_t struct_size;
  const lk_key *key;
  uint64_t bytes;
  uint64_t hits;
  uint64_t age; /* 0 = used last */
  uint32_t kind;
  uint32_t in_use; /* references besides the cache's */
} lk_entry_info;

typedef void (*lk_visit_fn)(void *arg, const lk_entry_info *entry);

/* ---- the table ----------------------------------------------------------------------------- */

typedef struct lk_api {
  size_t struct_size;
  uint32_t version;
  uint32_t reserved;

  /* A text for a status; never NULL; static. */
  const char *(*status_text)(lk_status status);
  /* "0.1.0 (oneDNN 3.14.1, AVX2)": static. */
  const char *(*version_text)(void);

  /* Makes a context. `options` NULL: all defaults. LK_OUT_OF_RANGE for a bad option or environment
   * variable. */
  lk_status (*context_create)(const lk_context_options *options, lk_context **out_context,
                              lk_error *error);
  /* Destroys a context, whose executors, plans and references must be gone. NULL is allowed. */
  void (*context_destroy)(lk_context *context);
  uint32_t (*context_cache_mode)(const lk_context *context); /* lk_cache_mode in force */
  int32_t (*context_threads)(const lk_context *context);
  const lk_allocator *(*context_allocator)(const lk_context *context);
  /* Passes a line to the context's log function if its level is wanted. */
  void (*context_log)(lk_context *context, lk_log_level level, const char *line);

  /* Asks for threads for a run, and waits until it may begin. `*out_threads` is `most` while every
   * run that is inside could have as many. Otherwise there is a crowd, and it is a share of the
   * processors, `least` at the least; a crowd has ended when some tens of runs in a row have met
   * none. A thread that is inside already, because a callback of one run begins another, is counted
   * once: it gets `least` without waiting. No result depends on the number, to the bit.
   * op_run does not ask: a host that runs ops asks once around all of them, or keeps count itself.
   * LK_CANCELLED, LK_DEADLINE: the wait has ended, nothing was granted, and threads_leave must not
   * be called. LK_OUT_OF_RANGE: not 1 <= least <= most <= 1024. */
  lk_status (*threads_enter)(lk_context *context, const lk_threads_ask *ask, int32_t *out_threads,
                             lk_error *error);
  /* Gives back what threads_enter granted, on the same thread. */
  void (*threads_leave)(lk_context *context, int32_t threads);
  lk_status (*threads_stats)(lk_threads_stats *out, lk_error *error);
  /* Sets how many threads of this process may compute at once, 1 to 1024; runs that are inside keep
   * theirs. Without it LATCHKEY_PROCESSORS decides, else the processors that the process may use by
   * its affinity and by the quota of its control group (version 2), which are read once.
   * LK_OUT_OF_RANGE. */
  lk_status (*processors_set)(int32_t processors, lk_error *error);
  int32_t (*processors_get)(void);

  /* Calls `fn` once for every `index` from 0 to `count` - 1, index 0 on this thread and the others
   * on threads of a team at the same time, and returns when all calls have returned. `threads` says
   * how many calls are wanted; 0: the context's number; more than 1024 count as 1024. `count` is
   * that number, or 1 where this thread works in a region already and where threads cannot be
   * started: so `fn` must do all the work whatever `count` is. A thread that is done with its call
   * may make the call of one that is late. All calls see what this thread wrote before, and this
   * thread sees afterwards what they wrote.
   * `fn` may call every function of the table. Operators that it runs are not split again, and each
   * index runs them in a lane of its own (op_run_lane). On this thread floating point is as the
   * host has set it, on the others as C starts it.
   * This function cannot fail. It does not ask whether processors are free: threads_enter does. */
  void (*parallel_run)(lk_context *context, int32_t threads, lk_parallel_fn fn, void *arg);
  /* How many regions of several threads this thread has begun so far, in operators and by
   * parallel_run. A host that lends its threads sees from it whether a run had any use for them. */
  uint64_t (*parallel_regions)(void);

  /* Opens a loan: until loan_close, regions of this thread of up to `threads` threads, this one
   * included, are shared with those that assist. Nobody waits for assistants: the library's threads
   * stand in for those that do not come.
   * A loan changes nothing where `threads` is 1 or less, where this thread has a team (another
   * loan, a frame_begin with operators behind it) or works in a region already, and where threads
   * cannot be started. */
  void (*loan_open)(lk_context *context, lk_loan *loan, int32_t threads);
  /* Closes a loan, on the thread that opened it, outside any region, and after the frame_end of
   * each frame_begin that came after loan_open. Every loan must be closed, also one that changes
   * nothing. */
  void (*loan_close)(lk_context *context, lk_loan *loan);
  /* Works for a loan on this thread until it is closed, and returns how many shares it has done.
   * Any thread but the one that opens the loan may call this, before or after loan_open; before, it
   * waits without sleeping. It returns 0 at once when `threads` - 1 others assist already, and when
   * the loan is closed or changes nothing. The thread's floating-point state is restored. */
  uint64_t (*loan_assist)(lk_context *context, lk_loan *loan);

  /* Makes an executor: an identity (its address and a uuid) that is never reused. `name` is for
   * people; it is copied, and may be NULL. LK_OUT_OF_MEMORY. */
  lk_status (*executor_create)(lk_context *context, const char *name, lk_executor **out_executor,
                               lk_error *error);
  /* Drops the executor's entries from every thread's tables, with the primitives that only they
   * used, and nobody else's. Its ops, plans and frames must be gone. NULL is allowed. */
  void (*executor_destroy)(lk_executor *executor);

  /* Makes an op of a node. Copies the description; lk_input_flags say when constants are copied.
   * LK_UNSUPPORTED names operator, node and opset; LK_INVALID_ARGUMENT names the attribute. */
  lk_status (*op_create)(lk_executor *executor, const lk_node_desc *node, lk_op **out_op,
                         lk_error *error);
  void (*op_destroy)(lk_op *op); /* plans may outlive it; NULL is allowed */
  lk_status (*op_info)(const lk_op *op, lk_op_info *info, lk_error *error);

  /* Binds an op to shapes. `*inout_plan` is NULL or the plan of the last call, whose reference the
   * call takes over: when nothing has changed, one comparison shows it and the same plan is handed
   * back. Otherwise the name key is looked up, and only a miss builds. On failure `*inout_plan` is
   * released and NULL.
   * A shape input (op_info) that comes at run time and has elements but no data is not a failure:
   * the plan says known_when_run, knows only the types and ranks of its outputs, and cannot be
   * attached; see op_run_alloc.
   * LK_INVALID_ARGUMENT: types, ranks or shapes against the operator's rules; LK_OUT_OF_RANGE:
   * sizes that overflow; LK_UNSUPPORTED: no implementation for these types. */
  lk_status (*op_bind)(lk_op *op, const lk_bind_desc *bind, lk_plan **inout_plan, lk_error *error);
  lk_status (*plan_info)(const lk_plan *plan, lk_plan_info *info, lk_error *error);
  /* Type, shape and layout of output `index`; tensor_bytes says how much memory it needs. Of a plan
   * that is known_when_run, the dimensions are LK_DIM_UNKNOWN and the layout LK_LAYOUT_ANY; the
   * rank is LK_RANK_UNKNOWN and the type LK_DTYPE_NONE where these are not certain either.
   * LK_OUT_OF_RANGE: there is no such output. */
  lk_status (*plan_output)(const lk_plan *plan, uint32_t index, lk_tensor_desc *out,
                           lk_error *error);
  void (*plan_release)(lk_plan *plan);

  /* A frame lends scratch memory and argument handles to plans of this executor. */
  lk_status (*frame_create)(lk_executor *executor, lk_frame **out_frame, lk_error *error);
  void (*frame_destroy)(lk_frame *frame); /* NULL is allowed */
  /* Gives the frame at least `count` lanes; it has one from the start, and never loses any. A lane
   * has scratch memory of its own, so slots may run at the same time in different lanes.
   * LK_OUT_OF_RANGE: more than 1024. */
  lk_status (*frame_lanes)(lk_frame *frame, uint32_t count, lk_error *error);
  /* Prepares a plan to run in the frame, keeps a reference to it, and returns its slot.
   * LK_INVALID_ARGUMENT: the plan is known_when_run. */
  lk_status (*frame_attach)(lk_frame *frame, lk_plan *plan, uint32_t *out_slot, lk_error *error);
  /* Forgets all slots and their plans; keeps the memory. */
  void (*frame_reset)(lk_frame *frame);
  uint64_t (*frame_bytes)(const lk_frame *frame);
  /* Runs a plan. `inputs` [n_inputs], `outputs` [n_outputs]: the caller's memory, in the layouts of
   * the bind; pointers of constant, absent and zero-element tensors may be NULL. Latchkey's own
   * code takes no lock, allocates nothing and looks nothing up here. LK_OUT_OF_RANGE: the frame has
   * no such slot; LK_OUT_OF_MEMORY: threads cannot be started; LK_ONEDNN. */
  lk_status (*op_run)(lk_frame *frame, uint32_t slot, void *const *inputs, void *const *outputs,
                      lk_error *error);
  /* The same in a lane; op_run uses lane 0. Several threads may run slots of one frame at the same
   * time, as long as no two of them use the same slot or the same lane, and nothing else is done
   * with the frame meanwhile. */
  lk_status (*op_run_lane)(lk_frame *frame, uint32_t lane, uint32_t slot, void *const *inputs,
                           void *const *outputs, lk_error *error);
  /* Binds and runs an op in one call, for outputs whose shapes follow from data: of the node's own
   * inputs (known_when_run), or of a node before it. `bind` is as for op_bind, but has the data of
   * every input that comes at run time (NULL is allowed where there are no elements). The plan is
   * looked up by name key, values of shape inputs included, and only a miss builds. Then `alloc` is
   * called on this thread, once for each output in order; for one of 0 bytes, NULL is an answer
   * too. With in_place_input, `alloc` gives that input's memory for output 0. Then the plan runs.
   * On success `outputs` [n_outputs] has descriptions and pointers.
   * The memory that `alloc` gave stays the host's, also on failure, which leaves `outputs`
   * unchanged: a host that has to free it notes it in `arg`.
   * Slots of the frame stay as they are; its scratch memory may grow. Unlike op_run, this looks up
   * and allocates.
   * LK_OUT_OF_MEMORY: also when `alloc` gave NULL, which names the output and its bytes;
   * LK_INVALID_ARGUMENT: an input without data, a frame of another executor; otherwise what op_bind
   * and op_run say. */
  lk_status (*op_run_alloc)(lk_frame *frame, lk_op *op, const lk_bind_desc *bind,
                            lk_output_alloc_fn alloc, void *arg, lk_tensor *outputs,
                            lk_error *error);
  /* A bracket around a series of op_run on this thread, which then keeps its team from one to the
   * next, and uses at most `threads` threads; 0: the context's. In between, floating point is as C
   * starts it: rounding to nearest, denormals as they are, no traps. `frame_end` gives the team
   * back, and restores the host's floating-point state with the exceptions in it. An op_run outside
   * such a pair does all that by itself, as does every other function that computes (op_bind,
   * tensor_convert). */
  void (*frame_begin)(lk_frame *frame, int32_t threads);
  void (*frame_end)(lk_frame *frame);

  /* Bytes that a tensor of this description takes; LK_OUT_OF_RANGE on overflow. */
  lk_status (*tensor_bytes)(lk_context *context, const lk_tensor_desc *desc, uint64_t *out_bytes,
                            lk_error *error);
  /* Copies a tensor into another layout; either side may be plain. LK_INVALID_ARGUMENT: types or
   * shapes differ, or data is missing. */
  lk_status (*tensor_convert)(lk_context *context, const lk_tensor *from, const lk_tensor *to,
                              lk_error *error);

  /* Finds the value of `key`, or builds it, once however many threads ask; then takes a reference.
   * `executor` NULL: the entry belongs to the context. `out_hit` may be NULL. All who wait for a
   * build that fails get its status, and nothing of it is kept. LK_CYCLE: the build would wait for
   * itself. With the cache off, or a capacity of 0, the value is built and only the caller has
   * it. */
  lk_status (*get_or_create)(lk_context *context, lk_executor *executor, const lk_key *key,
                             lk_build_fn build, void *arg, lk_ref **out_ref, int *out_hit,
                             lk_error *error);
  /* The same without a key object, where only the shapes of a key change from call to call. Kind,
   * scope, name, tag and generation are those of `like`, which key_create has made for `executor`;
   * tensors, attributes and values are those of `desc`, whose other members are not read. */
  lk_status (*get_or_create_like)(lk_context *context, lk_executor *executor, const lk_key *like,
                                  const lk_key_desc *desc, lk_build_fn build, void *arg,
                                  lk_ref **out_ref, int *out_hit, lk_error *error);
  void *(*ref_value)(const lk_ref *ref);
  void (*ref_release)(lk_ref *ref); /* NULL is allowed */
  /* Sets the bytes that an entry is charged for, when its value has grown or shrunk in use. */
  void (*ref_charge)(lk_ref *ref, uint64_t bytes);

  /* Sets the limits of a context (`executor` NULL) or of one executor. A lower limit evicts before
   * this returns, about in the order of the last use. 0 empties and disables. LK_UNSET leaves a
   * limit as it is. */
  lk_status (*cache_set_capacity)(lk_context *context, lk_executor *executor, uint64_t entries,
                                  uint64_t bytes, lk_error *error);
  lk_status (*cache_set_weights_capacity)(lk_context *context, uint64_t bytes, lk_error *error);
  /* Drops all entries of a context, or of one executor as executor_destroy does. */
  lk_status (*cache_clear)(lk_context *context, lk_executor *executor, lk_error *error);
  /* Gives freed memory back to the operating system (malloc_trim). It takes milliseconds, in which
   * other threads may wait for memory. The library itself does it when a large session is closed,
   * and never while it serves a run. */
  void (*cache_trim)(lk_context *context);
  lk_status (*cache_stats)(lk_context *context, lk_executor *executor, lk_stats *out,
                           lk_error *error);
  /* Shows every entry of the tables that can be reached (shared mode: all; per-thread mode: those
   * of the calling thread and of threads that are outside a call). */
  lk_status (*cache_visit)(lk_context *context, lk_visit_fn visit, void *arg, lk_error *error);

  /* Keys of the host's own, see key.h. */
  lk_status (*key_create)(lk_context *context, lk_executor *executor, const lk_key_desc *desc,
                          lk_key **out_key, lk_error *error);
  lk_status (*key_parse)(lk_context *context, const char *text, lk_key **out_key, lk_error *error);
  /* Writes at most `capacity` bytes with the terminating NUL; `*out_length` (may be NULL) is the
   * length without it that the whole text has. */
  lk_status (*key_print)(lk_context *context, const lk_key *key, char *buffer, size_t capacity,
                         size_t *out_length, lk_error *error);
  void (*key_destroy)(lk_context *context, lk_key *key);

  /* The rows of the operator table: NULL when `index` is past the end. */
  const lk_op_row *(*op_row)(uint32_t index);
  /* The row of an operator at an opset; NULL: none. `domain` NULL is ai.onnx. */
  const lk_op_row *(*op_find)(const char *op_type, const char *domain, int32_t opset);

  /* A table of dimensions that are not known yet, for one thread at a time; `allocator` must live
   * longer. In descriptions that go with it, a dimension below LK_DIM_UNKNOWN is one of the table,
   * and equal numbers are equal in every run. */
  lk_status (*dims_create)(const lk_allocator *allocator, lk_dims **out_dims, lk_error *error);
  void (*dims_destroy)(lk_dims *dims); /* NULL is allowed */
  /* A dimension that is equal to nothing but itself; LK_DIM_UNKNOWN: no memory. */
  int64_t (*dims_open)(lk_dims *dims);
  /* What is certain of a node's outputs [n_outputs], without making an op: the same rules as
   * op_bind's, for inputs [n_inputs] of which not all is known. Not known is a type LK_DTYPE_NONE,
   * a rank LK_RANK_UNKNOWN, a dimension LK_DIM_UNKNOWN or one of the table, and a value without
   * data; `constant` of the node's inputs is not read. The same goes for outputs, but that no
   * dimension is LK_DIM_UNKNOWN. `out_copy_of` (may be NULL): the input that output 0 is, type and
   * elements, or -1. Failures as of op_create and op_bind: the node cannot run, whatever is not
   * known turns out to be. */
  lk_status (*op_infer)(lk_dims *dims, const lk_node_desc *node, const lk_tensor *inputs,
                        lk_tensor_desc *outputs, int32_t *out_copy_of, lk_error *error);

  /* Step `index` of a plan, of n_steps. LK_OUT_OF_RANGE: there is no such step. */
  lk_status (*plan_step)(const lk_plan *plan, uint32_t index, lk_step_info *out, lk_error *error);
  /* op_run_lane with a clock: writes what each step took to `times` [n_steps of the plan]. When a
   * step fails, its time and those of the steps behind it are not written. op_run and op_run_lane
   * read no clock. */
  lk_status (*op_run_timed)(lk_frame *frame, uint32_t lane, uint32_t slot, void *const *inputs,
                            void *const *outputs, lk_step_time *times, lk_error *error);
  /* Measures for about 150 ms what `threads` threads (0: the context's) can do, this one among
   * them, on memory of up to 256 MiB that it allocates meanwhile. What else runs on the machine
   * makes the numbers smaller; as parallel_run, this does not ask whether processors are free.
   * LK_OUT_OF_RANGE: not 0 to 1024; LK_OUT_OF_MEMORY. */
  lk_status (*machine_peak)(lk_context *context, int32_t threads, lk_machine_peak *out,
                            lk_error *error);
} lk_api;

/* The table for this version, or NULL when the library does not speak it. Thread-safe. */
LK_EXPORT const lk_api *lk_get_api(uint32_t version);

#ifdef __cplusplus
}
#endif

#endif
