/* Poolings: windows by the kernel of poolings, one window of all elements by that of reductions, in
 * the layout that the input has. */
#include "ops/kernel/reduce/pool.h"
#include "base/status.h"
#include "base/tensor.h"
#include "ops/engine/native/native.h"
#include "ops/kernel/reduce/pool_indices.h"
#include "ops/kernel/strides.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/moves.h"
#include "ops/plan/reduction.h"

_Static_assert((int)LK_POOL_DIMS == LK_MAX_SPATIAL,
               "kernels pool as many dimensions as windows have");
_Static_assert((int)LK_POOLING_MAX == LK_POOL_MAX && (int)LK_POOLING_MEAN == LK_POOL_MEAN &&
                   (int)LK_POOLING_MEAN_WITH_PADDING == LK_POOL_MEAN_WITH_PADDING &&
                   (int)LK_POOLING_TOTAL == LK_POOL_TOTAL,
               "kernels pool as works do");

static lk_pool_kind kind_of(const lk_task *task) {
  return (lk_pool_kind)task->work.pooling;
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
    geometry.declared[missing + i] = shape->end[i];
  }
  return geometry;
}

/* Whether there is one window, which has all of the input: a reduction then. */
static bool is_reduction(const lk_window_shape *shape, const lk_tensor_desc *x) {
  if (x->dtype != LK_F32) return false;
  for (uint32_t i = 0; i < shape->rank; i++) {
    const bool covers = shape->kernel[i] - shape->begin[i] >= x->dims[2 + i];
    if (shape->out[i] != 1 || shape->dilations[i] != 1 || !covers) return false;
  }
  return true;
}

/* Of the dimensions of this mask, for a tensor of `rank`. */
static uint32_t pixels_mask(uint32_t rank) {
  return ((1U << rank) - 1) & ~3U;
}

static lk_reduction global_reduction(const lk_pool_geometry *geometry, lk_pool_kind kind) {
  lk_reduction mean = {LK_REDUCE_SUM, .divisor = 1};
  if (kind == LK_POOL_MAX) return (lk_reduction){LK_REDUCE_LARGEST, .divisor = 1};
  for (uint32_t i = 0; i < LK_POOL_DIMS; i++) {
    mean.divisor *= (double)lk_pool_divisor(geometry, kind, i, 0);
  }
  return mean;
}

/* One for each element of each window. */
static double pool_flops(const lk_window_shape *shape, const lk_tensor_desc *to) {
  double flops = (double)lk_elements(to);
  for (uint32_t i = 0; i < shape->rank; i++) flops *= (double)shape->kernel[i];
  return flops;
}

/* With the node's post-ops. `positions` is made here, unless it is NULL. */
static lk_status emit_pool(lk_planner *planner, lk_pool_kind kind, const lk_window_shape *shape,
                           const lk_operand *src, const lk_operand *dst, lk_operand *positions,
                           lk_error *error) {
  const lk_tensor_desc *x = &src->desc;
  lk_pool pool = {.geometry = geometry_of(shape, x),
                  .kind = kind,
                  .dtype = (uint8_t)x->dtype,
                  .positions = positions != NULL};
  if (positions == NULL && is_reduction(shape, x)) {
    const lk_reduction reduction = global_reduction(&pool.geometry, kind);
    LK_RETURN_NOT_OK(
        lk_plan_reduce_step(planner, src, dst, pixels_mask(x->rank), &reduction, error));
    return lk_plan_post_ops(planner, 0, dst, error);
  }
  lk_operand operands[3] = {*src, *dst};
  if (positions != NULL) {
    lk_tensor_desc desc = dst->desc;
    desc.dtype = LK_I32;
    LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, positions, error));
    operands[2] = *positions;
  }
  lk_pool_plan(&pool, lk_isa_get());
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_pool_kernel, "pool", &pool, sizeof pool, operands,
                                     pool.positions ? 3 : 2, error));
  lk_planner_flops(planner, pool_flops(shape, &dst->desc));
  return lk_plan_post_ops(planner, 0, dst, error);
}

/* Strides in elements, with those of three spatial dimensions. */
static void five_strides(const lk_tensor_desc *desc, int64_t strides[2 + LK_POOL_DIMS]) {
  int64_t own[LK_MAX_RANK];
  const uint32_t missing = 2 + LK_POOL_DIMS - desc->rank;
  lk_strides(desc, 1, own);
  for (uint32_t i = 0; i < desc->rank; i++) strides[i < 2 ? i : missing + i] = own[i];
}

/* Makes the indices, of `positions`. */
static lk_status emit_indices(lk_planner *planner, const lk_task *task, const lk_operand *positions,
                              lk_error *error) {
  const lk_tensor_desc *x = &task->work.tensors[LK_ROLE_SRC];
  lk_operand operands[] = {*positions, *positions};
  lk_pool_indices step = {
      .geometry = geometry_of(&task->work.window, x), .batch = x->dims[0], .channels = x->dims[1]};
  const lk_layout layout =
      lk_planner_wish(planner, task->from[LK_ROLE_INDICES].index, LK_LAYOUT_PLAIN);
  LK_RETURN_NOT_OK(lk_task_take(planner, task, LK_ROLE_INDICES, layout, &operands[1], error));
  /* column-major: the first spatial dimension is the fastest one */
  int64_t factor = 1;
  for (uint32_t i = 0; i < LK_POOL_DIMS; i++) {
    const uint32_t dim = task->work.column_major ? i : LK_POOL_DIMS - 1 - i;
    step.factors[dim] = factor;
    factor *= step.geometry.in[dim];
  }
  five_strides(&positions->desc, step.from);
  five_strides(&operands[1].desc, step.to);
  return lk_planner_kernel(planner, lk_pool_indices_kernel, "pool_indices", &step, sizeof step,
                           operands, 2, error);
}

/* ---- which one, and in which layout ---- */

/* Positions inside the kernel are i32. */
static lk_status check_positions(const lk_window_shape *shape, lk_error *error) {
  int64_t room = INT32_MAX;
  for (uint32_t i = 0; i < shape->rank; i++) room /= shape->kernel[i];
  if (room > 0) return LK_OK;
  return lk_fail(
      error, LK_OUT_OF_RANGE,
      "attribute 'kernel_shape' has 2^31 elements or more, too many for output 'Indices'");
}

static lk_status plan(lk_planner *planner, const lk_task *task, lk_error *error) {
  const lk_window_shape *shape = &task->work.window;
  lk_operand src, dst, positions;
  const lk_layout layout = lk_task_is_placed(task, LK_ROLE_SRC)
                               ? LK_LAYOUT_ANY
                               : lk_image_layout(planner, task->from[LK_ROLE_SRC].index);
  const bool has_indices = lk_work_has(&task->work, LK_ROLE_INDICES);
  if (has_indices) LK_RETURN_NOT_OK(check_positions(shape, error));
  LK_RETURN_NOT_OK(lk_task_take(planner, task, LK_ROLE_SRC, layout, &src, error));
  LK_RETURN_NOT_OK(lk_task_take(planner, task, LK_ROLE_DST, src.desc.layout, &dst, error));
  LK_RETURN_NOT_OK(
      emit_pool(planner, kind_of(task), shape, &src, &dst, has_indices ? &positions : NULL, error));
  return has_indices ? emit_indices(planner, task, &positions, error) : LK_OK;
}

static bool resize(const lk_resizing *self, const lk_task *task) {
  const lk_window_shape *shape = &task->work.window;
  const lk_tensor_desc *x = &task->work.tensors[LK_ROLE_SRC];
  const lk_pool_geometry geometry = geometry_of(shape, x);
  if (is_reduction(shape, x)) {
    const lk_reduction reduction = global_reduction(&geometry, kind_of(task));
    return lk_resize_reduction(self, pixels_mask(x->rank), &reduction);
  }
  if (self->step->kernel != lk_pool_kernel) return false;
  lk_pool *pool = self->params;
  *pool = (lk_pool){.geometry = geometry, .kind = kind_of(task), .dtype = pool->dtype};
  lk_pool_plan(pool, lk_isa_get());
  self->step->flops = (float)pool_flops(shape, self->output);
  return true;
}

const lk_planning lk_native_pool = {.plan = plan, .resize = resize};
