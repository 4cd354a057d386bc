/* The steps of RNN, GRU and LSTM: one matrix product of all inputs by W, then the recurrence, whose
 * functions are element programs. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/product_steps.h"
#include "ops/plan/product_weights.h"
#include "ops/recurrent.h"

/* ---- functions ---- */

static lk_element_value unary(lk_element_program *program, lk_element_op op, lk_element_value x,
                              float p, float q) {
  return lk_element_unary(program, op, x, p, q);
}

static lk_element_value call(lk_element_program *program, const recurrent_function *f,
                             lk_element_value x) {
  switch ((recurrent_function_kind)f->kind) {
  case RECURRENT_AFFINE:
    return unary(program, LK_ELEMENT_LINEAR, x, f->alpha, f->beta);
  case RECURRENT_RELU:
    return unary(program, LK_ELEMENT_RELU, x, 0, 0);
  case RECURRENT_LEAKY_RELU:
    return unary(program, LK_ELEMENT_LEAKY_RELU, x, f->alpha, 0);
  case RECURRENT_THRESHOLDED_RELU:
    /* the operator of this name wants more than alpha, these layers want alpha too */
    return unary(program, LK_ELEMENT_THRESHOLD, x, nextafterf(f->alpha, -INFINITY), 0);
  case RECURRENT_SCALED_TANH:
    x = unary(program, LK_ELEMENT_TANH, unary(program, LK_ELEMENT_LINEAR, x, f->beta, 0), 0, 0);
    return unary(program, LK_ELEMENT_LINEAR, x, f->alpha, 0);
  case RECURRENT_SIGMOID:
    return unary(program, LK_ELEMENT_SIGMOID, x, 0, 0);
  case RECURRENT_HARD_SIGMOID:
    return unary(program, LK_ELEMENT_HARDSIGMOID, x, f->alpha, f->beta);
  case RECURRENT_ELU:
    return unary(program, LK_ELEMENT_ELU, x, f->alpha, 1);
  case RECURRENT_SOFTSIGN:
    return unary(program, LK_ELEMENT_SOFTSIGN, x, 0, 0);
  case RECURRENT_SOFTPLUS:
    return unary(program, LK_ELEMENT_SOFTPLUS, x, 0, 0);
  default:
    return unary(program, LK_ELEMENT_TANH, x, 0, 0);
  }
}

/* ---- programs ---- */

/* Of one direction. */
typedef struct layer {
  const recurrent_params *params;
  const recurrent_function *functions; /* f, g, h */
  bool has_peepholes;
} layer;

static lk_element_value input(lk_element_program *program) {
  return lk_element_input(program, LK_F32);
}

/* The function of a gate, on what is clipped. */
static lk_element_value gate(const layer *self, lk_element_program *program, uint32_t function,
                             lk_element_value x) {
  const float clip = self->params->clip;
  if (clip < INFINITY) x = unary(program, LK_ELEMENT_CLIP, x, -clip, clip);
  return call(program, &self->functions[function], x);
}

static lk_element_value fma_of(lk_element_program *program, lk_element_value a, lk_element_value b,
                               lk_element_value c) {
  return lk_element_ternary(program, LK_ELEMENT_FMA, a, b, c);
}

/* (1 - z) a + z b */
static lk_element_value mix(lk_element_program *program, lk_element_value z, lk_element_value a,
                            lk_element_value b) {
  const lk_element_value rest = unary(program, LK_ELEMENT_LINEAR, z, -1, 1);
  return fma_of(program, z, b, lk_element_binary(program, LK_ELEMENT_MUL, rest, a));
}

static void write_rnn(const layer *self, lk_element_program *program) {
  const lk_element_value x = input(program);
  lk_element_output(program, gate(self, program, 0, x), LK_F32);
}

static void write_gru_reset(const layer *self, lk_element_program *program) {
  const lk_element_value z = input(program), r = input(program), h = input(program);
  lk_element_output(program, gate(self, program, 0, z), LK_F32);
  const lk_element_value kept = gate(self, program, 0, r);
  lk_element_output(program, lk_element_binary(program, LK_ELEMENT_MUL, kept, h), LK_F32);
}

static void write_gru_update(const layer *self, lk_element_program *program) {
  const lk_element_value x = input(program), z = input(program), h = input(program);
  lk_element_output(program, mix(program, z, gate(self, program, 1, x), h), LK_F32);
}

static void write_gru_linear(const layer *self, lk_element_program *program) {
  const lk_element_value z = input(program), r = input(program), x = input(program);
  const lk_element_value other = input(program), h = input(program);
  const lk_element_value all = fma_of(program, gate(self, program, 0, r), other, x);
  const lk_element_value update = gate(self, program, 0, z);
  lk_element_output(program, mix(program, update, gate(self, program, 1, all), h), LK_F32);
}

/* C is not clipped before h: so it is in ONNX Runtime. ONNX's text can be read the other way, and
 * its reference does not clip at all. */
static void write_lstm(const layer *self, lk_element_program *program) {
  lk_element_value i = input(program), o = input(program), f = input(program);
  lk_element_value c = input(program);
  const lk_element_value before = input(program);
  lk_element_value peephole[3] = {0}; /* i, o, f */
  for (int n = 0; self->has_peepholes && n < 3; n++) peephole[n] = input(program);
  if (self->has_peepholes) i = fma_of(program, peephole[0], before, i);
  i = gate(self, program, 0, i);
  if (self->params->couples_forget) {
    f = unary(program, LK_ELEMENT_LINEAR, i, -1, 1);
  } else {
    if (self->has_peepholes) f = fma_of(program, peephole[2], before, f);
    f = gate(self, program, 0, f);
  }
  c = lk_element_binary(program, LK_ELEMENT_MUL, i, gate(self, program, 1, c));
  c = fma_of(program, f, before, c);
  if (self->has_peepholes) o = fma_of(program, peephole[1], c, o);
  o = gate(self, program, 0, o);
  lk_element_output(program, c, LK_F32);
  const lk_element_value h = call(program, &self->functions[2], c);
  lk_element_output(program, lk_element_binary(program, LK_ELEMENT_MUL, o, h), LK_F32);
}

typedef void write_fn(const layer *self, lk_element_program *program);

/* Params of the kernel, while programs are put behind them. */
typedef struct kernel_params {
  unsigned char *bytes;
  size_t size;
} kernel_params;

static size_t rounded(size_t bytes) {
  const size_t unit = _Alignof(max_align_t);
  return (bytes + unit - 1) / unit * unit;
}

static lk_status add_program(const layer *self, write_fn *write, kernel_params *params,
                             uint32_t *out_at, lk_error *error) {
  static const uint8_t levels[LK_ELEMENT_INPUTS] = {
      LK_ELEMENT_EACH, LK_ELEMENT_EACH, LK_ELEMENT_EACH, LK_ELEMENT_EACH,
      LK_ELEMENT_EACH, LK_ELEMENT_EACH, LK_ELEMENT_EACH, LK_ELEMENT_EACH};
  lk_element_program program = lk_element_begin();
  write(self, &program);
  LK_RETURN_NOT_OK(lk_element_end(&program, error));
  lk_element *element = (lk_element *)(void *)(params->bytes + params->size);
  LK_RETURN_NOT_OK(lk_element_plan_tile(&program, levels, element, error));
  *out_at = (uint32_t)params->size;
  params->size += rounded(element->size);
  return LK_OK;
}

static bool has_same_functions(const recurrent_params *params) {
  const recurrent_function *a = params->functions[0], *b = params->functions[1];
  bool are_same = true;
  for (int i = 0; i < RECURRENT_FUNCTIONS; i++) {
    are_same =
        are_same && a[i].kind == b[i].kind && a[i].alpha == b[i].alpha && a[i].beta == b[i].beta;
  }
  return are_same;
}

/* Two directions with the same functions share their programs. */
static lk_status add_programs(const recurrent_params *params, lk_recurrent *step, kernel_params *to,
                              lk_error *error) {
  static write_fn *const phases[][LK_RECURRENT_PHASES] = {
      [LK_RECURRENT_RNN] = {write_rnn},
      [LK_RECURRENT_GRU] = {write_gru_reset, write_gru_update},
      [LK_RECURRENT_GRU_LINEAR] = {write_gru_linear},
      [LK_RECURRENT_LSTM] = {write_lstm}};
  for (int64_t d = 0; d < params->directions; d++) {
    const layer of = {params, params->functions[d], step->has_peepholes};
    if (d > 0 && has_same_functions(params)) {
      memcpy(step->programs[d], step->programs[0], sizeof step->programs[0]);
      continue;
    }
    for (int i = 0; i < LK_RECURRENT_PHASES && phases[step->kind][i] != NULL; i++) {
      LK_RETURN_NOT_OK(add_program(&of, phases[step->kind][i], to, &step->programs[d][i], error));
    }
  }
  return LK_OK;
}

/* ---- the product by W ---- */

static recurrent_sizes find_sizes(const lk_planner *planner) {
  const recurrent_params *params = planner->node->params;
  const lk_tensor_desc *x = &planner->inputs[RECURRENT_X].desc;
  const uint32_t length = params->is_batch_first ? 1 : 0;
  const int64_t hidden = planner->inputs[RECURRENT_R].desc.dims[params->is_quantized ? 1 : 2];
  return (recurrent_sizes){x->dims[length], x->dims[1 - length], x->dims[2],
                           hidden,          params->directions,  params->gates * hidden};
}

/* GRU multiplies the candidate's recurrent bias by a gate, where it is linear before that. */
static lk_status plan_bias(lk_planner *planner, const recurrent_sizes *of, lk_operand *out,
                           lk_error *error) {
  const recurrent_params *params = planner->node->params;
  const int64_t all = of->directions * of->columns;
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 1, &all);
  const bool is_linear = params->kind == LK_RECURRENT_GRU_LINEAR;
  const lk_recurrent_bias step = {.directions = of->directions,
                                  .columns = of->columns,
                                  .summed = of->columns - (is_linear ? of->hidden : 0)};
  lk_operand operands[2];
  LK_RETURN_NOT_OK(lk_planner_input(planner, RECURRENT_B, LK_LAYOUT_PLAIN, &operands[0], error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &operands[1], error));
  *out = operands[1];
  return lk_planner_kernel(planner, lk_recurrent_bias_kernel, "bias", &step, sizeof step, operands,
                           2, error);
}

/* The sums of biases are added to what the product of bytes left. */
static lk_status add_bias(lk_planner *planner, const recurrent_sizes *of, const lk_operand *gates,
                          lk_error *error) {
  lk_chain chain;
  lk_operand bias;
  if (!lk_op_has(planner->node, RECURRENT_B)) return LK_OK;
  LK_RETURN_NOT_OK(plan_bias(planner, of, &bias, error));
  lk_chain_begin_at(planner, gates, &chain);
  const lk_element_value product = lk_chain_operand(&chain, gates);
  const lk_element_value added = lk_chain_operand(&chain, &bias);
  chain.value = lk_element_binary(&chain.program, LK_ELEMENT_ADD, product, added);
  return lk_chain_step(&chain, error);
}

/* All inputs by W of all directions, as one product, into a temporary. */
static lk_status plan_gates(lk_planner *planner, const recurrent_sizes *of, lk_operand *out_gates,
                            lk_error *error) {
  const recurrent_params *params = planner->node->params;
  const int64_t dims[] = {of->length, of->batch, of->directions * of->columns};
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 3, dims);
  const bool has_bias = lk_op_has(planner->node, RECURRENT_B);
  lk_operand bias;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, out_gates, error));
  if (of->length == 0) return LK_OK;
  if (params->is_quantized) {
    LK_RETURN_NOT_OK(recurrent_quantized_gates(planner, of, out_gates, error));
    return add_bias(planner, of, out_gates, error);
  }
  lk_matmul step = {.rows = of->length * of->batch,
                    .columns = dims[2],
                    .k = of->width,
                    .a_row = of->width,
                    .a_k = 1,
                    .b_k = 1,
                    .b_column = of->width,
                    .c_row = dims[2]};
  if (has_bias) LK_RETURN_NOT_OK(plan_bias(planner, of, &bias, error));
  return lk_plan_projection(planner, &step, has_bias ? &bias : NULL, out_gates, error);
}

/* ---- the recurrence ---- */

/* R as one product, or as two where the candidate of a GRU is computed apart. */
static void plan_weights(const recurrent_sizes *of, lk_recurrent *step) {
  const bool is_linear = step->kind == LK_RECURRENT_GRU_LINEAR;
  const bool has_candidate = step->kind == LK_RECURRENT_GRU || is_linear;
  step->weights = (lk_recurrent_weights){.directions = of->directions,
                                         .hidden = of->hidden,
                                         .columns = of->columns,
                                         .n_parts = has_candidate ? 2 : 1};
  for (int64_t i = 0; i < step->weights.n_parts; i++) {
    const int64_t first = has_candidate ? of->columns - of->hidden : of->columns;
    lk_product *part = &step->weights.parts[i];
    *part = (lk_product){.micro = lk_micro_get(lk_isa_get()),
                         .rows = of->batch,
                         .columns = i == 0 ? first : of->hidden,
                         .taps = 1,
                         .k = of->hidden,
                         .c_step = is_linear && i == 1 ? of->hidden : step->gates_row,
                         .c_rows = 1,
                         .groups = 1,
                         .low = -INFINITY,
                         .high = INFINITY};
    lk_product_plan(part, of->hidden * (int64_t)sizeof(float));
  }
}

static lk_recurrent begin_step(const lk_planner *planner, const recurrent_sizes *of) {
  const lk_op_node *node = planner->node;
  const recurrent_params *params = node->params;
  const bool is_batch_first = params->is_batch_first;
  const int64_t hidden = of->hidden, directions = of->directions;
  const int64_t all_columns = directions * of->columns;
  lk_recurrent step = {.kind = params->kind,
                       .is_reverse = params->is_reverse,
                       .has_bias =
                           params->kind == LK_RECURRENT_GRU_LINEAR && lk_op_has(node, RECURRENT_B),
                       .has_lengths = lk_op_has(node, RECURRENT_LENGTHS),
                       .has_h = lk_op_has(node, RECURRENT_H),
                       .has_c = lk_op_has(node, RECURRENT_C),
                       .has_peepholes = lk_op_has(node, RECURRENT_P),
                       .length = of->length,
                       .batch = of->batch,
                       .gates_time = all_columns * (is_batch_first ? 1 : of->batch),
                       .gates_row = all_columns * (is_batch_first ? of->length : 1),
                       .y_time = directions * hidden * (is_batch_first ? 1 : of->batch),
                       .y_direction = hidden * (is_batch_first ? 1 : of->batch),
                       .y_row = hidden * (is_batch_first ? of->length * directions : 1),
                       .state_direction = hidden * (is_batch_first ? 1 : of->batch),
                       .state_row = hidden * (is_batch_first ? directions : 1)};
  plan_weights(of, &step);
  return step;
}

/* Output `index` where it is wanted, else a temporary of the state's size. */
static lk_status add_state(lk_planner *planner, const recurrent_sizes *of, uint32_t index,
                           lk_operand *out, lk_error *error) {
  if (index > 0 && index < planner->node->n_outputs) {
    return lk_planner_output(planner, index, LK_LAYOUT_PLAIN, out, error);
  }
  const lk_tensor_desc desc =
      lk_tensor_desc_make(LK_F32, 3, (int64_t[]){of->directions, of->batch, of->hidden});
  return lk_planner_temp(planner, &desc, out, error);
}

/* Operands behind R. */
static lk_status add_operands(lk_planner *planner, const recurrent_sizes *of,
                              const lk_recurrent *step, lk_operand *operands, uint32_t *inout_count,
                              lk_error *error) {
  uint32_t n = *inout_count;
  const bool is_lstm = step->kind == LK_RECURRENT_LSTM;
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &operands[n++], error));
  LK_RETURN_NOT_OK(add_state(planner, of, 1, &operands[n++], error));
  if (is_lstm) LK_RETURN_NOT_OK(add_state(planner, of, 2, &operands[n++], error));
  if (!is_lstm && step->kind != LK_RECURRENT_RNN) {
    LK_RETURN_NOT_OK(add_state(planner, of, 0, &operands[n++], error));
  }
  const bool has[] = {[RECURRENT_B] = step->has_bias,
                      [RECURRENT_LENGTHS] = step->has_lengths,
                      [RECURRENT_H] = step->has_h,
                      [RECURRENT_C] = step->has_c,
                      [RECURRENT_P] = step->has_peepholes};
  for (uint32_t i = RECURRENT_B; i <= RECURRENT_P; i++) {
    if (!has[i]) continue;
    LK_RETURN_NOT_OK(lk_planner_input(planner, i, LK_LAYOUT_PLAIN, &operands[n++], error));
  }
  *inout_count = n;
  return LK_OK;
}

static lk_status add_r(lk_planner *planner, const recurrent_sizes *of, const lk_recurrent *step,
                       lk_recurrent_integer *out_integer, lk_operand *out, lk_error *error) {
  const recurrent_params *params = planner->node->params;
  return params->is_quantized ? recurrent_quantized_r(planner, of, out_integer, out, error)
                              : lk_recurrent_r(planner, &step->weights, out, error);
}

lk_status recurrent_plan(lk_planner *planner, lk_error *error) {
  const recurrent_params *of_node = planner->node->params;
  const recurrent_sizes of = find_sizes(planner);
  lk_operand operands[14];
  uint32_t n = 2;
  lk_recurrent_integer integer = {0};
  lk_recurrent step = begin_step(planner, &of);
  LK_RETURN_NOT_OK(plan_gates(planner, &of, &operands[0], error));
  LK_RETURN_NOT_OK(add_r(planner, &of, &step, &integer, &operands[1], error));
  LK_RETURN_NOT_OK(add_operands(planner, &of, &step, operands, &n, error));
  kernel_params params = {.size = rounded(sizeof step)};
  const size_t most = params.size + rounded(sizeof integer) +
                      LK_RECURRENT_DIRECTIONS * LK_RECURRENT_PHASES * rounded(sizeof(lk_element));
  params.bytes = lk_bump_alloc(&planner->memory, most);
  if (params.bytes == NULL) return lk_fail_memory(error, "a kernel's parameters", most);
  if (of_node->is_quantized) {
    LK_RETURN_NOT_OK(recurrent_quantized_ends(planner, &integer, operands + n, error));
    n += 3;
    step.integer = (uint32_t)params.size;
    memcpy(params.bytes + params.size, &integer, sizeof integer);
    params.size += rounded(sizeof integer);
  }
  LK_RETURN_NOT_OK(add_programs(of_node, &step, &params, error));
  memcpy(params.bytes, &step, sizeof step);
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_recurrent_kernel, "recurrence", params.bytes,
                                     params.size, operands, n, error));
  lk_planner_flops(planner, lk_recurrent_operations(&step));
  return LK_OK;
}
