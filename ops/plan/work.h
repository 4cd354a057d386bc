/* Works: what an operator wants computed for given shapes, in the words of no kernel.
 *
 * An operator fills in a task, which is a work and where its tensors come from, and gives it to
 * lk_plan_task. An engine (ops/engine/) makes steps of it. So an operator's file says what, and an
 * engine's file how.
 */
#pragma once

#include "ops/plan/matmul_shape.h"
#include "ops/plan/pattern.h"
#include "ops/plan/planner.h"
#include "ops/plan/window.h"

typedef enum lk_work_kind {
  /* src [N][C][spatial], weights [M][C / groups][kernel], maybe a bias [M]; dst. Of real numbers,
   * or of bytes, which may have zero points: then dst is sums of i32, or bytes where there are
   * scales. Of real numbers, src and weights are inputs 0 and 1, and dst is output 0 */
  LK_WORK_CONV,
  LK_WORK_CONV_TRANSPOSED, /* the same of real numbers, with weights [C][M / groups][kernel] */
  /* dst = src weights, matrices and batches of them as numpy.matmul has them, but for `orders`; src
   * and weights are inputs 0 and 1, and dst is output 0 */
  LK_WORK_PRODUCT,
  LK_WORK_SOFTMAX,     /* dst = e^src over its sum along `axes` */
  LK_WORK_LOG_SOFTMAX, /* the logarithm of that */
  LK_WORK_HARDMAX,     /* 1 where the first of the largest elements along `axes` is, else 0 */
  /* dst is src pooled over `window`, by `pooling`; maybe indices, of maxima: where each lies in the
   * tensor, counted along rows, or with `column_major` along columns */
  LK_WORK_POOL,
  /* dst = src (bias + alpha / size * the sum of src^2 over `size` channels around each)^-beta (ONNX
   * LRN), by `lrn` */
  LK_WORK_LRN,
  /* dst = (src - mean) / sqrt(variance + epsilon) scale + shift, mean and variance over `axes`,
   * which are the last ones. Scale and shift broadcast to src, and may be absent. Maybe mean, and
   * deviation: 1 over the divisor. Without `is_centered` the mean counts as 0 */
  LK_WORK_LAYER_NORM,
  /* the same over `groups` of the channels of src [N][C][...]; a scale and a shift for each
   * channel, or for each group */
  LK_WORK_GROUP_NORM,
  LK_WORK_KINDS
} lk_work_kind;

/* What a tensor is to a work. */
typedef enum lk_role {
  LK_ROLE_SRC,
  LK_ROLE_WEIGHTS,
  LK_ROLE_BIAS,
  LK_ROLE_DST,
  LK_ROLE_INDICES,
  LK_ROLE_SCALE,
  LK_ROLE_SHIFT,
  LK_ROLE_MEAN,
  LK_ROLE_DEVIATION,
  /* what bytes stand for: (byte - zero point) * scale */
  LK_ROLE_SRC_ZERO,
  LK_ROLE_WEIGHTS_ZERO,
  LK_ROLE_DST_ZERO,
  LK_ROLE_SRC_SCALE,
  LK_ROLE_WEIGHTS_SCALE,
  LK_ROLE_DST_SCALE,
  LK_ROLES
} lk_role;

typedef enum lk_pooling {
  LK_POOLING_MAX,  /* NaN is never the largest; minus infinity where there is no other */
  LK_POOLING_MEAN, /* of the elements */
  /* of the elements and the declared padding, but of nothing beyond it */
  LK_POOLING_MEAN_WITH_PADDING,
  LK_POOLING_TOTAL /* the sum */
} lk_pooling;

typedef struct lk_work_lrn {
  int64_t size;
  float alpha, beta, bias;
} lk_work_lrn;

/* A pure value: no pointers, no names. Channels are dimension 1 of each tensor that has such,
 * whatever the node's tensors have; the layout says where they lie in memory. */
typedef struct lk_work {
  uint32_t kind;  /* lk_work_kind */
  uint32_t roles; /* bit i: role i is there */
  lk_tensor_desc tensors[LK_ROLES];
  /* each set by the kinds that it is of */
  lk_window_shape window;    /* of convolutions and poolings */
  int64_t groups;            /* of convolutions and group norms */
  lk_matmul_order orders[2]; /* of products: of src and weights */
  uint32_t axes; /* of what goes along dimensions: bit i is dimension i; they follow each other */
  uint32_t pooling;  /* lk_pooling */
  bool column_major; /* of a pooling with indices */
  lk_work_lrn lrn;   /* of LRN */
  float epsilon;     /* of norms */
  bool is_centered;  /* of norms: the mean is subtracted */
} lk_work;

static inline bool lk_work_has(const lk_work *work, lk_role role) {
  return (work->roles >> role & 1) != 0;
}

/* A work, and which memory its tensors are. The post-ops of the node follow on output 0. */
typedef struct lk_task {
  lk_work work;
  lk_step_arg from[LK_ROLES]; /* an input or an output of the node, or an operand of its plan */
  uint32_t channels_last;     /* bit i: the last dimension of the node's tensor is its channels */
} lk_task;

/* ---- for operators ---- */

/* A task without tensors. What only works of some kinds have is not set. */
static inline void lk_task_begin(lk_task *task, lk_work_kind kind) {
  task->work.kind = kind;
  task->work.roles = task->channels_last = 0;
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
/* The channels of the node's tensor are its last dimension. It lies plain. */
static inline void lk_task_put_channels_last(lk_task *task, lk_role role) {
  task->work.tensors[role] = lk_shape_channels_second(&task->work.tensors[role]);
  task->channels_last |= 1U << role;
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

/* The steps of a task. */
lk_status lk_plan_task(lk_planner *planner, const lk_task *task, lk_error *error);
bool lk_resize_task(const lk_resizing *self, const lk_task *task);

/* ---- for engines ---- */

static inline bool lk_task_has_channels_last(const lk_task *task, lk_role role) {
  return (task->channels_last >> role & 1) != 0;
}
/* Whether nobody can choose its layout, which is the work's: the node's tensor has its channels
 * last, or it is no input or output of the node. */
static inline bool lk_task_is_placed(const lk_task *task, lk_role role) {
  const uint32_t place = task->from[role].place;
  return lk_task_has_channels_last(task, role) ||
         (place != LK_PLACE_INPUT && place != LK_PLACE_OUTPUT);
}
/* The operand in `layout`, or as the work has it where it is placed. */
lk_status lk_task_take(lk_planner *planner, const lk_task *task, lk_role role, lk_layout layout,
                       lk_operand *out_operand, lk_error *error);

/* What an engine does with works of a kind. */
struct lk_planning {
  /* Emits the steps of the task, and of the post-ops of its node. */
  lk_status (*plan)(lk_planner *planner, const lk_task *task, lk_error *error);
  /* As lk_op_class.resize, for such steps. NULL: no operator has it. */
  bool (*resize)(const lk_resizing *self, const lk_task *task);
};
