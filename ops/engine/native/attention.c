/* The steps of scaled dot-product attention: one that keeps scores in the cache, or, where somebody
 * wants to see scores, one for each product and for what is between them. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/engine/native/native.h"
#include "ops/kernel/element/element.h"
#include "ops/kernel/sequence/attend.h"
#include "ops/kernel/sequence/attention.h"
#include "ops/kernel/strides.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/moves.h"
#include "ops/plan/product_steps.h"

_Static_assert((int)LK_SINK_NONE == LK_ATTEND_NO_SINK && (int)LK_SINK_ONE == LK_ATTEND_ZERO_SINK &&
                   (int)LK_SINK_OF_HEADS == LK_ATTEND_SINKS,
               "kernels have the sinks of works");

enum { RANK = 4, FLOPS = 20 /* of a score: as of softmax */ };

/* A work, and its operands. Sizes are 1 or more, but for `keys`. */
typedef struct attention {
  const lk_work_attention *of;
  lk_operand q, k, v, y;
  /* Each may be NULL; else one of `others`. */
  const lk_operand *mask, *mask_too, *lengths, *seen, *sinks;
  lk_operand others[5];
} attention;

/* ---- products: heads that share K and V are a dimension of their own ---- */

static lk_status plan_scores(lk_planner *planner, const attention *self, const lk_operand *scores,
                             lk_error *error) {
  const lk_work_attention *of = self->of;
  const int64_t group = of->heads / of->kv_heads, matrix = of->queries * of->keys;
  lk_matmul matmul = {.rows = of->queries,
                      .columns = of->keys,
                      .k = of->size,
                      .a_first = of->q.first,
                      .b_first = of->k.first,
                      .a_row = of->q.row,
                      .a_k = 1,
                      .b_k = 1,
                      .b_column = of->k.row,
                      .c_row = of->keys,
                      .batch_rank = 3,
                      .batch = {{of->batch, of->q.batch, of->k.batch, of->heads * matrix},
                                {of->kv_heads, group * of->q.head, of->k.head, group * matrix},
                                {group, of->q.head, 0, matrix}}};
  return lk_plan_product(planner, &matmul, &self->q, &self->k, scores, error);
}

static lk_status plan_values(lk_planner *planner, const attention *self, const lk_operand *scores,
                             lk_error *error) {
  const lk_work_attention *of = self->of;
  const int64_t group = of->heads / of->kv_heads, matrix = of->queries * of->keys;
  lk_matmul matmul = {.rows = of->queries,
                      .columns = of->v_size,
                      .k = of->keys,
                      .b_first = of->v.first,
                      .a_row = of->keys,
                      .a_k = 1,
                      .b_k = of->v.row,
                      .b_column = 1,
                      .c_row = of->y.row,
                      .batch_rank = 3,
                      .batch = {{of->batch, of->heads * matrix, of->v.batch, of->y.batch},
                                {of->kv_heads, group * matrix, of->v.head, group * of->y.head},
                                {group, matrix, 0, of->y.head}}};
  return lk_plan_product(planner, &matmul, scores, &self->v, &self->y, error);
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
static lk_status end_on(lk_planner *planner, score_program *self, const lk_work_attention *of,
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

static int64_t masked_keys(const attention *self) {
  return self->mask != NULL ? self->mask->desc.dims[self->mask->desc.rank - 1] : self->of->keys;
}

static bool sees(const attention *self, lk_attention_stage stage) {
  return self->seen != NULL && self->of->stage == stage;
}

/* Scale, cap and mask: one pass, but for what somebody wants to see before the mask. */
static lk_status plan_elements(lk_planner *planner, const attention *self, const lk_operand *scores,
                               lk_error *error) {
  const lk_work_attention *of = self->of;
  score_program steps = begin_on(scores, of->keys);
  if (of->scale != 1) {
    steps.value = lk_element_unary(&steps.program, LK_ELEMENT_LINEAR, steps.value, of->scale, 0);
  }
  if (!sees(self, LK_ATTENTION_SCALED)) add_cap(&steps, of->softcap);
  const bool is_seen = sees(self, LK_ATTENTION_SCALED) || sees(self, LK_ATTENTION_CAPPED);
  if (is_seen) {
    lk_element_output(&steps.program, steps.value, self->seen->desc.dtype);
    /* behind the input; the scores follow */
    steps.operands[steps.n_operands++] = *self->seen;
  }
  const bool is_apart = is_seen || masked_keys(self) != of->keys;
  if (is_apart) {
    LK_RETURN_NOT_OK(end_on(planner, &steps, of, scores, error));
    steps = begin_on(scores, masked_keys(self));
    if (sees(self, LK_ATTENTION_SCALED)) {
      steps = begin_on(scores, of->keys);
      add_cap(&steps, of->softcap);
      LK_RETURN_NOT_OK(end_on(planner, &steps, of, scores, error));
      steps = begin_on(scores, masked_keys(self));
    }
  }
  if (self->mask != NULL && masked_keys(self) > 0) add_mask(&steps, self->mask);
  if (self->mask_too != NULL) add_mask(&steps, self->mask_too);
  return end_on(planner, &steps, of, scores, error);
}

/* A copy or a cast of f32. */
static lk_status show(lk_planner *planner, const lk_operand *from, const lk_operand *to,
                      lk_error *error) {
  if (to->desc.dtype != LK_F32) return lk_planner_cast(planner, from, to, error);
  const lk_copy copy = lk_copy_between(&from->desc, &to->desc);
  return lk_planner_copy(planner, &copy, from, to, error);
}

static lk_key_window window_of(const attention *self) {
  const lk_work_attention *of = self->of;
  return (lk_key_window){.queries = of->queries,
                         .keys = of->keys,
                         .past = of->past,
                         .left = of->left,
                         .right = of->right,
                         .first_padded = masked_keys(self),
                         .has_past = of->has_past != 0};
}

static lk_status plan_softmax(lk_planner *planner, const attention *self, const lk_operand *scores,
                              lk_error *error) {
  const lk_work_attention *of = self->of;
  lk_operand operands[4] = {*scores}, *masked = NULL;
  uint32_t n = 1;
  const lk_attention_softmax step = {.loops = lk_row_loops_get(lk_isa_get()),
                                     .batch = of->batch,
                                     .heads = of->heads,
                                     .window = window_of(self),
                                     .has_lengths = self->lengths != NULL,
                                     .has_masked = sees(self, LK_ATTENTION_MASKED),
                                     .hidden = of->hidden,
                                     .sink = (lk_attend_sink)of->sink};
  if (step.has_lengths) operands[n++] = *self->lengths;
  if (step.has_masked) {
    masked = &operands[n++];
    *masked = *self->seen;
    if (masked->desc.dtype != LK_F32) {
      LK_RETURN_NOT_OK(lk_planner_temp(planner, &scores->desc, masked, error));
    }
  }
  if (self->sinks != NULL) operands[n++] = *self->sinks;
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

static lk_attend_place place_of(const lk_heads_place *at) {
  return (lk_attend_place){at->first, at->batch, at->head, at->row};
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

static lk_status plan_at_once(lk_planner *planner, const attention *self, lk_error *error) {
  const lk_work_attention *of = self->of;
  const lk_operand *masks[] = {self->mask, self->mask_too};
  lk_operand operands[9] = {self->q, self->k, self->v, self->y};
  uint32_t n = 5; /* the scratch memory is known when all else is */
  lk_attend step = {.loops = lk_attend_loops_get(lk_isa_get()),
                    .products = lk_product_loops_get(lk_isa_get()),
                    .micro = lk_micro_get(lk_isa_get()),
                    .batch = of->batch,
                    .heads = of->heads,
                    .kv_heads = of->kv_heads,
                    .size = of->size,
                    .v_size = of->v_size,
                    .q = place_of(&of->q),
                    .k = place_of(&of->k),
                    .v = place_of(&of->v),
                    .y = place_of(&of->y),
                    .window = window_of(self),
                    .scale = of->scale,
                    .cap = of->softcap,
                    .sink = (lk_attend_sink)of->sink,
                    .fills = of->mask_replaces != 0,
                    .needs_score = of->empty_is_nan != 0,
                    .hides_nan = of->nan_is_zero != 0,
                    .has_lengths = self->lengths != NULL};
  for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
    int64_t strides[LK_MAX_RANK];
    if (masks[i] == NULL) continue;
    LK_RETURN_NOT_OK(take_mask(planner, masks[i], &operands[n++], error));
    lk_broadcast_strides(&masks[i]->desc, RANK, 1, strides);
    memcpy(step.masks[step.n_masks++], strides, sizeof step.masks[0]);
  }
  if (self->lengths != NULL) operands[n++] = *self->lengths;
  if (self->sinks != NULL) operands[n++] = *self->sinks;
  lk_attend_plan(&step);
  const int64_t scratch = lk_attend_scratch_size(&step);
  const lk_tensor_desc room = lk_tensor_desc_make(LK_F32, 1, &scratch);
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &room, &operands[4], error));
  operands[4].desc.dims[0] = 0; /* it stays in the cache */
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_attend_kernel, "attention", &step, sizeof step,
                                     operands, n, error));
  const double scores =
      (double)of->batch * (double)of->heads * (double)of->queries * (double)of->keys;
  lk_planner_flops(planner, lk_attend_operations(&step) + FLOPS * scores);
  return LK_OK;
}

/* ---- the whole ---- */

/* A step each for the products and what is between them only where somebody wants to see scores.
 * Values behind a length may be anything, also NaN, which 0 times it would not hide. */
static lk_status plan_steps(lk_planner *planner, const attention *self, lk_error *error) {
  static const float zero = 0;
  const lk_work_attention *of = self->of;
  const int64_t dims[RANK] = {of->batch, of->heads, of->queries, of->keys};
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, RANK, dims);
  lk_operand scores;
  if (of->keys == 0) return lk_plan_fill(planner, &self->y, sizeof zero, &zero, error);
  if (self->seen == NULL) return plan_at_once(planner, self, error);
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &scores, error));
  LK_RETURN_NOT_OK(plan_scores(planner, self, &scores, error));
  LK_RETURN_NOT_OK(plan_elements(planner, self, &scores, error));
  LK_RETURN_NOT_OK(plan_softmax(planner, self, &scores, error));
  if (self->lengths != NULL) return plan_at_once(planner, self, error);
  return plan_values(planner, self, &scores, error);
}

/* Where it lies already. */
static lk_status take(lk_planner *planner, const lk_task *task, lk_role role, lk_operand *out,
                      lk_error *error) {
  return lk_task_take(planner, task, role, task->work.tensors[role].layout, out, error);
}

static lk_status plan(lk_planner *planner, const lk_task *task, lk_error *error) {
  attention self = {.of = &task->work.attention};
  const struct {
    lk_role role;
    const lk_operand **operand;
  } others[] = {{LK_ROLE_BIAS, &self.mask},
                {LK_ROLE_OPERAND, &self.mask_too},
                {LK_ROLE_LENGTHS, &self.lengths},
                {LK_ROLE_SCORES, &self.seen},
                {LK_ROLE_SINKS, &self.sinks}};
  LK_RETURN_NOT_OK(take(planner, task, LK_ROLE_SRC, &self.q, error));
  LK_RETURN_NOT_OK(take(planner, task, LK_ROLE_KEYS, &self.k, error));
  LK_RETURN_NOT_OK(take(planner, task, LK_ROLE_VALUES, &self.v, error));
  LK_RETURN_NOT_OK(take(planner, task, LK_ROLE_DST, &self.y, error));
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (!lk_work_has(&task->work, others[i].role)) continue;
    LK_RETURN_NOT_OK(take(planner, task, others[i].role, &self.others[i], error));
    *others[i].operand = &self.others[i];
  }
  return plan_steps(planner, &self, error);
}

const lk_planning lk_native_attention = {.plan = plan};
