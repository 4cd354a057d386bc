/* The planner: collects the steps of a plan while an operator's `plan` runs, and puts in reorders
 * where an operand is not in the layout that a step wants.
 *
 * Here are the steps that a plan is made of. Those that several operators emit are built on them:
 * moves.h, eltwise_steps.h, product_steps.h.
 */
#pragma once

#include "base/bump.h"
#include "ops/kernel/move/copy.h"
#include "ops/plan/layout.h"
#include "ops/plan/plan_body.h"

/* Memory that a step reads or writes, and how the tensor lies in it. */
typedef struct lk_operand {
  uint32_t place; /* lk_place */
  uint32_t index;
  lk_tensor_desc desc;
} lk_operand;

/* An output that was written to a temporary and is reordered when the operator has finished. */
typedef struct lk_pending_reorder {
  lk_operand from, to;
} lk_pending_reorder;

/* An input or output of f16 or bf16, for an operator that computes in f32. */
typedef struct lk_wide_tensor {
  uint32_t dtype; /* LK_DTYPE_NONE: it is of another type */
  bool is_kept;   /* steps take it as it is */
  bool is_there;  /* `f32` is made */
  lk_operand f32;
} lk_wide_tensor;

typedef struct lk_task lk_task; /* work.h */

/* What makes steps of tasks: of all of them (lk_ops_env.planning), or of those of one kind. */
struct lk_planning {
  /* Emits the steps of the task, and of the post-ops of its node. */
  lk_status (*plan)(lk_planner *planner, const lk_task *task, lk_error *error);
  /* As lk_op_class.resize, for such steps. NULL: no operator has it. */
  bool (*resize)(const lk_resizing *self, const lk_task *task);
  /* Emits a step that brings `from` into the layout of `to`. NULL: of those of one kind. */
  lk_status (*change_layout)(lk_planner *planner, const lk_operand *from, const lk_operand *to,
                             lk_error *error);
};

/* Operators read `env`, `node`, `body`, `inputs`, and `outputs`, which are described before `plan`
 * is called. */
struct lk_planner {
  lk_ops_env *env;
  const lk_op_node *node;
  lk_plan_body *body;      /* &draft */
  lk_tensor *inputs;       /* as bound; a constant as the node has it; zero where it is absent */
  lk_tensor_desc *outputs; /* those of `arrays` */
  const void *found;       /* what `infer` has left for `plan` */
  uint32_t n_works;        /* of the node so far; the engines' */
  uint32_t work;           /* of the steps that are emitted, as lk_step has it; the engines' */
  /* planner.c's */
  lk_wide_tensor *wide; /* of inputs, then of outputs; NULL: there are none */
  lk_plan_body draft;
  lk_plan_arrays arrays;
  lk_bump memory; /* of the arrays, and of the planner's */
  uint32_t n_pending;
  lk_pending_reorder *pending;
  size_t steps_capacity, args_capacity, packed_capacity, values_capacity, temps_capacity,
      pending_capacity;
};

/* ---- for plan_build.c ---- */

/* What most plans need while they are made. */
enum { LK_PLANNER_ROOM = 6 * 1024 };

/* `room`: LK_PLANNER_ROOM bytes, until the end. `wishes` as in lk_bind_desc. */
lk_status lk_planner_begin(lk_planner *planner, lk_ops_env *env, const lk_op_node *node,
                           const lk_tensor *inputs, const lk_layout *wishes, void *room,
                           lk_error *error);
/* For an operator that computes in f32, while its `plan` runs: inputs and outputs of f16 and bf16
 * are of f32, in temporaries, or where they are constant in packed copies. lk_planner_narrow rounds
 * outputs, once, and gives tensors their types back. */
lk_status lk_planner_widen(lk_planner *planner, lk_error *error);
lk_status lk_planner_narrow(lk_planner *planner, lk_error *error);
/* Gives back what a draft refers to that has not become a plan. Also after a failure of
 * lk_planner_begin. */
void lk_planner_end(lk_planner *planner);
/* Emits what is left to do, and makes the plan. */
lk_status lk_planner_finish(lk_planner *planner, lk_plan_use use, lk_plan_body **out_body,
                            lk_error *error);

/* ---- for engines: steps that take f16 and bf16 as they are, while `plan` runs ---- */

/* Whether lk_planner_widen has found any. */
static inline bool lk_planner_is_widened(const lk_planner *planner) {
  return planner->wide != NULL;
}
/* The type of an input or output before it was widened; LK_DTYPE_NONE: it was not, or it is an
 * output that has been written. */
uint32_t lk_planner_half_type(const lk_planner *planner, lk_place place, uint32_t index);
/* From here on it is taken as it is, or again as f32. It has a half type. */
void lk_planner_keep_half(lk_planner *planner, lk_place place, uint32_t index, bool is_kept);

/* ---- for operators, while `plan` runs ---- */

/* Input `index` in `layout` (LK_LAYOUT_ANY: as it is), through a reorder into a temporary where it
 * is in another; a constant input comes from the weights store. */
lk_status lk_planner_input(lk_planner *planner, uint32_t index, lk_layout layout,
                           lk_operand *out_operand, lk_error *error);
/* Constant input `index`, plain, for what packs another one with it; the caller releases it. */
lk_status lk_planner_constant(lk_planner *planner, uint32_t index, lk_packed **out_plain,
                              lk_error *error);
/* Constant input `index` as a kernel packs it; the first number of `layout` is an
 * lk_packed_kind. */
lk_status lk_planner_packed(lk_planner *planner, uint32_t index, const lk_weights_layout *layout,
                            size_t bytes, const lk_packer *packer, lk_operand *out_operand,
                            lk_error *error);
/* What an engine keeps in a frame for a value, as an operand of the step that runs it. The plan has
 * a reference to the value from now on. */
lk_status lk_planner_value(lk_planner *planner, lk_ref *value, lk_operand *out_slot,
                           lk_error *error);
/* Output `index`, which the operator writes in `layout`: the output itself, or a temporary that is
 * reordered at the end when another layout was wished for. */
lk_status lk_planner_output(lk_planner *planner, uint32_t index, lk_layout layout,
                            lk_operand *out_operand, lk_error *error);
/* Inputs 0 to `n_inputs` - 1, then output 0, all plain. */
lk_status lk_planner_plain(lk_planner *planner, uint32_t n_inputs, lk_operand *out_operands,
                           lk_error *error);
/* Input `index`, plain, as a further one of `n` operands, if it is there. */
lk_status lk_planner_append_input(lk_planner *planner, uint32_t index, lk_operand *operands,
                                  uint32_t *inout_n, lk_error *error);
lk_status lk_planner_temp(lk_planner *planner, const lk_tensor_desc *desc, lk_operand *out_operand,
                          lk_error *error);
/* Output `index`, plain, where the node has it; else a temporary, as `desc` says. */
lk_status lk_planner_output_or_temp(lk_planner *planner, uint32_t index, const lk_tensor_desc *desc,
                                    lk_operand *out_operand, lk_error *error);
/* The layout that output `index` should preferably have: the wish, or `natural` without one. */
lk_layout lk_planner_wish(lk_planner *planner, uint32_t index, lk_layout natural);

/* A step that converts `from` to the type of `to`, another one; they have the same shape and
 * layout. */
lk_status lk_planner_cast(lk_planner *planner, const lk_operand *from, const lk_operand *to,
                          lk_error *error);
/* A step that calls a kernel, whose name is `kind`. `params` (`size` bytes) is copied into the
 * plan. Its work counts as one flop for each element of its largest operand, and all bytes. */
lk_status lk_planner_kernel(lk_planner *planner, lk_kernel_fn kernel, const char *kind,
                            const void *params, size_t size, const lk_operand *operands,
                            uint32_t n_operands, lk_error *error);
/* Says what a work of the node is expected to take, which adds up: nanoseconds, 0: nobody knows.
 * `is_measured`: and no estimate. */
void lk_planner_expect(lk_planner *planner, double ns, bool is_measured);
/* Says that the plan may take longer than the work of its steps tells. */
void lk_planner_is_long(lk_planner *planner);
/* Says what the work of the step that was emitted last is, where it is not that: flops, or both. */
void lk_planner_flops(lk_planner *planner, double flops);
void lk_planner_work(lk_planner *planner, double flops, double bytes);
/* A step that copies as `copy` says, which need not be simplified; none where it has no
 * elements. */
lk_status lk_planner_copy(lk_planner *planner, const lk_copy *copy, const lk_operand *from,
                          const lk_operand *to, lk_error *error);
/* The same of all elements of a tensor: the step's kind is LK_REORDER_KIND. */
#define LK_REORDER_KIND "reorder"
lk_status lk_planner_reorder(lk_planner *planner, const lk_copy *copy, const lk_operand *from,
                             const lk_operand *to, lk_error *error);
