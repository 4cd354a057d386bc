/* Poolings.
 *
 * oneDNN pools channels-last, in f32, and maxima also in u8 and i8. It has only reference
 * implementations for dilated windows and no f64: these are kernels of our own, in the layout that
 * the input has. Other types are reordered to f32 and back, which is exact for maxima. oneDNN
 * starts a maximum at the least finite number, our kernel at minus infinity: they differ for
 * windows of nothing but minus infinity. */
#include "ops/plan/pooling.h"

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/pool_indices.h"
#include "ops/kernel/strides.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/moves.h"
#include "ops/plan/post_operands.h"

_Static_assert((int)LK_POOL_DIMS == LK_MAX_SPATIAL,
               "kernels pool as many dimensions as windows have");

/* ---- on oneDNN ---- */

static const dnnl_alg_kind_t algorithms[] = {
    [LK_POOL_MAX] = dnnl_pooling_max,
    [LK_POOL_MEAN] = dnnl_pooling_avg_exclude_padding,
    [LK_POOL_MEAN_WITH_PADDING] = dnnl_pooling_avg_include_padding,
};

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
  LK_TRY(lk_layouts_memory_desc(planner->env->layouts, &desc, &expected, error));
  if (!dnnl_memory_desc_equal(expected, md)) {
    LK_TRY(lk_fail(error, LK_ONEDNN, "the workspace of %s has another layout than its output",
                   primitive->implementation));
  }
  LK_TRY(lk_planner_temp(planner, &desc, out_workspace, error));
cleanup:
  if (expected != NULL) dnnl_memory_desc_destroy(expected);
  return status;
}

/* oneDNN divides by the whole kernel, where ONNX leaves out what ceil_mode adds to the padding. */
static bool reaches_beyond(const lk_window_shape *shape) {
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (shape->end[i] > shape->declared[i]) return true;
  }
  return false;
}

static lk_pool_geometry geometry_of(const lk_window_shape *shape, const lk_tensor_desc *x) {
  const bool channels_last = x->layout == LK_LAYOUT_CHANNELS_LAST;
  lk_pool_geometry geometry = {.outer = channels_last ? x->dims[0] : x->dims[0] * x->dims[1],
                               .inner = channels_last ? x->dims[1] : 1};
  const uint32_t missing = LK_POOL_DIMS - shape->rank;
  for (uint32_t i = 0; i < missing; i++) {
    geometry.in[i] = geometry.out[i] = geometry.kernel[i] = 1;
    geometry.strides[i] = geometry.dilations[i] = 1;
  }
  for (uint32_t i = 0; i < shape->rank; i++) {
    geometry.in[missing + i] = x->dims[2 + i];
    geometry.out[missing + i] = shape->out[i];
    geometry.kernel[missing + i] = shape->kernel[i];
    geometry.strides[missing + i] = shape->strides[i];
    geometry.dilations[missing + i] = shape->dilations[i];
    geometry.begin[missing + i] = shape->begin[i];
    geometry.declared[missing + i] = shape->declared[i];
  }
  return geometry;
}

/* With the node's post-ops. `positions` is made here, unless it is NULL. */
static lk_status emit_primitive(lk_planner *planner, lk_pool_kind kind,
                                const lk_window_shape *shape, const lk_operand *src,
                                const lk_operand *dst, lk_operand *positions, lk_error *error) {
  lk_key_builder key;
  const lk_primitive *primitive = NULL;
  const bool corrects = kind == LK_POOL_MEAN_WITH_PADDING && reaches_beyond(shape);
  lk_planner_key_unary(planner, &key, LK_PRIMITIVE_POOLING, &src->desc, &dst->desc);
  lk_key_add_number(&key, LK_WORD_ALGORITHM, algorithms[kind]);
  lk_key_add_attr(&key, LK_WORD_KERNEL, shape->kernel, shape->rank);
  lk_window_key(shape, &key);
  if (positions != NULL) lk_key_add_number(&key, LK_WORD_FLAGS, 1);
  if (!corrects) lk_post_ops_key(planner, &key, &dst->desc);
  LK_RETURN_NOT_OK(lk_planner_primitive(planner, &key, &primitive, error));
  lk_primitive_arg args[3] = {{DNNL_ARG_SRC, *src}, {DNNL_ARG_DST, *dst}};
  uint32_t n_args = 2;
  if (positions != NULL) {
    LK_RETURN_NOT_OK(workspace_of(planner, primitive, dst, positions, error));
    args[n_args++] = (lk_primitive_arg){DNNL_ARG_WORKSPACE, *positions};
  }
  if (!corrects) return lk_post_ops_execute(planner, primitive, args, n_args, &dst->desc, error);
  LK_RETURN_NOT_OK(lk_planner_execute(planner, primitive, args, n_args, error));
  /* corrects the windows that reach beyond the declared padding */
  const lk_pool pool = {.geometry = geometry_of(shape, &src->desc), .kind = kind};
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_pool_divisors_kernel, "pool_divisors", &pool,
                                     sizeof pool, dst, 1, error));
  return lk_plan_post_ops(planner, 0, dst, error);
}

/* ---- by our own kernels ---- */

/* As emit_primitive. */
static lk_status emit_kernel(lk_planner *planner, lk_pool_kind kind, const lk_window_shape *shape,
                             const lk_operand *src, const lk_operand *dst, lk_operand *positions,
                             lk_error *error) {
  const lk_pool pool = {.geometry = geometry_of(shape, &src->desc),
                        .kind = kind,
                        .wide = src->desc.dtype == LK_F64,
                        .positions = positions != NULL};
  lk_operand operands[3] = {*src, *dst};
  if (positions != NULL) {
    lk_tensor_desc desc = dst->desc;
    desc.dtype = LK_I32;
    LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, positions, error));
    operands[2] = *positions;
  }
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_pool_kernel, "pool", &pool, sizeof pool, operands,
                                     pool.positions ? 3 : 2, error));
  return lk_plan_post_ops(planner, 0, dst, error);
}

/* Strides in elements, with those of three spatial dimensions. */
static void five_strides(const lk_tensor_desc *desc, int64_t strides[2 + LK_POOL_DIMS]) {
  int64_t own[LK_MAX_RANK];
  const uint32_t missing = 2 + LK_POOL_DIMS - desc->rank;
  lk_strides(desc, 1, own);
  for (uint32_t i = 0; i < desc->rank; i++) strides[i < 2 ? i : missing + i] = own[i];
}

/* Makes output 1, MaxPool's Indices, of `positions` for an input `x`. */
static lk_status emit_indices(lk_planner *planner, const lk_window_shape *shape,
                              const lk_tensor_desc *x, const lk_operand *positions,
                              bool column_major, lk_error *error) {
  lk_operand operands[] = {*positions, *positions};
  lk_pool_indices step = {.geometry = geometry_of(shape, x),
                          .batch = x->dims[0],
                          .channels = x->dims[1],
                          .narrow = positions->desc.dtype == LK_U8};
  LK_RETURN_NOT_OK(lk_planner_output(planner, 1, lk_planner_wish(planner, 1, LK_LAYOUT_PLAIN),
                                     &operands[1], error));
  /* column-major: the first spatial dimension is the fastest one */
  int64_t factor = 1;
  for (uint32_t i = 0; i < LK_POOL_DIMS; i++) {
    const uint32_t dim = column_major ? i : LK_POOL_DIMS - 1 - i;
    step.factors[dim] = factor;
    factor *= step.geometry.in[dim];
  }
  five_strides(&positions->desc, step.from);
  five_strides(&operands[1].desc, step.to);
  return lk_planner_kernel(planner, lk_pool_indices_kernel, "pool_indices", &step, sizeof step,
                           operands, 2, error);
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
  const bool is_int8 = x->dtype == LK_U8 || x->dtype == LK_I8;
  if (x->dtype == LK_F64) return LK_F64;
  if (!is_int8 || positions || is_dilated(shape) || lk_elements(x) < LEAST_INT8_ELEMENTS ||
      lk_elements(to) < LEAST_INT8_ELEMENTS) {
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
  lk_operand from;
  if (planner->inputs[0].desc.dtype == desc->dtype) {
    return lk_planner_input(planner, 0, desc->layout, out_src, error);
  }
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, LK_LAYOUT_ANY, &from, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, desc, out_src, error));
  return lk_planner_reorder(planner, &from, out_src, error);
}

/* Input 0 has elements. */
static lk_status plan_windows(lk_planner *planner, lk_pool_kind kind, const lk_window_shape *shape,
                              bool column_major, lk_error *error) {
  lk_operand src, dst, positions, out;
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  const bool has_indices = planner->node->n_outputs > 1;
  const bool by_kernel = x->dtype == LK_F64 || is_dilated(shape);
  lk_tensor_desc desc = *x, to = planner->body->outputs[0];
  desc.dtype = type_of(x, &to, shape, has_indices);
  desc.layout = by_kernel ? lk_fixed_input_layout(planner, 0) : LK_LAYOUT_CHANNELS_LAST;
  /* our own kernel pools in the wished layout at once; afterwards would be one pass more */
  if (x->dtype == LK_F64) desc.layout = lk_planner_wish(planner, 0, desc.layout);
  if (has_indices) LK_RETURN_NOT_OK(check_positions(shape, error));
  LK_RETURN_NOT_OK(take_input(planner, &desc, &src, error));
  if (desc.dtype == x->dtype) {
    LK_RETURN_NOT_OK(lk_planner_output(planner, 0, desc.layout, &dst, error));
  } else {
    to.dtype = desc.dtype;
    to.layout = desc.layout;
    LK_RETURN_NOT_OK(lk_planner_temp(planner, &to, &dst, error));
  }
  LK_RETURN_NOT_OK((by_kernel ? emit_kernel : emit_primitive)(
      planner, kind, shape, &src, &dst, has_indices ? &positions : NULL, error));
  if (desc.dtype != x->dtype) {
    const lk_layout layout = lk_planner_wish(planner, 0, desc.layout);
    LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &out, error));
    LK_RETURN_NOT_OK(lk_planner_reorder(planner, &dst, &out, error));
  }
  return has_indices ? emit_indices(planner, shape, x, &positions, column_major, error) : LK_OK;
}

lk_status lk_plan_pool(lk_planner *planner, lk_pool_kind kind, const lk_window_shape *shape,
                       bool column_major, lk_error *error) {
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  char text[LK_TENSOR_TEXT_CAPACITY];
  if (lk_elements(x) > 0) return plan_windows(planner, kind, shape, column_major, error);
  /* windows of nothing but padding */
  switch (kind) {
  case LK_POOL_MEAN:
    return lk_plan_mean_of_nothing(planner, error);
  case LK_POOL_MEAN_WITH_PADDING:
    return lk_plan_sum_of_nothing(planner, -1, error);
  default:
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "the input is %s, the largest of no elements is not defined",
                   lk_tensor_text(x, text));
  }
}

lk_status lk_plan_global_average(lk_planner *planner, lk_error *error) {
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  lk_window_shape shape = {.rank = x->rank - 2};
  for (uint32_t i = 0; i < shape.rank; i++) {
    shape.kernel[i] = x->dims[2 + i];
    shape.strides[i] = shape.dilations[i] = shape.out[i] = 1;
  }
  return lk_plan_pool(planner, LK_POOL_MEAN, &shape, false, error);
}
