/* Softmax (ONNX "Softmax"): along one axis from opset 13 on, over all dimensions from `axis`
 * before. */
#include <inttypes.h>
#include <stdio.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/softmax.h"
#include "ops/kernel/strides.h"
#include "ops/plan/planner.h"

/* Of an element: a comparison, a power of e, an addition and a product. */
#define FLOPS 20

typedef struct softmax_params {
  int64_t axis;
  bool flattens; /* opset < 13: the input is seen as a matrix */
} softmax_params;

static void parse(lk_attrs *attrs, void *params) {
  softmax_params *self = params;
  self->flattens = attrs->node->opset < 13;
  self->axis = lk_attrs_int(attrs, "axis", self->flattens ? 1 : -1);
}

static void in_place_text(const lk_op_node *node, char *buffer, size_t capacity) {
  const softmax_params *self = node->params;
  (void)snprintf(buffer, capacity, "axis=%" PRId64, self->axis);
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const softmax_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[0].desc;
  const bool end = params->flattens && params->axis == (int64_t)x->rank;
  if (lk_rank_is_known(x) && !end && lk_axis(params->axis, x->rank) < 0) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "attribute 'axis' is %" PRId64 ", the input has rank %" PRIu32, params->axis,
                   x->rank);
  }
  return lk_infer_same(self, error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const softmax_params *self = planner->node->params;
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  lk_operand operands[2]; /* from, to */
  lk_softmax step = {.loops = lk_row_loops_get(lk_isa_get()), .outer = 1, .n = 1, .inner = 1};
  const int64_t axis = self->axis == (int64_t)x->rank ? self->axis : lk_axis(self->axis, x->rank);
  const lk_layout layout = self->flattens ? LK_LAYOUT_PLAIN : x->layout;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &operands[0], error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &operands[1], error));
  int64_t strides[LK_MAX_RANK];
  lk_strides(&operands[0].desc, 1, strides);
  if (self->flattens) {
    for (uint32_t i = 0; i < x->rank; i++)
      *((int64_t)i < axis ? &step.outer : &step.n) *= x->dims[i];
    step.is_last = true;
  } else {
    step.n = x->dims[axis];
    step.inner = strides[axis];
    step.outer = lk_elements(x) / (step.n * step.inner);
    step.is_last = layout == LK_LAYOUT_CHANNELS_LAST ? axis == 1 : axis == (int64_t)x->rank - 1;
  }
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_softmax_kernel, "softmax", &step, sizeof step,
                                     operands, 2, error));
  const double elements = (double)lk_elements(x);
  lk_planner_work(planner, FLOPS * elements, 2 * sizeof(float) * elements);
  return LK_OK;
}

const lk_op_class lk_op_softmax = {
    LK_OP_ROW("Softmax", "", 1, "exp(x) / sum(exp(x)) along an axis", .flags = LK_OP_WORTH_CLAIMING,
              .min_inputs = 1, .max_inputs = 1, .max_outputs = 1, .input_types = "T",
              .output_types = "T", .types = {LK_TYPES_F32}, .in_place_inputs = 1),
    .params_size = sizeof(softmax_params),
    .parse = parse,
    .in_place_text = in_place_text,
    .infer = infer,
    .plan = plan,
};
