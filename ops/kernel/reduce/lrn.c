/* Local response normalization: rows of channels, or places side by side. */
#include "ops/kernel/reduce/lrn.h"

void lk_lrn_plan(int64_t outer, int64_t channels, int64_t inner, int64_t size, float alpha,
                 float beta, float bias, lk_isa isa, lk_lrn *out) {
  const lk_row_loops *loops = lk_row_loops_get(isa);
  const int64_t before = (size - 1) / 2, behind = size / 2, most = channels - 1;
  *out = (lk_lrn){.rows = loops->lrn_rows,
                  .columns = loops->lrn_columns,
                  .outer = outer,
                  .inner = inner,
                  .window = {.channels = channels,
                             .before = before < most ? before : most,
                             .behind = behind < most ? behind : most,
                             .step = inner,
                             .factor = alpha / (float)size,
                             .beta = beta,
                             .bias = bias}};
}

/* Blocks of columns. */
static int64_t blocks_of(const lk_lrn *self) {
  return (self->inner + LK_LRN_COLUMNS - 1) / LK_LRN_COLUMNS;
}

static void do_turns(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_lrn *self = loop->params;
  const float *from = loop->pointers[0];
  float *to = loop->pointers[1];
  const int64_t image = self->window.channels * self->inner, blocks = blocks_of(self);
  if (self->inner == 1) {
    self->rows(&self->window, from + begin * image, to + begin * image, end - begin);
    return;
  }
  for (int64_t i = begin; i < end; i++) {
    const int64_t column = i % blocks * LK_LRN_COLUMNS, left = self->inner - column;
    const int64_t at = i / blocks * image + column;
    self->columns(&self->window, from + at, to + at, left < LK_LRN_COLUMNS ? left : LK_LRN_COLUMNS);
  }
}

lk_status lk_lrn_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_lrn *self = params;
  const int64_t elements = self->outer * self->window.channels * self->inner;
  const int64_t turns = self->outer * (self->inner == 1 ? 1 : blocks_of(self));
  return lk_kernel_turns(turns, lk_sharing_pays_for(elements, LK_SHARING_ELEMENT), do_turns, self,
                         pointers);
}
