/* What the files of recurrent layers share. */
#pragma once

#include "ops/kernel/sequence/recurrent.h"
#include "ops/plan/work.h"

/* A task of such a layer, and the sizes of all of its steps. */
typedef struct lk_recurrent_layer {
  const lk_task *task;
  int64_t length, batch, width, hidden, directions;
  int64_t columns; /* of a direction: gates times hidden */
} lk_recurrent_layer;

/* ---- of bytes (recurrent_quantized.c) ---- */

/* Src by the weights of all directions into `gates`, [time, batch][directions][columns]. */
lk_status lk_recurrent_quantized_gates(lk_planner *planner, const lk_recurrent_layer *of,
                                       const lk_operand *gates, lk_error *error);
/* Recurrent weights, packed, and what belongs to them. */
lk_status lk_recurrent_quantized_r(lk_planner *planner, const lk_recurrent_layer *of,
                                   lk_recurrent_integer *out_integer, lk_operand *out_r,
                                   lk_error *error);
/* The operands behind all others: scales and zero points of recurrent weights, scratch memory. */
lk_status lk_recurrent_quantized_ends(lk_planner *planner, const lk_recurrent_layer *of,
                                      const lk_recurrent_integer *integer,
                                      lk_operand out_operands[3], lk_error *error);
