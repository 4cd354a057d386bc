/* What the files of RNN, GRU and LSTM share: the attributes, read. */
#pragma once

#include "ops/kernel/sequence/recurrent.h"
#include "ops/plan/planner.h"

enum {
  RECURRENT_X,
  RECURRENT_W,
  RECURRENT_R,
  RECURRENT_B,
  RECURRENT_LENGTHS,
  RECURRENT_H,
  RECURRENT_C,
  RECURRENT_P,
  /* where W and R are bytes, which lie [input or hidden_size, gates times hidden_size] then */
  RECURRENT_W_SCALE,
  RECURRENT_W_ZERO,
  RECURRENT_R_SCALE,
  RECURRENT_R_ZERO,
  RECURRENT_INPUTS
};
enum { RECURRENT_FUNCTIONS = 3 }; /* f, g and h */

typedef enum recurrent_function_kind {
  RECURRENT_AFFINE,
  RECURRENT_RELU,
  RECURRENT_LEAKY_RELU,
  RECURRENT_THRESHOLDED_RELU,
  RECURRENT_TANH,
  RECURRENT_SCALED_TANH,
  RECURRENT_SIGMOID,
  RECURRENT_HARD_SIGMOID,
  RECURRENT_ELU,
  RECURRENT_SOFTSIGN,
  RECURRENT_SOFTPLUS,
  RECURRENT_FUNCTION_KINDS
} recurrent_function_kind;

typedef struct recurrent_function {
  int32_t kind; /* recurrent_function_kind */
  float alpha, beta;
} recurrent_function;

typedef struct recurrent_params {
  int32_t kind; /* lk_recurrent_kind */
  bool is_reverse, is_batch_first, couples_forget, is_quantized;
  int64_t directions, gates;
  int64_t hidden; /* -1: not given */
  float clip;     /* INFINITY: none */
  recurrent_function functions[LK_RECURRENT_DIRECTIONS][RECURRENT_FUNCTIONS];
} recurrent_params;

/* Sizes of all steps. */
typedef struct recurrent_sizes {
  int64_t length, batch, width, hidden, directions;
  int64_t columns; /* of a direction */
} recurrent_sizes;

/* ---- of bytes (recurrent_quantized.c) ---- */

/* All inputs by W of all directions into `gates`, [time, batch][directions][columns]. */
lk_status recurrent_quantized_gates(lk_planner *planner, const recurrent_sizes *of,
                                    const lk_operand *gates, lk_error *error);
/* R, packed, and what belongs to it. */
lk_status recurrent_quantized_r(lk_planner *planner, const recurrent_sizes *of,
                                lk_recurrent_integer *out_integer, lk_operand *out_r,
                                lk_error *error);
/* The operands behind all others: R's scales, its zero points, scratch memory. */
lk_status recurrent_quantized_ends(lk_planner *planner, const lk_recurrent_integer *integer,
                                   lk_operand out_operands[3], lk_error *error);

/* lk_op_class.plan of all of them. */
lk_status recurrent_plan(lk_planner *planner, lk_error *error);
