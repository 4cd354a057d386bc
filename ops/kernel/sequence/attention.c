/* Softmax of attention scores. */
#include "ops/kernel/sequence/attention.h"

#include <math.h>
#include <string.h>

#include "ops/kernel/copy_long.h"
#include "ops/kernel/sizes.h"

/* Operations of an element, as in softmax.c. */
enum { ELEMENT = 32 };

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
  for (int64_t i = 0; i < n && !lk_look_after(i, LK_LOOK_EACH); i++) {
    if (row[i] != -INFINITY) return false;
  }
  return true;
}

static float largest_of(const float *row, int64_t n) {
  float largest = -INFINITY;
  for (int64_t i = 0, end; i < n && !lk_look_after(i, LK_LOOK_EACH); i = end) {
    end = lk_look_part(i, n, LK_LOOK_EACH);
    for (int64_t j = i; j < end; j++) largest = row[j] > largest ? row[j] : largest;
  }
  return largest;
}

/* Softmax of a row, and of a score more, which gets its share and is not written. The largest
 * score's share of the others alone is 1 / sum, where the sum is that of e^(x - largest). */
static void do_softmax(const lk_row_loops *loops, float *row, int64_t n, float sink) {
  const float most = sink == -INFINITY ? 0 : largest_of(row, n);
  loops->softmax_rows(row, row, n, 1, false);
  if (sink == -INFINITY) return;
  const float share = 1 / (1 + expf(sink - most) * largest_of(row, n));
  for (int64_t i = 0, end; i < n && !lk_look_after(i, LK_LOOK_EACH); i = end) {
    end = lk_look_part(i, n, LK_LOOK_EACH);
    for (int64_t j = i; j < end; j++) row[j] *= share;
  }
}

static void do_row(const lk_attention_softmax *self, lk_key_range range, float sink, float *row,
                   float *masked) {
  const int64_t n = range.end - range.begin;
  if (masked != NULL) {
    lk_copy_long(masked, row, (size_t)self->window.keys * sizeof *row);
    fill(masked, 0, range.begin, self->hidden);
    fill(masked, range.end, self->window.keys, self->hidden);
  }
  fill(row, 0, range.begin, 0);
  fill(row, range.end, self->window.keys, 0);
  if (are_all_masked(row + range.begin, n)) {
    fill(row, range.begin, range.end, 0);
  } else {
    do_softmax(self->loops, row + range.begin, n, sink);
  }
}

/* The pointers behind the scores, which need not be there. */
typedef struct others {
  const int64_t *lengths;
  float *masked;
  const float *sinks;
} others;

static others others_of(const lk_attention_softmax *self, void *const *pointers) {
  others found = {0};
  uint32_t n = 1;
  if (self->has_lengths) found.lengths = pointers[n++];
  if (self->has_masked) found.masked = pointers[n++];
  if (self->sink == LK_ATTEND_SINKS) found.sinks = pointers[n++];
  return found;
}

/* -INFINITY: none. */
static float sink_of(const lk_attention_softmax *self, const others *of, int64_t head) {
  if (self->sink == LK_ATTEND_NO_SINK) return -INFINITY;
  return of->sinks != NULL ? of->sinks[head] : 0;
}

static void do_rows(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_attention_softmax *self = loop->params;
  const others of = others_of(self, loop->pointers);
  const int64_t keys = self->window.keys;
  float *scores = loop->pointers[0];
  for (int64_t i = begin; i < end; i++) {
    const int64_t query = i % self->window.queries, head = i / self->window.queries;
    const int64_t *length = of.lengths != NULL ? of.lengths + head / self->heads : NULL;
    do_row(self, lk_key_range_of(&self->window, length, query),
           sink_of(self, &of, head % self->heads), scores + i * keys,
           of.masked != NULL ? of.masked + i * keys : NULL);
  }
}

lk_status lk_attention_softmax_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_attention_softmax *self = params;
  const int64_t rows = self->batch * self->heads * self->window.queries;
  return lk_kernel_turns(rows, lk_sharing_pays_for(rows * self->window.keys, ELEMENT), do_rows,
                         self, pointers);
}
