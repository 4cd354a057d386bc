/* MatMul and Gemm (ONNX operators of these names), FusedMatMul, TransposeMatMul and FusedGemm
 * (com.microsoft). */
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/fused_activation.h"
#include "ops/plan/work.h"

static lk_status fail_shapes(const lk_tensor *inputs, lk_error *error) {
  char a[LK_TENSOR_TEXT_CAPACITY], b[LK_TENSOR_TEXT_CAPACITY];
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "the shapes %s and %s cannot be multiplied, two matrices are required, and after "
                 "transA and transB the columns of the first must be the rows of the second",
                 lk_tensor_text(&inputs[0].desc, a), lk_tensor_text(&inputs[1].desc, b));
}

/* ---- MatMul; FusedMatMul: alpha A' B' ---- */

typedef struct matmul_params {
  lk_matmul_order orders[2]; /* of A and B; MatMul's are numpy's */
  float alpha;
} matmul_params;

static void parse_fused(lk_attrs *attrs, void *params) {
  matmul_params *self = params;
  self->alpha = lk_attrs_float(attrs, "alpha");
  self->orders[0].swaps = lk_attrs_bool(attrs, "transA");
  self->orders[1].swaps = lk_attrs_bool(attrs, "transB");
  if (!lk_attrs_lists(attrs, "transBatchA")) return;
  self->orders[0].batch_inside = lk_attrs_bool(attrs, "transBatchA");
  self->orders[1].batch_inside = lk_attrs_bool(attrs, "transBatchB");
}

static uint32_t fused_post_ops(const lk_op_node *node, lk_post_op *out) {
  const matmul_params *self = node->params;
  if (self->alpha == 1.0F) return 0;
  out[0] = (lk_post_op){LK_POST_LINEAR, -1, self->alpha, -0.0F};
  return 1;
}

static lk_status infer_matmul(lk_inference *self, lk_error *error) {
  const matmul_params *params = self->node->params;
  return lk_infer_matmul_ordered(self, params->orders, error);
}

static lk_status plan_product(lk_planner *planner, const lk_matmul_order orders[2],
                              lk_error *error) {
  const lk_tensor *inputs = planner->inputs;
  if (lk_elements(&inputs[0].desc) == 0) return lk_plan_sum_of_nothing(planner, -1, error);
  lk_task task;
  lk_task_begin(&task, LK_WORK_PRODUCT);
  lk_task_input(&task, LK_ROLE_SRC, 0, &inputs[0].desc);
  lk_task_input(&task, LK_ROLE_WEIGHTS, 1, &inputs[1].desc);
  lk_task_output(&task, LK_ROLE_DST, 0, &planner->outputs[0]);
  memcpy(task.work.orders, orders, sizeof task.work.orders);
  return lk_plan_task(planner, &task, error);
}

static lk_status plan_matmul(lk_planner *planner, lk_error *error) {
  const matmul_params *params = planner->node->params;
  return plan_product(planner, params->orders, error);
}

/* ---- Gemm: alpha A' B' + beta C ---- */

typedef struct gemm_params {
  float alpha, beta;
  bool transpose_a, transpose_b;
  bool is_activated; /* FusedGemm */
  lk_post_op activation;
} gemm_params;

static void parse_activation(lk_attrs *attrs, void *params) {
  gemm_params *self = params;
  self->is_activated = lk_attrs_activation(attrs, &self->activation);
}

static lk_tensor_desc transposed(const lk_tensor_desc *desc, bool swap) {
  const int64_t dims[] = {desc->dims[swap ? 1 : 0], desc->dims[swap ? 0 : 1]};
  return lk_tensor_desc_make(desc->dtype, 2, dims);
}

static lk_status infer_gemm(lk_inference *self, lk_error *error) {
  const gemm_params *params = self->node->params;
  lk_tensor_desc *to = &self->outputs[0];
  lk_tensor inputs[] = {self->inputs[0], self->inputs[1]};
  for (uint32_t i = 0; i < 2; i++) {
    if (!lk_rank_is_known(&inputs[i].desc)) lk_shape_open(&inputs[i].desc, 2);
    if (inputs[i].desc.rank != 2) return fail_shapes(self->inputs, error);
  }
  const lk_tensor_desc a = transposed(&inputs[0].desc, params->transpose_a);
  const lk_tensor_desc b = transposed(&inputs[1].desc, params->transpose_b);
  if (lk_dims_differ(a.dims[1], b.dims[0])) return fail_shapes(self->inputs, error);
  to->rank = 2;
  to->dims[0] = a.dims[0];
  to->dims[1] = b.dims[1];
  if (!lk_op_has(self->node, 2)) return LK_OK;
  const lk_tensor_desc *c = &self->inputs[2].desc;
  if (!lk_shape_is_known(to) || !lk_shape_is_known(c)) return LK_OK;
  lk_tensor_desc together = {0};
  LK_RETURN_NOT_OK(lk_broadcast_dims(NULL, to, c, &together, error));
  if (!lk_shape_equal(&together, to)) {
    char text[LK_TENSOR_TEXT_CAPACITY];
    return lk_fail(error, LK_INVALID_ARGUMENT, "C is %s, it must broadcast to the product",
                   lk_tensor_text(c, text));
  }
  return LK_OK;
}

/* The same as lk_product_flops by the rows of the output, where A may be transposed; too few where
 * A is repeated. */
static double gemm_flops(const lk_op_node *node, const lk_tensor *inputs,
                         const lk_tensor_desc *outputs) {
  (void)node;
  const lk_tensor_desc *to = &outputs[0];
  const uint32_t row_dims = to->rank - (inputs[1].desc.rank > 1);
  const int64_t rows = lk_count_dims(to, 0, row_dims);
  const double sums = rows > 0 ? (double)lk_elements(&inputs[0].desc) / (double)rows : 0;
  return 2 * (double)lk_elements(&outputs[0]) * sums;
}

/* alpha A'B' + beta C as post-ops of the product. */
static uint32_t gemm_post_ops(const lk_op_node *node, lk_post_op *out) {
  const gemm_params *self = node->params;
  uint32_t count = 0;
  if (self->alpha != 1.0F) out[count++] = (lk_post_op){LK_POST_LINEAR, -1, self->alpha, -0.0F};
  if (lk_op_has(node, 2) && self->beta != 0.0F) {
    out[count++] = self->beta == 1.0F ? (lk_post_op){LK_POST_ADD, 2, 0, 0}
                                      : (lk_post_op){LK_POST_ADD_SCALED, 2, self->beta, 0};
  }
  if (self->is_activated) out[count++] = self->activation;
  return count;
}

/* C is a post-op. */
static lk_status plan_gemm(lk_planner *planner, lk_error *error) {
  const gemm_params *params = planner->node->params;
  const lk_matmul_order orders[2] = {{.swaps = params->transpose_a},
                                     {.swaps = params->transpose_b}};
  return plan_product(planner, orders, error);
}

#define MATMUL_ROW(name, domain_text, summary_text, first, most_inputs, traits, allowed)           \
  LK_OP_ROW(name, domain_text, first, summary_text,                                                \
            .flags = LK_OP_WORTH_CLAIMING | LK_OP_POST_OPS | LK_OP_TENSOR_POST_OPS | (traits),     \
            .min_inputs = 2, .max_inputs = most_inputs, .max_outputs = 1, .input_types = "T",      \
            .output_types = "T", .types = {allowed}),                                              \
      .by_f32 = true

#define PRODUCT_TYPES                                                                              \
  (LK_TYPES_FLOAT | LK_TYPE(LK_I32) | LK_TYPE(LK_U32) | LK_TYPE(LK_I64) | LK_TYPE(LK_U64))

const lk_op_class lk_op_matmul = {
    MATMUL_ROW("MatMul", "", "Matrix product of batches, as numpy.matmul", 1, 2, LK_OP_COLUMNS,
               PRODUCT_TYPES),
    .params_size = sizeof(matmul_params),
    .infer = infer_matmul,
    .flops = lk_product_flops,
    .plan = plan_matmul,
};
#define GEMM_ATTRS                                                                                 \
  LK_FLOAT("alpha", 1), LK_FLOAT("beta", 1), LK_FLAG("transA", 0), LK_FLAG("transB", 0)
#define GEMM(symbol, name, domain_text, first, summary_text, reader, allowed, ...)                 \
  const lk_op_class lk_op_##symbol = {                                                             \
      MATMUL_ROW(name, domain_text, summary_text, first, 3, 0, allowed),                           \
      LK_OP_ATTRS(__VA_ARGS__),                                                                    \
      LK_OP_PARAMS(gemm_params, LK_PARAM(gemm_params, alpha, "alpha"),                             \
                   LK_PARAM(gemm_params, beta, "beta"),                                            \
                   LK_PARAM(gemm_params, transpose_a, "transA"),                                   \
                   LK_PARAM(gemm_params, transpose_b, "transB")),                                  \
      .parse = reader,                                                                             \
      .own_post_ops = gemm_post_ops,                                                               \
      .infer = infer_gemm,                                                                         \
      .flops = gemm_flops,                                                                         \
      .plan = plan_gemm}
GEMM(gemm, "Gemm", "", 7, "alpha A B + beta C, A and B possibly transposed", NULL, LK_TYPES_FLOAT,
     GEMM_ATTRS);
GEMM(fused_gemm, "FusedGemm", "com.microsoft", 1, "Gemm, then an activation", parse_activation,
     LK_TYPES_BY_F32, GEMM_ATTRS, LK_ACTIVATION_ATTR, LK_ANY_FLOAT("activation_alpha", 0),
     LK_ANY_FLOAT("activation_beta", 0), LK_ANY_FLOAT("activation_gamma", 0, .is_unused = 1));

#define FUSED(symbol, name, ...)                                                                   \
  const lk_op_class lk_op_##symbol = {                                                             \
      MATMUL_ROW(name, "com.microsoft", "alpha A B, A and B possibly transposed", 1, 2, 0,         \
                 LK_TYPES_FLOAT),                                                                  \
      .params_size = sizeof(matmul_params),                                                        \
      LK_OP_ATTRS(LK_FLOAT("alpha", 1), LK_FLAG("transA", 0), LK_FLAG("transB", 0), __VA_ARGS__),  \
      .parse = parse_fused,                                                                        \
      .own_post_ops = fused_post_ops,                                                              \
      .infer = infer_matmul,                                                                       \
      .flops = gemm_flops,                                                                         \
      .plan = plan_matmul}
FUSED(fused_matmul, "FusedMatMul", LK_FLAG("transBatchA", 0), LK_FLAG("transBatchB", 0));
FUSED(transpose_matmul, "TransposeMatMul"); /* its older name */
