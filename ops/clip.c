/* Clip (ONNX "Clip"): bounds from attributes (opset < 11), from constant inputs, or at run time.
 * f32 runs on oneDNN; other types in plain C (kernel/clip.c). */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/clip.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/moves.h"

/* Bounds that are not inputs: attributes, or infinite where the type's own limits hold. */
typedef struct clip_params {
  float low, high;
} clip_params;

static void parse(lk_attrs *attrs, void *params) {
  clip_params *self = params;
  *self = (clip_params){-INFINITY, INFINITY};
  if (attrs->node->opset >= 11) return;
  self->low = lk_attrs_float(attrs, "min", -FLT_MAX);
  self->high = lk_attrs_float(attrs, "max", FLT_MAX);
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

static float constant_bound(const lk_op_node *node, uint32_t index, float fallback) {
  float value = fallback;
  if (lk_op_has(node, index)) memcpy(&value, node->constants[index].tensor.data, sizeof value);
  return value;
}

static bool is_run_time(const lk_op_node *node, uint32_t index) {
  return lk_op_has(node, index) && node->constants[index].content == NULL;
}

/* max(x, min) and then min(., max): bounds that come at run time are operands, never part of a
 * key, so that a new bound needs no new primitive. */
static lk_status plan_run_time(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = planner->node;
  lk_operand value, bound, result;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, LK_LAYOUT_ANY, &value, error));
  const lk_layout layout = value.desc.layout;
  for (uint32_t i = 1; i <= 2; i++) {
    if (!lk_op_has(node, i)) continue;
    const bool last = i == 2 || !lk_op_has(node, 2);
    LK_RETURN_NOT_OK(lk_planner_input(planner, i, LK_LAYOUT_PLAIN, &bound, error));
    LK_RETURN_NOT_OK(last ? lk_planner_output(planner, 0, layout, &result, error)
                          : lk_planner_temp(planner, &value.desc, &result, error));
    LK_RETURN_NOT_OK(lk_plan_binary_step(planner, i == 1 ? dnnl_binary_max : dnnl_binary_min,
                                         &value, &bound, &result, last, error));
    value = result;
  }
  return LK_OK;
}

/* In the layout that is wished for, so that nothing is reordered afterwards. */
static lk_status plan_kernel(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = planner->node;
  const clip_params *params = node->params;
  const lk_layout layout = lk_planner_wish(planner, 0, lk_fixed_input_layout(planner, 0));
  lk_operand operands[4];
  uint32_t count = 2;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &operands[0], error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &operands[1], error));
  const lk_tensor_desc *x = &operands[0].desc;
  lk_clip clip = lk_clip_make(x->dtype, lk_elements(x), params->low, params->high);
  for (uint32_t i = 1; i <= 2; i++) {
    if (!lk_op_has(node, i)) continue;
    *(i == 1 ? &clip.low_at : &clip.high_at) = count;
    LK_RETURN_NOT_OK(lk_planner_input(planner, i, LK_LAYOUT_PLAIN, &operands[count++], error));
  }
  return lk_planner_kernel(planner, lk_clip_kernel, "clip", &clip, sizeof clip, operands, count,
                           error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = planner->node;
  const clip_params *params = node->params;
  if (planner->body->outputs[0].dtype != LK_F32) return plan_kernel(planner, error);
  if (is_run_time(node, 1) || is_run_time(node, 2)) return plan_run_time(planner, error);
  float low = constant_bound(node, 1, fmaxf(params->low, -FLT_MAX));
  const float high = constant_bound(node, 2, fminf(params->high, FLT_MAX));
  /* ONNX: where min is over max, the result is max */
  if (low > high) low = high;
  return lk_plan_eltwise(planner, dnnl_eltwise_clip, low, high, error);
}

const lk_op_class lk_op_clip = {
    LK_OP_ROW(
        "Clip", "", 1, "min(max(x, min), max); bounds known at load or at run time; f32 on oneDNN",
        .flags = LK_OP_PRIMITIVE | LK_OP_POST_OPS, .min_inputs = 1, .max_inputs = 3,
        .max_outputs = 1, .input_types = "T", .output_types = "T",
        .types = {LK_TYPES_FLOAT | LK_TYPES_INTEGER}, .in_place_inputs = 1,
        .fusion = {.kind = LK_POST_CLIP,
                   .alpha = {.attr = "min", .fallback = -FLT_MAX, .input = 1, .input_since = 11},
                   .beta = {.attr = "max", .fallback = FLT_MAX, .input = 2, .input_since = 11}}),
    .params_size = sizeof(clip_params),
    .parse = parse,
    .infer = infer,
    .plan = plan,
};
