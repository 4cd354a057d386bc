/* Matrices of which the part above or below a diagonal is left. A turn is a row. */
#include "ops/kernel/move/band.h"

#include <string.h>

#include "ops/kernel/copy_block.h"
#include "ops/kernel/sizes.h"

static void band_rows(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_band *self = loop->params;
  const size_t bytes = (size_t)self->cols * self->element;
  for (int64_t row = begin; row < end; row++) {
    const char *from = (const char *)loop->pointers[0] + (size_t)row * bytes;
    char *to = (char *)loop->pointers[1] + (size_t)row * bytes;
    const int64_t cut = row % self->rows + self->diagonal + (self->upper ? 0 : 1);
    const size_t first = (size_t)lk_max(0, lk_min(cut, self->cols)) * self->element;
    memset(self->upper ? to : to + first, 0, self->upper ? first : bytes - first);
    if (from == to) continue;
    if (self->upper) {
      lk_copy_block(to + first, from + first, bytes - first);
    } else {
      lk_copy_block(to, from, first);
    }
  }
}

lk_status lk_band_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_band *self = params;
  const int64_t rows = self->matrices * self->rows;
  const int64_t bytes = rows * self->cols * (int64_t)self->element;
  return lk_kernel_turns(rows, lk_sharing_pays_for(bytes, LK_SHARING_BYTE), band_rows, params,
                         pointers);
}
