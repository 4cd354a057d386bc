/* MaxPool, AveragePool, GlobalAveragePool (ONNX operators of these names): channels-last. */
#include <inttypes.h>
#include <string.h>

#include "ops/pool.h"
#include "ops/window.h"
#include "plugin/base/status.h"
#include "plugin/base/tensor.h"

typedef struct pool_params {
  lk_window window;
  bool count_include_pad;
} pool_params;

static void parse_max_pool(lk_attrs *attrs, void *params) {
  pool_params *self = params;
  lk_window_parse(attrs, &self->window);
  if (lk_attrs_int(attrs, "storage_order", 0) != 0) {
    lk_attrs_fail(attrs, LK_UNSUPPORTED, "attribute 'storage_order' is 1, 0 is supported");
  }
  if (attrs->node->n_outputs > 1) {
    lk_attrs_fail(attrs, LK_UNSUPPORTED, "output 'Indices' is wanted, only 'Y' is supported");
  }
}

static void parse_average_pool(lk_attrs *attrs, void *params) {
  pool_params *self = params;
  lk_window_parse(attrs, &self->window);
  self->count_include_pad = lk_attrs_int(attrs, "count_include_pad", 0) != 0;
}

static lk_status check_input(const lk_tensor_desc *x, lk_error *error) {
  if (x->dtype != LK_F32) {
    return lk_fail(error, LK_UNSUPPORTED, "the input's type is %s, f32 is supported",
                   lk_dtype_name(x->dtype));
  }
  if (x->rank < 3 || x->rank > 2 + LK_MAX_SPATIAL) {
    return lk_fail(error, LK_INVALID_ARGUMENT, "the input has rank %" PRIu32 ", 3 to %d", x->rank,
                   2 + LK_MAX_SPATIAL);
  }
  return LK_OK;
}

static lk_status infer_pool(const lk_op_node *node, const lk_tensor *inputs,
                            lk_tensor_desc *outputs, lk_error *error) {
  const pool_params *params = node->params;
  const lk_tensor_desc *x = &inputs[0].desc;
  lk_window_shape shape;
  lk_status status = check_input(x, error);
  if (status != LK_OK) return status;
  status = lk_window_resolve(&params->window, x->rank - 2, x->dims + 2, NULL, &shape, error);
  if (status != LK_OK) return status;
  outputs[0] = lk_tensor_desc_make(LK_F32, x->rank, x->dims);
  memcpy(outputs[0].dims + 2, shape.out, shape.rank * sizeof shape.out[0]);
  return LK_OK;
}

static lk_status infer_global(const lk_op_node *node, const lk_tensor *inputs,
                              lk_tensor_desc *outputs, lk_error *error) {
  (void)node;
  const lk_tensor_desc *x = &inputs[0].desc;
  lk_status status = check_input(x, error);
  if (status != LK_OK) return status;
  outputs[0] = lk_tensor_desc_make(LK_F32, x->rank, x->dims);
  for (uint32_t i = 2; i < x->rank; i++) outputs[0].dims[i] = 1;
  return LK_OK;
}

static lk_status emit_pool(lk_planner *planner, dnnl_alg_kind_t algorithm,
                           const lk_window_shape *shape, lk_error *error) {
  lk_status status = LK_OK;
  lk_operand src, dst;
  lk_key_builder key;
  const lk_primitive *primitive = NULL;
  LK_TRY(lk_planner_input(planner, 0, LK_LAYOUT_CHANNELS_LAST, &src, error));
  LK_TRY(lk_planner_output(planner, 0, LK_LAYOUT_CHANNELS_LAST, &dst, error));
  LK_TRY(lk_primitive_key_begin(&key, lk_planner_env(planner), LK_PRIMITIVE_POOLING,
                                lk_planner_threads(planner), error));
  const int64_t algorithm_value = (int64_t)algorithm;
  lk_key_add_tensor(&key, LK_WORD_SRC, 0, &src.desc, 0);
  lk_key_add_tensor(&key, LK_WORD_DST, 0, &dst.desc, 0);
  lk_key_add_attr(&key, LK_WORD_ALGORITHM, &algorithm_value, 1);
  lk_key_add_attr(&key, LK_WORD_KERNEL, shape->kernel, shape->rank);
  lk_window_key(shape, &key);
  lk_planner_key_post_ops(planner, &key, &dst.desc);
  LK_TRY(lk_planner_primitive(planner, &key, &primitive, error));
  const lk_primitive_arg args[] = {{DNNL_ARG_SRC, src}, {DNNL_ARG_DST, dst}};
  LK_TRY(lk_planner_execute(planner, primitive, args, 2, &dst.desc, error));
cleanup:
  return status;
}

/* oneDNN divides by the window's part inside the padded input, where ONNX's count_include_pad with
 * ceil_mode leaves out what lies beyond the declared padding: these differ only there. */
static bool average_reaches_beyond(const lk_window *window, const lk_window_shape *shape,
                                   const int64_t *in) {
  for (uint32_t i = 0; i < shape->rank; i++) {
    const int64_t declared = window->n_pads > 0 ? window->pads[shape->rank + i] : 0;
    const int64_t extent = (shape->kernel[i] - 1) * shape->dilations[i] + 1;
    const int64_t used = (shape->out[i] - 1) * shape->strides[i] + extent - in[i] - shape->begin[i];
    if (window->auto_pad == LK_PAD_NOTSET && used > declared) return true;
  }
  return false;
}

static lk_status plan_max_pool(lk_planner *planner, lk_error *error) {
  const pool_params *params = lk_planner_node(planner)->params;
  const lk_tensor_desc *x = &lk_planner_input_tensor(planner, 0)->desc;
  lk_window_shape shape;
  lk_status status =
      lk_window_resolve(&params->window, x->rank - 2, x->dims + 2, NULL, &shape, error);
  return status == LK_OK ? emit_pool(planner, dnnl_pooling_max, &shape, error) : status;
}

static lk_status plan_average_pool(lk_planner *planner, lk_error *error) {
  const pool_params *params = lk_planner_node(planner)->params;
  const lk_tensor_desc *x = &lk_planner_input_tensor(planner, 0)->desc;
  lk_window_shape shape;
  lk_status status =
      lk_window_resolve(&params->window, x->rank - 2, x->dims + 2, NULL, &shape, error);
  if (status != LK_OK) return status;
  if (params->count_include_pad && average_reaches_beyond(&params->window, &shape, x->dims + 2)) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "ceil_mode and count_include_pad with a window beyond the padding");
  }
  return emit_pool(planner,
                   params->count_include_pad ? dnnl_pooling_avg_include_padding
                                             : dnnl_pooling_avg_exclude_padding,
                   &shape, error);
}

lk_status lk_plan_global_average(lk_planner *planner, lk_error *error) {
  const lk_tensor_desc *x = &lk_planner_input_tensor(planner, 0)->desc;
  lk_window_shape shape = {.rank = x->rank - 2};
  for (uint32_t i = 0; i < shape.rank; i++) {
    shape.kernel[i] = x->dims[2 + i];
    shape.strides[i] = shape.dilations[i] = shape.out[i] = 1;
  }
  return emit_pool(planner, dnnl_pooling_avg_exclude_padding, &shape, error);
}

#define POOL_ROW(text, summary_text, first, parse_fn, infer_fn, plan_fn)                           \
  {                                                                                                \
    .op_type = text, .domain = "", .summary = summary_text, .min_opset = first, .max_opset = 23,   \
    .min_inputs = 1, .max_inputs = 1, .max_outputs = 2, .runs_on_onednn = true, .post_ops = true,  \
    .params_size = sizeof(pool_params), .parse = parse_fn, .infer = infer_fn, .plan = plan_fn      \
  }

const lk_op_class lk_op_max_pool =
    POOL_ROW("MaxPool", "Largest value of each window; output Y only", 1, parse_max_pool,
             infer_pool, plan_max_pool);
const lk_op_class lk_op_average_pool = POOL_ROW("AveragePool", "Mean of each window", 1,
                                                parse_average_pool, infer_pool, plan_average_pool);
const lk_op_class lk_op_global_average_pool = POOL_ROW(
    "GlobalAveragePool", "Mean of each channel", 1, NULL, infer_global, lk_plan_global_average);
