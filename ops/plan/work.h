/* Tasks: what an operator wants computed for given shapes, in the words of no kernel.
 *
 * An operator fills in a task, which is a work (latchkey/engine.h) and where its tensors come from,
 * and gives it to lk_plan_task. An engine (ops/engine/) makes steps of it. So an operator's file
 * says what, and an engine's file how.
 */
#pragma once

#include <stddef.h>
#include <string.h>

#include "ops/plan/matmul_shape.h"
#include "ops/plan/pattern.h"
#include "ops/plan/planner.h"
#include "ops/plan/window.h"

static inline bool lk_work_has(const lk_work *work, lk_role role) {
  return (work->roles >> role & 1) != 0;
}

/* A work, and which memory its tensors are. The post-ops of the node follow on output 0; engines
 * add them. Those that the work has already, as an element-wise one, are the operator itself. */
typedef struct lk_task {
  lk_work work;
  lk_step_arg from[LK_ROLES]; /* an input or an output of the node, or an operand of its plan */
  /* Bit i: the node's tensor lies plain, and the work sees the same memory with dimensions, and
   * maybe in a layout, of its own. */
  uint32_t views;
  uint32_t placed; /* bit i: the operand was taken, and lies as the work has it */
} lk_task;

/* ---- for operators ---- */

/* A task without tensors. What only works of some kinds have is 0. */
static inline void lk_task_begin(lk_task *task, lk_work_kind kind) {
  lk_work *work = &task->work;
  work->kind = kind;
  work->roles = work->constants = work->n_post_ops = 0;
  task->views = task->placed = 0;
  memset(&work->window, 0, sizeof *work - offsetof(lk_work, window));
}

static inline void lk_task_add(lk_task *task, lk_role role, lk_place place, uint32_t index,
                               const lk_tensor_desc *desc) {
  task->work.roles |= 1U << role;
  task->work.tensors[role] = *desc;
  task->from[role] = (lk_step_arg){(uint16_t)place, (uint16_t)index};
}
static inline void lk_task_input(lk_task *task, lk_role role, uint32_t index,
                                 const lk_tensor_desc *desc) {
  lk_task_add(task, role, LK_PLACE_INPUT, index, desc);
}
static inline void lk_task_output(lk_task *task, lk_role role, uint32_t index,
                                  const lk_tensor_desc *desc) {
  lk_task_add(task, role, LK_PLACE_OUTPUT, index, desc);
}
/* The node's input, if it is there. */
static inline void lk_task_optional(lk_task *task, lk_role role, const lk_op_node *node,
                                    const lk_tensor *inputs, uint32_t index) {
  if (lk_op_has(node, index)) lk_task_input(task, role, index, &inputs[index].desc);
}
/* An operand of the plan: a temporary or a packed constant. Inputs and outputs are taken anew. */
static inline void lk_task_operand(lk_task *task, lk_role role, const lk_operand *operand) {
  lk_task_add(task, role, (lk_place)operand->place, operand->index, &operand->desc);
}
/* An operand that was taken, as it lies: also where it is an input or an output. */
static inline void lk_task_place(lk_task *task, lk_role role, const lk_operand *operand) {
  lk_task_operand(task, role, operand);
  task->placed |= 1U << role;
}
/* An input or an output of the node, which lies plain, as `desc` sees it. */
static inline void lk_task_view(lk_task *task, lk_role role, lk_place place, uint32_t index,
                                const lk_tensor_desc *desc) {
  lk_task_add(task, role, place, index, desc);
  task->views |= 1U << role;
}
/* The channels of the node's tensor are its last dimension. It lies plain. */
static inline void lk_task_put_channels_last(lk_task *task, lk_role role) {
  task->work.tensors[role] = lk_shape_channels_second(&task->work.tensors[role]);
  task->views |= 1U << role;
}

/* A pooling of two operands. */
static inline void lk_task_pool(lk_task *task, lk_pooling pooling, const lk_window_shape *window,
                                const lk_operand *from, const lk_operand *to) {
  lk_task_begin(task, LK_WORK_POOL);
  lk_task_operand(task, LK_ROLE_SRC, from);
  lk_task_operand(task, LK_ROLE_DST, to);
  task->work.pooling = pooling;
  task->work.window = *window;
}

/* Whether a reduction of one element is that element. */
static inline bool lk_reducing_keeps_one(lk_reducing what) {
  return what <= LK_REDUCING_PRODUCT || what == LK_REDUCING_LOG_SUM_EXP;
}

/* An element-wise work: output 0 is input `index` of the node, to which functions of its inputs are
 * applied. */
static inline void lk_task_elements(lk_task *task, const lk_planner *planner, uint32_t index) {
  lk_task_begin(task, LK_WORK_ELEMENT);
  lk_task_input(task, LK_ROLE_SRC, index, &planner->inputs[index].desc);
  lk_task_output(task, LK_ROLE_DST, 0, &planner->outputs[0]);
}
/* The next function of it, an lk_post_op_kind or lk_function: LK_WORK_POST_OPS at most. */
static inline lk_work_post_op *lk_task_apply(lk_task *task, uint32_t function, float alpha,
                                             float beta) {
  lk_work_post_op *made = &task->work.post_ops[task->work.n_post_ops++];
  *made = (lk_work_post_op){.kind = function, .alpha = alpha, .beta = beta};
  return made;
}
/* The next function, of the value and of input `index`: LK_WORK_OPERANDS at most. */
static inline void lk_task_apply_input(lk_task *task, const lk_planner *planner, uint32_t function,
                                       uint32_t index) {
  const uint32_t n_operands = (uint32_t)__builtin_popcount(task->work.roles >> LK_ROLE_OPERAND);
  lk_work_post_op *made = lk_task_apply(task, function, 0, 0);
  made->operand = LK_ROLE_OPERAND + n_operands;
  lk_task_input(task, (lk_role)made->operand, index, &planner->inputs[index].desc);
}

/* A product, to which input `index` of the node is added: one number for each column. A product has
 * no other functions of its own. */
static inline void lk_task_bias(lk_task *task, const lk_planner *planner, uint32_t index) {
  lk_task_apply_input(task, planner, LK_POST_ADD, index);
}

/* A reorder of two operands of one type: dimension i of `to` is dimension order[i] of `from`. */
static inline void lk_task_reorder(lk_task *task, const uint8_t order[LK_MAX_RANK],
                                   const lk_operand *from, const lk_operand *to) {
  lk_task_begin(task, LK_WORK_REORDER);
  lk_task_place(task, LK_ROLE_SRC, from);
  lk_task_place(task, LK_ROLE_DST, to);
  memcpy(task->work.order, order, from->desc.rank * sizeof *order);
}

/* A whole plan: output 0 = function(input 0), with the node's post-ops. */
lk_status lk_plan_function(lk_planner *planner, uint32_t function, float alpha, float beta,
                           lk_error *error);
/* The same with function(input `a`, input `b`), which broadcast. */
lk_status lk_plan_binary(lk_planner *planner, uint32_t function, uint32_t a, uint32_t b,
                         lk_error *error);
/* lk_op_class.resize of operators whose plan is an element-wise work. */
bool lk_resize_elements(const lk_resizing *self);

/* A step that moves all elements of `from` to where `to` has them, of the same type: dimension i of
 * `to` is dimension order[i] of `from`. */
lk_status lk_plan_reorder(lk_planner *planner, const uint8_t order[LK_MAX_RANK],
                          const lk_operand *from, const lk_operand *to, lk_error *error);
/* A step that puts `count` operands, from 2 to LK_WORK_OPERANDS + 1, one behind the other along
 * `axis`. All of them, and `to`, lie in one layout. */
lk_status lk_plan_concat(lk_planner *planner, const lk_operand *operands, uint32_t count,
                         uint32_t axis, const lk_operand *to, lk_error *error);

/* The steps of a task. */
lk_status lk_plan_task(lk_planner *planner, const lk_task *task, lk_error *error);
bool lk_resize_task(const lk_resizing *self, const lk_task *task);

/* ---- for engines ---- */

static inline bool lk_task_is_view(const lk_task *task, lk_role role) {
  return (task->views >> role & 1) != 0;
}
/* Whether it is an operand that lies already. */
static inline bool lk_task_lies(const lk_task *task, lk_role role) {
  const uint32_t place = task->from[role].place;
  return (task->placed >> role & 1) != 0 || (place != LK_PLACE_INPUT && place != LK_PLACE_OUTPUT);
}
/* Whether nobody can choose its layout, which is the work's: it is a view, or it lies already. */
static inline bool lk_task_is_placed(const lk_task *task, lk_role role) {
  return lk_task_is_view(task, role) || lk_task_lies(task, role);
}
/* The operand in `layout`, or as the work has it where it is placed. */
lk_status lk_task_take(lk_planner *planner, const lk_task *task, lk_role role, lk_layout layout,
                       lk_operand *out_operand, lk_error *error);
