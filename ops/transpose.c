/* Transpose: dimensions in another order. Elements are moved from whatever layout the input lies in
 * to the one that is wished for; where both come to the same bytes, it is a view. */
#include <inttypes.h>

#include "base/status.h"
#include "ops/plan/moves.h"
#include "ops/plan/work.h"

typedef struct transpose_params {
  uint32_t n_perm;
  bool given;
  int64_t perm[LK_MAX_RANK];
} transpose_params;

static void parse(lk_attrs *attrs, void *params) {
  transpose_params *transpose = params;
  transpose->given = lk_attrs_has(attrs, "perm");
  transpose->n_perm = lk_attrs_ints(attrs, "perm", transpose->perm, LK_MAX_RANK);
}

/* Output dimension i is input dimension perm[i]. */
static lk_status read_perm(const lk_op_node *node, const lk_tensor_desc *from,
                           uint8_t perm[LK_MAX_RANK], lk_error *error) {
  const transpose_params *params = node->params;
  if (!params->given) {
    for (uint32_t i = 0; i < from->rank; i++) perm[i] = (uint8_t)(from->rank - 1 - i);
    return LK_OK;
  }
  if (params->n_perm != from->rank) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to transpose: perm has %" PRIu32 " values for rank %" PRIu32
                   ", it must have one for each dimension",
                   params->n_perm, from->rank);
  }
  bool seen[LK_MAX_RANK] = {false};
  for (uint32_t i = 0; i < from->rank; i++) {
    int64_t axis = params->perm[i];
    if (axis < 0 || axis >= (int64_t)from->rank || seen[axis]) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to transpose: perm has %" PRId64 ", it must have each of 0 to %" PRIu32
                     " once",
                     axis, from->rank - 1);
    }
    seen[axis] = true;
    perm[i] = (uint8_t)axis;
  }
  return LK_OK;
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const transpose_params *params = self->node->params;
  lk_tensor_desc from = self->inputs[0].desc, *to = &self->outputs[0];
  uint8_t perm[LK_MAX_RANK] = {0};
  if (!lk_rank_is_known(&from) && params->given) lk_shape_open(&from, params->n_perm);
  if (!lk_rank_is_known(&from)) return LK_OK;
  LK_RETURN_NOT_OK(read_perm(self->node, &from, perm, error));
  to->rank = from.rank;
  for (uint32_t i = 0; i < to->rank; i++) to->dims[i] = from.dims[perm[i]];
  return LK_OK;
}

/* Where the host leaves the choice, the layout that needs no moving: NHWC data turned to NCHW lies
 * in channels-last already, and rows of heads that are turned to heads of rows lie with their heads
 * inside. */
static lk_layout natural_layout(const lk_tensor_desc *from, const lk_tensor_desc *to,
                                const uint8_t *perm) {
  static const lk_layout layouts[] = {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST,
                                      LK_LAYOUT_HEADS_INSIDE};
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    lk_tensor_desc tried = *to;
    tried.layout = layouts[i];
    if (!lk_layout_fits(&tried)) continue;
    const lk_copy copy = lk_copy_ordered(from, &tried, perm);
    if (lk_copy_moves_nothing(&copy)) return layouts[i];
  }
  return LK_LAYOUT_PLAIN;
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  uint8_t perm[LK_MAX_RANK] = {0};
  lk_tensor_desc from_desc = planner->inputs[0].desc;
  lk_tensor_desc to_desc = planner->outputs[0];
  LK_RETURN_NOT_OK(read_perm(planner->node, &from_desc, perm, error));
  to_desc.layout = lk_strided_output_layout(planner, natural_layout(&from_desc, &to_desc, perm));
  const lk_copy copy = lk_copy_ordered(&from_desc, &to_desc, perm);
  if (lk_copy_moves_nothing(&copy)) {
    return lk_plan_view(planner, 0, from_desc.layout, to_desc.layout, error);
  }
  lk_operand from, to;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, from_desc.layout, &from, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, to_desc.layout, &to, error));
  return lk_plan_reorder(planner, perm, &from, &to, error);
}

const lk_op_class lk_op_transpose = {
    LK_OP_ROW("Transpose", "", 7, "dimensions in another order", .min_inputs = 1, .max_inputs = 1,
              .max_outputs = 1, .input_types = "T", .output_types = "T"),
    .params_size = sizeof(transpose_params),
    LK_OP_ATTRS(LK_INTS("perm")),
    .parse = parse,
    .infer = infer,
    .plan = plan,
};
