/* Reductions: a row for each. Axes are an attribute before opset 18 (of ReduceSum before 13), and
 * an input from there on. */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/moves.h"
#include "ops/plan/work.h"

typedef struct reduce_params {
  int64_t axes[LK_MAX_RANK];
  uint32_t n_axes;
  bool keep_dims, noop_with_empty_axes;
} reduce_params;

static void parse(lk_attrs *attrs, void *params) {
  reduce_params *self = params;
  self->n_axes = lk_attrs_ints(attrs, "axes", self->axes, LK_MAX_RANK);
  self->keep_dims = lk_attrs_bool(attrs, "keepdims");
  self->noop_with_empty_axes = lk_attrs_bool(attrs, "noop_with_empty_axes");
}

/* Bit d: dimension d is reduced. */
static lk_status reduced_dims(const lk_op_node *node, const lk_tensor *inputs, uint32_t *out_mask,
                              lk_error *error) {
  const reduce_params *self = node->params;
  const uint32_t rank = inputs[0].desc.rank;
  const int64_t *axes = self->axes;
  int64_t given[LK_MAX_RANK];
  uint32_t count = self->n_axes;
  *out_mask = 0;
  if (lk_op_has(node, 1)) {
    LK_RETURN_NOT_OK(lk_read_ints(&inputs[1], "axes", given, LK_MAX_RANK, &count, error));
    axes = given;
  }
  if (count == 0 && !self->noop_with_empty_axes) *out_mask = (1U << rank) - 1;
  for (uint32_t i = 0; i < count; i++) {
    const int64_t axis = lk_axis(axes[i], rank);
    if (axis < 0) {
      return lk_fail(error, LK_OUT_OF_RANGE,
                     "axis %" PRId64 " is given for a tensor of rank %" PRIu32
                     ", it must be one of its dimensions",
                     axes[i], rank);
    }
    *out_mask |= 1U << axis;
  }
  return LK_OK;
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const reduce_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[0].desc;
  lk_tensor_desc *to = &self->outputs[0];
  uint32_t mask = 0;
  if (!lk_rank_is_known(x)) return LK_OK;
  if (lk_op_has(self->node, 1) && !lk_infer_knows(self, 1)) {
    /* one axis is one dimension less; of several, two may be the same */
    if (params->keep_dims) {
      lk_shape_open(to, x->rank);
    } else if (lk_infer_count(self, 1) == 1) {
      lk_shape_open(to, (int64_t)x->rank - 1);
    }
    return LK_OK;
  }
  LK_RETURN_NOT_OK(reduced_dims(self->node, self->inputs, &mask, error));
  to->rank = 0;
  for (uint32_t i = 0; i < x->rank; i++) {
    const bool reduced = (mask >> i & 1) != 0;
    if (reduced && !params->keep_dims) continue;
    to->dims[to->rank++] = reduced ? 1 : x->dims[i];
  }
  return LK_OK;
}

/* ---- plans ---- */

static lk_reducing reducing_of(const lk_op_node *node) {
  return (lk_reducing)node->class_->variant;
}

/* What a reduction that does not keep a single element (lk_reducing_keeps_one) makes of it. */
static uint32_t function_of(lk_reducing what) {
  return what == LK_REDUCING_LOG_SUM      ? LK_FUNCTION_LOG
         : what == LK_REDUCING_SUM_SQUARE ? LK_FUNCTION_SQUARE
                                          : LK_FUNCTION_ABS;
}

static void describe(const lk_op_node *node, const lk_tensor *inputs, const lk_tensor_desc *output,
                     uint32_t mask, lk_task *out_task) {
  lk_task_begin(out_task, LK_WORK_REDUCE);
  lk_task_input(out_task, LK_ROLE_SRC, 0, &inputs[0].desc);
  lk_task_output(out_task, LK_ROLE_DST, 0, output);
  out_task->work.axes = mask;
  out_task->work.reducing = reducing_of(node);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = planner->node;
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  const lk_reducing what = reducing_of(node);
  const bool is_float = (LK_TYPE(x->dtype) & LK_TYPES_FLOAT) != 0;
  uint32_t mask = 0;
  LK_RETURN_NOT_OK(reduced_dims(node, planner->inputs, &mask, error));
  if (mask == 0) {
    if (lk_reducing_keeps_one(what)) return lk_plan_same(planner, 0, error);
    /* a logarithm of integers is not there */
    if (is_float || what != LK_REDUCING_LOG_SUM) {
      return lk_plan_function(planner, function_of(what), 0, 0, error);
    }
  } else if (lk_reducing_keeps_one(what) && lk_elements(x) > 0 &&
             lk_elements(x) == lk_elements(&planner->outputs[0])) {
    return lk_plan_view(planner, 0, LK_LAYOUT_PLAIN, LK_LAYOUT_PLAIN, error);
  }
  lk_task task;
  describe(node, planner->inputs, &planner->outputs[0], mask, &task);
  return lk_plan_task(planner, &task, error);
}

static bool resize(const lk_resizing *self) {
  uint32_t mask = 0;
  lk_task task;
  if (reduced_dims(self->node, self->inputs, &mask, NULL) != LK_OK) return false;
  if (mask == 0) return lk_resize_elements(self);
  describe(self->node, self->inputs, self->output, mask, &task);
  return lk_resize_task(self, &task);
}

/* ---- rows ---- */

#define WIDE (LK_TYPES_FLOAT | LK_TYPES_INDEX | LK_TYPE(LK_U32) | LK_TYPE(LK_U64))
#define ANY (WIDE | LK_TYPE(LK_I8) | LK_TYPE(LK_U8) | LK_TYPE(LK_BOOL))
#define REDUCE(symbol, name, summary_text, what, type_set)                                         \
  REDUCE_OF(symbol, name, summary_text, what, type_set, 18)
/* `first`: the opset from which on axes are input 1. */
#define REDUCE_OF(symbol, name, summary_text, what, type_set, first)                               \
  const lk_op_class lk_op_##symbol = {                                                             \
      LK_OP_ROW(name, "", 1, summary_text, .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 1,         \
                .max_inputs = 2, .max_outputs = 1, .input_types = "TU", .output_types = "T",       \
                .types = {type_set, LK_TYPES_INDEX}, .shape_inputs = 1u << 1),                     \
      .params_size = sizeof(reduce_params),                                                        \
      .variant = what,                                                                             \
      LK_OP_ATTRS(LK_INTS("axes", .until = first - 1, .input = 1), LK_FLAG("keepdims", 1),         \
                  LK_FLAG("noop_with_empty_axes", 0, .since = first)),                             \
      .parse = parse,                                                                              \
      .infer = infer,                                                                              \
      .plan = plan,                                                                                \
      .resize = resize}
REDUCE(reduce_l1, "ReduceL1", "Sum of |x| over axes", LK_REDUCING_L1, WIDE);
REDUCE(reduce_l2, "ReduceL2", "Root of the sum of squares over axes", LK_REDUCING_L2, WIDE);
REDUCE(reduce_log_sum, "ReduceLogSum", "Logarithm of the sum over axes", LK_REDUCING_LOG_SUM, WIDE);
REDUCE(reduce_log_sum_exp, "ReduceLogSumExp", "Logarithm of the sum of e^x over axes",
       LK_REDUCING_LOG_SUM_EXP, WIDE);
REDUCE(reduce_max, "ReduceMax", "The largest over axes", LK_REDUCING_MAX, ANY);
REDUCE(reduce_mean, "ReduceMean", "Mean over axes", LK_REDUCING_MEAN, WIDE);
REDUCE(reduce_min, "ReduceMin", "The least over axes", LK_REDUCING_MIN, ANY);
REDUCE(reduce_prod, "ReduceProd", "Product over axes", LK_REDUCING_PRODUCT, WIDE);
REDUCE_OF(reduce_sum, "ReduceSum", "Sum over axes", LK_REDUCING_SUM, WIDE, 13);
REDUCE(reduce_sum_square, "ReduceSumSquare", "Sum of squares over axes", LK_REDUCING_SUM_SQUARE,
       WIDE);
