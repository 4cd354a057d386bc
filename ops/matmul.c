/* MatMul and Gemm (ONNX operators of these names) on oneDNN's matmul. */
#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/post_operands.h"

static lk_status fail_shapes(const lk_tensor *inputs, lk_error *error) {
  char a[LK_TENSOR_TEXT_CAPACITY], b[LK_TENSOR_TEXT_CAPACITY];
  return lk_fail(error, LK_INVALID_ARGUMENT, "the shapes %s and %s cannot be multiplied",
                 lk_tensor_text(&inputs[0].desc, a), lk_tensor_text(&inputs[1].desc, b));
}

/* Ranks of 1 become a row or a column (numpy.matmul's rule). */
static lk_tensor_desc as_matrix(const lk_tensor_desc *desc, bool row) {
  if (desc->rank != 1) return *desc;
  const int64_t dims[] = {row ? 1 : desc->dims[0], row ? desc->dims[0] : 1};
  return lk_tensor_desc_make(desc->dtype, 2, dims);
}

static lk_status infer_matmul(lk_inference *self, lk_error *error) {
  const lk_tensor *inputs = self->inputs;
  lk_tensor_desc *to = &self->outputs[0];
  if (!lk_rank_is_known(&inputs[0].desc) || !lk_rank_is_known(&inputs[1].desc)) return LK_OK;
  if (inputs[0].desc.rank < 1 || inputs[1].desc.rank < 1) return fail_shapes(inputs, error);
  const lk_tensor_desc a = as_matrix(&inputs[0].desc, true);
  const lk_tensor_desc b = as_matrix(&inputs[1].desc, false);
  lk_tensor_desc a_batch = a, b_batch = b;
  a_batch.rank -= 2;
  b_batch.rank -= 2;
  if (lk_dims_differ(a.dims[a.rank - 1], b.dims[b.rank - 2]) ||
      lk_broadcast_dims(self->dims, &a_batch, &b_batch, to, NULL) != LK_OK) {
    return fail_shapes(inputs, error);
  }
  if (inputs[0].desc.rank > 1) to->dims[to->rank++] = a.dims[a.rank - 2];
  if (inputs[1].desc.rank > 1) to->dims[to->rank++] = b.dims[b.rank - 1];
  return LK_OK;
}

/* ---- MatMul: [batch..., m, k] by [batch..., k, n]; without batch, the weights make all rows one
 * matrix ---- */

/* Whether the operands of the post-ops can follow when all leading dimensions become rows: full
 * tensors and single rows can, and single values. */
static bool post_ops_allow_rows(lk_planner *planner) {
  const lk_op_node *node = planner->node;
  const lk_tensor_desc *to = &planner->body->outputs[0];
  const bool has_columns = planner->inputs[1].desc.rank > 1;
  for (uint32_t i = 0; i < node->n_post_ops; i++) {
    if (node->post_ops[i].input < 0) continue;
    const lk_tensor_desc *operand = &planner->inputs[(uint32_t)node->post_ops[i].input].desc;
    const bool is_flat = operand->rank < 2 || (operand->rank == 2 && operand->dims[0] == 1);
    const bool is_row = is_flat && (has_columns || lk_elements(operand) == 1);
    if (!is_row && !lk_shape_equal(operand, to)) return false;
  }
  return true;
}

/* What its value key says of a product. */
typedef struct matmul_desc {
  lk_tensor_desc src, weights, dst; /* weights: layout any when constant */
} matmul_desc;

static lk_tensor_desc rows_of(const lk_tensor_desc *desc) {
  int64_t dims[] = {1, desc->dims[desc->rank - 1]};
  for (uint32_t i = 0; i + 1 < desc->rank; i++) dims[0] *= desc->dims[i];
  return lk_tensor_desc_make(desc->dtype, 2, dims);
}

static lk_status emit(lk_planner *planner, const matmul_desc *product,
                      const_dnnl_memory_desc_t plain_src, const_dnnl_memory_desc_t plain_weights,
                      lk_error *error) {
  lk_key_builder key;
  const lk_primitive *primitive = NULL;
  lk_operand src, weights, dst;
  lk_planner_key_begin(planner, &key, LK_PRIMITIVE_MATMUL);
  lk_key_add_tensor(&key, LK_WORD_SRC, 0, &product->src, 0);
  lk_key_add_tensor(&key, LK_WORD_WEIGHTS, 0, &product->weights, 0);
  lk_key_add_tensor(&key, LK_WORD_DST, 0, &product->dst, 0);
  lk_post_ops_key(planner, &key, &product->dst);
  LK_RETURN_NOT_OK(lk_planner_primitive(planner, &key, &primitive, error));
  const const_dnnl_memory_desc_t src_md =
      dnnl_primitive_desc_query_md(primitive->desc, dnnl_query_src_md, 0);
  const const_dnnl_memory_desc_t weights_md =
      dnnl_primitive_desc_query_md(primitive->desc, dnnl_query_weights_md, 0);
  LK_RETURN_NOT_OK(plain_src != NULL ? lk_planner_weights(planner, 0, &product->src, plain_src,
                                                          src_md, &src, error)
                                     : lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &src, error));
  LK_RETURN_NOT_OK(lk_planner_weights(planner, 1, &product->weights, plain_weights, weights_md,
                                      &weights, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &dst, error));
  const lk_primitive_arg args[] = {
      {DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, dst}};
  return lk_post_ops_execute(planner, primitive, args, 3, &product->dst, error);
}

static lk_status plan_matmul(lk_planner *planner, lk_error *error) {
  const lk_tensor_desc *a = &planner->inputs[0].desc;
  const lk_tensor_desc *b = &planner->inputs[1].desc;
  const lk_tensor_desc *to = &planner->body->outputs[0];
  matmul_desc product = {.src = as_matrix(a, true), .weights = as_matrix(b, false)};
  const int64_t n = product.weights.dims[product.weights.rank - 1];
  const int64_t m = product.src.dims[product.src.rank - 2];
  if (lk_elements(a) == 0) return lk_plan_sum_of_nothing(planner, -1, error);
  product.src.layout = LK_LAYOUT_PLAIN;
  product.weights.layout = LK_LAYOUT_PLAIN;
  const bool is_matrix = a->rank == 2 && b->rank == 2;
  if (product.weights.rank == 2 && (is_matrix || post_ops_allow_rows(planner))) {
    const int64_t dims[] = {rows_of(&product.src).dims[0], n};
    product.src = rows_of(&product.src);
    product.dst = lk_tensor_desc_make(LK_F32, 2, dims);
  } else {
    /* ranks of 1 only change how the same bytes are described */
    const uint32_t batch = to->rank - (a->rank > 1) - (b->rank > 1);
    product.dst = lk_tensor_desc_make(LK_F32, batch, to->dims);
    product.dst.rank = batch + 2;
    product.dst.dims[batch] = m;
    product.dst.dims[batch + 1] = n;
    product.src = lk_shape_pad_rank(&product.src, batch + 2);
    product.weights = lk_shape_pad_rank(&product.weights, batch + 2);
  }
  if (planner->node->constants[1].content != NULL) product.weights.layout = LK_LAYOUT_ANY;
  return emit(planner, &product, NULL, NULL, error);
}

/* ---- Gemm: alpha A' B' + beta C ---- */

typedef struct gemm_params {
  float alpha, beta;
  bool transpose_a, transpose_b;
} gemm_params;

static void parse_gemm(lk_attrs *attrs, void *params) {
  gemm_params *self = params;
  self->alpha = lk_attrs_float(attrs, "alpha", 1.0F);
  self->beta = lk_attrs_float(attrs, "beta", 1.0F);
  self->transpose_a = lk_attrs_int(attrs, "transA", 0) != 0;
  self->transpose_b = lk_attrs_int(attrs, "transB", 0) != 0;
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

/* As many of each element of the output as the sum that it is has terms. */
static double matmul_flops(const lk_tensor_desc *inputs, const lk_tensor_desc *outputs) {
  const lk_tensor_desc *a = &inputs[0];
  return 2 * (double)lk_elements(&outputs[0]) * (double)a->dims[a->rank - 1];
}

static double gemm_flops(const lk_tensor_desc *inputs, const lk_tensor_desc *outputs) {
  const int64_t rows = outputs[0].dims[0];
  const double sums = rows > 0 ? (double)lk_elements(&inputs[0]) / (double)rows : 0;
  return 2 * (double)lk_elements(&outputs[0]) * sums;
}

static lk_status strided_md(const lk_tensor_desc *stored, const lk_tensor_desc *desc,
                            dnnl_memory_desc_t *out_md, lk_error *error) {
  const dnnl_dims_t dims = {desc->dims[0], desc->dims[1]};
  const dnnl_dims_t strides = {1, stored->dims[1]};
  return lk_dnnl_check(error,
                       dnnl_memory_desc_create_with_strides(out_md, 2, dims, dnnl_f32, strides),
                       "describe a transposed matrix");
}

/* alpha A'B' + beta C as post-ops of the product: with C, beta (alpha / beta A'B' + C). */
static uint32_t gemm_post_ops(const void *params, bool has_c, lk_post_op *out) {
  const gemm_params *self = params;
  uint32_t count = 0;
  const bool adds = has_c && self->beta != 0.0F;
  const float before = adds ? self->alpha / self->beta : self->alpha;
  if (before != 1.0F) out[count++] = (lk_post_op){LK_POST_LINEAR, -1, before, 0};
  if (adds) out[count++] = (lk_post_op){LK_POST_ADD, 2, 0, 0};
  if (adds && self->beta != 1.0F) out[count++] = (lk_post_op){LK_POST_LINEAR, -1, self->beta, 0};
  return count;
}

static lk_status plan_gemm(lk_planner *planner, lk_error *error) {
  const gemm_params *params = planner->node->params;
  const lk_tensor_desc *a = &planner->inputs[0].desc;
  const lk_tensor_desc *b = &planner->inputs[1].desc;
  lk_status status = LK_OK;
  dnnl_memory_desc_t plain_a = NULL, plain_b = NULL;
  if (lk_elements(a) == 0) return lk_plan_sum_of_nothing(planner, -1, error); /* C is a post-op */
  matmul_desc product = {.src = transposed(a, params->transpose_a),
                         .weights = transposed(b, params->transpose_b),
                         .dst = planner->body->outputs[0]};
  product.dst.layout = LK_LAYOUT_PLAIN;
  if (params->transpose_a) {
    LK_TRY(strided_md(a, &product.src, &plain_a, error));
    LK_TRY(lk_layouts_intern(planner->env->layouts, plain_a, &product.src.layout, error));
  }
  if (params->transpose_b) LK_TRY(strided_md(b, &product.weights, &plain_b, error));
  if (planner->node->constants[1].content != NULL) {
    product.weights.layout = LK_LAYOUT_ANY;
  } else if (plain_b != NULL) {
    /* oneDNN's matmul takes a transposed matrix as it lies */
    LK_TRY(lk_layouts_intern(planner->env->layouts, plain_b, &product.weights.layout, error));
  }
  LK_TRY(emit(planner, &product, plain_a, plain_b, error));
cleanup:
  if (plain_a != NULL) dnnl_memory_desc_destroy(plain_a);
  if (plain_b != NULL) dnnl_memory_desc_destroy(plain_b);
  return status;
}

#define MATMUL_ROW(name, summary_text, first, most_inputs, traits)                                 \
  LK_OP_ROW(name, "", first, summary_text,                                                         \
            .flags = LK_OP_PRIMITIVE | LK_OP_POST_OPS | LK_OP_TENSOR_POST_OPS | (traits),          \
            .min_inputs = 2, .max_inputs = most_inputs, .max_outputs = 1, .input_types = "T",      \
            .output_types = "T", .types = {LK_TYPES_F32})

const lk_op_class lk_op_matmul = {
    MATMUL_ROW("MatMul", "Matrix product of batches, as numpy.matmul", 1, 2, LK_OP_COLUMNS),
    .infer = infer_matmul,
    .flops = matmul_flops,
    .plan = plan_matmul,
};
const lk_op_class lk_op_gemm = {
    MATMUL_ROW("Gemm", "alpha A B + beta C, A and B possibly transposed", 7, 3, 0),
    .params_size = sizeof(gemm_params),
    .parse = parse_gemm,
    .own_post_ops = gemm_post_ops,
    .infer = infer_gemm,
    .flops = gemm_flops,
    .plan = plan_gemm,
};
