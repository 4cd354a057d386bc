/* The steps of recurrent layers: one matrix product of all inputs by their weights, then the
 * recurrence, whose activations are element programs. */
#include "ops/engine/native/recurrent.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/engine/native/native.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/product_steps.h"
#include "ops/plan/product_weights.h"

_Static_assert((int)LK_CELL_RNN == LK_RECURRENT_RNN && (int)LK_CELL_GRU == LK_RECURRENT_GRU &&
                   (int)LK_CELL_GRU_LINEAR == LK_RECURRENT_GRU_LINEAR &&
                   (int)LK_CELL_LSTM == LK_RECURRENT_LSTM &&
                   (int)LK_WORK_DIRECTIONS == LK_RECURRENT_DIRECTIONS,
               "kernels have the cells and directions of works");

/* ---- programs ---- */

/* Of one direction. */
typedef struct layer {
  const lk_work_recurrent *of;
  int64_t direction;
  bool has_peepholes;
} layer;

static lk_element_value input(lk_element_program *program) {
  return lk_element_input(program, LK_F32);
}

static lk_element_value unary(lk_element_program *program, lk_element_op op, lk_element_value x,
                              float p, float q) {
  return lk_element_unary(program, op, x, p, q);
}

/* One of ONNX's f, g and h: 0, 1 and 2. */
static lk_element_value call(const layer *self, lk_element_program *program, uint32_t function,
                             lk_element_value x) {
  const float alpha = self->of->alphas[self->direction][function];
  const float beta = self->of->betas[self->direction][function];
  switch ((lk_activation)self->of->activations[self->direction][function]) {
  case LK_ACTIVATION_AFFINE:
    return unary(program, LK_ELEMENT_LINEAR, x, alpha, beta);
  case LK_ACTIVATION_RELU:
    return unary(program, LK_ELEMENT_RELU, x, 0, 0);
  case LK_ACTIVATION_LEAKY_RELU:
    return unary(program, LK_ELEMENT_LEAKY_RELU, x, alpha, 0);
  case LK_ACTIVATION_THRESHOLDED_RELU:
    /* the operator of this name wants more than alpha, these layers want alpha too */
    return unary(program, LK_ELEMENT_THRESHOLD, x, nextafterf(alpha, -INFINITY), 0);
  case LK_ACTIVATION_SCALED_TANH:
    x = unary(program, LK_ELEMENT_TANH, unary(program, LK_ELEMENT_LINEAR, x, beta, 0), 0, 0);
    return unary(program, LK_ELEMENT_LINEAR, x, alpha, 0);
  case LK_ACTIVATION_SIGMOID:
    return unary(program, LK_ELEMENT_SIGMOID, x, 0, 0);
  case LK_ACTIVATION_HARD_SIGMOID:
    return unary(program, LK_ELEMENT_HARDSIGMOID, x, alpha, beta);
  case LK_ACTIVATION_ELU:
    return unary(program, LK_ELEMENT_ELU, x, alpha, 1);
  case LK_ACTIVATION_SOFTSIGN:
    return unary(program, LK_ELEMENT_SOFTSIGN, x, 0, 0);
  case LK_ACTIVATION_SOFTPLUS:
    return unary(program, LK_ELEMENT_SOFTPLUS, x, 0, 0);
  default:
    return unary(program, LK_ELEMENT_TANH, x, 0, 0);
  }
}

/* The function of a gate, on what is clipped. */
static lk_element_value gate(const layer *self, lk_element_program *program, uint32_t function,
                             lk_element_value x) {
  const float clip = self->of->clip;
  if (clip < INFINITY) x = unary(program, LK_ELEMENT_CLIP, x, -clip, clip);
  return call(self, program, function, x);
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
  if (self->of->couples_forget != 0) {
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
  const lk_element_value h = call(self, program, 2, c);
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

static bool has_same_activations(const lk_work_recurrent *of) {
  bool are_same = true;
  for (uint32_t i = 0; i < LK_WORK_ACTIVATIONS; i++) {
    are_same = are_same && of->activations[0][i] == of->activations[1][i] &&
               of->alphas[0][i] == of->alphas[1][i] && of->betas[0][i] == of->betas[1][i];
  }
  return are_same;
}

/* Two directions with the same activations share their programs. */
static lk_status add_programs(const lk_recurrent_layer *of, lk_recurrent *step, kernel_params *to,
                              lk_error *error) {
  static write_fn *const phases[][LK_RECURRENT_PHASES] = {
      [LK_RECURRENT_RNN] = {write_rnn},
      [LK_RECURRENT_GRU] = {write_gru_reset, write_gru_update},
      [LK_RECURRENT_GRU_LINEAR] = {write_gru_linear},
      [LK_RECURRENT_LSTM] = {write_lstm}};
  const lk_work_recurrent *work = &of->task->work.recurrent;
  for (int64_t d = 0; d < of->directions; d++) {
    const layer one = {work, d, step->has_peepholes};
    if (d > 0 && has_same_activations(work)) {
      memcpy(step->programs[d], step->programs[0], sizeof step->programs[0]);
      continue;
    }
    for (int i = 0; i < LK_RECURRENT_PHASES && phases[step->kind][i] != NULL; i++) {
      LK_RETURN_NOT_OK(add_program(&one, phases[step->kind][i], to, &step->programs[d][i], error));
    }
  }
  return LK_OK;
}

/* ---- the product by the weights of inputs ---- */

static bool is_quantized(const lk_task *task) {
  return lk_work_has(&task->work, LK_ROLE_WEIGHTS_SCALE);
}

static lk_recurrent_layer layer_of(const lk_task *task) {
  const lk_tensor_desc *tensors = task->work.tensors;
  const int64_t *x = tensors[LK_ROLE_SRC].dims;
  const int64_t *r = tensors[LK_ROLE_RECURRENT_WEIGHTS].dims; /* [directions][columns][hidden] */
  const uint32_t length = task->work.recurrent.batch_first != 0 ? 1 : 0;
  const uint32_t columns = is_quantized(task) ? 2 : 1;
  return (lk_recurrent_layer){.task = task,
                              .length = x[length],
                              .batch = x[1 - length],
                              .width = x[2],
                              .hidden = r[3 - columns],
                              .directions = r[0],
                              .columns = r[columns]};
}

/* GRU multiplies the candidate's recurrent bias by a gate, where it is linear before that. */
static lk_status plan_bias(lk_planner *planner, const lk_recurrent_layer *of, lk_operand *out,
                           lk_error *error) {
  const int64_t all = of->directions * of->columns;
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 1, &all);
  const bool is_linear = of->task->work.recurrent.cell == LK_CELL_GRU_LINEAR;
  const lk_recurrent_bias step = {.directions = of->directions,
                                  .columns = of->columns,
                                  .summed = of->columns - (is_linear ? of->hidden : 0)};
  lk_operand operands[2];
  LK_RETURN_NOT_OK(
      lk_task_take(planner, of->task, LK_ROLE_BIAS, LK_LAYOUT_PLAIN, &operands[0], error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &operands[1], error));
  *out = operands[1];
  return lk_planner_kernel(planner, lk_recurrent_bias_kernel, "bias", &step, sizeof step, operands,
                           2, error);
}

/* The sums of biases are added to what the product of bytes left. */
static lk_status add_bias(lk_planner *planner, const lk_recurrent_layer *of,
                          const lk_operand *gates, lk_error *error) {
  lk_chain chain;
  lk_operand bias;
  if (!lk_work_has(&of->task->work, LK_ROLE_BIAS)) return LK_OK;
  LK_RETURN_NOT_OK(plan_bias(planner, of, &bias, error));
  lk_chain_begin_at(planner, gates, &chain);
  const lk_element_value product = lk_chain_operand(&chain, gates);
  const lk_element_value added = lk_chain_operand(&chain, &bias);
  chain.value = lk_element_binary(&chain.program, LK_ELEMENT_ADD, product, added);
  return lk_chain_step(&chain, error);
}

/* All inputs by the weights of all directions, as one product, into a temporary. */
static lk_status plan_gates(lk_planner *planner, const lk_recurrent_layer *of,
                            lk_operand *out_gates, lk_error *error) {
  const int64_t dims[] = {of->length, of->batch, of->directions * of->columns};
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 3, dims);
  const bool has_bias = lk_work_has(&of->task->work, LK_ROLE_BIAS);
  lk_operand bias;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, out_gates, error));
  if (of->length == 0) return LK_OK;
  if (is_quantized(of->task)) {
    LK_RETURN_NOT_OK(lk_recurrent_quantized_gates(planner, of, out_gates, error));
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
  lk_operand from = *out_gates; /* sums of nothing read neither input */
  if (step.k > 0) LK_RETURN_NOT_OK(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &from, error));
  if (has_bias) LK_RETURN_NOT_OK(plan_bias(planner, of, &bias, error));
  return lk_plan_projection(planner, &step, &from, 1, has_bias ? &bias : NULL, out_gates, error);
}

/* ---- the recurrence ---- */

/* Recurrent weights as one product, or as two where the candidate of a GRU is computed apart. */
static void plan_weights(const lk_recurrent_layer *of, lk_recurrent *step) {
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

static lk_recurrent begin_step(const lk_recurrent_layer *of) {
  const lk_work *work = &of->task->work;
  const bool is_batch_first = work->recurrent.batch_first != 0;
  const bool is_linear = work->recurrent.cell == LK_CELL_GRU_LINEAR;
  const int64_t hidden = of->hidden, directions = of->directions;
  const int64_t all_columns = directions * of->columns;
  lk_recurrent step = {.kind = (int32_t)work->recurrent.cell,
                       .is_reverse = work->recurrent.direction == LK_DIRECTION_REVERSE,
                       .has_bias = is_linear && lk_work_has(work, LK_ROLE_BIAS),
                       .has_lengths = lk_work_has(work, LK_ROLE_LENGTHS),
                       .has_h = lk_work_has(work, LK_ROLE_STATE),
                       .has_c = lk_work_has(work, LK_ROLE_CELL),
                       .has_peepholes = lk_work_has(work, LK_ROLE_PEEPHOLES),
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

/* Of the size of a state. */
static lk_status add_temporary(lk_planner *planner, const lk_recurrent_layer *of, lk_operand *out,
                               lk_error *error) {
  const lk_tensor_desc desc =
      lk_tensor_desc_make(LK_F32, 3, (int64_t[]){of->directions, of->batch, of->hidden});
  return lk_planner_temp(planner, &desc, out, error);
}

/* The state or cell behind the last step where it is wanted, else a temporary of its size. */
static lk_status add_state(lk_planner *planner, const lk_recurrent_layer *of, lk_role role,
                           lk_operand *out, lk_error *error) {
  if (lk_work_has(&of->task->work, role)) {
    return lk_task_take(planner, of->task, role, LK_LAYOUT_PLAIN, out, error);
  }
  return add_temporary(planner, of, out, error);
}

/* Operands behind recurrent weights. */
static lk_status add_operands(lk_planner *planner, const lk_recurrent_layer *of,
                              const lk_recurrent *step, lk_operand *operands, uint32_t *inout_count,
                              lk_error *error) {
  static const lk_role others[] = {LK_ROLE_BIAS, LK_ROLE_LENGTHS, LK_ROLE_STATE, LK_ROLE_CELL,
                                   LK_ROLE_PEEPHOLES};
  const lk_task *task = of->task;
  uint32_t n = *inout_count;
  const bool is_lstm = step->kind == LK_RECURRENT_LSTM;
  LK_RETURN_NOT_OK(
      lk_task_take(planner, task, LK_ROLE_DST, LK_LAYOUT_PLAIN, &operands[n++], error));
  LK_RETURN_NOT_OK(add_state(planner, of, LK_ROLE_DST_STATE, &operands[n++], error));
  if (is_lstm) LK_RETURN_NOT_OK(add_state(planner, of, LK_ROLE_DST_CELL, &operands[n++], error));
  if (!is_lstm && step->kind != LK_RECURRENT_RNN) {
    LK_RETURN_NOT_OK(add_temporary(planner, of, &operands[n++], error));
  }
  for (size_t i = step->has_bias ? 0 : 1; i < sizeof others / sizeof *others; i++) {
    if (!lk_work_has(&task->work, others[i])) continue;
    LK_RETURN_NOT_OK(
        lk_task_take(planner, task, others[i], LK_LAYOUT_PLAIN, &operands[n++], error));
  }
  *inout_count = n;
  return LK_OK;
}

static lk_status add_r(lk_planner *planner, const lk_recurrent_layer *of, const lk_recurrent *step,
                       lk_recurrent_integer *out_integer, lk_operand *out, lk_error *error) {
  const uint32_t input = of->task->from[LK_ROLE_RECURRENT_WEIGHTS].index;
  return is_quantized(of->task) ? lk_recurrent_quantized_r(planner, of, out_integer, out, error)
                                : lk_recurrent_r(planner, &step->weights, input, out, error);
}

static lk_status plan(lk_planner *planner, const lk_task *task, lk_error *error) {
  const lk_recurrent_layer of = layer_of(task);
  lk_operand operands[14];
  uint32_t n = 2;
  lk_recurrent_integer integer = {0};
  lk_recurrent step = begin_step(&of);
  LK_RETURN_NOT_OK(plan_gates(planner, &of, &operands[0], error));
  LK_RETURN_NOT_OK(add_r(planner, &of, &step, &integer, &operands[1], error));
  LK_RETURN_NOT_OK(add_operands(planner, &of, &step, operands, &n, error));
  kernel_params params = {.size = rounded(sizeof step)};
  const size_t most = params.size + rounded(sizeof integer) +
                      LK_RECURRENT_DIRECTIONS * LK_RECURRENT_PHASES * rounded(sizeof(lk_element));
  params.bytes = lk_bump_alloc(&planner->memory, most);
  if (params.bytes == NULL) return lk_fail_memory(error, "a kernel's parameters", most);
  if (is_quantized(task)) {
    LK_RETURN_NOT_OK(lk_recurrent_quantized_ends(planner, &of, &integer, operands + n, error));
    n += 3;
    step.integer = (uint32_t)params.size;
    memcpy(params.bytes + params.size, &integer, sizeof integer);
    params.size += rounded(sizeof integer);
  }
  LK_RETURN_NOT_OK(add_programs(&of, &step, &params, error));
  memcpy(params.bytes, &step, sizeof step);
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_recurrent_kernel, "recurrence", params.bytes,
                                     params.size, operands, n, error));
  lk_planner_flops(planner, lk_recurrent_operations(&step));
  return LK_OK;
}

const lk_planning lk_native_recurrent = {.plan = plan};
