/* MaxPool, AveragePool, GlobalAveragePool (ONNX operators of these names).
 *
 * oneDNN pools channels-last, in f32, and maxima also in u8 and i8. It has only reference
 * implementations for dilated windows and no f64: these are plain C (pool_kernel.c), in the layout
 * that the input has. Other types are reordered to f32 and back, which is exact for maxima.
 * oneDNN starts a maximum at the least finite number, plain C at minus infinity: they differ for
 * windows of nothing but minus infinity. */
#include "ops/pool.h"

#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/eltwise.h"
#include "ops/empty.h"
#include "ops/plan/copy.h"
#include "ops/plan/relayout.h"
#include "ops/plan/window.h"
#include "ops/pool_kernel.h"

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

static bool is_small_integer(uint32_t dtype) {
  return dtype == LK_U8 || dtype == LK_I8;
}

static lk_status check_rank(const lk_tensor_desc *x, lk_error *error) {
  if (x->rank < 3 || x->rank > 2 + LK_MAX_SPATIAL) {
    return lk_fail(error, LK_INVALID_ARGUMENT, "the input has rank %" PRIu32 ", 3 to %d", x->rank,
                   2 + LK_MAX_SPATIAL);
  }
  return LK_OK;
}

static lk_status infer_pool(lk_inference *self, lk_error *error) {
  const pool_params *params = self->node->params;
  lk_tensor_desc x = self->inputs[0].desc;
  lk_window_shape shape;
  if (!lk_rank_is_known(&x) && params->window.n_kernel > 0) {
    lk_shape_open(&x, 2 + (int64_t)params->window.n_kernel);
  }
  if (!lk_rank_is_known(&x)) return LK_OK;
  LK_RETURN_NOT_OK(check_rank(&x, error));
  LK_RETURN_NOT_OK(
      lk_window_infer(&params->window, x.rank - 2, x.dims + 2, NULL, self->dims, &shape, error));
  memcpy(x.dims + 2, shape.out, shape.rank * sizeof shape.out[0]);
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

/* ---- on oneDNN ---- */

static dnnl_alg_kind_t algorithm_of(lk_pool_kind kind) {
  switch (kind) {
  case LK_POOL_MAX:
    return dnnl_pooling_max;
  case LK_POOL_MEAN:
    return dnnl_pooling_avg_exclude_padding;
  default:
    return dnnl_pooling_avg_include_padding;
  }
}

/* A temporary for the workspace, which has the position of the maximum inside the kernel, as u8 or
 * i32, in the layout of `dst`. */
static lk_status workspace_of(lk_planner *planner, const lk_primitive *primitive,
                              const lk_operand *dst, lk_operand *out_workspace, lk_error *error) {
  lk_status status = LK_OK;
  dnnl_memory_desc_t expected = NULL;
  lk_tensor_desc desc = dst->desc;
  const_dnnl_memory_desc_t md =
      dnnl_primitive_desc_query_md(primitive->desc, dnnl_query_workspace_md, 0);
  dnnl_data_type_t type = dnnl_data_type_undef;
  (void)dnnl_memory_desc_query(md, dnnl_query_data_type, &type);
  desc.dtype = type == dnnl_u8 ? LK_U8 : LK_I32;
  LK_TRY(lk_layouts_memory_desc(lk_planner_env(planner)->layouts, &desc, &expected, error));
  if (!dnnl_memory_desc_equal(expected, md)) {
    LK_TRY(lk_fail(error, LK_ONEDNN, "the workspace of %s has another layout than its output",
                   primitive->implementation));
  }
  LK_TRY(lk_planner_temp(planner, &desc, out_workspace, error));
cleanup:
  if (expected != NULL) dnnl_memory_desc_destroy(expected);
  return status;
}

/* Node's post-ops included. `positions`: made here, unless NULL. */
static lk_status emit_onednn(lk_planner *planner, lk_pool_kind kind, const lk_window_shape *shape,
                             const lk_operand *src, const lk_operand *dst, lk_operand *positions,
                             lk_error *error) {
  lk_status status = LK_OK;
  lk_key_builder key;
  const lk_primitive *primitive = NULL;
  /* oneDNN divides by the whole kernel, where ONNX leaves out what ceil_mode adds to the padding */
  const bool beyond = kind == LK_POOL_MEAN_WITH_PADDING && lk_pool_reaches_beyond(shape);
  const int64_t algorithm = (int64_t)algorithm_of(kind), training = 1;
  lk_planner_key_begin(planner, &key, LK_PRIMITIVE_POOLING);
  lk_key_add_tensor(&key, LK_WORD_SRC, 0, &src->desc, 0);
  lk_key_add_tensor(&key, LK_WORD_DST, 0, &dst->desc, 0);
  lk_key_add_attr(&key, LK_WORD_ALGORITHM, &algorithm, 1);
  lk_key_add_attr(&key, LK_WORD_KERNEL, shape->kernel, shape->rank);
  lk_window_key(shape, &key);
  if (positions != NULL) lk_key_add_attr(&key, LK_WORD_FLAGS, &training, 1);
  if (!beyond) lk_planner_key_post_ops(planner, &key, &dst->desc);
  LK_TRY(lk_planner_primitive(planner, &key, &primitive, error));
  lk_primitive_arg args[3] = {{DNNL_ARG_SRC, *src}, {DNNL_ARG_DST, *dst}};
  if (positions != NULL) {
    LK_TRY(workspace_of(planner, primitive, dst, positions, error));
    args[2] = (lk_primitive_arg){DNNL_ARG_WORKSPACE, *positions};
  }
  LK_TRY(lk_planner_execute(planner, primitive, args, positions != NULL ? 3 : 2,
                            beyond ? NULL : &dst->desc, error));
  if (beyond) {
    LK_TRY(lk_plan_pool_divisors(planner, shape, src, dst, error));
    LK_TRY(lk_plan_post_ops(planner, dst, error));
  }
cleanup:
  return status;
}

/* ---- in plain C ---- */

static lk_status emit_kernel(lk_planner *planner, lk_pool_kind kind, const lk_window_shape *shape,
                             const lk_operand *src, const lk_operand *dst, lk_operand *positions,
                             lk_error *error) {
  lk_status status = LK_OK;
  if (positions != NULL) {
    lk_tensor_desc desc = dst->desc;
    desc.dtype = LK_I32;
    LK_TRY(lk_planner_temp(planner, &desc, positions, error));
  }
  LK_TRY(lk_plan_pool_kernel(planner, kind, shape, src, dst, positions, error));
  LK_TRY(lk_plan_post_ops(planner, dst, error));
cleanup:
  return status;
}

/* ---- which one, and in which type and layout ---- */

static bool is_dilated(const lk_window_shape *shape) {
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (shape->dilations[i] != 1) return true;
  }
  return false;
}

/* Positions inside the kernel are i32. */
static lk_status check_positions(const lk_window_shape *shape, lk_error *error) {
  int64_t room = INT32_MAX;
  for (uint32_t i = 0; i < shape->rank; i++) room /= shape->kernel[i];
  if (room > 0) return LK_OK;
  return lk_fail(
      error, LK_OUT_OF_RANGE,
      "attribute 'kernel_shape' has 2^31 elements or more, too many for output 'Indices'");
}

/* Smaller int8 tensors than this may get a reference implementation: without masked loads (AVX2), a
 * last window of less than a vector must not be read. */
#define LEAST_INT8_ELEMENTS 256

/* The type to compute in. oneDNN's int8 poolings cannot keep positions, and are reference
 * implementations where a window may lie in the padding as a whole. */
static uint32_t type_of(const lk_tensor_desc *x, const lk_tensor_desc *to,
                        const lk_window_shape *shape, bool positions) {
  if (x->dtype == LK_F64) return LK_F64;
  if (!is_small_integer(x->dtype) || positions || is_dilated(shape) ||
      lk_elements(x) < LEAST_INT8_ELEMENTS || lk_elements(to) < LEAST_INT8_ELEMENTS) {
    return LK_F32;
  }
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (shape->begin[i] >= shape->kernel[i] || shape->end[i] >= shape->kernel[i]) return LK_F32;
  }
  return x->dtype;
}

/* Input 0 in the type of `desc`, and in its layout. */
static lk_status take_input(lk_planner *planner, const lk_tensor_desc *desc, lk_operand *out_src,
                            lk_error *error) {
  lk_status status = LK_OK;
  lk_operand from;
  if (lk_planner_input_tensor(planner, 0)->desc.dtype == desc->dtype) {
    return lk_plan_input_as(planner, 0, desc->layout, out_src, error);
  }
  LK_TRY(lk_planner_input(planner, 0, LK_LAYOUT_ANY, &from, error));
  LK_TRY(lk_planner_temp(planner, desc, out_src, error));
  LK_TRY(lk_planner_reorder(planner, &from, out_src, error));
cleanup:
  return status;
}

/* What the kind computes from input 0 as output 0, and the indices as output 1 when it is there. */
static lk_status plan_windows(lk_planner *planner, lk_pool_kind kind, const lk_window_shape *shape,
                              bool column_major, lk_error *error) {
  lk_status status = LK_OK;
  lk_operand src, dst, positions, out;
  const lk_tensor_desc *x = &lk_planner_input_tensor(planner, 0)->desc;
  const bool indices = lk_planner_node(planner)->n_outputs > 1;
  const bool in_c = x->dtype == LK_F64 || is_dilated(shape);
  lk_tensor_desc desc = *x, to = *lk_planner_output_desc(planner, 0);
  desc.dtype = type_of(x, &to, shape, indices);
  desc.layout = in_c ? lk_copy_input_layout(planner, 0) : LK_LAYOUT_CHANNELS_LAST;
  /* oneDNN cannot reorder f64 */
  if (x->dtype == LK_F64) desc.layout = lk_planner_wish(planner, 0, desc.layout);
  if (indices) LK_TRY(check_positions(shape, error));
  LK_TRY(take_input(planner, &desc, &src, error));
  if (desc.dtype == x->dtype) {
    LK_TRY(lk_planner_output(planner, 0, desc.layout, &dst, error));
  } else {
    to.dtype = desc.dtype;
    to.layout = desc.layout;
    LK_TRY(lk_planner_temp(planner, &to, &dst, error));
  }
  LK_TRY((in_c ? emit_kernel : emit_onednn)(planner, kind, shape, &src, &dst,
                                            indices ? &positions : NULL, error));
  if (desc.dtype != x->dtype) {
    LK_TRY(lk_planner_output(planner, 0, lk_planner_wish(planner, 0, desc.layout), &out, error));
    LK_TRY(lk_planner_reorder(planner, &dst, &out, error));
  }
  if (indices) {
    LK_TRY(lk_plan_pool_indices(planner, 1, shape, x, &positions, column_major, error));
  }
cleanup:
  return status;
}

/* Windows of nothing but padding, because the input is empty. */
static lk_status plan_padding(lk_planner *planner, lk_pool_kind kind, lk_error *error) {
  char text[LK_TENSOR_TEXT_CAPACITY];
  switch (kind) {
  case LK_POOL_MEAN:
    return lk_plan_mean_of_nothing(planner, error);
  case LK_POOL_MEAN_WITH_PADDING:
    return lk_plan_sum_of_nothing(planner, -1, error);
  default:
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "the input is %s, the largest of no elements is not defined",
                   lk_tensor_text(&lk_planner_input_tensor(planner, 0)->desc, text));
  }
}

static lk_status plan_pool(lk_planner *planner, lk_error *error) {
  const pool_params *params = lk_planner_node(planner)->params;
  const lk_tensor_desc *x = &lk_planner_input_tensor(planner, 0)->desc;
  lk_window_shape shape;
  lk_status status =
      lk_window_resolve(&params->window, x->rank - 2, x->dims + 2, NULL, &shape, error);
  if (status != LK_OK) return status;
  if (lk_elements(x) == 0) return plan_padding(planner, params->kind, error);
  return plan_windows(planner, params->kind, &shape, params->column_major, error);
}

lk_status lk_plan_global_average(lk_planner *planner, lk_error *error) {
  const lk_tensor_desc *x = &lk_planner_input_tensor(planner, 0)->desc;
  lk_window_shape shape = {.rank = x->rank - 2};
  if (lk_elements(x) == 0) return lk_plan_mean_of_nothing(planner, error);
  for (uint32_t i = 0; i < shape.rank; i++) {
    shape.kernel[i] = x->dims[2 + i];
    shape.strides[i] = shape.dilations[i] = shape.out[i] = 1;
  }
  return plan_windows(planner, LK_POOL_MEAN, &shape, false, error);
}

#define POOL_ROW(name, summary_text, input_set, outputs)                                           \
  LK_OP_ROW(.op_type = name, .domain = "", .summary = summary_text, .since = 1,                    \
            .flags = LK_OP_ON_ONEDNN | LK_OP_WORTH_CLAIMING | LK_OP_POST_OPS, .min_inputs = 1,     \
            .max_inputs = 1, .max_outputs = outputs, .input_types = "T", .output_types = "TU",     \
            .types = {input_set, LK_TYPE(LK_I64)})

const lk_op_class lk_op_max_pool = {
    POOL_ROW("MaxPool", "Largest value of each window, and where it lies; dilated windows in C",
             LK_TYPES_FLOAT | LK_TYPE(LK_U8) | LK_TYPE(LK_I8), 2),
    .params_size = sizeof(pool_params),
    .parse = parse_max_pool,
    .infer = infer_pool,
    .plan = plan_pool,
};
const lk_op_class lk_op_average_pool = {
    POOL_ROW("AveragePool", "Mean of each window; dilated windows in C", LK_TYPES_FLOAT, 1),
    .params_size = sizeof(pool_params),
    .parse = parse_average_pool,
    .infer = infer_pool,
    .plan = plan_pool,
};
const lk_op_class lk_op_global_average_pool = {
    POOL_ROW("GlobalAveragePool", "Mean of each channel", LK_TYPES_FLOAT, 1),
    .infer = infer_global,
    .plan = lk_plan_global_average,
};
