#include "executor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

lk_status executor_open(const lk_dnnl *cache, activation kind, int softmax_in_place, float *w1,
                        float *w2, executor *out, lk_error *error) {
  *out = (executor){.cache = *cache, .kind = kind, .softmax_in_place = softmax_in_place};
  lk_status status = weights_open(cache, (matrix){WIDTH, HIDDEN, w1}, &out->w1, error);
  if (status == LK_OK) {
    status = weights_open(cache, (matrix){HIDDEN, CLASSES, w2}, &out->w2, error);
  }
  if (status != LK_OK) executor_close(out);
  return status;
}

void executor_close(executor *self) {
  weights_close(&self->cache, &self->w1);
  weights_close(&self->cache, &self->w2);
}

/* The tensor of that name, which is made when it is asked for first. */
static matrix tensor_of(scope *self, const char *name, int64_t rows, int64_t columns) {
  int i = 0;
  while (i < self->count && strcmp(self->tensors[i].name, name) != 0) i++;
  if (i == self->count) {
    (void)strncpy(self->tensors[i].name, name, NAME - 1);
    self->tensors[i].columns = columns;
    self->tensors[i].data = calloc((size_t)(MOST_ROWS * columns), sizeof(float));
    self->count++;
  }
  return (matrix){rows, columns, self->tensors[i].data};
}

void scope_close(scope *self) {
  for (int i = 0; i < self->count; i++) free(self->tensors[i].data);
  self->count = 0;
}

lk_status executor_run(const executor *self, scope *names, dnnl_stream_t stream, matrix x,
                       matrix gate, matrix *out_p, lk_error *error) {
  const lk_dnnl *cache = &self->cache;
  const matrix h = tensor_of(names, "h", x.rows, HIDDEN);
  const matrix s = tensor_of(names, "s", x.rows, HIDDEN);
  const matrix y = tensor_of(names, "y", x.rows, CLASSES);
  const matrix p = self->softmax_in_place ? y : tensor_of(names, "p", x.rows, CLASSES);
  lk_status status = run_matmul(cache, stream, x, &self->w1, h, error);
  if (status == LK_OK) status = run_activation(cache, stream, self->kind, h, h, error);
  if (status == LK_OK) status = run_multiply(cache, stream, h, gate, s, error);
  if (status == LK_OK) status = run_matmul(cache, stream, s, &self->w2, y, error);
  if (status == LK_OK) status = run_softmax(cache, stream, y, p, error);
  *out_p = p;
  return status;
}

/* ---- the same in plain loops ---- */

static double activate(activation kind, double x) {
  if (kind == RELU) return x > 0 ? x : 0;
  return 0.5 * x * (1 + erf(x / sqrt(2)));
}

static double dot(const float *row, const weights *w, int64_t column) {
  double sum = 0;
  for (int64_t k = 0; k < w->plain.rows; k++) {
    sum += (double)row[k] * (double)w->plain.data[k * w->plain.columns + column];
  }
  return sum;
}

float executor_difference(const executor *self, matrix x, matrix gate, matrix p) {
  double worst = 0;
  for (int64_t row = 0; row < x.rows; row++) {
    float s[HIDDEN];
    double e[CLASSES], sum = 0;
    for (int j = 0; j < HIDDEN; j++) {
      const double h = activate(self->kind, dot(x.data + row * WIDTH, &self->w1, j));
      s[j] = (float)(h * (double)gate.data[row * HIDDEN + j]);
    }
    for (int j = 0; j < CLASSES; j++) sum += e[j] = exp(dot(s, &self->w2, j));
    for (int j = 0; j < CLASSES; j++) {
      worst = fmax(worst, fabs((double)p.data[row * CLASSES + j] - e[j] / sum));
    }
  }
  return (float)worst;
}
