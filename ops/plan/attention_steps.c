/* Steps of scaled dot-product attention. */
#include "ops/plan/attention_steps.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/element/element.h"
#include "ops/kernel/sequence/attention.h"
#include "ops/kernel/strides.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/moves.h"
#include "ops/plan/product_steps.h"

enum { RANK = 4, FLOPS = 20 /* of a score: as of softmax */ };

/* ---- operands ---- */

lk_heads lk_heads_in_rows(const lk_operand *operand, const lk_head_sizes *of) {
  return lk_heads_packed(operand, of, 0, 1);
}

lk_heads lk_heads_apart(const lk_operand *operand, const lk_head_sizes *of) {
  if (operand->desc.layout == LK_LAYOUT_HEADS_INSIDE) return lk_heads_in_rows(operand, of);
  return (lk_heads){.operand = *operand,
                    .batch = of->rows * of->heads * of->size,
                    .head = of->rows * of->size,
                    .row = of->size};
}

lk_heads lk_heads_packed(const lk_operand *operand, const lk_head_sizes *of, int64_t part,
                         int64_t parts) {
  const int64_t head = parts * of->size, row = of->heads * head;
  return (lk_heads){.operand = *operand,
                    .first = part * of->size,
                    .batch = of->rows * row,
                    .head = head,
                    .row = row};
}

/* To `rows` rows of each head of `to`, whose first element is `first`. */
static lk_status copy_rows(lk_planner *planner, const lk_heads *from, const lk_head_sizes *of,
                           const lk_operand *to, int64_t first, int64_t rows, lk_error *error) {
  const int64_t bytes = (int64_t)lk_dtype_size(to->desc.dtype), row = of->size * bytes;
  const lk_copy copy = {.block = (size_t)bytes,
                        .from_offset = from->first * bytes,
                        .to_offset = first * bytes,
                        .rank = 4,
                        .dims = {of->batch, of->heads, of->rows, of->size},
                        .from = {from->batch * bytes, from->head * bytes, from->row * bytes, bytes},
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
  inout->first = first;
  if (!has_past) return LK_OK;
  const lk_head_sizes of = {sizes->batch, sizes->heads, past_rows, sizes->size};
  LK_RETURN_NOT_OK(lk_planner_input(planner, past, LK_LAYOUT_PLAIN, &before, error));
  lk_heads from = lk_heads_apart(&before, &of);
  from.first = part * of.batch * of.heads * of.rows * of.size;
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

/* ---- products: heads that share K and V are a dimension of their own ---- */

static lk_status plan_scores(lk_planner *planner, const lk_attention *self,
                             const lk_operand *scores, lk_error *error) {
  const int64_t group = self->heads / self->kv_heads, matrix = self->queries * self->keys;
  lk_matmul matmul = {
      .rows = self->queries,
      .columns = self->keys,
      .k = self->size,
      .a_first = self->q.first,
      .b_first = self->k.first,
      .a_row = self->q.row,
      .a_k = 1,
      .b_k = 1,
      .b_column = self->k.row,
      .c_row = self->keys,
      .batch_rank = 3,
      .batch = {{self->batch, self->q.batch, self->k.batch, self->heads * matrix},
                {self->kv_heads, group * self->q.head, self->k.head, group * matrix},
                {group, self->q.head, 0, matrix}}};
  return lk_plan_product(planner, &matmul, &self->q.operand, &self->k.operand, scores, error);
}

static lk_status plan_values(lk_planner *planner, const lk_attention *self,
                             const lk_operand *scores, lk_error *error) {
  const int64_t group = self->heads / self->kv_heads, matrix = self->queries * self->keys;
  lk_matmul matmul = {
      .rows = self->queries,
      .columns = self->v_size,
      .k = self->keys,
      .b_first = self->v.first,
      .a_row = self->keys,
      .a_k = 1,
      .b_k = self->v.row,
      .b_column = 1,
      .c_row = self->y.row,
      .batch_rank = 3,
      .batch = {{self->batch, self->heads * matrix, self->v.batch, self->y.batch},
                {self->kv_heads, group * matrix, self->v.head, group * self->y.head},
                {group, matrix, 0, self->y.head}}};
  return lk_plan_product(planner, &matmul, scores, &self->v.operand, &self->y.operand, error);
}

/* ---- between them ---- */

/* A program on scores, while it is put together. */
typedef struct score_program {
  lk_element_program program;
  lk_element_value value;
  lk_operand operands[5]; /* inputs, then outputs */
  uint32_t n_operands;
  int64_t keys; /* the first ones, which it is for */
} score_program;

static score_program begin_on(const lk_operand *scores, int64_t keys) {
  score_program made = {.program = lk_element_begin(), .keys = keys};
  made.value = lk_element_input(&made.program, LK_F32);
  made.operands[made.n_operands++] = *scores;
  return made;
}

/* Also where the first output goes: the scores. */
static lk_status end_on(lk_planner *planner, score_program *self, const lk_attention *of,
                        const lk_operand *scores, lk_error *error) {
  const int64_t dims[RANK] = {of->batch, of->heads, of->queries, self->keys};
  lk_element_strides strides[sizeof self->operands / sizeof *self->operands];
  lk_element step;
  if (self->program.n_steps == 0 && self->program.n_outputs == 0) return LK_OK;
  lk_element_output(&self->program, self->value, LK_F32);
  self->operands[self->n_operands++] = *scores;
  for (uint32_t i = 0; i < self->n_operands; i++) {
    lk_broadcast_strides(&self->operands[i].desc, RANK, 1, strides[i].strides);
  }
  LK_RETURN_NOT_OK(lk_element_plan(&self->program, RANK, dims, strides, &step, error));
  return lk_planner_kernel(planner, lk_element_kernel, "element", &step, step.size, self->operands,
                           self->n_operands, error);
}

static void add_cap(score_program *self, float cap) {
  if (cap == 0) return;
  self->value = lk_element_unary(&self->program, LK_ELEMENT_LINEAR, self->value, 1 / cap, 0);
  self->value = lk_element_unary(&self->program, LK_ELEMENT_TANH, self->value, 0, 0);
  self->value = lk_element_unary(&self->program, LK_ELEMENT_LINEAR, self->value, cap, 0);
}

static void add_mask(score_program *self, const lk_operand *mask) {
  lk_element_program *program = &self->program;
  const lk_element_value given = lk_element_input(program, mask->desc.dtype);
  self->operands[self->n_operands++] = *mask;
  if (mask->desc.dtype == LK_BOOL) {
    const lk_element_value none = lk_element_number(program, LK_F32, -INFINITY);
    self->value = lk_element_ternary(program, LK_ELEMENT_WHERE, given, self->value, none);
  } else {
    self->value = lk_element_binary(program, LK_ELEMENT_ADD, self->value,
                                    lk_element_cast(program, given, LK_F32));
  }
}

static int64_t masked_keys(const lk_attention *self) {
  return self->mask != NULL ? self->mask->desc.dims[self->mask->desc.rank - 1] : self->keys;
}

static bool sees(const lk_attention *self, lk_attention_stage stage) {
  return self->seen != NULL && self->stage == stage;
}

/* Scale, cap and mask: one pass, but for what somebody wants to see before the mask. */
static lk_status plan_elements(lk_planner *planner, const lk_attention *self,
                               const lk_operand *scores, lk_error *error) {
  score_program steps = begin_on(scores, self->keys);
  if (self->scale != 1) {
    steps.value = lk_element_unary(&steps.program, LK_ELEMENT_LINEAR, steps.value, self->scale, 0);
  }
  if (!sees(self, LK_ATTENTION_SCALED)) add_cap(&steps, self->softcap);
  const bool is_seen = sees(self, LK_ATTENTION_SCALED) || sees(self, LK_ATTENTION_CAPPED);
  if (is_seen) {
    lk_element_output(&steps.program, steps.value, self->seen->desc.dtype);
    /* behind the input; the scores follow */
    steps.operands[steps.n_operands++] = *self->seen;
  }
  const bool is_apart = is_seen || masked_keys(self) != self->keys;
  if (is_apart) {
    LK_RETURN_NOT_OK(end_on(planner, &steps, self, scores, error));
    steps = begin_on(scores, masked_keys(self));
    if (sees(self, LK_ATTENTION_SCALED)) {
      steps = begin_on(scores, self->keys);
      add_cap(&steps, self->softcap);
      LK_RETURN_NOT_OK(end_on(planner, &steps, self, scores, error));
      steps = begin_on(scores, masked_keys(self));
    }
  }
  if (self->mask != NULL && masked_keys(self) > 0) add_mask(&steps, self->mask);
  if (self->mask_too != NULL) add_mask(&steps, self->mask_too);
  return end_on(planner, &steps, self, scores, error);
}

/* A copy or a cast of f32. */
static lk_status show(lk_planner *planner, const lk_operand *from, const lk_operand *to,
                      lk_error *error) {
  if (to->desc.dtype != LK_F32) return lk_planner_cast(planner, from, to, error);
  const lk_copy copy = lk_copy_between(&from->desc, &to->desc);
  return lk_planner_copy(planner, &copy, from, to, error);
}

static lk_key_window window_of(const lk_attention *self) {
  return (lk_key_window){.queries = self->queries,
                         .keys = self->keys,
                         .past = self->past,
                         .left = self->left,
                         .right = self->right,
                         .first_padded = masked_keys(self),
                         .has_past = self->has_past};
}

static lk_status plan_softmax(lk_planner *planner, const lk_attention *self,
                              const lk_operand *scores, lk_error *error) {
  lk_operand operands[4] = {*scores}, *masked = NULL;
  uint32_t n = 1;
  const lk_attention_softmax step = {.loops = lk_row_loops_get(lk_isa_get()),
                                     .batch = self->batch,
                                     .heads = self->heads,
                                     .window = window_of(self),
                                     .has_lengths = self->lengths != NULL,
                                     .has_masked = sees(self, LK_ATTENTION_MASKED),
                                     .hidden = self->hidden,
                                     .sink = self->sink};
  if (step.has_lengths) operands[n++] = *self->lengths;
  if (step.has_masked) {
    masked = &operands[n++];
    *masked = *self->seen;
    if (masked->desc.dtype != LK_F32) {
      LK_RETURN_NOT_OK(lk_planner_temp(planner, &scores->desc, masked, error));
    }
  }
  if (self->sink == LK_ATTEND_SINKS) operands[n++] = *self->sinks;
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_attention_softmax_kernel, "softmax", &step,
                                     sizeof step, operands, n, error));
  const double elements = (double)lk_elements(&scores->desc);
  lk_planner_work(planner, FLOPS * elements, 2 * sizeof(float) * elements);
  if (masked != NULL && self->seen->desc.dtype != LK_F32) {
    LK_RETURN_NOT_OK(show(planner, masked, self->seen, error));
  }
  return sees(self, LK_ATTENTION_SOFTMAX) ? show(planner, scores, self->seen, error) : LK_OK;
}

/* ---- all at once, where nobody wants to see scores ---- */

static lk_attend_place place_of(const lk_heads *heads) {
  return (lk_attend_place){heads->first, heads->batch, heads->head, heads->row};
}

/* A mask as f32 that is added. */
static lk_status take_mask(lk_planner *planner, const lk_operand *mask, lk_operand *out,
                           lk_error *error) {
  lk_tensor_desc desc = mask->desc;
  lk_chain chain;
  *out = *mask;
  if (desc.dtype == LK_F32 || lk_elements(&desc) == 0) return LK_OK;
  desc.dtype = LK_F32;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, out, error));
  if (mask->desc.dtype != LK_BOOL) return lk_planner_cast(planner, mask, out, error);
  lk_chain_begin_at(planner, out, &chain);
  lk_element_program *program = &chain.program;
  const lk_element_value given = lk_chain_operand(&chain, mask);
  chain.value =
      lk_element_ternary(program, LK_ELEMENT_WHERE, given, lk_element_number(program, LK_F32, 0),
                         lk_element_number(program, LK_F32, -INFINITY));
  return lk_chain_step(&chain, error);
}

static lk_status plan_at_once(lk_planner *planner, const lk_attention *self, lk_error *error) {
  const lk_operand *masks[] = {self->mask, self->mask_too};
  lk_operand operands[9] = {self->q.operand, self->k.operand, self->v.operand, self->y.operand};
  uint32_t n = 5; /* the scratch memory is known when all else is */
  lk_attend step = {.loops = lk_attend_loops_get(lk_isa_get()),
                    .products = lk_product_loops_get(lk_isa_get()),
                    .micro = lk_micro_get(lk_isa_get()),
                    .batch = self->batch,
                    .heads = self->heads,
                    .kv_heads = self->kv_heads,
                    .size = self->size,
                    .v_size = self->v_size,
                    .q = place_of(&self->q),
                    .k = place_of(&self->k),
                    .v = place_of(&self->v),
                    .y = place_of(&self->y),
                    .window = window_of(self),
                    .scale = self->scale,
                    .cap = self->softcap,
                    .sink = self->sink,
                    .fills = self->fills,
                    .needs_score = self->needs_score,
                    .hides_nan = self->hides_nan,
                    .has_lengths = self->lengths != NULL};
  for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
    int64_t strides[LK_MAX_RANK];
    if (masks[i] == NULL) continue;
    LK_RETURN_NOT_OK(take_mask(planner, masks[i], &operands[n++], error));
    lk_broadcast_strides(&masks[i]->desc, RANK, 1, strides);
    memcpy(step.masks[step.n_masks++], strides, sizeof step.masks[0]);
  }
  if (self->lengths != NULL) operands[n++] = *self->lengths;
  if (self->sink == LK_ATTEND_SINKS) operands[n++] = *self->sinks;
  lk_attend_plan(&step);
  const int64_t scratch = lk_attend_scratch_size(&step);
  const lk_tensor_desc room = lk_tensor_desc_make(LK_F32, 1, &scratch);
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &room, &operands[4], error));
  operands[4].desc.dims[0] = 0; /* it stays in the cache */
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_attend_kernel, "attention", &step, sizeof step,
                                     operands, n, error));
  const double scores =
      (double)self->batch * (double)self->heads * (double)self->queries * (double)self->keys;
  lk_planner_flops(planner, lk_attend_operations(&step) + FLOPS * scores);
  return LK_OK;
}

/* ---- the whole ---- */

/* A step each for the products and what is between them only where somebody wants to see scores.
 * Values behind a length may be anything, also NaN, which 0 times it would not hide. */
lk_status lk_plan_attention(lk_planner *planner, const lk_attention *self, lk_error *error) {
  static const float zero = 0;
  const int64_t dims[RANK] = {self->batch, self->heads, self->queries, self->keys};
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, RANK, dims);
  lk_operand scores;
  if (self->keys == 0) return lk_plan_fill(planner, &self->y.operand, sizeof zero, &zero, error);
  if (self->seen == NULL) return plan_at_once(planner, self, error);
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &scores, error));
  LK_RETURN_NOT_OK(plan_scores(planner, self, &scores, error));
  LK_RETURN_NOT_OK(plan_elements(planner, self, &scores, error));
  LK_RETURN_NOT_OK(plan_softmax(planner, self, &scores, error));
  if (self->lengths != NULL) return plan_at_once(planner, self, error);
  return plan_values(planner, self, &scores, error);
}
