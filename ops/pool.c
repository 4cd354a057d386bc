/* MaxPool, AveragePool, GlobalAveragePool (ONNX operators of these names). */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
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
  LK_RETURN_NOT_OK(
      lk_window_infer(&params->window, x.rank - 2, x.dims + 2, NULL, self->dims, shape, error));
  memcpy(x.dims + 2, shape->out, shape->rank * sizeof shape->out[0]);
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
  for (uint32_t i = 2; i < self->outputs[0].rank; i++) self->outputs[0].dims[i] = 1;
  return LK_OK;
}

static lk_status plan_pool(lk_planner *planner, lk_error *error) {
  const pool_params *params = planner->node->params;
  return lk_plan_pool(planner, params->kind, planner->found, params->column_major, error);
}

static bool resize_pool(const lk_resizing *self) {
  const pool_params *params = self->node->params;
  return lk_resize_pool(self, params->kind, self->found);
}

#define POOL_ROW(name, summary_text, input_set, outputs)                                           \
  LK_OP_ROW(name, "", 1, summary_text, .flags = LK_OP_WORTH_CLAIMING | LK_OP_POST_OPS,             \
            .min_inputs = 1, .max_inputs = 1, .max_outputs = outputs, .input_types = "T",          \
            .output_types = "TU", .types = {input_set, LK_TYPE(LK_I64)})
#define WINDOW_ROW(...)                                                                            \
  POOL_ROW(__VA_ARGS__), .params_size = sizeof(pool_params),                                       \
                         .found_size = sizeof(lk_window_shape), .infer = infer_pool,               \
                         .plan = plan_pool, .resize = resize_pool

const lk_op_class lk_op_max_pool = {
    WINDOW_ROW("MaxPool", "Largest value of each window, and where it lies",
               LK_TYPES_FLOAT | LK_TYPE(LK_U8) | LK_TYPE(LK_I8), 2),
    .parse = parse_max_pool,
};
const lk_op_class lk_op_average_pool = {
    WINDOW_ROW("AveragePool", "Mean of each window", LK_TYPES_FLOAT, 1),
    .parse = parse_average_pool,
};
const lk_op_class lk_op_global_average_pool = {
    POOL_ROW("GlobalAveragePool", "Mean of each channel", LK_TYPES_FLOAT, 1),
    .infer = infer_global,
    .plan = lk_plan_global_average,
    .resize = lk_resize_global_average,
};
