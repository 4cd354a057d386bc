/* A cache of keys or values in a buffer. */
#include "ops/kernel/kv_cache.h"

#include <inttypes.h>
#include <string.h>

#include "base/status.h"

/* Bytes that are worth a second thread. */
#define MAX_ALONE (128 << 10)

lk_status lk_kv_places_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_kv_places *self = params;
  const int32_t *last = pointers[0];
  int64_t *lengths = pointers[1], *positions = pointers[2];
  for (int64_t b = 0; b < self->batch; b++) {
    const int64_t length = (int64_t)last[b] + 1, begin = self->is_prompt ? 0 : length - self->rows;
    if (length < 0 || begin < 0 || begin > self->past_rows || length > self->most) {
      return lk_fail(error, LK_OUT_OF_RANGE,
                     "batch %" PRId64 " has %" PRId64 " rows, %" PRId64
                     " of them new: at most %" PRId64 " in all, and %" PRId64 " that are not new",
                     b, length, self->rows, self->most, self->past_rows);
    }
    lengths[b] = length;
    for (int64_t i = 0; i < self->rows; i++) positions[b * self->rows + i] = begin + i;
  }
  return LK_OK;
}

/* A turn: a head of a batch. */
static void do_heads(const void *arg, int64_t begin_turn, int64_t end_turn) {
  const lk_kernel_loop *loop = arg;
  const lk_kv_cache *self = loop->params;
  const char *new_rows = loop->pointers[0], *past = loop->pointers[3];
  const int64_t *lengths = loop->pointers[2];
  const int64_t element = (int64_t)self->element, row = self->size * element;
  for (int64_t i = begin_turn; i < end_turn; i++) {
    const int64_t batch = i / self->heads, head = i % self->heads;
    const int64_t begin = self->is_prompt ? 0 : lengths[batch] - self->rows;
    const int64_t end = begin + self->rows;
    const char *from =
        new_rows + (self->first + batch * self->from[0] + head * self->from[1]) * element;
    char *to = (char *)loop->pointers[1] + i * self->buffer_rows * row;
    if (past != loop->pointers[1]) {
      if (past != NULL) memcpy(to, past + i * self->past_rows * row, (size_t)(begin * row));
      memset(to + end * row, 0, (size_t)((self->buffer_rows - end) * row));
    }
    for (int64_t r = 0; r < self->rows; r++) {
      memcpy(to + (begin + r) * row, from + r * self->from[2] * element, (size_t)row);
    }
  }
}

lk_status lk_kv_cache_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_kv_cache *self = params;
  void *const all[] = {pointers[0], pointers[1], pointers[2], self->has_past ? pointers[3] : NULL};
  const int64_t heads = self->batch * self->heads;
  const int64_t bytes = heads * self->buffer_rows * self->size * (int64_t)self->element;
  return lk_kernel_turns(heads, bytes > MAX_ALONE, do_heads, self, all);
}
