/* Recurrent layers: what ONNX's RNN, GRU and LSTM do from one time step to the next.
 *
 * The product of all inputs by W is there before. A step adds the product of the state by R to its
 * gates, and element programs (element.h), which the caller makes of the layer's functions, turn
 * gates and state into the next state. Rows of a batch do not depend on each other; so rows and
 * directions are what threads share.
 *
 * Bound: 2 * rows * gates * hidden * hidden operations a step, or R's bytes from the cache where
 * there are few rows.
 */
#pragma once

#include "ops/kernel/element/element.h"
#include "ops/kernel/product/product.h"
#include "ops/kernel/sequence/recurrent_integer.h"

/* Which programs a step has, with what operands: inputs, then outputs. Gates are numbered as in
 * ONNX; H and C are the state, before and behind; `other` is scratch memory. */
typedef enum lk_recurrent_kind {
  LK_RECURRENT_RNN,        /* (g0; H) */
  LK_RECURRENT_GRU,        /* (g0, g1, H; g0, other); product of `other`; (g2, g0, H; H) */
  LK_RECURRENT_GRU_LINEAR, /* `other` is H by the third part of R, plus its bias; (g0, g1, g2,
                              other, H; H) */
  LK_RECURRENT_LSTM        /* (g0, g1, g2, g3, C and, where there are, P's three; C, H) */
} lk_recurrent_kind;

enum { LK_RECURRENT_PARTS = 2, LK_RECURRENT_DIRECTIONS = 2, LK_RECURRENT_PHASES = 2 };

/* R, which is [directions][gates * hidden][hidden], as products read it: for each direction the
 * panels of each part, some of the columns, which is one product. */
typedef struct lk_recurrent_weights {
  int64_t directions, hidden, columns;
  int64_t n_parts;
  lk_product parts[LK_RECURRENT_PARTS]; /* planned */
} lk_recurrent_weights;

int64_t lk_recurrent_packed_size(const lk_recurrent_weights *self);
void lk_recurrent_pack(const lk_recurrent_weights *self, const float *r, float *packed);
void lk_recurrent_unpack(const lk_recurrent_weights *self, const float *packed, float *r);

/* The biases of the product by W: B, which is [directions][Wb, Rb][gates * hidden], summed. */
typedef struct lk_recurrent_bias {
  int64_t directions, columns;
  int64_t summed; /* columns that have Rb too: the others get it elsewhere */
} lk_recurrent_bias;

/* Params: lk_recurrent_bias. Pointers: B, [directions][columns]. */
lk_status lk_recurrent_bias_kernel(const void *params, void *const *pointers, lk_error *error);

/* Steps are in elements. The programs lie behind what matters of this struct. */
typedef struct lk_recurrent {
  int32_t kind; /* lk_recurrent_kind */
  bool is_reverse, has_bias, has_lengths, has_h, has_c, has_peepholes;
  int64_t length, batch;
  int64_t gates_time, gates_row;
  int64_t y_time, y_direction, y_row;
  int64_t state_direction, state_row; /* of H and C, before the first step and behind the last */
  lk_recurrent_weights weights;
  /* Where an lk_recurrent_integer begins, in bytes from here; 0: there is none, R is of f32. */
  uint32_t integer;
  /* Made by lk_element_plan_tile: where each begins, in bytes from here. */
  uint32_t programs[LK_RECURRENT_DIRECTIONS][LK_RECURRENT_PHASES];
} lk_recurrent;

/* Of all steps. */
double lk_recurrent_operations(const lk_recurrent *self);

/* The range of a quantized state spans rows, so threads share directions alone then; and in the
 * reverse direction, a row takes its first step with the others, from its own end. Both as in ONNX
 * Runtime on one thread.
 *
 * Params: lk_recurrent. Pointers: gates, [time, batch][directions][columns], which are lost; R,
 * packed; Y; the last H; the last C (LSTM alone); `other`, [directions][batch][hidden] (not RNN,
 * nor LSTM); then, each where there is one, B (LK_RECURRENT_GRU_LINEAR alone), lengths (i32), the
 * first H, the first C, P; with `integer`, scales and zero points of R, and
 * scratch memory of each direction. LK_OUT_OF_RANGE: a length is negative or more than there is. */
lk_status lk_recurrent_kernel(const void *params, void *const *pointers, lk_error *error);
