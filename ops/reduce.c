/* ReduceMean (ONNX "ReduceMean"): axes as an attribute before opset 18, as an input from there
 * on. */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/moves.h"
#include "ops/plan/reduction.h"

typedef struct reduce_params {
  int64_t axes[LK_MAX_RANK];
  uint32_t n_axes;
  bool keep_dims, noop_with_empty_axes;
} reduce_params;

static void parse(lk_attrs *attrs, void *params) {
  reduce_params *self = params;
  self->n_axes = lk_attrs_ints(attrs, "axes", self->axes, LK_MAX_RANK);
  self->keep_dims = lk_attrs_int(attrs, "keepdims", 1) != 0;
  self->noop_with_empty_axes = lk_attrs_int(attrs, "noop_with_empty_axes", 0) != 0;
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
      return lk_fail(error, LK_OUT_OF_RANGE, "axis %" PRId64 " of a tensor of rank %" PRIu32,
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

static lk_status plan(lk_planner *planner, lk_error *error) {
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  const lk_tensor_desc *to = &planner->outputs[0];
  uint32_t mask = 0;
  LK_RETURN_NOT_OK(reduced_dims(planner->node, planner->inputs, &mask, error));
  /* ONNX leaves the mean of nothing undefined, and numpy has NaN. This is the 0 of ONNX Runtime's
   * CPU provider, so that a node computes the same wherever it runs. */
  if (lk_elements(x) == 0) return lk_plan_sum_of_nothing(planner, -1, error);
  if (lk_elements(x) == lk_elements(to))
    return lk_plan_view(planner, 0, LK_LAYOUT_PLAIN, LK_LAYOUT_PLAIN, error);
  const double n = (double)lk_elements(x) / (double)lk_elements(to);
  return lk_plan_reduction(planner, mask, LK_REDUCE_SUM, 1 / n, error);
}

const lk_op_class lk_op_reduce_mean = {
    LK_OP_ROW("ReduceMean", "", 1, "Mean over axes", .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 1,
              .max_inputs = 2, .max_outputs = 1, .input_types = "TU", .output_types = "T",
              .types = {LK_TYPES_F32, LK_TYPES_INDEX}, .shape_inputs = 1u << 1),
    .params_size = sizeof(reduce_params),
    .parse = parse,
    .infer = infer,
    .plan = plan,
};
