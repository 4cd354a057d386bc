/* Heads of attention in operands. */
#include "ops/plan/heads.h"

#include "base/status.h"
#include "base/tensor.h"

enum { RANK = 4 };

lk_heads lk_heads_in_rows(const lk_operand *operand, const lk_head_sizes *of) {
  return lk_heads_packed(operand, of, 0, 1);
}

lk_heads lk_heads_apart(const lk_operand *operand, const lk_head_sizes *of) {
  if (operand->desc.layout == LK_LAYOUT_HEADS_INSIDE) return lk_heads_in_rows(operand, of);
  return (lk_heads){.operand = *operand,
                    .at = {.batch = of->rows * of->heads * of->size,
                           .head = of->rows * of->size,
                           .row = of->size}};
}

lk_heads lk_heads_packed(const lk_operand *operand, const lk_head_sizes *of, int64_t part,
                         int64_t parts) {
  const int64_t head = parts * of->size, row = of->heads * head;
  return (lk_heads){
      .operand = *operand,
      .at = {.first = part * of->size, .batch = of->rows * row, .head = head, .row = row}};
}

/* To `rows` rows of each head of `to`, whose first element is `first`. */
static lk_status copy_rows(lk_planner *planner, const lk_heads *from, const lk_head_sizes *of,
                           const lk_operand *to, int64_t first, int64_t rows, lk_error *error) {
  const int64_t bytes = (int64_t)lk_dtype_size(to->desc.dtype), row = of->size * bytes;
  const lk_copy copy = {
      .block = (size_t)bytes,
      .from_offset = from->at.first * bytes,
      .to_offset = first * bytes,
      .rank = 4,
      .dims = {of->batch, of->heads, of->rows, of->size},
      .from = {from->at.batch * bytes, from->at.head * bytes, from->at.row * bytes, bytes},
      .to = {of->heads * rows * row, rows * row, row, bytes}};
  return lk_planner_copy(planner, &copy, &from->operand, to, error);
}

lk_status lk_plan_behind_past(lk_planner *planner, const lk_head_sizes *sizes, int64_t keys,
                              uint32_t past, uint32_t present, int64_t part, lk_heads *inout,
                              lk_error *error) {
  const bool has_past = lk_op_has(planner->node, past);
  const bool has_present = present < planner->node->n_outputs;
  const int64_t dims[] = {sizes->batch, sizes->heads, keys, sizes->size};
  const lk_tensor_desc desc = lk_tensor_desc_make(inout->operand.desc.dtype, RANK, dims);
  const lk_head_sizes all = {sizes->batch, sizes->heads, keys, sizes->size};
  const int64_t first = has_present ? part * lk_elements(&desc) : 0;
  const int64_t past_rows = keys - sizes->rows;
  lk_operand before, to;
  if (!has_past && !has_present) return LK_OK;
  LK_RETURN_NOT_OK(lk_planner_output_or_temp(planner, present, &desc, &to, error));
  LK_RETURN_NOT_OK(
      copy_rows(planner, inout, sizes, &to, first + past_rows * sizes->size, keys, error));
  *inout = lk_heads_apart(&to, &all);
  inout->at.first = first;
  if (!has_past) return LK_OK;
  const lk_head_sizes of = {sizes->batch, sizes->heads, past_rows, sizes->size};
  LK_RETURN_NOT_OK(lk_planner_input(planner, past, LK_LAYOUT_PLAIN, &before, error));
  lk_heads from = lk_heads_apart(&before, &of);
  from.at.first = part * of.batch * of.heads * of.rows * of.size;
  return copy_rows(planner, &from, &of, &to, first, keys, error);
}

lk_status lk_plan_padding(lk_planner *planner, const lk_padding *step, const lk_operand *mask,
                          lk_operand *out, lk_error *error) {
  const int64_t dims[] = {step->batch, 1, step->rows, step->keys};
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, RANK, dims);
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, out, error));
  const lk_operand operands[] = {*mask, *out};
  return lk_planner_kernel(planner, lk_padding_kernel, "padding", step, sizeof *step, operands, 2,
                           error);
}

void lk_task_heads(lk_task *task, const lk_heads *q, const lk_heads *k, const lk_heads *v,
                   const lk_heads *y) {
  lk_work_attention *of = &task->work.attention;
  of->q = q->at, of->k = k->at, of->v = v->at, of->y = y->at;
  lk_task_place(task, LK_ROLE_SRC, &q->operand);
  lk_task_place(task, LK_ROLE_KEYS, &k->operand);
  lk_task_place(task, LK_ROLE_VALUES, &v->operand);
  lk_task_place(task, LK_ROLE_DST, &y->operand);
}

void lk_task_mask(lk_task *task, const lk_operand *mask) {
  lk_task_place(task, lk_work_has(&task->work, LK_ROLE_BIAS) ? LK_ROLE_OPERAND : LK_ROLE_BIAS,
                mask);
}
