/* Operators of com.microsoft on quantized tensors that are those on real numbers between
 * dequantizing and quantizing: QLinearAdd, QLinearMul, QLinearSigmoid, QLinearLeakyRelu,
 * QLinearSoftmax. ONNX Runtime has tables and other formulas for some of them, which may round a
 * number between two the other way. */
#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/sizes.h"
#include "ops/plan/moves.h"
#include "ops/plan/quantized_steps.h"
#include "ops/plan/work.h"

/* ---- element by element ---- */

static lk_status infer_binary(lk_inference *self, lk_error *error) {
  LK_RETURN_NOT_OK(lk_infer_quantizers(self, error));
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
  LK_RETURN_NOT_OK(lk_infer_quantizers(self, error));
  return lk_infer_same(self, error);
}

static lk_status plan_unary(lk_planner *planner, lk_error *error) {
  const lk_op_class *class_ = planner->node->class_;
  const float p = class_->params_size > 0 ? *(const float *)planner->node->params : 0;
  const lk_layout layout = planner->inputs[0].desc.layout;
  return lk_plan_byte_table(planner, (lk_element_op)class_->variant, p, layout, error);
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
  LK_RETURN_NOT_OK(lk_infer_quantizers(self, error));
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
  LK_RETURN_NOT_OK(lk_plan_dequantized(planner, LK_LAYOUT_PLAIN, &real, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &y, error));
  lk_task_begin(&task, LK_WORK_SOFTMAX);
  lk_task_place(&task, LK_ROLE_SRC, &real);
  lk_task_place(&task, LK_ROLE_DST, &real);
  task.work.axes = ((1U << end) - 1) & ~((1U << axis) - 1);
  LK_RETURN_NOT_OK(lk_plan_task(planner, &task, error));
  return lk_plan_quantized(planner, &real, &y, error);
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
const lk_op_class lk_op_qlinear_softmax = {
    ROW("QLinearSoftmax", "Softmax of a quantized tensor, quantized", 2, 5, "TUTUT"),
    .params_size = sizeof(softmax_params),
    LK_OP_ATTRS(LK_INT("axis", -1), LK_REQUIRED_INT("opset")),
    .parse = parse_softmax,
    .infer = infer_softmax,
    .plan = plan_softmax,
};
