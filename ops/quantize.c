/* QuantizeLinear, DequantizeLinear (ONNX operators of these names): whole numbers for real ones, by
 * a scale and a zero point, of the whole tensor, along an axis, or for blocks of it. One pass over
 * memory: by a kernel of bytes, or as element programs. */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/moves.h"
#include "ops/plan/quantized_steps.h"

enum { X = 0, SCALE = 1, ZERO = 2 };

#define QUANTIZED (LK_TYPE(LK_U8) | LK_TYPE(LK_I8) | LK_TYPE(LK_U16) | LK_TYPE(LK_I16))
#define REAL (LK_TYPE(LK_F32) | LK_TYPE(LK_F16) | LK_TYPE(LK_BF16))

typedef struct quantize_params {
  int64_t axis, block;
  uint32_t dtype; /* of the output; LK_DTYPE_NONE: as the inputs say */
} quantize_params;

/* `types`: of the output. */
static void parse(lk_attrs *attrs, quantize_params *self, uint32_t types) {
  const bool is_onnx = lk_attrs_lists(attrs, "output_dtype");
  const bool is_typed = is_onnx && lk_attrs_int(attrs, "output_dtype") != LK_DTYPE_NONE;
  self->axis = lk_attrs_int(attrs, "axis");
  self->block = is_onnx ? lk_attrs_int_from(attrs, "block_size", 0) : 0;
  self->dtype = is_typed ? lk_attrs_dtype(attrs, "output_dtype", types) : (uint32_t)LK_DTYPE_NONE;
}

static void parse_quantize(lk_attrs *attrs, void *params) {
  parse(attrs, params, QUANTIZED);
}

static void parse_dequantize(lk_attrs *attrs, void *params) {
  parse(attrs, params, REAL);
}

/* ---- shapes ---- */

static bool is_single(const lk_tensor_desc *desc) {
  return lk_shape_is_known(desc) && (desc->rank == 0 || (desc->rank == 1 && desc->dims[0] == 1));
}

static lk_status fail_shape(const lk_tensor_desc *x, const lk_tensor_desc *given, const char *name,
                            const quantize_params *params, lk_error *error) {
  char text[LK_TENSOR_TEXT_CAPACITY], x_text[LK_TENSOR_TEXT_CAPACITY];
  if (params->block == 0) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "the %s is %s, it must have one value, or one for each index along axis %" PRId64
                   " of %s",
                   name, lk_tensor_text(given, text), params->axis, lk_tensor_text(x, x_text));
  }
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "the %s is %s, it must have one value for each block along axis %" PRId64
                 " of %s, of block_size %" PRId64,
                 name, lk_tensor_text(given, text), params->axis, lk_tensor_text(x, x_text),
                 params->block);
}

/* A scale or zero point against X. */
static lk_status check_shape(const lk_inference *self, uint32_t input, const char *name,
                             lk_error *error) {
  const quantize_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[X].desc, *given = &self->inputs[input].desc;
  if (!lk_op_has(self->node, input) || !lk_rank_is_known(x) || !lk_rank_is_known(given) ||
      is_single(given)) {
    return LK_OK;
  }
  uint32_t axis = 0;
  LK_RETURN_NOT_OK(lk_attr_axis(params->axis, x, &axis, error));
  if (params->block == 0) {
    const bool fits = given->rank == 1 && !lk_dims_differ(given->dims[0], x->dims[axis]);
    return fits ? LK_OK : fail_shape(x, given, name, params, error);
  }
  if (given->rank != x->rank) return fail_shape(x, given, name, params, error);
  for (uint32_t i = 0; i < x->rank; i++) {
    const int64_t dim = x->dims[i], has = given->dims[i];
    if (i != axis && lk_dims_differ(dim, has)) {
      return fail_shape(x, given, name, params, error);
    }
    if (i != axis || dim < 0 || has < 0) continue;
    if (has != (dim + params->block - 1) / params->block) {
      return fail_shape(x, given, name, params, error);
    }
    if (dim % params->block != 0) {
      return lk_fail(error, LK_UNSUPPORTED,
                     "%" PRId64 " elements in blocks of %" PRId64 ", whole blocks are supported",
                     dim, params->block);
    }
  }
  return LK_OK;
}

static lk_status infer(lk_inference *self, uint32_t dtype, lk_error *error) {
  const quantize_params *params = self->node->params;
  const lk_tensor_desc *scale = &self->inputs[SCALE].desc, *zero = &self->inputs[ZERO].desc;
  LK_RETURN_NOT_OK(check_shape(self, SCALE, "scale", error));
  LK_RETURN_NOT_OK(check_shape(self, ZERO, "zero point", error));
  if (lk_op_has(self->node, ZERO) && lk_shape_is_known(scale) && lk_shape_is_known(zero) &&
      is_single(scale) != is_single(zero)) {
    return fail_shape(scale, zero, "zero point", params, error);
  }
  self->outputs[0].dtype = params->dtype != LK_DTYPE_NONE ? params->dtype : dtype;
  return lk_infer_same(self, error);
}

static lk_status infer_quantize(lk_inference *self, lk_error *error) {
  const uint32_t zero = lk_op_has(self->node, ZERO) ? self->inputs[ZERO].desc.dtype : LK_U8;
  return infer(self, zero, error);
}

static lk_status infer_dequantize(lk_inference *self, lk_error *error) {
  return infer(self, self->inputs[SCALE].desc.dtype, error);
}

/* ---- plans ---- */

static void insert_dim(lk_tensor_desc *desc, uint32_t at, int64_t dim) {
  for (uint32_t i = desc->rank; i > at; i--) desc->dims[i] = desc->dims[i - 1];
  desc->dims[at] = dim;
  desc->rank++;
}

/* A scale or zero point as an operand that broadcasts: along an axis it is [channels, 1, 1, ...],
 * of blocks [..., blocks, 1, ...]. */
static lk_status take(lk_chain *chain, uint32_t input, lk_element_value *out, lk_error *error) {
  lk_planner *planner = chain->planner;
  const quantize_params *params = planner->node->params;
  const uint32_t rank = planner->inputs[X].desc.rank;
  lk_operand operand;
  LK_RETURN_NOT_OK(lk_planner_input(planner, input, LK_LAYOUT_PLAIN, &operand, error));
  lk_tensor_desc *desc = &operand.desc;
  if (is_single(desc)) {
    desc->rank = 0;
  } else if (params->block == 0) {
    desc->rank = rank - (uint32_t)lk_axis(params->axis, rank);
    for (uint32_t i = 1; i < desc->rank; i++) desc->dims[i] = 1;
  } else {
    insert_dim(desc, (uint32_t)lk_axis(params->axis, rank) + 1, 1);
  }
  *out = lk_chain_operand(chain, &operand);
  return LK_OK;
}

/* X and output 0 with the axis as blocks, and in each its elements: so scales broadcast. */
static lk_status split_blocks(lk_chain *chain, lk_operand *x, lk_error *error) {
  const quantize_params *params = chain->planner->node->params;
  lk_operand *const operands[] = {x, &chain->to};
  const uint32_t rank = x->desc.rank;
  if (params->block == 0 || is_single(&chain->planner->inputs[SCALE].desc)) return LK_OK;
  if (rank == LK_MAX_RANK) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "blocks are of a tensor of rank %" PRIu32 ", at most %d is supported", rank,
                   LK_MAX_RANK - 1);
  }
  const uint32_t axis = (uint32_t)lk_axis(params->axis, rank);
  for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++) {
    operands[i]->desc.dims[axis] /= params->block;
    insert_dim(&operands[i]->desc, axis + 1, params->block);
  }
  return LK_OK;
}

/* X, in the output's layout; blocks want the plain one. */
static lk_status begin(lk_planner *planner, lk_chain *chain, lk_element_value *out_x,
                       lk_error *error) {
  const quantize_params *params = planner->node->params;
  lk_operand x, to;
  const lk_layout layout = params->block != 0 ? LK_LAYOUT_PLAIN : planner->inputs[X].desc.layout;
  LK_RETURN_NOT_OK(lk_planner_input(planner, X, layout, &x, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &to, error));
  lk_chain_begin_at(planner, &to, chain);
  LK_RETURN_NOT_OK(split_blocks(chain, &x, error));
  *out_x = lk_chain_operand(chain, &x);
  return LK_OK;
}

/* How many elements in turn have a scale in common; 0: all of them, -1: they do not lie
 * together. */
static int64_t find_inner(const lk_planner *planner) {
  const quantize_params *params = planner->node->params;
  const lk_tensor_desc *x = &planner->inputs[X].desc;
  if (is_single(&planner->inputs[SCALE].desc)) return 0;
  const uint32_t axis = (uint32_t)lk_axis(params->axis, x->rank);
  const bool is_apart = x->layout == LK_LAYOUT_CHANNELS_LAST && axis > 0;
  if (params->block != 0 || is_apart) return -1;
  return lk_count_dims(x, axis + 1, x->rank);
}

/* Bytes for f32, or back, by numbers of the whole tensor or of rows of it. */
static bool is_simple(const lk_planner *planner, uint32_t bytes, uint32_t real) {
  enum { LEAST_ROW = 32 };
  const bool is_byte = bytes == LK_U8 || bytes == LK_I8;
  const int64_t inner = find_inner(planner);
  return is_byte && real == LK_F32 && planner->inputs[SCALE].desc.dtype == LK_F32 &&
         (inner == 0 || inner >= LEAST_ROW) && planner->node->n_post_ops == 0;
}

static lk_status plan_simple(lk_planner *planner, lk_bytes_kind kind, lk_error *error) {
  lk_operand x, y;
  const lk_layout layout = planner->inputs[X].desc.layout;
  LK_RETURN_NOT_OK(lk_planner_input(planner, X, layout, &x, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &y, error));
  const bool writes_bytes = kind == LK_BYTES_QUANTIZE;
  const lk_byte_operand bytes = {writes_bytes ? y : x, SCALE, ZERO, find_inner(planner)};
  return lk_plan_bytes(planner, kind, writes_bytes ? &x : &y, &bytes, error);
}

/* saturate(round(x / scale) + zero point), ties to even. */
static lk_status plan_quantize(lk_planner *planner, lk_error *error) {
  if (is_simple(planner, planner->outputs[0].dtype, planner->inputs[X].desc.dtype)) {
    return plan_simple(planner, LK_BYTES_QUANTIZE, error);
  }
  lk_chain chain;
  lk_element_value x, scale, zero;
  float least, largest;
  LK_RETURN_NOT_OK(begin(planner, &chain, &x, error));
  LK_RETURN_NOT_OK(take(&chain, SCALE, &scale, error));
  lk_element_program *program = &chain.program;
  x = lk_element_cast(program, x, LK_F32);
  lk_element_value y = lk_element_binary(program, LK_ELEMENT_DIV, x, scale);
  y = lk_element_unary(program, LK_ELEMENT_ROUND, y, 0, 0);
  if (lk_op_has(planner->node, ZERO)) {
    LK_RETURN_NOT_OK(take(&chain, ZERO, &zero, error));
    y = lk_element_binary(program, LK_ELEMENT_ADD, y, lk_element_cast(program, zero, LK_F32));
  }
  lk_quantized_range(chain.to.desc.dtype, &least, &largest);
  y = lk_element_unary(program, LK_ELEMENT_SATURATE, y, least, largest);
  chain.value = lk_element_cast(program, y, chain.to.desc.dtype);
  return lk_chain_end(&chain, error);
}

/* (x - zero point) scale */
static lk_status plan_dequantize(lk_planner *planner, lk_error *error) {
  if (is_simple(planner, planner->inputs[X].desc.dtype, planner->outputs[0].dtype)) {
    return plan_simple(planner, LK_BYTES_DEQUANTIZE, error);
  }
  lk_chain chain;
  lk_element_value x, scale, zero;
  LK_RETURN_NOT_OK(begin(planner, &chain, &x, error));
  lk_element_program *program = &chain.program;
  if (lk_op_has(planner->node, ZERO)) {
    LK_RETURN_NOT_OK(take(&chain, ZERO, &zero, error));
    x = lk_element_binary(program, LK_ELEMENT_SUB, x, zero);
  }
  LK_RETURN_NOT_OK(take(&chain, SCALE, &scale, error));
  const lk_element_value real = lk_element_cast(program, x, LK_F32);
  const lk_element_value y = lk_element_binary(program, LK_ELEMENT_MUL, real, scale);
  chain.value = lk_element_cast(program, y, chain.to.desc.dtype);
  return lk_chain_end(&chain, error);
}

#define QUANTIZE_ROW(name, domain_text, first, summary_text, letters, ...)                         \
  LK_OP_ROW(name, domain_text, first, summary_text, .flags = LK_OP_QUANTIZES, .min_inputs = 2,     \
            .max_inputs = 3, .max_outputs = 1, .input_types = letters, .output_types = "?",        \
            .types = {__VA_ARGS__}),                                                               \
      .params_size = sizeof(quantize_params)

#define QUANTIZE_OF(domain_text, first)                                                            \
  QUANTIZE_ROW("QuantizeLinear", domain_text, first, "saturate(round(x / scale) + zero point)",    \
               "TUV", REAL | LK_TYPE(LK_I32), REAL, QUANTIZED),                                    \
      .parse = parse_quantize, .infer = infer_quantize, .plan = plan_quantize
#define DEQUANTIZE_OF(domain_text, first)                                                          \
  QUANTIZE_ROW("DequantizeLinear", domain_text, first, "(x - zero point) scale", "TUT",            \
               QUANTIZED | LK_TYPE(LK_I32), REAL),                                                 \
      .parse = parse_dequantize, .infer = infer_dequantize, .plan = plan_dequantize
const lk_op_class lk_op_quantize_linear = {
    QUANTIZE_OF("", 10),
    LK_OP_ATTRS(LK_INT("axis", 1, .since = 13), LK_INT("block_size", 0, .since = 21),
                LK_INT("output_dtype", LK_DTYPE_NONE, .since = 21),
                LK_INT("precision", 0, .since = 23, .is_unused = 1),
                LK_FLAG("saturate", 1, .since = 19, .is_unused = 1)),
};
const lk_op_class lk_op_dequantize_linear = {
    DEQUANTIZE_OF("", 10),
    LK_OP_ATTRS(LK_INT("axis", 1, .since = 13), LK_INT("block_size", 0, .since = 21),
                LK_INT("output_dtype", LK_DTYPE_NONE, .since = 23)),
};
/* Models of opsets that lack 16 bits take those of com.microsoft, which mean the same. */
const lk_op_class lk_op_quantize_linear_microsoft = {
    QUANTIZE_OF("com.microsoft", 1),
    LK_OP_ATTRS(LK_ANY_INT("axis", 1)),
};
const lk_op_class lk_op_dequantize_linear_microsoft = {
    DEQUANTIZE_OF("com.microsoft", 1),
    LK_OP_ATTRS(LK_ANY_INT("axis", 1)),
};
