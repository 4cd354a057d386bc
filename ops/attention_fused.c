/* Attention (latchkey): what the pass "patterns" makes of attention that a model spells out.
 *
 *   softmax(scale * MatMul(q, transposed k) + mask, over the last dimension) times v, by MatMul
 *
 * So every dimension broadcasts as there, the last one of the mask too. Ranks are 3, or 4 with
 * heads; of k, rows and elements lie as those of q, or with `k_rows` [batch][rows][heads][size]. A
 * mask of bool says which scores stay, or with `hides` which do not: `filter` stands in the place
 * of the others. With `zeros`, weights are 0 in each row of which softmax makes NaN. */
#include <math.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/heads.h"
#include "ops/plan/moves.h"

enum { Q, K, V, MASK, RANK = 4 };

typedef struct fused_params {
  float scale, filter;
  bool hides, k_rows, zeros;
} fused_params;

/* The second input with heads before rows. */
static lk_tensor_desc keys_of(const lk_inference *self) {
  lk_tensor_desc k = self->inputs[K].desc;
  const fused_params *params = self->node->params;
  if (!params->k_rows || k.rank != RANK) return k;
  k.dims[1] = self->inputs[K].desc.dims[2];
  k.dims[2] = self->inputs[K].desc.dims[1];
  return k;
}

static lk_status fail_dims(const lk_inference *self, lk_error *error) {
  char q[LK_TENSOR_TEXT_CAPACITY], k[LK_TENSOR_TEXT_CAPACITY], v[LK_TENSOR_TEXT_CAPACITY];
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to attend: q is %s, k is %s, v is %s; they must be of one rank, 3 or 4, q "
                 "and k must have heads of one size, and k and v equal rows",
                 lk_tensor_text(&self->inputs[Q].desc, q), lk_tensor_text(&self->inputs[K].desc, k),
                 lk_tensor_text(&self->inputs[V].desc, v));
}

/* The dimensions before the last two. */
static lk_tensor_desc batch_of(const lk_tensor_desc *desc) {
  lk_tensor_desc batch = *desc;
  batch.rank -= 2;
  return batch;
}

/* Those of the scores, whose ranks are known. */
static lk_status find_scores(const lk_inference *self, lk_tensor_desc *out, lk_error *error) {
  const lk_tensor_desc turned = keys_of(self), *k = &turned;
  const lk_tensor_desc *q = &self->inputs[Q].desc;
  const lk_tensor_desc *v = &self->inputs[V].desc;
  const uint32_t rank = q->rank;
  if ((rank != 3 && rank != RANK) || k->rank != rank || v->rank != rank ||
      lk_dims_differ(q->dims[rank - 1], k->dims[rank - 1])) {
    return fail_dims(self, error);
  }
  const lk_tensor_desc of_q = batch_of(q), of_k = batch_of(k);
  LK_RETURN_NOT_OK(lk_broadcast_dims(self->dims, &of_q, &of_k, out, error));
  out->rank = rank;
  out->dims[rank - 2] = q->dims[rank - 2];
  out->dims[rank - 1] = k->dims[rank - 2];
  if (lk_op_has(self->node, MASK)) {
    const lk_tensor_desc product = *out, *mask = &self->inputs[MASK].desc;
    LK_RETURN_NOT_OK(lk_broadcast_dims(self->dims, &product, mask, out, error));
    if (lk_rank_is_known(mask) && out->rank != rank) return fail_dims(self, error);
    if (!lk_rank_is_known(mask)) return LK_OK;
  }
  return lk_dims_differ(out->dims[rank - 1], v->dims[rank - 2]) ? fail_dims(self, error) : LK_OK;
}

static lk_status infer(lk_inference *self, lk_error *error) {
  lk_tensor_desc *to = &self->outputs[0], scores = *to;
  const lk_tensor_desc *v = &self->inputs[V].desc;
  for (uint32_t i = Q; i <= V; i++) {
    if (!lk_rank_is_known(&self->inputs[i].desc)) return LK_OK;
  }
  LK_RETURN_NOT_OK(find_scores(self, &scores, error));
  if (!lk_rank_is_known(&scores)) return LK_OK;
  const lk_tensor_desc left = batch_of(&scores), right = batch_of(v);
  LK_RETURN_NOT_OK(lk_broadcast_dims(self->dims, &left, &right, to, error));
  to->dims[to->rank++] = scores.dims[scores.rank - 2];
  to->dims[to->rank++] = v->dims[v->rank - 1];
  return LK_OK;
}

/* ---- steps ---- */

/* With a dimension for heads, where the node has none: its rank is 3 then. */
static lk_tensor_desc with_heads(const lk_planner *planner, const lk_tensor_desc *desc) {
  if (planner->inputs[Q].desc.rank == RANK || desc->rank < 3) return lk_shape_pad_rank(desc, RANK);
  const int64_t dims[] = {desc->dims[0], 1, desc->dims[1], desc->dims[2]};
  return lk_tensor_desc_make(desc->dtype, RANK, dims);
}

/* An input whose dimensions of 1 are repeated. */
static lk_status take(lk_planner *planner, uint32_t input, lk_heads *out, lk_error *error) {
  int64_t strides[LK_MAX_RANK];
  LK_RETURN_NOT_OK(
      lk_planner_input(planner, input, lk_rows_layout(planner, input), &out->operand, error));
  const lk_tensor_desc desc = with_heads(planner, &out->operand.desc);
  lk_broadcast_strides(&desc, RANK, 1, strides);
  const bool is_turned = input == K && ((const fused_params *)planner->node->params)->k_rows;
  out->at = (lk_heads_place){
      .batch = strides[0], .head = strides[is_turned ? 2 : 1], .row = strides[is_turned ? 1 : 2]};
  return LK_OK;
}

/* Q and K whose heads have no elements: a 0 for all scores. */
static lk_status take_nothing(lk_planner *planner, lk_heads *out, lk_error *error) {
  static const float zero = 0;
  const int64_t one = 1;
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 1, &one);
  *out = (lk_heads){0};
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &out->operand, error));
  return lk_plan_fill(planner, &out->operand, sizeof zero, &zero, error);
}

/* What stands in the place of scores, or 0, for a mask of bool. */
static lk_status take_bools(lk_planner *planner, const lk_operand *given, const lk_operand *to,
                            lk_error *error) {
  const fused_params *params = planner->node->params;
  lk_chain chain;
  lk_chain_begin_at(planner, to, &chain);
  lk_element_program *program = &chain.program;
  const lk_element_value says = lk_chain_operand(&chain, given);
  const lk_element_value none = lk_element_number(program, LK_F32, 0);
  const lk_element_value low = lk_element_number(program, LK_F32, (double)params->filter);
  chain.value = lk_element_ternary(program, LK_ELEMENT_WHERE, says, params->hides ? low : none,
                                   params->hides ? none : low);
  return lk_chain_step(&chain, error);
}

/* With a number for each key. */
static lk_status take_mask(lk_planner *planner, int64_t keys, lk_operand *out, lk_error *error) {
  lk_operand given;
  LK_RETURN_NOT_OK(lk_planner_input(planner, MASK, LK_LAYOUT_PLAIN, &given, error));
  const lk_tensor_desc from = with_heads(planner, &given.desc);
  *out = given;
  out->desc = from;
  if (from.dims[RANK - 1] == keys && from.dtype == LK_F32) return LK_OK;
  lk_tensor_desc desc = from;
  desc.dtype = LK_F32;
  desc.dims[RANK - 1] = keys;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, out, error));
  if (from.dtype == LK_BOOL) {
    given.desc = from;
    return take_bools(planner, &given, out, error);
  }
  lk_copy copy = lk_copy_between(&desc, &desc);
  lk_broadcast_strides(&from, RANK, (int64_t)copy.block, copy.from);
  return lk_planner_copy(planner, &copy, &given, out, error);
}

/* As q lies: who has turned heads of rows into rows of heads before turns them back behind. Rows
 * lie whole, so channels that are wished for last take a reorder. */
static lk_layout output_layout(lk_planner *planner) {
  const lk_layout wished = lk_strided_output_layout(planner, lk_rows_layout(planner, Q));
  return wished == LK_LAYOUT_HEADS_INSIDE ? wished : LK_LAYOUT_PLAIN;
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const fused_params *params = planner->node->params;
  const lk_inference asked = {.node = planner->node, .inputs = planner->inputs};
  lk_tensor_desc scores = {.dtype = LK_F32};
  lk_task task;
  lk_operand mask, y;
  lk_heads from, k, v;
  LK_RETURN_NOT_OK(find_scores(&asked, &scores, error));
  const lk_tensor_desc q = with_heads(planner, &planner->inputs[Q].desc);
  const lk_tensor_desc values = with_heads(planner, &planner->inputs[V].desc);
  const lk_tensor_desc to = with_heads(planner, &planner->outputs[0]);
  scores = with_heads(planner, &scores);
  const lk_head_sizes of_q = {to.dims[0], to.dims[1], to.dims[2], q.dims[3] > 0 ? q.dims[3] : 1};
  lk_task_attention(&task, &of_q, of_q.heads, scores.dims[3], values.dims[3], params->scale);
  lk_work_attention *work = &task.work.attention;
  work->empty_is_nan = true;
  work->nan_is_zero = params->zeros;
  if (q.dims[3] > 0) {
    LK_RETURN_NOT_OK(take(planner, Q, &from, error));
    LK_RETURN_NOT_OK(take(planner, K, &k, error));
  } else {
    LK_RETURN_NOT_OK(take_nothing(planner, &from, error));
    k = from;
  }
  LK_RETURN_NOT_OK(take(planner, V, &v, error));
  if (lk_op_has(planner->node, MASK) && work->keys > 0) {
    LK_RETURN_NOT_OK(take_mask(planner, work->keys, &mask, error));
    lk_task_mask(&task, &mask);
    work->mask_replaces = planner->inputs[MASK].desc.dtype == LK_BOOL;
  }
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, output_layout(planner), &y, error));
  const lk_head_sizes sizes = {work->batch, work->heads, work->queries, work->v_size};
  const lk_heads heads = lk_heads_apart(&y, &sizes);
  lk_task_heads(&task, &from, &k, &v, &heads);
  return lk_plan_task(planner, &task, error);
}

/* Two products: of each element of q, and of each one of the output, with all keys. */
static double flops(const lk_op_node *node, const lk_tensor *inputs,
                    const lk_tensor_desc *outputs) {
  (void)node;
  const lk_tensor_desc *v = &inputs[V].desc;
  return 2 * (double)v->dims[v->rank - 2] *
         ((double)lk_elements(&inputs[Q].desc) + (double)lk_elements(outputs));
}

const lk_op_class lk_op_attention_fused = {
    LK_OP_ROW("Attention", "latchkey", 1, "softmax(scale q k' + mask) v; made by fusion",
              .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 3, .max_inputs = 4, .max_outputs = 1,
              .input_types = "TTTU", .output_types = "T",
              .types = {LK_TYPES_F32, LK_TYPES_F32 | LK_TYPE(LK_BOOL)}),
    LK_OP_ATTRS(LK_ANY_FLOAT("filter", -INFINITY), LK_FLAG("hides", 0), LK_FLAG("k_rows", 0),
                LK_FLOAT("scale", 1), LK_FLAG("zeros", 0)),
    LK_OP_PARAMS(fused_params, LK_PARAM(fused_params, scale, "scale"),
                 LK_PARAM(fused_params, filter, "filter"), LK_PARAM(fused_params, hides, "hides"),
                 LK_PARAM(fused_params, k_rows, "k_rows"), LK_PARAM(fused_params, zeros, "zeros")),
    .infer = infer,
    .flops = flops,
    .plan = plan,
};
