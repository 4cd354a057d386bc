/* Plans: a short list of steps, each a oneDNN primitive or a kernel of ops/kernel/.
 *
 * A plan is data: immutable once made, and shared by threads. Whoever runs it brings a frame with
 * argument handles and scratch memory.
 */
#pragma once

#include "ops/kernel/kernel.h"
#include "ops/plan/op.h"
#include "ops/plan/primitive.h"

/* Where memory that a step reads or writes comes from. */
typedef enum lk_place {
  LK_PLACE_NONE = 0,
  LK_PLACE_INPUT = 1,  /* index: input of the node */
  LK_PLACE_OUTPUT = 2, /* index: output of the node */
  LK_PLACE_TEMP = 3,   /* index: temporary in the frame's scratch memory */
  LK_PLACE_PACKED = 4  /* index: packed constant of the plan */
} lk_place;

typedef struct lk_step_arg {
  int32_t arg; /* DNNL_ARG_...; for a kernel: the position */
  uint32_t place, index;
} lk_step_arg;

typedef struct lk_step {
  const lk_primitive *primitive; /* or NULL: a kernel */
  lk_kernel_fn kernel;
  const void *params;
  uint32_t first_arg, n_args;
  /* Of a kernel, as lk_step_info has them; runs do not read them. `tiles` NULL: none. */
  const char *kind, *tiles;
  double flops, bytes;
} lk_step;

typedef struct lk_plan_body {
  lk_ops_env *env;
  uint64_t node_serial; /* the op it was made for: never reused */
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
  int32_t in_place_input;     /* input that output 0 is written over, or -1 */
  const char *implementation; /* of the main primitive */
  uint64_t bytes;             /* of the body itself */
  double flops;               /* as in lk_plan_info */
} lk_plan_body;

/* A body for `node` without steps, whose inputs and outputs are yet to be described. `wishes` as in
 * lk_bind_desc. */
lk_status lk_plan_body_create(lk_ops_env *env, const lk_op_node *node, const lk_layout *wishes,
                              int32_t threads, lk_plan_body **out_body, lk_error *error);
void lk_plan_body_destroy(lk_plan_body *body);
