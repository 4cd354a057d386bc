/* Softmax of attention scores. */
#include "ops/kernel/attention.h"

#include <math.h>
#include <string.h>

#include "ops/kernel/sizes.h"

/* Elements that are worth a second thread. */
#define MAX_ALONE 32768

static int64_t clamp(int64_t value, int64_t most) {
  return value < 0 ? 0 : value < most ? value : most;
}

lk_key_range lk_key_range_of(const lk_key_window *self, const int64_t *given, int64_t query) {
  const int64_t length = given != NULL ? clamp(*given, self->keys) : self->keys;
  const bool from_length = given != NULL && !self->has_past;
  const int64_t position = query + (from_length ? length - self->queries : self->past);
  lk_key_range range = {0, lk_min(length, self->first_padded)};
  if (self->right >= 0) range.end = lk_min(range.end, position + self->right + 1);
  range.end = clamp(range.end, self->keys);
  if (self->left >= 0) range.begin = clamp(position - self->left, range.end);
  return range;
}

static void fill(float *to, int64_t begin, int64_t end, float value) {
  for (int64_t i = begin; i < end; i++) to[i] = value;
}

/* Softmax would make NaN of them. */
static bool are_all_masked(const float *row, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    if (row[i] != -INFINITY) return false;
  }
  return true;
}

static void do_row(const lk_attention_softmax *self, lk_key_range range, float *row,
                   float *masked) {
  const int64_t n = range.end - range.begin;
  if (masked != NULL) {
    memcpy(masked, row, (size_t)self->window.keys * sizeof *row);
    fill(masked, 0, range.begin, -INFINITY);
    fill(masked, range.end, self->window.keys, -INFINITY);
  }
  fill(row, 0, range.begin, 0);
  fill(row, range.end, self->window.keys, 0);
  if (are_all_masked(row + range.begin, n)) {
    fill(row, range.begin, range.end, 0);
  } else {
    self->loops->softmax_rows(row + range.begin, row + range.begin, n, 1, false);
  }
}

static void do_rows(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_attention_softmax *self = loop->params;
  const int64_t *lengths = self->has_lengths ? loop->pointers[1] : NULL;
  float *scores = loop->pointers[0];
  float *masked = self->has_masked ? loop->pointers[self->has_lengths ? 2 : 1] : NULL;
  for (int64_t i = begin; i < end; i++) {
    const int64_t query = i % self->window.queries, batch = i / self->window.queries / self->heads;
    do_row(self, lk_key_range_of(&self->window, lengths != NULL ? lengths + batch : NULL, query),
           scores + i * self->window.keys, masked != NULL ? masked + i * self->window.keys : NULL);
  }
}

lk_status lk_attention_softmax_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_attention_softmax *self = params;
  const int64_t rows = self->batch * self->heads * self->window.queries;
  return lk_kernel_turns(rows, rows * self->window.keys > MAX_ALONE, do_rows, self, pointers);
}
