/* A cache of keys or values in a buffer. */
#include "ops/kernel/sequence/kv_cache.h"

#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/team/look.h"
#include "ops/kernel/copy_block.h"
#include "ops/kernel/sizes.h"

/* How many rows are kept of a sequence. */
static int64_t kept_of(const lk_kv_places *self, int64_t length) {
  const int64_t more = length - self->capacity, step = self->capacity - self->window + 1;
  return more > 0 ? length - step * lk_div_up(more, step) : length;
}

lk_status lk_kv_places_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_kv_places *self = params;
  const int32_t *last = pointers[0];
  int64_t *lengths = pointers[1], *positions = pointers[2];
  int64_t *kept = self->capacity > 0 ? pointers[3] : NULL, *dropped = kept ? pointers[4] : NULL;
  for (int64_t b = 0; b < self->batch; b++) {
    LK_RETURN_NOT_OK(lk_look_check_after(b, LK_LOOK_EACH, "check lengths", error));
    const int64_t length = (int64_t)last[b] + 1, begin = self->is_prompt ? 0 : length - self->rows;
    if (length < 0 || begin < 0 || begin > self->past_rows || length > self->most) {
      return lk_fail(error, LK_OUT_OF_RANGE,
                     "batch %" PRId64 " has %" PRId64 " rows, %" PRId64
                     " of them new: at most %" PRId64 " in all, and %" PRId64 " that are not new",
                     b, length, self->rows, self->most, self->past_rows);
    }
    lengths[b] = length;
    for (int64_t i = 0; i < self->rows; i++) positions[b * self->rows + i] = begin + i;
    if (kept == NULL) continue;
    const int64_t all = kept_of(self, begin) + self->rows;
    kept[b] = kept_of(self, length);
    dropped[b] = all - kept[b];
    lengths[b] = self->is_apart ? all : kept[b];
  }
  return LK_OK;
}

/* A turn: a head of a batch. */
static void do_heads(const void *arg, int64_t begin_turn, int64_t end_turn) {
  const lk_kernel_loop *loop = arg;
  const lk_kv_cache *self = loop->params;
  const char *new_rows = loop->pointers[0], *past = loop->pointers[3];
  const int64_t *lengths = loop->pointers[2], *dropped = loop->pointers[4];
  const int64_t element = (int64_t)self->element, row = self->size * element;
  for (int64_t i = begin_turn; i < end_turn; i++) {
    const int64_t batch = i / self->heads, head = i % self->heads;
    const int64_t begin = self->is_prompt ? 0 : lengths[batch] - self->rows;
    const int64_t end = begin + self->rows;
    const char *from =
        new_rows + (self->first + batch * self->from[0] + head * self->from[1]) * element;
    char *to = (char *)loop->pointers[1] + i * self->buffer_rows * row;
    if (past != NULL) {
      const int64_t first = i * self->past_rows + (dropped != NULL ? dropped[batch] : 0);
      if (past + first * row != to) memmove(to, past + first * row, (size_t)(begin * row));
    }
    if (past == NULL || past != loop->pointers[1]) {
      memset(to + end * row, 0, (size_t)((self->buffer_rows - end) * row));
    }
    for (int64_t r = 0; r < self->rows; r++) {
      lk_copy_block(to + (begin + r) * row, from + r * self->from[2] * element, (size_t)row);
    }
  }
}

lk_status lk_kv_cache_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_kv_cache *self = params;
  void *const all[] = {pointers[0], pointers[1], pointers[2], self->has_past ? pointers[3] : NULL,
                       self->has_dropped ? pointers[4] : NULL};
  const int64_t heads = self->batch * self->heads;
  const int64_t bytes = heads * self->buffer_rows * self->size * (int64_t)self->element;
  return lk_kernel_turns(heads, lk_sharing_pays_for(bytes, LK_SHARING_BYTE), do_heads, self, all);
}

/* A turn: a row of a head of a batch. */
static void do_columns(const void *arg, int64_t begin_turn, int64_t end_turn) {
  const lk_kernel_loop *loop = arg;
  const lk_kv_columns *self = loop->params;
  const float *from = loop->pointers[0];
  const int64_t *lengths = loop->pointers[2], *positions = loop->pointers[3];
  for (int64_t i = begin_turn; i < end_turn; i++) {
    const int64_t row = i % self->rows, head = i / self->rows % self->heads;
    const int64_t batch = i / self->rows / self->heads, length = lengths[batch];
    const int64_t first = positions[batch * self->rows] + self->rows - length;
    const float *x = from + batch * self->from[0] + head * self->from[1];
    float *to = (float *)loop->pointers[1] + i * self->to_columns;
    memcpy(to, x + row * self->from_columns + first, (size_t)length * sizeof *to);
    memset(to + length, 0, (size_t)(self->to_columns - length) * sizeof *to);
  }
}

lk_status lk_kv_columns_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_kv_columns *self = params;
  const int64_t rows = self->batch * self->heads * self->rows;
  const int64_t bytes = rows * self->to_columns * (int64_t)sizeof(float);
  return lk_kernel_turns(rows, lk_sharing_pays_for(bytes, LK_SHARING_BYTE), do_columns, self,
                         pointers);
}
