/* Clip (ONNX "Clip"): bounds from attributes (opset < 11), from constant inputs, or at run time. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/work.h"

/* Bounds that are not inputs: attributes, or infinite where the type's own limits hold. */
typedef struct clip_params {
  float low, high;
} clip_params;

static void parse(lk_attrs *attrs, void *params) {
  clip_params *self = params;
  *self = (clip_params){-INFINITY, INFINITY};
  if (attrs->opset >= 11) return;
  self->low = lk_attrs_float(attrs, "min");
  self->high = lk_attrs_float(attrs, "max");
}

static lk_status infer(lk_inference *self, lk_error *error) {
  for (uint32_t i = 1; i <= 2; i++) {
    if (!lk_op_has(self->node, i)) continue;
    const lk_tensor_desc *bound = &self->inputs[i].desc;
    if (lk_shape_is_known(bound) && lk_elements(bound) != 1) {
      char text[LK_TENSOR_TEXT_CAPACITY];
      return lk_fail(error, LK_INVALID_ARGUMENT, "the bound '%s' is %s, one value is needed",
                     i == 1 ? "min" : "max", lk_tensor_text(bound, text));
    }
  }
  return lk_infer_same(self, error);
}

/* Both bounds are known: attributes, constants of f32, or the limits of f32. */
static bool are_numbers(const lk_op_node *node) {
  for (uint32_t i = 1; i <= 2; i++) {
    if (lk_op_has(node, i) && node->constants[i].content == NULL) return false;
  }
  return true;
}

static float constant_bound(const lk_op_node *node, uint32_t index, float fallback) {
  float value = fallback;
  if (lk_op_has(node, index)) memcpy(&value, node->constants[index].tensor.data, sizeof value);
  return value;
}

static lk_status plan_numbers(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = planner->node;
  const clip_params *params = node->params;
  float low = constant_bound(node, 1, fmaxf(params->low, -FLT_MAX));
  const float high = constant_bound(node, 2, fminf(params->high, FLT_MAX));
  /* ONNX: where min is over max, the result is max */
  if (low > high) low = high;
  return lk_plan_function(planner, LK_POST_CLIP, low, high, error);
}

/* value = function(value, bound): an input, or where there is none, the limit of a floating-point
 * type. Integers have theirs anyway. */
static void add_bound(lk_task *task, const lk_planner *planner, uint32_t function, uint32_t index,
                      float limit) {
  const bool is_float = (LK_TYPE(planner->outputs[0].dtype) & LK_TYPES_FLOAT) != 0;
  if (lk_op_has(planner->node, index)) {
    lk_task_apply_input(task, planner, function, index);
  } else if (is_float) {
    (void)lk_task_apply(task, function, limit, 0);
  }
}

/* min(max(x, low), high): bounds that come at run time are operands. */
static lk_status plan(lk_planner *planner, lk_error *error) {
  const clip_params *params = planner->node->params;
  if (planner->outputs[0].dtype == LK_F32 && are_numbers(planner->node)) {
    return plan_numbers(planner, error);
  }
  lk_task task;
  lk_task_elements(&task, planner, 0);
  add_bound(&task, planner, LK_FUNCTION_MAX, 1, params->low);
  add_bound(&task, planner, LK_FUNCTION_MIN, 2, params->high);
  return lk_plan_task(planner, &task, error);
}

const lk_op_class lk_op_clip = {
    LK_OP_ROW(
        "Clip", "", 1, "min(max(x, min), max); bounds known at load or at run time",
        .flags = LK_OP_WORTH_CLAIMING | LK_OP_POST_OPS, .min_inputs = 1, .max_inputs = 3,
        .max_outputs = 1, .input_types = "T", .output_types = "T",
        .types = {LK_TYPES_FLOAT | LK_TYPES_INTEGER}, .in_place_inputs = 1,
        .fusion = {.kind = LK_POST_CLIP,
                   .alpha = {.attr = "min", .fallback = -FLT_MAX, .input = 1, .input_since = 11},
                   .beta = {.attr = "max", .fallback = FLT_MAX, .input = 2, .input_since = 11}}),
    .params_size = sizeof(clip_params),
    LK_OP_ATTRS(LK_FLOAT("max", FLT_MAX, .until = 10, .input = 2),
                LK_FLOAT("min", -FLT_MAX, .until = 10, .input = 1)),
    .parse = parse,
    .infer = infer,
    .plan = plan,
    .resize = lk_resize_elements,
};
