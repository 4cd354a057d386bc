/* Attention and QAttention (com.microsoft), as ONNX Runtime's optimizer for transformers and its
 * quantizer emit them: rows are projected to queries, keys and values by one product with packed
 * weights, which QAttention has as bytes, and attend each other and a past. Masked keys get
 * `mask_filter_value` added, as there. */
#include <inttypes.h>
#include <math.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/heads.h"
#include "ops/plan/quantized_steps.h"

enum { INPUT, WEIGHTS, BIAS };
enum { INPUT_SCALE = 3, WEIGHTS_SCALE, INPUT_ZERO = 6, WEIGHTS_ZERO }; /* of QAttention */
enum { OUTPUT, PRESENT };
enum { REAL, QUANTIZED }; /* the class's variants */

/* Which other inputs are what; behind the last one: the operator has none. */
typedef struct attention_roles {
  uint32_t mask, past, added, past_length;
} attention_roles;
static const attention_roles roles_of[] = {[REAL] = {3, 4, 5, 6}, [QUANTIZED] = {5, 8, 9, 9}};

static const attention_roles *roles(const lk_op_node *node) {
  return &roles_of[node->class_->variant];
}

enum { PARTS = 3 }; /* Q, K and V */

typedef struct attention_params {
  int64_t heads;
  int64_t widths[PARTS]; /* of rows of Q, K and V; 0: a third each */
  float scale, filter;   /* scale: NaN is 1 / sqrt(size) */
  bool is_causal;
} attention_params;

static void refuse_attribute(lk_attrs *attrs, const char *name) {
  const int64_t value = lk_attrs_int(attrs, name);
  if (value == 0) return;
  lk_attrs_fail(attrs, LK_UNSUPPORTED, "attribute '%s' is %" PRId64 ", 0 is supported", name,
                value);
}

static void parse(lk_attrs *attrs, void *params) {
  attention_params *self = params;
  const uint32_t widths = lk_attrs_lists(attrs, "qkv_hidden_sizes")
                              ? lk_attrs_ints(attrs, "qkv_hidden_sizes", self->widths, PARTS)
                              : 0;
  self->heads = lk_attrs_int_from(attrs, "num_heads", 1);
  self->scale = lk_attrs_float(attrs, "scale");
  if (self->scale == 0) self->scale = NAN; /* as it is there */
  self->filter = lk_attrs_float(attrs, "mask_filter_value");
  self->is_causal = lk_attrs_bool(attrs, "unidirectional");
  refuse_attribute(attrs, "do_rotary");
  refuse_attribute(attrs, "past_present_share_buffer");
  if (widths == 0) return;
  bool fits = widths == PARTS && self->widths[0] == self->widths[1];
  for (uint32_t i = 0; i < widths; i++) {
    fits = fits && self->widths[i] > 0 && self->widths[i] <= INT32_MAX &&
           self->widths[i] % self->heads == 0;
  }
  if (!fits) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                  "attribute 'qkv_hidden_sizes' has %" PRIu32 " numbers, %" PRId64 ", %" PRId64
                  " and %" PRId64 ": three multiples of %" PRId64
                  " heads up to 2^31 - 1, the first two equal",
                  widths, self->widths[0], self->widths[1], self->widths[2], self->heads);
  }
}

/* ---- shapes ---- */

/* Dimensions that are not known yet are as in dims.h. */
typedef struct attention_sizes {
  int64_t batch, rows, input;
  int64_t width, v_width; /* of rows of Q and K, and of V */
  int64_t size, v_size;   /* of heads */
  int64_t past, keys;     /* keys: with past ones */
} attention_sizes;

static lk_status check_weights(const lk_inference *self, attention_sizes *inout, lk_error *error) {
  const attention_params *params = self->node->params;
  const lk_tensor_desc *weights = &self->inputs[WEIGHTS].desc, *bias = &self->inputs[BIAS].desc;
  int64_t all = LK_DIM_UNKNOWN;
  if (lk_rank_is_known(weights)) {
    if (weights->rank != 2 || lk_dims_differ(weights->dims[0], inout->input)) {
      return lk_refuse(weights, "weights", "[row of the input][rows of Q, K and V]", error);
    }
    all = weights->dims[1];
  }
  if (lk_op_has(self->node, BIAS) && lk_rank_is_known(bias)) {
    if (bias->rank != 1 || lk_dims_differ(bias->dims[0], all)) {
      return lk_refuse(bias, "the bias", "a number for each element of a row of Q, K and V", error);
    }
    all = lk_dims_either(all, bias->dims[0]);
  }
  const int64_t *widths = params->widths;
  const bool is_given = widths[0] > 0;
  if (all >= 0 && (is_given ? all != widths[0] + widths[1] + widths[2]
                            : all == 0 || all % (PARTS * params->heads) != 0)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "rows of Q, K and V have %" PRId64 " elements in all: those of attribute "
                   "'qkv_hidden_sizes', or equal numbers for %" PRId64 " heads",
                   all, params->heads);
  }
  inout->width = is_given ? widths[0] : lk_dims_divide(self->dims, all, PARTS);
  inout->v_width = is_given ? widths[2] : inout->width;
  inout->size = lk_dims_divide(self->dims, inout->width, params->heads);
  inout->v_size = lk_dims_divide(self->dims, inout->v_width, params->heads);
  return LK_OK;
}

static lk_status check_past(const lk_inference *self, attention_sizes *inout, lk_error *error) {
  const attention_params *params = self->node->params;
  const uint32_t input = roles(self->node)->past;
  const lk_tensor_desc *past = &self->inputs[input].desc;
  const bool has_past = lk_op_has(self->node, input);
  if ((has_past || self->node->n_outputs > PRESENT) && lk_dims_differ(inout->size, inout->v_size)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "heads of K have %" PRId64 " elements and those of V %" PRId64
                   ", which past and present have in one tensor",
                   inout->size, inout->v_size);
  }
  inout->keys = inout->rows;
  if (!has_past) return LK_OK;
  inout->past = LK_DIM_UNKNOWN;
  if (lk_rank_is_known(past)) {
    if (past->rank != 5 || lk_dims_differ(past->dims[0], 2) ||
        lk_dims_differ(past->dims[1], inout->batch) ||
        lk_dims_differ(past->dims[2], params->heads) ||
        lk_dims_differ(past->dims[4], inout->size)) {
      return lk_refuse(past, "the past", "[2][batch][heads][past rows][size]", error);
    }
    inout->past = past->dims[3];
  }
  return lk_infer_keys(self, inout->past, inout->rows, &inout->keys, error);
}

static bool is_multiple(int64_t dim, int64_t batch, int64_t factor, int64_t addend) {
  return dim < 0 || batch < 0 || dim == factor * batch + addend;
}

/* [batch] ends, with [batch] beginnings behind them, or with what tells packed rows apart;
 * [batch][keys], where 1 is for nothing; [batch][rows][keys]; [batch][1][most][most]. */
static lk_status check_mask(const lk_inference *self, const attention_sizes *of, lk_error *error) {
  const uint32_t input = roles(self->node)->mask;
  const lk_tensor_desc *mask = &self->inputs[input].desc;
  const int64_t *dims = mask->dims;
  if (!lk_op_has(self->node, input) || !lk_rank_is_known(mask)) return LK_OK;
  bool fits = mask->rank >= 1 && mask->rank <= 4;
  if (mask->rank == 1) {
    fits = is_multiple(dims[0], of->batch, 1, 0) || is_multiple(dims[0], of->batch, 2, 0) ||
           is_multiple(dims[0], of->batch, 3, 2);
  } else if (mask->rank == 2) {
    const bool is_for_nothing = dims[1] == 1 && (dims[0] == 1 || dims[0] == of->batch);
    fits = is_for_nothing ||
           (!lk_dims_differ(dims[0], of->batch) && !lk_dims_differ(dims[1], of->keys));
  } else if (fits) {
    const bool is_square = mask->rank == 4;
    fits = !lk_dims_differ(dims[0], of->batch) &&
           !lk_dims_differ(dims[1], is_square ? 1 : of->rows) &&
           !lk_dims_differ(dims[2], is_square ? dims[3] : of->keys) &&
           !(is_square && dims[3] >= 0 && dims[3] < of->keys);
  }
  return fits ? LK_OK
              : lk_refuse(mask, "mask_index",
                          "[batch], [2 * batch], [3 * batch + 2], [batch][keys], "
                          "[batch][rows][keys] or [batch][1][most][most]",
                          error);
}

static lk_status check_quantizers(const lk_inference *self, int64_t columns, lk_error *error) {
  if (self->node->class_->variant == REAL) return LK_OK;
  LK_RETURN_NOT_OK(lk_infer_quantizer(self, INPUT_SCALE, "input_scale", 1, error));
  LK_RETURN_NOT_OK(lk_infer_quantizer(self, WEIGHTS_SCALE, "weight_scale", columns, error));
  LK_RETURN_NOT_OK(lk_infer_quantizer(self, INPUT_ZERO, "input_zero_point", 1, error));
  return lk_infer_quantizer(self, WEIGHTS_ZERO, "weight_zero_point", columns, error);
}

static lk_status find_sizes(const lk_inference *self, attention_sizes *out, lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[INPUT].desc;
  *out = (attention_sizes){LK_DIM_UNKNOWN, LK_DIM_UNKNOWN, LK_DIM_UNKNOWN, 0, 0, 0, 0, 0, 0};
  if (lk_op_has(self->node, roles(self->node)->past_length)) {
    return lk_fail(error, LK_UNSUPPORTED, "past_sequence_length, which is for shared buffers");
  }
  if (lk_rank_is_known(x)) {
    if (x->rank != 3) return lk_refuse(x, "the input", "[batch][rows][row]", error);
    out->batch = x->dims[0];
    out->rows = x->dims[1];
    out->input = x->dims[2];
  }
  LK_RETURN_NOT_OK(check_weights(self, out, error));
  const lk_tensor_desc *weights = &self->inputs[WEIGHTS].desc;
  const bool is_known = lk_rank_is_known(weights);
  LK_RETURN_NOT_OK(check_quantizers(self, is_known ? weights->dims[1] : LK_DIM_UNKNOWN, error));
  LK_RETURN_NOT_OK(check_past(self, out, error));
  LK_RETURN_NOT_OK(check_mask(self, out, error));
  const attention_params *params = self->node->params;
  const int64_t scores[] = {out->batch, params->heads, out->rows, out->keys};
  return lk_infer_added(self, roles(self->node)->added, scores,
                        "[batch or 1][heads or 1][rows][keys]", error);
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const attention_params *params = self->node->params;
  attention_sizes of;
  LK_RETURN_NOT_OK(find_sizes(self, &of, error));
  const int64_t dims[] = {of.batch, of.rows, of.v_width};
  const int64_t present[] = {2, of.batch, params->heads, of.keys, of.size};
  self->outputs[OUTPUT] = lk_tensor_desc_make(self->outputs[OUTPUT].dtype, 3, dims);
  if (self->node->n_outputs <= PRESENT) return LK_OK;
  self->outputs[PRESENT] = lk_tensor_desc_make(self->outputs[PRESENT].dtype, 5, present);
  return LK_OK;
}

/* ---- steps ---- */

/* Rows of Q, K and V side by side: a product of its own, before that of attention. */
static lk_status plan_rows(lk_planner *planner, const attention_sizes *of, lk_operand *out,
                           lk_error *error) {
  const int64_t dims[] = {of->batch, of->rows, 2 * of->width + of->v_width};
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 3, dims);
  const lk_op_node *node = planner->node;
  const lk_tensor *inputs = planner->inputs;
  lk_task task;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, out, error));
  if (lk_elements(&desc) == 0) return LK_OK;
  lk_task_begin(&task, LK_WORK_PRODUCT);
  lk_task_input(&task, LK_ROLE_SRC, INPUT, &inputs[INPUT].desc);
  lk_task_input(&task, LK_ROLE_WEIGHTS, WEIGHTS, &inputs[WEIGHTS].desc);
  lk_task_operand(&task, LK_ROLE_DST, out);
  if (node->class_->variant == QUANTIZED) {
    lk_task_optional(&task, LK_ROLE_SRC_ZERO, node, inputs, INPUT_ZERO);
    lk_task_optional(&task, LK_ROLE_WEIGHTS_ZERO, node, inputs, WEIGHTS_ZERO);
    lk_task_input(&task, LK_ROLE_SRC_SCALE, INPUT_SCALE, &inputs[INPUT_SCALE].desc);
    lk_task_input(&task, LK_ROLE_WEIGHTS_SCALE, WEIGHTS_SCALE, &inputs[WEIGHTS_SCALE].desc);
    task.work.factor = 1;
  }
  if (lk_op_has(node, BIAS)) lk_task_bias(&task, planner, BIAS);
  return lk_plan_task(planner, &task, error);
}

/* Heads of `size` elements whose rows begin at element `first` of the rows of Q, K and V. */
static lk_heads heads_at(const lk_operand *rows, int64_t first, int64_t size) {
  const int64_t *dims = rows->desc.dims;
  return (lk_heads){
      .operand = *rows,
      .at = {.first = first, .batch = dims[1] * dims[2], .head = size, .row = dims[2]}};
}

/* False: the mask is for nothing. */
static bool describe_mask(const lk_planner *planner, const attention_sizes *of, lk_padding *out) {
  const attention_params *params = planner->node->params;
  const lk_tensor_desc *mask = &planner->inputs[roles(planner->node)->mask].desc;
  *out = (lk_padding){.form = mask->rank > 1                   ? LK_PADDING_EACH
                              : mask->dims[0] == 2 * of->batch ? LK_PADDING_ENDS_BEGIN
                                                               : LK_PADDING_ENDS,
                      .batch = of->batch,
                      .rows = mask->rank > 2 ? of->rows : 1,
                      .keys = of->keys,
                      .filter = params->filter};
  if (mask->rank == 2 && (mask->dims[0] != of->batch || mask->dims[1] != of->keys)) return false;
  out->row_step = mask->rank > 1 ? mask->dims[mask->rank - 1] : 0;
  out->batch_step = mask->rank > 2 ? mask->dims[mask->rank - 2] * out->row_step : out->row_step;
  if (mask->rank == 4) out->first = of->past * out->row_step;
  return true;
}

static lk_status take_masks(lk_planner *planner, const attention_sizes *of, lk_task *task,
                            lk_error *error) {
  const attention_roles *of_node = roles(planner->node);
  lk_padding padding;
  lk_operand mask, taken;
  if (lk_op_has(planner->node, of_node->mask) && describe_mask(planner, of, &padding)) {
    LK_RETURN_NOT_OK(lk_planner_input(planner, of_node->mask, LK_LAYOUT_PLAIN, &mask, error));
    LK_RETURN_NOT_OK(lk_plan_padding(planner, &padding, &mask, &taken, error));
    lk_task_mask(task, &taken);
  }
  if (!lk_op_has(planner->node, of_node->added)) return LK_OK;
  LK_RETURN_NOT_OK(lk_planner_input(planner, of_node->added, LK_LAYOUT_PLAIN, &taken, error));
  lk_task_mask(task, &taken);
  return LK_OK;
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const attention_params *params = planner->node->params;
  const lk_inference asked = {.node = planner->node, .inputs = planner->inputs};
  const uint32_t past = roles(planner->node)->past;
  attention_sizes of;
  lk_task task;
  lk_operand rows, to;
  LK_RETURN_NOT_OK(find_sizes(&asked, &of, error));
  const lk_head_sizes sizes = {of.batch, params->heads, of.rows, of.size};
  LK_RETURN_NOT_OK(plan_rows(planner, &of, &rows, error));
  lk_task_attention(&task, &sizes, params->heads, of.keys, of.v_size, params->scale);
  task.work.attention.past = of.past;
  task.work.attention.has_past = true;
  if (params->is_causal) task.work.attention.right = 0;
  const lk_heads q = heads_at(&rows, 0, of.size);
  lk_heads k = heads_at(&rows, of.width, of.size), v = heads_at(&rows, 2 * of.width, of.v_size);
  LK_RETURN_NOT_OK(lk_plan_behind_past(planner, &sizes, of.keys, past, PRESENT, 0, &k, error));
  LK_RETURN_NOT_OK(lk_plan_behind_past(planner, &sizes, of.keys, past, PRESENT, 1, &v, error));
  if (lk_elements(&planner->outputs[OUTPUT]) == 0) return LK_OK; /* no queries: the past alone */
  LK_RETURN_NOT_OK(lk_planner_output(planner, OUTPUT, LK_LAYOUT_PLAIN, &to, error));
  LK_RETURN_NOT_OK(take_masks(planner, &of, &task, error));
  const lk_heads y =
      lk_heads_in_rows(&to, &(lk_head_sizes){of.batch, params->heads, of.rows, of.v_size});
  lk_task_heads(&task, &q, &k, &v, &y);
  return lk_plan_task(planner, &task, error);
}

/* The projection, and two products of each row with all keys, but for past ones. */
static double flops(const lk_op_node *node, const lk_tensor *inputs,
                    const lk_tensor_desc *outputs) {
  (void)node;
  const lk_tensor_desc *x = &inputs[INPUT].desc;
  const double columns = (double)inputs[WEIGHTS].desc.dims[1], keys = (double)x->dims[1];
  return 2 * (double)lk_elements(x) * columns + 4 * keys * (double)lk_elements(outputs);
}

#define PROJECTED_ATTRS                                                                            \
  LK_ANY_FLAG("do_rotary", 0), LK_ANY_FLOAT("mask_filter_value", -10000),                          \
      LK_REQUIRED_INT("num_heads"), LK_ANY_INT("past_present_share_buffer", 0),                    \
      LK_ANY_FLOAT("scale", NAN), LK_FLAG("unidirectional", 0)

const lk_op_class lk_op_attention_microsoft = {
    LK_OP_ROW("Attention", "com.microsoft", 1, "Attention of rows that it projects itself",
              .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 2, .max_inputs = 7, .max_outputs = 2,
              .input_types = "TTTUTTU", .output_types = "TT",
              .types = {LK_TYPES_BY_F32, LK_TYPE(LK_I32)}),
    .by_f32 = true,
    .params_size = sizeof(attention_params),
    LK_OP_ATTRS(PROJECTED_ATTRS, LK_INTS("qkv_hidden_sizes"),
                LK_ANY_INT("rotary_embedding_dim", 0, .is_unused = 1)),
    .parse = parse,
    .infer = infer,
    .flops = flops,
    .plan = plan,
};
const lk_op_class lk_op_qattention = {
    LK_OP_ROW("QAttention", "com.microsoft", 1, "Attention of quantized rows, by quantized weights",
              .flags = LK_OP_WORTH_CLAIMING | LK_OP_QUANTIZES, .min_inputs = 5, .max_inputs = 9,
              .max_outputs = 2, .input_types = "TUVVVWTUV", .output_types = "VV",
              .types = {LK_TYPE(LK_U8) | LK_TYPE(LK_I8), LK_TYPE(LK_U8) | LK_TYPE(LK_I8),
                        LK_TYPES_BY_F32, LK_TYPE(LK_I32)}),
    .by_f32 = true,
    .variant = QUANTIZED,
    .params_size = sizeof(attention_params),
    LK_OP_ATTRS(PROJECTED_ATTRS),
    .parse = parse,
    .infer = infer,
    .flops = flops,
    .plan = plan,
};
