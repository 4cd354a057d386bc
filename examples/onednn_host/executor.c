#include "executor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

lk_status executor_open(const lk_dnnl *cache, activation kind, int is_in_place, float *w1,
                        float *w2, executor *out, lk_error *error) {
  *out = (executor){.cache = *cache, .kind = kind, .is_in_place = is_in_place};
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

/* The tensor of that name, which is made when it is asked for first. LK_OUT_OF_RANGE: the scope has
 * no room for another one; LK_OUT_OF_MEMORY. */
static lk_status tensor_of(scope *self, const char *name, int64_t rows, int64_t columns,
                           matrix *out, lk_error *error) {
  int i = 0;
  while (i < self->count && strcmp(self->tensors[i].name, name) != 0) i++;
  if (i == MOST_TENSORS) {
    return lk_dnnl_fail(error, LK_OUT_OF_RANGE,
                        "failed to make tensor \"%s\": the scope has %d tensors, which is the most",
                        name, MOST_TENSORS);
  }
  if (i == self->count) {
    float *data = columns > 0 ? calloc((size_t)(MOST_ROWS * columns), sizeof(float)) : NULL;
    if (data == NULL) {
      return lk_dnnl_fail(error, LK_OUT_OF_MEMORY,
                          "failed to make tensor \"%s\": no memory for %d rows of %d numbers", name,
                          MOST_ROWS, (int)columns);
    }
    (void)strncpy(self->tensors[i].name, name, NAME - 1);
    self->tensors[i].columns = columns;
    self->tensors[i].data = data;
    self->count++;
  }
  *out = (matrix){rows, columns, self->tensors[i].data};
  return LK_OK;
}

void scope_close(scope *self) {
  for (int i = 0; i < self->count; i++) free(self->tensors[i].data);
  self->count = 0;
}

/* The result of an operator that can write over `input`. */
static lk_status result_of(const executor *self, scope *names, const char *name, matrix input,
                           matrix *out, lk_error *error) {
  *out = input;
  if (self->is_in_place) return LK_OK;
  return tensor_of(names, name, input.rows, input.columns, out, error);
}

lk_status executor_run(const executor *self, scope *names, dnnl_stream_t stream, matrix x,
                       matrix gate, matrix *out_p, lk_error *error) {
  const lk_dnnl *cache = &self->cache;
  matrix h = {0}, a = {0}, s = {0}, y = {0}, p = {0};
  lk_status status = tensor_of(names, "h", x.rows, HIDDEN, &h, error);
  if (status == LK_OK) status = result_of(self, names, "a", h, &a, error);
  if (status == LK_OK) status = result_of(self, names, "s", a, &s, error);
  if (status == LK_OK) status = tensor_of(names, "y", x.rows, CLASSES, &y, error);
  if (status == LK_OK) status = result_of(self, names, "p", y, &p, error);
  if (status == LK_OK) status = run_matmul(cache, stream, x, &self->w1, h, error);
  if (status == LK_OK) status = run_activation(cache, stream, self->kind, h, a, error);
  if (status == LK_OK) status = run_multiply(cache, stream, a, gate, s, error);
  if (status == LK_OK) status = run_matmul(cache, stream, s, &self->w2, y, error);
  if (status == LK_OK) status = run_softmax(cache, stream, y, p, error);
  if (status == LK_OK) *out_p = p;
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
