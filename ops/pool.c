/* MaxPool, AveragePool, LpPool, and those of one window: GlobalAveragePool, GlobalMaxPool,
 * GlobalLpPool (ONNX operators of these names); NhwcMaxPool, QLinearAveragePool and
 * QLinearGlobalAveragePool (com.microsoft). */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/moves.h"
#include "ops/plan/quantized_steps.h"
#include "ops/plan/reduction.h"
#include "ops/plan/work.h"

typedef struct pool_params {
  lk_window window;
  lk_pooling kind;
  bool column_major;
  bool is_last;      /* channels are the last dimension */
  bool counts_whole; /* before opset 19, ONNX Runtime divides by the size of the whole window */
  int64_t p;         /* of norms */
} pool_params;

static void parse_max_pool(lk_attrs *attrs, void *params) {
  pool_params *self = params;
  lk_window_parse_pooling(attrs, &self->window);
  self->kind = LK_POOLING_MAX;
  self->column_major =
      lk_attrs_lists(attrs, "storage_order") && lk_attrs_bool(attrs, "storage_order");
}

static void parse_last(lk_attrs *attrs, void *params) {
  parse_max_pool(attrs, params);
  ((pool_params *)params)->is_last = true;
}

static void parse_average_pool(lk_attrs *attrs, void *params) {
  pool_params *self = params;
  lk_window_parse_pooling(attrs, &self->window);
  const bool padding = lk_attrs_bool(attrs, "count_include_pad");
  self->kind = padding ? LK_POOLING_MEAN_WITH_PADDING : LK_POOLING_MEAN;
  self->counts_whole = attrs->opset < 19;
}

/* As ONNX Runtime has it, whatever the opset. */
static void parse_qlinear(lk_attrs *attrs, void *params) {
  parse_average_pool(attrs, params);
  ((pool_params *)params)->counts_whole = true;
}

static void parse_global(lk_attrs *attrs, void *params) {
  ((pool_params *)params)->kind = (lk_pooling)attrs->class_->variant;
}

static void parse_norm_pool(lk_attrs *attrs, void *params) {
  lk_window_parse_pooling(attrs, &((pool_params *)params)->window);
}

static lk_status check_rank(const lk_tensor_desc *x, lk_error *error) {
  if (x->rank < 3 || x->rank > 2 + LK_MAX_SPATIAL) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "the input has rank %" PRIu32 ", 3 to %d are supported", x->rank,
                   2 + LK_MAX_SPATIAL);
  }
  return LK_OK;
}

/* `found` is the lk_window_shape. */
static lk_status infer_pool(lk_inference *self, lk_error *error) {
  const pool_params *params = self->node->params;
  lk_tensor_desc x = self->inputs[0].desc;
  lk_window_shape room, *shape = self->found != NULL ? self->found : &room;
  if (!lk_rank_is_known(&x) && params->window.n_kernel > 0) {
    lk_shape_open(&x, 2 + (int64_t)params->window.n_kernel);
  }
  if (!lk_rank_is_known(&x)) return LK_OK;
  LK_RETURN_NOT_OK(check_rank(&x, error));
  if (params->is_last) x = lk_shape_channels_second(&x);
  LK_RETURN_NOT_OK(
      lk_window_infer(&params->window, x.rank - 2, x.dims + 2, NULL, self->dims, shape, error));
  /* without ceil_mode, only a window that is larger than the padded input has more than it */
  if (params->counts_whole && !params->window.ceil_mode) lk_window_pad_excess(shape, x.dims + 2);
  memcpy(x.dims + 2, shape->out, shape->rank * sizeof shape->out[0]);
  if (params->is_last) x = lk_shape_channels_last(&x);
  for (uint32_t i = 0; i < self->node->n_outputs; i++) {
    self->outputs[i].rank = x.rank;
    memcpy(self->outputs[i].dims, x.dims, x.rank * sizeof x.dims[0]);
  }
  return LK_OK;
}

static lk_status infer_global(lk_inference *self, lk_error *error) {
  if (!lk_rank_is_known(&self->inputs[0].desc)) return LK_OK;
  LK_RETURN_NOT_OK(check_rank(&self->inputs[0].desc, error));
  lk_shape_of_input(self, 0, 0);
  const bool is_last = ((const pool_params *)self->node->params)->is_last;
  lk_tensor_desc *to = &self->outputs[0];
  for (uint32_t i = 2; i < to->rank; i++) to->dims[i - is_last] = 1;
  return LK_OK;
}

/* One window, which has all of `x`. */
static lk_window_shape global_window(const lk_tensor_desc *x) {
  lk_window_shape shape = {.rank = x->rank - 2};
  for (uint32_t i = 0; i < shape.rank; i++) {
    shape.kernel[i] = x->dims[2 + i];
    shape.strides[i] = shape.dilations[i] = shape.out[i] = 1;
  }
  return shape;
}

/* What is computed, but for the indices of maxima. */
static void describe(const lk_op_node *node, const lk_tensor_desc *x, const lk_tensor_desc *to,
                     const lk_window_shape *window, lk_task *out) {
  const pool_params *params = node->params;
  lk_task_begin(out, LK_WORK_POOL);
  lk_task_input(out, LK_ROLE_SRC, 0, x);
  lk_task_output(out, LK_ROLE_DST, 0, to);
  if (params->is_last) {
    lk_task_put_channels_last(out, LK_ROLE_SRC);
    lk_task_put_channels_last(out, LK_ROLE_DST);
  }
  out->work.window = node->class_->found_size > 0 ? *window : global_window(x);
  out->work.pooling = params->kind;
}

static lk_status plan_pool(lk_planner *planner, lk_error *error) {
  const pool_params *params = planner->node->params;
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  lk_task task;
  if (lk_elements(x) == 0) return lk_plan_pooling_of_nothing(planner, params->kind, error);
  describe(planner->node, x, &planner->outputs[0], planner->found, &task);
  if (planner->node->n_outputs > 1) {
    lk_task_output(&task, LK_ROLE_INDICES, 1, &planner->outputs[1]);
    task.work.column_major = params->column_major;
  }
  return lk_plan_task(planner, &task, error);
}

static bool resize_pool(const lk_resizing *self) {
  lk_task task;
  describe(self->node, &self->inputs[0].desc, self->output, self->found, &task);
  return lk_resize_task(self, &task);
}

/* ---- norms: the p-th root of the sum of |x|^p ---- */

/* |x|^p, or the p-th root of what is not negative: f16 and bf16 by way of f32. */
static lk_status plan_power(lk_planner *planner, bool is_root, const lk_operand *from,
                            const lk_operand *to, lk_error *error) {
  const pool_params *params = planner->node->params;
  const uint32_t wide = from->desc.dtype == LK_F64 ? LK_F64 : LK_F32;
  const double power = is_root ? 1 / (double)params->p : (double)params->p;
  lk_chain chain;
  lk_chain_begin_at(planner, to, &chain);
  chain.value = lk_chain_operand(&chain, from);
  if (params->p == 2) {
    lk_chain_unary(&chain, is_root ? LK_ELEMENT_SQRT : LK_ELEMENT_SQUARE, 0, 0);
  } else {
    if (!is_root) lk_chain_unary(&chain, LK_ELEMENT_ABS, 0, 0);
    if (params->p != 1) {
      const lk_element_value number = lk_element_number(&chain.program, wide, power);
      chain.value = lk_element_binary(&chain.program, LK_ELEMENT_POW, chain.value, number);
    }
  }
  return lk_chain_step(&chain, error);
}

/* Input 0 as powers, and room for their sums. */
static lk_status plan_powers(lk_planner *planner, lk_operand *out_powers, lk_operand *out_sums,
                             lk_error *error) {
  lk_tensor_desc desc = planner->inputs[0].desc, sums = planner->outputs[0];
  lk_operand from;
  desc.layout = sums.layout = LK_LAYOUT_PLAIN;
  desc.dtype = sums.dtype = desc.dtype == LK_F64 ? LK_F64 : LK_F32;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &from, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, out_powers, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &sums, out_sums, error));
  return plan_power(planner, false, &from, out_powers, error);
}

static lk_status plan_roots(lk_planner *planner, const lk_operand *sums, lk_error *error) {
  lk_operand to;
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &to, error));
  return plan_power(planner, true, sums, &to, error);
}

/* Sums over windows, as in ONNX Runtime. ONNX's own reference multiplies the mean of what lies in
 * the input by the size of the whole window, which differs where a window reaches beyond it. */
static lk_status plan_norm_pool(lk_planner *planner, lk_error *error) {
  lk_operand powers, sums;
  if (lk_elements(&planner->inputs[0].desc) == 0) return lk_plan_sum_of_nothing(planner, -1, error);
  LK_RETURN_NOT_OK(plan_powers(planner, &powers, &sums, error));
  lk_task task;
  lk_task_pool(&task, LK_POOLING_TOTAL, planner->found, &powers, &sums);
  LK_RETURN_NOT_OK(lk_plan_task(planner, &task, error));
  return plan_roots(planner, &sums, error);
}

static lk_status plan_global_norm(lk_planner *planner, lk_error *error) {
  static const lk_reduction of_1 = {LK_REDUCE_SIZES, .divisor = 1};
  static const lk_reduction of_2 = {LK_REDUCE_SQUARES, .end = LK_REDUCE_ROOT, .divisor = 1};
  static const lk_reduction of_any = {LK_REDUCE_SUM, .divisor = 1};
  const pool_params *params = planner->node->params;
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  const uint32_t mask = ((1U << x->rank) - 1) & ~3U;
  lk_operand powers, sums;
  if (lk_elements(x) == 0) return lk_plan_sum_of_nothing(planner, -1, error);
  if (params->p <= 2) {
    return lk_plan_reduction(planner, mask, params->p == 1 ? &of_1 : &of_2, error);
  }
  LK_RETURN_NOT_OK(plan_powers(planner, &powers, &sums, error));
  LK_RETURN_NOT_OK(lk_plan_reduce_step(planner, &powers, &sums, mask, &of_any, error));
  return plan_roots(planner, &sums, error);
}

/* ---- of quantized tensors ---- */

static lk_status infer_qlinear(lk_inference *self, lk_error *error) {
  LK_RETURN_NOT_OK(lk_infer_quantizers(self, error));
  return infer_pool(self, error);
}

static lk_status infer_qlinear_global(lk_inference *self, lk_error *error) {
  LK_RETURN_NOT_OK(lk_infer_quantizers(self, error));
  return infer_global(self, error);
}

/* A tensor with channels as its second dimension, where they may be the last one. */
static lk_tensor_desc channels_second(const lk_op_node *node, const lk_tensor_desc *desc) {
  const pool_params *params = node->params;
  return params->is_last ? lk_shape_channels_second(desc) : *desc;
}

/* Means, in f32 between dequantizing and quantizing. */
static lk_status average(lk_planner *planner, const lk_operand *real, const lk_operand *pooled,
                         lk_error *error) {
  const lk_tensor_desc *x = &real->desc;
  const pool_params *params = planner->node->params;
  if (planner->found != NULL && planner->node->class_->found_size > 0) {
    lk_task task;
    lk_task_pool(&task, params->kind, planner->found, real, pooled);
    return lk_plan_task(planner, &task, error);
  }
  const uint32_t spatial = ((1U << x->rank) - 1) & ~3U;
  const lk_reduction mean = {LK_REDUCE_SUM, .divisor = (double)lk_count_dims(x, 2, x->rank)};
  return lk_plan_reduce_step(planner, real, pooled, spatial, &mean, error);
}

static lk_layout pool_layout(lk_planner *planner) {
  const bool is_last = ((const pool_params *)planner->node->params)->is_last;
  return is_last ? LK_LAYOUT_PLAIN : lk_image_layout(planner, 0);
}

static lk_status plan_qlinear(lk_planner *planner, lk_error *error) {
  lk_operand y, real, pooled;
  const lk_layout layout = pool_layout(planner);
  if (lk_elements(&planner->inputs[0].desc) == 0) {
    return lk_refuse(&planner->inputs[0].desc, "the input", "one with elements", error);
  }
  LK_RETURN_NOT_OK(lk_plan_dequantized(planner, layout, &real, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &y, error));
  real.desc = channels_second(planner->node, &real.desc);
  y.desc = channels_second(planner->node, &y.desc);
  lk_tensor_desc to = y.desc;
  to.dtype = LK_F32;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &to, &pooled, error));
  LK_RETURN_NOT_OK(average(planner, &real, &pooled, error));
  return lk_plan_quantized(planner, &pooled, &y, error);
}

/* Of all pixels: sums of bytes, where they fit. */
static lk_status plan_qlinear_global(lk_planner *planner, lk_error *error) {
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  const bool is_last = ((const pool_params *)planner->node->params)->is_last;
  const lk_layout layout = pool_layout(planner);
  const bool is_inner = is_last || layout == LK_LAYOUT_CHANNELS_LAST;
  const lk_tensor_desc seen = channels_second(planner->node, x);
  const int64_t count = lk_count_dims(&seen, 2, seen.rank);
  if (lk_elements(x) == 0 || count > LK_INTEGER_SUMMED) return plan_qlinear(planner, error);
  const lk_byte_means means = {.outer = is_inner ? seen.dims[0] : seen.dims[0] * seen.dims[1],
                               .count = count,
                               .channels = is_inner ? seen.dims[1] : 1};
  return lk_plan_byte_means(planner, &means, layout, error);
}

#define POOL_ATTRS LK_INTS("kernel_shape", .is_required = 1), LK_INTS("pads"), LK_INTS("strides")
#define POOL_ROW(name, summary_text, input_set, outputs)                                           \
  LK_OP_ROW(name, "", 1, summary_text, .flags = LK_OP_WORTH_CLAIMING | LK_OP_POST_OPS,             \
            .min_inputs = 1, .max_inputs = 1, .max_outputs = outputs, .input_types = "T",          \
            .output_types = "TU", .types = {input_set, LK_TYPE(LK_I64)}),                          \
      .by_f32 = true
#define WINDOW_ROW(...)                                                                            \
  POOL_ROW(__VA_ARGS__), .params_size = sizeof(pool_params),                                       \
                         .found_size = sizeof(lk_window_shape), .infer = infer_pool,               \
                         .plan = plan_pool, .resize = resize_pool
#define GLOBAL_ROW(name, summary_text)                                                             \
  POOL_ROW(name, summary_text, LK_TYPES_FLOAT, 1), .params_size = sizeof(pool_params),             \
                                                   .infer = infer_global, .plan = plan_pool,       \
                                                   .resize = resize_pool

const lk_op_class lk_op_max_pool = {
    WINDOW_ROW("MaxPool", "Largest value of each window, and where it lies",
               LK_TYPES_FLOAT | LK_TYPE(LK_U8) | LK_TYPE(LK_I8), 2),
    LK_OP_ATTRS(LK_AUTO_PAD_ATTR, LK_FLAG("ceil_mode", 0, .since = 10),
                LK_INTS("dilations", .since = 10), LK_FLAG("storage_order", 0, .since = 8),
                POOL_ATTRS),
    .parse = parse_max_pool,
};
const lk_op_class lk_op_average_pool = {
    WINDOW_ROW("AveragePool", "Mean of each window", LK_TYPES_FLOAT, 1),
    LK_OP_ATTRS(LK_AUTO_PAD_ATTR, LK_FLAG("ceil_mode", 0, .since = 10),
                LK_FLAG("count_include_pad", 0), LK_INTS("dilations", .since = 19), POOL_ATTRS),
    .parse = parse_average_pool,
};
const lk_op_class lk_op_global_average_pool = {
    GLOBAL_ROW("GlobalAveragePool", "Mean of each channel"),
    .variant = LK_POOLING_MEAN,
    .parse = parse_global,
};
const lk_op_class lk_op_global_max_pool = {
    GLOBAL_ROW("GlobalMaxPool", "Largest value of each channel"),
    .variant = LK_POOLING_MAX,
    .parse = parse_global,
};

#define NORM_ROW(name, summary_text)                                                               \
  LK_OP_ROW(name, "", 2, summary_text, .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 1,             \
            .max_inputs = 1, .max_outputs = 1, .input_types = "T", .output_types = "T",            \
            .types = {LK_TYPES_FLOAT}),                                                            \
      LK_OP_PARAMS(pool_params, LK_PARAM(pool_params, p, "p", .least = 1))
const lk_op_class lk_op_lp_pool = {
    NORM_ROW("LpPool", "The p-th root of the sum of |x|^p of each window"),
    .found_size = sizeof(lk_window_shape),
    LK_OP_ATTRS(LK_AUTO_PAD_ATTR, LK_FLAG("ceil_mode", 0, .since = 18),
                LK_INTS("dilations", .since = 18), LK_INT("p", 2), POOL_ATTRS),
    .parse = parse_norm_pool,
    .infer = infer_pool,
    .plan = plan_norm_pool,
};
const lk_op_class lk_op_global_lp_pool = {
    NORM_ROW("GlobalLpPool", "The p-th root of the sum of |x|^p of each channel"),
    LK_OP_ATTRS(LK_INT("p", 2)),
    .infer = infer_global,
    .plan = plan_global_norm,
};

const lk_op_class lk_op_nhwc_max_pool = {
    LK_OP_ROW("NhwcMaxPool", "com.microsoft", 1, "MaxPool of bytes with channels last",
              .flags = LK_OP_WORTH_CLAIMING | LK_OP_QUANTIZES, .min_inputs = 1, .max_inputs = 1,
              .max_outputs = 1, .input_types = "T", .output_types = "T",
              .types = {LK_TYPE(LK_U8) | LK_TYPE(LK_I8)}),
    .params_size = sizeof(pool_params),
    .found_size = sizeof(lk_window_shape),
    LK_OP_ATTRS(LK_AUTO_PAD_ATTR, LK_FLAG("ceil_mode", 0), LK_INTS("dilations"), POOL_ATTRS),
    .parse = parse_last,
    .infer = infer_pool,
    .plan = plan_pool,
};

#define QLINEAR_ROW(name, summary_text)                                                            \
  LK_OP_ROW(name, "com.microsoft", 1, summary_text,                                                \
            .flags = LK_OP_WORTH_CLAIMING | LK_OP_QUANTIZES, .min_inputs = 2, .max_inputs = 5,     \
            .max_outputs = 1, .input_types = "TUTUT", .output_types = "T",                         \
            .types = {LK_TYPE(LK_U8) | LK_TYPE(LK_I8), LK_TYPES_F32}),                             \
      LK_OP_PARAMS(pool_params, LK_PARAM(pool_params, is_last, "channels_last"))
const lk_op_class lk_op_qlinear_average_pool = {
    QLINEAR_ROW("QLinearAveragePool", "Mean of each window of a quantized tensor, quantized"),
    .found_size = sizeof(lk_window_shape),
    LK_OP_ATTRS(LK_AUTO_PAD_ATTR, LK_FLAG("ceil_mode", 0), LK_FLAG("channels_last", 0),
                LK_FLAG("count_include_pad", 0),
                LK_INTS("dilations"), /* of AveragePool, which passes make one of */
                POOL_ATTRS),
    .parse = parse_qlinear,
    .infer = infer_qlinear,
    .plan = plan_qlinear,
};
const lk_op_class lk_op_qlinear_global_average_pool = {
    QLINEAR_ROW("QLinearGlobalAveragePool",
                "Mean of each channel of a quantized tensor, quantized"),
    LK_OP_ATTRS(LK_FLAG("channels_last", 0)),
    .infer = infer_qlinear_global,
    .plan = plan_qlinear_global,
};
