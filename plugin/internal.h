/* The objects behind the ABI, and what the files of this folder call of each other beyond the
 * table's functions: private to its .c files. */
#pragma once

#include <latchkey/latchkey.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/memory_budget.h"
#include "base/status.h"
#include "keys/identity.h"
#include "ops/engine/engines.h"
#include "ops/host_operators.h"
#include "ops/plan/layout.h"
#include "ops/plan/pattern.h"
#include "ops/plan/plan_build.h"

/* The options whose source is told, in the order in which option_info tells them. */
typedef enum lk_option {
  LK_OPTION_CACHE_MODE,
  LK_OPTION_CACHE_ENTRIES,
  LK_OPTION_CACHE_BYTES,
  LK_OPTION_WEIGHTS_BYTES,
  LK_OPTION_MEMORY_BYTES,
  LK_OPTION_THREADS,
  LK_OPTION_VERBOSE,
  LK_OPTION_SOCKET,
  LK_OPTION_ENGINE,
  LK_OPTION_TUNING,
  LK_OPTION_PROCESSORS, /* of the process, as those behind it */
  LK_OPTION_MAX_ISA,
  LK_OPTION_COUNT
} lk_option;

struct lk_context {
  lk_allocator host_allocator; /* as given */
  lk_memory_budget memory;     /* of all but `weights_memory` */
  lk_memory_budget weights_memory;
  lk_allocator allocator;         /* within `memory` */
  lk_allocator weights_allocator; /* the same, or within `weights_memory`, which has no limit */
  lk_ops_env env;
  lk_host_operators *operators; /* of the host's own */
  int32_t log_level;
  lk_log_fn log;
  void *log_user;
  char *tuning;    /* the path of the tuning file; NULL: none */
  uint64_t serial; /* never reused */
  /* Writes where the process's socket is; NULL: this context does not keep it (plugin/serve/). */
  void (*served_at)(char *path, size_t capacity);
  atomic_bool had_executor;              /* the engine stays the one that it is */
  atomic_bool engine_by_call;            /* engine_register has chosen it */
  uint8_t sources[LK_OPTION_PROCESSORS]; /* lk_option_source of what `made` has */
  lk_context_options made;               /* with what it was made */
};

/* The serial of an op has the number of its executor in front, so that plans tell whose they are.
 * The number returns after 2^24 executors; it refuses mistakes, and is no identity. */
#define LK_EXECUTOR_SHIFT 40

struct lk_executor {
  lk_context *context;
  uint64_t number; /* in front of the serials of its ops */
  lk_executor_identity identity;
  lk_quota *quota;
  char *name;
};

struct lk_op {
  lk_executor *executor;
  uint64_t serial; /* never reused: tells plans of this op from those of others */
  lk_op_node node;
  lk_key *fixed;      /* the part of the name key that all calls share */
  bool *comes_at_run; /* [n_inputs]: neither constant nor absent */
  bool has_shape_inputs;
  atomic_bool was_bound; /* with LK_BIND_OWN */
  /* From the second such bind on: one size alone needs none. NULL: none yet. */
  lk_pattern *_Atomic pattern;
};

/* Whether the operator must know input `index` by value when shapes are bound. */
static inline bool lk_op_is_shape_input(const lk_op *op, uint32_t index) {
  return index < 64 && (op->node.class_->row.shape_inputs >> index & 1) != 0;
}

/* A plan is a reference to a cached body, or a body of its own, whose address is marked by its
 * lowest bit. */
static inline bool lk_plan_is_own(const lk_plan *plan) {
  return ((uintptr_t)plan & 1) != 0;
}
static inline lk_plan_body *lk_plan_own_body(const lk_plan *plan) {
  return (lk_plan_body *)((uintptr_t)plan & ~(uintptr_t)1);
}
static inline lk_plan *lk_plan_of_body(lk_plan_body *body) {
  return (lk_plan *)((uintptr_t)body | 1);
}
static inline const lk_plan_body *lk_plan_get_body(const lk_plan *plan) {
  if (lk_plan_is_own(plan)) return lk_plan_own_body(plan);
  return (const lk_plan_body *)lk_ref_value((const lk_ref *)plan);
}

/* A plan that only says what is certain before the values are known: no steps. Its mark is a layout
 * that no bound output has. */
static inline bool lk_plan_is_deferred(const lk_plan_body *body) {
  return lk_plan_output_layout(body) == LK_LAYOUT_ANY;
}

/* Puts "failed to <verb> <operator> '<name>': " before the sentence of a failure. */
static inline lk_status lk_op_prefix(const lk_op *op, const char *verb, lk_status status,
                                     lk_error *error) {
  if (status == LK_OK) return LK_OK;
  return lk_error_prefix(error, status, "failed to %s %s '%s'", verb, op->node.class_->row.op_type,
                         op->node.output_name);
}

/* The number of a word in the key that `words` are of; NULL stands for "". */
static inline lk_status lk_word_get(lk_words *words, const char *text, uint32_t *out_id,
                                    lk_error *error) {
  if (text == NULL || text[0] == '\0') {
    *out_id = LK_WORD_NONE;
    return LK_OK;
  }
  return lk_words_get(words, text, strlen(text), out_id, error);
}

/* The part of a key that says where and how this call wants its plan. `of_thread`: the value is the
 * thread's whatever the mode. */
static inline lk_key_call lk_call_make(const lk_context *context, int32_t in_place_input,
                                       bool of_thread) {
  lk_key_call call = {.in_place_input = in_place_input};
  if (of_thread || lk_cache_mode_get(context->env.cache) == LK_CACHE_THREAD) {
    const lk_thread_identity thread = lk_thread_identity_get();
    call.thread = thread.hash;
    call.thread_generation = thread.generation;
  }
  return call;
}

/* Whether `executor` (may be NULL) is one of `context`. The sentence begins "failed to <verb>". */
static inline lk_status lk_executor_check(const lk_context *context, const lk_executor *executor,
                                          const char *verb, lk_error *error) {
  if (executor == NULL || executor->context == context) return LK_OK;
  return lk_fail(error, LK_INVALID_ARGUMENT, "failed to %s: the executor is one of another context",
                 verb);
}

/* ---- options.c ---- */

/* `given` may be NULL. `sources`: of each option of the context, an lk_option_source. */
lk_status lk_context_options_read(const lk_context_options *given, lk_context_options *out,
                                  uint8_t sources[LK_OPTION_PROCESSORS], lk_error *error);
/* Hands what LATCHKEY_PROCESSORS says to the budget. */
lk_status lk_processors_read(lk_error *error);

/* ---- node_read.c ---- */

/* Reads `given` into `desc`, which borrows from it, checks it, and makes `node` of it, but for its
 * name: operator, which may be one of `host` (or NULL), counts, absent inputs, and attributes as
 * params, which are the caller's to free, also on failure. */
lk_status lk_node_read(const lk_allocator *allocator, const lk_host_operators *host,
                       const lk_node_desc *given, lk_node_desc *desc, lk_op_node *node,
                       lk_error *error);

/* ---- bind.c ---- */

/* What a caller's older lk_bind_desc does not have. */
#define LK_BIND_DEFAULTS                                                                           \
  { .in_place_input = -1 }

/* Checks the description of an input that comes at run time; `out_elements` may be NULL. */
lk_status lk_bind_size_input(const lk_bind_desc *bind, uint32_t index, int64_t *out_elements,
                             lk_error *error);
void lk_plan_retain(lk_plan *plan);
