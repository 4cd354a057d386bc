/* GroupQueryAttention (com.microsoft), as ONNX Runtime's model builder emits it for text
 * generation: groups of heads share keys and values, which a cache keeps in a buffer that may be
 * longer than they are. How many rows each batch has, data say. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/kv_bytes.h"
#include "ops/kernel/kv_cache.h"
#include "ops/kernel/rotary.h"
#include "ops/plan/attention_steps.h"
#include "ops/plan/moves.h"

enum { QUERY, KEY, VALUE, PAST_KEY, PAST_VALUE, LAST_ROWS, TOTAL, COSINES, SINES, POSITIONS };
enum { ADDED = 10, SINKS, KEY_SCALE, VALUE_SCALE, UNSUPPORTED /* the first one of those */ };
enum { OUTPUT, PRESENT_KEY, PRESENT_VALUE, SCORES };

/* Whether numbers of a cache share a scale; in the order of the attributes' names. */
typedef enum cache_scale { NO_SCALE, ONE_SCALE, SCALES_OF_CHANNELS } cache_scale;

typedef struct gqa_params {
  int64_t heads, kv_heads;
  int64_t left;         /* keys that are attended before a query's own; -1: all */
  float scale, softcap; /* scale: NaN is 1 / sqrt(size) */
  bool is_causal, is_rotated, is_interleaved, is_smooth;
  bool is_quantized, is_half; /* the cache is whole numbers, of 4 bits */
  cache_scale scales[2];      /* of keys, of values */
} gqa_params;

static void parse_quantization(lk_attrs *attrs, gqa_params *self) {
  static const char *const kinds[] = {"NONE", "PER_TENSOR", "PER_CHANNEL"};
  self->scales[0] = (cache_scale)lk_attrs_choice(attrs, "k_quant_type", kinds, 3, NO_SCALE);
  self->scales[1] = (cache_scale)lk_attrs_choice(attrs, "v_quant_type", kinds, 3, NO_SCALE);
  self->is_quantized = self->scales[0] != NO_SCALE;
  if (self->is_quantized != (self->scales[1] != NO_SCALE)) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                  "attributes 'k_quant_type' and 'v_quant_type' are '%s' and '%s', both or neither "
                  "'NONE'",
                  kinds[self->scales[0]], kinds[self->scales[1]]);
  }
  if (!self->is_quantized) return;
  const int64_t bits = lk_attrs_int(attrs, "kv_cache_bit_width", 0);
  self->is_half = bits == 4;
  if (bits == 4 || bits == 8) return;
  lk_attrs_fail(attrs, LK_UNSUPPORTED,
                "attribute 'kv_cache_bit_width' is %" PRId64 ", 4 and 8 are supported", bits);
}

/* Attributes that ask for what is not here. */
static void refuse_attributes(lk_attrs *attrs) {
  static const char *const flags[] = {"qk_output", "sliding_window_cache"};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    const int64_t value = lk_attrs_int(attrs, flags[i], 0);
    if (value <= 0) continue;
    lk_attrs_fail(attrs, LK_UNSUPPORTED, "attribute '%s' is %" PRId64 ", 0 is supported", flags[i],
                  value);
  }
}

static void parse(lk_attrs *attrs, void *params) {
  gqa_params *self = params;
  const int64_t window = lk_attrs_int(attrs, "local_window_size", -1);
  self->heads = lk_attrs_int_from(attrs, "num_heads", 0, 1);
  self->kv_heads = lk_attrs_int_from(attrs, "kv_num_heads", 0, 1);
  self->scale = lk_attrs_float(attrs, "scale", NAN);
  if (self->scale == 0) self->scale = NAN; /* as it is there */
  self->softcap = lk_attrs_float(attrs, "softcap", 0);
  self->is_causal = lk_attrs_int(attrs, "causal", 1) != 0;
  self->is_rotated = lk_attrs_int(attrs, "do_rotary", 0) != 0;
  self->is_interleaved = lk_attrs_int(attrs, "rotary_interleaved", 0) != 0;
  self->is_smooth = lk_attrs_int(attrs, "smooth_softmax", 0) > 0;
  self->left = window > 0 ? window - 1 : -1;
  if (window < -1 || window == 0 || (window > 0 && !self->is_causal)) {
    lk_attrs_fail(attrs, LK_OUT_OF_RANGE,
                  "attribute 'local_window_size' is %" PRId64
                  ", -1 or, where 'causal' is 1, at least 1",
                  window);
  }
  if (self->kv_heads > 0 && self->heads % self->kv_heads != 0) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                  "attribute 'num_heads' is %" PRId64 ", a multiple of the %" PRId64
                  " of 'kv_num_heads'",
                  self->heads, self->kv_heads);
  }
  parse_quantization(attrs, self);
  refuse_attributes(attrs);
}

/* ---- shapes ---- */

/* Dimensions that are not known yet are as in dims.h. */
typedef struct gqa_sizes {
  int64_t batch, rows, size;
  int64_t past; /* rows of the buffer before; 0 without one */
  int64_t total, present;
  int64_t width; /* elements of the cache for a row of a head: bytes where it is quantized */
} gqa_sizes;

static bool is_packed(const lk_inference *self) {
  return !lk_op_has(self->node, KEY);
}

/* Inputs that are not taken, or not without others. */
static lk_status refuse_inputs(const lk_inference *self, lk_error *error) {
  static const char *const names[] = {"q_norm_weight", "k_norm_weight"};
  static const uint32_t pairs[][2] = {{KEY, VALUE}, {PAST_KEY, PAST_VALUE}, {COSINES, SINES}};
  const lk_op_node *node = self->node;
  const gqa_params *params = node->params;
  for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!lk_op_has(node, UNSUPPORTED + i)) continue;
    return lk_fail(error, LK_UNSUPPORTED, "input %s, which is not supported", names[i]);
  }
  if (!lk_op_has(node, LAST_ROWS) || !lk_op_has(node, TOTAL)) {
    return lk_fail(error, LK_INVALID_ARGUMENT, "no seqlens_k and total_sequence_length");
  }
  if (node->n_outputs > SCORES) {
    return lk_fail(error, LK_UNSUPPORTED, "output output_qk, which is not supported");
  }
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    if (lk_op_has(node, pairs[i][0]) == lk_op_has(node, pairs[i][1])) continue;
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "inputs %" PRIu32 " and %" PRIu32 " must be given together", pairs[i][0],
                   pairs[i][1]);
  }
  if (params->is_rotated && !lk_op_has(node, COSINES)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "no cos_cache and sin_cache, which attribute 'do_rotary' needs");
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
  const lk_tensor_desc *x = &self->inputs[input].desc;
  if (!lk_rank_is_known(x)) return LK_OK;
  if (x->rank != 4 || lk_dims_differ(x->dims[0], inout->batch) ||
      lk_dims_differ(x->dims[1], params->kv_heads) || lk_dims_differ(x->dims[2], inout->past) ||
      lk_dims_differ(x->dims[3], inout->width)) {
    return lk_refuse(x, name, "[batch][kv_num_heads][past rows][size]", error);
  }
  inout->past = lk_dims_either(inout->past, x->dims[2]);
  return LK_OK;
}

/* The value of total_sequence_length, and what follows from it. */
static lk_status read_total(const lk_inference *self, gqa_sizes *inout, lk_error *error) {
  uint32_t count = 0;
  inout->total = inout->present = LK_DIM_UNKNOWN;
  if (!lk_infer_knows(self, TOTAL)) return LK_OK;
  LK_RETURN_NOT_OK(
      lk_read_ints(&self->inputs[TOTAL], "total_sequence_length", &inout->total, 1, &count, error));
  const int64_t total = inout->total, rows = inout->rows, past = inout->past;
  const bool grows = rows >= 0 && past >= 0 && total - rows == past;
  if (count != 1 || total < 0 || (rows >= 0 && total < rows) ||
      (rows >= 0 && past >= 0 && total > past && !grows)) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "total_sequence_length is %" PRId64 " with %" PRId64 " new rows and a past of "
                   "%" PRId64 ": both together, or what the past has room for",
                   total, rows, past);
  }
  if (past < 0) return LK_OK;
  inout->present = past > total ? past : total;
  return LK_OK;
}

/* `dtype`: of what is not quantized. */
static uint32_t type_of_cache(const gqa_params *params, uint32_t dtype) {
  if (!params->is_quantized) return dtype;
  return params->is_half ? LK_U8 : LK_I8;
}

/* LK_DTYPE_NONE: not known. */
static uint32_t cache_type(const lk_inference *self) {
  return type_of_cache(self->node->params, self->inputs[QUERY].desc.dtype);
}

static lk_status check_type(const lk_inference *self, lk_error *error) {
  const uint32_t type = cache_type(self);
  const uint32_t past = lk_op_has(self->node, PAST_KEY) ? self->inputs[PAST_KEY].desc.dtype : type;
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
  const cache_scale scale = params->scales[input - KEY_SCALE];
  if (scale == NO_SCALE) return LK_OK; /* nobody reads it */
  if (!lk_op_has(self->node, input)) {
    return lk_fail(error, LK_INVALID_ARGUMENT, "no %s, which a quantized cache needs", name);
  }
  if (x->dtype != LK_DTYPE_NONE && x->dtype != LK_F32) {
    return lk_fail(error, LK_UNSUPPORTED, "%s has type %s, f32 is supported", name,
                   lk_dtype_name(x->dtype));
  }
  if (!lk_shape_is_known(x)) return LK_OK;
  if (scale == ONE_SCALE) {
    return lk_elements(x) == 1 ? LK_OK : lk_refuse(x, name, "one number", error);
  }
  if (of->size < 0 || lk_elements(x) == params->kv_heads * of->size) return LK_OK;
  return lk_refuse(x, name, "[1][kv_num_heads][1][size]", error);
}

static lk_status check_cache(const lk_inference *self, uint32_t input, const char *name,
                             const gqa_sizes *of, lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[input].desc, *cosines = &self->inputs[COSINES].desc;
  if (!lk_op_has(self->node, input) || !lk_rank_is_known(x)) return LK_OK;
  if (x->rank != 2 || (of->size >= 0 && x->dims[1] >= 0 && x->dims[1] > of->size / 2) ||
      !lk_shape_may_equal(x, cosines)) {
    return lk_refuse(x, name, "[positions][at most half of a head], as the other one", error);
  }
  return LK_OK;
}

static lk_status check_others(const lk_inference *self, const gqa_sizes *of, lk_error *error) {
  const gqa_params *params = self->node->params;
  const lk_tensor_desc *lengths = &self->inputs[LAST_ROWS].desc;
  const lk_tensor_desc *positions = &self->inputs[POSITIONS].desc;
  const lk_tensor_desc *added = &self->inputs[ADDED].desc, *sinks = &self->inputs[SINKS].desc;
  const int64_t dims[] = {of->batch, params->heads, of->rows, of->total};
  if (lk_rank_is_known(lengths) &&
      (lengths->rank != 1 || lk_dims_differ(lengths->dims[0], of->batch))) {
    return lk_refuse(lengths, "seqlens_k", "one number for each batch", error);
  }
  LK_RETURN_NOT_OK(check_type(self, error));
  LK_RETURN_NOT_OK(check_scale(self, KEY_SCALE, "k_scale", of, error));
  LK_RETURN_NOT_OK(check_scale(self, VALUE_SCALE, "v_scale", of, error));
  LK_RETURN_NOT_OK(check_cache(self, COSINES, "cos_cache", of, error));
  LK_RETURN_NOT_OK(check_cache(self, SINES, "sin_cache", of, error));
  if (lk_op_has(self->node, POSITIONS) && lk_rank_is_known(positions) &&
      (positions->rank != 2 || lk_dims_differ(positions->dims[0], of->batch) ||
       lk_dims_differ(positions->dims[1], of->rows))) {
    return lk_refuse(positions, "position_ids", "one for each batch and row", error);
  }
  if (lk_op_has(self->node, SINKS) && lk_rank_is_known(sinks) &&
      (sinks->rank != 1 || lk_dims_differ(sinks->dims[0], params->heads))) {
    return lk_refuse(sinks, "head_sink", "one number for each head", error);
  }
  if (!lk_op_has(self->node, ADDED) || !lk_rank_is_known(added)) return LK_OK;
  bool fits = added->rank == 4;
  for (uint32_t i = 0; fits && i < 4; i++) {
    fits = (i < 2 && added->dims[i] == 1) || !lk_dims_differ(added->dims[i], dims[i]);
  }
  return fits ? LK_OK
              : lk_refuse(added, "attention_bias",
                          "[batch or 1][heads or 1][rows][total_sequence_length]", error);
}

static lk_status find_sizes(const lk_inference *self, gqa_sizes *out, lk_error *error) {
  const gqa_params *params = self->node->params;
  *out = (gqa_sizes){.batch = LK_DIM_UNKNOWN, .rows = LK_DIM_UNKNOWN, .size = LK_DIM_UNKNOWN};
  LK_RETURN_NOT_OK(refuse_inputs(self, error));
  if (is_packed(self)) {
    const int64_t all = params->heads + 2 * params->kv_heads;
    LK_RETURN_NOT_OK(check_rows(self, QUERY, "the packed query", all, out, error));
  } else {
    LK_RETURN_NOT_OK(check_rows(self, QUERY, "query", params->heads, out, error));
    LK_RETURN_NOT_OK(check_rows(self, KEY, "key", params->kv_heads, out, error));
    LK_RETURN_NOT_OK(check_rows(self, VALUE, "value", params->kv_heads, out, error));
  }
  LK_RETURN_NOT_OK(find_width(self, out, error));
  if (lk_op_has(self->node, PAST_KEY)) {
    out->past = LK_DIM_UNKNOWN;
    LK_RETURN_NOT_OK(check_past(self, PAST_KEY, "past_key", out, error));
    LK_RETURN_NOT_OK(check_past(self, PAST_VALUE, "past_value", out, error));
  }
  LK_RETURN_NOT_OK(read_total(self, out, error));
  return check_others(self, out, error);
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const gqa_params *params = self->node->params;
  gqa_sizes of;
  LK_RETURN_NOT_OK(find_sizes(self, &of, error));
  const int64_t dims[] = {of.batch, params->kv_heads, of.present, of.width};
  for (uint32_t i = PRESENT_KEY; i < self->node->n_outputs; i++) {
    self->outputs[i] = lk_tensor_desc_make(cache_type(self), 4, dims);
  }
  lk_tensor_desc *to = &self->outputs[OUTPUT];
  to->rank = 3;
  to->dims[0] = of.batch;
  to->dims[1] = of.rows;
  return lk_infer_product(self, params->heads, of.size, "compute attention", &to->dims[2], error);
}

/* ---- steps ---- */

/* What all steps share while a plan is made. */
typedef struct gqa_plan {
  lk_planner *planner;
  const gqa_params *params;
  gqa_sizes of;
  bool is_packed, is_prompt;
  lk_operand lengths, positions; /* i64 [batch], [batch][rows] */
} gqa_plan;

/* New rows of queries, keys or values, where they are. */
static lk_status take_heads(const gqa_plan *self, uint32_t input, lk_heads *out, lk_error *error) {
  const gqa_params *params = self->params;
  const gqa_sizes *of = &self->of;
  const int64_t heads = input == QUERY ? params->heads : params->kv_heads;
  const int64_t all = self->is_packed ? params->heads + 2 * params->kv_heads : heads;
  lk_operand x;
  LK_RETURN_NOT_OK(
      lk_planner_input(self->planner, self->is_packed ? QUERY : input, LK_LAYOUT_PLAIN, &x, error));
  *out = lk_heads_in_rows(&x, &(lk_head_sizes){of->batch, all, of->rows, of->size});
  if (!self->is_packed || input == QUERY) return LK_OK;
  out->first = (params->heads + (input == VALUE ? params->kv_heads : 0)) * of->size;
  return LK_OK;
}

static lk_status plan_places(gqa_plan *self, lk_error *error) {
  const gqa_sizes *of = &self->of;
  const int64_t dims[] = {of->batch, of->rows};
  const lk_tensor_desc lengths = lk_tensor_desc_make(LK_I64, 1, dims);
  const lk_tensor_desc positions = lk_tensor_desc_make(LK_I64, 2, dims);
  const lk_kv_places step = {.batch = of->batch,
                             .rows = of->rows,
                             .most = of->total,
                             .past_rows = of->past,
                             .is_prompt = self->is_prompt};
  lk_operand last;
  LK_RETURN_NOT_OK(lk_planner_input(self->planner, LAST_ROWS, LK_LAYOUT_PLAIN, &last, error));
  LK_RETURN_NOT_OK(lk_planner_temp(self->planner, &lengths, &self->lengths, error));
  LK_RETURN_NOT_OK(lk_planner_temp(self->planner, &positions, &self->positions, error));
  const lk_operand operands[] = {last, self->lengths, self->positions};
  return lk_planner_kernel(self->planner, lk_kv_places_kernel, "places", &step, sizeof step,
                           operands, 3, error);
}

/* Rows of heads, f32, turned by their positions. Of a prompt, position_ids has the first one. */
static lk_status plan_rotary(const gqa_plan *self, int64_t heads, lk_heads *inout,
                             lk_error *error) {
  lk_planner *planner = self->planner;
  const gqa_sizes *of = &self->of;
  const lk_head_sizes sizes = {of->batch, heads, of->rows, of->size};
  const int64_t dims[] = {of->batch, of->rows, heads * of->size};
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 3, dims);
  lk_operand operands[5] = {inout->operand, [4] = self->positions}; /* x, y, cos, sin, positions */
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &operands[1], error));
  LK_RETURN_NOT_OK(lk_plan_wide_input(planner, COSINES, &operands[2], error));
  LK_RETURN_NOT_OK(lk_plan_wide_input(planner, SINES, &operands[3], error));
  const bool has_positions = lk_op_has(planner->node, POSITIONS);
  if (has_positions) {
    LK_RETURN_NOT_OK(lk_planner_input(planner, POSITIONS, LK_LAYOUT_PLAIN, &operands[4], error));
  }
  const lk_heads to = lk_heads_in_rows(&operands[1], &sizes);
  const int64_t *cosines = operands[2].desc.dims;
  const lk_rotary step = {.batch = of->batch,
                          .heads = heads,
                          .rows = of->rows,
                          .size = of->size,
                          .rotated = 2 * cosines[1],
                          .first = inout->first,
                          .from = {inout->batch, inout->head, inout->row},
                          .to = {to.batch, to.head, to.row},
                          .positions = cosines[0],
                          .has_positions = true,
                          .is_first = has_positions && self->is_prompt,
                          .is_interleaved = self->params->is_interleaved};
  *inout = to;
  return lk_planner_kernel(planner, lk_rotary_kernel, "rotary", &step, sizeof step, operands, 5,
                           error);
}

/* Input KEY or VALUE in the cache; `inout`: at first the new rows, as the cache keeps them. */
static lk_status plan_cache(const gqa_plan *self, uint32_t input, lk_heads *inout,
                            lk_error *error) {
  lk_planner *planner = self->planner;
  const gqa_sizes *of = &self->of;
  const int64_t heads = self->params->kv_heads, size = of->width;
  const uint32_t past = input == KEY ? PAST_KEY : PAST_VALUE;
  const uint32_t present = input == KEY ? PRESENT_KEY : PRESENT_VALUE;
  const lk_head_sizes sizes = {of->batch, heads, of->present, size};
  const int64_t dims[] = {of->batch, heads, of->present, size};
  const lk_tensor_desc desc = lk_tensor_desc_make(inout->operand.desc.dtype, 4, dims);
  const lk_kv_cache step = {.element = lk_dtype_size(desc.dtype),
                            .batch = of->batch,
                            .heads = heads,
                            .rows = of->rows,
                            .size = size,
                            .first = inout->first,
                            .from = {inout->batch, inout->head, inout->row},
                            .past_rows = of->past,
                            .buffer_rows = of->present,
                            .is_prompt = self->is_prompt,
                            .has_past = lk_op_has(planner->node, past)};
  lk_operand operands[4] = {inout->operand, [2] = self->lengths};
  LK_RETURN_NOT_OK(lk_planner_output_or_temp(planner, present, &desc, &operands[1], error));
  if (step.has_past) {
    LK_RETURN_NOT_OK(lk_planner_input(planner, past, LK_LAYOUT_PLAIN, &operands[3], error));
  }
  *inout = lk_heads_apart(&operands[1], &sizes);
  return lk_planner_kernel(planner, lk_kv_cache_kernel, "cache", &step, sizeof step, operands,
                           step.has_past ? 4 : 3, error);
}

/* Keys or values in a cache of whole numbers; `inout`: at first the new rows, in the end all of
 * them as the cache has them, f32. */
static lk_status plan_byte_cache(const gqa_plan *self, uint32_t input, lk_heads *inout,
                                 lk_error *error) {
  lk_planner *planner = self->planner;
  const gqa_sizes *of = &self->of;
  const bool is_key = input == KEY;
  const int64_t heads = self->params->kv_heads;
  lk_kv_bytes step = {.loops = lk_integer_loops_get(lk_isa_get()),
                      .batch = of->batch,
                      .heads = heads,
                      .rows = of->rows,
                      .size = of->size,
                      .is_half = self->params->is_half,
                      .has_scales = self->params->scales[is_key ? 0 : 1] == SCALES_OF_CHANNELS,
                      .first = inout->first,
                      .from = {inout->batch, inout->head, inout->row},
                      .buffer_rows = of->present};
  const int64_t new_dims[] = {of->batch, of->rows, heads * of->width};
  const int64_t all_dims[] = {of->batch, heads, of->total, of->size};
  const lk_tensor_desc bytes =
      lk_tensor_desc_make(type_of_cache(self->params, LK_F32), 3, new_dims);
  const lk_tensor_desc numbers = lk_tensor_desc_make(LK_F32, 4, all_dims);
  lk_operand operands[3] = {inout->operand};
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &bytes, &operands[1], error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, is_key ? KEY_SCALE : VALUE_SCALE, LK_LAYOUT_PLAIN,
                                    &operands[2], error));
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_kv_quantize_kernel, "quantize", &step, sizeof step,
                                     operands, 3, error));
  *inout = lk_heads_in_rows(&operands[1], &(lk_head_sizes){of->batch, heads, of->rows, of->width});
  LK_RETURN_NOT_OK(plan_cache(self, input, inout, error));
  operands[0] = inout->operand;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &numbers, &operands[1], error));
  step.rows = of->total;
  *inout = lk_heads_apart(&operands[1], &(lk_head_sizes){of->batch, heads, of->total, of->size});
  return lk_planner_kernel(planner, lk_kv_dequantize_kernel, "dequantize", &step, sizeof step,
                           operands, 3, error);
}

/* Keys or values, f32 in the end. Rotated keys are rounded before they are kept. */
static lk_status take_with_past(const gqa_plan *self, uint32_t input, lk_heads *out,
                                lk_error *error) {
  LK_RETURN_NOT_OK(take_heads(self, input, out, error));
  if (input == KEY && self->params->is_rotated) {
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

static lk_status plan(lk_planner *planner, lk_error *error) {
  const gqa_params *params = planner->node->params;
  const lk_inference asked = {.node = planner->node, .inputs = planner->inputs};
  gqa_plan self = {.planner = planner, .params = params, .is_packed = is_packed(&asked)};
  gqa_sizes *of = &self.of;
  lk_operand y, added, sinks;
  LK_RETURN_NOT_OK(find_sizes(&asked, of, error));
  self.is_prompt = of->rows == of->total;
  lk_attention step = {.batch = of->batch,
                       .heads = params->heads,
                       .kv_heads = params->kv_heads,
                       .queries = of->rows,
                       .keys = of->total,
                       .size = of->size,
                       .v_size = of->size,
                       .scale = isnan(params->scale) ? 1 / sqrtf((float)of->size) : params->scale,
                       .softcap = params->softcap,
                       .has_past = self.is_prompt,
                       .left = params->left,
                       .right = params->is_causal ? 0 : -1};
  LK_RETURN_NOT_OK(plan_places(&self, error));
  LK_RETURN_NOT_OK(take_with_past(&self, KEY, &step.k, error));
  LK_RETURN_NOT_OK(take_with_past(&self, VALUE, &step.v, error));
  if (lk_elements(&planner->outputs[OUTPUT]) == 0) return LK_OK; /* no queries: the cache alone */
  LK_RETURN_NOT_OK(take_heads(&self, QUERY, &step.q, error));
  LK_RETURN_NOT_OK(lk_plan_wide(planner, &step.q.operand, error));
  if (params->is_rotated) LK_RETURN_NOT_OK(plan_rotary(&self, params->heads, &step.q, error));
  LK_RETURN_NOT_OK(lk_plan_wide_output(planner, OUTPUT, &y, error));
  step.y = lk_heads_in_rows(&y, &(lk_head_sizes){of->batch, params->heads, of->rows, of->size});
  step.lengths = &self.lengths;
  if (lk_op_has(planner->node, ADDED)) {
    LK_RETURN_NOT_OK(lk_planner_input(planner, ADDED, LK_LAYOUT_PLAIN, &added, error));
    step.mask = &added;
  }
  if (lk_op_has(planner->node, SINKS)) {
    LK_RETURN_NOT_OK(lk_plan_wide_input(planner, SINKS, &sinks, error));
    step.sink = LK_ATTEND_SINKS;
    step.sinks = &sinks;
  } else if (params->is_smooth) {
    step.sink = LK_ATTEND_ZERO_SINK;
  }
  LK_RETURN_NOT_OK(lk_plan_attention(planner, &step, error));
  return lk_plan_narrow(planner, OUTPUT, &y, error);
}

/* Two products, of each element of the output with all keys. */
static double flops(const lk_op_node *node, const lk_tensor *inputs,
                    const lk_tensor_desc *outputs) {
  const int64_t rows = outputs[OUTPUT].dims[1];
  const int64_t kept = lk_op_has(node, PAST_KEY) ? inputs[PAST_KEY].desc.dims[2] : 0;
  return 4 * (double)(kept > rows ? kept : rows) * (double)lk_elements(&outputs[OUTPUT]);
}

const lk_op_class lk_op_group_query_attention = {
    LK_OP_ROW("GroupQueryAttention", "com.microsoft", 1,
              "Attention of groups of heads, with a cache in a buffer",
              .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 1, .max_inputs = 16, .max_outputs = 4,
              .input_types = "TTTWWUUTTVTT??TT", .output_types = "T??T",
              .types = {LK_TYPES_BY_F32, LK_TYPE(LK_I32), LK_TYPE(LK_I64),
                        LK_TYPES_BY_F32 | LK_TYPE(LK_I8) | LK_TYPE(LK_U8)},
              .shape_inputs = 1u << TOTAL),
    .params_size = sizeof(gqa_params),
    .parse = parse,
    .infer = infer,
    .flops = flops,
    .plan = plan,
};
