/* Cast: another element type. */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/moves.h"

/* The parameter is the type: a uint32_t. */
static void parse(lk_attrs *attrs, void *params) {
  const int64_t to = lk_attrs_int(attrs, "to", 0);
  if (!lk_attrs_has(attrs, "to")) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT, "no attribute to, it is required");
  } else if (to < 0 || to > UINT32_MAX || lk_dtype_size((uint32_t)to) == 0) {
    lk_attrs_fail(attrs, LK_UNSUPPORTED, "attribute to: type %" PRId64 ", which is not supported",
                  to);
  }
  *(uint32_t *)params = (uint32_t)to;
}

static lk_status infer(lk_inference *self, lk_error *error) {
  self->outputs[0].dtype = *(const uint32_t *)self->node->params;
  if (self->outputs[0].dtype == self->inputs[0].desc.dtype) self->copy_of = 0;
  return lk_infer_same(self, error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  if (planner->inputs[0].desc.dtype == planner->outputs[0].dtype) {
    return lk_plan_same(planner, 0, error);
  }
  lk_operand from, to;
  const lk_layout layout = lk_fixed_input_layout(planner, 0);
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &from, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &to, error));
  return lk_plan_cast(planner, &from, &to, error);
}

const lk_op_class lk_op_cast = {
    LK_OP_ROW("Cast", "", 7, "another element type", .min_inputs = 1, .max_inputs = 1,
              .max_outputs = 1, .input_types = "T", .output_types = "?"),
    .params_size = sizeof(uint32_t),
    .parse = parse,
    .infer = infer,
    .plan = plan,
};
