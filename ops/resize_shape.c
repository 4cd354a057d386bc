/* How a Resize stretches each dimension: from attributes and the values of roi, scales and
 * sizes. */
#include <inttypes.h>
#include <math.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/number.h"
#include "ops/resize.h"

static bool is_given(const lk_op_node *node, const lk_tensor *inputs, uint32_t index) {
  return lk_op_has(node, index) && lk_shape_is_known(&inputs[index].desc) &&
         lk_elements(&inputs[index].desc) > 0;
}

static lk_status read_scales(const lk_resize_params *params, const lk_tensor *inputs,
                             uint32_t count, double out[LK_MAX_RANK], lk_error *error) {
  const lk_tensor attribute = {lk_tensor_desc_make(LK_F32, 1, (int64_t[]){params->n_scales}),
                               (void *)(uintptr_t)params->scales};
  const lk_tensor *scales = params->scales_given ? &attribute : &inputs[params->scales_at];
  if (scales->desc.dtype != LK_F32 || scales->desc.rank != 1 ||
      lk_elements(&scales->desc) != (int64_t)count || scales->data == NULL) {
    char text[LK_TENSOR_TEXT_CAPACITY];
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read scales: it is %s, it must have %" PRIu32
                   " f32 values that are known",
                   lk_tensor_text(&scales->desc, text), count);
  }
  for (uint32_t i = 0; i < count; i++) {
    float scale = ((const float *)scales->data)[i];
    if (!(scale > 0) || !isfinite(scale)) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to read scales: one is %g, it must be positive and finite",
                     (double)scale);
    }
    out[i] = (double)scale;
  }
  return LK_OK;
}

static lk_status read_sizes(const lk_tensor *sizes, uint32_t count, int64_t out[LK_MAX_RANK],
                            lk_error *error) {
  uint32_t given;
  LK_RETURN_NOT_OK(lk_read_ints(sizes, "sizes", out, LK_MAX_RANK, &given, error));
  if (given != count) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read sizes: it has %" PRIu32 " values, it must have %" PRIu32, given,
                   count);
  }
  for (uint32_t i = 0; i < count; i++) {
    if (out[i] < 0) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to read sizes: one is %" PRId64 ", it must be at least 0", out[i]);
    }
  }
  return LK_OK;
}

static double number_at(const lk_tensor *tensor, uint32_t index) {
  switch (tensor->desc.dtype) {
  case LK_F64:
    return ((const double *)tensor->data)[index];
  case LK_F16:
    return lk_f16_to_f64(((const uint16_t *)tensor->data)[index]);
  default:
    return (double)((const float *)tensor->data)[index];
  }
}

/* All starts, then all ends. */
static lk_status read_roi(const lk_tensor *roi, const uint32_t *axes, uint32_t n_axes,
                          lk_stretched stretches[LK_MAX_RANK], lk_error *error) {
  const uint32_t dtype = roi->desc.dtype;
  if ((dtype != LK_F32 && dtype != LK_F64 && dtype != LK_F16) || roi->desc.rank != 1 ||
      lk_elements(&roi->desc) != 2 * (int64_t)n_axes || roi->data == NULL) {
    char text[LK_TENSOR_TEXT_CAPACITY];
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read roi: it is %s, it must have %" PRIu32
                   " f32, f64 or f16 values that are known",
                   lk_tensor_text(&roi->desc, text), 2 * n_axes);
  }
  for (uint32_t i = 0; i < n_axes; i++) {
    double start = number_at(roi, i), end = number_at(roi, n_axes + i);
    if (!isfinite(start) || !isfinite(end)) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to read roi: it goes from %g to %g, both must be finite", start, end);
    }
    stretches[axes[i]].start = start;
    stretches[axes[i]].end = end;
  }
  return LK_OK;
}

/* `length` becomes an integer. */
static lk_status set_length(lk_stretched *s, double length, lk_error *error) {
  length = floor(length);
  if (length >= 0x1p62) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to resize %" PRId64
                   ": scale %g makes 2^62 elements or more, fewer are supported",
                   s->in, s->up / s->down);
  }
  s->out = (int64_t)length;
  return LK_OK;
}

/* The specification also multiplies by the length of the roi. Its reference implementation and its
 * shape inference do not, nor do other runtimes, so no model can mean that. */
static lk_status stretch_by_scale(lk_stretched *s, double scale, lk_dims *dims, lk_error *error) {
  s->up = scale;
  s->down = 1;
  if (s->in < 0) {
    s->out = lk_dims_scale(dims, s->in, (float)scale);
    return LK_OK;
  }
  LK_RETURN_NOT_OK(set_length(s, (double)((float)s->in * (float)scale), error));
  s->rounded = (double)s->in * scale != (double)s->out;
  if (!s->rounded) {
    s->up = (double)s->out;
    s->down = (double)s->in;
  }
  return LK_OK;
}

/* Sizes under a policy other than stretch: one scale for all axes, that of the tightest or
 * widest. */
static lk_status keep_ratio(const lk_resize_params *params, const uint32_t *axes, uint32_t n_axes,
                            const int64_t *sizes, lk_stretched stretches[LK_MAX_RANK],
                            lk_error *error) {
  double up = 0, down = 0;
  bool known = true;
  for (uint32_t i = 0; i < n_axes; i++) known = known && stretches[axes[i]].in >= 0;
  for (uint32_t i = 0; i < n_axes && !known; i++) stretches[axes[i]].out = LK_DIM_UNKNOWN;
  if (!known) return LK_OK;
  for (uint32_t i = 0; i < n_axes; i++) {
    double size = (double)sizes[i], in = (double)stretches[axes[i]].in;
    if (in == 0) continue;
    double own = size / in, best = up / down;
    if (down == 0 || (params->policy == LK_NOT_LARGER ? own < best : own > best)) {
      up = size;
      down = in;
    }
  }
  for (uint32_t i = 0; i < n_axes && down > 0; i++) {
    lk_stretched *s = &stretches[axes[i]];
    s->up = up;
    s->down = down;
    LK_RETURN_NOT_OK(set_length(s, (double)s->in * up / down + 0.5, error));
  }
  return LK_OK;
}

lk_status lk_resize_infer(const lk_op_node *node, const lk_tensor *inputs, lk_dims *dims,
                          lk_stretched stretches[LK_MAX_RANK], lk_error *error) {
  const lk_resize_params *params = node->params;
  const lk_tensor_desc *from = &inputs[0].desc;
  const uint32_t roi_at = 1, sizes_at = 3;
  const bool by_scales = params->scales_given || is_given(node, inputs, params->scales_at);
  const bool by_sizes = node->opset >= 11 && is_given(node, inputs, sizes_at);
  const uint32_t n_axes = params->axes_given ? params->n_axes : from->rank;
  uint32_t axes[LK_MAX_RANK];
  const bool crops = params->rule.coordinates == LK_COORDINATES_TF_CROP_AND_RESIZE;
  for (uint32_t i = 0; i < from->rank; i++) {
    const int64_t length = from->dims[i];
    axes[i] = i;
    stretches[i] = (lk_stretched){.in = length, .out = length, .up = 1, .down = 1, .end = 1};
  }
  if (from->rank == 0) return LK_OK;
  if (by_scales == by_sizes) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to resize: it has %s, exactly one of them is required",
                   by_scales ? "both scales and sizes" : "neither scales nor sizes");
  }
  if (crops && !is_given(node, inputs, roi_at)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to resize: roi is missing, tf_crop_and_resize requires it");
  }
  double scales[LK_MAX_RANK];
  int64_t sizes[LK_MAX_RANK];
  LK_RETURN_NOT_OK(lk_read_axes(params->axes, params->n_axes, from->rank, "resize", axes, error));
  if (crops) LK_RETURN_NOT_OK(read_roi(&inputs[roi_at], axes, n_axes, stretches, error));
  if (by_scales) {
    LK_RETURN_NOT_OK(read_scales(params, inputs, n_axes, scales, error));
    for (uint32_t i = 0; i < n_axes; i++) {
      LK_RETURN_NOT_OK(stretch_by_scale(&stretches[axes[i]], scales[i], dims, error));
    }
  } else {
    LK_RETURN_NOT_OK(read_sizes(&inputs[sizes_at], n_axes, sizes, error));
    for (uint32_t i = 0; i < n_axes && params->policy == LK_STRETCH; i++) {
      lk_stretched *s = &stretches[axes[i]];
      s->out = sizes[i];
      s->up = (double)s->out;
      s->down = (double)s->in;
    }
    if (params->policy != LK_STRETCH) {
      LK_RETURN_NOT_OK(keep_ratio(params, axes, n_axes, sizes, stretches, error));
    }
  }
  for (uint32_t i = 0; i < from->rank; i++) {
    lk_stretched *s = &stretches[i];
    s->same = s->in == s->out && s->up == s->down && s->start == 0 && s->end == 1;
  }
  return LK_OK;
}
