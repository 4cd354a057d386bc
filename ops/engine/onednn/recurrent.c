#include "ops/engine/onednn/recurrent.h"

#include <math.h>

/* ---- sizes ---- */

lk_recurrent_sizes lk_onednn_recurrent_sizes_of(const lk_work *work) {
  static const int64_t gates[] = {[LK_CELL_RNN] = 1, [LK_CELL_GRU_LINEAR] = 3, [LK_CELL_LSTM] = 4};
  const int64_t *x = work->tensors[LK_ROLE_SRC].dims;
  const int64_t *r = work->tensors[LK_ROLE_RECURRENT_WEIGHTS].dims;
  const uint32_t cell = work->recurrent.cell, step = work->recurrent.batch_first != 0 ? 1 : 0;
  return (lk_recurrent_sizes){.steps = x[step],
                              .batch = x[1 - step],
                              .width = x[2],
                              .hidden = r[2],
                              .directions = r[0],
                              .gates = gates[cell],
                              .biases = gates[cell] + (cell == LK_CELL_GRU_LINEAR ? 1 : 0),
                              .is_batch_first = step == 1 && x[0] > 1};
}

const uint32_t *lk_onednn_recurrent_order(const lk_work *work) {
  static const uint32_t as_it_is[LK_RECURRENT_GATES] = {0, 1, 2, 3};
  static const uint32_t of_lstm[LK_RECURRENT_GATES] = {0, 2, 3, 1}; /* i, f, c, o of i, o, f, c */
  return work->recurrent.cell == LK_CELL_LSTM ? of_lstm : as_it_is;
}

/* Of one matrix product of a step, for all directions. */
static double product_flops(const lk_recurrent_sizes *of, int64_t inputs) {
  return 2 * (double)of->directions * (double)of->batch * (double)inputs * (double)of->gates *
         (double)of->hidden;
}

double lk_onednn_recurrent_step_flops(const lk_work *work) {
  const lk_recurrent_sizes of = lk_onednn_recurrent_sizes_of(work);
  const double step = product_flops(&of, of.width + of.hidden) / (double)of.directions;
  const double merged = product_flops(&of, of.width) * (double)of.steps / (double)of.directions;
  return of.batch == 1 ? fmax(step, merged) : step;
}

double lk_onednn_recurrent_flops(const lk_work *work) {
  const lk_recurrent_sizes of = lk_onednn_recurrent_sizes_of(work);
  return product_flops(&of, of.width + of.hidden) * (double)of.steps;
}

/* ---- what oneDNN has ---- */

/* A run that is to end still goes through all steps, though it computes nothing in them. oneDNN
 * keeps distances of rows in 32 bits. */
enum { MOST_STEPS = 1 << 12, MOST_OF_SIZE = 1 << 14, MOST_ELEMENTS = 1 << 30 };

static bool is_small(const lk_work *work) {
  const lk_recurrent_sizes of = lk_onednn_recurrent_sizes_of(work);
  if (of.width > MOST_OF_SIZE || of.hidden > MOST_OF_SIZE) return false;
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (lk_onednn_has(work, role) && lk_onednn_elements(&work->tensors[role]) > MOST_ELEMENTS) {
      return false;
    }
  }
  return true;
}

static bool is_of_f32(const lk_work *work) {
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (lk_onednn_has(work, role) && work->tensors[role].dtype != LK_F32) return false;
  }
  return true;
}

/* dnnl_alg_kind_undef: oneDNN does not have it as the function of an RNN, or makes a number of NaN,
 * as of Relu. */
static dnnl_alg_kind_t activation_of(const lk_work_recurrent *of) {
  switch (of->activations[0][0]) {
  case LK_ACTIVATION_TANH:
    return dnnl_eltwise_tanh;
  case LK_ACTIVATION_SIGMOID:
    return dnnl_eltwise_logistic;
  default:
    return dnnl_alg_kind_undef;
  }
}

/* Those of GRU and LSTM are fixed, and both directions have the same. */
static bool has_activations(const lk_work *work) {
  static const uint32_t fixed[] = {LK_ACTIVATION_SIGMOID, LK_ACTIVATION_TANH, LK_ACTIVATION_TANH};
  const lk_work_recurrent *of = &work->recurrent;
  const uint32_t directions = of->direction == LK_DIRECTION_BOTH ? 2 : 1;
  if (of->cell == LK_CELL_RNN) {
    return activation_of(of) != dnnl_alg_kind_undef &&
           (directions == 1 || of->activations[1][0] == of->activations[0][0]);
  }
  const uint32_t count = of->cell == LK_CELL_LSTM ? 3 : 2;
  for (uint32_t i = 0; i < directions * count; i++) {
    if (of->activations[i / count][i % count] != fixed[i % count]) return false;
  }
  return true;
}

const char *lk_onednn_recurrent_left(const lk_work *work) {
  const uint32_t weights = 1U << LK_ROLE_WEIGHTS | 1U << LK_ROLE_RECURRENT_WEIGHTS;
  const lk_work_recurrent *of = &work->recurrent;
  if ((work->constants & weights) != weights) {
    return "weights come with a run";
  }
  /* 3.14.1: 1.3 to 5 times as long as native */
  if (of->cell == LK_CELL_GRU) {
    return "oneDNN has only a reference implementation, unless linear_before_reset is 1";
  }
  if (lk_onednn_has(work, LK_ROLE_LENGTHS)) return "sequences have lengths of their own";
  if (!is_of_f32(work)) return "its tensors are of several types";
  if (of->clip < INFINITY) return "sums are clipped";
  if (of->couples_forget != 0) return "the forget gate is coupled to the input gate";
  if (!has_activations(work)) return "oneDNN does not have its activations, or loses NaN in them";
  if (!is_small(work)) return "the layer is too large";
  const lk_recurrent_sizes sizes = lk_onednn_recurrent_sizes_of(work);
  if (sizes.steps > MOST_STEPS) return "its steps are more than a cancelled run may go through";
  if (sizes.directions == 2 && sizes.batch > 1 && !sizes.is_batch_first) {
    return "oneDNN has both directions of a row side by side";
  }
  return NULL;
}

/* ---- tensors ---- */

bool lk_onednn_recurrent_wants(const lk_work *work, uint32_t role) {
  static const uint32_t others[LK_ROLES] = {[LK_ROLE_STATE] = LK_ROLE_CELL,
                                            [LK_ROLE_CELL] = LK_ROLE_STATE,
                                            [LK_ROLE_DST_STATE] = LK_ROLE_DST_CELL,
                                            [LK_ROLE_DST_CELL] = LK_ROLE_DST_STATE};
  if (lk_onednn_has(work, role) || role == LK_ROLE_BIAS) return true;
  return work->recurrent.cell == LK_CELL_LSTM && others[role] != 0 &&
         lk_onednn_has(work, others[role]);
}

static lk_strided of_steps(const lk_recurrent_sizes *of, int64_t columns) {
  return (lk_strided){.rank = 3,
                      .type = dnnl_f32,
                      .dims = {of->steps, of->batch, columns},
                      .strides = {of->is_batch_first ? columns : of->batch * columns,
                                  of->is_batch_first ? of->steps * columns : columns, 1}};
}

static lk_strided of_state(const lk_recurrent_sizes *of) {
  const int64_t hidden = of->hidden;
  return (lk_strided){.rank = 4,
                      .type = dnnl_f32,
                      .dims = {1, of->directions, of->batch, hidden},
                      .strides = {of->directions * of->batch * hidden,
                                  of->is_batch_first ? hidden : of->batch * hidden,
                                  of->is_batch_first ? of->directions * hidden : hidden, 1}};
}

/* Inputs, one gate of one direction, outputs: of plain weights, where outputs come first. */
static lk_strided of_gate(const lk_recurrent_sizes *of, int64_t inputs) {
  const int64_t gate = of->hidden * inputs, all = of->gates * gate;
  return (lk_strided){.rank = 5,
                      .type = dnnl_f32,
                      .dims = {1, 1, inputs, 1, of->hidden},
                      .strides = {of->directions * all, all, 1, gate, inputs}};
}

static lk_strided of_vectors(const lk_recurrent_sizes *of, int64_t count) {
  const int64_t dims[] = {1, of->directions, count, of->hidden};
  return lk_strided_plain(LK_F32, 4, dims);
}

lk_strided lk_onednn_recurrent_strided(const lk_work *work, uint32_t role) {
  const lk_recurrent_sizes of = lk_onednn_recurrent_sizes_of(work);
  switch (role) {
  case LK_ROLE_SRC:
    return of_steps(&of, of.width);
  case LK_ROLE_DST:
    return of_steps(&of, of.directions * of.hidden);
  case LK_ROLE_WEIGHTS:
    return of_gate(&of, of.width);
  case LK_ROLE_RECURRENT_WEIGHTS:
    return of_gate(&of, of.hidden);
  case LK_ROLE_BIAS:
    return of_vectors(&of, of.biases);
  case LK_ROLE_PEEPHOLES:
    return of_vectors(&of, 3);
  default:
    return of_state(&of);
  }
}

/* ---- the primitive ---- */

static dnnl_rnn_direction_t direction_of(const lk_work *work) {
  switch (work->recurrent.direction) {
  case LK_DIRECTION_FORWARD:
    return dnnl_unidirectional_left2right;
  case LK_DIRECTION_REVERSE:
    return dnnl_unidirectional_right2left;
  default:
    return dnnl_bidirectional_concat;
  }
}

/* Weights as the primitive is quickest with them, all others as they lie. */
static dnnl_status_t describe_role(const lk_work *work, uint32_t role, dnnl_memory_desc_t *out) {
  lk_strided of = lk_onednn_recurrent_strided(work, role);
  if (role != LK_ROLE_WEIGHTS && role != LK_ROLE_RECURRENT_WEIGHTS) {
    return lk_strided_describe(&of, out);
  }
  const lk_recurrent_sizes sizes = lk_onednn_recurrent_sizes_of(work);
  of.dims[1] = sizes.directions;
  of.dims[3] = sizes.gates;
  return dnnl_memory_desc_create_with_tag(out, of.rank, of.dims, of.type, dnnl_format_tag_any);
}

dnnl_status_t lk_onednn_recurrent_describe(const lk_work *work, dnnl_engine_t engine,
                                           const_dnnl_primitive_attr_t attr,
                                           dnnl_memory_desc_t of[LK_ROLES],
                                           dnnl_primitive_desc_t *out_desc) {
  const dnnl_rnn_direction_t direction = direction_of(work);
  const unsigned flags = dnnl_rnn_flags_undef;
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (!lk_onednn_recurrent_wants(work, role)) continue;
    const dnnl_status_t status = describe_role(work, role, &of[role]);
    if (status != dnnl_success) return status;
  }
  switch (work->recurrent.cell) {
  case LK_CELL_RNN:
    return dnnl_vanilla_rnn_forward_primitive_desc_create(
        out_desc, engine, dnnl_forward_inference, activation_of(&work->recurrent), direction,
        of[LK_ROLE_SRC], of[LK_ROLE_STATE], of[LK_ROLE_WEIGHTS], of[LK_ROLE_RECURRENT_WEIGHTS],
        of[LK_ROLE_BIAS], of[LK_ROLE_DST], of[LK_ROLE_DST_STATE], flags, 0, 0, attr);
  case LK_CELL_GRU_LINEAR:
    return dnnl_lbr_gru_forward_primitive_desc_create(
        out_desc, engine, dnnl_forward_inference, direction, of[LK_ROLE_SRC], of[LK_ROLE_STATE],
        of[LK_ROLE_WEIGHTS], of[LK_ROLE_RECURRENT_WEIGHTS], of[LK_ROLE_BIAS], of[LK_ROLE_DST],
        of[LK_ROLE_DST_STATE], flags, attr);
  default:
    return dnnl_lstm_forward_primitive_desc_create(
        out_desc, engine, dnnl_forward_inference, direction, of[LK_ROLE_SRC], of[LK_ROLE_STATE],
        of[LK_ROLE_CELL], of[LK_ROLE_WEIGHTS], of[LK_ROLE_RECURRENT_WEIGHTS], of[LK_ROLE_PEEPHOLES],
        NULL, of[LK_ROLE_BIAS], of[LK_ROLE_DST], of[LK_ROLE_DST_STATE], of[LK_ROLE_DST_CELL], flags,
        attr);
  }
}
