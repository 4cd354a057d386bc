/* Masks of keys as numbers that are added to attention scores. */
#include "ops/kernel/sequence/padding.h"

/* A turn: a row of a batch. */
static void do_rows(const void *arg, int64_t begin_turn, int64_t end_turn) {
  const lk_kernel_loop *loop = arg;
  const lk_padding *self = loop->params;
  const int32_t *mask = loop->pointers[0];
  for (int64_t i = begin_turn; i < end_turn; i++) {
    const int64_t batch = i / self->rows, row = i % self->rows;
    float *to = (float *)loop->pointers[1] + i * self->keys;
    if (self->form == LK_PADDING_EACH) {
      const int32_t *from = mask + self->first + batch * self->batch_step + row * self->row_step;
      for (int64_t k = 0; k < self->keys; k++) to[k] = from[k] > 0 ? 0 : self->filter;
      continue;
    }
    const int64_t end = mask[batch];
    const int64_t begin = self->form == LK_PADDING_ENDS_BEGIN ? mask[self->batch + batch] : 0;
    for (int64_t k = 0; k < self->keys; k++) to[k] = k >= begin && k < end ? 0 : self->filter;
  }
}

lk_status lk_padding_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_padding *self = params;
  const int64_t rows = self->batch * self->rows;
  const int64_t bytes = rows * self->keys * (int64_t)sizeof(float);
  return lk_kernel_turns(rows, lk_sharing_pays_for(bytes, LK_SHARING_BYTE), do_rows, self,
                         pointers);
}
