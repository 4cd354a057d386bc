/* Plans: a short list of steps, each a oneDNN primitive or a plain C kernel, over operands.
 *
 * The planner collects them while an operator's `plan` runs, and puts in reorders where an operand
 * is not in the layout that a step wants. The result, lk_plan_body, is immutable and shared by
 * threads; whoever runs it brings a frame with argument handles and scratch memory.
 */
#ifndef LK_OPS_PLAN_PLANNER_H
#define LK_OPS_PLAN_PLANNER_H

#include "ops/plan/layout.h"
#include "ops/plan/op.h"
#include "ops/plan/primitive.h"

typedef enum lk_place {
  LK_PLACE_NONE = 0,
  LK_PLACE_INPUT = 1,  /* index: input of the node */
  LK_PLACE_OUTPUT = 2, /* index: output of the node */
  LK_PLACE_TEMP = 3,   /* index: temporary in the frame's scratch memory */
  LK_PLACE_PACKED = 4  /* index: packed constant of the plan */
} lk_place;

/* Memory that a step reads or writes, and how the tensor lies in it. */
typedef struct lk_operand {
  uint32_t place; /* lk_place */
  uint32_t index;
  lk_tensor_desc desc;
} lk_operand;

/* A plain C step: pointers in the order of the operands; `params` as given to lk_planner_kernel. */
typedef lk_status (*lk_kernel_fn)(const void *params, void *const *pointers, lk_error *error);

typedef struct lk_step_arg {
  int32_t arg; /* DNNL_ARG_...; for a kernel: the position */
  uint32_t place, index;
} lk_step_arg;

typedef struct lk_step {
  const lk_primitive *primitive; /* or NULL: a kernel */
  lk_kernel_fn kernel;
  const void *params;
  uint32_t first_arg, n_args;
} lk_step;

typedef struct lk_plan_body {
  lk_ops_env *env;
  uint64_t node_serial; /* the op it was made for: never used again */
  lk_step *steps;
  lk_step_arg *args;
  lk_ref **primitives;
  lk_packed **packed;
  size_t *temps; /* offsets in the frame's scratch memory, 64-byte aligned */
  void **params;
  lk_tensor_desc *inputs;  /* [n_inputs] as bound */
  lk_tensor_desc *outputs; /* [n_outputs] */
  lk_layout *wishes;       /* [n_outputs] */
  uint32_t n_steps, n_args, n_primitives, n_packed, n_temps, n_params, n_inputs, n_outputs;
  size_t temp_bytes, scratchpad_bytes;
  uint32_t n_reorders, n_ref;
  int32_t alias_input, threads;
  int32_t over;               /* input that output 0 is written over, or -1 */
  const char *implementation; /* of the main primitive */
  uint64_t bytes;             /* of the body itself */
  double flops;               /* as in lk_plan_info */
} lk_plan_body;

/* A body for `node` without steps, whose inputs and outputs are yet to be described. `wishes` as in
 * lk_bind_desc. */
lk_status lk_plan_body_create(lk_ops_env *env, const lk_op_node *node, const lk_layout *wishes,
                              int32_t threads, lk_plan_body **out_body, lk_error *error);
/* Plans `node` for these inputs. `wishes` as in lk_bind_desc. */
lk_status lk_plan_build(lk_ops_env *env, const lk_op_node *node, const lk_tensor *inputs,
                        const lk_layout *wishes, int32_t threads, lk_plan_body **out_body,
                        lk_error *error);
void lk_plan_body_destroy(lk_plan_body *body);

/* ---- for operators, while `plan` runs ---- */

lk_ops_env *lk_planner_env(lk_planner *planner);
const lk_op_node *lk_planner_node(lk_planner *planner);
/* Description of an input (data only where it is known at bind), and of an output. */
const lk_tensor *lk_planner_input_tensor(lk_planner *planner, uint32_t index);
const lk_tensor_desc *lk_planner_output_desc(lk_planner *planner, uint32_t index);

/* Input `index` in `layout` (LK_LAYOUT_ANY: as it is), through a reorder into a temporary where it
 * is in another; a constant input comes from the weights store. */
lk_status lk_planner_input(lk_planner *planner, uint32_t index, lk_layout layout,
                           lk_operand *out_operand, lk_error *error);
/* A constant or run-time input as weights of `desc` (e.g. with a groups dimension, from the same
 * plain bytes), in the layout that a primitive chose. `plain_md`: how the plain bytes are read when
 * that is not row-major (transposed weights); else NULL. */
lk_status lk_planner_weights(lk_planner *planner, uint32_t index, const lk_tensor_desc *desc,
                             const_dnnl_memory_desc_t plain_md, const_dnnl_memory_desc_t packed_md,
                             lk_operand *out_operand, lk_error *error);
/* The same for values that the operator makes up itself: `data` are the plain, row-major bytes of
 * `desc`, copied. */
lk_status lk_planner_literal(lk_planner *planner, const lk_tensor_desc *desc, const void *data,
                             const_dnnl_memory_desc_t packed_md, lk_operand *out_operand,
                             lk_error *error);
/* Output `index`, which the operator writes in `layout`: the output itself, or a temporary that is
 * reordered at the end when another layout was wished for. */
lk_status lk_planner_output(lk_planner *planner, uint32_t index, lk_layout layout,
                            lk_operand *out_operand, lk_error *error);
lk_status lk_planner_temp(lk_planner *planner, const lk_tensor_desc *desc, lk_operand *out_operand,
                          lk_error *error);
/* The layout that output 0 should preferably have: the wish, or `natural` when there is none. */
lk_layout lk_planner_wish(lk_planner *planner, uint32_t index, lk_layout natural);

/* Starts the value key of a primitive: lk_primitive_key with the planner's context and threads. */
void lk_planner_key_begin(lk_planner *planner, lk_key_builder *key, lk_primitive_kind kind);
/* Adds the post-op chain of the node to a value key; output 0 has description `dst`, and binary
 * operands will be brought to its layout. */
void lk_planner_key_post_ops(lk_planner *planner, lk_key_builder *key, const lk_tensor_desc *dst);
/* Finds or builds the primitive; the plan keeps it. */
lk_status lk_planner_primitive(lk_planner *planner, lk_key_builder *key,
                               const lk_primitive **out_primitive, lk_error *error);

#define LK_MAX_STEP_ARGS 64
typedef struct lk_primitive_arg {
  int arg; /* DNNL_ARG_... */
  lk_operand operand;
} lk_primitive_arg;

/* A step that executes a primitive; the scratchpad is added, and the operands of the node's binary
 * post-ops when `post_dst`, the description that its key's post-ops were given, is not NULL. */
lk_status lk_planner_execute(lk_planner *planner, const lk_primitive *primitive,
                             const lk_primitive_arg *args, uint32_t n_args,
                             const lk_tensor_desc *post_dst, lk_error *error);
/* A step that copies `from` into `to`: types or layouts differ; dims are equal. */
lk_status lk_planner_reorder(lk_planner *planner, const lk_operand *from, const lk_operand *to,
                             lk_error *error);
/* A step that calls a kernel. `params` (`size` bytes) is copied into the plan. */
lk_status lk_planner_kernel(lk_planner *planner, lk_kernel_fn kernel, const void *params,
                            size_t size, const lk_operand *operands, uint32_t n_operands,
                            lk_error *error);
/* Output 0 has the bytes of input `index` in `layout` (LK_LAYOUT_ANY: as they lie): emits a copy that
 * does nothing when the pointers are equal, and tells the executor. An input that had to be
 * reordered first is no alias. */
lk_status lk_planner_view(lk_planner *planner, uint32_t index, lk_layout layout, lk_error *error);

#endif
