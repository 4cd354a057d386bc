/* Operators of any number of tensors, with broadcasting from opset 8 on: Max, Mean, Min, Sum. */
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/moves.h"
#include "ops/plan/work.h"

/* One after the other: ((a + b) + c) + ... */
static lk_status plan(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = planner->node;
  const uint32_t function = node->class_->function, count = node->n_operands;
  const bool is_mean = function == LK_POST_DIV; /* a sum until the end */
  if (count == 1 && node->n_post_ops == 0) return lk_plan_same(planner, 0, error);
  if (count > 1 + LK_WORK_OPERANDS) return lk_plan_fold(planner, function, error);
  lk_task task;
  lk_task_elements(&task, planner, 0);
  for (uint32_t i = 1; i < count; i++) {
    lk_task_apply_input(&task, planner, is_mean ? LK_POST_ADD : function, i);
  }
  if (is_mean) (void)lk_task_apply(&task, function, (float)count, 0);
  return lk_plan_task(planner, &task, error);
}

#define VARIADIC(symbol, name, summary_text, by, type_set, ...)                                    \
  const lk_op_class lk_op_##symbol = {                                                             \
      LK_OP_ROW(name, "", 6, summary_text,                                                         \
                .flags = LK_OP_WORTH_CLAIMING | LK_OP_POST_OPS | LK_OP_COMMUTATIVE,                \
                .min_inputs = 1, .max_inputs = 1024, .max_outputs = 1, .input_types = "T",         \
                .output_types = "T", .types = {type_set}, .in_place_inputs = 3,                    \
                .fusion = {__VA_ARGS__}),                                                          \
      .function = by, .needs_all = true, .infer = lk_infer_broadcast, .plan = plan}
VARIADIC(max, "Max", "The largest of any number of tensors", LK_FUNCTION_MAX, LK_TYPES_NUMBER, 0);
VARIADIC(mean, "Mean", "Mean of any number of tensors", LK_POST_DIV, LK_TYPES_FLOAT, 0);
VARIADIC(min, "Min", "The least of any number of tensors", LK_FUNCTION_MIN, LK_TYPES_NUMBER, 0);
VARIADIC(sum, "Sum", "Sum of any number of tensors with broadcasting", LK_POST_ADD, LK_TYPES_FLOAT,
         .kind = LK_POST_ADD);
