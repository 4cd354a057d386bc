/* MultiHeadAttention (com.microsoft), as ONNX Runtime's transformer optimizer emits it: attention
 * of rows that a model has projected already, with their bias, masks and a cache. Masked keys get
 * `mask_filter_value` added, as there. */
#include <inttypes.h>
#include <math.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/heads.h"
#include "ops/plan/moves.h"

enum { QUERY, KEY, VALUE, BIAS, PADDING, ADDED, PAST_KEY, PAST_VALUE, PAST_LENGTH, INDIRECTION };
enum { OUTPUT, PRESENT_KEY, PRESENT_VALUE };

typedef struct mha_params {
  int64_t heads;
  float scale, filter; /* scale: NaN is 1 / sqrt(size) */
  bool is_causal;
} mha_params;

static void parse(lk_attrs *attrs, void *params) {
  mha_params *self = params;
  self->heads = lk_attrs_int_from(attrs, "num_heads", 1);
  self->scale = lk_attrs_float(attrs, "scale");
  if (self->scale == 0) self->scale = NAN; /* as it is there */
  self->filter = lk_attrs_float(attrs, "mask_filter_value");
  self->is_causal = lk_attrs_bool(attrs, "unidirectional");
}

/* ---- shapes ---- */

/* How an input has its heads, by its rank. Query of rank 5 has keys and values too; a key of rank 5
 * has values. */
static bool is_packed(const lk_inference *self, uint32_t input) {
  return lk_op_has(self->node, input) && self->inputs[input].desc.rank == 5;
}
static uint32_t owner_of(const lk_inference *self, uint32_t input) {
  if (is_packed(self, QUERY)) return QUERY;
  return input == VALUE && is_packed(self, KEY) ? KEY : input;
}
static int64_t parts_of(uint32_t owner, uint32_t rank) {
  return rank != 5 ? 1 : owner == QUERY ? 3 : 2;
}

/* [batch][rows][heads * size], [batch][rows][heads][parts][size] or, of keys and values,
 * [batch][heads][rows][size]. Dimensions that are not known yet are as in dims.h. */
static lk_status read_sizes(const lk_inference *self, uint32_t input, lk_head_sizes *out,
                            lk_error *error) {
  const int64_t heads = ((const mha_params *)self->node->params)->heads;
  const uint32_t owner = owner_of(self, input);
  const lk_tensor_desc *x = &self->inputs[owner].desc;
  *out = (lk_head_sizes){LK_DIM_UNKNOWN, heads, LK_DIM_UNKNOWN, LK_DIM_UNKNOWN};
  const bool is_known = lk_rank_is_known(&self->inputs[QUERY].desc) &&
                        (!lk_op_has(self->node, KEY) || lk_rank_is_known(&self->inputs[KEY].desc));
  if (!lk_op_has(self->node, owner)) {
    if (!is_known) return LK_OK; /* it may be packed */
    return lk_fail(
        error, LK_UNSUPPORTED,
        "input 1 (key) and input 2 (value) are absent, which only a packed query of rank 5 "
        "may do without");
  }
  if (!lk_rank_is_known(x)) return LK_OK;
  const bool is_apart = x->rank == 4 && owner != QUERY;
  bool fits = x->rank == 3 || x->rank == 5 || is_apart;
  if (fits && x->rank == 3) {
    fits = x->dims[2] < 0 || (x->dims[2] > 0 && x->dims[2] % heads == 0);
    const int64_t size = lk_dims_divide(self->dims, x->dims[2], heads);
    *out = (lk_head_sizes){x->dims[0], heads, x->dims[1], size};
  } else if (is_apart) {
    fits = !lk_dims_differ(x->dims[1], heads) && x->dims[3] != 0;
    *out = (lk_head_sizes){x->dims[0], heads, x->dims[2], x->dims[3]};
  } else if (fits) {
    const int64_t parts = parts_of(owner, x->rank);
    fits =
        !lk_dims_differ(x->dims[2], heads) && !lk_dims_differ(x->dims[3], parts) && x->dims[4] != 0;
    *out = (lk_head_sizes){x->dims[0], heads, x->dims[1], x->dims[4]};
  }
  if (fits) return LK_OK;
  char text[LK_TENSOR_TEXT_CAPACITY];
  return lk_fail(error, LK_INVALID_ARGUMENT, "input %" PRIu32 " is %s, rows of %" PRId64 " heads",
                 owner, lk_tensor_text(x, text), heads);
}

static lk_status refuse_others(const lk_inference *self, lk_error *error) {
  const lk_op_node *node = self->node;
  if (lk_op_has(node, PAST_LENGTH) || lk_op_has(node, INDIRECTION)) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "past_sequence_length and cache_indirection, which are for shared buffers");
  }
  if (lk_op_has(node, BIAS) && (is_packed(self, QUERY) || is_packed(self, KEY))) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "input 3 (bias) is given with packed heads, which is not supported");
  }
  return LK_OK;
}

static lk_status check_bias(const lk_inference *self, const lk_attended *of, lk_error *error) {
  if (!lk_op_has(self->node, BIAS)) return LK_OK;
  const lk_tensor_desc *x = &self->inputs[BIAS].desc;
  if (!lk_rank_is_known(x)) return LK_OK;
  const bool is_known = of->q.size >= 0 && of->k.size >= 0 && of->v.size >= 0 && x->rank == 1;
  const int64_t all = of->q.heads * (of->q.size + of->k.size + of->v.size);
  if (x->rank == 1 && (!is_known || !lk_dims_differ(x->dims[0], all))) return LK_OK;
  return lk_refuse(x, "the bias", "a number for each element of a row of Q, K and V", error);
}

/* [batch] lengths, or masks [batch][keys] and [batch][queries][keys]; numbers that are added,
 * [batch or 1][heads or 1][queries][keys]. */
static lk_status check_masks(const lk_inference *self, const lk_attended *of, lk_error *error) {
  const lk_tensor_desc *mask = &self->inputs[PADDING].desc;
  if (lk_op_has(self->node, PADDING) && lk_rank_is_known(mask)) {
    bool fits = mask->rank >= 1 && mask->rank <= 3 && !lk_dims_differ(mask->dims[0], of->q.batch);
    if (mask->rank == 3) fits = fits && !lk_dims_differ(mask->dims[1], of->q.rows);
    if (mask->rank > 1) fits = fits && !lk_dims_differ(mask->dims[mask->rank - 1], of->keys);
    if (!fits) {
      return lk_refuse(mask, "key_padding_mask", "[batch], [batch][keys] or [batch][queries][keys]",
                       error);
    }
  }
  const int64_t dims[] = {of->q.batch, of->q.heads, of->q.rows, of->keys};
  return lk_infer_added(self, ADDED, dims, "[batch or 1][heads or 1][queries][keys]", error);
}

static lk_status find_sizes(const lk_inference *self, lk_attended *out, lk_error *error) {
  *out = (lk_attended){0};
  LK_RETURN_NOT_OK(refuse_others(self, error));
  LK_RETURN_NOT_OK(read_sizes(self, QUERY, &out->q, error));
  LK_RETURN_NOT_OK(read_sizes(self, KEY, &out->k, error));
  LK_RETURN_NOT_OK(read_sizes(self, VALUE, &out->v, error));
  const lk_head_sizes *q = &out->q, *k = &out->k, *v = &out->v;
  if (lk_dims_differ(q->batch, k->batch) || lk_dims_differ(q->batch, v->batch) ||
      lk_dims_differ(q->size, k->size) || lk_dims_differ(k->rows, v->rows)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "query, key and value must have equal batches, query and key equal heads, key "
                   "and value equal rows");
  }
  LK_RETURN_NOT_OK(lk_infer_pasts(self, PAST_KEY, "the past", "the past",
                                  "[batch][heads][past rows][size] of keys and values", out,
                                  error));
  LK_RETURN_NOT_OK(check_bias(self, out, error));
  return check_masks(self, out, error);
}

static lk_status infer(lk_inference *self, lk_error *error) {
  lk_attended of;
  LK_RETURN_NOT_OK(find_sizes(self, &of, error));
  lk_infer_heads(self, PRESENT_KEY, of.k.batch, of.k.heads, of.keys, of.k.size);
  lk_infer_heads(self, PRESENT_VALUE, of.v.batch, of.v.heads, of.keys, of.v.size);
  const lk_head_sizes y = {of.q.batch, of.v.heads, of.q.rows, of.v.size};
  return lk_infer_rows(self, &y, "compute attention", error);
}

/* ---- steps ---- */

/* Rows of an input that lie in rows, with their part of the bias, which begins at `first`. */
static lk_status add_bias(lk_planner *planner, const lk_head_sizes *of, int64_t first,
                          lk_operand *inout, lk_error *error) {
  const int64_t width = of->heads * of->size;
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 1, &width);
  const lk_copy copy = {.block = sizeof(float),
                        .from_offset = first * (int64_t)sizeof(float),
                        .rank = 1,
                        .dims = {width},
                        .from = {sizeof(float)},
                        .to = {sizeof(float)}};
  lk_operand bias, part, sum;
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_planner_input(planner, BIAS, LK_LAYOUT_PLAIN, &bias, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &part, error));
  LK_RETURN_NOT_OK(lk_planner_copy(planner, &copy, &bias, &part, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &inout->desc, &sum, error));
  lk_chain_begin_at(planner, &sum, &chain);
  const lk_element_value x = lk_chain_operand(&chain, inout);
  chain.value =
      lk_element_binary(&chain.program, LK_ELEMENT_ADD, x, lk_chain_operand(&chain, &part));
  *inout = sum;
  return lk_chain_step(&chain, error);
}

static lk_status take_heads(lk_planner *planner, const lk_inference *of, uint32_t input,
                            const lk_head_sizes *sizes, int64_t bias, lk_heads *out,
                            lk_error *error) {
  const uint32_t owner = owner_of(of, input), rank = of->inputs[owner].desc.rank;
  const int64_t parts = parts_of(owner, rank);
  lk_operand x;
  LK_RETURN_NOT_OK(lk_planner_input(planner, owner, lk_rows_layout(planner, owner), &x, error));
  if (lk_op_has(planner->node, BIAS) && rank == 3) {
    LK_RETURN_NOT_OK(add_bias(planner, sizes, bias, &x, error));
  }
  *out = rank == 4 ? lk_heads_apart(&x, sizes)
                   : lk_heads_packed(&x, sizes, parts - 1 - (VALUE - input), parts);
  if (rank != 4 && parts == 1) *out = lk_heads_in_rows(&x, sizes);
  return LK_OK;
}

/* What key_padding_mask adds; of lengths, i64 [batch]. */
static lk_status take_padding(lk_planner *planner, const lk_work_attention *of, lk_operand *out,
                              lk_error *error) {
  const mha_params *params = planner->node->params;
  lk_operand mask;
  LK_RETURN_NOT_OK(lk_planner_input(planner, PADDING, LK_LAYOUT_PLAIN, &mask, error));
  const lk_tensor_desc *x = &mask.desc;
  if (x->rank == 1) {
    const lk_tensor_desc desc = lk_tensor_desc_make(LK_I64, 1, x->dims);
    LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, out, error));
    return lk_planner_cast(planner, &mask, out, error);
  }
  const int64_t rows = x->rank == 3 ? of->queries : 1;
  const lk_padding step = {.form = LK_PADDING_EACH,
                           .batch = of->batch,
                           .rows = rows,
                           .keys = of->keys,
                           .batch_step = rows * of->keys,
                           .row_step = of->keys,
                           .filter = params->filter};
  return lk_plan_padding(planner, &step, &mask, out, error);
}

static lk_status take_masks(lk_planner *planner, lk_task *task, lk_error *error) {
  lk_operand taken;
  if (lk_op_has(planner->node, PADDING)) {
    LK_RETURN_NOT_OK(take_padding(planner, &task->work.attention, &taken, error));
    if (taken.desc.rank == 1) {
      lk_task_place(task, LK_ROLE_LENGTHS, &taken);
    } else {
      lk_task_mask(task, &taken);
    }
  }
  if (!lk_op_has(planner->node, ADDED)) return LK_OK;
  LK_RETURN_NOT_OK(lk_planner_input(planner, ADDED, LK_LAYOUT_PLAIN, &taken, error));
  lk_task_mask(task, &taken);
  return LK_OK;
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const mha_params *params = planner->node->params;
  const lk_inference asked = {.node = planner->node, .inputs = planner->inputs};
  lk_attended of;
  lk_task task;
  lk_operand to;
  lk_heads q, k, v;
  LK_RETURN_NOT_OK(find_sizes(&asked, &of, error));
  const int64_t heads = of.q.heads, of_k = heads * of.q.size, of_v = of_k + heads * of.k.size;
  lk_task_attention(&task, &of.q, heads, of.keys, of.v.size, params->scale);
  task.work.attention.past = of.past;
  task.work.attention.has_past = true; /* lengths are of padding alone */
  if (params->is_causal) task.work.attention.right = 0;
  LK_RETURN_NOT_OK(take_heads(planner, &asked, KEY, &of.k, of_k, &k, error));
  LK_RETURN_NOT_OK(take_heads(planner, &asked, VALUE, &of.v, of_v, &v, error));
  LK_RETURN_NOT_OK(
      lk_plan_behind_past(planner, &of.k, of.keys, PAST_KEY, PRESENT_KEY, 0, &k, error));
  LK_RETURN_NOT_OK(
      lk_plan_behind_past(planner, &of.v, of.keys, PAST_VALUE, PRESENT_VALUE, 0, &v, error));
  if (lk_elements(&planner->outputs[OUTPUT]) == 0) return LK_OK;
  LK_RETURN_NOT_OK(take_heads(planner, &asked, QUERY, &of.q, 0, &q, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, OUTPUT, LK_LAYOUT_PLAIN, &to, error));
  LK_RETURN_NOT_OK(take_masks(planner, &task, error));
  const lk_heads y =
      lk_heads_in_rows(&to, &(lk_head_sizes){of.q.batch, heads, of.q.rows, of.v.size});
  lk_task_heads(&task, &q, &k, &v, &y);
  return lk_plan_task(planner, &task, error);
}

const lk_op_class lk_op_multi_head_attention = {
    LK_OP_ROW("MultiHeadAttention", "com.microsoft", 1, "Attention of rows of heads, with a bias",
              .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 1, .max_inputs = 10, .max_outputs = 3,
              .input_types = "TTTTUTTTUU", .output_types = "TTT",
              .types = {LK_TYPES_BY_F32, LK_TYPE(LK_I32)}),
    .by_f32 = true,
    .params_size = sizeof(mha_params),
    LK_OP_ATTRS(LK_ANY_FLOAT("mask_filter_value", -10000), LK_REQUIRED_INT("num_heads"),
                LK_ANY_FLOAT("scale", NAN), LK_FLAG("unidirectional", 0)),
    .parse = parse,
    .infer = infer,
    .plan = plan,
};
