/* DFT and STFT (ONNX operators of these names). */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/signal/dft.h"
#include "ops/plan/planner.h"

typedef struct dft_params {
  int64_t axis;
  bool is_inverse, is_onesided;
} dft_params;

static lk_status check_length(int64_t length, const char *what, lk_error *error) {
  if (length >= 1 && length <= INT32_MAX) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to transform: %s is %" PRId64 ", it must be 1 to 2^31 - 1", what, length);
}

/* Real numbers, or real and imaginary parts. */
static lk_status check_parts(const lk_tensor_desc *x, lk_error *error) {
  const int64_t parts = x->rank > 0 ? x->dims[x->rank - 1] : 0;
  return parts == 0 || parts > 2 ? lk_refuse(x, "the signal", "of 1 or 2 numbers at last", error)
                                 : LK_OK;
}

/* The sizes of a step that is described but for its lines. */
static lk_status plan_lines(lk_planner *planner, lk_dft *step, int32_t window, lk_error *error) {
  lk_operand operands[4];
  LK_RETURN_NOT_OK(lk_planner_plain(planner, 1, operands, error));
  step->is_f64 = operands[0].desc.dtype == LK_F64;
  step->has_window = window >= 0;
  lk_dft_plan(step);
  const int64_t scratch = lk_dft_scratch_size(step);
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F64, 1, &scratch);
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &operands[2], error));
  if (window >= 0) {
    LK_RETURN_NOT_OK(
        lk_planner_input(planner, (uint32_t)window, LK_LAYOUT_PLAIN, &operands[3], error));
  }
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_dft_kernel, "dft", step, sizeof *step, operands,
                                     window >= 0 ? 4 : 3, error));
  lk_planner_flops(planner, lk_dft_operations(step));
  return LK_OK;
}

/* ---- DFT ---- */

enum { LENGTH = 1, AXIS = 2 };

typedef struct dft_found {
  uint32_t axis;
  int64_t length;
} dft_found;

static void parse_dft(lk_attrs *attrs, void *params) {
  dft_params *self = params;
  self->axis = attrs->opset < 20 ? lk_attrs_int(attrs, "axis") : -2;
  self->is_inverse = lk_attrs_bool(attrs, "inverse");
  self->is_onesided = lk_attrs_bool(attrs, "onesided");
}

/* `length` may be a term. */
static lk_status set_lengths(lk_inference *self, uint32_t axis, int64_t length, lk_error *error) {
  const dft_params *params = self->node->params;
  int64_t *dim = &self->outputs[0].dims[axis];
  if (self->found != NULL) *(dft_found *)self->found = (dft_found){axis, length};
  *dim = length;
  if (length >= 0) {
    LK_RETURN_NOT_OK(check_length(length, "the length", error));
    if (params->is_onesided && !params->is_inverse) *dim = length / 2 + 1;
  } else if (params->is_onesided && !params->is_inverse && length != LK_DIM_UNKNOWN) {
    *dim = lk_dims_window(self->dims, length, 0, 2);
  }
  return LK_OK;
}

static lk_status infer_dft(lk_inference *self, lk_error *error) {
  const dft_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[0].desc;
  const bool is_irfft = params->is_onesided && params->is_inverse;
  int64_t length = 0, axis = params->axis;
  bool has_length = false, has_axis = false;
  LK_RETURN_NOT_OK(lk_infer_one(self, LENGTH, "dft_length", LK_I64, &length, &has_length, error));
  LK_RETURN_NOT_OK(lk_infer_one(self, AXIS, "the axis", LK_I64, &axis, &has_axis, error));
  if (!lk_rank_is_known(x)) return LK_OK;
  LK_RETURN_NOT_OK(check_parts(x, error));
  lk_shape_open(&self->outputs[0], x->rank);
  self->outputs[0].dims[x->rank - 1] = is_irfft ? 1 : 2;
  if (lk_op_has(self->node, AXIS) && !has_axis) return LK_OK;
  const int64_t at = lk_axis(axis, x->rank);
  if (at < 0 || at + 1 == (int64_t)x->rank) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "axis %" PRId64 " of a signal of rank %" PRIu32
                   ", it must be one of its dimensions but the last",
                   axis, x->rank);
  }
  for (uint32_t i = 0; i + 1 < x->rank; i++) self->outputs[0].dims[i] = x->dims[i];
  if (!has_length) {
    length = lk_op_has(self->node, LENGTH) ? LK_DIM_UNKNOWN : x->dims[at];
    if (is_irfft && length >= 0) {
      length = 2 * (length - 1);
      LK_RETURN_NOT_OK(check_length(length, "the length", error));
    } else if (is_irfft && length != LK_DIM_UNKNOWN) {
      length = lk_dims_linear(self->dims, length, 2, -2);
    }
  } else {
    LK_RETURN_NOT_OK(check_length(length, "dft_length", error));
  }
  return set_lengths(self, (uint32_t)at, length, error);
}

static lk_status plan_dft(lk_planner *planner, lk_error *error) {
  const dft_params *params = planner->node->params;
  const dft_found *found = planner->found;
  const lk_tensor_desc *x = &planner->inputs[0].desc, *to = &planner->outputs[0];
  const uint32_t axis = found->axis, last = x->rank - 1;
  const int64_t dim = x->dims[axis], bins = found->length / 2 + 1;
  const bool is_irfft = params->is_onesided && params->is_inverse;
  const int64_t most = is_irfft ? bins : found->length;
  lk_dft step = {.outer = lk_count_dims(x, 0, axis),
                 .middle = 1,
                 .inner = lk_count_dims(x, axis + 1, last),
                 .length = found->length,
                 .given = dim < most ? dim : most,
                 .wanted = to->dims[axis],
                 .is_complex = x->dims[last] == 2,
                 .is_inverse = params->is_inverse,
                 .is_mirrored = is_irfft,
                 .is_real = is_irfft};
  step.from = (lk_dft_steps){.outer = lk_count_dims(x, axis, x->rank),
                             .inner = x->dims[last],
                             .along = lk_count_dims(x, axis + 1, x->rank)};
  step.to = (lk_dft_steps){.outer = lk_count_dims(to, axis, to->rank),
                           .inner = to->dims[last],
                           .along = lk_count_dims(to, axis + 1, to->rank)};
  return plan_lines(planner, &step, -1, error);
}

const lk_op_class lk_op_dft = {
    LK_OP_ROW("DFT", "", 17, "Discrete Fourier transform along an axis",
              .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 1, .max_inputs = 3, .max_outputs = 1,
              .input_types = "TUV", .output_types = "T",
              .types = {LK_TYPES_FLOAT, LK_TYPES_INDEX, LK_TYPE(LK_I64)},
              .shape_inputs = 1u << LENGTH | 1u << AXIS),
    .by_f32 = true,
    .params_size = sizeof(dft_params),
    .found_size = sizeof(dft_found),
    LK_OP_ATTRS(LK_INT("axis", 1, .until = 19, .input = 2), LK_FLAG("inverse", 0),
                LK_FLAG("onesided", 0)),
    .parse = parse_dft,
    .infer = infer_dft,
    .plan = plan_dft,
};

/* ---- STFT ---- */

enum { FRAME_STEP = 1, WINDOW = 2, FRAME_LENGTH = 3 };

typedef struct stft_found {
  int64_t step, length;
} stft_found;

/* The length of a frame, which may be a term. */
static lk_status frame_length(const lk_inference *self, int64_t *out, lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[0].desc, *window = &self->inputs[WINDOW].desc;
  const bool has_window = lk_op_has(self->node, WINDOW);
  bool is_known = false;
  int64_t given = LK_DIM_UNKNOWN;
  LK_RETURN_NOT_OK(
      lk_infer_one(self, FRAME_LENGTH, "frame_length", LK_I64, &given, &is_known, error));
  if (is_known) LK_RETURN_NOT_OK(check_length(given, "frame_length", error));
  if (has_window && lk_rank_is_known(window) &&
      (window->rank != 1 || lk_dims_differ(window->dims[0], given))) {
    return lk_refuse(window, "the window", "one factor for each number of a frame", error);
  }
  *out = is_known || lk_op_has(self->node, FRAME_LENGTH) ? given
         : !has_window                                   ? x->dims[1]
         : lk_rank_is_known(window)                      ? window->dims[0]
                                                         : LK_DIM_UNKNOWN;
  return *out >= 0 ? check_length(*out, "the length of a frame", error) : LK_OK;
}

static lk_status infer_stft(lk_inference *self, lk_error *error) {
  const dft_params *params = self->node->params;
  lk_tensor_desc x = self->inputs[0].desc, *to = &self->outputs[0];
  int64_t step = 0, length = LK_DIM_UNKNOWN;
  bool has_step = false;
  lk_shape_open(to, 4);
  to->dims[3] = 2;
  if (!lk_rank_is_known(&x)) return LK_OK;
  if (x.rank != 3) return lk_refuse(&x, "the signal", "of rank 3", error);
  LK_RETURN_NOT_OK(check_parts(&x, error));
  LK_RETURN_NOT_OK(lk_infer_one(self, FRAME_STEP, "frame_step", LK_I64, &step, &has_step, error));
  if (has_step) LK_RETURN_NOT_OK(check_length(step, "frame_step", error));
  LK_RETURN_NOT_OK(frame_length(self, &length, error));
  to->dims[0] = x.dims[0];
  if (length >= 0) to->dims[2] = params->is_onesided ? length / 2 + 1 : length;
  if (length < 0 || !has_step) return LK_OK;
  if (self->found != NULL) *(stft_found *)self->found = (stft_found){step, length};
  if (x.dims[1] >= 0 && x.dims[1] < length) {
    return lk_refuse(&x, "the signal", "as long as a frame at least", error);
  }
  to->dims[1] = x.dims[1] >= 0 ? (x.dims[1] - length) / step + 1
                               : lk_dims_window(self->dims, x.dims[1], -length, step);
  return LK_OK;
}

static lk_status plan_stft(lk_planner *planner, lk_error *error) {
  const stft_found *found = planner->found;
  const lk_tensor_desc *x = &planner->inputs[0].desc, *to = &planner->outputs[0];
  const int64_t parts = x->dims[2], bins = to->dims[2];
  lk_dft step = {
      .outer = x->dims[0],
      .middle = to->dims[1],
      .inner = 1,
      .length = found->length,
      .given = found->length,
      .wanted = bins,
      .from = {.outer = x->dims[1] * parts, .middle = found->step * parts, .along = parts},
      .to = {.outer = to->dims[1] * bins * 2, .middle = bins * 2, .along = 2},
      .is_complex = parts == 2};
  return plan_lines(planner, &step, lk_op_has(planner->node, WINDOW) ? WINDOW : -1, error);
}

const lk_op_class lk_op_stft = {
    LK_OP_ROW("STFT", "", 17, "Discrete Fourier transforms of frames of a signal",
              .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 2, .max_inputs = 4, .max_outputs = 1,
              .input_types = "TUTU", .output_types = "T", .types = {LK_TYPES_FLOAT, LK_TYPES_INDEX},
              .shape_inputs = 1u << FRAME_STEP | 1u << FRAME_LENGTH),
    .by_f32 = true,
    .found_size = sizeof(stft_found),
    LK_OP_ATTRS(LK_FLAG("onesided", 1)),
    LK_OP_PARAMS(dft_params, LK_PARAM(dft_params, is_onesided, "onesided")),
    .infer = infer_stft,
    .plan = plan_stft,
};
