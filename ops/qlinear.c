/* Operators of com.microsoft on quantized tensors that are those on real numbers between
 * dequantizing and quantizing: QLinearAdd, QLinearMul, QLinearSigmoid, QLinearLeakyRelu,
 * QLinearAveragePool, QLinearGlobalAveragePool, QLinearSoftmax. ONNX Runtime has tables and other
 * formulas for some of them, which may round a number between two the other way. */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/sizes.h"
#include "ops/plan/moves.h"
#include "ops/plan/quantized_steps.h"
#include "ops/plan/reduction.h"
#include "ops/plan/work.h"

/* Scales and zero points: of one value each. Zero points may be absent, which a row cannot say of
 * an input with others behind it. */
static lk_status check(const lk_inference *self, lk_error *error) {
  const bool is_binary = self->node->class_->row.max_inputs == 8;
  const uint32_t least = is_binary ? 7 : 4;
  for (uint32_t i = 1; i < lk_max(least, self->node->n_operands); i++) {
    const bool is_tensor = is_binary && i == 3;
    const bool is_scale = is_binary ? i == 1 || i == 4 || i == 6 : i == 1 || i == 3;
    if ((is_tensor || is_scale) && !lk_op_has(self->node, i)) {
      return lk_fail(error, LK_INVALID_ARGUMENT, "input %" PRIu32 " is absent, it is required", i);
    }
    if (is_tensor) continue;
    LK_RETURN_NOT_OK(lk_infer_quantizer(self, i, is_scale ? "scale" : "zero point", 1, error));
  }
  return LK_OK;
}

/* ---- element by element ---- */

static lk_status infer_binary(lk_inference *self, lk_error *error) {
  LK_RETURN_NOT_OK(check(self, error));
  return lk_broadcast_dims(self->dims, &self->inputs[0].desc, &self->inputs[3].desc,
                           &self->outputs[0], error);
}

/* Input `a` is as large as the output, and the other one repeated as a step of bytes may be. */
static bool is_pair(lk_planner *planner, uint32_t a, uint32_t b, lk_layout *out_layouts) {
  lk_tensor_desc y = planner->inputs[a].desc, other = planner->inputs[b].desc;
  int64_t repeat = 0, row = 0;
  if (!lk_shape_equal(&y, &planner->outputs[0])) return false;
  y.layout = out_layouts[0] = lk_image_layout(planner, a);
  other.layout = lk_shape_equal(&y, &other) ? y.layout : lk_image_layout(planner, b);
  out_layouts[1] = other.layout;
  return lk_byte_rows_of(&y, &other, &repeat, &row);
}

static lk_status plan_pair(lk_planner *planner, uint32_t a, uint32_t b, const lk_layout *layouts,
                           lk_error *error) {
  const bool multiplies = planner->node->class_->variant == LK_ELEMENT_MUL;
  lk_byte_operand bytes[] = {
      {.scale = a + 1, .zero = a + 2}, {.scale = b + 1, .zero = b + 2}, {.scale = 6, .zero = 7}};
  LK_RETURN_NOT_OK(lk_planner_input(planner, a, layouts[0], &bytes[0].bytes, error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, b, layouts[1], &bytes[1].bytes, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layouts[0], &bytes[2].bytes, error));
  return lk_plan_bytes(planner, multiplies ? LK_BYTES_MUL : LK_BYTES_ADD, NULL, bytes, error);
}

static lk_status plan_binary(lk_planner *planner, lk_error *error) {
  lk_chain chain;
  lk_element_value a, b;
  lk_layout layouts[2];
  if (is_pair(planner, 0, 3, layouts)) return plan_pair(planner, 0, 3, layouts, error);
  if (is_pair(planner, 3, 0, layouts)) return plan_pair(planner, 3, 0, layouts, error);
  LK_RETURN_NOT_OK(lk_chain_begin(planner, &chain, error));
  LK_RETURN_NOT_OK(lk_chain_input(&chain, 0, &a, error));
  LK_RETURN_NOT_OK(lk_chain_dequantize(&chain, 1, 2, &a, error));
  LK_RETURN_NOT_OK(lk_chain_input(&chain, 3, &b, error));
  LK_RETURN_NOT_OK(lk_chain_dequantize(&chain, 4, 5, &b, error));
  const lk_element_op op = (lk_element_op)planner->node->class_->variant;
  chain.value = lk_element_binary(&chain.program, op, a, b);
  LK_RETURN_NOT_OK(lk_chain_quantize(&chain, 6, 7, &chain.value, error));
  return lk_chain_step(&chain, error);
}

static lk_status infer_unary(lk_inference *self, lk_error *error) {
  LK_RETURN_NOT_OK(check(self, error));
  return lk_infer_same(self, error);
}

/* Input 0 and output 0, as bytes. */
static lk_status take_bytes(lk_planner *planner, lk_layout layout, lk_byte_operand *out_from,
                            lk_byte_operand *out_to, lk_error *error) {
  *out_from = (lk_byte_operand){.scale = 1, .zero = 2};
  *out_to = (lk_byte_operand){.scale = 3, .zero = 4};
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &out_from->bytes, error));
  return lk_planner_output(planner, 0, layout, &out_to->bytes, error);
}

static lk_status plan_unary(lk_planner *planner, lk_error *error) {
  const lk_op_class *class_ = planner->node->class_;
  const float p = class_->params_size > 0 ? *(const float *)planner->node->params : 0;
  lk_byte_operand from, to;
  LK_RETURN_NOT_OK(take_bytes(planner, planner->inputs[0].desc.layout, &from, &to, error));
  return lk_plan_byte_table(planner, (lk_element_op)class_->variant, p, &from, &to, error);
}

/* ---- poolings ---- */

typedef struct pool_params {
  lk_window window;
  lk_pooling kind;
  bool is_last; /* channels are the last dimension */
} pool_params;

static void parse_pool(lk_attrs *attrs, void *params) {
  pool_params *self = params;
  lk_window_parse_pooling(attrs, &self->window);
  const bool padding = lk_attrs_bool(attrs, "count_include_pad");
  self->kind = padding ? LK_POOLING_MEAN_WITH_PADDING : LK_POOLING_MEAN;
  self->is_last = lk_attrs_bool(attrs, "channels_last");
}

/* A tensor with channels as its second dimension, where they may be the last one. */
static lk_tensor_desc channels_second(const lk_op_node *node, const lk_tensor_desc *desc) {
  const pool_params *params = node->params;
  return params->is_last ? lk_shape_channels_second(desc) : *desc;
}

static lk_status check_rank(const lk_tensor_desc *x, lk_error *error) {
  if (!lk_rank_is_known(x) || (x->rank >= 3 && x->rank <= 2 + LK_MAX_SPATIAL)) return LK_OK;
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "the input has rank %" PRIu32 ", 3 to %d are supported", x->rank,
                 2 + LK_MAX_SPATIAL);
}

/* `found` is the lk_window_shape. */
static lk_status infer_pool(lk_inference *self, lk_error *error) {
  const pool_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[0].desc;
  lk_window_shape room, *shape = self->found != NULL ? self->found : &room;
  LK_RETURN_NOT_OK(check(self, error));
  LK_RETURN_NOT_OK(check_rank(x, error));
  if (!lk_rank_is_known(x)) return LK_OK;
  lk_tensor_desc to = channels_second(self->node, x);
  LK_RETURN_NOT_OK(
      lk_window_infer(&params->window, to.rank - 2, to.dims + 2, NULL, self->dims, shape, error));
  if (!params->window.ceil_mode) lk_window_pad_excess(shape, to.dims + 2); /* as in ONNX Runtime */
  memcpy(to.dims + 2, shape->out, shape->rank * sizeof shape->out[0]);
  if (params->is_last) to = lk_shape_channels_last(&to);
  lk_shape_of_input(self, 0, 0);
  memcpy(self->outputs[0].dims, to.dims, to.rank * sizeof *to.dims);
  return LK_OK;
}

static lk_status infer_global(lk_inference *self, lk_error *error) {
  LK_RETURN_NOT_OK(check(self, error));
  LK_RETURN_NOT_OK(check_rank(&self->inputs[0].desc, error));
  lk_shape_of_input(self, 0, 0);
  const bool is_last = ((const pool_params *)self->node->params)->is_last;
  lk_tensor_desc *to = &self->outputs[0];
  for (uint32_t i = 2; lk_rank_is_known(to) && i < to->rank; i++) to->dims[i - is_last] = 1;
  return LK_OK;
}

/* Means, in f32 between dequantizing and quantizing. */
static lk_status average(lk_planner *planner, const lk_operand *real, const lk_operand *pooled,
                         lk_error *error) {
  const lk_tensor_desc *x = &real->desc;
  const pool_params *params = planner->node->params;
  if (planner->found != NULL && planner->node->class_->found_size > 0) {
    lk_task task;
    lk_task_pool(&task, params->kind, planner->found, real, pooled);
    return lk_plan_task(planner, &task, error);
  }
  const uint32_t spatial = ((1U << x->rank) - 1) & ~3U;
  const lk_reduction mean = {LK_REDUCE_SUM, .divisor = (double)lk_count_dims(x, 2, x->rank)};
  return lk_plan_reduce_step(planner, real, pooled, spatial, &mean, error);
}

/* The numbers of input 0 in f32. */
static lk_status plan_real(lk_planner *planner, lk_layout layout, lk_operand *out_real,
                           lk_error *error) {
  lk_operand x;
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &x, error));
  lk_tensor_desc desc = x.desc;
  desc.dtype = LK_F32;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, out_real, error));
  lk_chain_begin_at(planner, out_real, &chain);
  chain.value = lk_chain_operand(&chain, &x);
  LK_RETURN_NOT_OK(lk_chain_dequantize(&chain, 1, 2, &chain.value, error));
  return lk_chain_step(&chain, error);
}

/* Numbers of f32 as the output. */
static lk_status plan_whole(lk_planner *planner, const lk_operand *real, const lk_operand *y,
                            lk_error *error) {
  lk_chain chain;
  lk_chain_begin_at(planner, y, &chain);
  chain.value = lk_chain_operand(&chain, real);
  LK_RETURN_NOT_OK(lk_chain_quantize(&chain, 3, 4, &chain.value, error));
  return lk_chain_step(&chain, error);
}

static lk_layout pool_layout(lk_planner *planner) {
  const bool is_last = ((const pool_params *)planner->node->params)->is_last;
  return is_last ? LK_LAYOUT_PLAIN : lk_image_layout(planner, 0);
}

static lk_status plan_pool(lk_planner *planner, lk_error *error) {
  lk_operand y, real, pooled;
  const lk_layout layout = pool_layout(planner);
  if (lk_elements(&planner->inputs[0].desc) == 0) {
    return lk_refuse(&planner->inputs[0].desc, "the input", "one with elements", error);
  }
  LK_RETURN_NOT_OK(plan_real(planner, layout, &real, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &y, error));
  real.desc = channels_second(planner->node, &real.desc);
  y.desc = channels_second(planner->node, &y.desc);
  lk_tensor_desc to = y.desc;
  to.dtype = LK_F32;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &to, &pooled, error));
  LK_RETURN_NOT_OK(average(planner, &real, &pooled, error));
  return plan_whole(planner, &pooled, &y, error);
}

/* Of all pixels: sums of bytes, where they fit. */
static lk_status plan_global(lk_planner *planner, lk_error *error) {
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  const bool is_last = ((const pool_params *)planner->node->params)->is_last;
  const lk_layout layout = pool_layout(planner);
  const bool is_inner = is_last || layout == LK_LAYOUT_CHANNELS_LAST;
  const lk_tensor_desc seen = channels_second(planner->node, x);
  const int64_t count = lk_count_dims(&seen, 2, seen.rank);
  if (lk_elements(x) == 0 || count > LK_INTEGER_SUMMED) return plan_pool(planner, error);
  const lk_byte_means means = {.outer = is_inner ? seen.dims[0] : seen.dims[0] * seen.dims[1],
                               .count = count,
                               .channels = is_inner ? seen.dims[1] : 1};
  lk_byte_operand from, to;
  LK_RETURN_NOT_OK(take_bytes(planner, layout, &from, &to, error));
  return lk_plan_byte_means(planner, &means, &from, &to, error);
}

/* ---- Softmax ---- */

typedef struct softmax_params {
  int64_t axis;
  bool flattens; /* of an opset before 13: over all dimensions from `axis` on */
} softmax_params;

static void parse_softmax(lk_attrs *attrs, void *params) {
  softmax_params *self = params;
  self->flattens = lk_attrs_int(attrs, "opset") < 13;
  self->axis = lk_attrs_int(attrs, "axis");
}

static lk_status infer_softmax(lk_inference *self, lk_error *error) {
  const softmax_params *params = self->node->params;
  uint32_t axis = 0;
  LK_RETURN_NOT_OK(check(self, error));
  if (lk_rank_is_known(&self->inputs[0].desc)) {
    LK_RETURN_NOT_OK(lk_attr_axis(params->axis, &self->inputs[0].desc, &axis, error));
  }
  return lk_infer_same(self, error);
}

static lk_status plan_softmax(lk_planner *planner, lk_error *error) {
  const softmax_params *params = planner->node->params;
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  const uint32_t axis = (uint32_t)lk_axis(params->axis, x->rank);
  const uint32_t end = params->flattens ? x->rank : axis + 1;
  lk_operand y, real;
  lk_task task;
  LK_RETURN_NOT_OK(plan_real(planner, LK_LAYOUT_PLAIN, &real, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &y, error));
  lk_task_begin(&task, LK_WORK_SOFTMAX);
  lk_task_place(&task, LK_ROLE_SRC, &real);
  lk_task_place(&task, LK_ROLE_DST, &real);
  task.work.axes = ((1U << end) - 1) & ~((1U << axis) - 1);
  LK_RETURN_NOT_OK(lk_plan_task(planner, &task, error));
  return plan_whole(planner, &real, &y, error);
}

#define BYTES (LK_TYPE(LK_U8) | LK_TYPE(LK_I8))
#define ROW(name, summary_text, least, most, letters)                                              \
  LK_OP_ROW(name, "com.microsoft", 1, summary_text,                                                \
            .flags = LK_OP_WORTH_CLAIMING | LK_OP_QUANTIZES, .min_inputs = least,                  \
            .max_inputs = most, .max_outputs = 1, .input_types = letters, .output_types = "T",     \
            .types = {BYTES, LK_TYPES_F32})
#define BINARY(symbol, name, summary_text, op)                                                     \
  const lk_op_class lk_op_##symbol = {ROW(name, summary_text, 2, 8, "TUTTUTUT"), .variant = op,    \
                                      .infer = infer_binary, .plan = plan_binary}
#define POOL_ROW(name, summary_text) ROW(name, summary_text, 2, 5, "TUTUT")

BINARY(qlinear_add, "QLinearAdd", "Sum of quantized tensors, quantized", LK_ELEMENT_ADD);
BINARY(qlinear_mul, "QLinearMul", "Product of quantized tensors, quantized", LK_ELEMENT_MUL);
const lk_op_class lk_op_qlinear_sigmoid = {
    ROW("QLinearSigmoid", "Sigmoid of a quantized tensor, quantized", 2, 5, "TUTUT"),
    .variant = LK_ELEMENT_SIGMOID,
    .infer = infer_unary,
    .plan = plan_unary,
};
const lk_op_class lk_op_qlinear_leaky_relu = {
    ROW("QLinearLeakyRelu", "LeakyRelu of a quantized tensor, quantized", 2, 5, "TUTUT"),
    .variant = LK_ELEMENT_LEAKY_RELU,
    LK_OP_ATTRS(LK_FLOAT("alpha", 0.01F)),
    LK_OP_PARAM(float, "alpha"),
    .infer = infer_unary,
    .plan = plan_unary,
};
const lk_op_class lk_op_qlinear_average_pool = {
    POOL_ROW("QLinearAveragePool", "Mean of each window of a quantized tensor, quantized"),
    .params_size = sizeof(pool_params),
    .found_size = sizeof(lk_window_shape),
    LK_OP_ATTRS(
        LK_AUTO_PAD_ATTR, LK_FLAG("ceil_mode", 0), LK_FLAG("channels_last", 0),
        LK_FLAG("count_include_pad", 0), LK_INTS("dilations"),
        /* of AveragePool, which passes make one of */ LK_INTS("kernel_shape", .is_required = 1),
        LK_INTS("pads"), LK_INTS("strides")),
    .parse = parse_pool,
    .infer = infer_pool,
    .plan = plan_pool,
};
const lk_op_class lk_op_qlinear_global_average_pool = {
    POOL_ROW("QLinearGlobalAveragePool", "Mean of each channel of a quantized tensor, quantized"),
    LK_OP_ATTRS(LK_FLAG("channels_last", 0)),
    LK_OP_PARAMS(pool_params, LK_PARAM(pool_params, is_last, "channels_last")),
    .infer = infer_global,
    .plan = plan_global,
};
const lk_op_class lk_op_qlinear_softmax = {
    ROW("QLinearSoftmax", "Softmax of a quantized tensor, quantized", 2, 5, "TUTUT"),
    .params_size = sizeof(softmax_params),
    LK_OP_ATTRS(LK_INT("axis", -1), LK_REQUIRED_INT("opset")),
    .parse = parse_softmax,
    .infer = infer_softmax,
    .plan = plan_softmax,
};
