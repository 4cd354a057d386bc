/* Softmax (ONNX "Softmax"): along one axis from opset 13 on, over all dimensions from `axis`
 * before. */
#include <inttypes.h>
#include <stdio.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/planner.h"

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
  lk_operand src, dst;
  lk_key_builder key;
  int64_t axis = self->axis == (int64_t)x->rank ? self->axis : lk_axis(self->axis, x->rank);
  const lk_layout layout = self->flattens ? LK_LAYOUT_PLAIN : x->layout;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &src, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &dst, error));
  lk_tensor_desc seen = src.desc;
  if (self->flattens) {
    int64_t dims[] = {1, 1};
    for (uint32_t i = 0; i < x->rank; i++) dims[(int64_t)i < axis ? 0 : 1] *= x->dims[i];
    seen = lk_tensor_desc_make(LK_F32, 2, dims);
    axis = 1;
  }
  lk_planner_key_unary(planner, &key, LK_PRIMITIVE_SOFTMAX, &seen, &seen);
  lk_key_add_number(&key, LK_WORD_AXIS, axis);
  return lk_planner_unary(planner, &key, &src, &dst, error);
}

const lk_op_class lk_op_softmax = {
    LK_OP_ROW("Softmax", "", 1, "exp(x) / sum(exp(x)) along an axis", .flags = LK_OP_PRIMITIVE,
              .min_inputs = 1, .max_inputs = 1, .max_outputs = 1, .input_types = "T",
              .output_types = "T", .types = {LK_TYPES_F32}, .in_place_inputs = 1),
    .params_size = sizeof(softmax_params),
    .parse = parse,
    .in_place_text = in_place_text,
    .infer = infer,
    .plan = plan,
};
