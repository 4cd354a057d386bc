/* Conv and ConvTranspose (ONNX "Conv", "ConvTranspose"): channels-last, on tiles that serve every
 * size where weights are constant; else, and with few channels in each of several groups, on
 * oneDNN's primitives, with weights in the layout that those choose. */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/product_steps.h"
#include "ops/plan/window.h"

typedef struct conv_params {
  lk_window window;
  bool is_transposed; /* ConvTranspose */
  int64_t groups;
} conv_params;

static void parse_conv(lk_attrs *attrs, void *params) {
  conv_params *self = params;
  lk_window_parse(attrs, &self->window);
  self->groups = lk_attrs_int(attrs, "group", 1);
  if (self->groups < 1) {
    lk_attrs_fail(attrs, LK_OUT_OF_RANGE, "attribute 'group' is %" PRId64 ", at least 1",
                  self->groups);
  }
}

static void parse_conv_transpose(lk_attrs *attrs, void *params) {
  conv_params *self = params;
  parse_conv(attrs, params);
  self->is_transposed = true;
  lk_window *window = &self->window;
  window->n_output_padding =
      lk_attrs_ints(attrs, "output_padding", window->output_padding, LK_MAX_SPATIAL);
  window->n_output_shape =
      lk_attrs_ints(attrs, "output_shape", window->output_shape, LK_MAX_SPATIAL);
}

/* Checks ranks of X, W and B; the rules are the same for both operators. */
static lk_status check_operands(const lk_op_node *node, const lk_tensor *inputs, int64_t channels,
                                lk_error *error) {
  const lk_tensor_desc *x = &inputs[0].desc, *w = &inputs[1].desc;
  if (x->rank < 3 || x->rank > 2 + LK_MAX_SPATIAL || w->rank != x->rank) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "the input has rank %" PRIu32 " and the weights %" PRIu32 ", equal and 3 to %d",
                   x->rank, w->rank, 2 + LK_MAX_SPATIAL);
  }
  if (!lk_op_has(node, 2) || !lk_rank_is_known(&inputs[2].desc)) return LK_OK;
  if (inputs[2].desc.rank != 1 || lk_dims_differ(inputs[2].desc.dims[0], channels)) {
    char text[LK_TENSOR_TEXT_CAPACITY];
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "the bias is %s, one value for each of %" PRId64 " channels is needed",
                   lk_tensor_text(&inputs[2].desc, text), channels);
  }
  return LK_OK;
}

static bool is_multiple(int64_t dim, int64_t divisor) {
  return dim < 0 || dim % divisor == 0;
}

static lk_status conv_shape(const lk_op_node *node, const lk_tensor *inputs, lk_dims *dims,
                            lk_window_shape *out_shape, int64_t *out_channels, lk_error *error) {
  const conv_params *params = node->params;
  const lk_tensor_desc *x = &inputs[0].desc, *w = &inputs[1].desc;
  int64_t channels = 0;
  *out_channels = w->dims[0];
  LK_RETURN_NOT_OK(check_operands(node, inputs, w->dims[0], error));
  if (!lk_dims_multiply(dims, w->dims[1], params->groups, &channels) ||
      lk_dims_differ(channels, x->dims[1]) || !is_multiple(w->dims[0], params->groups)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "the input has %" PRId64 " channels, the weights take %" PRId64
                   " in each of %" PRId64 " groups and give %" PRId64,
                   x->dims[1], w->dims[1], params->groups, w->dims[0]);
  }
  return lk_window_infer(&params->window, x->rank - 2, x->dims + 2, w->dims + 2, dims, out_shape,
                         error);
}

static lk_status conv_transpose_shape(const lk_op_node *node, const lk_tensor *inputs,
                                      lk_dims *dims, lk_window_shape *out_shape,
                                      int64_t *out_channels, lk_error *error) {
  const conv_params *params = node->params;
  const lk_tensor_desc *x = &inputs[0].desc, *w = &inputs[1].desc;
  if (!lk_dims_multiply(dims, w->dims[1], params->groups, out_channels)) {
    return lk_fail(error, LK_OUT_OF_RANGE, "%" PRId64 " groups of %" PRId64 " channels overflow",
                   params->groups, w->dims[1]);
  }
  LK_RETURN_NOT_OK(check_operands(node, inputs, *out_channels, error));
  if (lk_dims_differ(w->dims[0], x->dims[1]) || !is_multiple(x->dims[1], params->groups)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "the input has %" PRId64 " channels, the weights take %" PRId64 " in %" PRId64
                   " groups",
                   x->dims[1], w->dims[0], params->groups);
  }
  return lk_window_infer_transposed(&params->window, x->rank - 2, x->dims + 2, w->dims + 2, dims,
                                    out_shape, error);
}

/* X and W tell each other's rank. */
static lk_status infer(lk_inference *self, lk_error *error) {
  const conv_params *params = self->node->params;
  lk_tensor inputs[3] = {self->inputs[0], self->inputs[1]};
  lk_tensor_desc *x = &inputs[0].desc, *w = &inputs[1].desc, *to = &self->outputs[0];
  lk_window_shape shape = {0};
  if (lk_op_has(self->node, 2)) inputs[2] = self->inputs[2];
  if (!lk_rank_is_known(x)) lk_shape_open(x, w->rank);
  if (!lk_rank_is_known(x)) return LK_OK;
  if (!lk_rank_is_known(w)) lk_shape_open(w, x->rank);
  LK_RETURN_NOT_OK((params->is_transposed ? conv_transpose_shape : conv_shape)(
      self->node, inputs, self->dims, &shape, &to->dims[1], error));
  to->rank = x->rank;
  to->dims[0] = x->dims[0];
  memcpy(to->dims + 2, shape.out, shape.rank * sizeof shape.out[0]);
  return LK_OK;
}

/* Of the weights, for one output channel: C / groups times the kernel. */
static double kernel_elements(const lk_tensor_desc *w) {
  return w->dims[0] > 0 ? (double)lk_elements(w) / (double)w->dims[0] : 0;
}

static double conv_flops(const lk_tensor_desc *inputs, const lk_tensor_desc *outputs) {
  return 2 * (double)lk_elements(&outputs[0]) * kernel_elements(&inputs[1]);
}

/* Every element of the input goes through M / groups kernels. */
static double conv_transpose_flops(const lk_tensor_desc *inputs, const lk_tensor_desc *outputs) {
  (void)outputs;
  return 2 * (double)lk_elements(&inputs[0]) * kernel_elements(&inputs[1]);
}

/* What its value key says of a convolution. */
typedef struct conv_desc {
  lk_primitive_kind kind;
  lk_tensor_desc src, weights, dst;
  bool has_bias;
  lk_window_shape shape;
} conv_desc;

static lk_status find_primitive(lk_planner *planner, conv_desc *conv, lk_layout layout,
                                const lk_primitive **out_primitive, lk_error *error) {
  lk_key_builder key;
  lk_planner_key_begin(planner, &key, conv->kind);
  conv->src.layout = layout;
  conv->dst.layout = layout;
  lk_key_add_tensor(&key, LK_WORD_SRC, 0, &conv->src, 0);
  lk_key_add_tensor(&key, LK_WORD_WEIGHTS, 0, &conv->weights, 0);
  if (conv->has_bias) lk_key_add_tensor(&key, LK_WORD_BIAS, 0, &planner->inputs[2].desc, 0);
  lk_key_add_tensor(&key, LK_WORD_DST, 0, &conv->dst, 0);
  lk_window_key(&conv->shape, &key);
  return lk_planner_primitive(planner, &key, out_primitive, error);
}

/* Tries channels-last first, and plain where oneDNN has only a reference implementation of that. */
static lk_status choose(lk_planner *planner, conv_desc *conv, const lk_primitive **out_primitive,
                        lk_error *error) {
  const lk_primitive *plain = NULL;
  LK_RETURN_NOT_OK(find_primitive(planner, conv, LK_LAYOUT_CHANNELS_LAST, out_primitive, error));
  if (!(*out_primitive)->is_ref) return LK_OK;
  LK_RETURN_NOT_OK(find_primitive(planner, conv, LK_LAYOUT_PLAIN, &plain, error));
  if (!plain->is_ref) {
    *out_primitive = plain;
  } else {
    conv->src.layout = conv->dst.layout = LK_LAYOUT_CHANNELS_LAST;
  }
  return LK_OK;
}

/* Weights of [M, C/g, k...] as oneDNN's [g, M/g, C/g, k...]: the same bytes. */
static lk_tensor_desc weights_desc(const lk_tensor_desc *w, int64_t groups) {
  lk_tensor_desc desc = *w;
  desc.layout = LK_LAYOUT_ANY;
  if (groups == 1) return desc;
  desc.rank = w->rank + 1;
  desc.dims[0] = groups;
  desc.dims[1] = w->dims[0] / groups;
  memcpy(desc.dims + 2, w->dims + 1, (w->rank - 1) * sizeof w->dims[0]);
  return desc;
}

/* Weights of [C, M/g, k...] as oneDNN's [g, M/g, C/g, k...], and the strides of these
 * dimensions. */
static lk_status transposed_weights(const lk_tensor_desc *w, int64_t groups,
                                    lk_tensor_desc *out_desc, dnnl_memory_desc_t *out_plain,
                                    lk_error *error) {
  const uint32_t lead = groups > 1 ? 1 : 0;
  dnnl_dims_t dims = {0}, strides = {0};
  const int64_t in = w->dims[0] / groups, out = w->dims[1];
  int64_t kernel = 1;
  for (uint32_t i = w->rank; i-- > 2;) {
    dims[lead + i] = w->dims[i];
    strides[lead + i] = kernel;
    kernel *= w->dims[i];
  }
  dims[lead] = out;
  strides[lead] = kernel;
  dims[lead + 1] = in;
  strides[lead + 1] = kernel * out;
  if (lead == 1) {
    dims[0] = groups;
    strides[0] = kernel * out * in;
  }
  *out_desc = lk_tensor_desc_make(LK_F32, w->rank + lead, dims);
  out_desc->layout = LK_LAYOUT_ANY;
  return lk_dnnl_check(
      error,
      dnnl_memory_desc_create_with_strides(out_plain, (int)out_desc->rank, dims, dnnl_f32, strides),
      "describe transposed weights");
}

static lk_status emit(lk_planner *planner, conv_desc *conv, dnnl_memory_desc_t plain_md,
                      lk_error *error) {
  const lk_primitive *primitive = NULL;
  lk_operand src, weights, bias, dst;
  if (lk_elements(&conv->src) == 0) { /* no channels, or nothing but padding */
    return lk_plan_sum_of_nothing(planner, conv->has_bias ? 2 : -1, error);
  }
  LK_RETURN_NOT_OK(choose(planner, conv, &primitive, error));
  const const_dnnl_memory_desc_t packed_md =
      dnnl_primitive_desc_query_md(primitive->desc, dnnl_query_weights_md, 0);
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, conv->src.layout, &src, error));
  LK_RETURN_NOT_OK(
      lk_planner_weights(planner, 1, &conv->weights, plain_md, packed_md, &weights, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, conv->dst.layout, &dst, error));
  lk_primitive_arg args[4] = {
      {DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, dst}};
  uint32_t n_args = 3;
  if (conv->has_bias) {
    LK_RETURN_NOT_OK(lk_planner_input(planner, 2, LK_LAYOUT_PLAIN, &bias, error));
    args[n_args++] = (lk_primitive_arg){DNNL_ARG_BIAS, bias};
  }
  LK_RETURN_NOT_OK(lk_planner_execute(planner, primitive, args, n_args, error));
  return lk_plan_post_ops(planner, 0, &dst, error);
}

static lk_status plan_primitive(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = planner->node;
  const conv_params *params = node->params;
  const lk_tensor *inputs = planner->inputs;
  lk_status status = LK_OK;
  dnnl_memory_desc_t plain_md = NULL;
  conv_desc conv = {
      .src = inputs[0].desc, .dst = planner->outputs[0], .has_bias = lk_op_has(node, 2)};
  if (params->is_transposed) {
    conv.kind = LK_PRIMITIVE_DECONVOLUTION;
    LK_TRY(conv_transpose_shape(node, inputs, NULL, &conv.shape, &conv.dst.dims[1], error));
    LK_TRY(transposed_weights(&inputs[1].desc, params->groups, &conv.weights, &plain_md, error));
  } else {
    conv.kind = LK_PRIMITIVE_CONVOLUTION;
    LK_TRY(conv_shape(node, inputs, NULL, &conv.shape, &conv.dst.dims[1], error));
    conv.weights = weights_desc(&inputs[1].desc, params->groups);
  }
  LK_TRY(emit(planner, &conv, plain_md, error));
cleanup:
  if (plain_md != NULL) dnnl_memory_desc_destroy(plain_md);
  return status;
}

/* ---- on tiles ---- */

/* With fewer channels in each of several groups, a product has too few terms. */
enum { LEAST_GROUP_CHANNELS = 8 };

static bool has_tiles(const lk_planner *planner, const conv_params *params) {
  const lk_tensor_desc *w = &planner->inputs[1].desc;
  const int64_t channels = params->is_transposed ? w->dims[0] / params->groups : w->dims[1];
  const bool is_depthwise = !params->is_transposed && channels == 1;
  return planner->node->constants[1].content != NULL &&
         (params->groups == 1 || is_depthwise || channels >= LEAST_GROUP_CHANNELS) &&
         lk_elements(&planner->inputs[0].desc) > 0;
}

/* Dimensions that are not there come first, as memory has them. */
static lk_conv_shape describe(const lk_planner *planner, const conv_params *params,
                              const lk_window_shape *shape) {
  const lk_tensor_desc *x = &planner->inputs[0].desc, *w = &planner->inputs[1].desc;
  const int64_t groups = params->groups;
  lk_conv_shape conv = {.batch = x->dims[0],
                        .groups = groups,
                        .in_channels = x->dims[1] / groups,
                        .out_channels = params->is_transposed ? w->dims[1] : w->dims[0] / groups};
  const uint32_t first = LK_CONV_DIMS - shape->rank;
  for (uint32_t d = 0; d < LK_CONV_DIMS; d++) {
    const bool is_there = d >= first;
    const uint32_t i = is_there ? d - first : 0;
    conv.in[d] = is_there ? x->dims[2 + i] : 1;
    conv.out[d] = is_there ? shape->out[i] : 1;
    conv.kernel[d] = is_there ? w->dims[2 + i] : 1;
    conv.stride[d] = is_there ? shape->strides[i] : 1;
    conv.dilation[d] = is_there ? shape->dilations[i] : 1;
    conv.pad[d] = is_there ? shape->begin[i] : 0;
  }
  return conv;
}

static lk_status plan_tiles(lk_planner *planner, const conv_params *params, lk_error *error) {
  lk_window_shape shape = {0};
  int64_t channels = 0;
  LK_RETURN_NOT_OK((params->is_transposed ? conv_transpose_shape : conv_shape)(
      planner->node, planner->inputs, NULL, &shape, &channels, error));
  const lk_conv_shape conv = describe(planner, params, &shape);
  if (params->is_transposed) return lk_plan_conv_transposed(planner, &conv, error);
  if (conv.groups > 1 && conv.in_channels == 1) return lk_plan_depthwise(planner, &conv, error);
  return lk_plan_conv(planner, &conv, error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const conv_params *params = planner->node->params;
  return has_tiles(planner, params) ? plan_tiles(planner, params, error)
                                    : plan_primitive(planner, error);
}

#define CONV_ROW(name, summary_text)                                                               \
  LK_OP_ROW(name, "", 1, summary_text,                                                             \
            .flags = LK_OP_PRIMITIVE | LK_OP_POST_OPS | LK_OP_TENSOR_POST_OPS, .min_inputs = 2,    \
            .max_inputs = 3, .max_outputs = 1, .input_types = "T", .output_types = "T",            \
            .types = {LK_TYPES_F32}),                                                              \
      .params_size = sizeof(conv_params), .infer = infer, .plan = plan

const lk_op_class lk_op_conv = {
    CONV_ROW("Conv", "Convolution in 1, 2 or 3 dimensions, grouped, dilated, with bias"),
    .parse = parse_conv,
    .flops = conv_flops,
};
const lk_op_class lk_op_conv_transpose = {
    CONV_ROW("ConvTranspose", "Transposed convolution, with output_padding and output_shape"),
    .parse = parse_conv_transpose,
    .flops = conv_transpose_flops,
};
