/* Attention (ai.onnx, opset 23 on): scaled dot-product attention of queries, keys and values, with
 * a cache of keys and values that grows (past, present), or one that the model updates itself
 * (nonpad_kv_seqlen). Everything between is computed in f32, whatever softmax_precision says. */
#include <inttypes.h>
#include <math.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/heads.h"
#include "ops/plan/moves.h"

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, LENGTHS }; /* inputs */
enum { Y, PRESENT_KEY, PRESENT_VALUE, SCORES };        /* outputs */
enum { FAR = INT32_MAX }; /* a window that ends no earlier has no end */

typedef struct attention_params {
  int64_t heads, kv_heads; /* 0: not given */
  int64_t left, right;     /* as of lk_work_attention */
  float scale;             /* NaN: 1 / sqrt(size) */
  float softcap;
  lk_attention_stage stage;
} attention_params;

static int64_t read_heads(lk_attrs *attrs, const char *name) {
  return lk_attrs_int_from(attrs, name, 1);
}

static int64_t read_window(lk_attrs *attrs, const char *name) {
  const int64_t keys = lk_attrs_int(attrs, name);
  return keys < FAR ? lk_attrs_int_from(attrs, name, -1) : -1;
}

static void parse(lk_attrs *attrs, void *params) {
  attention_params *self = params;
  const int64_t stage = lk_attrs_int(attrs, "qk_matmul_output_mode");
  self->heads = read_heads(attrs, "q_num_heads");
  self->kv_heads = read_heads(attrs, "kv_num_heads");
  self->left = read_window(attrs, "left_window_size");
  self->right = read_window(attrs, "right_window_size");
  if (lk_attrs_bool(attrs, "is_causal")) self->right = 0;
  self->scale = lk_attrs_float(attrs, "scale");
  self->softcap = lk_attrs_float(attrs, "softcap");
  self->stage = (lk_attention_stage)stage;
  if (stage < LK_ATTENTION_SCALED || stage > LK_ATTENTION_SOFTMAX) {
    lk_attrs_fail(attrs, LK_OUT_OF_RANGE,
                  "attribute 'qk_matmul_output_mode' is %" PRId64 ", 0 to 3 are allowed", stage);
  }
}

/* ---- shapes ---- */

/* Of rank 3 heads are parts of rows, [batch][rows][heads * size]; of rank 4 they are apart,
 * [batch][heads][rows][size]. Dimensions that are not known yet are as in dims.h. */

/* An input; `heads`: those that the attribute gives. */
static lk_status read_dims(const lk_inference *self, uint32_t input, const char *name,
                           int64_t heads, lk_head_sizes *out, lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[input].desc;
  *out = (lk_head_sizes){LK_DIM_UNKNOWN, LK_DIM_UNKNOWN, LK_DIM_UNKNOWN, LK_DIM_UNKNOWN};
  if (!lk_rank_is_known(x)) return LK_OK;
  if (x->rank == 4) {
    *out = (lk_head_sizes){x->dims[0], x->dims[1], x->dims[2], x->dims[3]};
  } else if (x->rank != 3) {
    return lk_refuse(x, name, "of rank 3 or 4", error);
  } else if (heads == 0) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "%s has rank 3, which requires attributes 'q_num_heads' and 'kv_num_heads'",
                   name);
  } else if (x->dims[2] >= 0 && x->dims[2] % heads != 0) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "%s has rows of %" PRId64 " elements, which must be a multiple of its %" PRId64
                   " heads",
                   name, x->dims[2], heads);
  } else {
    const int64_t size = lk_dims_divide(self->dims, x->dims[2], heads);
    *out = (lk_head_sizes){x->dims[0], heads, x->dims[1], size};
  }
  if (out->size == 0) return lk_refuse(x, name, "heads of one element at least", error);
  return LK_OK;
}

static lk_status fail_dims(const lk_inference *self, const char *rule, lk_error *error) {
  char q[LK_TENSOR_TEXT_CAPACITY], k[LK_TENSOR_TEXT_CAPACITY], v[LK_TENSOR_TEXT_CAPACITY];
  return lk_fail(error, LK_INVALID_ARGUMENT, "Q is %s, K %s, V %s, %s",
                 lk_tensor_text(&self->inputs[Q].desc, q), lk_tensor_text(&self->inputs[K].desc, k),
                 lk_tensor_text(&self->inputs[V].desc, v), rule);
}

static lk_status check_dims(const lk_inference *self, const lk_attended *of, lk_error *error) {
  const lk_head_sizes *q = &of->q, *k = &of->k, *v = &of->v;
  if (lk_dims_differ(q->batch, k->batch) || lk_dims_differ(q->batch, v->batch)) {
    return fail_dims(self, "batches must be equal", error);
  }
  if (lk_dims_differ(k->heads, v->heads) || lk_dims_differ(k->rows, v->rows)) {
    return fail_dims(self, "K and V must have equal heads and rows", error);
  }
  if (lk_dims_differ(q->size, k->size)) {
    return fail_dims(self, "heads of Q and K must be of one size", error);
  }
  if (k->heads == 0 || (q->heads >= 0 && k->heads > 0 && q->heads % k->heads != 0)) {
    return fail_dims(self, "Q must have a multiple of the heads of K", error);
  }
  return LK_OK;
}

static lk_status check_mask(const lk_inference *self, const lk_attended *of, lk_error *error) {
  if (!lk_op_has(self->node, MASK)) return LK_OK;
  const lk_tensor_desc *mask = &self->inputs[MASK].desc;
  const int64_t dims[] = {of->q.batch, of->q.heads, of->q.rows, of->keys};
  if (!lk_rank_is_known(mask)) return LK_OK;
  bool fits = mask->rank >= 1 && mask->rank <= 4;
  for (uint32_t i = 0; fits && i < mask->rank; i++) {
    const int64_t dim = mask->dims[i], whole = dims[4 - mask->rank + i];
    const bool is_last = i + 1 == mask->rank;
    fits = is_last ? dim < 0 || whole < 0 || dim <= whole : dim == 1 || !lk_dims_differ(dim, whole);
  }
  if (!fits) {
    return lk_refuse(mask, "attn_mask", "broadcast to [batch][heads][queries][keys, or fewer]",
                     error);
  }
  return LK_OK;
}

static lk_status check_lengths(const lk_inference *self, const lk_attended *of, lk_error *error) {
  if (!lk_op_has(self->node, LENGTHS)) return LK_OK;
  const lk_tensor_desc *x = &self->inputs[LENGTHS].desc;
  if (lk_op_has(self->node, PAST_KEY)) {
    return lk_fail(error, LK_INVALID_ARGUMENT, "nonpad_kv_seqlen cannot be given with past_key");
  }
  if (lk_rank_is_known(x) && (x->rank != 1 || lk_dims_differ(x->dims[0], of->q.batch))) {
    return lk_refuse(x, "nonpad_kv_seqlen", "one number for each batch", error);
  }
  return LK_OK;
}

static lk_status find_dims(const lk_inference *self, lk_attended *out, lk_error *error) {
  const attention_params *params = self->node->params;
  *out = (lk_attended){0};
  LK_RETURN_NOT_OK(read_dims(self, Q, "Q", params->heads, &out->q, error));
  LK_RETURN_NOT_OK(read_dims(self, K, "K", params->kv_heads, &out->k, error));
  LK_RETURN_NOT_OK(read_dims(self, V, "V", params->kv_heads, &out->v, error));
  LK_RETURN_NOT_OK(check_dims(self, out, error));
  LK_RETURN_NOT_OK(lk_infer_pasts(self, PAST_KEY, "past_key", "past_value",
                                  "[batch][heads][past rows][size] of K and V", out, error));
  LK_RETURN_NOT_OK(check_mask(self, out, error));
  return check_lengths(self, out, error);
}

static lk_status infer(lk_inference *self, lk_error *error) {
  lk_attended of;
  LK_RETURN_NOT_OK(find_dims(self, &of, error));
  const int64_t batch = of.q.batch;
  lk_infer_heads(self, PRESENT_KEY, batch, of.k.heads, of.keys, of.k.size);
  lk_infer_heads(self, PRESENT_VALUE, batch, of.v.heads, of.keys, of.v.size);
  lk_infer_heads(self, SCORES, batch, of.q.heads, of.q.rows, of.keys);
  const lk_tensor_desc *q = &self->inputs[Q].desc;
  if (!lk_rank_is_known(q)) return LK_OK;
  const lk_head_sizes y = {batch, of.q.heads, of.q.rows, of.v.size};
  if (q->rank == 3) return lk_infer_rows(self, &y, "compute attention", error);
  lk_infer_heads(self, Y, y.batch, y.heads, y.rows, y.size);
  return LK_OK;
}

/* ---- steps ---- */

static lk_heads heads_of(const lk_operand *operand, const lk_head_sizes *sizes) {
  return (operand->desc.rank == 3 ? lk_heads_in_rows : lk_heads_apart)(operand, sizes);
}

/* K or V with its past, f32. */
static lk_status take_with_past(lk_planner *planner, const lk_head_sizes *sizes, int64_t keys,
                                uint32_t input, uint32_t past, uint32_t present, lk_heads *out,
                                lk_error *error) {
  lk_operand now;
  LK_RETURN_NOT_OK(lk_planner_input(planner, input, lk_rows_layout(planner, input), &now, error));
  *out = heads_of(&now, sizes);
  LK_RETURN_NOT_OK(lk_plan_behind_past(planner, sizes, keys, past, present, 0, out, error));
  return lk_plan_wide(planner, &out->operand, error);
}

/* Mask, lengths and the scores that somebody wants to see, each where there is one. */
static lk_status take_others(lk_planner *planner, lk_task *task, lk_error *error) {
  const lk_op_node *node = planner->node;
  const attention_params *params = node->params;
  lk_operand taken;
  if (lk_op_has(node, MASK)) {
    LK_RETURN_NOT_OK(lk_planner_input(planner, MASK, LK_LAYOUT_PLAIN, &taken, error));
    lk_task_mask(task, &taken);
  }
  if (lk_op_has(node, LENGTHS)) {
    LK_RETURN_NOT_OK(lk_planner_input(planner, LENGTHS, LK_LAYOUT_PLAIN, &taken, error));
    lk_task_place(task, LK_ROLE_LENGTHS, &taken);
  }
  if (SCORES < node->n_outputs) {
    LK_RETURN_NOT_OK(lk_planner_output(planner, SCORES, LK_LAYOUT_PLAIN, &taken, error));
    lk_task_place(task, LK_ROLE_SCORES, &taken);
    task->work.attention.stage = params->stage;
    task->work.attention.hidden = -INFINITY;
  }
  return LK_OK;
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const attention_params *params = planner->node->params;
  const lk_inference asked = {.node = planner->node, .inputs = planner->inputs};
  lk_attended of;
  lk_task task;
  lk_operand q, y;
  lk_heads k, v;
  LK_RETURN_NOT_OK(find_dims(&asked, &of, error));
  lk_task_attention(&task, &of.q, of.k.heads, of.keys, of.v.size, params->scale);
  task.work.attention.softcap = params->softcap;
  task.work.attention.past = of.past;
  task.work.attention.has_past = lk_op_has(planner->node, PAST_KEY);
  task.work.attention.left = params->left;
  task.work.attention.right = params->right;
  LK_RETURN_NOT_OK(take_with_past(planner, &of.k, of.keys, K, PAST_KEY, PRESENT_KEY, &k, error));
  LK_RETURN_NOT_OK(
      take_with_past(planner, &of.v, of.keys, V, PAST_VALUE, PRESENT_VALUE, &v, error));
  if (lk_elements(&planner->outputs[Y]) == 0) return LK_OK; /* no queries: the cache alone */
  LK_RETURN_NOT_OK(lk_plan_wide_input(planner, Q, &q, error));
  LK_RETURN_NOT_OK(lk_plan_wide_output(planner, Y, &y, error));
  LK_RETURN_NOT_OK(take_others(planner, &task, error));
  const lk_heads from = heads_of(&q, &of.q);
  const lk_heads to = heads_of(&y, &(lk_head_sizes){of.q.batch, of.q.heads, of.q.rows, of.v.size});
  lk_task_heads(&task, &from, &k, &v, &to);
  LK_RETURN_NOT_OK(lk_plan_task(planner, &task, error));
  return lk_plan_narrow(planner, Y, &y, error);
}

/* Two products: of each element of Q, and of each one of Y, with all keys. */
static double flops(const lk_op_node *node, const lk_tensor *inputs,
                    const lk_tensor_desc *outputs) {
  const lk_tensor_desc *k = &inputs[K].desc;
  const int64_t past = lk_op_has(node, PAST_KEY) ? inputs[PAST_KEY].desc.dims[2] : 0;
  const int64_t keys = k->dims[k->rank - 2] + past;
  return 2 * (double)keys * ((double)lk_elements(&inputs[Q].desc) + (double)lk_elements(outputs));
}

const lk_op_class lk_op_attention = {
    LK_OP_ROW("Attention", "", 23, "softmax(Q K') V, with masks, windows and a cache",
              .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 3, .max_inputs = 7, .max_outputs = 4,
              .input_types = "TTUVTUW", .output_types = "TTUT",
              .types = {LK_TYPES_BY_F32, LK_TYPES_BY_F32, LK_TYPES_NUMBER | LK_TYPE(LK_BOOL),
                        LK_TYPE(LK_I64)}),
    .params_size = sizeof(attention_params),
    LK_OP_ATTRS(LK_FLAG("is_causal", 0), LK_ANY_INT("kv_num_heads", 0),
                LK_INT("left_window_size", -1, .since = 25), LK_ANY_INT("q_num_heads", 0),
                LK_INT("qk_matmul_output_mode", 0), LK_INT("right_window_size", -1, .since = 25),
                LK_ANY_FLOAT("scale", NAN), LK_FLOAT("softcap", 0),
                LK_ANY_INT("softmax_precision", 0, .is_unused = 1)),
    .parse = parse,
    .infer = infer,
    .flops = flops,
    .plan = plan,
};
