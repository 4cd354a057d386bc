/* Reductions: a row for each. Axes are an attribute before opset 18 (of ReduceSum before 13), and
 * an input from there on. */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/moves.h"
#include "ops/plan/whole_reduction.h"
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

/* ---- what they do ---- */

typedef enum variant {
  SUM,
  MEAN,
  MAX,
  MIN,
  PROD,
  L1,
  L2,
  SUM_SQUARE,
  LOG_SUM,
  LOG_SUM_EXP
} variant;

static const lk_reduction reductions[] = {
    [SUM] = {LK_REDUCE_SUM, .divisor = 1},
    [MEAN] = {LK_REDUCE_SUM, .divisor = 1}, /* how many there are */
    [MAX] = {LK_REDUCE_MAX, .divisor = 1},
    [MIN] = {LK_REDUCE_MIN, .divisor = 1},
    [PROD] = {LK_REDUCE_PRODUCT, .divisor = 1},
    [L1] = {LK_REDUCE_SIZES, .divisor = 1},
    [L2] = {LK_REDUCE_SQUARES, .end = LK_REDUCE_ROOT, .divisor = 1},
    [SUM_SQUARE] = {LK_REDUCE_SQUARES, .divisor = 1},
    [LOG_SUM] = {LK_REDUCE_SUM, .end = LK_REDUCE_LOG, .divisor = 1},
    [LOG_SUM_EXP] = {LK_REDUCE_SUM, .end = LK_REDUCE_LOG, .divisor = 1}, /* of the powers */
};

/* Of one element. */
static bool is_itself(variant what) {
  return what <= PROD || what == LOG_SUM_EXP;
}

static uint32_t function_of(variant what) {
  return what == LOG_SUM      ? LK_FUNCTION_LOG
         : what == SUM_SQUARE ? LK_FUNCTION_SQUARE
                              : LK_FUNCTION_ABS;
}

static lk_element_op op_of(variant what) {
  return what == LOG_SUM ? LK_ELEMENT_LOG : what == SUM_SQUARE ? LK_ELEMENT_SQUARE : LK_ELEMENT_ABS;
}

/* No dimension is reduced, but what is done with each element is. */
static lk_status plan_elements(lk_planner *planner, variant what, lk_error *error) {
  const uint32_t dtype = planner->outputs[0].dtype;
  const lk_element_op op = op_of(what);
  if (is_itself(what)) return lk_plan_same(planner, 0, error);
  if (what != LOG_SUM || (LK_TYPE(dtype) & LK_TYPES_FLOAT) != 0) {
    return lk_plan_function(planner, function_of(what), 0, 0, error);
  }
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_chain_begin(planner, &chain, error));
  LK_RETURN_NOT_OK(lk_chain_input(&chain, 0, &chain.value, error));
  chain.value = lk_element_cast(&chain.program, chain.value, LK_F64);
  lk_chain_unary(&chain, op, 0, 0);
  chain.value = lk_element_cast(&chain.program, chain.value, dtype);
  return lk_chain_end(&chain, error);
}

/* Rows of one element, whose dimensions may be left out. A logarithm of integers is not there. */
static lk_status plan_rows_of_one(lk_planner *planner, variant what, lk_error *error) {
  lk_operand all[2]; /* from, to */
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_planner_plain(planner, 1, all, error));
  const int64_t count = lk_elements(&all[0].desc);
  const uint32_t dtype = all[0].desc.dtype;
  const lk_operand from = lk_operand_seen_as(&all[0], 1, &count);
  const lk_operand to = lk_operand_seen_as(&all[1], 1, &count);
  lk_chain_begin_at(planner, &to, &chain);
  chain.value = lk_chain_operand(&chain, &from);
  lk_chain_unary(&chain, op_of(what), 0, 0);
  if (what == L2 && (dtype == LK_I32 || dtype == LK_I64)) { /* the least has no size */
    lk_element_program *program = &chain.program;
    const lk_element_value is_least = lk_element_binary(program, LK_ELEMENT_LESS, chain.value,
                                                        lk_element_integer(program, dtype, 0));
    const lk_element_value most =
        lk_element_integer(program, dtype, dtype == LK_I32 ? INT32_MAX : INT64_MAX);
    chain.value = lk_element_ternary(program, LK_ELEMENT_WHERE, is_least, most, chain.value);
  }
  return lk_chain_step(&chain, error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  const lk_tensor_desc *to = &planner->outputs[0];
  const variant what = (variant)planner->node->class_->variant;
  lk_reduction reduction = reductions[what];
  uint32_t mask = 0;
  LK_RETURN_NOT_OK(reduced_dims(planner->node, planner->inputs, &mask, error));
  /* ONNX leaves the mean of nothing undefined, and numpy has NaN. This is the 0 of ONNX Runtime's
   * CPU provider, so that a node computes the same wherever it runs. */
  if (lk_elements(x) == 0) return lk_plan_reduction_of_nothing(planner, &reduction, error);
  if (mask == 0) return plan_elements(planner, what, error);
  if (lk_elements(x) == lk_elements(to)) {
    if (is_itself(what)) return lk_plan_view(planner, 0, LK_LAYOUT_PLAIN, LK_LAYOUT_PLAIN, error);
    if (what != LOG_SUM || (LK_TYPE(x->dtype) & LK_TYPES_FLOAT) != 0) {
      return plan_rows_of_one(planner, what, error);
    }
  }
  if (what == LOG_SUM_EXP) return lk_plan_log_sum_exp(planner, mask, error);
  if (what == MEAN) reduction.divisor = (double)lk_elements(x) / (double)lk_elements(to);
  if (lk_reduction_is_whole(x->dtype, &reduction)) {
    return lk_plan_whole_reduction(planner, mask, &reduction, error);
  }
  return lk_plan_reduction(planner, mask, &reduction, error);
}

static bool resize(const lk_resizing *self) {
  const variant what = (variant)self->node->class_->variant;
  lk_reduction reduction = reductions[what];
  uint32_t mask = 0;
  if (reduced_dims(self->node, self->inputs, &mask, NULL) != LK_OK) return false;
  if (mask == 0) return self->step->kernel == lk_element_kernel && lk_chain_resize(self);
  if (lk_elements(&self->inputs[0].desc) == lk_elements(self->output)) return false;
  if (what == MEAN) {
    const lk_tensor_desc *x = &self->inputs[0].desc;
    reduction.divisor = (double)lk_elements(x) / (double)lk_elements(self->output);
  }
  return lk_resize_reduction(self, mask, &reduction);
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
REDUCE(reduce_l1, "ReduceL1", "Sum of |x| over axes", L1, WIDE);
REDUCE(reduce_l2, "ReduceL2", "Root of the sum of squares over axes", L2, WIDE);
REDUCE(reduce_log_sum, "ReduceLogSum", "Logarithm of the sum over axes", LOG_SUM, WIDE);
REDUCE(reduce_log_sum_exp, "ReduceLogSumExp", "Logarithm of the sum of e^x over axes", LOG_SUM_EXP,
       WIDE);
REDUCE(reduce_max, "ReduceMax", "The largest over axes", MAX, ANY);
REDUCE(reduce_mean, "ReduceMean", "Mean over axes", MEAN, WIDE);
REDUCE(reduce_min, "ReduceMin", "The least over axes", MIN, ANY);
REDUCE(reduce_prod, "ReduceProd", "Product over axes", PROD, WIDE);
REDUCE_OF(reduce_sum, "ReduceSum", "Sum over axes", SUM, WIDE, 13);
REDUCE(reduce_sum_square, "ReduceSumSquare", "Sum of squares over axes", SUM_SQUARE, WIDE);
