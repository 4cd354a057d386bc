/* LinearAttention (ai.onnx, opset 27 on). */
#include <inttypes.h>
#include <math.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/sequence/linear_attention.h"
#include "ops/plan/heads.h"

enum { QUERY, KEY, VALUE, PAST, DECAY, RATE }; /* inputs */
enum { OUTPUT, STATE };

typedef struct linear_params {
  int64_t heads, kv_heads;
  float scale; /* 0: 1 / sqrt(size) */
  bool decays, corrects;
} linear_params;

static void parse(lk_attrs *attrs, void *params) {
  linear_params *self = params;
  const uint32_t rule = lk_attrs_choice(attrs, "update_rule");
  self->decays = rule == 0 || rule == 2;
  self->corrects = rule == 0 || rule == 3;
  self->heads = lk_attrs_int_from(attrs, "q_num_heads", 1);
  self->kv_heads = lk_attrs_int_from(attrs, "kv_num_heads", 1);
  self->scale = lk_attrs_float(attrs, "scale");
  if (self->heads % self->kv_heads != 0) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                  "attribute 'q_num_heads' is %" PRId64 ", it must be a multiple of the %" PRId64
                  " of 'kv_num_heads'",
                  self->heads, self->kv_heads);
  }
}

/* ---- shapes ---- */

/* [batch][rows][heads * size]; of an unknown rank, unknown dimensions. */
static lk_status read_rows(const lk_inference *self, uint32_t input, const char *name,
                           int64_t heads, lk_head_sizes *out, lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[input].desc;
  *out = (lk_head_sizes){LK_DIM_UNKNOWN, heads, LK_DIM_UNKNOWN, LK_DIM_UNKNOWN};
  if (!lk_rank_is_known(x)) return LK_OK;
  if (x->rank != 3 || (x->dims[2] >= 0 && x->dims[2] % heads != 0) || x->dims[2] == 0) {
    return lk_refuse(x, name, "[batch][rows][heads * size]", error);
  }
  *out =
      (lk_head_sizes){x->dims[0], heads, x->dims[1], lk_dims_divide(self->dims, x->dims[2], heads)};
  return LK_OK;
}

/* Numbers of each row: `few` or `many` of them. */
static lk_status check_gate(const lk_inference *self, uint32_t input, const char *name,
                            bool is_wanted, int64_t few, int64_t many, const lk_head_sizes *of,
                            lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[input].desc;
  if (lk_op_has(self->node, input) != is_wanted) {
    return lk_fail(error, LK_INVALID_ARGUMENT, "%s %s, which attribute 'update_rule' %s",
                   is_wanted ? "no" : "an input", name, is_wanted ? "needs" : "does not have");
  }
  if (!is_wanted || !lk_rank_is_known(x)) return LK_OK;
  const bool is_few = x->rank == 3 && !lk_dims_differ(x->dims[2], few);
  const bool is_many = x->rank == 3 && !lk_dims_differ(x->dims[2], many);
  if ((is_few || is_many) && !lk_dims_differ(x->dims[0], of->batch) &&
      !lk_dims_differ(x->dims[1], of->rows)) {
    return LK_OK;
  }
  return lk_refuse(x, name, "numbers of each row, for all or for each head", error);
}

static lk_status find_sizes(const lk_inference *self, lk_head_sizes *q, lk_head_sizes *k,
                            lk_head_sizes *v, lk_error *error) {
  const linear_params *params = self->node->params;
  LK_RETURN_NOT_OK(read_rows(self, QUERY, "query", params->heads, q, error));
  LK_RETURN_NOT_OK(read_rows(self, KEY, "key", params->kv_heads, k, error));
  LK_RETURN_NOT_OK(read_rows(self, VALUE, "value", params->kv_heads, v, error));
  if (lk_dims_differ(q->batch, k->batch) || lk_dims_differ(q->batch, v->batch) ||
      lk_dims_differ(q->rows, k->rows) || lk_dims_differ(q->rows, v->rows) ||
      lk_dims_differ(q->size, k->size)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "query, key and value must have equal batches and rows, query and key heads of "
                   "one size");
  }
  const int64_t heads = params->kv_heads;
  const int64_t many = k->size >= 0 ? heads * k->size : LK_DIM_UNKNOWN;
  LK_RETURN_NOT_OK(check_gate(self, DECAY, "decay", params->decays, heads, many, q, error));
  return check_gate(self, RATE, "beta", params->corrects, heads, 1, q, error);
}

static lk_status infer(lk_inference *self, lk_error *error) {
  lk_head_sizes q, k, v;
  LK_RETURN_NOT_OK(find_sizes(self, &q, &k, &v, error));
  const int64_t dims[] = {q.batch, k.heads, k.size, v.size};
  const lk_tensor_desc state = lk_tensor_desc_make(self->outputs[0].dtype, 4, dims);
  if (lk_op_has(self->node, PAST) && !lk_shape_may_equal(&self->inputs[PAST].desc, &state)) {
    return lk_refuse(&self->inputs[PAST].desc, "past_state", "[batch][heads][size][value size]",
                     error);
  }
  if (self->node->n_outputs > STATE) {
    const uint32_t from = lk_op_has(self->node, PAST) ? PAST : QUERY;
    self->outputs[STATE] = state;
    self->outputs[STATE].dtype = self->inputs[from].desc.dtype;
  }
  const lk_head_sizes y = {q.batch, q.heads, q.rows, v.size};
  return lk_infer_rows(self, &y, "attend", error);
}

/* ---- steps ---- */

static lk_status plan(lk_planner *planner, lk_error *error) {
  const linear_params *params = planner->node->params;
  const lk_op_node *node = planner->node;
  const lk_inference asked = {.node = node, .inputs = planner->inputs};
  lk_head_sizes q, k, v;
  lk_operand operands[8];
  uint32_t n = 0;
  LK_RETURN_NOT_OK(find_sizes(&asked, &q, &k, &v, error));
  const lk_tensor_desc *decays = &planner->inputs[DECAY].desc, *rates = &planner->inputs[RATE].desc;
  const lk_linear_attention step = {.batch = q.batch,
                                    .rows = q.rows,
                                    .heads = q.heads,
                                    .kv_heads = k.heads,
                                    .size = k.size,
                                    .v_size = v.size,
                                    .decays = lk_op_has(node, DECAY) ? decays->dims[2] : 0,
                                    .rates = lk_op_has(node, RATE) ? rates->dims[2] : 0,
                                    .scale = params->scale == 0 ? 1 / sqrtf((float)k.size)
                                                                : params->scale,
                                    .has_past = lk_op_has(node, PAST)};
  const int64_t dims[] = {q.batch, k.heads, k.size, v.size};
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 4, dims);
  LK_RETURN_NOT_OK(lk_planner_append_input(planner, QUERY, operands, &n, error));
  LK_RETURN_NOT_OK(lk_planner_append_input(planner, KEY, operands, &n, error));
  LK_RETURN_NOT_OK(lk_planner_append_input(planner, VALUE, operands, &n, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, OUTPUT, LK_LAYOUT_PLAIN, &operands[n++], error));
  LK_RETURN_NOT_OK(lk_planner_output_or_temp(planner, STATE, &desc, &operands[n++], error));
  LK_RETURN_NOT_OK(lk_planner_append_input(planner, PAST, operands, &n, error));
  LK_RETURN_NOT_OK(lk_planner_append_input(planner, DECAY, operands, &n, error));
  LK_RETURN_NOT_OK(lk_planner_append_input(planner, RATE, operands, &n, error));
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_linear_attention_kernel, "linear_attention", &step,
                                     sizeof step, operands, n, error));
  const int64_t reads = 2 + q.heads / k.heads; /* and changes, of a row */
  lk_planner_flops(planner, 2 * (double)lk_elements(&desc) * (double)q.rows * (double)reads);
  return LK_OK;
}

const lk_op_class lk_op_linear_attention = {
    LK_OP_ROW("LinearAttention", "", 27, "Attention by a state that each row updates",
              .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 3, .max_inputs = 6, .max_outputs = 2,
              .input_types = "TTTUTT", .output_types = "T?",
              .types = {LK_TYPES_BY_F32, LK_TYPES_BY_F32}),
    .by_f32 = true,
    .params_size = sizeof(linear_params),
    LK_OP_ATTRS(LK_INT("chunk_size", 64, .is_unused = 1), LK_REQUIRED_INT("kv_num_heads"),
                LK_REQUIRED_INT("q_num_heads"), LK_FLOAT("scale", 0),
                LK_CHOICE("update_rule", "gated_delta|linear|gated|delta")),
    .parse = parse,
    .infer = infer,
    .plan = plan,
};
