/* Products of matrices. */
#include "ops/engine/native/native.h"
#include "ops/plan/product_steps.h"

static lk_status plan(lk_planner *planner, const lk_task *task, lk_error *error) {
  const lk_work *work = &task->work;
  lk_tensor_desc a = work->tensors[LK_ROLE_SRC], b = work->tensors[LK_ROLE_WEIGHTS];
  if (a.dtype == LK_U8 || a.dtype == LK_I8) return lk_native_product_bytes(planner, task, error);
  a.layout = lk_matmul_layout(planner, 0);
  b.layout = lk_matmul_layout(planner, 1);
  lk_matmul matmul = lk_matmul_of_ordered(&a, &b, work->orders, &work->tensors[LK_ROLE_DST]);
  return lk_plan_matmul(planner, &matmul, b.rank > 1, error);
}

const lk_planning lk_native_product = {.plan = plan};
