/* The objects behind the ABI: private to the .c files of this folder. */
#pragma once

#include <latchkey/latchkey.h>
#include <stdatomic.h>

#include "keys/identity.h"
#include "ops/plan/layout.h"
#include "ops/plan/packing.h"
#include "ops/plan/plan_build.h"

struct lk_context {
  lk_allocator host_allocator; /* as given */
  lk_allocator allocator;      /* counts, then asks the host's */
  _Atomic uint64_t allocations;
  bool holds_library; /* see library.h */
  lk_ops_env env;
  bool adapts_threads;
  int32_t log_level;
  lk_log_fn log;
  void *log_user;
};

struct lk_executor {
  lk_context *context;
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
  atomic_flag warned; /* that a plan of it runs on a reference implementation */
};

/* Whether the operator must know input `index` by value when shapes are bound. */
static inline bool lk_op_is_shape_input(const lk_op *op, uint32_t index) {
  return index < 64 && (op->node.class_->row.shape_inputs >> index & 1) != 0;
}

/* A plan is a reference to the cached body. */
static inline const lk_plan_body *lk_plan_get_body(const lk_plan *plan) {
  return lk_ref_value((const lk_ref *)plan);
}

/* A plan that only says what is certain before the values are known: no steps. Its mark is a layout
 * that no bound output has. */
static inline bool lk_plan_is_deferred(const lk_plan_body *body) {
  return body->outputs[0].layout == LK_LAYOUT_ANY;
}
