/* Local response normalization, in the layout that the input has. */
#include "ops/kernel/reduce/lrn.h"

#include "base/status.h"
#include "base/tensor.h"
#include "ops/engine/native/native.h"
#include "ops/plan/moves.h"

static lk_status plan(lk_planner *planner, const lk_task *task, lk_error *error) {
  const lk_work_lrn *of = &task->work.lrn;
  const lk_tensor_desc *x = &task->work.tensors[LK_ROLE_SRC];
  const lk_layout layout = lk_image_layout(planner, task->from[LK_ROLE_SRC].index);
  const bool channels_last = layout == LK_LAYOUT_CHANNELS_LAST;
  const int64_t channels = x->dims[1], places = lk_elements(x) / (x->dims[0] * channels);
  lk_operand operands[2]; /* src, dst */
  lk_lrn step;
  LK_RETURN_NOT_OK(lk_task_take(planner, task, LK_ROLE_SRC, layout, &operands[0], error));
  LK_RETURN_NOT_OK(lk_task_take(planner, task, LK_ROLE_DST, layout, &operands[1], error));
  lk_lrn_plan(x->dims[0] * (channels_last ? places : 1), channels, channels_last ? 1 : places,
              of->size, of->alpha, of->beta, of->bias, lk_isa_get(), &step);
  LK_RETURN_NOT_OK(
      lk_planner_kernel(planner, lk_lrn_kernel, "lrn", &step, sizeof step, operands, 2, error));
  const double elements = (double)lk_elements(x);
  lk_planner_work(planner, elements * (2 * (double)of->size + 4), 2 * sizeof(float) * elements);
  return LK_OK;
}

const lk_planning lk_native_lrn = {.plan = plan};
