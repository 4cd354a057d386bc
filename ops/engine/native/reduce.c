/* Reductions: one kernel, but for the logarithm of a sum of powers, and for what whole numbers need
 * beyond 64 bits. */
#include "ops/kernel/reduce/reduce.h"

#include "base/status.h"
#include "base/tensor.h"
#include "ops/engine/native/native.h"
#include "ops/engine/native/whole_reduction.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/moves.h"
#include "ops/plan/reduction.h"

static lk_reducing reducing_of(const lk_task *task) {
  return (lk_reducing)task->work.reducing;
}

/* Of LK_REDUCING_LOG_SUM_EXP, of the powers. */
static lk_reduction reduction_of(const lk_task *task) {
  static const lk_reduction reductions[] = {
      [LK_REDUCING_SUM] = {LK_REDUCE_SUM, .divisor = 1},
      [LK_REDUCING_MEAN] = {LK_REDUCE_SUM, .divisor = 1}, /* how many there are */
      [LK_REDUCING_MAX] = {LK_REDUCE_MAX, .divisor = 1},
      [LK_REDUCING_MIN] = {LK_REDUCE_MIN, .divisor = 1},
      [LK_REDUCING_PRODUCT] = {LK_REDUCE_PRODUCT, .divisor = 1},
      [LK_REDUCING_L1] = {LK_REDUCE_SIZES, .divisor = 1},
      [LK_REDUCING_L2] = {LK_REDUCE_SQUARES, .end = LK_REDUCE_ROOT, .divisor = 1},
      [LK_REDUCING_SUM_SQUARE] = {LK_REDUCE_SQUARES, .divisor = 1},
      [LK_REDUCING_LOG_SUM] = {LK_REDUCE_SUM, .end = LK_REDUCE_LOG, .divisor = 1},
      [LK_REDUCING_LOG_SUM_EXP] = {LK_REDUCE_SUM, .end = LK_REDUCE_LOG, .divisor = 1},
  };
  const int64_t count = lk_elements(&task->work.tensors[LK_ROLE_SRC]);
  lk_reduction made = reductions[reducing_of(task)];
  if (reducing_of(task) == LK_REDUCING_MEAN && count > 0) {
    made.divisor = (double)count / (double)lk_elements(&task->work.tensors[LK_ROLE_DST]);
  }
  return made;
}

static lk_status take_plain(lk_planner *planner, const lk_task *task, lk_operand out[2],
                            lk_error *error) {
  LK_RETURN_NOT_OK(lk_task_take(planner, task, LK_ROLE_SRC, LK_LAYOUT_PLAIN, &out[0], error));
  return lk_task_take(planner, task, LK_ROLE_DST, LK_LAYOUT_PLAIN, &out[1], error);
}

/* ---- rows of one element ---- */

static lk_element_op op_of(lk_reducing what) {
  return what == LK_REDUCING_LOG_SUM      ? LK_ELEMENT_LOG
         : what == LK_REDUCING_SUM_SQUARE ? LK_ELEMENT_SQUARE
                                          : LK_ELEMENT_ABS;
}

/* The logarithm of integers, over no dimension. */
static lk_status plan_log(lk_planner *planner, const lk_task *task, lk_error *error) {
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_chain_begin(planner, &chain, error));
  LK_RETURN_NOT_OK(lk_chain_input(&chain, task->from[LK_ROLE_SRC].index, &chain.value, error));
  chain.value = lk_element_cast(&chain.program, chain.value, LK_F64);
  lk_chain_unary(&chain, LK_ELEMENT_LOG, 0, 0);
  chain.value = lk_element_cast(&chain.program, chain.value, task->work.tensors[LK_ROLE_DST].dtype);
  return lk_chain_end(&chain, error);
}

/* Whether they are what a function makes of each element. A logarithm of integers is not there. */
static bool is_of_one(const lk_task *task) {
  const lk_tensor_desc *x = &task->work.tensors[LK_ROLE_SRC];
  const lk_reducing what = reducing_of(task);
  const bool is_float = (LK_TYPE(x->dtype) & LK_TYPES_FLOAT) != 0;
  return lk_elements(x) == lk_elements(&task->work.tensors[LK_ROLE_DST]) &&
         (what == LK_REDUCING_L1 || what == LK_REDUCING_L2 || what == LK_REDUCING_SUM_SQUARE ||
          (what == LK_REDUCING_LOG_SUM && is_float));
}

/* Dimensions of size 1 may be left out. */
static lk_status plan_of_one(lk_planner *planner, const lk_task *task, lk_error *error) {
  const lk_reducing what = reducing_of(task);
  lk_operand all[2]; /* from, to */
  lk_chain chain;
  LK_RETURN_NOT_OK(take_plain(planner, task, all, error));
  const int64_t count = lk_elements(&all[0].desc);
  const uint32_t dtype = all[0].desc.dtype;
  const lk_operand from = lk_operand_seen_as(&all[0], 1, &count);
  const lk_operand to = lk_operand_seen_as(&all[1], 1, &count);
  lk_chain_begin_at(planner, &to, &chain);
  chain.value = lk_chain_operand(&chain, &from);
  lk_chain_unary(&chain, op_of(what), 0, 0);
  if (what == LK_REDUCING_L2 && (dtype == LK_I32 || dtype == LK_I64)) { /* the least has no size */
    lk_element_program *program = &chain.program;
    const lk_element_value is_least = lk_element_binary(program, LK_ELEMENT_LESS, chain.value,
                                                        lk_element_integer(program, dtype, 0));
    const lk_element_value most =
        lk_element_integer(program, dtype, dtype == LK_I32 ? INT32_MAX : INT64_MAX);
    chain.value = lk_element_ternary(program, LK_ELEMENT_WHERE, is_least, most, chain.value);
  }
  return lk_chain_step(&chain, error);
}

/* ---- others ---- */

/* ONNX leaves the mean of nothing undefined, and numpy has NaN. This is the 0 of ONNX Runtime's CPU
 * provider, so that a node computes the same wherever it runs. */
static lk_status plan_of_nothing(lk_planner *planner, const lk_task *task, lk_error *error) {
  const lk_reduction reduction = reduction_of(task);
  lk_operand to;
  uint64_t value = 0;
  const lk_layout layout = lk_strided_output_layout(planner, LK_LAYOUT_PLAIN);
  LK_RETURN_NOT_OK(lk_task_take(planner, task, LK_ROLE_DST, layout, &to, error));
  lk_reduce_of_nothing(&reduction, to.desc.dtype, &value);
  return lk_plan_fill(planner, &to, lk_dtype_size(to.desc.dtype), &value, error);
}

static lk_status plan(lk_planner *planner, const lk_task *task, lk_error *error) {
  const lk_tensor_desc *x = &task->work.tensors[LK_ROLE_SRC];
  const lk_reduction reduction = reduction_of(task);
  const uint32_t mask = task->work.axes;
  lk_operand all[2]; /* from, to */
  if (lk_elements(x) == 0) return plan_of_nothing(planner, task, error);
  if (mask == 0) return plan_log(planner, task, error);
  if (is_of_one(task)) return plan_of_one(planner, task, error);
  if (reducing_of(task) == LK_REDUCING_LOG_SUM_EXP) {
    LK_RETURN_NOT_OK(take_plain(planner, task, all, error));
    return lk_plan_log_sum_exp(planner, &all[0], &all[1], mask, error);
  }
  if (lk_reduction_is_whole(x->dtype, &reduction)) {
    LK_RETURN_NOT_OK(take_plain(planner, task, all, error));
    return lk_plan_whole_reduction(planner, &all[0], &all[1], mask, &reduction, error);
  }
  return lk_plan_reduction(planner, mask, &reduction, error);
}

static bool resize(const lk_resizing *self, const lk_task *task) {
  const lk_reduction reduction = reduction_of(task);
  if (lk_elements(&self->inputs[0].desc) == lk_elements(self->output)) return false;
  return lk_resize_reduction(self, task->work.axes, &reduction);
}

const lk_planning lk_native_reduce = {.plan = plan, .resize = resize};
