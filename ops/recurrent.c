/* RNN, GRU and LSTM (ONNX operators of these names), and DynamicQuantizeLSTM of com.microsoft:
 * attributes and shapes. */
#include "ops/recurrent.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <strings.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/sizes.h"

/* ---- functions ---- */

typedef struct function_row {
  const char *name;
  bool has_alpha, has_beta;
  float alpha, beta; /* by default */
} function_row;

/* Defaults are those of the operators of these names. ONNX has none for ScaledTanh, which is tanh
 * then. ONNX Runtime takes 0 for all of Affine, ScaledTanh and ThresholdedRelu, which makes the
 * first two constant. */
static const function_row rows[RECURRENT_FUNCTION_KINDS] = {
    [RECURRENT_AFFINE] = {"Affine", true, true, 1, 0},
    [RECURRENT_RELU] = {"Relu", false, false, 0, 0},
    [RECURRENT_LEAKY_RELU] = {"LeakyRelu", true, false, 0.01F, 0},
    [RECURRENT_THRESHOLDED_RELU] = {"ThresholdedRelu", true, false, 1, 0},
    [RECURRENT_TANH] = {"Tanh", false, false, 0, 0},
    [RECURRENT_SCALED_TANH] = {"ScaledTanh", true, true, 1, 1},
    [RECURRENT_SIGMOID] = {"Sigmoid", false, false, 0, 0},
    [RECURRENT_HARD_SIGMOID] = {"HardSigmoid", true, true, 0.2F, 0.5F},
    [RECURRENT_ELU] = {"Elu", true, false, 1, 0},
    [RECURRENT_SOFTSIGN] = {"Softsign", false, false, 0, 0},
    [RECURRENT_SOFTPLUS] = {"Softplus", false, false, 0, 0},
};

/* RECURRENT_FUNCTION_KINDS: there is none. ONNX Runtime and ONNX's reference take names in lower
 * case too. */
static int32_t find_function(const char *name) {
  int32_t kind = 0;
  while (kind < RECURRENT_FUNCTION_KINDS && strcasecmp(name, rows[kind].name) != 0) kind++;
  return kind;
}

static void refuse_function(lk_attrs *attrs, const char *name) {
  char known[192] = "";
  size_t used = 0;
  for (size_t i = 0; i < RECURRENT_FUNCTION_KINDS && used < sizeof known; i++) {
    used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "",
                             rows[i].name);
  }
  lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                "attribute 'activations' has '%.64s', each must be one of: %s", name, known);
}

/* Values of an attribute, consumed by the functions that have such a number, in their order. */
typedef struct numbers {
  float values[LK_RECURRENT_DIRECTIONS * RECURRENT_FUNCTIONS];
  uint32_t count, next;
} numbers;

static numbers read_numbers(lk_attrs *attrs, const char *name) {
  numbers self = {.next = 0};
  self.count =
      lk_attrs_floats(attrs, name, self.values, LK_RECURRENT_DIRECTIONS * RECURRENT_FUNCTIONS);
  return self;
}

static float take(numbers *self, bool is_used, float fallback) {
  return is_used && self->next < self->count ? self->values[self->next++] : fallback;
}

/* `fallback`: `count` functions of each direction. */
static void parse_functions(lk_attrs *attrs, recurrent_params *self,
                            const recurrent_function_kind *fallback, uint32_t count) {
  uint32_t n_names = 0;
  const char *const *names = lk_attrs_strings(attrs, "activations", &n_names);
  numbers alphas = read_numbers(attrs, "activation_alpha");
  numbers betas = read_numbers(attrs, "activation_beta");
  const uint32_t needed = count * (uint32_t)self->directions;
  /* the default of RNN has two, whatever the direction */
  if (names != NULL && (n_names < needed || n_names > LK_RECURRENT_DIRECTIONS * count)) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                  "attribute 'activations' has %" PRIu32 " names, it must have %" PRIu32, n_names,
                  needed);
    return;
  }
  for (uint32_t i = 0; i < needed; i++) {
    const int32_t kind = names != NULL ? find_function(names[i]) : (int32_t)fallback[i % count];
    if (kind == RECURRENT_FUNCTION_KINDS) {
      refuse_function(attrs, names[i]);
      return;
    }
    self->functions[i / count][i % count] =
        (recurrent_function){kind, take(&alphas, rows[kind].has_alpha, rows[kind].alpha),
                             take(&betas, rows[kind].has_beta, rows[kind].beta)};
  }
}

/* ---- attributes ---- */

static void parse(lk_attrs *attrs, recurrent_params *self) {
  const uint32_t direction = lk_attrs_choice(attrs, "direction");
  self->directions = direction == 2 ? 2 : 1;
  self->is_reverse = direction == 1;
  self->is_batch_first = lk_attrs_lists(attrs, "layout") && lk_attrs_bool(attrs, "layout");
  self->hidden = lk_attrs_int(attrs, "hidden_size");
  if (lk_attrs_has(attrs, "hidden_size") && (self->hidden < 0 || self->hidden > INT32_MAX)) {
    lk_attrs_fail(attrs, LK_OUT_OF_RANGE,
                  "attribute 'hidden_size' is %" PRIi64 ", it must be 0 to %" PRIi32, self->hidden,
                  INT32_MAX);
  }
  self->clip = lk_attrs_float(attrs, "clip");
  if (!(self->clip > 0)) {
    lk_attrs_fail(attrs, LK_OUT_OF_RANGE, "attribute 'clip' is %g, it must be more than 0",
                  (double)self->clip);
  }
}

static void parse_rnn(lk_attrs *attrs, void *params) {
  static const recurrent_function_kind functions[] = {RECURRENT_TANH};
  recurrent_params *self = params;
  parse(attrs, self);
  self->kind = LK_RECURRENT_RNN;
  self->gates = 1;
  parse_functions(attrs, self, functions, 1);
}

static void parse_gru(lk_attrs *attrs, void *params) {
  static const recurrent_function_kind functions[] = {RECURRENT_SIGMOID, RECURRENT_TANH};
  recurrent_params *self = params;
  parse(attrs, self);
  const bool is_linear = lk_attrs_bool(attrs, "linear_before_reset");
  self->kind = is_linear ? LK_RECURRENT_GRU_LINEAR : LK_RECURRENT_GRU;
  self->gates = 3;
  parse_functions(attrs, self, functions, 2);
}

static void parse_lstm(lk_attrs *attrs, void *params) {
  static const recurrent_function_kind functions[] = {RECURRENT_SIGMOID, RECURRENT_TANH,
                                                      RECURRENT_TANH};
  recurrent_params *self = params;
  parse(attrs, self);
  self->kind = LK_RECURRENT_LSTM;
  self->gates = 4;
  self->couples_forget = lk_attrs_bool(attrs, "input_forget");
  parse_functions(attrs, self, functions, 3);
}

static void parse_quantized_lstm(lk_attrs *attrs, void *params) {
  recurrent_params *self = params;
  parse_lstm(attrs, params);
  self->is_quantized = true;
}

/* ---- shapes ---- */

/* What the dimensions of inputs are. */
typedef enum size_kind {
  DIRECTIONS,
  LENGTH,
  BATCH,
  WIDTH,
  HIDDEN,
  COLUMNS, /* gates times hidden */
  BIASES,  /* of W, and of R */
  PEEPHOLES,
  SIZES
} size_kind;

typedef struct input_rule {
  const char *name, *rule;
  uint32_t rank;
  size_kind sizes[3]; /* the first two change places where the batch comes first: of X, H and C */
} input_rule;

static const input_rule input_rules[] = {
    {"X",
     "3 dimensions: the sequence, the batch (in the other order with layout 1), the input",
     3,
     {LENGTH, BATCH, WIDTH}},
    {"W", "[directions, gates times hidden_size, input]", 3, {DIRECTIONS, COLUMNS, WIDTH}},
    {"R", "[directions, gates times hidden_size, hidden_size]", 3, {DIRECTIONS, COLUMNS, HIDDEN}},
    {"B", "[directions, 2 times gates times hidden_size]", 2, {DIRECTIONS, BIASES}},
    {"sequence_lens", "[batch]", 1, {BATCH}},
    {"initial_h",
     "[directions, batch, hidden_size], or [batch, directions, hidden_size] with "
     "layout 1",
     3,
     {DIRECTIONS, BATCH, HIDDEN}},
    {"initial_c",
     "[directions, batch, hidden_size], or [batch, directions, hidden_size] with "
     "layout 1",
     3,
     {DIRECTIONS, BATCH, HIDDEN}},
    {"P", "[directions, 3 times hidden_size]", 2, {DIRECTIONS, PEEPHOLES}},
};

/* Of bytes, those that differ. */
static const input_rule quantized_rules[] = {
    {"W", "[directions, input, 4 times hidden_size]", 3, {DIRECTIONS, WIDTH, COLUMNS}},
    {"R", "[directions, hidden_size, 4 times hidden_size]", 3, {DIRECTIONS, HIDDEN, COLUMNS}},
};
static const char *const quantizers[] = {"W_scale", "W_zero_point", "R_scale", "R_zero_point"};

static int64_t times(int64_t factor, int64_t hidden) {
  return hidden < 0 ? LK_DIM_UNKNOWN : factor * hidden;
}

static lk_status find_sizes(const lk_inference *self, int64_t sizes[SIZES], lk_error *error) {
  const recurrent_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[RECURRENT_X].desc, *r = &self->inputs[RECURRENT_R].desc;
  const bool has_x = lk_rank_is_known(x) && x->rank == 3;
  const bool has_r = lk_rank_is_known(r) && r->rank == 3;
  const uint32_t length = params->is_batch_first ? 1 : 0;
  sizes[DIRECTIONS] = params->directions;
  sizes[LENGTH] = has_x ? x->dims[length] : LK_DIM_UNKNOWN;
  sizes[BATCH] = has_x ? x->dims[1 - length] : LK_DIM_UNKNOWN;
  sizes[WIDTH] = has_x ? x->dims[2] : LK_DIM_UNKNOWN;
  const uint32_t units = params->is_quantized ? 1 : 2;
  sizes[HIDDEN] = params->hidden >= 0 ? params->hidden : has_r ? r->dims[units] : LK_DIM_UNKNOWN;
  if (sizes[HIDDEN] > INT32_MAX) {
    return lk_refuse(r, "R", input_rules[RECURRENT_R].rule, error);
  }
  sizes[COLUMNS] = times(params->gates, sizes[HIDDEN]);
  sizes[BIASES] = times(2 * params->gates, sizes[HIDDEN]);
  sizes[PEEPHOLES] = times(3, sizes[HIDDEN]);
  return LK_OK;
}

/* A scale or zero point of each direction, or of each of its columns. */
static lk_status check_quantizers(const lk_inference *self, const int64_t sizes[SIZES],
                                  lk_error *error) {
  for (uint32_t i = RECURRENT_W_SCALE; i < RECURRENT_INPUTS; i++) {
    const char *name = quantizers[i - RECURRENT_W_SCALE];
    if (!lk_op_has(self->node, i)) {
      return lk_fail(error, LK_INVALID_ARGUMENT, "input %" PRIu32 " (%s) is absent, it is required",
                     i, name);
    }
    const lk_tensor_desc *of = &self->inputs[i].desc;
    const lk_tensor_desc whole = {.rank = 1, .dims = {sizes[DIRECTIONS]}};
    const lk_tensor_desc each = {.rank = 2, .dims = {sizes[DIRECTIONS], sizes[COLUMNS]}};
    if (lk_shape_may_equal(of, &whole) || lk_shape_may_equal(of, &each)) continue;
    return lk_refuse(of, name, "[directions], or [directions, 4 times hidden_size]", error);
  }
  return LK_OK;
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const lk_op_node *node = self->node;
  const recurrent_params *params = node->params;
  int64_t sizes[SIZES];
  LK_RETURN_NOT_OK(find_sizes(self, sizes, error));
  if (params->is_quantized) LK_RETURN_NOT_OK(check_quantizers(self, sizes, error));
  for (uint32_t i = 0; i < lk_min(node->n_operands, RECURRENT_W_SCALE); i++) {
    const bool is_weight = i == RECURRENT_W || i == RECURRENT_R;
    const input_rule *rule =
        params->is_quantized && is_weight ? &quantized_rules[i - RECURRENT_W] : &input_rules[i];
    lk_tensor_desc wanted = {.rank = rule->rank};
    if (!lk_op_has(node, i)) continue;
    const bool swaps = params->is_batch_first && rule->rank == 3 && rule->sizes[1] == BATCH;
    for (uint32_t d = 0; d < rule->rank; d++) {
      wanted.dims[d] = sizes[rule->sizes[swaps && d < 2 ? 1 - d : d]];
    }
    if (lk_shape_may_equal(&self->inputs[i].desc, &wanted)) continue;
    return lk_refuse(&self->inputs[i].desc, rule->name, rule->rule, error);
  }
  const bool is_batch_first = params->is_batch_first;
  const size_kind y[2][4] = {{LENGTH, DIRECTIONS, BATCH, HIDDEN},
                             {BATCH, LENGTH, DIRECTIONS, HIDDEN}};
  const size_kind state[2][3] = {{DIRECTIONS, BATCH, HIDDEN}, {BATCH, DIRECTIONS, HIDDEN}};
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    const size_kind *of = i == 0 ? y[is_batch_first] : state[is_batch_first];
    lk_tensor_desc *to = &self->outputs[i];
    lk_shape_open(to, i == 0 ? 4 : 3);
    for (uint32_t d = 0; d < to->rank; d++) to->dims[d] = sizes[of[d]];
  }
  return LK_OK;
}

/* ---- rows ---- */

/* Of both products: an element of W and R for each row. */
static double flops(const lk_op_node *node, const lk_tensor *inputs,
                    const lk_tensor_desc *outputs) {
  (void)node;
  const lk_tensor_desc *x = &inputs[RECURRENT_X].desc;
  (void)outputs;
  return 2 * (double)x->dims[0] * (double)x->dims[1] *
         (double)(lk_elements(&inputs[RECURRENT_W].desc) + lk_elements(&inputs[RECURRENT_R].desc));
}

#define RECURRENT_ATTRS                                                                            \
  LK_FLOATS("activation_alpha"), LK_FLOATS("activation_beta"), LK_ANY_FLOAT("clip", INFINITY),     \
      LK_CHOICE("direction", "forward|reverse|bidirectional"), LK_ANY_INT("hidden_size", -1)
#define ROW(name, summary_text, inputs, outputs, reader, ...)                                      \
  LK_OP_ROW(name, "", 7, summary_text, .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 3,             \
            .max_inputs = inputs, .max_outputs = outputs, .input_types = "TTTTUT",                 \
            .output_types = "T", .types = {LK_TYPES_BY_F32, LK_TYPE(LK_I32)}),                     \
      .by_f32 = true, .params_size = sizeof(recurrent_params),                                     \
      LK_OP_ATTRS(RECURRENT_ATTRS, LK_FLAG("layout", 0, .since = 14), __VA_ARGS__),                \
      .parse = reader, .infer = infer, .flops = flops, .plan = recurrent_plan

const lk_op_class lk_op_rnn = {
    ROW("RNN", "Recurrent layer of one function", 6, 2, parse_rnn,
        LK_TEXTS("activations", .has_default = 1, .texts = "Tanh|Tanh")),
};
const lk_op_class lk_op_gru = {
    ROW("GRU", "Recurrent layer of gated units", 6, 2, parse_gru, LK_TEXTS("activations"),
        LK_FLAG("linear_before_reset", 0)),
};
const lk_op_class lk_op_lstm = {
    ROW("LSTM", "Recurrent layer of long short-term memory", 8, 3, parse_lstm,
        LK_TEXTS("activations"), LK_FLAG("input_forget", 0)),
};
const lk_op_class lk_op_dynamic_quantize_lstm = {
    LK_OP_ROW("DynamicQuantizeLSTM", "com.microsoft", 1,
              "LSTM in bytes, quantized for it, by quantized matrices",
              .flags = LK_OP_WORTH_CLAIMING | LK_OP_QUANTIZES, .min_inputs = 3,
              .max_inputs = RECURRENT_INPUTS, .max_outputs = 3, .input_types = "TUUTVTTTTUTU",
              .output_types = "T",
              .types = {LK_TYPES_F32, LK_TYPE(LK_U8) | LK_TYPE(LK_I8), LK_TYPE(LK_I32)}),
    .params_size = sizeof(recurrent_params),
    LK_OP_ATTRS(RECURRENT_ATTRS, LK_TEXTS("activations"), LK_FLAG("input_forget", 0)),
    .parse = parse_quantized_lstm,
    .infer = infer,
    .flops = flops,
    .plan = recurrent_plan,
};
