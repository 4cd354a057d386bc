/* What the files of RNN, GRU and LSTM share: the attributes, read. */
#pragma once

#include "ops/kernel/recurrent.h"
#include "ops/plan/planner.h"

enum {
  RECURRENT_X,
  RECURRENT_W,
  RECURRENT_R,
  RECURRENT_B,
  RECURRENT_LENGTHS,
  RECURRENT_H,
  RECURRENT_C,
  RECURRENT_P
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
  bool is_reverse, is_batch_first, couples_forget;
  int64_t directions, gates;
  int64_t hidden; /* -1: not given */
  float clip;     /* INFINITY: none */
  recurrent_function functions[LK_RECURRENT_DIRECTIONS][RECURRENT_FUNCTIONS];
} recurrent_params;

/* lk_op_class.plan of all of them. */
lk_status recurrent_plan(lk_planner *planner, lk_error *error);
