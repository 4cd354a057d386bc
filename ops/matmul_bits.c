/* MatMulNBits (com.microsoft): a product by a matrix of few bits. Constant weights stay so, in
 * panels; a product unpacks them a block at a time, for all its rows. Others are unpacked as a
 * whole in each run. */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/integer/bits_panels.h"
#include "ops/plan/matmul_shape.h"
#include "ops/plan/packing.h"
#include "ops/plan/product_steps.h"

enum { A, NUMBERS, SCALES, ZEROS, GROUP_INDICES, BIAS };
enum { LEAST_BLOCK = 16, LEVEL_INT8 = 4 };

typedef struct bits_params {
  int64_t k, n, block;
  uint32_t bits;
  bool as_bytes; /* A may be made so */
} bits_params;

static int64_t read_size(lk_attrs *attrs, const char *name, int64_t least) {
  const int64_t size = lk_attrs_int(attrs, name);
  if (size < least || size > INT32_MAX) {
    lk_attrs_fail(attrs, LK_OUT_OF_RANGE,
                  "attribute '%s' is %" PRId64 ", from %" PRId64 " to 2^31 - 1", name, size, least);
  }
  return size;
}

static void parse(lk_attrs *attrs, void *params) {
  bits_params *self = params;
  const int64_t bits = lk_attrs_int(attrs, "bits");
  self->k = read_size(attrs, "K", 1);
  self->n = read_size(attrs, "N", 1);
  self->block = read_size(attrs, "block_size", LEAST_BLOCK);
  self->bits = (uint32_t)bits;
  self->as_bytes = lk_attrs_int(attrs, "accuracy_level") == LEVEL_INT8;
  if (bits != 2 && bits != 4 && bits != 8) {
    lk_attrs_fail(attrs, LK_UNSUPPORTED,
                  "attribute 'bits' is %" PRId64 ", 2, 4 and 8 are supported", bits);
  }
  if (self->block > 0 && (self->block & (self->block - 1)) != 0) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                  "attribute 'block_size' is %" PRId64 ", it must be a power of 2", self->block);
  }
  if (lk_attrs_int(attrs, "weight_prepacked") != 0) {
    lk_attrs_fail(attrs, LK_UNSUPPORTED,
                  "attribute 'weight_prepacked' is not 0, which alone is supported");
  }
}

static uint32_t own_post_ops(const lk_op_node *node, lk_post_op *out) {
  if (!lk_op_has(node, BIAS)) return 0;
  out[0] = (lk_post_op){LK_POST_ADD, BIAS, 0, 0};
  return 1;
}

/* ---- shapes ---- */

static lk_block_bits describe(const lk_op_node *node, const lk_tensor *inputs) {
  const bits_params *params = node->params;
  const bool has_zeros = lk_op_has(node, ZEROS);
  const bool is_packed = has_zeros && inputs[ZEROS].desc.dtype == LK_U8;
  return (lk_block_bits){.rows = params->n,
                         .columns = params->k,
                         .block = params->block,
                         .bits = params->bits,
                         .zeros = !has_zeros  ? LK_BLOCK_ZEROS_NONE
                                  : is_packed ? LK_BLOCK_ZEROS_PACKED
                                              : LK_BLOCK_ZEROS_REAL};
}

/* So many elements, in any shape: older models have vectors. */
static lk_status check_count(const lk_inference *self, uint32_t input, const char *name,
                             int64_t count, lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[input].desc;
  if (!lk_op_has(self->node, input) || !lk_shape_is_known(x) || lk_elements(x) == count) {
    return LK_OK;
  }
  char text[LK_TENSOR_TEXT_CAPACITY];
  return lk_fail(error, LK_INVALID_ARGUMENT, "'%s' is %s, the attributes want %" PRId64 " elements",
                 name, lk_tensor_text(x, text), count);
}

static lk_status check_operands(const lk_inference *self, lk_error *error) {
  const bits_params *params = self->node->params;
  const lk_block_bits of = describe(self->node, self->inputs);
  const int64_t blocks = lk_block_bits_blocks(&of);
  const uint32_t zeros = lk_op_has(self->node, ZEROS) ? self->inputs[ZEROS].desc.dtype : 0,
                 real = self->inputs[A].desc.dtype;
  if (lk_op_has(self->node, GROUP_INDICES)) {
    return lk_fail(error, LK_UNSUPPORTED, "input 'g_idx' is given, which is not supported");
  }
  const bool is_known = zeros != LK_DTYPE_NONE && real != LK_DTYPE_NONE;
  if (is_known && zeros != LK_U8 && zeros != real) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "'zero_points' is of type %s; u8 and the type of A, %s, are supported",
                   lk_dtype_name(zeros), lk_dtype_name(real));
  }
  LK_RETURN_NOT_OK(check_count(self, NUMBERS, "B",
                               params->n * blocks * (params->block * params->bits / 8), error));
  LK_RETURN_NOT_OK(check_count(self, SCALES, "scales", params->n * blocks, error));
  LK_RETURN_NOT_OK(check_count(self, BIAS, "bias", params->n, error));
  if (zeros == LK_DTYPE_NONE) return LK_OK;
  const int64_t each = zeros == LK_U8 ? lk_block_bits_zero_bytes(&of) : blocks;
  return check_count(self, ZEROS, "zero_points", params->n * each, error);
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const bits_params *params = self->node->params;
  const lk_tensor_desc *a = &self->inputs[A].desc;
  LK_RETURN_NOT_OK(check_operands(self, error));
  if (!lk_rank_is_known(a)) return LK_OK;
  if (a->rank == 0 || lk_dims_differ(a->dims[a->rank - 1], params->k)) {
    char text[LK_TENSOR_TEXT_CAPACITY];
    return lk_fail(error, LK_INVALID_ARGUMENT, "A is %s, its rows must have 'K' = %" PRId64,
                   lk_tensor_text(a, text), params->k);
  }
  lk_shape_of_input(self, 0, A);
  self->outputs[0].dims[a->rank - 1] = params->n;
  return LK_OK;
}

static double flops(const lk_op_node *node, const lk_tensor *inputs,
                    const lk_tensor_desc *outputs) {
  (void)node;
  const lk_tensor_desc *a = &inputs[A].desc;
  return 2 * (double)lk_elements(&outputs[0]) * (double)a->dims[a->rank - 1];
}

/* ---- the weights ---- */

typedef struct bits_packing {
  lk_bits_panels panels;
  lk_block_operands from; /* without numbers */
} bits_packing;

static lk_status pack(const void *params, const void *plain, void *to, lk_error *error) {
  const bits_packing *self = params;
  lk_block_operands from = self->from;
  (void)error;
  from.numbers = plain;
  lk_bits_panels_pack(&self->panels, &from, to);
  return LK_OK;
}

static lk_status number_of(const lk_node_constant *constant, int64_t *out, lk_error *error) {
  uint64_t id = 0;
  LK_RETURN_NOT_OK(lk_content_settle_id(constant->content, &id, error));
  *out = (int64_t)id;
  return LK_OK;
}

/* Of constants. Their copies are found by the contents of all three. */
static lk_status take_constant(lk_planner *planner, const lk_matmul *matmul, lk_operand *out,
                               lk_error *error) {
  const lk_node_constant *constants = planner->node->constants;
  bits_packing packing = {.panels = {.bits = describe(planner->node, planner->inputs),
                                     .panel = matmul->product.panel,
                                     .panels = matmul->product.panels}};
  const lk_block_bits *bits = &packing.panels.bits;
  const bool has_zeros = bits->zeros != LK_BLOCK_ZEROS_NONE;
  int64_t of_scales = 0, of_zeros = 0;
  LK_RETURN_NOT_OK(number_of(&constants[SCALES], &of_scales, error));
  if (has_zeros) LK_RETURN_NOT_OK(number_of(&constants[ZEROS], &of_zeros, error));
  const lk_weights_layout layout = {.numbers = {LK_PACKED_BITS, bits->columns, bits->rows,
                                                bits->block, bits->bits, bits->zeros,
                                                matmul->product.panel, of_scales, of_zeros}};
  const lk_packer packer = {pack, NULL, &packing, sizeof packing};
  const size_t bytes = lk_bits_panels_size(&packing.panels);
  lk_packed *scales = NULL, *zeros = NULL;
  lk_status status = LK_OK;
  LK_TRY(lk_planner_constant(planner, SCALES, &scales, error));
  packing.from.scales = lk_packed_data(scales);
  if (has_zeros) {
    LK_TRY(lk_planner_constant(planner, ZEROS, &zeros, error));
    packing.from.zeros = lk_packed_data(zeros);
  }
  LK_TRY(lk_planner_packed(planner, NUMBERS, &layout, bytes, &packer, out, error));

cleanup:
  lk_packed_release(zeros);
  lk_packed_release(scales);
  return status;
}

/* Of a run. */
static lk_status take_input(lk_planner *planner, lk_operand *out, lk_error *error) {
  const lk_block_bits bits = describe(planner->node, planner->inputs);
  const int64_t dims[] = {bits.rows, bits.columns};
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 2, dims);
  lk_operand operands[4];
  uint32_t n = 0;
  for (uint32_t i = NUMBERS; i <= ZEROS; i++) {
    if (!lk_op_has(planner->node, i)) continue;
    LK_RETURN_NOT_OK(lk_planner_input(planner, i, LK_LAYOUT_PLAIN, &operands[n++], error));
  }
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, out, error));
  operands[n++] = *out;
  return lk_planner_kernel(planner, lk_block_bits_kernel, "unpack", &bits, sizeof bits, operands, n,
                           error);
}

static lk_status take_weights(lk_planner *planner, const lk_matmul *matmul, lk_operand *out,
                              lk_error *error) {
  return matmul->b_is_packed ? take_constant(planner, matmul, out, error)
                             : take_input(planner, out, error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  static const lk_matmul_order orders[2] = {{0}, {.swaps = true}};
  const bits_params *params = planner->node->params;
  const int64_t dims[] = {params->n, params->k};
  const lk_tensor_desc b = lk_tensor_desc_make(LK_F32, 2, dims);
  lk_tensor_desc a = planner->inputs[A].desc;
  a.layout = LK_LAYOUT_PLAIN; /* as it is taken */
  lk_matmul matmul = lk_matmul_of_ordered(&a, &b, orders, &planner->outputs[0]);
  matmul.b_is_packed = matmul.b_is_bits = true;
  for (uint32_t i = NUMBERS; i <= ZEROS; i++) {
    if (!lk_op_has(planner->node, i)) continue;
    if (planner->node->constants[i].content == NULL) matmul.b_is_packed = matmul.b_is_bits = false;
  }
  const lk_block_bits bits = describe(planner->node, planner->inputs);
  const bool is_simple = matmul.batch_rank == 0 && matmul.a_k == 1;
  if (params->as_bytes && matmul.b_is_bits && is_simple) {
    matmul.left_bytes =
        (int64_t)lk_bits_left_size(&bits, lk_integer_loops_get(lk_isa_get()), matmul.rows);
  }
  return lk_plan_matmul_by(planner, &matmul, true, a.layout, take_weights, error);
}

const lk_op_class lk_op_matmul_n_bits = {
    LK_OP_ROW("MatMulNBits", "com.microsoft", 1, "Matrix product by numbers of 2, 4 or 8 bits",
              .flags =
                  LK_OP_WORTH_CLAIMING | LK_OP_QUANTIZES | LK_OP_POST_OPS | LK_OP_TENSOR_POST_OPS,
              .min_inputs = 3, .max_inputs = 6, .max_outputs = 1, .input_types = "TUT?VT",
              .output_types = "T", .types = {LK_TYPES_BY_F32, LK_TYPE(LK_U8), LK_TYPE(LK_I32)}),
    .by_f32 = true,
    .params_size = sizeof(bits_params),
    LK_OP_ATTRS(LK_INT("accuracy_level", 0), LK_INT("bits", 4), LK_REQUIRED_INT("block_size"),
                LK_REQUIRED_INT("K"), LK_REQUIRED_INT("N"), LK_INT("weight_prepacked", 0)),
    .parse = parse,
    .own_post_ops = own_post_ops,
    .infer = infer,
    .flops = flops,
    .plan = plan,
};
