/* Convolutions of bytes. */
#include "base/status.h"
#include "ops/engine/native/native.h"
#include "ops/plan/integer_steps.h"

/* An input that no node has, where the work has no such tensor. */
static uint32_t input_of(const lk_task *task, lk_role role) {
  return (uint32_t)lk_task_input_of(task, role);
}

/* src and dst, of whose tensors the last dimension is the channels. */
static lk_status take_channels_last(lk_planner *planner, const lk_task *task, lk_integer_step *step,
                                    lk_error *error) {
  lk_operand src, dst;
  LK_RETURN_NOT_OK(lk_task_take(planner, task, LK_ROLE_SRC, LK_LAYOUT_PLAIN, &src, error));
  LK_RETURN_NOT_OK(lk_task_take(planner, task, LK_ROLE_DST, LK_LAYOUT_PLAIN, &dst, error));
  lk_integer_give(step, LK_INTEGER_A, &src);
  lk_integer_give(step, LK_INTEGER_C, &dst);
  return LK_OK;
}

lk_status lk_native_conv_bytes(lk_planner *planner, const lk_task *task, const lk_conv_shape *shape,
                               lk_error *error) {
  static const struct {
    lk_integer_role to;
    lk_role from;
  } others[] = {{LK_INTEGER_A_ZERO, LK_ROLE_SRC_ZERO},
                {LK_INTEGER_B_ZERO, LK_ROLE_WEIGHTS_ZERO},
                {LK_INTEGER_C_ZERO, LK_ROLE_DST_ZERO},
                {LK_INTEGER_BIAS, LK_ROLE_BIAS}};
  lk_integer_step step;
  lk_integer_conv(planner, shape, input_of(task, LK_ROLE_WEIGHTS_ZERO), &step);
  LK_RETURN_NOT_OK(
      lk_task_is_view(task, LK_ROLE_SRC)
          ? take_channels_last(planner, task, &step, error)
          : lk_integer_take(planner, &step, LK_INTEGER_A, task->from[LK_ROLE_SRC].index, error));
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    const uint32_t input = input_of(task, others[i].from);
    LK_RETURN_NOT_OK(lk_integer_take(planner, &step, others[i].to, input, error));
  }
  if (lk_work_has(&task->work, LK_ROLE_DST_SCALE)) {
    lk_operand src_scale;
    LK_RETURN_NOT_OK(
        lk_task_take(planner, task, LK_ROLE_SRC_SCALE, LK_LAYOUT_PLAIN, &src_scale, error));
    LK_RETURN_NOT_OK(lk_integer_scale(planner, &step, 1, &src_scale,
                                      task->from[LK_ROLE_WEIGHTS_SCALE].index,
                                      task->from[LK_ROLE_DST_SCALE].index, error));
  }
  return lk_integer_emit(planner, &step, task->from[LK_ROLE_WEIGHTS].index, error);
}
