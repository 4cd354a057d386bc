/* Poolings. An output row (the last spatial dimension with its channels) stays in the
 * first-level cache while each element of the kernel is applied to all of it: runs of memory that
 * the compiler turns into vector instructions, whatever the dilation is. */
#include "ops/kernel/pool.h"

#include <math.h>
#include <string.h>

/* With less work than this (outputs times elements of the kernel), one thread is done before others
 * have woken up. */
#define LEAST_PARALLEL_WORK 32768

/* ---- geometry ---- */

int64_t lk_pool_first_tap(const lk_pool_geometry *self, uint32_t dim, int64_t start) {
  return start < 0 ? (self->dilations[dim] - 1 - start) / self->dilations[dim] : 0;
}

/* The tap behind the last one that lies before `limit`. */
static int64_t taps_before(const lk_pool_geometry *self, uint32_t dim, int64_t start,
                           int64_t limit) {
  if (limit <= start) return 0;
  const int64_t count = (limit - start - 1) / self->dilations[dim] + 1;
  return count < self->kernel[dim] ? count : self->kernel[dim];
}

int64_t lk_pool_end_tap(const lk_pool_geometry *self, uint32_t dim, int64_t start) {
  return taps_before(self, dim, start, self->in[dim]);
}

/* Where a window stops counting elements, as a position in the input. */
static int64_t counted_end(const lk_pool_geometry *self, lk_pool_kind kind, uint32_t dim) {
  return self->in[dim] + (kind == LK_POOL_MEAN_WITH_PADDING ? self->declared[dim] : 0);
}

/* By how many elements the mean of output `o` is divided along one dimension. */
static int64_t divisor(const lk_pool_geometry *self, lk_pool_kind kind, uint32_t dim, int64_t o) {
  const int64_t start = lk_pool_start(self, dim, o);
  const int64_t end = taps_before(self, dim, start, counted_end(self, kind, dim));
  const int64_t first = kind == LK_POOL_MEAN_WITH_PADDING ? 0 : lk_pool_first_tap(self, dim, start);
  return end > first ? end - first : 0;
}

/* The output of the last dimension behind the last window that ends before the limit. */
static int64_t whole_end(const lk_pool_geometry *self, lk_pool_kind kind) {
  const int64_t extent = (self->kernel[2] - 1) * self->dilations[2] + 1;
  const int64_t room = counted_end(self, kind, 2) + self->begin[2] - extent;
  const int64_t end = room < 0 ? 0 : room / self->strides[2] + 1;
  return end < self->out[2] ? end : self->out[2];
}

/* ---- runs: one element of the kernel applied to `blocks` blocks of `block` numbers, which lie
 * `step` apart in the input and are dense in the output ---- */

typedef void run_fn(void *to, int32_t *positions, const void *from, int64_t blocks, int64_t block,
                    int64_t step, int32_t tap);

#define RUN(name, type, statement)                                                                 \
  static void name(void *to, int32_t *positions, const void *from, int64_t blocks, int64_t block,  \
                   int64_t step, int32_t tap) {                                                    \
    type *restrict y = to;                                                                         \
    int32_t *restrict at = positions;                                                              \
    const type *restrict all = from;                                                               \
    (void)at, (void)tap;                                                                           \
    for (int64_t i = 0; block == 1 && i < blocks; i++) {                                           \
      const type x = all[i * step];                                                                \
      statement;                                                                                   \
    }                                                                                              \
    for (int64_t b = 0; block > 1 && b < blocks; b++) {                                            \
      for (int64_t k = 0; k < block; k++) {                                                        \
        const int64_t i = b * block + k;                                                           \
        const type x = all[b * step + k];                                                          \
        statement;                                                                                 \
      }                                                                                            \
    }                                                                                              \
  }

#define LARGER y[i] = x > y[i] ? x : y[i]
/* Of equal ones the first, as ONNX has it. A mask rather than a choice: gcc leaves a branch in the
 * loop otherwise, because the comparison might trap. */
#define LARGER_AT                                                                                  \
  const int32_t larger = -(int32_t)(x > y[i]);                                                     \
  at[i] = (tap & larger) | (at[i] & ~larger);                                                      \
  LARGER
RUN(max_f32, float, LARGER)
RUN(max_f64, double, LARGER)
RUN(max_at_f32, float, LARGER_AT)
RUN(max_at_f64, double, LARGER_AT)
RUN(sum_f32, float, y[i] += x)
RUN(sum_f64, double, y[i] += x)

static run_fn *run_for(const lk_pool *step) {
  if (step->kind != LK_POOL_MAX) return step->wide ? sum_f64 : sum_f32;
  if (step->positions) return step->wide ? max_at_f64 : max_at_f32;
  return step->wide ? max_f64 : max_f32;
}

static void fill(const lk_pool *step, void *to, int64_t count) {
  const bool max = step->kind == LK_POOL_MAX;
  for (int64_t i = 0; i < count; i++) {
    if (step->wide) {
      ((double *)to)[i] = max ? -(double)INFINITY : 0;
    } else {
      ((float *)to)[i] = max ? -INFINITY : 0;
    }
  }
}

static void divide(const lk_pool *step, void *to, int64_t count, double by) {
  for (int64_t i = 0; i < count; i++) {
    if (step->wide) {
      ((double *)to)[i] /= by;
    } else {
      ((float *)to)[i] /= (float)by;
    }
  }
}

/* ---- rows: all outputs along the last dimension, counted over the other ones ---- */

static size_t element_size(const lk_pool *step) {
  return step->wide ? sizeof(double) : sizeof(float);
}

/* Divides row `row`, which lies at `to`, by the share of `whole` elements that each window
 * counts. */
static void divide_row(const lk_pool *step, int64_t row, double whole, char *to) {
  const lk_pool_geometry *g = &step->geometry;
  const double before = (double)divisor(g, step->kind, 0, row / g->out[1] % g->out[0]) *
                        (double)divisor(g, step->kind, 1, row % g->out[1]);
  int64_t end = 0;
  for (int64_t w = 0; w < g->out[2]; w = end) {
    const int64_t count = divisor(g, step->kind, 2, w);
    end = count == g->kernel[2] ? whole_end(g, step->kind) : w + 1;
    const double by = before * (double)count / whole;
    if (by == 1) continue;
    divide(step, to + (size_t)(w * g->inner) * element_size(step), (end - w) * g->inner, by);
  }
}

/* Outputs of the last dimension whose element `tap` lies in the input: [*first, *end). */
static void outputs_of(const lk_pool_geometry *g, int64_t tap, int64_t *first, int64_t *end) {
  const int64_t stride = g->strides[2], shift = tap * g->dilations[2] - g->begin[2];
  *first = shift < 0 ? (stride - 1 - shift) / stride : 0;
  *end = shift < g->in[2] ? (g->in[2] - 1 - shift) / stride + 1 : 0;
  if (*end > g->out[2]) *end = g->out[2];
}

/* Applies the kernel's elements along the last dimension; `from` is the input's row, `tap` the
 * number of the first of them. */
static void apply_row(const lk_pool *step, const char *from, char *to, int32_t *positions,
                      int64_t tap) {
  const lk_pool_geometry *g = &step->geometry;
  const size_t size = element_size(step);
  run_fn *run = run_for(step);
  const int64_t end_tap = lk_pool_end_tap(g, 2, lk_pool_start(g, 2, 0));
  for (int64_t k = lk_pool_first_tap(g, 2, lk_pool_start(g, 2, g->out[2] - 1)); k < end_tap; k++) {
    int64_t first, end;
    outputs_of(g, k, &first, &end);
    if (first >= end) continue;
    const int64_t at = lk_pool_start(g, 2, first) + k * g->dilations[2];
    /* without a stride, neighbours in the output are neighbours in the input */
    const bool dense = g->strides[2] == 1;
    const int64_t blocks = dense ? 1 : end - first;
    run(to + (size_t)(first * g->inner) * size,
        positions != NULL ? positions + first * g->inner : NULL,
        from + (size_t)(at * g->inner) * size, blocks, (end - first) / blocks * g->inner,
        g->strides[2] * g->inner, (int32_t)(tap + k));
  }
}

static void pool_row(const lk_pool *step, const char *x, char *y, int32_t *positions, int64_t row) {
  const lk_pool_geometry *g = &step->geometry;
  const int64_t out[] = {row / g->out[1] % g->out[0], row % g->out[1]};
  const int64_t outer = row / g->out[1] / g->out[0], width = g->out[2] * g->inner;
  const int64_t start[] = {lk_pool_start(g, 0, out[0]), lk_pool_start(g, 1, out[1])};
  const int64_t end[] = {lk_pool_end_tap(g, 0, start[0]), lk_pool_end_tap(g, 1, start[1])};
  char *to = y + (size_t)(row * width) * element_size(step);
  int32_t *at = positions != NULL ? positions + row * width : NULL;
  fill(step, to, width);
  if (at != NULL) memset(at, 0, (size_t)width * sizeof *at);
  for (int64_t d = lk_pool_first_tap(g, 0, start[0]); d < end[0]; d++) {
    for (int64_t h = lk_pool_first_tap(g, 1, start[1]); h < end[1]; h++) {
      const int64_t in[] = {start[0] + d * g->dilations[0], start[1] + h * g->dilations[1]};
      const int64_t from = ((outer * g->in[0] + in[0]) * g->in[1] + in[1]) * g->in[2] * g->inner;
      apply_row(step, x + (size_t)from * element_size(step), to, at,
                at != NULL ? (d * g->kernel[1] + h) * g->kernel[2] : 0);
    }
  }
  if (step->kind != LK_POOL_MAX) divide_row(step, row, 1, to);
}

/* Whether it is worth it to wake other threads: `per_output` operations for each number. */
static bool is_parallel(const lk_pool_geometry *g, int64_t per_output) {
  const double outputs =
      (double)(g->outer * g->inner) * (double)(g->out[0] * g->out[1]) * (double)g->out[2];
  return outputs * (double)per_output >= LEAST_PARALLEL_WORK;
}

static int64_t rows_of(const lk_pool_geometry *g) {
  return g->outer * g->out[0] * g->out[1];
}

static void pool_rows(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_pool *step = loop->params;
  int32_t *positions = step->positions ? loop->pointers[2] : NULL;
  for (int64_t row = begin; row < end; row++) {
    pool_row(step, loop->pointers[0], loop->pointers[1], positions, row);
  }
}

lk_status lk_pool_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_pool *step = params;
  const lk_pool_geometry *g = &step->geometry;
  return lk_kernel_turns(rows_of(g), is_parallel(g, g->kernel[2]), pool_rows, params, pointers);
}

static void divide_rows(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_pool *step = loop->params;
  const lk_pool_geometry *g = &step->geometry;
  const double whole = (double)g->kernel[0] * (double)g->kernel[1] * (double)g->kernel[2];
  for (int64_t row = begin; row < end; row++) {
    float *to = (float *)loop->pointers[0] + row * g->out[2] * g->inner;
    divide_row(step, row, whole, (char *)to);
  }
}

lk_status lk_pool_divisors_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_pool *step = params;
  const lk_pool_geometry *g = &step->geometry;
  return lk_kernel_turns(rows_of(g), is_parallel(g, 1), divide_rows, params, pointers);
}
