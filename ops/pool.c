/* MaxPool, AveragePool, GlobalAveragePool (ONNX operators of these names). */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/pooling.h"

typedef struct pool_params {
  lk_window window;
  lk_pool_kind kind;
  bool column_major;
} pool_params;

static void parse_max_pool(lk_attrs *attrs, void *params) {
  pool_params *self = params;
  lk_window_parse(attrs, &self->window);
  self->kind = LK_POOL_MAX;
  self->column_major = lk_attrs_int(attrs, "storage_order", 0) != 0;
}

static void parse_average_pool(lk_attrs *attrs, void *params) {
  pool_params *self = params;
  lk_window_parse(attrs, &self->window);
  const bool padding = lk_attrs_int(attrs, "count_include_pad", 0) != 0;
  self->kind = padding ? LK_POOL_MEAN_WITH_PADDING : LK_POOL_MEAN;
}

static lk_status check_rank(const lk_tensor_desc *x, lk_error *error) {
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
  lk_status status = check_rank(x, error);
  if (status != LK_OK) return status;
  status = lk_window_resolve(&params->window, x->rank - 2, x->dims + 2, NULL, &shape, error);
  if (status != LK_OK) return status;
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    outputs[i] = lk_tensor_desc_make(i == 0 ? x->dtype : LK_I64, x->rank, x->dims);
    memcpy(outputs[i].dims + 2, shape.out, shape.rank * sizeof shape.out[0]);
  }
  return LK_OK;
}

static lk_status infer_global(const lk_op_node *node, const lk_tensor *inputs,
                              lk_tensor_desc *outputs, lk_error *error) {
  (void)node;
  const lk_tensor_desc *x = &inputs[0].desc;
  lk_status status = check_rank(x, error);
  if (status != LK_OK) return status;
  outputs[0] = lk_tensor_desc_make(x->dtype, x->rank, x->dims);
  for (uint32_t i = 2; i < x->rank; i++) outputs[0].dims[i] = 1;
  return LK_OK;
}

static lk_status plan_pool(lk_planner *planner, lk_error *error) {
  const pool_params *params = lk_planner_node(planner)->params;
  const lk_tensor_desc *x = &lk_planner_input_tensor(planner, 0)->desc;
  lk_window_shape shape;
  LK_RETURN_NOT_OK(
      lk_window_resolve(&params->window, x->rank - 2, x->dims + 2, NULL, &shape, error));
  return lk_plan_pool(planner, params->kind, &shape, params->column_major, error);
}

#define POOL_ROW(text, summary_text, input_types, outputs, parse_fn, infer_fn, plan_fn)            \
  {                                                                                                \
    .op_type = text, .domain = "", .summary = summary_text, .min_opset = 1, .max_opset = 23,       \
    .min_inputs = 1, .max_inputs = 1, .max_outputs = outputs, .types = {input_types},              \
    .runs_on_onednn = true, .post_ops = true, .params_size = sizeof(pool_params),                  \
    .parse = parse_fn, .infer = infer_fn, .plan = plan_fn                                          \
  }

const lk_op_class lk_op_max_pool = POOL_ROW(
    "MaxPool", "Largest value of each window, and where it lies; dilated windows in C",
    LK_TYPES_FLOAT | LK_TYPE(LK_U8) | LK_TYPE(LK_I8), 2, parse_max_pool, infer_pool, plan_pool);
const lk_op_class lk_op_average_pool =
    POOL_ROW("AveragePool", "Mean of each window; dilated windows in C", LK_TYPES_FLOAT, 1,
             parse_average_pool, infer_pool, plan_pool);
const lk_op_class lk_op_global_average_pool =
    POOL_ROW("GlobalAveragePool", "Mean of each channel", LK_TYPES_FLOAT, 1, NULL, infer_global,
             lk_plan_global_average);
