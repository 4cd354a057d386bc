/* Recurrent layers of bytes: the steps of others, with products of bytes. Inputs are quantized by
 * the range of all of them, the state in each time step by the range of its rows. */
#include "base/status.h"
#include "base/tensor.h"
#include "ops/engine/native/recurrent.h"
#include "ops/plan/integer_steps.h"
#include "ops/plan/quantized_steps.h"

/* Steps of what a matrix has of each direction, or of each column: between columns, and between
 * directions. */
typedef struct steps {
  int64_t column, direction;
} steps;

static steps steps_of(const lk_recurrent_layer *of, lk_role role) {
  const bool is_each = of->task->work.tensors[role].rank == 2;
  return is_each ? (steps){1, of->columns} : (steps){0, 1};
}

/* `rows` rows by the matrices of each direction, [k, columns]. */
static lk_product_integer product_of(const lk_recurrent_layer *of, int64_t rows, int64_t k) {
  const int64_t directions = of->directions;
  return (lk_product_integer){.rows = rows,
                              .columns = of->columns,
                              .k = k,
                              .a_row = k,
                              .a_k = 1,
                              .b_inner = k,
                              .b_step = of->columns,
                              .b_column = 1,
                              .b_matrices = directions,
                              .b_matrix = k * of->columns,
                              .c_row = directions * of->columns,
                              .c_batch = of->columns,
                              .batch_rank = 1,
                              .batch = {{.size = directions, .a = 0, .b = 1}}};
}

lk_status lk_recurrent_quantized_gates(lk_planner *planner, const lk_recurrent_layer *of,
                                       const lk_operand *gates, lk_error *error) {
  const lk_task *task = of->task;
  const lk_step_arg *from = task->from;
  lk_integer_step step = {.product = product_of(of, of->length * of->batch, of->width)};
  const steps of_scale = steps_of(of, LK_ROLE_WEIGHTS_SCALE);
  const steps of_zero = steps_of(of, LK_ROLE_WEIGHTS_ZERO);
  const bool has_lengths = lk_work_has(&task->work, LK_ROLE_LENGTHS);
  lk_operand lengths;
  lk_quantized x;
  if (has_lengths) {
    LK_RETURN_NOT_OK(
        lk_task_take(planner, task, LK_ROLE_LENGTHS, LK_LAYOUT_PLAIN, &lengths, error));
  }
  LK_RETURN_NOT_OK(lk_plan_quantize_input(planner, from[LK_ROLE_SRC].index,
                                          has_lengths ? &lengths : NULL, &x, error));
  lk_integer_give(&step, LK_INTEGER_A, &x.y);
  lk_integer_give(&step, LK_INTEGER_A_ZERO, &x.zero);
  lk_integer_give(&step, LK_INTEGER_C, gates);
  LK_RETURN_NOT_OK(
      lk_integer_take(planner, &step, LK_INTEGER_B_ZERO, from[LK_ROLE_WEIGHTS_ZERO].index, error));
  LK_RETURN_NOT_OK(
      lk_integer_scale(planner, &step, 1, &x.scale, from[LK_ROLE_WEIGHTS_SCALE].index, -1, error));
  step.product.scale_step = of_scale.column;
  step.product.scale_matrix = of_scale.direction;
  step.product.b_zero_step = of_zero.column;
  step.product.b_zero_matrix = of_zero.direction;
  return lk_integer_emit(planner, &step, from[LK_ROLE_WEIGHTS].index, error);
}

lk_status lk_recurrent_quantized_r(lk_planner *planner, const lk_recurrent_layer *of,
                                   lk_recurrent_integer *out_integer, lk_operand *out_r,
                                   lk_error *error) {
  const steps of_scale = steps_of(of, LK_ROLE_RECURRENT_SCALE);
  const steps of_zero = steps_of(of, LK_ROLE_RECURRENT_ZERO);
  *out_integer = (lk_recurrent_integer){.product = product_of(of, of->batch, of->hidden),
                                        .scale_step = of_scale.column,
                                        .scale_direction = of_scale.direction,
                                        .zero_step = of_zero.column,
                                        .zero_direction = of_zero.direction};
  return lk_integer_right_input(planner, &out_integer->product,
                                of->task->from[LK_ROLE_RECURRENT_WEIGHTS].index, out_r, error);
}

lk_status lk_recurrent_quantized_ends(lk_planner *planner, const lk_recurrent_layer *of,
                                      const lk_recurrent_integer *integer,
                                      lk_operand out_operands[3], lk_error *error) {
  const int64_t words = of->directions * lk_recurrent_integer_scratch_size(integer);
  const lk_tensor_desc scratch = lk_tensor_desc_make(LK_I32, 1, &words);
  LK_RETURN_NOT_OK(lk_task_take(planner, of->task, LK_ROLE_RECURRENT_SCALE, LK_LAYOUT_PLAIN,
                                &out_operands[0], error));
  LK_RETURN_NOT_OK(lk_task_take(planner, of->task, LK_ROLE_RECURRENT_ZERO, LK_LAYOUT_PLAIN,
                                &out_operands[1], error));
  return lk_planner_temp(planner, &scratch, &out_operands[2], error);
}
