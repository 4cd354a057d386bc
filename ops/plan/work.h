/* Works: what an operator wants computed for given shapes, in the words of no kernel.
 *
 * An operator fills in a task, which is a work and where its tensors come from, and gives it to
 * lk_plan_task. An engine (ops/engine/) makes steps of it. So an operator's file says what, and an
 * engine's file how.
 */
#pragma once

#include "ops/plan/pattern.h"
#include "ops/plan/planner.h"
#include "ops/plan/window.h"

typedef enum lk_work_kind {
  /* src [N][C][spatial], weights [M][C / groups][kernel], maybe a bias [M]; dst. Of real numbers; or
   * of bytes, which may have zero points. Their sums are i32; with scales, dst is bytes. */
  LK_WORK_CONV,
  LK_WORK_CONV_TRANSPOSED, /* the same of real numbers, with weights [C][M / groups][kernel] */
  LK_WORK_KINDS
} lk_work_kind;

/* What a tensor is to a work. */
typedef enum lk_role {
  LK_ROLE_SRC,
  LK_ROLE_WEIGHTS,
  LK_ROLE_BIAS,
  LK_ROLE_DST,
  /* what bytes stand for: (byte - zero point) * scale */
  LK_ROLE_SRC_ZERO,
  LK_ROLE_WEIGHTS_ZERO,
  LK_ROLE_DST_ZERO,
  LK_ROLE_SRC_SCALE,
  LK_ROLE_WEIGHTS_SCALE,
  LK_ROLE_DST_SCALE,
  LK_ROLES
} lk_role;

/* A pure value: no pointers, no names. Channels are dimension 1 of each tensor that has such,
 * whatever the node's tensors have; the layout says where they lie in memory. */
typedef struct lk_work {
  uint32_t kind;  /* lk_work_kind */
  uint32_t roles; /* bit i: role i is there */
  lk_tensor_desc tensors[LK_ROLES];
  lk_window_shape window; /* of convolutions */
  int64_t groups;
} lk_work;

static inline bool lk_work_has(const lk_work *work, lk_role role) {
  return (work->roles >> role & 1) != 0;
}

/* A work of a node, whose post-ops follow on it. */
typedef struct lk_task {
  lk_work work;
  uint32_t inputs[LK_ROLES]; /* which input of the node each is; dst: which output */
  uint32_t seen; /* bit i: role i has its dimensions in another order than the node's tensor */
} lk_task;

static inline bool lk_task_is_seen(const lk_task *task, lk_role role) {
  return (task->seen >> role & 1) != 0;
}

/* Everything but `work.window` and `work.groups` of a task without tensors. */
static inline void lk_task_begin(lk_task *task, lk_work_kind kind) {
  task->work.kind = kind;
  task->work.roles = task->seen = 0;
}

/* Adds a tensor, which is input `index` of the node, or of dst, output `index`. */
static inline void lk_task_add(lk_task *task, lk_role role, uint32_t index,
                               const lk_tensor_desc *desc) {
  task->work.roles |= 1U << role;
  task->work.tensors[role] = *desc;
  task->inputs[role] = index;
}

/* The same of an input, if it is there. */
static inline void lk_task_add_input(lk_task *task, lk_role role, const lk_op_node *node,
                                     const lk_tensor *inputs, uint32_t index) {
  if (lk_op_has(node, index)) lk_task_add(task, role, index, &inputs[index].desc);
}

/* The same of a tensor whose channels are its last dimension. */
static inline void lk_task_add_last(lk_task *task, lk_role role, uint32_t index,
                                    const lk_tensor_desc *desc) {
  const lk_tensor_desc second = lk_shape_channels_second(desc);
  lk_task_add(task, role, index, &second);
  task->seen |= 1U << role;
}

/* What an engine does with works of a kind. */
struct lk_planning {
  /* Emits the steps of the task, and of the post-ops of its node. */
  lk_status (*plan)(lk_planner *planner, const lk_task *task, lk_error *error);
  /* As lk_op_class.resize, for such steps. */
  bool (*resize)(const lk_resizing *self, const lk_task *task);
};

/* The steps of a task. */
lk_status lk_plan_task(lk_planner *planner, const lk_task *task, lk_error *error);
bool lk_resize_task(const lk_resizing *self, const lk_task *task);
