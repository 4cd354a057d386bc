/* Tables for the processing of signals: HannWindow, HammingWindow, BlackmanWindow, MelWeightMatrix
 * (ONNX operators of these names). All are computed in f64, and cast once. */
#include <inttypes.h>
#include <math.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/move/range.h"
#include "ops/kernel/signal/mel.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/moves.h"

#define PI 3.14159265358979323846

typedef struct signal_params {
  bool is_periodic;
  uint32_t dtype;
} signal_params;

static void parse(lk_attrs *attrs, void *params) {
  signal_params *self = params;
  self->is_periodic = lk_attrs_lists(attrs, "periodic") && lk_attrs_bool(attrs, "periodic");
  self->dtype = lk_attrs_dtype(attrs, "output_datatype", LK_TYPES_ANY);
  if ((LK_TYPES_NUMBER >> self->dtype & 1) == 0) {
    lk_attrs_fail(attrs, LK_UNSUPPORTED, "attribute 'output_datatype' is %s, it must be a number",
                  lk_dtype_name(self->dtype));
  }
}

/* ---- windows: a - b cos(x) + c cos(2x), where x goes around once ---- */

typedef struct window_terms {
  double a, b, c;
} window_terms;

static const window_terms windows[] = {{0.5, 0.5, 0}, {25.0 / 46, 21.0 / 46, 0}, {0.42, 0.5, 0.08}};
enum { HANN, HAMMING, BLACKMAN };

static lk_status infer_window(lk_inference *self, lk_error *error) {
  const signal_params *params = self->node->params;
  int64_t size = LK_DIM_UNKNOWN;
  bool is_known = false;
  self->outputs[0].dtype = params->dtype;
  lk_shape_open(&self->outputs[0], 1);
  LK_RETURN_NOT_OK(lk_infer_one(self, 0, "a parameter", LK_I64, &size, &is_known, error));
  if (!is_known) return LK_OK;
  if (size < 0) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to make a window of %" PRId64 " values: at least 0 are allowed", size);
  }
  self->outputs[0].dims[0] = size;
  return lk_shape_check(&self->outputs[0], "the window", error);
}

/* The angles of a window. One that is not periodic ends where it began; of one value, it is 1, as
 * in numpy, which ONNX leaves open. */
static lk_range angles(int64_t size, bool is_periodic) {
  const bool is_one = !is_periodic && size == 1;
  return (lk_range){.count = size,
                    .dtype = LK_F64,
                    .first = is_one ? PI : 0,
                    .between = is_one ? 0 : 2 * PI / (double)(is_periodic ? size : size - 1)};
}

static lk_status plan_window(lk_planner *planner, lk_error *error) {
  const signal_params *params = planner->node->params;
  const window_terms *terms = &windows[planner->node->class_->variant];
  lk_operand to, angle;
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &to, error));
  lk_tensor_desc desc = to.desc;
  desc.dtype = LK_F64;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &angle, error));
  const lk_range range = angles(desc.dims[0], params->is_periodic);
  LK_RETURN_NOT_OK(
      lk_planner_kernel(planner, lk_range_kernel, "range", &range, sizeof range, &angle, 1, error));
  lk_chain_begin_at(planner, &angle, &chain);
  lk_element_program *program = &chain.program;
  const lk_element_value x = lk_chain_operand(&chain, &angle);
  const lk_element_value cosine = lk_element_unary(program, LK_ELEMENT_COS, x, 0, 0);
  chain.value = lk_element_ternary(program, LK_ELEMENT_FMA, cosine,
                                   lk_element_number(program, LK_F64, -terms->b),
                                   lk_element_number(program, LK_F64, terms->a));
  if (terms->c != 0) {
    const lk_element_value twice = lk_element_unary(
        program, LK_ELEMENT_COS, lk_element_binary(program, LK_ELEMENT_ADD, x, x), 0, 0);
    chain.value = lk_element_ternary(program, LK_ELEMENT_FMA, twice,
                                     lk_element_number(program, LK_F64, terms->c), chain.value);
  }
  LK_RETURN_NOT_OK(lk_chain_step(&chain, error));
  if (to.desc.dtype != LK_F64) return lk_planner_cast(planner, &angle, &to, error);
  const lk_copy copy = lk_copy_between(&angle.desc, &to.desc);
  return lk_planner_copy(planner, &copy, &angle, &to, error);
}

#define WINDOW(symbol, name, which, summary_text)                                                  \
  const lk_op_class lk_op_##symbol = {                                                             \
      LK_OP_ROW(name, "", 17, summary_text, .min_inputs = 1, .max_inputs = 1, .max_outputs = 1,    \
                .input_types = "T", .output_types = "?", .types = {LK_TYPES_INDEX},                \
                .shape_inputs = 1u),                                                               \
      .params_size = sizeof(signal_params),                                                        \
      .variant = which,                                                                            \
      LK_OP_ATTRS(LK_INT("output_datatype", LK_F32), LK_FLAG("periodic", 1)),                      \
      .parse = parse,                                                                              \
      .infer = infer_window,                                                                       \
      .plan = plan_window}
WINDOW(hann_window, "HannWindow", HANN, "A wave of a cosine, from 0 to 1 and back");
WINDOW(hamming_window, "HammingWindow", HAMMING, "The same from 0.087 on");
WINDOW(blackman_window, "BlackmanWindow", BLACKMAN, "The same of two cosines");

/* ---- MelWeightMatrix ---- */

enum { BANDS, LENGTH, RATE, LOWER, UPPER };

/* `found` is the lk_mel. */
static lk_status infer_mel(lk_inference *self, lk_error *error) {
  const signal_params *params = self->node->params;
  lk_mel room, *mel = self->found != NULL ? self->found : &room;
  int64_t *const whole[] = {&mel->bands, &mel->length, &mel->rate};
  double *const edges[] = {&mel->lower, &mel->upper};
  lk_tensor_desc *to = &self->outputs[0];
  bool is_known[UPPER + 1] = {false};
  to->dtype = params->dtype;
  lk_shape_open(to, 2);
  for (uint32_t i = BANDS; i <= RATE; i++) {
    LK_RETURN_NOT_OK(lk_infer_one(self, i, "a parameter", LK_I64, whole[i], &is_known[i], error));
  }
  for (uint32_t i = LOWER; i <= UPPER; i++) {
    LK_RETURN_NOT_OK(
        lk_infer_one(self, i, "a parameter", LK_F64, edges[i - LOWER], &is_known[i], error));
  }
  for (uint32_t i = BANDS; i <= UPPER; i++) {
    if (!is_known[i]) return LK_OK;
  }
  const bool is_right = mel->bands >= 0 && mel->length >= 0 && mel->length < INT64_MAX &&
                        mel->rate > 0 && mel->lower >= 0 && mel->upper >= mel->lower &&
                        mel->upper <= (double)mel->rate / 2;
  if (!is_right) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to make %" PRId64 " mel bands of %" PRId64 " values at rate %" PRId64
                   ", from %g to %g Hz: the edges must be in order, from 0 to half the rate, and "
                   "the counts at least 1",
                   mel->bands, mel->length, mel->rate, mel->lower, mel->upper);
  }
  to->dims[0] = mel->length / 2 + 1;
  to->dims[1] = mel->bands;
  return lk_shape_check(to, "the matrix", error);
}

static lk_status plan_mel(lk_planner *planner, lk_error *error) {
  const lk_mel *mel = planner->found;
  lk_operand to, wide;
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &to, error));
  wide = to;
  lk_tensor_desc desc = to.desc;
  desc.dtype = LK_F64;
  const bool is_f64 = to.desc.dtype == LK_F64;
  if (!is_f64) LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &wide, error));
  LK_RETURN_NOT_OK(
      lk_planner_kernel(planner, lk_mel_kernel, "mel", mel, sizeof *mel, &wide, 1, error));
  return is_f64 ? LK_OK : lk_planner_cast(planner, &wide, &to, error);
}

const lk_op_class lk_op_mel_weight_matrix = {
    LK_OP_ROW("MelWeightMatrix", "", 17, "Triangles over frequencies, by the mel scale",
              .min_inputs = 5, .max_inputs = 5, .max_outputs = 1, .input_types = "TTTUU",
              .output_types = "?", .types = {LK_TYPES_INDEX, LK_TYPES_FLOAT}, .shape_inputs = 0x1f),
    .params_size = sizeof(signal_params),
    .found_size = sizeof(lk_mel),
    LK_OP_ATTRS(LK_INT("output_datatype", LK_F32)),
    .parse = parse,
    .infer = infer_mel,
    .plan = plan_mel,
};
