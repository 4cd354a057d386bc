/* Conv, ConvTranspose, ConvInteger, QLinearConv (ONNX operators of these names), FusedConv,
 * NhwcConv, NhwcFusedConv (com.microsoft). */
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/conv_operands.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/fused_activation.h"
#include "ops/plan/quantized_steps.h"
#include "ops/plan/work.h"

/* Of the class's variants: which inputs are weights and bias; -1: none. */
enum { REAL, INTEGER, QLINEAR };
static const struct {
  uint32_t w;
  int32_t bias;
} inputs_of[] = {[REAL] = {1, 2}, [INTEGER] = {1, -1}, [QLINEAR] = {3, 8}};

typedef struct conv_params {
  lk_window window;
  bool is_transposed; /* ConvTranspose */
  int64_t groups;
  bool is_last, weights_are_last; /* channels are the last dimension of X and Y, and of W */
  bool is_activated;              /* FusedConv */
  lk_post_op activation;
} conv_params;

static void parse_groups(lk_attrs *attrs, conv_params *self) {
  self->groups = lk_attrs_int_from(attrs, "group", 1);
}

static void parse_conv(lk_attrs *attrs, void *params) {
  conv_params *self = params;
  lk_window_parse(attrs, &self->window);
  parse_groups(attrs, self);
}

static void parse_conv_transpose(lk_attrs *attrs, void *params) {
  conv_params *self = params;
  lk_window_parse_transposed(attrs, &self->window);
  parse_groups(attrs, self);
  self->is_transposed = true;
}

/* `desc`, or in `room` what another operand of `rank` says of it. */
static const lk_tensor_desc *with_rank(const lk_tensor_desc *desc, uint32_t rank,
                                       lk_tensor_desc *room) {
  if (lk_rank_is_known(desc)) return desc;
  *room = *desc;
  lk_shape_open(room, rank);
  return room;
}

/* A tensor with channels behind the first dimension, where they may be the last one. */
static lk_tensor_desc channels_second(const lk_tensor_desc *desc, bool is_last) {
  if (!is_last || !lk_rank_is_known(desc) || desc->rank < 3) return *desc;
  return lk_shape_channels_second(desc);
}

/* X and W tell each other's rank. `found` is the lk_window_shape. */
static lk_status infer(lk_inference *self, lk_error *error) {
  const conv_params *params = self->node->params;
  const int32_t variant = self->node->class_->variant, bias = inputs_of[variant].bias;
  const bool is_last = params->is_last;
  const lk_tensor_desc given_x = channels_second(&self->inputs[0].desc, is_last), *x = &given_x;
  const lk_tensor_desc given_w =
      channels_second(&self->inputs[inputs_of[variant].w].desc, params->weights_are_last);
  const lk_tensor_desc *w = &given_w;
  const bool has_bias = bias >= 0 && lk_op_has(self->node, (uint32_t)bias);
  lk_tensor_desc x_room, w_room, *to = &self->outputs[0];
  lk_window_shape room, *shape = self->found != NULL ? self->found : &room;
  if (!lk_rank_is_known(x) && !lk_rank_is_known(w)) return LK_OK;
  const lk_conv_operands of = {.x = with_rank(x, w->rank, &x_room),
                               .w = with_rank(w, x->rank, &w_room),
                               .bias = has_bias ? &self->inputs[bias].desc : NULL};
  LK_RETURN_NOT_OK(lk_conv_channels(&of, params->is_transposed, params->groups, self->dims,
                                    &to->dims[1], error));
  LK_RETURN_NOT_OK((params->is_transposed ? lk_window_infer_transposed : lk_window_infer)(
      &params->window, of.x->rank - 2, of.x->dims + 2, of.w->dims + 2, self->dims, shape, error));
  to->rank = of.x->rank;
  to->dims[0] = of.x->dims[0];
  memcpy(to->dims + 2, shape->out, shape->rank * sizeof shape->out[0]);
  if (is_last) *to = lk_shape_channels_last(to);
  return LK_OK;
}

static double conv_flops(const lk_op_node *node, const lk_tensor *inputs,
                         const lk_tensor_desc *outputs) {
  return lk_conv_flops(&outputs[0], &inputs[inputs_of[node->class_->variant].w].desc);
}

/* Every element of the input goes through M / groups kernels. */
static double conv_transpose_flops(const lk_op_node *node, const lk_tensor *inputs,
                                   const lk_tensor_desc *outputs) {
  (void)node;
  (void)outputs;
  return lk_conv_flops(&inputs[0].desc, &inputs[1].desc);
}

/* What is computed, but for the scales and zero points of bytes. */
static void describe(const lk_op_node *node, const lk_tensor *inputs, const lk_tensor_desc *to,
                     const lk_window_shape *window, lk_task *out) {
  const conv_params *params = node->params;
  const uint32_t w = inputs_of[node->class_->variant].w;
  const int32_t bias = inputs_of[node->class_->variant].bias;
  lk_task_begin(out, params->is_transposed ? LK_WORK_CONV_TRANSPOSED : LK_WORK_CONV);
  out->work.window = *window;
  out->work.groups = params->groups;
  lk_task_input(out, LK_ROLE_SRC, 0, &inputs[0].desc);
  lk_task_input(out, LK_ROLE_WEIGHTS, w, &inputs[w].desc);
  lk_task_output(out, LK_ROLE_DST, 0, to);
  if (params->is_last) {
    lk_task_put_channels_last(out, LK_ROLE_SRC);
    lk_task_put_channels_last(out, LK_ROLE_DST);
  }
  if (params->weights_are_last) lk_task_put_channels_last(out, LK_ROLE_WEIGHTS);
  if (bias >= 0) lk_task_optional(out, LK_ROLE_BIAS, node, inputs, (uint32_t)bias);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  if (lk_elements(&planner->inputs[0].desc) == 0) { /* no channels, or nothing but padding */
    return lk_plan_sum_of_nothing(planner, lk_op_has(planner->node, 2) ? 2 : -1, error);
  }
  lk_task task;
  describe(planner->node, planner->inputs, &planner->outputs[0], planner->found, &task);
  return lk_plan_task(planner, &task, error);
}

static bool resize(const lk_resizing *self) {
  lk_task task;
  describe(self->node, self->inputs, self->output, self->found, &task);
  return lk_resize_task(self, &task);
}

#define CONV_ATTRS                                                                                 \
  LK_AUTO_PAD_ATTR, LK_INTS("dilations"), LK_INT("group", 1), LK_INTS("kernel_shape"),             \
      LK_INTS("pads"), LK_INTS("strides")
#define CONV_ROW(name, domain_text, summary_text, most_inputs, planning)                           \
  LK_OP_ROW(name, domain_text, 1, summary_text,                                                    \
            .flags = LK_OP_WORTH_CLAIMING | LK_OP_POST_OPS | LK_OP_TENSOR_POST_OPS,                \
            .min_inputs = 2, .max_inputs = most_inputs, .max_outputs = 1, .input_types = "T",      \
            .output_types = "T", .types = {LK_TYPES_BY_F32}),                                      \
      .by_f32 = true, .params_size = sizeof(conv_params), .found_size = sizeof(lk_window_shape),   \
      .plan = planning

const lk_op_class lk_op_conv = {
    CONV_ROW("Conv", "", "Convolution in 1, 2 or 3 dimensions, grouped, dilated, with bias", 3,
             plan),
    .infer = infer,
    LK_OP_ATTRS(CONV_ATTRS),
    .parse = parse_conv,
    .flops = conv_flops,
    .resize = resize,
};
const lk_op_class lk_op_conv_transpose = {
    CONV_ROW("ConvTranspose", "", "Transposed convolution, with output_padding and output_shape", 3,
             plan),
    .infer = infer,
    LK_OP_ATTRS(CONV_ATTRS, LK_INTS("output_padding"), LK_INTS("output_shape")),
    .parse = parse_conv_transpose,
    .flops = conv_transpose_flops,
};

/* ---- with a residual and an activation ---- */

enum { RESIDUAL = 3 };

static void parse_fused(lk_attrs *attrs, void *params) {
  conv_params *self = params;
  parse_conv(attrs, params);
  self->is_activated = lk_attrs_activation(attrs, &self->activation);
}

static uint32_t fused_post_ops(const lk_op_node *node, lk_post_op *out) {
  const conv_params *self = node->params;
  uint32_t count = 0;
  if (lk_op_has(node, RESIDUAL)) out[count++] = (lk_post_op){LK_POST_ADD, RESIDUAL, 0, 0};
  if (self->is_activated) out[count++] = self->activation;
  return count;
}

static lk_status infer_fused(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *z = &self->inputs[RESIDUAL].desc;
  LK_RETURN_NOT_OK(infer(self, error));
  if (!lk_op_has(self->node, RESIDUAL) || lk_shape_may_equal(z, &self->outputs[0])) return LK_OK;
  return lk_refuse(z, "the residual", "of the output's shape", error);
}

const lk_op_class lk_op_fused_conv = {
    CONV_ROW("FusedConv", "com.microsoft", "Conv, then a residual and an activation", 4, plan),
    LK_OP_ATTRS(CONV_ATTRS, LK_ACTIVATION_ATTR, LK_FLOATS("activation_params")),
    .parse = parse_fused,
    .own_post_ops = fused_post_ops,
    .infer = infer_fused,
    .flops = conv_flops,
    .resize = resize,
};

/* ---- with channels as the last dimension ---- */

static void parse_last(lk_attrs *attrs, void *params) {
  conv_params *self = params;
  parse_conv(attrs, params);
  self->is_last = self->weights_are_last = true;
}

static void parse_last_fused(lk_attrs *attrs, void *params) {
  conv_params *self = params;
  parse_fused(attrs, params);
  self->is_last = true;
}

static lk_status plan_last(lk_planner *planner, lk_error *error) {
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  if (lk_elements(x) == 0) return lk_refuse(x, "the input", "one with elements", error);
  return plan(planner, error);
}

const lk_op_class lk_op_nhwc_conv = {
    CONV_ROW("NhwcConv", "com.microsoft", "Conv, all tensors with channels last", 3, plan_last),
    LK_OP_ATTRS(CONV_ATTRS),
    .parse = parse_last,
    .infer = infer,
    .flops = conv_flops,
};
const lk_op_class lk_op_nhwc_fused_conv = {
    CONV_ROW("NhwcFusedConv", "com.microsoft", "FusedConv, all but weights with channels last", 4,
             plan_last),
    LK_OP_ATTRS(CONV_ATTRS, LK_ACTIVATION_ATTR, LK_FLOATS("activation_params")),
    .parse = parse_last_fused,
    .own_post_ops = fused_post_ops,
    .infer = infer_fused,
    .flops = conv_flops,
};

/* ---- of bytes ---- */

/* Scales and zero points: of one value, or those of the weights of one for each channel. */
static lk_status check_quantizers(const lk_inference *self, lk_error *error) {
  static const char *const names[] = {"x",       "x_scale",      "x_zero_point", "w",
                                      "w_scale", "w_zero_point", "y_scale",      "y_zero_point"};
  const bool is_qlinear = self->node->class_->variant == QLINEAR;
  const uint32_t first = is_qlinear ? 1 : 2, end = is_qlinear ? 8 : 4, w = is_qlinear ? 3 : 1;
  const lk_tensor_desc *of_w = &self->inputs[w].desc;
  const int64_t channels = lk_rank_is_known(of_w) && of_w->rank > 0 ? of_w->dims[0] : -1;
  for (uint32_t i = first; i < end; i++) {
    const uint32_t name = is_qlinear ? i : i == 2 ? 2 : 5;
    const bool of_channels = name == 4 || name == 5;
    if (i == w) continue;
    LK_RETURN_NOT_OK(lk_infer_quantizer(self, i, names[name], of_channels ? channels : 1, error));
  }
  const uint32_t bias = is_qlinear && lk_op_has(self->node, 8) ? self->inputs[8].desc.dtype : 0;
  if (bias == LK_DTYPE_NONE || bias == LK_I32) return LK_OK;
  return lk_fail(error, LK_UNSUPPORTED, "the bias is of type %s; i32 is supported",
                 lk_dtype_name(bias));
}

static lk_status infer_bytes(lk_inference *self, lk_error *error) {
  LK_RETURN_NOT_OK(check_quantizers(self, error));
  return infer(self, error);
}

/* Which input of ConvInteger and of QLinearConv is what; 0: none. */
static const struct {
  lk_role role;
  uint32_t integer, qlinear;
} quantizers[] = {{LK_ROLE_SRC_ZERO, 2, 2},      {LK_ROLE_WEIGHTS_ZERO, 3, 5},
                  {LK_ROLE_DST_ZERO, 0, 7},      {LK_ROLE_SRC_SCALE, 0, 1},
                  {LK_ROLE_WEIGHTS_SCALE, 0, 4}, {LK_ROLE_DST_SCALE, 0, 6}};

static lk_status plan_bytes(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = planner->node;
  lk_task task;
  describe(node, planner->inputs, &planner->outputs[0], planner->found, &task);
  for (size_t i = 0; i < sizeof quantizers / sizeof *quantizers; i++) {
    const uint32_t input =
        node->class_->variant == QLINEAR ? quantizers[i].qlinear : quantizers[i].integer;
    if (input > 0) lk_task_optional(&task, quantizers[i].role, node, planner->inputs, input);
  }
  return lk_plan_task(planner, &task, error);
}

/* Of com.microsoft. */
static void parse_qlinear_last(lk_attrs *attrs, void *params) {
  conv_params *self = params;
  parse_conv(attrs, params);
  self->is_last = lk_attrs_bool(attrs, "channels_last");
}

#define BYTES (LK_TYPE(LK_U8) | LK_TYPE(LK_I8))
#define BYTES_ROW(name, domain_text, first, summary_text, least, most, ...)                        \
  LK_OP_ROW(name, domain_text, first, summary_text,                                                \
            .flags = LK_OP_WORTH_CLAIMING | LK_OP_QUANTIZES, .min_inputs = least,                  \
            .max_inputs = most, .max_outputs = 1, __VA_ARGS__),                                    \
      .params_size = sizeof(conv_params), .found_size = sizeof(lk_window_shape),                   \
      .infer = infer_bytes

const lk_op_class lk_op_conv_integer = {
    BYTES_ROW("ConvInteger", "", 10, "Convolution of bytes less zero points, exact sums of i32", 2,
              4, .input_types = "TUTU", .output_types = "V",
              .types = {BYTES, BYTES, LK_TYPE(LK_I32)}),
    .variant = INTEGER,
    LK_OP_ATTRS(CONV_ATTRS),
    .parse = parse_conv,
    .flops = conv_flops,
    .plan = plan_bytes,
};
#define QLINEAR_CONV(symbol, domain_text, first, reader, ...)                                      \
  const lk_op_class lk_op_##symbol = {                                                             \
      BYTES_ROW("QLinearConv", domain_text, first, "Convolution of quantized tensors, quantized",  \
                8, 9, .input_types = "TWTUWUWV?", .output_types = "V",                             \
                .types = {BYTES, BYTES, BYTES, LK_TYPES_F32}),                                     \
      LK_OP_ATTRS(CONV_ATTRS, __VA_ARGS__),                                                        \
      .variant = QLINEAR,                                                                          \
      .parse = reader,                                                                             \
      .flops = conv_flops,                                                                         \
      .plan = plan_bytes}
QLINEAR_CONV(qlinear_conv, "", 10, parse_conv);
QLINEAR_CONV(qlinear_conv_microsoft, "com.microsoft", 1, parse_qlinear_last,
             LK_FLAG("channels_last", 0));
