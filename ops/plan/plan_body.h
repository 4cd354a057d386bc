/* Plans: a short list of steps, each a oneDNN primitive or a kernel of ops/kernel/.
 *
 * A plan is data: immutable once made, and shared by threads. Whoever runs it brings a frame with
 * argument handles and scratch memory. It lies in one block of memory, because a host keeps one for
 * each node and size.
 */
#pragma once

#include <stdatomic.h>

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
  uint16_t place, index;
} lk_step_arg;

typedef struct lk_step {
  const lk_primitive *primitive; /* or NULL: a kernel */
  lk_kernel_fn kernel;
  const void *params;
  uint16_t first_arg, n_args;
  uint32_t params_size;
  /* Of a kernel, as lk_step_info has them; runs do not read them. */
  const char *kind;
  lk_describe_fn describe; /* its tiles; NULL: none */
  double flops, bytes;
} lk_step;

typedef struct lk_plan_body {
  lk_ops_env *env;
  uint64_t node_serial; /* the op it was made for: never reused */
  lk_step *steps;
  lk_step_arg *args;
  lk_ref **primitives;
  lk_packed **packed;
  size_t *temps;           /* offsets in the frame's scratch memory, 64-byte aligned */
  lk_tensor_desc *inputs;  /* [n_inputs] as bound; NULL where nobody will ask */
  lk_tensor_desc *outputs; /* [n_outputs]; where `inputs` is NULL, see lk_plan_body_output */
  lk_layout *wishes;       /* [n_outputs]; NULL with `inputs` */
  size_t temp_bytes, scratchpad_bytes;
  const char *implementation; /* of the main primitive */
  double flops;               /* as in lk_plan_info */
  _Atomic uint32_t refs;      /* of a plan that no cache has; else not used */
  uint32_t bytes;             /* of the block */
  uint16_t n_steps, n_args, n_primitives, n_packed, n_temps, n_inputs, n_outputs;
  uint16_t n_reorders, n_ref;
  int16_t alias_input;
  int16_t in_place_input; /* input that output 0 is written over, or -1 */
} lk_plan_body;

/* Who will look at a body besides those who run it. */
typedef enum lk_plan_use {
  LK_PLAN_COMPARED, /* a later bind compares its inputs and wishes with its own */
  LK_PLAN_RUN       /* nobody: they are left out */
} lk_plan_use;

/* A copy of `draft` in one block, which takes over the references that the draft has; on failure
 * they are still the draft's. */
lk_status lk_plan_body_create(const lk_plan_body *draft, lk_plan_use use, lk_plan_body **out_body,
                              lk_error *error);
lk_tensor_desc lk_plan_body_output(const lk_plan_body *body, uint32_t index);
/* Gives back what the body refers to. */
void lk_plan_body_release(const lk_plan_body *body);
/* NULL is allowed. */
void lk_plan_body_destroy(lk_plan_body *body);
