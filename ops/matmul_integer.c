/* MatMulInteger, QLinearMatMul (ONNX operators of these names), QGemm, MatMulIntegerToFloat and
 * DynamicQuantizeMatMul of com.microsoft: products of matrices of bytes, exact in i32. */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/integer_steps.h"
#include "ops/plan/matmul_shape.h"
#include "ops/plan/quantized_steps.h"

#define BYTES (LK_TYPE(LK_U8) | LK_TYPE(LK_I8))

/* Which inputs are what; -1: the operator has none. */
typedef struct roles {
  int32_t a_scale, a_zero, b, b_scale, b_zero, c_scale, c_zero, bias;
} roles;

enum { INTEGER, QLINEAR, TO_FLOAT, DYNAMIC }; /* the class's variants */
static const roles roles_of[] = {
    [INTEGER] = {-1, 2, 1, -1, 3, -1, -1, -1},
    [QLINEAR] = {1, 2, 3, 4, 5, 6, 7, -1},
    [TO_FLOAT] = {2, 4, 1, 3, 5, -1, -1, 6},
    [DYNAMIC] = {-1, -1, 1, 2, 3, -1, -1, 4},
};

/* ---- shapes ---- */

/* A zero point or scale of the whole tensor; of each column of B (`axis` 1), as a vector or with
 * all dimensions of B but rows; or of each row of A (`axis` 0) in the same way. */
static lk_status check(const lk_inference *self, int32_t index, const char *what, uint32_t matrix,
                       uint32_t axis, lk_error *error) {
  if (index < 0 || !lk_op_has(self->node, (uint32_t)index)) return LK_OK;
  const lk_tensor_desc *of = &self->inputs[matrix].desc, *given = &self->inputs[index].desc;
  if (!lk_shape_is_known(given) || !lk_rank_is_known(of)) return LK_OK;
  if (given->rank <= 1 && lk_elements(given) == 1) return LK_OK;
  const uint32_t rank = of->rank;
  bool fits = rank >= 2 && (given->rank == rank || (given->rank == 1 && rank == 2));
  for (uint32_t i = 0; fits && i < given->rank; i++) {
    const uint32_t dim = given->rank == rank ? i : axis;
    const bool is_summed = given->rank == rank && i == rank - 1 - axis;
    fits = is_summed ? given->dims[i] == 1 : !lk_dims_differ(given->dims[i], of->dims[dim]);
  }
  if (fits) return LK_OK;
  char text[LK_TENSOR_TEXT_CAPACITY];
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "the %s is %s, it must have one value, or one for each %s of each matrix", what,
                 lk_tensor_text(given, text), axis == 0 ? "row" : "column");
}

static lk_status single(const lk_inference *self, int32_t index, const char *what,
                        lk_error *error) {
  return index < 0 ? LK_OK : lk_infer_quantizer(self, (uint32_t)index, what, 1, error);
}

/* ONNX has scales for each row of A, too, which ONNX Runtime and its operators do not take. */
static lk_status infer(lk_inference *self, lk_error *error) {
  const bool has_rows = self->node->class_->variant == QLINEAR;
  const roles *of = &roles_of[self->node->class_->variant];
  const uint32_t b = (uint32_t)of->b;
  const lk_tensor_desc *right = &self->inputs[b].desc;
  const int64_t columns =
      lk_rank_is_known(right) && right->rank > 1 ? right->dims[right->rank - 1] : LK_DIM_UNKNOWN;
  LK_RETURN_NOT_OK(check(self, of->a_zero, "zero point of A", 0, 0, error));
  LK_RETURN_NOT_OK(check(self, of->b_zero, "zero point of B", b, 1, error));
  LK_RETURN_NOT_OK(check(self, of->b_scale, "scale of B", b, 1, error));
  LK_RETURN_NOT_OK(has_rows ? check(self, of->a_scale, "scale of A", 0, 0, error)
                            : single(self, of->a_scale, "scale of A", error));
  LK_RETURN_NOT_OK(single(self, of->c_scale, "scale of the output", error));
  LK_RETURN_NOT_OK(single(self, of->c_zero, "zero point of the output", error));
  if (of->bias >= 0) {
    LK_RETURN_NOT_OK(lk_infer_quantizer(self, (uint32_t)of->bias, "bias", columns, error));
  }
  return lk_infer_matmul(self, 0, b, error);
}

static double flops_of(const lk_op_node *node, const lk_tensor *inputs,
                       const lk_tensor_desc *outputs) {
  (void)node;
  const lk_tensor_desc *a = &inputs[0].desc;
  return 2 * (double)lk_elements(&outputs[0]) * (double)a->dims[a->rank - 1];
}

/* ---- plans ---- */

static lk_status take(lk_planner *planner, lk_integer_step *step, lk_integer_role role,
                      int32_t index, lk_error *error) {
  return index < 0 ? LK_OK : lk_integer_take(planner, step, role, (uint32_t)index, error);
}

/* The output += bias, of f32. */
static lk_status add_bias(lk_planner *planner, int32_t index, const lk_operand *to,
                          lk_error *error) {
  lk_chain chain;
  lk_operand bias;
  if (index < 0 || !lk_op_has(planner->node, (uint32_t)index)) return LK_OK;
  LK_RETURN_NOT_OK(lk_planner_input(planner, (uint32_t)index, LK_LAYOUT_PLAIN, &bias, error));
  lk_chain_begin_at(planner, to, &chain);
  const lk_element_value product = lk_chain_operand(&chain, to);
  const lk_element_value added = lk_chain_operand(&chain, &bias);
  chain.value = lk_element_binary(&chain.program, LK_ELEMENT_ADD, product, added);
  return lk_chain_step(&chain, error);
}

/* A is the step's already where it is no input of bytes, and so are its scale and zero point. */
static lk_status plan_step(lk_planner *planner, lk_integer_step *step, const lk_operand *a_scale,
                           lk_error *error) {
  const roles *of = &roles_of[planner->node->class_->variant];
  LK_RETURN_NOT_OK(take(planner, step, LK_INTEGER_A_ZERO, of->a_zero, error));
  LK_RETURN_NOT_OK(take(planner, step, LK_INTEGER_B_ZERO, of->b_zero, error));
  LK_RETURN_NOT_OK(take(planner, step, LK_INTEGER_C_ZERO, of->c_zero, error));
  if (of->b_scale >= 0) {
    LK_RETURN_NOT_OK(
        lk_integer_scale(planner, step, 1, a_scale, (uint32_t)of->b_scale, of->c_scale, error));
  }
  LK_RETURN_NOT_OK(lk_integer_emit(planner, step, (uint32_t)of->b, error));
  return add_bias(planner, of->bias, &step->operands[LK_INTEGER_C], error);
}

static void begin(lk_planner *planner, lk_integer_step *step) {
  const int32_t b = roles_of[planner->node->class_->variant].b;
  lk_tensor_desc left = planner->inputs[0].desc, right = planner->inputs[b].desc;
  left.layout = right.layout = LK_LAYOUT_PLAIN; /* as they are taken */
  const lk_matmul matmul = lk_matmul_of(&left, &right, &planner->outputs[0]);
  lk_integer_matmul(&matmul, step);
}

/* A scale as it broadcasts to the output; `is_rows`: a vector has a number for each row. */
static lk_status take_scale(lk_chain *chain, int32_t index, bool is_rows, lk_element_value *out,
                            lk_error *error) {
  lk_operand scale;
  LK_RETURN_NOT_OK(
      lk_planner_input(chain->planner, (uint32_t)index, LK_LAYOUT_PLAIN, &scale, error));
  if (lk_elements(&scale.desc) == 1) scale.desc.rank = 0;
  if (is_rows && scale.desc.rank == 1) scale.desc.dims[scale.desc.rank++] = 1;
  *out = lk_element_cast(&chain->program, lk_chain_operand(chain, &scale), LK_F32);
  return LK_OK;
}

/* With a scale for each row of A: exact sums, which another step scales. */
static lk_status plan_rows(lk_planner *planner, lk_error *error) {
  const roles *of = &roles_of[QLINEAR];
  lk_integer_step step;
  lk_operand sums, to;
  lk_chain chain;
  lk_element_value a_scale, b_scale;
  lk_tensor_desc desc = planner->outputs[0];
  desc.dtype = LK_I32;
  begin(planner, &step);
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &to, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &sums, error));
  LK_RETURN_NOT_OK(lk_integer_take(planner, &step, LK_INTEGER_A, 0, error));
  LK_RETURN_NOT_OK(take(planner, &step, LK_INTEGER_A_ZERO, of->a_zero, error));
  LK_RETURN_NOT_OK(take(planner, &step, LK_INTEGER_B_ZERO, of->b_zero, error));
  lk_integer_give(&step, LK_INTEGER_C, &sums);
  LK_RETURN_NOT_OK(lk_integer_emit(planner, &step, (uint32_t)of->b, error));
  lk_chain_begin_at(planner, &to, &chain);
  chain.value = lk_element_cast(&chain.program, lk_chain_operand(&chain, &sums), LK_F32);
  LK_RETURN_NOT_OK(take_scale(&chain, of->a_scale, true, &a_scale, error));
  LK_RETURN_NOT_OK(take_scale(&chain, of->b_scale, false, &b_scale, error));
  const lk_element_value scale =
      lk_element_binary(&chain.program, LK_ELEMENT_MUL, a_scale, b_scale);
  chain.value = lk_element_binary(&chain.program, LK_ELEMENT_MUL, chain.value, scale);
  LK_RETURN_NOT_OK(
      lk_chain_quantize(&chain, (uint32_t)of->c_scale, (uint32_t)of->c_zero, &chain.value, error));
  return lk_chain_step(&chain, error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const roles *of = &roles_of[planner->node->class_->variant];
  lk_integer_step step;
  lk_operand a_scale = {0};
  if (of == &roles_of[QLINEAR] && lk_elements(&planner->inputs[of->a_scale].desc) != 1) {
    return plan_rows(planner, error);
  }
  begin(planner, &step);
  LK_RETURN_NOT_OK(lk_integer_take(planner, &step, LK_INTEGER_A, 0, error));
  if (of->a_scale >= 0) {
    LK_RETURN_NOT_OK(
        lk_planner_input(planner, (uint32_t)of->a_scale, LK_LAYOUT_PLAIN, &a_scale, error));
  }
  return plan_step(planner, &step, &a_scale, error);
}

static lk_status plan_dynamic(lk_planner *planner, lk_error *error) {
  lk_integer_step step;
  lk_quantized a;
  begin(planner, &step);
  LK_RETURN_NOT_OK(lk_plan_quantize_input(planner, 0, NULL, &a, error));
  lk_integer_give(&step, LK_INTEGER_A, &a.y);
  lk_integer_give(&step, LK_INTEGER_A_ZERO, &a.zero);
  return plan_step(planner, &step, &a.scale, error);
}

#define ROW(name, domain_text, first, summary_text, least, most, ...)                              \
  LK_OP_ROW(name, domain_text, first, summary_text,                                                \
            .flags = LK_OP_WORTH_CLAIMING | LK_OP_QUANTIZES, .min_inputs = least,                  \
            .max_inputs = most, .max_outputs = 1, __VA_ARGS__)
#define SCALES (LK_TYPE(LK_F32) | LK_TYPE(LK_F16) | LK_TYPE(LK_BF16))

const lk_op_class lk_op_matmul_integer = {
    ROW("MatMulInteger", "", 10, "Matrix product of bytes less zero points, exact sums of i32", 2,
        4, .input_types = "TUTU", .output_types = "V", .types = {BYTES, BYTES, LK_TYPE(LK_I32)}),
    .variant = INTEGER,
    .infer = infer,
    .flops = flops_of,
    .plan = plan,
};
const lk_op_class lk_op_qlinear_matmul = {
    ROW("QLinearMatMul", "", 10, "Matrix product of quantized tensors, quantized", 8, 8,
        .input_types = "TWTUWUWV", .output_types = "V", .types = {BYTES, BYTES, BYTES, SCALES}),
    .variant = QLINEAR,
    .infer = infer,
    .flops = flops_of,
    .plan = plan,
};
const lk_op_class lk_op_matmul_integer_to_float = {
    ROW("MatMulIntegerToFloat", "com.microsoft", 1, "Matrix product of quantized tensors, in f32",
        4, 7, .input_types = "TUWWTUW", .output_types = "W",
        .types = {BYTES, BYTES, 0, LK_TYPES_BY_F32}),
    .by_f32 = true,
    .variant = TO_FLOAT,
    .infer = infer,
    .flops = flops_of,
    .plan = plan,
};
const lk_op_class lk_op_dynamic_quantize_matmul = {
    ROW("DynamicQuantizeMatMul", "com.microsoft", 1,
        "Matrix product in bytes, quantized for it, by a quantized matrix", 3, 5,
        .input_types = "TUTUT", .output_types = "T", .types = {LK_TYPES_F32, BYTES}),
    .variant = DYNAMIC,
    .infer = infer,
    .flops = flops_of,
    .plan = plan_dynamic,
};

/* ---- QGemm ---- */

enum { QGEMM_B = 3, QGEMM_C = 6, QGEMM_Y_SCALE = 7, QGEMM_Y_ZERO = 8 };

typedef struct qgemm_params {
  float alpha;
  bool transpose_a, transpose_b;
} qgemm_params;

static void parse_qgemm(lk_attrs *attrs, void *params) {
  qgemm_params *self = params;
  self->alpha = lk_attrs_float(attrs, "alpha");
  self->transpose_a = lk_attrs_bool(attrs, "transA");
  self->transpose_b = lk_attrs_bool(attrs, "transB");
}

/* f32 without a zero point of the output, else the zero point's type. */
static lk_status find_type(lk_inference *self, lk_error *error) {
  const uint32_t c = lk_op_has(self->node, QGEMM_C) ? self->inputs[QGEMM_C].desc.dtype : LK_I32;
  const bool has_zero = lk_op_has(self->node, QGEMM_Y_ZERO);
  const uint32_t y = has_zero ? self->inputs[QGEMM_Y_ZERO].desc.dtype : LK_F32;
  if (has_zero != lk_op_has(self->node, QGEMM_Y_SCALE)) {
    return lk_fail(
        error, LK_INVALID_ARGUMENT,
        "one of input 7 (y_scale) and input 8 (y_zero_point) is given, both or neither must be");
  }
  self->outputs[0].dtype = y;
  if (c != LK_DTYPE_NONE && c != LK_I32) {
    return lk_fail(error, LK_UNSUPPORTED, "input 6 (C) is of type %s; i32 is supported",
                   lk_dtype_name(c));
  }
  if (y != LK_DTYPE_NONE && y != LK_F32 && (LK_TYPE(y) & BYTES) == 0) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "input 8 (y_zero_point) is of type %s; u8 and i8 are supported",
                   lk_dtype_name(y));
  }
  return LK_OK;
}

static lk_status check_qgemm(const lk_inference *self, int64_t columns, lk_error *error) {
  LK_RETURN_NOT_OK(lk_infer_quantizer(self, 1, "a_scale", 1, error));
  LK_RETURN_NOT_OK(lk_infer_quantizer(self, 2, "a_zero_point", 1, error));
  LK_RETURN_NOT_OK(lk_infer_quantizer(self, 4, "b_scale", columns, error));
  LK_RETURN_NOT_OK(lk_infer_quantizer(self, 5, "b_zero_point", columns, error));
  LK_RETURN_NOT_OK(lk_infer_quantizer(self, QGEMM_Y_SCALE, "y_scale", 1, error));
  return lk_infer_quantizer(self, QGEMM_Y_ZERO, "y_zero_point", 1, error);
}

static lk_status infer_qgemm(lk_inference *self, lk_error *error) {
  const qgemm_params *params = self->node->params;
  lk_tensor_desc a = self->inputs[0].desc, b = self->inputs[QGEMM_B].desc;
  lk_tensor_desc *to = &self->outputs[0];
  LK_RETURN_NOT_OK(find_type(self, error));
  if (!lk_rank_is_known(&a)) lk_shape_open(&a, 2);
  if (!lk_rank_is_known(&b)) lk_shape_open(&b, 2);
  if (a.rank != 2 || b.rank != 2 ||
      lk_dims_differ(a.dims[params->transpose_a ? 0 : 1], b.dims[params->transpose_b ? 1 : 0])) {
    char a_text[LK_TENSOR_TEXT_CAPACITY], b_text[LK_TENSOR_TEXT_CAPACITY];
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "the shapes %s and %s cannot be multiplied, two matrices are required, and the "
                   "columns of the first must be the rows of the second",
                   lk_tensor_text(&a, a_text), lk_tensor_text(&b, b_text));
  }
  to->rank = 2;
  to->dims[0] = a.dims[params->transpose_a ? 1 : 0];
  to->dims[1] = b.dims[params->transpose_b ? 0 : 1];
  LK_RETURN_NOT_OK(check_qgemm(self, to->dims[1], error));
  const lk_tensor_desc *c = &self->inputs[QGEMM_C].desc;
  if (!lk_op_has(self->node, QGEMM_C) || !lk_shape_is_known(to) || !lk_shape_is_known(c)) {
    return LK_OK;
  }
  lk_tensor_desc together = {0};
  LK_RETURN_NOT_OK(lk_broadcast_dims(NULL, to, c, &together, error));
  return lk_shape_equal(&together, to) ? LK_OK
                                       : lk_refuse(c, "C", "one that broadcasts to Y", error);
}

/* The bias is what C is; its strides follow from its shape. */
static lk_status take_c(lk_planner *planner, lk_integer_step *step, lk_error *error) {
  if (!lk_op_has(planner->node, QGEMM_C)) return LK_OK;
  LK_RETURN_NOT_OK(lk_integer_take(planner, step, LK_INTEGER_BIAS, QGEMM_C, error));
  const lk_tensor_desc *c = &planner->inputs[QGEMM_C].desc;
  const bool has_columns = c->rank > 0 && c->dims[c->rank - 1] != 1;
  step->product.bias_matrix = 0;
  step->product.bias_column = has_columns ? 1 : 0;
  step->product.bias_row = c->rank == 2 && c->dims[0] != 1 ? (has_columns ? c->dims[1] : 1) : 0;
  return LK_OK;
}

static lk_status plan_qgemm(lk_planner *planner, lk_error *error) {
  const qgemm_params *params = planner->node->params;
  const lk_tensor_desc *a = &planner->inputs[0].desc, *b = &planner->inputs[QGEMM_B].desc;
  const bool has_scale = lk_op_has(planner->node, QGEMM_Y_SCALE);
  const lk_matmul matmul = {.rows = a->dims[params->transpose_a ? 1 : 0],
                            .columns = b->dims[params->transpose_b ? 0 : 1],
                            .k = a->dims[params->transpose_a ? 0 : 1],
                            .a_row = params->transpose_a ? 1 : a->dims[1],
                            .a_k = params->transpose_a ? a->dims[1] : 1,
                            .b_k = params->transpose_b ? 1 : b->dims[1],
                            .b_column = params->transpose_b ? b->dims[1] : 1};
  lk_integer_step step;
  lk_operand a_scale;
  lk_integer_matmul(&matmul, &step);
  LK_RETURN_NOT_OK(lk_integer_take(planner, &step, LK_INTEGER_A, 0, error));
  LK_RETURN_NOT_OK(lk_integer_take(planner, &step, LK_INTEGER_A_ZERO, 2, error));
  LK_RETURN_NOT_OK(lk_integer_take(planner, &step, LK_INTEGER_B_ZERO, 5, error));
  LK_RETURN_NOT_OK(lk_integer_take(planner, &step, LK_INTEGER_C_ZERO, QGEMM_Y_ZERO, error));
  LK_RETURN_NOT_OK(take_c(planner, &step, error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, 1, LK_LAYOUT_PLAIN, &a_scale, error));
  LK_RETURN_NOT_OK(lk_integer_scale(planner, &step, params->alpha, &a_scale, 4,
                                    has_scale ? QGEMM_Y_SCALE : -1, error));
  return lk_integer_emit(planner, &step, QGEMM_B, error);
}

static double qgemm_flops(const lk_op_node *node, const lk_tensor *inputs,
                          const lk_tensor_desc *outputs) {
  (void)node;
  const int64_t rows = outputs[0].dims[0];
  const double sums = rows > 0 ? (double)lk_elements(&inputs[0].desc) / (double)rows : 0;
  return 2 * (double)lk_elements(&outputs[0]) * sums;
}

const lk_op_class lk_op_qgemm = {
    ROW("QGemm", "com.microsoft", 1, "Gemm of quantized tensors, quantized or in f32", 6, 9,
        .input_types = "TWTUWU?W?", .output_types = "?", .types = {BYTES, BYTES, 0, LK_TYPES_F32}),
    .params_size = sizeof(qgemm_params),
    LK_OP_ATTRS(LK_FLOAT("alpha", 1), LK_FLAG("transA", 0), LK_FLAG("transB", 0)),
    .parse = parse_qgemm,
    .infer = infer_qgemm,
    .flops = qgemm_flops,
    .plan = plan_qgemm,
};
