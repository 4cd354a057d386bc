/* Recurrent layers: what ONNX's RNN, GRU and LSTM do from one time step to the next. */
#include "ops/kernel/sequence/recurrent.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/team/look.h"
#include "base/team/team.h"
#include "ops/kernel/kernel.h"
#include "ops/kernel/sizes.h"

/* Rows that are shared with other threads at a time: fewer do not keep the adders busy. */
enum { TURN_ROWS = 4 };

/* ---- R ---- */

static int64_t direction_size(const lk_recurrent_weights *self) {
  int64_t size = 0;
  for (int64_t i = 0; i < self->n_parts; i++) size += lk_product_packed_size(&self->parts[i]);
  return size;
}

int64_t lk_recurrent_packed_size(const lk_recurrent_weights *self) {
  return self->directions * direction_size(self);
}

/* Each part of each direction, there or back. */
static void repack(const lk_recurrent_weights *self, const float *from, float *to, bool is_back) {
  for (int64_t i = 0; i < self->directions * self->n_parts; i++) {
    const lk_product *part = &self->parts[i % self->n_parts];
    const int64_t plain = part->columns * self->hidden, packed = lk_product_packed_size(part);
    if (is_back) {
      lk_product_unpack(part, from, self->hidden, 0, 1, to);
    } else {
      lk_product_pack(part, from, self->hidden, 0, 1, 0, part->panels, to);
    }
    from += is_back ? packed : plain;
    to += is_back ? plain : packed;
  }
}

void lk_recurrent_pack(const lk_recurrent_weights *self, const float *r, float *packed) {
  repack(self, r, packed, false);
}

void lk_recurrent_unpack(const lk_recurrent_weights *self, const float *packed, float *r) {
  repack(self, packed, r, true);
}

/* ---- biases ---- */

lk_status lk_recurrent_bias_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_recurrent_bias *self = params;
  const float *b = pointers[0];
  float *to = pointers[1];
  (void)error;
  for (int64_t d = 0; d < self->directions; d++, b += 2 * self->columns, to += self->columns) {
    for (int64_t i = 0; i < self->summed; i++) to[i] = b[i] + b[self->columns + i];
    for (int64_t i = self->summed; i < self->columns; i++) to[i] = b[i];
  }
  return LK_OK;
}

/* ---- operands ---- */

/* Those of one direction, for the first time and row; NULL where there is none. */
typedef struct operands {
  const lk_recurrent *self;
  float *gates, *y, *h, *c, *other;
  const float *r, *bias, *first_h, *first_c, *peepholes;
  const int32_t *lengths;
  const uint32_t *programs;
  bool is_reverse;
  bool is_quantized;
  lk_recurrent_bytes bytes;
} operands;

static operands read_pointers(const lk_recurrent *self, void *const *pointers, int64_t direction) {
  const int64_t hidden = self->weights.hidden, columns = self->weights.columns;
  const int64_t state = direction * self->state_direction;
  const bool is_lstm = self->kind == LK_RECURRENT_LSTM;
  uint32_t n = 0;
  operands of = {.self = self,
                 .programs = self->programs[direction],
                 .is_quantized = self->integer != 0,
                 .is_reverse = self->is_reverse || direction > 0};
  of.gates = (float *)pointers[n++] + direction * columns;
  const float *r = pointers[n++];
  of.r = of.is_quantized ? NULL : r + direction * direction_size(&self->weights);
  of.y = (float *)pointers[n++] + direction * self->y_direction;
  of.h = (float *)pointers[n++] + state;
  if (is_lstm) of.c = (float *)pointers[n++] + state;
  if (!is_lstm && self->kind != LK_RECURRENT_RNN) {
    of.other = (float *)pointers[n++] + direction * self->batch * hidden;
  }
  if (self->has_bias) {
    /* the last of the gates' vectors in Rb */
    of.bias = (const float *)pointers[n++] + 2 * (direction + 1) * columns - hidden;
  }
  if (self->has_lengths) of.lengths = pointers[n++];
  if (self->has_h) of.first_h = (const float *)pointers[n++] + state;
  if (self->has_c) of.first_c = (const float *)pointers[n++] + state;
  if (self->has_peepholes) of.peepholes = (const float *)pointers[n++] + direction * 3 * hidden;
  if (of.is_quantized) {
    const void *integer = (const char *)self + self->integer;
    of.bytes = lk_recurrent_bytes_make(integer, direction, r, pointers[n], pointers[n + 1],
                                       pointers[n + 2]);
  }
  return of;
}

/* ---- products ---- */

/* `rows` rows by a part of R, plus `init`, or `bias` for each row. */
static void multiply(const operands *of, int64_t part, const float *a, int64_t a_row, int64_t rows,
                     const float *init, const float *bias, float *to) {
  const lk_recurrent_weights *weights = &of->self->weights;
  lk_product product = weights->parts[part];
  product.rows = rows;
  product.row_block = lk_min(product.row_block, rows);
  lk_product_rows source = lk_product_rows_make(&product, a, a_row, 1);
  lk_product_operands ends = {.b = of->r, .groups = 1, .bias = bias, .residual = init, .c = to};
  for (int64_t i = 0; i < part; i++) ends.b += lk_product_packed_size(&weights->parts[i]);
  const int64_t tasks = lk_product_tasks(&product);
  for (int64_t i = 0; i < tasks; i++) lk_product_run(&product, &ends, &source.source, i);
}

/* ---- a step ---- */

static lk_element_ref ref_of(const float *at, int64_t row) {
  return (lk_element_ref){(char *)(uintptr_t)at, row * (int64_t)sizeof *at};
}

static void apply(const operands *of, uint32_t phase, int64_t rows, const lk_element_ref *refs) {
  const void *program = (const char *)of->self + of->programs[phase];
  (void)lk_element_apply(program, rows, of->self->weights.hidden, refs); /* of f32: no fault */
}

static void step_lstm(const operands *of, int64_t rows, int64_t row, float *gates) {
  const lk_recurrent *self = of->self;
  const int64_t hidden = self->weights.hidden, state = row * self->state_row;
  const lk_element_ref h = ref_of(of->h + state, self->state_row);
  const lk_element_ref c = ref_of(of->c + state, self->state_row);
  lk_element_ref refs[10];
  uint32_t n = 0;
  for (; n < 4; n++) refs[n] = ref_of(gates + n * hidden, self->gates_row);
  refs[n++] = c;
  for (int64_t i = 0; self->has_peepholes && i < 3; i++) {
    refs[n++] = ref_of(of->peepholes + i * hidden, 0);
  }
  refs[n++] = c;
  refs[n++] = h;
  apply(of, 0, rows, refs);
}

static void step_gru(const operands *of, int64_t rows, int64_t row, float *gates) {
  const lk_recurrent *self = of->self;
  const int64_t hidden = self->weights.hidden, gates_row = self->gates_row;
  float *last = gates + 2 * hidden, *at = of->other + row * hidden;
  const lk_element_ref update = ref_of(gates, gates_row), reset = ref_of(gates + hidden, gates_row);
  const lk_element_ref h = ref_of(of->h + row * self->state_row, self->state_row);
  const lk_element_ref candidate = ref_of(last, gates_row), other = ref_of(at, hidden);
  if (self->kind == LK_RECURRENT_GRU_LINEAR) {
    multiply(of, 1, of->h + row * self->state_row, self->state_row, rows, NULL, of->bias, at);
    apply(of, 0, rows, (lk_element_ref[]){update, reset, candidate, other, h, h});
    return;
  }
  apply(of, 0, rows, (lk_element_ref[]){update, reset, h, update, other});
  multiply(of, 1, at, hidden, rows, last, NULL, last);
  apply(of, 1, rows, (lk_element_ref[]){candidate, update, h, h});
}

static void step_rows(const operands *of, int64_t time, int64_t row, int64_t end) {
  const lk_recurrent *self = of->self;
  const int64_t hidden = self->weights.hidden, rows = end - row;
  float *gates = of->gates + time * self->gates_time + row * self->gates_row;
  float *h = of->h + row * self->state_row;
  if (of->is_quantized) {
    lk_recurrent_bytes_multiply(&of->bytes, h, self->state_row, rows, gates, self->gates_row);
  } else {
    multiply(of, 0, h, self->state_row, rows, gates, NULL, gates);
  }
  if (self->kind == LK_RECURRENT_LSTM) {
    step_lstm(of, rows, row, gates);
  } else if (self->kind == LK_RECURRENT_RNN) {
    const lk_element_ref refs[] = {ref_of(gates, self->gates_row), ref_of(h, self->state_row)};
    apply(of, 0, rows, refs);
  } else {
    step_gru(of, rows, row, gates);
  }
  float *y = of->y + time * self->y_time + row * self->y_row;
  for (int64_t i = 0; i < rows; i++, y += self->y_row, h += self->state_row) {
    memcpy(y, h, (size_t)hidden * sizeof *y);
  }
}

/* ---- rows over time ---- */

/* A sequence of no steps leaves 0, as in ONNX Runtime; ONNX does not say. */
static void begin_state(const operands *of, int64_t row, const float *first, float *to) {
  const int64_t at = row * of->self->state_row;
  const size_t bytes = (size_t)of->self->weights.hidden * sizeof *to;
  const int64_t length = of->lengths != NULL ? of->lengths[row] : of->self->length;
  if (first == NULL || length == 0) {
    memset(to + at, 0, bytes);
  } else {
    memcpy(to + at, first + at, bytes);
  }
}

/* What a row does in a step of the loop. */
typedef struct row_turn {
  int64_t time;
  bool is_active; /* else its Y is 0 at that time */
} row_turn;

/* A sequence that is shorter keeps its state, before its first step in the reverse direction and
 * behind its last one in the other. */
static row_turn turn_of(const operands *of, int64_t step, int64_t row) {
  const int64_t all = of->self->length, length = of->lengths != NULL ? of->lengths[row] : all;
  if (of->is_reverse && of->is_quantized) {
    return step < length ? (row_turn){length - 1 - step, true} : (row_turn){step, false};
  }
  const int64_t time = of->is_reverse ? all - 1 - step : step;
  return (row_turn){time, time < length};
}

static void step_all(const operands *of, int64_t step, int64_t row, int64_t end) {
  const lk_recurrent *self = of->self;
  int64_t last;
  for (; row < end; row = last) {
    const row_turn now = turn_of(of, step, row);
    last = of->lengths == NULL ? end : row + 1;
    for (; now.is_active && last < end; last++) {
      const row_turn next = turn_of(of, step, last);
      if (!next.is_active || next.time != now.time) break;
    }
    if (now.is_active) {
      step_rows(of, now.time, row, last);
    } else {
      float *y = of->y + now.time * self->y_time + row * self->y_row;
      memset(y, 0, (size_t)self->weights.hidden * sizeof *y);
    }
  }
}

/* The scale of a step. A row counts once more when it has ended, one of length 0 with the state
 * that it is given: so it is in ONNX Runtime, which sets states to 0 a step later. */
static void begin_step(operands *of, int64_t step, int64_t row, int64_t end) {
  const lk_recurrent *self = of->self;
  const float *from = step == 0 && of->first_h != NULL ? of->first_h : of->h;
  float least = 0, most = 0;
  for (; row < end; row++) {
    if (of->lengths != NULL && step > of->lengths[row]) continue;
    of->bytes.of->product.loops->range(from + row * self->state_row, self->weights.hidden, &least,
                                       &most);
  }
  lk_recurrent_bytes_begin(&of->bytes, least, most);
}

static void run_rows(operands *of, int64_t row, int64_t end) {
  const lk_recurrent *self = of->self;
  for (int64_t i = row; i < end; i++) {
    begin_state(of, i, of->first_h, of->h);
    if (of->c != NULL) begin_state(of, i, of->first_c, of->c);
  }
  for (int64_t i = 0; i < self->length && !lk_team_is_stopped(); i++) {
    if (of->is_quantized) begin_step(of, i, row, end);
    step_all(of, i, row, end);
  }
}

double lk_recurrent_operations(const lk_recurrent *self) {
  const lk_recurrent_weights *weights = &self->weights;
  double operations = 0;
  for (int64_t i = 0; i < weights->n_parts; i++) {
    operations += lk_product_operations(&weights->parts[i], weights->directions * self->length);
  }
  return operations;
}

/* Rows of a turn. */
static int64_t turn_rows(const lk_recurrent *self) {
  return self->integer != 0 ? lk_max(1, self->batch) : TURN_ROWS;
}

/* Turns that are done together at most: a step of them takes some milliseconds, after which a run
 * that is watched looks whether to stop. */
static int64_t most_turns(const lk_recurrent *self, int64_t rows) {
  static const double MOST_OPERATIONS = 1e8, BESIDES = 100; /* what a row has besides products */
  const double all = (double)(self->length * self->weights.directions) * (double)self->batch;
  const double of_row =
      lk_recurrent_operations(self) / fmax(all, 1) + BESIDES * (double)self->weights.hidden;
  return lk_max(1, (int64_t)(MOST_OPERATIONS / fmax(of_row, 1) / (double)rows));
}

/* Turns are rows of the first direction, then of the second. Those that one thread has are done
 * together, because R is read for each time step. */
static void do_turns(const void *arg, int64_t turn, int64_t end_turn) {
  const lk_kernel_loop *loop = arg;
  const lk_recurrent *self = loop->params;
  const int64_t rows = turn_rows(self), blocks = lk_div_up(self->batch, rows);
  const int64_t most = most_turns(self, rows);
  for (int64_t end; turn < end_turn; turn = end) {
    const int64_t direction = turn / blocks, first = direction * blocks;
    end = lk_min(lk_min(end_turn, first + blocks), turn + most);
    operands of = read_pointers(self, loop->pointers, direction);
    run_rows(&of, (turn - first) * rows, lk_min((end - first) * rows, self->batch));
  }
}

static lk_status check_lengths(const lk_recurrent *self, const int32_t *lengths, lk_error *error) {
  for (int64_t i = 0; i < self->batch; i++) {
    LK_RETURN_NOT_OK(lk_look_check_after(i, LK_LOOK_EACH, "check lengths", error));
    if (lengths[i] >= 0 && lengths[i] <= self->length) continue;
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to read sequence_lens: value %" PRIi64 " is %" PRIi32
                   ", it must be 0 to the length of the input, %" PRIi64,
                   i, lengths[i], self->length);
  }
  return LK_OK;
}

lk_status lk_recurrent_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_recurrent *self = params;
  const lk_recurrent_weights *weights = &self->weights;
  const operands of = read_pointers(self, pointers, 0);
  if (of.lengths != NULL) LK_RETURN_NOT_OK(check_lengths(self, of.lengths, error));
  const int64_t turns = weights->directions * lk_div_up(self->batch, turn_rows(self));
  const double operations = lk_recurrent_operations(self);
  return lk_kernel_turns_looking(turns, lk_sharing_pays(operations), do_turns, self, pointers);
}
