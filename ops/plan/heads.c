/* Heads of attention in operands. */
#include "ops/plan/heads.h"

#include <math.h>

#include "base/status.h"
#include "base/tensor.h"

enum { RANK = 4 };

lk_status lk_infer_past(const lk_inference *self, uint32_t input, const char *name,
                        const char *rule, const lk_head_sizes *now, int64_t *inout_past,
                        lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[input].desc;
  if (!lk_rank_is_known(x)) return LK_OK;
  if (x->rank != RANK || lk_dims_differ(x->dims[0], now->batch) ||
      lk_dims_differ(x->dims[1], now->heads) || lk_dims_differ(x->dims[2], *inout_past) ||
      lk_dims_differ(x->dims[3], now->size)) {
    return lk_refuse(x, name, rule, error);
  }
  *inout_past = lk_dims_either(*inout_past, x->dims[2]);
  return LK_OK;
}

lk_status lk_infer_keys(const lk_inference *self, int64_t past, int64_t rows, int64_t *out_keys,
                        lk_error *error) {
  if (lk_dims_add(self->dims, past, rows, out_keys)) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE, "past and present rows exceed 2^63");
}

lk_status lk_infer_pasts(const lk_inference *self, uint32_t past, const char *key,
                         const char *value, const char *rule, lk_attended *inout, lk_error *error) {
  const bool has_past = lk_op_has(self->node, past);
  if (has_past != lk_op_has(self->node, past + 1)) {
    return lk_fail(error, LK_INVALID_ARGUMENT, "past_key and past_value must be given together");
  }
  inout->keys = inout->k.rows;
  if (!has_past) return LK_OK;
  inout->past = LK_DIM_UNKNOWN;
  LK_RETURN_NOT_OK(lk_infer_past(self, past, key, rule, &inout->k, &inout->past, error));
  LK_RETURN_NOT_OK(lk_infer_past(self, past + 1, value, rule, &inout->v, &inout->past, error));
  return lk_infer_keys(self, inout->past, inout->k.rows, &inout->keys, error);
}

lk_status lk_infer_added(const lk_inference *self, uint32_t input, const int64_t dims[4],
                         const char *rule, lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[input].desc;
  if (!lk_op_has(self->node, input) || !lk_rank_is_known(x)) return LK_OK;
  bool fits = x->rank == RANK;
  for (uint32_t i = 0; fits && i < RANK; i++) {
    fits = (i < 2 && x->dims[i] == 1) || !lk_dims_differ(x->dims[i], dims[i]);
  }
  return fits ? LK_OK : lk_refuse(x, "attention_bias", rule, error);
}

void lk_infer_heads(lk_inference *self, uint32_t output, int64_t batch, int64_t heads, int64_t rows,
                    int64_t size) {
  const int64_t dims[] = {batch, heads, rows, size};
  if (output >= self->node->n_outputs) return;
  self->outputs[output] = lk_tensor_desc_make(self->outputs[output].dtype, RANK, dims);
}

lk_status lk_infer_rows(lk_inference *self, const lk_head_sizes *of, const char *what,
                        lk_error *error) {
  lk_tensor_desc *to = &self->outputs[0];
  to->rank = 3;
  to->dims[0] = of->batch;
  to->dims[1] = of->rows;
  return lk_infer_product(self, of->heads, of->size, what, &to->dims[2], error);
}

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

void lk_task_attention(lk_task *task, const lk_head_sizes *q, int64_t kv_heads, int64_t keys,
                       int64_t v_size, float scale) {
  lk_task_begin(task, LK_WORK_ATTENTION);
  task->work.attention =
      (lk_work_attention){.batch = q->batch,
                          .heads = q->heads,
                          .kv_heads = kv_heads,
                          .queries = q->rows,
                          .keys = keys,
                          .size = q->size,
                          .v_size = v_size,
                          .scale = isnan(scale) ? 1 / sqrtf((float)q->size) : scale,
                          .left = -1,
                          .right = -1};
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
