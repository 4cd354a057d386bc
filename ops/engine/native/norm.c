/* Norms over the last dimensions, or over groups of channels: one kernel for f32; for f64,
 * reductions and element-wise steps. */
#include "ops/kernel/reduce/norm.h"
#include "base/status.h"
#include "base/tensor.h"
#include "ops/engine/native/native.h"
#include "ops/kernel/isa.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/reduction.h"

/* ---- scale and shift ---- */

/* What `role` is, if it is there, as an operand of the chain. */
static lk_status apply(lk_chain *chain, const lk_task *task, lk_role role, lk_element_op op,
                       lk_error *error) {
  lk_operand operand;
  if (!lk_work_has(&task->work, role)) return LK_OK;
  LK_RETURN_NOT_OK(lk_task_take(chain->planner, task, role, LK_LAYOUT_PLAIN, &operand, error));
  chain->value =
      lk_element_binary(&chain->program, op, chain->value, lk_chain_operand(chain, &operand));
  return LK_OK;
}

/* The step of a chain, whose value is scaled and shifted. */
static lk_status end_scaled(lk_chain *chain, const lk_task *task, lk_error *error) {
  LK_RETURN_NOT_OK(apply(chain, task, LK_ROLE_SCALE, LK_ELEMENT_MUL, error));
  LK_RETURN_NOT_OK(apply(chain, task, LK_ROLE_SHIFT, LK_ELEMENT_ADD, error));
  return lk_chain_step(chain, error);
}

/* ---- f64 ---- */

/* The statistic `role`, if it is wanted, is `value`, rounded. */
static lk_status write_statistic(lk_planner *planner, const lk_task *task, lk_role role,
                                 const lk_operand *value, lk_error *error) {
  lk_operand to;
  if (!lk_work_has(&task->work, role)) return LK_OK;
  LK_RETURN_NOT_OK(lk_task_take(planner, task, role, LK_LAYOUT_PLAIN, &to, error));
  return lk_planner_cast(planner, value, &to, error);
}

/* `inout_x` less its mean, in a temporary. */
static lk_status plan_centered(lk_planner *planner, const lk_task *task, const lk_operand *mean,
                               double n, lk_operand *inout_x, lk_error *error) {
  const lk_reduction average = {LK_REDUCE_SUM, .divisor = n};
  lk_operand centered;
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_plan_reduce_step(planner, inout_x, mean, task->work.axes, &average, error));
  LK_RETURN_NOT_OK(write_statistic(planner, task, LK_ROLE_MEAN, mean, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &inout_x->desc, &centered, error));
  lk_chain_begin_at(planner, &centered, &chain);
  chain.value = lk_chain_operand(&chain, inout_x);
  chain.value = lk_element_binary(&chain.program, LK_ELEMENT_SUB, chain.value,
                                  lk_chain_operand(&chain, mean));
  *inout_x = centered;
  return lk_chain_step(&chain, error);
}

/* 1 over the deviation. */
static lk_status plan_factor(lk_planner *planner, const lk_task *task, const lk_operand *variance,
                             const lk_operand *to, lk_error *error) {
  lk_chain chain;
  lk_chain_begin_at(planner, to, &chain);
  chain.value = lk_chain_operand(&chain, variance);
  lk_chain_unary(&chain, LK_ELEMENT_LINEAR, 1, task->work.epsilon);
  lk_chain_unary(&chain, LK_ELEMENT_SQRT, 0, 0);
  lk_chain_unary(&chain, LK_ELEMENT_RECIPROCAL, 0, 0);
  LK_RETURN_NOT_OK(lk_chain_step(&chain, error));
  return write_statistic(planner, task, LK_ROLE_DEVIATION, to, error);
}

static lk_status plan_f64(lk_planner *planner, const lk_task *task, lk_error *error) {
  lk_operand x, y, variance, factor;
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_task_take(planner, task, LK_ROLE_SRC, LK_LAYOUT_PLAIN, &x, error));
  LK_RETURN_NOT_OK(lk_task_take(planner, task, LK_ROLE_DST, LK_LAYOUT_PLAIN, &y, error));
  lk_tensor_desc rows = x.desc;
  for (uint32_t i = 0; i < rows.rank; i++) {
    if ((task->work.axes >> i & 1) != 0) rows.dims[i] = 1;
  }
  const double n = (double)lk_elements(&x.desc) / (double)lk_elements(&rows);
  const lk_reduction spread = {LK_REDUCE_SQUARES, .divisor = n};
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &rows, &variance, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &rows, &factor, error));
  if (task->work.is_centered) {
    LK_RETURN_NOT_OK(plan_centered(planner, task, &factor, n, &x, error));
  }
  LK_RETURN_NOT_OK(lk_plan_reduce_step(planner, &x, &variance, task->work.axes, &spread, error));
  LK_RETURN_NOT_OK(plan_factor(planner, task, &variance, &factor, error));
  lk_chain_begin_at(planner, &y, &chain);
  chain.value = lk_chain_operand(&chain, &x);
  chain.value = lk_element_binary(&chain.program, LK_ELEMENT_MUL, chain.value,
                                  lk_chain_operand(&chain, &factor));
  return end_scaled(&chain, task, error);
}

/* ---- f32 ---- */

enum { FLOPS = 8 }; /* of an element: sums, a difference, products */

/* A step while it is put together: src, dst, scale, shift, mean, deviation. */
typedef struct norm_step {
  lk_norm norm;
  lk_operand operands[6];
  uint32_t n_operands;
} norm_step;

static lk_status add(lk_planner *planner, const lk_task *task, lk_role role, bool *has,
                     norm_step *step, lk_error *error) {
  if (!lk_work_has(&task->work, role)) return LK_OK;
  *has = true;
  return lk_task_take(planner, task, role, LK_LAYOUT_PLAIN, &step->operands[step->n_operands++],
                      error);
}

static lk_status begin(lk_planner *planner, const lk_task *task, norm_step *step, lk_error *error) {
  step->n_operands = 2;
  step->norm = (lk_norm){.row = lk_row_loops_get(lk_isa_get())->norm_row,
                         .inner = 1,
                         .period = 1,
                         .epsilon = (double)task->work.epsilon,
                         .is_centered = task->work.is_centered};
  LK_RETURN_NOT_OK(
      lk_task_take(planner, task, LK_ROLE_SRC, LK_LAYOUT_PLAIN, &step->operands[0], error));
  return lk_task_take(planner, task, LK_ROLE_DST, LK_LAYOUT_PLAIN, &step->operands[1], error);
}

static lk_status add_scales(lk_planner *planner, const lk_task *task, norm_step *step,
                            lk_error *error) {
  LK_RETURN_NOT_OK(add(planner, task, LK_ROLE_SCALE, &step->norm.has_scale, step, error));
  return add(planner, task, LK_ROLE_SHIFT, &step->norm.has_bias, step, error);
}

static lk_status emit(lk_planner *planner, const lk_task *task, norm_step *step, lk_error *error) {
  LK_RETURN_NOT_OK(add(planner, task, LK_ROLE_MEAN, &step->norm.has_mean, step, error));
  LK_RETURN_NOT_OK(add(planner, task, LK_ROLE_DEVIATION, &step->norm.has_deviation, step, error));
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_norm_kernel, "norm", &step->norm,
                                     sizeof step->norm, step->operands, step->n_operands, error));
  const double elements = (double)step->norm.rows * (double)step->norm.n;
  lk_planner_work(planner, FLOPS * elements, 2 * sizeof(float) * elements);
  return LK_OK;
}

/* A scale or shift that has a value for each element of a row, along the same dimensions: it goes
 * into the norm's own step. */
static bool is_row(const lk_work *work, lk_role role) {
  const lk_tensor_desc *x = &work->tensors[LK_ROLE_SRC], *scale = &work->tensors[role];
  if (!lk_work_has(work, role)) return true;
  for (uint32_t i = 0; i < x->rank; i++) {
    const uint32_t added = x->rank - scale->rank;
    const int64_t size = i < added ? 1 : scale->dims[i - added];
    if (size != ((work->axes >> i & 1) != 0 ? x->dims[i] : 1)) return false;
  }
  return true;
}

static lk_status plan_layer(lk_planner *planner, const lk_task *task, lk_error *error) {
  const lk_tensor_desc *x = &task->work.tensors[LK_ROLE_SRC];
  norm_step step;
  if (x->dtype == LK_F64) return plan_f64(planner, task, error);
  LK_RETURN_NOT_OK(begin(planner, task, &step, error));
  step.norm.rows = step.norm.n = 1;
  for (uint32_t i = 0; i < x->rank; i++) {
    *((task->work.axes >> i & 1) != 0 ? &step.norm.n : &step.norm.rows) *= x->dims[i];
  }
  const bool scales = is_row(&task->work, LK_ROLE_SCALE) && is_row(&task->work, LK_ROLE_SHIFT);
  if (scales) LK_RETURN_NOT_OK(add_scales(planner, task, &step, error));
  LK_RETURN_NOT_OK(emit(planner, task, &step, error));
  if (scales) return LK_OK;
  lk_chain chain;
  lk_chain_begin_at(planner, &step.operands[1], &chain);
  chain.value = lk_chain_operand(&chain, &step.operands[1]);
  return end_scaled(&chain, task, error);
}

static lk_status plan_group(lk_planner *planner, const lk_task *task, lk_error *error) {
  const lk_work *work = &task->work;
  const lk_tensor_desc *x = &work->tensors[LK_ROLE_SRC];
  const int64_t plane = lk_count_dims(x, 2, x->rank);
  norm_step step;
  LK_RETURN_NOT_OK(begin(planner, task, &step, error));
  step.norm.rows = x->dims[0] * work->groups;
  step.norm.n = x->dims[1] / work->groups * plane;
  step.norm.inner =
      lk_elements(&work->tensors[LK_ROLE_SCALE]) == work->groups ? step.norm.n : plane;
  step.norm.period = work->groups;
  LK_RETURN_NOT_OK(add_scales(planner, task, &step, error));
  return emit(planner, task, &step, error);
}

const lk_planning lk_native_layer_norm = {.plan = plan_layer};
const lk_planning lk_native_group_norm = {.plan = plan_group};
