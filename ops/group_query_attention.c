/* GroupQueryAttention (com.microsoft), as ONNX Runtime's model builder emits it for text
 * generation: groups of heads share keys and values, which a cache keeps in a buffer that may be
 * longer than they are. How many rows each batch has, data say. Here: attributes and shapes; steps
 * are those of group_query_attention_plan.c. */
#include "ops/group_query_attention.h"

#include <inttypes.h>
#include <math.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/heads.h"

static void parse_quantization(lk_attrs *attrs, gqa_params *self) {
  self->scales[0] = (gqa_scale)lk_attrs_choice(attrs, "k_quant_type");
  self->scales[1] = (gqa_scale)lk_attrs_choice(attrs, "v_quant_type");
  self->is_quantized = self->scales[0] != GQA_NO_SCALE;
  if (self->is_quantized != (self->scales[1] != GQA_NO_SCALE)) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                  "one of the attributes 'k_quant_type' and 'v_quant_type' is 'NONE', both or "
                  "neither must be");
  }
  if (!self->is_quantized) return;
  const int64_t bits = lk_attrs_int(attrs, "kv_cache_bit_width");
  self->is_half = bits == 4;
  if (bits == 4 || bits == 8) return;
  lk_attrs_fail(attrs, LK_UNSUPPORTED,
                "attribute 'kv_cache_bit_width' is %" PRId64 ", 4 and 8 are supported", bits);
}

/* Attributes that say what comes out. */
static void parse_outputs(lk_attrs *attrs, gqa_params *self) {
  const int64_t seen = lk_attrs_int(attrs, "qk_output");
  self->seen = (gqa_seen)seen;
  self->is_sliding = lk_attrs_bool(attrs, "sliding_window_cache");
  if (seen < GQA_NO_SCORES || seen > GQA_BEHIND_SOFTMAX) {
    lk_attrs_fail(attrs, LK_OUT_OF_RANGE,
                  "attribute 'qk_output' is %" PRId64 ", 0 to 2 are allowed", seen);
  } else if (self->is_sliding && seen != GQA_NO_SCORES) {
    lk_attrs_fail(attrs, LK_UNSUPPORTED,
                  "attribute 'qk_output' is %" PRId64
                  ", 0 is supported where 'sliding_window_cache' is 1",
                  seen);
  } else if (self->is_sliding && self->left < 0) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                  "attribute 'local_window_size' is missing, 'sliding_window_cache' requires it");
  }
}

static void parse(lk_attrs *attrs, void *params) {
  gqa_params *self = params;
  const int64_t window = lk_attrs_int(attrs, "local_window_size");
  self->heads = lk_attrs_int_from(attrs, "num_heads", 1);
  self->kv_heads = lk_attrs_int_from(attrs, "kv_num_heads", 1);
  self->scale = lk_attrs_float(attrs, "scale");
  if (self->scale == 0) self->scale = NAN; /* as it is there */
  self->softcap = lk_attrs_float(attrs, "softcap");
  self->is_causal = lk_attrs_bool(attrs, "causal");
  self->is_rotated = lk_attrs_bool(attrs, "do_rotary");
  self->is_interleaved = lk_attrs_bool(attrs, "rotary_interleaved");
  self->is_smooth = lk_attrs_int(attrs, "smooth_softmax") == 1; /* as it is there */
  self->left = window > 0 ? window - 1 : -1;
  if (window < -1 || window == 0 || (window > 0 && !self->is_causal)) {
    lk_attrs_fail(attrs, LK_OUT_OF_RANGE,
                  "attribute 'local_window_size' is %" PRId64
                  ", it must be -1 or, where 'causal' is 1, at least 1",
                  window);
  }
  if (self->kv_heads > 0 && self->heads % self->kv_heads != 0) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                  "attribute 'num_heads' is %" PRId64 ", it must be a multiple of the %" PRId64
                  " of 'kv_num_heads'",
                  self->heads, self->kv_heads);
  }
  parse_quantization(attrs, self);
  parse_outputs(attrs, self);
}

/* ---- shapes ---- */

/* Inputs that are not taken, or not without others. */
static lk_status refuse_inputs(const lk_inference *self, lk_error *error) {
  static const char *const names[] = {"q_norm_weight", "k_norm_weight"};
  static const uint32_t pairs[][2] = {
      {GQA_KEY, GQA_VALUE}, {GQA_PAST_KEY, GQA_PAST_VALUE}, {GQA_COSINES, GQA_SINES}};
  const lk_op_node *node = self->node;
  const gqa_params *params = node->params;
  for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!lk_op_has(node, GQA_UNSUPPORTED + i)) continue;
    return lk_fail(error, LK_UNSUPPORTED, "input '%s' is given, which is not supported", names[i]);
  }
  if (!lk_op_has(node, GQA_LAST_ROWS) || !lk_op_has(node, GQA_TOTAL)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "inputs 'seqlens_k' and 'total_sequence_length' are absent, they are required");
  }
  if (params->seen != GQA_NO_SCORES && node->n_outputs <= GQA_SCORES) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "output 'output_qk' is absent, attribute 'qk_output' requires it");
  }
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    if (lk_op_has(node, pairs[i][0]) == lk_op_has(node, pairs[i][1])) continue;
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "input %" PRIu32 " and input %" PRIu32 " must be given together", pairs[i][0],
                   pairs[i][1]);
  }
  if (params->is_rotated && !lk_op_has(node, GQA_COSINES)) {
    return lk_fail(
        error, LK_INVALID_ARGUMENT,
        "inputs 'cos_cache' and 'sin_cache' are absent, attribute 'do_rotary' requires them");
  }
  if (params->is_sliding && !lk_op_has(node, GQA_PAST_KEY)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "inputs 'past_key' and 'past_value' are absent, attribute "
                   "'sliding_window_cache' requires them");
  }
  return LK_OK;
}

/* [batch][rows][heads * size], of `heads`; `batch` and `rows` are what others have. */
static lk_status check_rows(const lk_inference *self, uint32_t input, const char *name,
                            int64_t heads, gqa_sizes *inout, lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[input].desc;
  if (!lk_rank_is_known(x)) return LK_OK;
  if (x->rank != 3 || lk_dims_differ(x->dims[0], inout->batch) ||
      lk_dims_differ(x->dims[1], inout->rows)) {
    return lk_refuse(x, name, "[batch][rows][heads * size], with one number of rows", error);
  }
  const bool fits = x->dims[2] < 0 || (x->dims[2] > 0 && x->dims[2] % heads == 0);
  const int64_t size = fits ? lk_dims_divide(self->dims, x->dims[2], heads) : 0;
  if (!fits || lk_dims_differ(size, inout->size)) {
    char text[LK_TENSOR_TEXT_CAPACITY];
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "%s is %s, rows of %" PRId64 " heads of one size of an element at least", name,
                   lk_tensor_text(x, text), heads);
  }
  inout->batch = lk_dims_either(inout->batch, x->dims[0]);
  inout->rows = lk_dims_either(inout->rows, x->dims[1]);
  inout->size = lk_dims_either(inout->size, size);
  return LK_OK;
}

static lk_status find_width(const lk_inference *self, gqa_sizes *inout, lk_error *error) {
  const gqa_params *params = self->node->params;
  const int64_t size = inout->width = inout->size;
  if (!params->is_half || size == LK_DIM_UNKNOWN) return LK_OK;
  if (size >= 0 && size % 2 != 0) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "a head has %" PRId64 " elements, an even number is supported with 4 bits",
                   size);
  }
  inout->width = lk_dims_divide(self->dims, size, 2);
  return LK_OK;
}

static lk_status check_past(const lk_inference *self, uint32_t input, const char *name,
                            gqa_sizes *inout, lk_error *error) {
  const gqa_params *params = self->node->params;
  const lk_head_sizes now = {inout->batch, params->kv_heads, inout->rows, inout->width};
  LK_RETURN_NOT_OK(lk_infer_past(self, input, name, "[batch][kv_num_heads][past rows][size]", &now,
                                 &inout->past, error));
  if (params->is_sliding && inout->past >= 0 && inout->past <= params->left) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "%s has room for %" PRId64 " rows, it must have at least the %" PRId64
                   " of attribute 'local_window_size'",
                   name, inout->past, params->left + 1);
  }
  return LK_OK;
}

/* The buffer in which all rows lie that new ones attend. A single new row attends nothing but what
 * the cache keeps with it. Of several, the first ones may attend rows that the last ones drop. */
static void find_buffer(const gqa_params *params, gqa_sizes *inout) {
  const int64_t rows = inout->rows, past = inout->past, total = inout->total;
  inout->is_apart = params->is_sliding && rows > 1;
  inout->present = params->is_sliding || past > total ? past : total;
  inout->buffer = inout->present;
  inout->keys = params->is_sliding && total > past ? past : total;
  if (!inout->is_apart) return;
  inout->keys = (total - rows < past ? total - rows : past) + rows;
  inout->buffer = inout->keys;
}

/* The value of total_sequence_length, and what follows from it. */
static lk_status read_total(const lk_inference *self, gqa_sizes *inout, lk_error *error) {
  const gqa_params *params = self->node->params;
  uint32_t count = 0;
  inout->total = LK_DIM_UNKNOWN;
  inout->present = params->is_sliding ? inout->past : LK_DIM_UNKNOWN;
  if (!lk_infer_knows(self, GQA_TOTAL)) return LK_OK;
  LK_RETURN_NOT_OK(lk_read_ints(&self->inputs[GQA_TOTAL], "total_sequence_length", &inout->total, 1,
                                &count, error));
  const int64_t total = inout->total, rows = inout->rows, past = inout->past;
  const bool fits = params->is_sliding || rows < 0 || past < 0 || total <= past;
  if (count != 1 || total < 0 || (rows >= 0 && total < rows) || (!fits && total - rows != past)) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "total_sequence_length is %" PRId64 " with %" PRId64 " new rows and a past of "
                   "%" PRId64 ": both together, or what the past has room for",
                   total, rows, past);
  }
  if (past >= 0) find_buffer(params, inout);
  return LK_OK;
}

/* LK_DTYPE_NONE: not known. */
static uint32_t cache_type(const lk_inference *self) {
  return gqa_cache_type(self->node->params, self->inputs[GQA_QUERY].desc.dtype);
}

static lk_status check_type(const lk_inference *self, lk_error *error) {
  const uint32_t type = cache_type(self);
  const uint32_t past =
      lk_op_has(self->node, GQA_PAST_KEY) ? self->inputs[GQA_PAST_KEY].desc.dtype : type;
  if (past == type || past == LK_DTYPE_NONE || type == LK_DTYPE_NONE) return LK_OK;
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "past_key and past_value have type %s, %s is what the query and the attributes of "
                 "quantization ask for",
                 lk_dtype_name(past), lk_dtype_name(type));
}

static lk_status check_scale(const lk_inference *self, uint32_t input, const char *name,
                             const gqa_sizes *of, lk_error *error) {
  const gqa_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[input].desc;
  const gqa_scale scale = params->scales[input - GQA_KEY_SCALE];
  if (scale == GQA_NO_SCALE) return LK_OK; /* nobody reads it */
  if (!lk_op_has(self->node, input)) {
    return lk_fail(error, LK_INVALID_ARGUMENT, "no %s, which a quantized cache needs", name);
  }
  if (x->dtype != LK_DTYPE_NONE && x->dtype != LK_F32) {
    return lk_fail(error, LK_UNSUPPORTED, "%s is of type %s; f32 is supported", name,
                   lk_dtype_name(x->dtype));
  }
  if (!lk_shape_is_known(x)) return LK_OK;
  if (scale == GQA_ONE_SCALE) {
    return lk_elements(x) == 1 ? LK_OK : lk_refuse(x, name, "one number", error);
  }
  if (of->size < 0 || lk_elements(x) == params->kv_heads * of->size) return LK_OK;
  return lk_refuse(x, name, "[1][kv_num_heads][1][size]", error);
}

static lk_status check_cache(const lk_inference *self, uint32_t input, const char *name,
                             const gqa_sizes *of, lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[input].desc, *cosines = &self->inputs[GQA_COSINES].desc;
  if (!lk_op_has(self->node, input) || !lk_rank_is_known(x)) return LK_OK;
  if (x->rank != 2 || (of->size >= 0 && x->dims[1] >= 0 && x->dims[1] > of->size / 2) ||
      !lk_shape_may_equal(x, cosines)) {
    return lk_refuse(x, name, "[positions][at most half of a head], as the other one", error);
  }
  return LK_OK;
}

static lk_status check_others(const lk_inference *self, const gqa_sizes *of, lk_error *error) {
  const gqa_params *params = self->node->params;
  const lk_tensor_desc *lengths = &self->inputs[GQA_LAST_ROWS].desc;
  const lk_tensor_desc *positions = &self->inputs[GQA_POSITIONS].desc;
  const lk_tensor_desc *sinks = &self->inputs[GQA_SINKS].desc;
  const int64_t dims[] = {of->batch, params->heads, of->rows, of->total};
  if (lk_rank_is_known(lengths) &&
      (lengths->rank != 1 || lk_dims_differ(lengths->dims[0], of->batch))) {
    return lk_refuse(lengths, "seqlens_k", "one number for each batch", error);
  }
  LK_RETURN_NOT_OK(check_type(self, error));
  LK_RETURN_NOT_OK(check_scale(self, GQA_KEY_SCALE, "k_scale", of, error));
  LK_RETURN_NOT_OK(check_scale(self, GQA_VALUE_SCALE, "v_scale", of, error));
  LK_RETURN_NOT_OK(check_cache(self, GQA_COSINES, "cos_cache", of, error));
  LK_RETURN_NOT_OK(check_cache(self, GQA_SINES, "sin_cache", of, error));
  if (lk_op_has(self->node, GQA_POSITIONS) && lk_rank_is_known(positions) &&
      (positions->rank != 2 || lk_dims_differ(positions->dims[0], of->batch) ||
       lk_dims_differ(positions->dims[1], of->rows))) {
    return lk_refuse(positions, "position_ids", "one for each batch and row", error);
  }
  if (lk_op_has(self->node, GQA_SINKS) && lk_rank_is_known(sinks) &&
      (sinks->rank != 1 || lk_dims_differ(sinks->dims[0], params->heads))) {
    return lk_refuse(sinks, "head_sink", "one number for each head", error);
  }
  return lk_infer_added(self, GQA_ADDED, dims,
                        "[batch or 1][heads or 1][rows][total_sequence_length]", error);
}

static lk_status find_sizes(const lk_inference *self, gqa_sizes *out, lk_error *error) {
  const gqa_params *params = self->node->params;
  *out = (gqa_sizes){.batch = LK_DIM_UNKNOWN, .rows = LK_DIM_UNKNOWN, .size = LK_DIM_UNKNOWN};
  LK_RETURN_NOT_OK(refuse_inputs(self, error));
  if (gqa_is_packed(self->node)) {
    const int64_t all = params->heads + 2 * params->kv_heads;
    LK_RETURN_NOT_OK(check_rows(self, GQA_QUERY, "the packed query", all, out, error));
  } else {
    LK_RETURN_NOT_OK(check_rows(self, GQA_QUERY, "query", params->heads, out, error));
    LK_RETURN_NOT_OK(check_rows(self, GQA_KEY, "key", params->kv_heads, out, error));
    LK_RETURN_NOT_OK(check_rows(self, GQA_VALUE, "value", params->kv_heads, out, error));
  }
  LK_RETURN_NOT_OK(find_width(self, out, error));
  if (lk_op_has(self->node, GQA_PAST_KEY)) {
    out->past = LK_DIM_UNKNOWN;
    LK_RETURN_NOT_OK(check_past(self, GQA_PAST_KEY, "past_key", out, error));
    LK_RETURN_NOT_OK(check_past(self, GQA_PAST_VALUE, "past_value", out, error));
  }
  LK_RETURN_NOT_OK(read_total(self, out, error));
  return check_others(self, out, error);
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const gqa_params *params = self->node->params;
  gqa_sizes room, *of = self->found != NULL ? self->found : &room;
  LK_RETURN_NOT_OK(find_sizes(self, of, error));
  const int64_t dims[] = {of->batch, params->kv_heads, of->present, of->width};
  const int64_t scores[] = {of->batch, params->heads, of->rows, of->total};
  for (uint32_t i = GQA_PRESENT_KEY; i < self->node->n_outputs; i++) {
    const bool is_cache = i != GQA_SCORES;
    const uint32_t type = is_cache ? cache_type(self) : self->outputs[i].dtype;
    self->outputs[i] = lk_tensor_desc_make(type, 4, is_cache ? dims : scores);
  }
  const lk_head_sizes y = {of->batch, params->heads, of->rows, of->size};
  return lk_infer_rows(self, &y, "compute attention", error);
}

/* Two products, of each element of the output with all keys. */
static double flops(const lk_op_node *node, const lk_tensor *inputs,
                    const lk_tensor_desc *outputs) {
  const int64_t rows = outputs[GQA_OUTPUT].dims[1];
  const int64_t kept = lk_op_has(node, GQA_PAST_KEY) ? inputs[GQA_PAST_KEY].desc.dims[2] : 0;
  return 4 * (double)(kept > rows ? kept : rows) * (double)lk_elements(&outputs[GQA_OUTPUT]);
}

#define GQA_SCALES "NONE|PER_TENSOR|PER_CHANNEL" /* as gqa_scale */

const lk_op_class lk_op_group_query_attention = {
    LK_OP_ROW("GroupQueryAttention", "com.microsoft", 1,
              "Attention of groups of heads, with a cache in a buffer",
              .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 1, .max_inputs = 16, .max_outputs = 4,
              .input_types = "TTTWWUUTTVTT??TT", .output_types = "T??T",
              .types = {LK_TYPES_BY_F32, LK_TYPE(LK_I32), LK_TYPE(LK_I64),
                        LK_TYPES_BY_F32 | LK_TYPE(LK_I8) | LK_TYPE(LK_U8)},
              .shape_inputs = 1u << GQA_TOTAL),
    .params_size = sizeof(gqa_params),
    .found_size = sizeof(gqa_sizes),
    LK_OP_ATTRS(LK_FLAG("causal", 1), LK_ANY_FLAG("do_rotary", 0),
                LK_CHOICE("k_quant_type", GQA_SCALES), LK_ANY_INT("kv_cache_bit_width", 0),
                LK_REQUIRED_INT("kv_num_heads"), LK_INT("local_window_size", -1),
                LK_REQUIRED_INT("num_heads"), LK_FLOAT("qk_norm_epsilon", 1e-6F, .is_unused = 1),
                LK_INT("qk_output", GQA_NO_SCORES), LK_ANY_FLAG("rotary_interleaved", 0),
                LK_ANY_FLOAT("scale", NAN), LK_FLAG("sliding_window_cache", 0),
                LK_INT("smooth_softmax", -1), LK_ANY_FLOAT("softcap", 0),
                LK_CHOICE("v_quant_type", GQA_SCALES)),
    .parse = parse,
    .infer = infer,
    .flops = flops,
    .plan = gqa_plan,
};
