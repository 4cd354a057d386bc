/* Resize: nearest, linear and cubic interpolation. */
#include "ops/resize.h"

#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/moves.h"

static void parse(lk_attrs *attrs, void *params) {
  lk_resize_params *resize = params;
  int32_t opset = attrs->opset;
  resize->rule.interpolation = lk_attrs_choice(attrs, "mode");
  resize->scales_at = opset < 11 ? 1 : 2;
  if (opset < 11) {
    /* Before these attributes, the usual implementations of Resize did this. */
    resize->rule.coordinates = LK_COORDINATES_ASYMMETRIC;
    resize->rule.nearest = LK_NEAREST_FLOOR_UP_CEIL_DOWN;
    return;
  }
  resize->rule.coordinates = lk_attrs_choice(attrs, "coordinate_transformation_mode");
  resize->rule.nearest = lk_attrs_choice(attrs, "nearest_mode");
  resize->rule.cubic = lk_attrs_float(attrs, "cubic_coeff_a");
  resize->rule.extrapolation = lk_attrs_float(attrs, "extrapolation_value");
  resize->rule.exclude_outside = lk_attrs_bool(attrs, "exclude_outside");
  if (opset < 18) return;
  resize->rule.antialias = lk_attrs_bool(attrs, "antialias"); /* means nothing to nearest */
  resize->axes_given = lk_attrs_has(attrs, "axes");
  resize->n_axes = lk_attrs_ints(attrs, "axes", resize->axes, LK_MAX_RANK);
  resize->policy = lk_attrs_choice(attrs, "keep_aspect_ratio_policy");
}

/* Roi counts only where it is read. */
static bool knows_values(const lk_inference *self) {
  const lk_resize_params *params = self->node->params;
  for (uint32_t i = 1; i <= 3; i++) {
    const bool is_idle_roi =
        i < params->scales_at && params->rule.coordinates != LK_COORDINATES_TF_CROP_AND_RESIZE;
    if (lk_op_has(self->node, i) && !is_idle_roi && !lk_infer_knows(self, i)) return false;
  }
  return true;
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const lk_resize_params *params = self->node->params;
  const lk_tensor_desc *from = &self->inputs[0].desc;
  lk_tensor_desc *to = &self->outputs[0];
  lk_stretched stretches[LK_MAX_RANK] = {{0}};
  if (!lk_rank_is_known(from)) return LK_OK;
  lk_shape_open(to, from->rank);
  if (!knows_values(self)) return LK_OK;
  LK_RETURN_NOT_OK(lk_resize_infer(self->node, self->inputs, self->dims, stretches, error));
  bool same = true;
  for (uint32_t i = 0; i < to->rank; i++) {
    to->dims[i] = stretches[i].out;
    if (stretches[i].in == 0 && stretches[i].out > 0) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to resize axis %" PRIu32 " to %" PRId64
                     ": its size is 0, it must be at least 1",
                     i, stretches[i].out);
    }
    same = same && (stretches[i].same || stretches[i].in < 0);
  }
  if (!same && params->rule.interpolation != LK_INTERPOLATION_NEAREST &&
      to->dtype != LK_DTYPE_NONE && (LK_TYPE(to->dtype) & LK_TYPES_NUMBER) == 0) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to resize type %s: mode is linear or cubic, which are for numbers; "
                   "nearest takes all types",
                   lk_dtype_name(to->dtype));
  }
  return lk_shape_check(to, "the resized tensor", error);
}

/* ---- plans ---- */

static void describe(const lk_planner *planner, const lk_stretched *stretches, lk_task *out_task) {
  const lk_resize_params *params = planner->node->params;
  lk_work_resize *resize = &out_task->work.resize;
  lk_task_begin(out_task, LK_WORK_RESIZE);
  lk_task_input(out_task, LK_ROLE_SRC, 0, &planner->inputs[0].desc);
  lk_task_output(out_task, LK_ROLE_DST, 0, &planner->outputs[0]);
  *resize = params->rule;
  for (uint32_t i = 0; i < planner->inputs[0].desc.rank; i++) {
    if (stretches[i].rounded) resize->rounded |= 1U << i;
    resize->up[i] = stretches[i].up;
    resize->down[i] = stretches[i].down;
    resize->start[i] = stretches[i].start;
    resize->end[i] = stretches[i].end;
  }
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  lk_stretched stretches[LK_MAX_RANK] = {{0}};
  LK_RETURN_NOT_OK(lk_resize_infer(planner->node, planner->inputs, NULL, stretches, error));
  bool same = true;
  for (uint32_t i = 0; i < planner->inputs[0].desc.rank; i++) same = same && stretches[i].same;
  if (same) return lk_plan_same(planner, 0, error);
  lk_task task;
  describe(planner, stretches, &task);
  return lk_plan_task(planner, &task, error);
}

const lk_op_class lk_op_resize = {
    LK_OP_ROW("Resize", "", 10, "nearest, linear and cubic interpolation",
              .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 1, .max_inputs = 4, .max_outputs = 1,
              .input_types = "TUVW", .output_types = "T",
              .types = {LK_TYPES_ANY, LK_TYPE(LK_F32) | LK_TYPE(LK_F64) | LK_TYPE(LK_F16),
                        LK_TYPE(LK_F32), LK_TYPES_INDEX},
              .shape_inputs = 1u << 1 | 1u << 2 | 1u << 3),
    .params_size = sizeof(lk_resize_params),
    LK_OP_ATTRS(
        LK_FLAG("antialias", 0, .since = 18), LK_INTS("axes", .since = 18),
        LK_CHOICE("coordinate_transformation_mode",
                  "half_pixel|pytorch_half_pixel|align_corners|asymmetric|half_pixel_symmetric|"
                  "tf_crop_and_resize|tf_half_pixel_for_nn",
                  .since = 11),
        LK_FLOAT("cubic_coeff_a", -0.75F, .since = 11), LK_FLAG("exclude_outside", 0, .since = 11),
        LK_FLOAT("extrapolation_value", 0, .since = 11),
        LK_CHOICE("keep_aspect_ratio_policy", "stretch|not_larger|not_smaller", .since = 18),
        LK_CHOICE("mode", "nearest|linear", .until = 10),
        LK_CHOICE("mode", "nearest|linear|cubic", .since = 11),
        LK_CHOICE("nearest_mode", "round_prefer_floor|round_prefer_ceil|floor|ceil", .since = 11)),
    .parse = parse,
    .infer = infer,
    .plan = plan,
};

/* ---- Upsample: Resize as it first was ---- */

static void parse_upsample(lk_attrs *attrs, void *params) {
  lk_resize_params *resize = params;
  resize->rule.interpolation = lk_attrs_choice(attrs, "mode");
  resize->rule.coordinates = LK_COORDINATES_ASYMMETRIC;
  resize->rule.nearest = LK_NEAREST_FLOOR_UP_CEIL_DOWN;
  resize->scales_at = 1;
  resize->scales_given = lk_attrs_has(attrs, "scales");
  resize->n_scales = lk_attrs_floats(attrs, "scales", resize->scales, LK_MAX_RANK);
}

const lk_op_class lk_op_upsample = {
    LK_OP_ROW("Upsample", "", 7, "the older name of Resize", .flags = LK_OP_WORTH_CLAIMING,
              .min_inputs = 1, .max_inputs = 2, .max_outputs = 1, .input_types = "TU",
              .output_types = "T", .types = {LK_TYPES_ANY, LK_TYPE(LK_F32)},
              .shape_inputs = 1u << 1),
    .params_size = sizeof(lk_resize_params),
    LK_OP_ATTRS(LK_CHOICE("mode", "nearest|linear"),
                LK_FLOATS("scales", .is_required = 1, .until = 8, .input = 1)),
    .parse = parse_upsample,
    .infer = infer,
    .plan = plan,
};
