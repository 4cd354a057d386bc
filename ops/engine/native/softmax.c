/* Softmax, its logarithm, and Hardmax. */
#include "base/status.h"
#include "base/tensor.h"
#include "ops/engine/native/native.h"
#include "ops/kernel/reduce/along.h"
#include "ops/kernel/strides.h"
#include "ops/plan/reduction.h"

/* The dimensions before those that sums go over, these, and those behind. */
static void three_dims(const lk_tensor_desc *x, uint32_t axes, int64_t dims[3]) {
  bool is_behind = false;
  dims[0] = dims[1] = dims[2] = 1;
  for (uint32_t i = 0; i < x->rank; i++) {
    const bool is_along = (axes >> i & 1) != 0;
    dims[is_along ? 1 : is_behind ? 2 : 0] *= x->dims[i];
    is_behind = is_behind || is_along;
  }
}

static bool is_one_dim(uint32_t axes) {
  return axes != 0 && (axes & (axes - 1)) == 0;
}

/* Of f32, along one dimension in any layout. */
static lk_status plan_in_layout(lk_planner *planner, const lk_operand operands[2], uint32_t axis,
                                bool is_log, lk_error *error) {
  const lk_tensor_desc *x = &operands[0].desc;
  int64_t strides[LK_MAX_RANK];
  lk_strides(x, 1, strides);
  const int64_t n = x->dims[axis], inner = strides[axis];
  const int64_t dims[3] = {lk_elements(x) / (n * inner), n, inner};
  const bool is_last = x->layout == LK_LAYOUT_CHANNELS_LAST ? axis == 1 : axis == x->rank - 1;
  return lk_plan_softmax(planner, &operands[0], &operands[1], dims, is_last, is_log, error);
}

static lk_status plan(lk_planner *planner, const lk_task *task, lk_error *error) {
  const uint32_t axes = task->work.axes;
  const lk_tensor_desc *x = &task->work.tensors[LK_ROLE_SRC];
  const bool is_log = task->work.kind == LK_WORK_LOG_SOFTMAX, is_f32 = x->dtype == LK_F32;
  const lk_layout layout = is_f32 && is_one_dim(axes) ? x->layout : LK_LAYOUT_PLAIN;
  lk_operand operands[2]; /* src, dst */
  LK_RETURN_NOT_OK(lk_task_take(planner, task, LK_ROLE_SRC, layout, &operands[0], error));
  LK_RETURN_NOT_OK(lk_task_take(planner, task, LK_ROLE_DST, layout, &operands[1], error));
  if (is_f32 && is_one_dim(axes)) {
    return plan_in_layout(planner, operands, (uint32_t)__builtin_ctz(axes), is_log, error);
  }
  int64_t dims[3];
  three_dims(x, axes, dims);
  if (is_f32) {
    const bool is_last = dims[2] == 1;
    return lk_plan_softmax(planner, &operands[0], &operands[1], dims, is_last, is_log, error);
  }
  return lk_plan_softmax_steps(planner, &operands[0], &operands[1], dims, is_log, error);
}

static lk_status plan_hardmax(lk_planner *planner, const lk_task *task, lk_error *error) {
  lk_operand operands[2]; /* src, dst */
  int64_t dims[3];
  LK_RETURN_NOT_OK(lk_task_take(planner, task, LK_ROLE_SRC, LK_LAYOUT_PLAIN, &operands[0], error));
  LK_RETURN_NOT_OK(lk_task_take(planner, task, LK_ROLE_DST, LK_LAYOUT_PLAIN, &operands[1], error));
  three_dims(&operands[0].desc, task->work.axes, dims);
  lk_along step = {.dtype = operands[0].desc.dtype,
                   .is_one_hot = true,
                   .outer = dims[0],
                   .n = dims[1],
                   .inner = dims[2]};
  lk_along_plan(&step, lk_isa_get());
  return lk_planner_kernel(planner, lk_largest_kernel, "largest", &step, sizeof step, operands, 2,
                           error);
}

const lk_planning lk_native_softmax = {.plan = plan}, lk_native_hardmax = {.plan = plan_hardmax};
