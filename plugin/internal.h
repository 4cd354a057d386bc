/* The objects behind the ABI: private to the .c files of this folder. */
#ifndef LK_PLUGIN_INTERNAL_H
#define LK_PLUGIN_INTERNAL_H

#include <latchkey/latchkey.h>
#include <stdatomic.h>

#include "keys/identity.h"
#include "ops/plan/layout.h"
#include "ops/plan/packing.h"
#include "ops/plan/planner.h"

struct lk_context {
  lk_allocator host_allocator; /* as given */
  lk_allocator allocator;      /* counts, then asks the host's */
  _Atomic uint64_t allocations;
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
  uint64_t serial; /* never used again: tells plans of this op from those of others */
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

/* Reads options: struct, then environment, then defaults (options.c). */
lk_status lk_context_options_read(const lk_context_options *given, lk_context_options *out,
                                  lk_error *error);
/* Hands what LATCHKEY_PROCESSORS says to the budget (options.c). */
lk_status lk_processors_read(lk_error *error);

/* Checks a description that has been read by size, apart from what its operator wants (op_check.c). */
lk_status lk_node_desc_check(const lk_node_desc *desc, lk_error *error);

/* Reads a description that has been checked: counts, absent inputs, and attributes into params, which
 * are the caller's to free, also on failure. The name stays the host's (infer.c). */
lk_status lk_node_read(const lk_allocator *allocator, const lk_node_desc *desc, lk_op_node *node,
                       lk_error *error);

/* A plan is a reference to the cached body. */
static inline const lk_plan_body *lk_plan_get_body(const lk_plan *plan) {
  return lk_ref_value((const lk_ref *)plan);
}

/* A plan that only says what is certain before the values are known: no steps. Its mark is a layout
 * that no bound output has. */
static inline bool lk_plan_is_deferred(const lk_plan_body *body) {
  return body->outputs[0].layout == LK_LAYOUT_ANY;
}

/* What a caller's older lk_bind_desc does not have. */
#define LK_BIND_DEFAULTS                                                                           \
  { .in_place_input = -1 }

static inline lk_layout lk_bind_wish(const lk_bind_desc *bind, uint32_t output) {
  return bind->wishes != NULL ? bind->wishes[output] : LK_LAYOUT_ANY;
}

/* bind.c: checks the description of an input that comes at run time; `out_elements` may be NULL. */
lk_status lk_bind_size_input(const lk_op *op, const lk_bind_desc *bind, uint32_t index,
                             int64_t *out_elements, lk_error *error);
/* deferred.c: whether input `index`, whose description has been sized, is a value that shapes depend
 * on and that is not there; and the plan of a bind that lacks such a value. */
bool lk_bind_lacks_value(const lk_op *op, const lk_bind_desc *bind, uint32_t index);
lk_status lk_deferred_build(const lk_op *op, const lk_bind_desc *bind, int32_t threads,
                            lk_plan_body **out_body, lk_error *error);

/* The functions of the table, by file. context.c: */
lk_status lk_context_create(const lk_context_options *options, lk_context **out_context,
                            lk_error *error);
void lk_context_destroy(lk_context *context);
void lk_context_log(lk_context *context, lk_log_level level, const char *line);
lk_status lk_executor_create(lk_context *context, const char *name, lk_executor **out_executor,
                             lk_error *error);
void lk_executor_destroy(lk_executor *executor);
const char *lk_version_text(void);
/* op.c: */
lk_status lk_op_create(lk_executor *executor, const lk_node_desc *node, lk_op **out_op,
                       lk_error *error);
void lk_op_destroy(lk_op *op);
lk_status lk_op_info_get(const lk_op *op, lk_op_info *info, lk_error *error);
/* infer.c: */
lk_status lk_dims_new(const lk_allocator *allocator, lk_dims **out_dims, lk_error *error);
lk_status lk_node_infer(lk_dims *dims, const lk_node_desc *given, const lk_tensor *inputs,
                        lk_tensor_desc *outputs, int32_t *out_copy_of, lk_error *error);
/* bind.c: */
lk_status lk_op_bind(lk_op *op, const lk_bind_desc *bind, lk_plan **inout_plan, lk_error *error);
lk_status lk_plan_info_get(const lk_plan *plan, lk_plan_info *info, lk_error *error);
lk_status lk_plan_output(const lk_plan *plan, uint32_t index, lk_tensor_desc *out, lk_error *error);
void lk_plan_release(lk_plan *plan);
/* frame.c: */
lk_status lk_frame_create(lk_executor *executor, lk_frame **out_frame, lk_error *error);
void lk_frame_destroy(lk_frame *frame);
lk_status lk_frame_lanes(lk_frame *frame, uint32_t count, lk_error *error);
lk_status lk_frame_attach(lk_frame *frame, lk_plan *plan, uint32_t *out_slot, lk_error *error);
void lk_frame_reset(lk_frame *frame);
void lk_frame_detach(lk_frame *frame); /* forgets the slot that was attached last */
const lk_executor *lk_frame_executor(const lk_frame *frame);
uint64_t lk_frame_bytes(const lk_frame *frame);
lk_status lk_op_run(lk_frame *frame, uint32_t slot, void *const *inputs, void *const *outputs,
                    lk_error *error);
lk_status lk_op_run_lane(lk_frame *frame, uint32_t lane, uint32_t slot, void *const *inputs,
                         void *const *outputs, lk_error *error);
void lk_frame_begin(lk_frame *frame);
void lk_frame_end(lk_frame *frame);
/* run_alloc.c: */
lk_status lk_op_run_alloc(lk_frame *frame, lk_op *op, const lk_bind_desc *given,
                          lk_output_alloc_fn alloc, void *arg, lk_tensor *outputs, lk_error *error);
/* key_api.c: */
lk_status lk_user_key_create(lk_context *context, lk_executor *executor, const lk_key_desc *desc,
                             lk_key **out_key, lk_error *error);
lk_status lk_user_get_or_create_like(lk_context *context, lk_executor *executor, const lk_key *like,
                                     const lk_key_desc *desc, lk_build_fn build, void *arg,
                                     lk_ref **out_ref, int *out_hit, lk_error *error);
/* threads.c: */
lk_status lk_threads_enter(lk_context *context, const lk_threads_ask *ask, int32_t *out_threads,
                           lk_error *error);
void lk_threads_leave(lk_context *context, int32_t threads);
lk_status lk_threads_stats_get(lk_threads_stats *out, lk_error *error);
lk_status lk_processors_set(int32_t processors, lk_error *error);
int32_t lk_processors_get(void);
/* library.c: the one owner of oneDNN's process-wide settings. */
lk_status lk_library_acquire(lk_error *error); /* LK_VERSION: too old */
void lk_library_release(void);

#endif
