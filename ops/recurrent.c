/* RNN, GRU and LSTM (ONNX operators of these names), and DynamicQuantizeLSTM of com.microsoft. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <strings.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/work.h"

/* Inputs; what each is to the work. Where W and R are bytes, which have scales and zero points,
 * they lie [input or hidden_size, gates times hidden_size]. */
enum { X, W, R, W_SCALE = 8, INPUTS = 12 };
static const lk_role roles[INPUTS] = {
    LK_ROLE_SRC,          LK_ROLE_WEIGHTS,         LK_ROLE_RECURRENT_WEIGHTS,
    LK_ROLE_BIAS,         LK_ROLE_LENGTHS,         LK_ROLE_STATE,
    LK_ROLE_CELL,         LK_ROLE_PEEPHOLES,       LK_ROLE_WEIGHTS_SCALE,
    LK_ROLE_WEIGHTS_ZERO, LK_ROLE_RECURRENT_SCALE, LK_ROLE_RECURRENT_ZERO,
};

typedef struct recurrent_params {
  lk_work_recurrent layer;
  int64_t hidden; /* -1: not given */
  bool is_quantized;
} recurrent_params;

/* ---- activations ---- */

#define NAME(symbol, value, name) [symbol] = name,
static const char *const names_of_activations[] = {LK_ACTIVATION_LIST(NAME)};
#undef NAME
enum { ACTIVATIONS = sizeof names_of_activations / sizeof *names_of_activations };

/* Numbers that an activation has, and what they are where they are not given. */
typedef struct activation_numbers {
  bool has_alpha, has_beta;
  float alpha, beta;
} activation_numbers;

/* Defaults are those of the operators of these names. ONNX has none for ScaledTanh, which is tanh
 * then. ONNX Runtime takes 0 for all of Affine, ScaledTanh and ThresholdedRelu, which makes the
 * first two constant. */
static const activation_numbers numbers_of_activations[ACTIVATIONS] = {
    [LK_ACTIVATION_AFFINE] = {true, true, 1, 0},
    [LK_ACTIVATION_LEAKY_RELU] = {true, false, 0.01F, 0},
    [LK_ACTIVATION_THRESHOLDED_RELU] = {true, false, 1, 0},
    [LK_ACTIVATION_SCALED_TANH] = {true, true, 1, 1},
    [LK_ACTIVATION_HARD_SIGMOID] = {true, true, 0.2F, 0.5F},
    [LK_ACTIVATION_ELU] = {true, false, 1, 0},
};

/* ACTIVATIONS: there is none. ONNX Runtime and ONNX's reference take names in lower case too. */
static uint32_t find_activation(const char *name) {
  uint32_t kind = 0;
  while (kind < ACTIVATIONS && strcasecmp(name, names_of_activations[kind]) != 0) kind++;
  return kind;
}

static void refuse_activation(lk_attrs *attrs, const char *name) {
  char known[192] = "";
  size_t used = 0;
  for (size_t i = 0; i < ACTIVATIONS && used < sizeof known; i++) {
    used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "",
                             names_of_activations[i]);
  }
  lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                "attribute 'activations' has '%.64s', each must be one of: %s", name, known);
}

/* Values of an attribute, consumed by the activations that have such a number, in their order. */
typedef struct numbers {
  float values[LK_WORK_DIRECTIONS * LK_WORK_ACTIVATIONS];
  uint32_t count, next;
} numbers;

static numbers read_numbers(lk_attrs *attrs, const char *name) {
  numbers self = {.next = 0};
  self.count = lk_attrs_floats(attrs, name, self.values, LK_WORK_DIRECTIONS * LK_WORK_ACTIVATIONS);
  return self;
}

static float take(numbers *self, bool is_used, float fallback) {
  return is_used && self->next < self->count ? self->values[self->next++] : fallback;
}

static int64_t directions_of(const lk_work_recurrent *layer) {
  return layer->direction == LK_DIRECTION_BOTH ? 2 : 1;
}

/* `fallback`: `count` activations of each direction. */
static void parse_activations(lk_attrs *attrs, lk_work_recurrent *layer,
                              const lk_activation *fallback, uint32_t count) {
  uint32_t n_names = 0;
  const char *const *names = lk_attrs_strings(attrs, "activations", &n_names);
  numbers alphas = read_numbers(attrs, "activation_alpha");
  numbers betas = read_numbers(attrs, "activation_beta");
  const uint32_t needed = count * (uint32_t)directions_of(layer);
  /* the default of RNN has two, whatever the direction */
  if (names != NULL && (n_names < needed || n_names > LK_WORK_DIRECTIONS * count)) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                  "attribute 'activations' has %" PRIu32 " names, it must have %" PRIu32, n_names,
                  needed);
    return;
  }
  for (uint32_t i = 0; i < needed; i++) {
    const uint32_t direction = i / count, function = i % count;
    const uint32_t kind = names != NULL ? find_activation(names[i]) : (uint32_t)fallback[function];
    if (kind == ACTIVATIONS) {
      refuse_activation(attrs, names[i]);
      return;
    }
    const activation_numbers *of = &numbers_of_activations[kind];
    layer->activations[direction][function] = kind;
    layer->alphas[direction][function] = take(&alphas, of->has_alpha, of->alpha);
    layer->betas[direction][function] = take(&betas, of->has_beta, of->beta);
  }
}

/* ---- attributes ---- */

static void parse(lk_attrs *attrs, lk_cell cell, recurrent_params *self) {
  self->layer.cell = cell;
  self->layer.direction = lk_attrs_choice(attrs, "direction");
  self->layer.batch_first = lk_attrs_lists(attrs, "layout") && lk_attrs_bool(attrs, "layout");
  self->hidden = lk_attrs_int(attrs, "hidden_size");
  if (lk_attrs_has(attrs, "hidden_size") && (self->hidden < 0 || self->hidden > INT32_MAX)) {
    lk_attrs_fail(attrs, LK_OUT_OF_RANGE,
                  "attribute 'hidden_size' is %" PRIi64 ", it must be 0 to %" PRIi32, self->hidden,
                  INT32_MAX);
  }
  self->layer.clip = lk_attrs_float(attrs, "clip");
  if (!(self->layer.clip > 0)) {
    lk_attrs_fail(attrs, LK_OUT_OF_RANGE, "attribute 'clip' is %g, it must be more than 0",
                  (double)self->layer.clip);
  }
}

static void parse_rnn(lk_attrs *attrs, void *params) {
  static const lk_activation activations[] = {LK_ACTIVATION_TANH};
  recurrent_params *self = params;
  parse(attrs, LK_CELL_RNN, self);
  parse_activations(attrs, &self->layer, activations, 1);
}

static void parse_gru(lk_attrs *attrs, void *params) {
  static const lk_activation activations[] = {LK_ACTIVATION_SIGMOID, LK_ACTIVATION_TANH};
  recurrent_params *self = params;
  const bool is_linear = lk_attrs_bool(attrs, "linear_before_reset");
  parse(attrs, is_linear ? LK_CELL_GRU_LINEAR : LK_CELL_GRU, self);
  parse_activations(attrs, &self->layer, activations, 2);
}

static void parse_lstm(lk_attrs *attrs, void *params) {
  static const lk_activation activations[] = {LK_ACTIVATION_SIGMOID, LK_ACTIVATION_TANH,
                                              LK_ACTIVATION_TANH};
  recurrent_params *self = params;
  parse(attrs, LK_CELL_LSTM, self);
  self->layer.couples_forget = lk_attrs_bool(attrs, "input_forget");
  parse_activations(attrs, &self->layer, activations, 3);
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

static const int64_t gates_of[] = {
    [LK_CELL_RNN] = 1, [LK_CELL_GRU] = 3, [LK_CELL_GRU_LINEAR] = 3, [LK_CELL_LSTM] = 4};

static lk_status find_sizes(const lk_inference *self, int64_t sizes[SIZES], lk_error *error) {
  const recurrent_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[X].desc, *r = &self->inputs[R].desc;
  const int64_t gates = gates_of[params->layer.cell];
  const bool has_x = lk_rank_is_known(x) && x->rank == 3;
  const bool has_r = lk_rank_is_known(r) && r->rank == 3;
  const uint32_t length = params->layer.batch_first;
  sizes[DIRECTIONS] = directions_of(&params->layer);
  sizes[LENGTH] = has_x ? x->dims[length] : LK_DIM_UNKNOWN;
  sizes[BATCH] = has_x ? x->dims[1 - length] : LK_DIM_UNKNOWN;
  sizes[WIDTH] = has_x ? x->dims[2] : LK_DIM_UNKNOWN;
  const uint32_t units = params->is_quantized ? 1 : 2;
  sizes[HIDDEN] = params->hidden >= 0 ? params->hidden : has_r ? r->dims[units] : LK_DIM_UNKNOWN;
  if (sizes[HIDDEN] > INT32_MAX) {
    return lk_refuse(r, "R", input_rules[R].rule, error);
  }
  sizes[COLUMNS] = times(gates, sizes[HIDDEN]);
  sizes[BIASES] = times(2 * gates, sizes[HIDDEN]);
  sizes[PEEPHOLES] = times(3, sizes[HIDDEN]);
  return LK_OK;
}

/* A scale or zero point of each direction, or of each of its columns. */
static lk_status check_quantizers(const lk_inference *self, const int64_t sizes[SIZES],
                                  lk_error *error) {
  for (uint32_t i = W_SCALE; i < INPUTS; i++) {
    const char *name = quantizers[i - W_SCALE];
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
  const bool is_batch_first = params->layer.batch_first != 0;
  int64_t sizes[SIZES];
  LK_RETURN_NOT_OK(find_sizes(self, sizes, error));
  if (params->is_quantized) LK_RETURN_NOT_OK(check_quantizers(self, sizes, error));
  for (uint32_t i = 0; i < W_SCALE; i++) {
    const bool is_weight = i == W || i == R;
    const input_rule *rule =
        params->is_quantized && is_weight ? &quantized_rules[i - W] : &input_rules[i];
    lk_tensor_desc wanted = {.rank = rule->rank};
    if (!lk_op_has(node, i)) continue;
    const bool swaps = is_batch_first && rule->rank == 3 && rule->sizes[1] == BATCH;
    for (uint32_t d = 0; d < rule->rank; d++) {
      wanted.dims[d] = sizes[rule->sizes[swaps && d < 2 ? 1 - d : d]];
    }
    if (lk_shape_may_equal(&self->inputs[i].desc, &wanted)) continue;
    return lk_refuse(&self->inputs[i].desc, rule->name, rule->rule, error);
  }
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

/* ---- the work ---- */

static lk_status plan(lk_planner *planner, lk_error *error) {
  static const lk_role outputs[] = {LK_ROLE_DST, LK_ROLE_DST_STATE, LK_ROLE_DST_CELL};
  const lk_op_node *node = planner->node;
  const recurrent_params *params = node->params;
  lk_task task;
  lk_task_begin(&task, LK_WORK_RECURRENT);
  task.work.recurrent = params->layer;
  for (uint32_t i = 0; i < INPUTS; i++) {
    lk_task_optional(&task, roles[i], node, planner->inputs, i);
  }
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    lk_task_output(&task, outputs[i], i, &planner->outputs[i]);
  }
  return lk_plan_task(planner, &task, error);
}

/* ---- rows ---- */

/* Of both products: an element of W and R for each row. */
static double flops(const lk_op_node *node, const lk_tensor *inputs,
                    const lk_tensor_desc *outputs) {
  (void)node;
  const lk_tensor_desc *x = &inputs[X].desc;
  (void)outputs;
  return 2 * (double)x->dims[0] * (double)x->dims[1] *
         (double)(lk_elements(&inputs[W].desc) + lk_elements(&inputs[R].desc));
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
      .parse = reader, .infer = infer, .flops = flops, .plan = plan

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
              .max_inputs = INPUTS, .max_outputs = 3, .input_types = "TUUTVTTTTUTU",
              .output_types = "T",
              .types = {LK_TYPES_F32, LK_TYPE(LK_U8) | LK_TYPE(LK_I8), LK_TYPE(LK_I32)}),
    .params_size = sizeof(recurrent_params),
    LK_OP_ATTRS(RECURRENT_ATTRS, LK_TEXTS("activations"), LK_FLAG("input_forget", 0)),
    .parse = parse_quantized_lstm,
    .infer = infer,
    .flops = flops,
    .plan = plan,
};
