/* The steps of GroupQueryAttention: new keys and values go to the cache, then all are attended. */
#include "base/status.h"
#include "base/tensor.h"
#include "ops/group_query_attention.h"
#include "ops/kernel/sequence/kv_bytes.h"
#include "ops/kernel/sequence/kv_cache.h"
#include "ops/kernel/sequence/rotary.h"
#include "ops/plan/heads.h"
#include "ops/plan/moves.h"

/* What all steps share while a plan is made. */
typedef struct gqa_steps {
  lk_planner *planner;
  const gqa_params *params;
  const gqa_sizes *of;
  bool is_packed, is_prompt;
  bool is_padded; /* of the new rows the last ones may be padding */
  /* Of lk_kv_places; the last two of a sliding cache alone. */
  lk_operand lengths, positions, kept, dropped;
} gqa_steps;

/* New rows of queries, keys or values, where they are. */
static lk_status take_heads(const gqa_steps *self, uint32_t input, lk_heads *out, lk_error *error) {
  const gqa_params *params = self->params;
  const gqa_sizes *of = self->of;
  const int64_t heads = input == GQA_QUERY ? params->heads : params->kv_heads;
  const int64_t all = self->is_packed ? params->heads + 2 * params->kv_heads : heads;
  lk_operand x;
  LK_RETURN_NOT_OK(lk_planner_input(self->planner, self->is_packed ? GQA_QUERY : input,
                                    LK_LAYOUT_PLAIN, &x, error));
  *out = lk_heads_in_rows(&x, &(lk_head_sizes){of->batch, all, of->rows, of->size});
  if (!self->is_packed || input == GQA_QUERY) return LK_OK;
  out->at.first = (params->heads + (input == GQA_VALUE ? params->kv_heads : 0)) * of->size;
  return LK_OK;
}

static lk_status plan_places(gqa_steps *self, lk_error *error) {
  lk_planner *planner = self->planner;
  const gqa_sizes *of = self->of;
  const bool is_sliding = self->params->is_sliding;
  const int64_t dims[] = {of->batch, of->rows};
  const lk_tensor_desc of_batches = lk_tensor_desc_make(LK_I64, 1, dims);
  const lk_tensor_desc positions = lk_tensor_desc_make(LK_I64, 2, dims);
  const lk_kv_places step = {.batch = of->batch,
                             .rows = of->rows,
                             .most = of->total,
                             .past_rows = is_sliding ? of->total - of->rows : of->past,
                             .is_prompt = self->is_padded,
                             .capacity = is_sliding ? of->past : 0,
                             .window = is_sliding ? self->params->left + 1 : 0,
                             .is_apart = of->is_apart};
  lk_operand last;
  LK_RETURN_NOT_OK(lk_planner_input(planner, GQA_LAST_ROWS, LK_LAYOUT_PLAIN, &last, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &of_batches, &self->lengths, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &positions, &self->positions, error));
  if (is_sliding) {
    LK_RETURN_NOT_OK(lk_planner_temp(planner, &of_batches, &self->kept, error));
    LK_RETURN_NOT_OK(lk_planner_temp(planner, &of_batches, &self->dropped, error));
  }
  const lk_operand operands[] = {last, self->lengths, self->positions, self->kept, self->dropped};
  return lk_planner_kernel(planner, lk_kv_places_kernel, "places", &step, sizeof step, operands,
                           is_sliding ? 5 : 3, error);
}

/* Rows of heads, f32, turned by their positions. Of a prompt, position_ids has the first one. */
static lk_status plan_rotary(const gqa_steps *self, int64_t heads, lk_heads *inout,
                             lk_error *error) {
  lk_planner *planner = self->planner;
  const gqa_sizes *of = self->of;
  const lk_head_sizes sizes = {of->batch, heads, of->rows, of->size};
  const int64_t dims[] = {of->batch, of->rows, heads * of->size};
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 3, dims);
  lk_operand operands[5] = {inout->operand, [4] = self->positions}; /* x, y, cos, sin, positions */
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &operands[1], error));
  LK_RETURN_NOT_OK(lk_plan_wide_input(planner, GQA_COSINES, &operands[2], error));
  LK_RETURN_NOT_OK(lk_plan_wide_input(planner, GQA_SINES, &operands[3], error));
  const bool has_positions = lk_op_has(planner->node, GQA_POSITIONS);
  if (has_positions) {
    LK_RETURN_NOT_OK(
        lk_planner_input(planner, GQA_POSITIONS, LK_LAYOUT_PLAIN, &operands[4], error));
  }
  const lk_heads to = lk_heads_in_rows(&operands[1], &sizes);
  const int64_t *cosines = operands[2].desc.dims;
  const lk_rotary step = {.batch = of->batch,
                          .heads = heads,
                          .rows = of->rows,
                          .size = of->size,
                          .rotated = 2 * cosines[1],
                          .first = inout->at.first,
                          .from = {inout->at.batch, inout->at.head, inout->at.row},
                          .to = {to.at.batch, to.at.head, to.at.row},
                          .positions = cosines[0],
                          .has_positions = true,
                          .is_first = has_positions && self->is_prompt,
                          .is_interleaved = self->params->is_interleaved};
  *inout = to;
  return lk_planner_kernel(planner, lk_rotary_kernel, "rotary", &step, sizeof step, operands, 5,
                           error);
}

/* What output `present` keeps of a buffer that has more. */
static lk_status plan_kept(const gqa_steps *self, uint32_t present, const lk_operand *buffer,
                           lk_error *error) {
  const gqa_sizes *of = self->of;
  const lk_kv_cache step = {.element = lk_dtype_size(buffer->desc.dtype),
                            .batch = of->batch,
                            .heads = self->params->kv_heads,
                            .size = of->width,
                            .past_rows = of->buffer,
                            .buffer_rows = of->present,
                            .has_past = true,
                            .has_dropped = true};
  lk_operand to;
  if (present >= self->planner->node->n_outputs) return LK_OK;
  LK_RETURN_NOT_OK(lk_planner_output(self->planner, present, LK_LAYOUT_PLAIN, &to, error));
  const lk_operand operands[] = {*buffer /* no new rows */, to, self->kept, *buffer, self->dropped};
  return lk_planner_kernel(self->planner, lk_kv_cache_kernel, "cache", &step, sizeof step, operands,
                           5, error);
}

/* Input KEY or VALUE in the buffer that is attended, and in the cache; `inout`: at first the new
 * rows, as the cache keeps them. */
static lk_status plan_cache(const gqa_steps *self, uint32_t input, lk_heads *inout,
                            lk_error *error) {
  lk_planner *planner = self->planner;
  const gqa_sizes *of = self->of;
  const int64_t heads = self->params->kv_heads, size = of->width;
  const uint32_t past = input == GQA_KEY ? GQA_PAST_KEY : GQA_PAST_VALUE;
  const uint32_t present = input == GQA_KEY ? GQA_PRESENT_KEY : GQA_PRESENT_VALUE;
  const lk_head_sizes sizes = {of->batch, heads, of->buffer, size};
  const int64_t dims[] = {of->batch, heads, of->buffer, size};
  const lk_tensor_desc desc = lk_tensor_desc_make(inout->operand.desc.dtype, 4, dims);
  const lk_kv_cache step = {.element = lk_dtype_size(desc.dtype),
                            .batch = of->batch,
                            .heads = heads,
                            .rows = of->rows,
                            .size = size,
                            .first = inout->at.first,
                            .from = {inout->at.batch, inout->at.head, inout->at.row},
                            .past_rows = of->past,
                            .buffer_rows = of->buffer,
                            .is_prompt = self->is_padded,
                            .has_past = lk_op_has(planner->node, past),
                            .has_dropped = self->params->is_sliding && !of->is_apart};
  lk_operand operands[5] = {inout->operand, [2] = self->lengths, [4] = self->dropped};
  LK_RETURN_NOT_OK(of->is_apart
                       ? lk_planner_temp(planner, &desc, &operands[1], error)
                       : lk_planner_output_or_temp(planner, present, &desc, &operands[1], error));
  if (step.has_past) {
    LK_RETURN_NOT_OK(lk_planner_input(planner, past, LK_LAYOUT_PLAIN, &operands[3], error));
  }
  *inout = lk_heads_apart(&operands[1], &sizes);
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_kv_cache_kernel, "cache", &step, sizeof step,
                                     operands, 3 + step.has_past + step.has_dropped, error));
  return of->is_apart ? plan_kept(self, present, &operands[1], error) : LK_OK;
}

/* Keys or values in a cache of whole numbers; `inout`: at first the new rows, in the end all of
 * them as the cache has them, f32. */
static lk_status plan_byte_cache(const gqa_steps *self, uint32_t input, lk_heads *inout,
                                 lk_error *error) {
  lk_planner *planner = self->planner;
  const gqa_sizes *of = self->of;
  const bool is_key = input == GQA_KEY;
  const int64_t heads = self->params->kv_heads;
  lk_kv_bytes step = {.batch = of->batch,
                      .heads = heads,
                      .rows = of->rows,
                      .size = of->size,
                      .is_half = self->params->is_half,
                      .has_scales = self->params->scales[is_key ? 0 : 1] == GQA_SCALES_OF_CHANNELS,
                      .first = inout->at.first,
                      .from = {inout->at.batch, inout->at.head, inout->at.row},
                      .buffer_rows = of->buffer};
  lk_kv_bytes_plan(&step);
  const int64_t new_dims[] = {of->batch, of->rows, heads * of->width};
  const int64_t all_dims[] = {of->batch, heads, of->keys, of->size};
  const lk_tensor_desc bytes =
      lk_tensor_desc_make(gqa_cache_type(self->params, LK_F32), 3, new_dims);
  const lk_tensor_desc numbers = lk_tensor_desc_make(LK_F32, 4, all_dims);
  lk_operand operands[3] = {inout->operand};
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &bytes, &operands[1], error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, is_key ? GQA_KEY_SCALE : GQA_VALUE_SCALE,
                                    LK_LAYOUT_PLAIN, &operands[2], error));
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_kv_quantize_kernel, "quantize", &step, sizeof step,
                                     operands, 3, error));
  *inout = lk_heads_in_rows(&operands[1], &(lk_head_sizes){of->batch, heads, of->rows, of->width});
  LK_RETURN_NOT_OK(plan_cache(self, input, inout, error));
  operands[0] = inout->operand;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &numbers, &operands[1], error));
  step.rows = of->keys;
  *inout = lk_heads_apart(&operands[1], &(lk_head_sizes){of->batch, heads, of->keys, of->size});
  return lk_planner_kernel(planner, lk_kv_dequantize_kernel, "dequantize", &step, sizeof step,
                           operands, 3, error);
}

/* Keys or values, f32 in the end. Rotated keys are rounded before they are kept. */
static lk_status take_with_past(const gqa_steps *self, uint32_t input, lk_heads *out,
                                lk_error *error) {
  LK_RETURN_NOT_OK(take_heads(self, input, out, error));
  if (input == GQA_KEY && self->params->is_rotated) {
    const uint32_t dtype = out->operand.desc.dtype;
    LK_RETURN_NOT_OK(lk_plan_wide(self->planner, &out->operand, error));
    LK_RETURN_NOT_OK(plan_rotary(self, self->params->kv_heads, out, error));
    if (dtype != LK_F32) {
      const lk_operand wide = out->operand;
      lk_tensor_desc desc = wide.desc;
      desc.dtype = dtype;
      LK_RETURN_NOT_OK(lk_planner_temp(self->planner, &desc, &out->operand, error));
      LK_RETURN_NOT_OK(lk_planner_cast(self->planner, &wide, &out->operand, error));
    }
  }
  if (self->params->is_quantized) {
    LK_RETURN_NOT_OK(lk_plan_wide(self->planner, &out->operand, error));
    return plan_byte_cache(self, input, out, error);
  }
  LK_RETURN_NOT_OK(plan_cache(self, input, out, error));
  return lk_plan_wide(self->planner, &out->operand, error);
}

/* What is added to scores, a column for each key of the buffer. */
static lk_status take_added(const gqa_steps *self, lk_operand *out, lk_error *error) {
  lk_planner *planner = self->planner;
  const gqa_sizes *of = self->of;
  LK_RETURN_NOT_OK(lk_plan_wide_input(planner, GQA_ADDED, out, error));
  if (of->keys == of->total) return LK_OK; /* all positions are there */
  const lk_operand given = *out;
  const int64_t heads = given.desc.dims[1], matrix = of->rows * of->total;
  const int64_t dims[] = {of->batch, heads, of->rows, of->keys};
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 4, dims);
  const lk_kv_columns step = {
      .batch = of->batch,
      .heads = heads,
      .rows = of->rows,
      .from = {given.desc.dims[0] == 1 ? 0 : heads * matrix, heads == 1 ? 0 : matrix},
      .from_columns = of->total,
      .to_columns = of->keys};
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, out, error));
  const lk_operand operands[] = {given, *out, self->lengths, self->positions};
  return lk_planner_kernel(planner, lk_kv_columns_kernel, "columns", &step, sizeof step, operands,
                           4, error);
}

/* Output output_qk, without which `qk_output` 0 leaves nothing to say. */
static lk_status take_seen(const gqa_steps *self, lk_task *task, lk_error *error) {
  static const float zero = 0; /* also of f16 and bf16 */
  lk_planner *planner = self->planner;
  lk_operand seen;
  if (planner->node->n_outputs <= GQA_SCORES) return LK_OK;
  LK_RETURN_NOT_OK(lk_planner_output(planner, GQA_SCORES, LK_LAYOUT_PLAIN, &seen, error));
  if (self->params->seen == GQA_NO_SCORES) {
    return lk_plan_fill(planner, &seen, lk_dtype_size(seen.desc.dtype), &zero, error);
  }
  lk_task_place(task, LK_ROLE_SCORES, &seen);
  task->work.attention.stage =
      self->params->seen == GQA_BEFORE_SOFTMAX ? LK_ATTENTION_MASKED : LK_ATTENTION_SOFTMAX;
  return LK_OK;
}

/* What is added to scores, sinks, and the scores that somebody wants to see. */
static lk_status take_others(const gqa_steps *self, lk_task *task, lk_error *error) {
  const lk_op_node *node = self->planner->node;
  lk_operand taken;
  if (lk_op_has(node, GQA_ADDED)) {
    LK_RETURN_NOT_OK(take_added(self, &taken, error));
    lk_task_mask(task, &taken);
  }
  if (lk_op_has(node, GQA_SINKS)) {
    LK_RETURN_NOT_OK(lk_plan_wide_input(self->planner, GQA_SINKS, &taken, error));
    lk_task_place(task, LK_ROLE_SINKS, &taken);
    task->work.attention.sink = LK_SINK_OF_HEADS;
  } else if (self->params->is_smooth) {
    task->work.attention.sink = LK_SINK_ONE;
  }
  return take_seen(self, task, error);
}

lk_status gqa_plan(lk_planner *planner, lk_error *error) {
  const gqa_params *params = planner->node->params;
  const gqa_sizes *of = planner->found;
  const bool is_prompt = of->rows == of->total;
  gqa_steps self = {.planner = planner,
                    .params = params,
                    .of = of,
                    .is_packed = gqa_is_packed(planner->node),
                    .is_prompt = is_prompt,
                    .is_padded = is_prompt && !params->is_sliding};
  lk_task task;
  lk_operand y;
  lk_heads q, k, v;
  const lk_head_sizes of_q = {of->batch, params->heads, of->rows, of->size};
  lk_task_attention(&task, &of_q, params->kv_heads, of->keys, of->size, params->scale);
  task.work.attention.softcap = params->softcap;
  task.work.attention.has_past = self.is_padded;
  task.work.attention.left = params->left;
  if (params->is_causal) task.work.attention.right = 0;
  LK_RETURN_NOT_OK(plan_places(&self, error));
  LK_RETURN_NOT_OK(take_with_past(&self, GQA_KEY, &k, error));
  LK_RETURN_NOT_OK(take_with_past(&self, GQA_VALUE, &v, error));
  if (lk_elements(&planner->outputs[GQA_OUTPUT]) == 0) return LK_OK; /* no queries */
  LK_RETURN_NOT_OK(take_heads(&self, GQA_QUERY, &q, error));
  LK_RETURN_NOT_OK(lk_plan_wide(planner, &q.operand, error));
  if (params->is_rotated) LK_RETURN_NOT_OK(plan_rotary(&self, params->heads, &q, error));
  LK_RETURN_NOT_OK(lk_plan_wide_output(planner, GQA_OUTPUT, &y, error));
  const lk_heads to = lk_heads_in_rows(&y, &of_q);
  lk_task_heads(&task, &q, &k, &v, &to);
  lk_task_place(&task, LK_ROLE_LENGTHS, &self.lengths);
  LK_RETURN_NOT_OK(take_others(&self, &task, error));
  LK_RETURN_NOT_OK(lk_plan_task(planner, &task, error));
  return lk_plan_narrow(planner, GQA_OUTPUT, &y, error);
}
