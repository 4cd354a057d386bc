/* Softmax along any dimension: rows, or columns side by side. */
#include "ops/kernel/reduce/softmax.h"

/* Operations of an element: a power of e, and three times through the row. */
enum { ELEMENT = 32 };

/* Rows of a turn: short ones are computed several at a time. */
static int64_t rows_of_turn(const lk_softmax *self) {
  return self->n < 64 ? 64 : 1;
}

static void do_rows(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_softmax *self = loop->params;
  const int64_t rows = rows_of_turn(self), first = begin * rows;
  const int64_t last = end * rows < self->outer ? end * rows : self->outer;
  if (self->is_f64) {
    self->loops->softmax_rows_f64((const double *)loop->pointers[0] + first * self->n,
                                  (double *)loop->pointers[1] + first * self->n, self->n,
                                  last - first, self->is_log);
    return;
  }
  const float *from = loop->pointers[0];
  float *to = loop->pointers[1];
  self->loops->softmax_rows(from + first * self->n, to + first * self->n, self->n, last - first,
                            self->is_log);
}

static int64_t column_blocks(const lk_softmax *self) {
  return (self->inner + LK_SOFTMAX_COLUMNS - 1) / LK_SOFTMAX_COLUMNS;
}

static void do_columns(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_softmax *self = loop->params;
  const int64_t blocks = column_blocks(self);
  for (int64_t i = begin; i < end; i++) {
    const int64_t column = i % blocks * LK_SOFTMAX_COLUMNS, left = self->inner - column;
    const int64_t at = i / blocks * self->n * self->inner + column;
    self->loops->softmax_columns(
        (const float *)loop->pointers[0] + at, (float *)loop->pointers[1] + at, self->n,
        self->inner, left < LK_SOFTMAX_COLUMNS ? left : LK_SOFTMAX_COLUMNS, self->is_log);
  }
}

lk_status lk_softmax_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_softmax *self = params;
  const int64_t elements = self->outer * self->n * self->inner;
  const bool is_shared = lk_sharing_pays_for(elements, ELEMENT);
  if (!self->is_last) {
    return lk_kernel_turns(self->outer * column_blocks(self), is_shared, do_columns, self,
                           pointers);
  }
  const int64_t rows = rows_of_turn(self);
  return lk_kernel_turns((self->outer + rows - 1) / rows, is_shared, do_rows, self, pointers);
}
