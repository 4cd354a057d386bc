/* MatMulInteger, QLinearMatMul (ONNX operators of these names), QGemm, MatMulIntegerToFloat and
 * DynamicQuantizeMatMul of com.microsoft: products of matrices of bytes, exact in i32. */
#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/quantized_steps.h"
#include "ops/plan/work.h"

#define BYTES (LK_TYPE(LK_U8) | LK_TYPE(LK_I8))

/* Which inputs are what; 0, which is A: the operator has none. */
enum { INTEGER, QLINEAR, TO_FLOAT, DYNAMIC, QGEMM }; /* the class's variants */
static const uint32_t inputs_of[][LK_ROLES] = {
    [INTEGER] = {[LK_ROLE_WEIGHTS] = 1, [LK_ROLE_SRC_ZERO] = 2, [LK_ROLE_WEIGHTS_ZERO] = 3},
    [QLINEAR] = {[LK_ROLE_SRC_SCALE] = 1,
                 [LK_ROLE_SRC_ZERO] = 2,
                 [LK_ROLE_WEIGHTS] = 3,
                 [LK_ROLE_WEIGHTS_SCALE] = 4,
                 [LK_ROLE_WEIGHTS_ZERO] = 5,
                 [LK_ROLE_DST_SCALE] = 6,
                 [LK_ROLE_DST_ZERO] = 7},
    [TO_FLOAT] = {[LK_ROLE_WEIGHTS] = 1,
                  [LK_ROLE_SRC_SCALE] = 2,
                  [LK_ROLE_WEIGHTS_SCALE] = 3,
                  [LK_ROLE_SRC_ZERO] = 4,
                  [LK_ROLE_WEIGHTS_ZERO] = 5},
    [DYNAMIC] = {[LK_ROLE_WEIGHTS] = 1, [LK_ROLE_WEIGHTS_SCALE] = 2, [LK_ROLE_WEIGHTS_ZERO] = 3},
    [QGEMM] = {[LK_ROLE_SRC_SCALE] = 1,
               [LK_ROLE_SRC_ZERO] = 2,
               [LK_ROLE_WEIGHTS] = 3,
               [LK_ROLE_WEIGHTS_SCALE] = 4,
               [LK_ROLE_WEIGHTS_ZERO] = 5,
               [LK_ROLE_BIAS] = 6,
               [LK_ROLE_DST_SCALE] = 7,
               [LK_ROLE_DST_ZERO] = 8},
};

/* A bias of f32, which is a post-op. */
static const uint32_t real_bias_of[] = {[TO_FLOAT] = 6, [DYNAMIC] = 4};

static uint32_t own_post_ops(const lk_op_node *node, lk_post_op *out) {
  const uint32_t bias = real_bias_of[node->class_->variant];
  if (!lk_op_has(node, bias)) return 0;
  out[0] = (lk_post_op){LK_POST_ADD, (int32_t)bias, 0, 0};
  return 1;
}

/* ---- shapes ---- */

/* A zero point or scale of the whole tensor; of each column of B (`axis` 1), as a vector or with
 * all dimensions of B but rows; or of each row of A (`axis` 0) in the same way. */
static lk_status check(const lk_inference *self, lk_role role, const char *what, uint32_t axis,
                       lk_error *error) {
  const uint32_t *inputs = inputs_of[self->node->class_->variant];
  const uint32_t index = inputs[role], matrix = axis == 0 ? 0 : inputs[LK_ROLE_WEIGHTS];
  if (index == 0 || !lk_op_has(self->node, index)) return LK_OK;
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

static lk_status single(const lk_inference *self, lk_role role, const char *what, lk_error *error) {
  const uint32_t index = inputs_of[self->node->class_->variant][role];
  return index == 0 ? LK_OK : lk_infer_quantizer(self, index, what, 1, error);
}

/* ONNX has scales for each row of A, too, which ONNX Runtime and its operators do not take. */
static lk_status infer(lk_inference *self, lk_error *error) {
  const int32_t variant = self->node->class_->variant;
  const uint32_t b = inputs_of[variant][LK_ROLE_WEIGHTS];
  const lk_tensor_desc *right = &self->inputs[b].desc;
  const int64_t columns = !lk_rank_is_known(right) ? LK_DIM_UNKNOWN
                          : right->rank > 1        ? right->dims[right->rank - 1]
                                                   : 1;
  LK_RETURN_NOT_OK(check(self, LK_ROLE_SRC_ZERO, "zero point of A", 0, error));
  LK_RETURN_NOT_OK(check(self, LK_ROLE_WEIGHTS_ZERO, "zero point of B", 1, error));
  LK_RETURN_NOT_OK(check(self, LK_ROLE_WEIGHTS_SCALE, "scale of B", 1, error));
  LK_RETURN_NOT_OK(variant == QLINEAR ? check(self, LK_ROLE_SRC_SCALE, "scale of A", 0, error)
                                      : single(self, LK_ROLE_SRC_SCALE, "scale of A", error));
  LK_RETURN_NOT_OK(single(self, LK_ROLE_DST_SCALE, "scale of the output", error));
  LK_RETURN_NOT_OK(single(self, LK_ROLE_DST_ZERO, "zero point of the output", error));
  if (self->node->class_->own_post_ops != NULL) {
    LK_RETURN_NOT_OK(lk_infer_quantizer(self, real_bias_of[variant], "bias", columns, error));
  }
  return lk_infer_matmul(self, 0, b, error);
}

/* ---- plans ---- */

static void describe(const lk_planner *planner, lk_task *out) {
  const uint32_t *inputs = inputs_of[planner->node->class_->variant];
  lk_task_begin(out, LK_WORK_PRODUCT);
  lk_task_input(out, LK_ROLE_SRC, 0, &planner->inputs[0].desc);
  lk_task_output(out, LK_ROLE_DST, 0, &planner->outputs[0]);
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (inputs[role] == 0) continue;
    lk_task_optional(out, (lk_role)role, planner->node, planner->inputs, inputs[role]);
  }
  if (lk_work_has(&out->work, LK_ROLE_WEIGHTS_SCALE)) out->work.factor = 1;
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  lk_task task;
  describe(planner, &task);
  return lk_plan_task(planner, &task, error);
}

static lk_status plan_dynamic(lk_planner *planner, lk_error *error) {
  lk_task task;
  lk_quantized a;
  describe(planner, &task);
  LK_RETURN_NOT_OK(lk_plan_quantize_input(planner, 0, NULL, &a, error));
  lk_task_operand(&task, LK_ROLE_SRC, &a.y);
  lk_task_operand(&task, LK_ROLE_SRC_SCALE, &a.scale);
  lk_task_operand(&task, LK_ROLE_SRC_ZERO, &a.zero);
  return lk_plan_task(planner, &task, error);
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
    .flops = lk_product_flops,
    .plan = plan,
};
const lk_op_class lk_op_qlinear_matmul = {
    ROW("QLinearMatMul", "", 10, "Matrix product of quantized tensors, quantized", 8, 8,
        .input_types = "TWTUWUWV", .output_types = "V", .types = {BYTES, BYTES, BYTES, SCALES}),
    .variant = QLINEAR,
    .infer = infer,
    .flops = lk_product_flops,
    .plan = plan,
};
const lk_op_class lk_op_matmul_integer_to_float = {
    ROW("MatMulIntegerToFloat", "com.microsoft", 1, "Matrix product of quantized tensors, in f32",
        4, 7, .input_types = "TUWWTUW", .output_types = "W",
        .types = {BYTES, BYTES, 0, LK_TYPES_BY_F32}),
    .by_f32 = true,
    .variant = TO_FLOAT,
    .own_post_ops = own_post_ops,
    .infer = infer,
    .flops = lk_product_flops,
    .plan = plan,
};
const lk_op_class lk_op_dynamic_quantize_matmul = {
    ROW("DynamicQuantizeMatMul", "com.microsoft", 1,
        "Matrix product in bytes, quantized for it, by a quantized matrix", 3, 5,
        .input_types = "TUTUT", .output_types = "T", .types = {LK_TYPES_F32, BYTES}),
    .variant = DYNAMIC,
    .own_post_ops = own_post_ops,
    .infer = infer,
    .flops = lk_product_flops,
    .plan = plan_dynamic,
};

/* ---- QGemm ---- */

enum { QGEMM_B = 3, QGEMM_C = 6, QGEMM_Y_SCALE = 7, QGEMM_Y_ZERO = 8 };

typedef struct qgemm_params {
  float alpha;
  bool transpose_a, transpose_b;
} qgemm_params;

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

static lk_status plan_qgemm(lk_planner *planner, lk_error *error) {
  const qgemm_params *params = planner->node->params;
  lk_task task;
  describe(planner, &task);
  task.work.orders[0].swaps = params->transpose_a;
  task.work.orders[1].swaps = params->transpose_b;
  task.work.factor = params->alpha;
  return lk_plan_task(planner, &task, error);
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
    .variant = QGEMM,
    LK_OP_ATTRS(LK_FLOAT("alpha", 1), LK_FLAG("transA", 0), LK_FLAG("transB", 0)),
    LK_OP_PARAMS(qgemm_params, LK_PARAM(qgemm_params, alpha, "alpha"),
                 LK_PARAM(qgemm_params, transpose_a, "transA"),
                 LK_PARAM(qgemm_params, transpose_b, "transB")),
    .infer = infer_qgemm,
    .flops = qgemm_flops,
    .plan = plan_qgemm,
};
