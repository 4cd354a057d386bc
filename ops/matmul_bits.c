/* MatMulNBits (com.microsoft): a product by a matrix of few bits. */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/work.h"

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
  const int64_t blocks = (params->k + params->block - 1) / params->block; /* of a row */
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
  const int64_t each = zeros == LK_U8 ? (blocks * params->bits + 7) / 8 : blocks;
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

static lk_status plan(lk_planner *planner, lk_error *error) {
  const bits_params *params = planner->node->params;
  const lk_tensor *inputs = planner->inputs;
  lk_task task;
  lk_task_begin(&task, LK_WORK_PRODUCT_BITS);
  lk_task_input(&task, LK_ROLE_SRC, A, &inputs[A].desc);
  lk_task_input(&task, LK_ROLE_WEIGHTS, NUMBERS, &inputs[NUMBERS].desc);
  lk_task_input(&task, LK_ROLE_WEIGHTS_SCALE, SCALES, &inputs[SCALES].desc);
  lk_task_optional(&task, LK_ROLE_WEIGHTS_ZERO, planner->node, inputs, ZEROS);
  lk_task_output(&task, LK_ROLE_DST, 0, &planner->outputs[0]);
  task.work.bits = (lk_work_bits){
      .block = params->block, .width = params->bits, .takes_bytes = params->as_bytes};
  return lk_plan_task(planner, &task, error);
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
    .flops = lk_product_flops,
    .plan = plan,
};
