/* Resize: nearest, linear and cubic interpolation. Where oneDNN's resampling computes the same, it
 * does; all else is resize_kernel.c, from tables of taps (resize_taps.c). */
#include "ops/resize.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/copy.h"
#include "plugin/base/alloc.h"
#include "plugin/base/status.h"
#include "plugin/base/tensor.h"

static void parse(lk_attrs *attrs, void *params) {
  static const char *const modes[] = {"nearest", "linear", "cubic"};
  static const char *const coordinate_names[] = {"half_pixel",           "pytorch_half_pixel",
                                                 "align_corners",        "asymmetric",
                                                 "half_pixel_symmetric", "tf_crop_and_resize"};
  static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                          "ceil"};
  static const char *const policies[] = {"stretch", "not_larger", "not_smaller"};
  lk_resize_params *resize = params;
  int32_t opset = attrs->node->opset;
  resize->mode = lk_attrs_choice(attrs, "mode", modes, opset < 11 ? 2 : 3, LK_RESIZE_NEAREST);
  if (opset < 11) {
    /* Neither is an attribute yet; so what Resize did before them, in the usual implementations. */
    resize->coordinates = LK_ASYMMETRIC;
    resize->rounding = LK_FLOOR_UP_CEIL_DOWN;
    return;
  }
  resize->coordinates =
      lk_attrs_choice(attrs, "coordinate_transformation_mode", coordinate_names, 6, LK_HALF_PIXEL);
  if (resize->coordinates == LK_TF_CROP_AND_RESIZE) {
    lk_attrs_fail(attrs, LK_UNSUPPORTED,
                  "attribute coordinate_transformation_mode: tf_crop_and_resize, which is not "
                  "supported");
  }
  resize->rounding = lk_attrs_choice(attrs, "nearest_mode", roundings, 4, LK_PREFER_FLOOR);
  resize->cubic = lk_attrs_float(attrs, "cubic_coeff_a", -0.75f);
  resize->exclude_outside = lk_attrs_int(attrs, "exclude_outside", 0) != 0;
  if (opset < 18) return;
  if (lk_attrs_int(attrs, "antialias", 0) != 0) {
    lk_attrs_fail(attrs, LK_UNSUPPORTED, "attribute antialias: 1, which is not supported");
  }
  resize->axes_given = lk_attrs_has(attrs, "axes");
  resize->n_axes = lk_attrs_ints(attrs, "axes", resize->axes, LK_MAX_RANK);
  resize->policy = lk_attrs_choice(attrs, "keep_aspect_ratio_policy", policies, 3, LK_STRETCH);
}

/* ---- how long each dimension becomes ---- */

static bool is_given(const lk_op_node *node, const lk_tensor *inputs, uint32_t index) {
  return node->n_inputs > index && inputs[index].desc.dtype != LK_DTYPE_NONE &&
         lk_elements(&inputs[index].desc) > 0;
}

static lk_status read_scales(const lk_tensor *scales, uint32_t count, double out[LK_MAX_RANK],
                             lk_error *error) {
  if (scales->desc.dtype != LK_F32 || scales->desc.rank != 1 ||
      lk_elements(&scales->desc) != (int64_t)count || scales->data == NULL) {
    char text[LK_TENSOR_TEXT_CAPACITY];
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read scales: %s, must be %" PRIu32 " f32 values that are known",
                   lk_tensor_text(&scales->desc, text), count);
  }
  for (uint32_t i = 0; i < count; i++) {
    float scale = ((const float *)scales->data)[i];
    if (!(scale > 0) || !isfinite(scale)) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to read scales: %g, must be positive and finite", (double)scale);
    }
    out[i] = (double)scale;
  }
  return LK_OK;
}

static lk_status read_sizes(const lk_tensor *sizes, uint32_t count, int64_t out[LK_MAX_RANK],
                            lk_error *error) {
  uint32_t given;
  lk_status status = lk_read_ints(sizes, "sizes", out, LK_MAX_RANK, &given, error);
  if (status != LK_OK) return status;
  if (given != count) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read sizes: %" PRIu32 " values, must be %" PRIu32, given, count);
  }
  for (uint32_t i = 0; i < count; i++) {
    if (out[i] < 0) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to read sizes: %" PRId64 ", must be at least 0", out[i]);
    }
  }
  return LK_OK;
}

static lk_status length_of(double scale, int64_t in, int64_t *out, lk_error *error) {
  double length = floor((double)((float)in * (float)scale));
  if (length >= 0x1p62) {
    return lk_fail(error, LK_OUT_OF_RANGE, "failed to resize %" PRId64 ": scale %g, too large", in,
                   scale);
  }
  *out = (int64_t)length;
  return LK_OK;
}

/* Sizes under a policy other than stretch: one scale for all axes, that of the tightest or widest. */
static lk_status keep_ratio(const lk_resize_params *params, const uint32_t *axes, uint32_t n_axes,
                            const int64_t *sizes, lk_stretch stretches[LK_MAX_RANK],
                            lk_error *error) {
  double scale = 0;
  for (uint32_t i = 0; i < n_axes; i++) {
    if (stretches[axes[i]].in == 0) continue;
    double own = (double)sizes[i] / (double)stretches[axes[i]].in;
    bool take = scale == 0 || (params->policy == LK_NOT_LARGER ? own < scale : own > scale);
    if (take) scale = own;
  }
  for (uint32_t i = 0; i < n_axes; i++) {
    lk_stretch *s = &stretches[axes[i]];
    double length = floor(scale * (double)s->in + 0.5);
    if (length >= 0x1p62) {
      return lk_fail(error, LK_OUT_OF_RANGE, "failed to resize %" PRId64 ": scale %g, too large",
                     s->in, scale);
    }
    s->out = (int64_t)length;
    s->scale = scale;
    s->ratio = false;
  }
  return LK_OK;
}

static lk_status read_stretches(const lk_op_node *node, const lk_tensor *inputs,
                                lk_stretch stretches[LK_MAX_RANK], lk_error *error) {
  const lk_resize_params *params = node->params;
  const lk_tensor_desc *from = &inputs[0].desc;
  uint32_t scales_at = node->opset < 11 ? 1 : 2, sizes_at = 3;
  bool by_scales = is_given(node, inputs, scales_at);
  bool by_sizes = node->opset >= 11 && is_given(node, inputs, sizes_at);
  for (uint32_t i = 0; i < from->rank; i++) {
    stretches[i] =
        (lk_stretch){.in = from->dims[i], .out = from->dims[i], .ratio = true, .scale = 1};
  }
  if (from->rank == 0) return LK_OK;
  if (by_scales == by_sizes) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to resize: %s, one of scales and sizes is required",
                   by_scales ? "both scales and sizes" : "neither scales nor sizes");
  }
  uint32_t axes[LK_MAX_RANK], n_axes = params->axes_given ? params->n_axes : from->rank;
  bool seen[LK_MAX_RANK] = {false};
  for (uint32_t i = 0; i < n_axes; i++) {
    int64_t given = params->axes_given ? params->axes[i] : (int64_t)i;
    int64_t axis = lk_axis(given, from->rank);
    if (axis < 0 || seen[axis]) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to resize: axis %" PRId64 " for rank %" PRIu32
                     ", must be in range and given once",
                     given, from->rank);
    }
    seen[axis] = true;
    axes[i] = (uint32_t)axis;
  }
  lk_status status = LK_OK;
  double scales[LK_MAX_RANK];
  int64_t sizes[LK_MAX_RANK];
  if (by_scales) {
    LK_TRY(read_scales(&inputs[scales_at], n_axes, scales, error));
    for (uint32_t i = 0; i < n_axes; i++) {
      lk_stretch *s = &stretches[axes[i]];
      s->scale = scales[i];
      LK_TRY(length_of(s->scale, s->in, &s->out, error));
      s->ratio = (double)s->in * s->scale == (double)s->out;
    }
    return LK_OK;
  }
  LK_TRY(read_sizes(&inputs[sizes_at], n_axes, sizes, error));
  if (params->policy != LK_STRETCH)
    return keep_ratio(params, axes, n_axes, sizes, stretches, error);
  for (uint32_t i = 0; i < n_axes; i++) {
    stretches[axes[i]].out = sizes[i];
    if (stretches[axes[i]].in > 0) {
      stretches[axes[i]].scale = (double)sizes[i] / (double)stretches[axes[i]].in;
    }
  }
cleanup:
  return status;
}

static lk_status infer(const lk_op_node *node, const lk_tensor *inputs, lk_tensor_desc *outputs,
                       lk_error *error) {
  const lk_resize_params *params = node->params;
  const lk_tensor_desc *from = &inputs[0].desc;
  lk_stretch stretches[LK_MAX_RANK] = {{0}};
  lk_status status = read_stretches(node, inputs, stretches, error);
  if (status != LK_OK) return status;
  lk_tensor_desc to = {.dtype = from->dtype, .rank = from->rank};
  uint32_t stretched = 0;
  for (uint32_t i = 0; i < to.rank; i++) {
    to.dims[i] = stretches[i].out;
    if (stretches[i].in == 0 && stretches[i].out > 0) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to resize axis %" PRIu32 ": from 0 to %" PRId64
                     ", there is nothing to interpolate",
                     i, stretches[i].out);
    }
    if (stretches[i].in != stretches[i].out || stretches[i].scale != 1) stretched++;
  }
  if (stretched > LK_RESIZE_MAX_AXES) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to resize: %" PRIu32 " axes, at most %d are supported", stretched,
                   LK_RESIZE_MAX_AXES);
  }
  if (stretched > 0 && params->mode != LK_RESIZE_NEAREST && from->dtype != LK_F32) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to resize type %s: linear and cubic are supported for f32",
                   lk_dtype_name(from->dtype));
  }
  outputs[0] = to;
  return lk_tensor_size(&outputs[0], "the resized tensor", NULL, NULL, error);
}

/* ---- plans ---- */

/* oneDNN computes the same: nearest with whole factors, where its rounding meets no ties, and linear
 * with half-pixel coordinates; along dimensions 2 and further of f32. */
static bool fits_primitive(const lk_resize_params *params, const lk_tensor_desc *from,
                           const lk_stretch *stretches) {
  if (from->dtype != LK_F32 || from->rank < 3 || from->rank > 5) return false;
  if (stretches[0].scale != 1 || stretches[1].scale != 1) return false;
  bool half = params->coordinates == LK_HALF_PIXEL ||
              params->coordinates == LK_PYTORCH_HALF_PIXEL ||
              params->coordinates == LK_HALF_PIXEL_SYMMETRIC;
  for (uint32_t i = 0; i < from->rank; i++) {
    const lk_stretch *s = &stretches[i];
    if (!s->ratio) return false;
    if (params->coordinates == LK_PYTORCH_HALF_PIXEL && s->out == 1 && s->in != 1) return false;
    if (params->mode == LK_RESIZE_NEAREST && s->out % s->in != 0) return false;
  }
  if (params->mode == LK_RESIZE_LINEAR) return half && !params->exclude_outside;
  if (params->mode != LK_RESIZE_NEAREST) return false;
  bool rounds = params->rounding == LK_PREFER_FLOOR || params->rounding == LK_PREFER_CEIL;
  bool floors = params->rounding == LK_FLOOR || params->rounding == LK_FLOOR_UP_CEIL_DOWN;
  return half ? rounds : params->coordinates == LK_ASYMMETRIC && floors;
}

static lk_status plan_primitive(lk_planner *planner, const lk_resize_params *params,
                                const lk_operand *from, const lk_operand *to, lk_error *error) {
  lk_key_builder key;
  const lk_primitive *primitive = NULL;
  lk_status status = lk_primitive_key_begin(&key, lk_planner_env(planner), LK_PRIMITIVE_RESAMPLING,
                                            lk_planner_threads(planner), error);
  if (status != LK_OK) {
    lk_key_builder_release(&key);
    return status;
  }
  int64_t algorithm =
      params->mode == LK_RESIZE_LINEAR ? dnnl_resampling_linear : dnnl_resampling_nearest;
  lk_key_add_tensor(&key, LK_WORD_SRC, 0, &from->desc, 0);
  lk_key_add_tensor(&key, LK_WORD_DST, 0, &to->desc, 0);
  lk_key_add_attr(&key, LK_WORD_ALGORITHM, &algorithm, 1);
  status = lk_planner_primitive(planner, &key, &primitive, error);
  if (status != LK_OK) return status;
  const lk_primitive_arg args[] = {{DNNL_ARG_SRC, *from}, {DNNL_ARG_DST, *to}};
  return lk_planner_execute(planner, primitive, args, 2, NULL, error);
}

/* Dimensions in the order of memory; neighbours that are not resized are one. */
static uint32_t collapse(const lk_tensor_desc *desc, const lk_stretch *stretches,
                         lk_stretch out[LK_MAX_RANK]) {
  uint32_t order[LK_MAX_RANK], count = 0, rank = 0;
  bool channels_last = desc->layout == LK_LAYOUT_CHANNELS_LAST;
  for (uint32_t i = 0; i < desc->rank; i++) {
    if (!(channels_last && i == 1)) order[count++] = i;
  }
  if (channels_last) order[count++] = 1;
  bool joins = false;
  for (uint32_t i = 0; i < count; i++) {
    const lk_stretch *s = &stretches[order[i]];
    bool same = s->in == s->out && s->scale == 1;
    if (same && joins) {
      out[rank - 1].in *= s->in;
      out[rank - 1].out *= s->out;
    } else {
      out[rank++] = *s;
    }
    joins = same;
  }
  return rank;
}

static lk_status plan_kernel(lk_planner *planner, const lk_resize_params *params,
                             const lk_stretch *stretches, const lk_operand *from,
                             const lk_operand *to, lk_error *error) {
  lk_stretch dims[LK_MAX_RANK] = {{0}};
  uint32_t rank = collapse(&from->desc, stretches, dims);
  uint32_t per_output = params->mode == LK_RESIZE_CUBIC    ? 4
                        : params->mode == LK_RESIZE_LINEAR ? 2
                                                           : 1;
  lk_resize_step head = {.rank = rank,
                         .element = (uint32_t)lk_dtype_size(from->desc.dtype),
                         .block = 1,
                         .nearest = params->mode == LK_RESIZE_NEAREST};
  /* The innermost dimension is copied or summed in blocks when it keeps its length. */
  if (dims[rank - 1].scale == 1 && dims[rank - 1].in == dims[rank - 1].out && rank > 1) {
    head.block = dims[rank - 1].out;
    head.rank = --rank;
  }
  size_t n_taps = 0;
  int64_t step = head.block, steps[LK_MAX_RANK];
  for (uint32_t i = rank; i-- > 0;) {
    bool same = dims[i].scale == 1 && dims[i].in == dims[i].out;
    head.dims[i] = dims[i].out;
    head.taps[i] = same ? 0 : per_output;
    head.first[i] = n_taps;
    head.steps[i] = step;
    steps[i] = step;
    /* No overflow: the output's bytes fit in 63 bits, and there are at most 8 dimensions. */
    n_taps += (size_t)dims[i].out * head.taps[i];
    step *= dims[i].in;
  }
  const lk_allocator *allocator = lk_planner_env(planner)->allocator;
  size_t bytes = 0;
  if (__builtin_mul_overflow(n_taps, sizeof(lk_resize_tap), &bytes) ||
      __builtin_add_overflow(bytes, sizeof head, &bytes)) {
    return lk_fail(error, LK_OUT_OF_RANGE, "failed to resize: %zu taps, too many for memory",
                   n_taps);
  }
  lk_resize_step *whole = lk_alloc(allocator, bytes);
  if (whole == NULL) return lk_fail_memory(error, "resize tables", bytes);
  memset(whole, 0, bytes);
  *whole = head;
  for (uint32_t i = 0; i < rank; i++) {
    for (int64_t x = 0; x < head.dims[i] && head.taps[i] > 0; x++) {
      lk_resize_make_taps(params, &dims[i], head.taps[i], x, steps[i],
                          &whole->table[head.first[i] + (size_t)x * head.taps[i]]);
    }
  }
  lk_operand operands[2] = {*from, *to};
  lk_status status = lk_planner_kernel(planner, lk_resize_kernel, whole, bytes, operands, 2, error);
  lk_free(allocator, whole);
  return status;
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  lk_status status = LK_OK;
  const lk_op_node *node = lk_planner_node(planner);
  const lk_resize_params *params = node->params;
  lk_tensor inputs[4] = {{{0}, NULL}};
  lk_stretch stretches[LK_MAX_RANK] = {{0}};
  for (uint32_t i = 0; i < node->n_inputs && i < 4; i++) {
    inputs[i] = *lk_planner_input_tensor(planner, i);
  }
  LK_TRY(read_stretches(node, inputs, stretches, error));
  bool same = true;
  for (uint32_t i = 0; i < inputs[0].desc.rank; i++) {
    same = same && stretches[i].in == stretches[i].out && stretches[i].scale == 1;
  }
  if (same) return lk_plan_same(planner, 0, error);
  lk_operand from, to;
  lk_layout layout = lk_copy_input_layout(planner, 0);
  LK_TRY(lk_planner_input(planner, 0, layout, &from, error));
  LK_TRY(lk_planner_output(planner, 0, layout, &to, error));
  if (fits_primitive(params, &from.desc, stretches)) {
    return plan_primitive(planner, params, &from, &to, error);
  }
  LK_TRY(plan_kernel(planner, params, stretches, &from, &to, error));
cleanup:
  return status;
}

const lk_op_class lk_op_resize = {
    .op_type = "Resize",
    .domain = "",
    .summary = "nearest, linear and cubic interpolation",
    .min_opset = 10,
    .max_opset = 23,
    .min_inputs = 1,
    .max_inputs = 4,
    .max_outputs = 1,
    .shape_inputs = 1u << 1 | 1u << 2 | 1u << 3,
    .runs_on_onednn = true,
    .params_size = sizeof(lk_resize_params),
    .parse = parse,
    .infer = infer,
    .plan = plan,
};
