/* Places moved by affine maps. A turn is a row of places, of the last dimension. */
#include "ops/kernel/affine_grid.h"

enum { RANK = 3, SHARED_PLACES = 16 * 1024 };

/* Element `i` of `length`. A single one, whose corners are one, is at -1, as in ONNX's reference,
 * since ONNX says nothing of it; ONNX Runtime has it at 1. */
static double place_of(const lk_affine_grid *self, int64_t i, int64_t length) {
  if (!self->align_corners) return (2 * (double)i + 1) / (double)length - 1;
  return length > 1 ? 2 * (double)i / (double)(length - 1) - 1 : -1;
}

static double number(const lk_affine_grid *self, const void *from, int64_t at) {
  return self->is_wide ? ((const double *)from)[at] : (double)((const float *)from)[at];
}

static void move(const lk_affine_grid *self, const void *maps, int64_t batch,
                 const double place[RANK], void *places, int64_t to) {
  const int64_t rank = self->rank, map = batch * rank * (rank + 1);
  for (int64_t i = 0; i < rank; i++) {
    double sum = number(self, maps, map + i * (rank + 1) + rank);
    for (int64_t k = 0; k < rank; k++) {
      sum += number(self, maps, map + i * (rank + 1) + k) * place[k];
    }
    if (self->is_wide) {
      ((double *)places)[to + i] = sum;
    } else {
      ((float *)places)[to + i] = (float)sum;
    }
  }
}

static void move_rows(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_affine_grid *self = loop->params;
  const int64_t rank = self->rank, length = self->dims[rank - 1];
  for (int64_t row = begin; row < end; row++) {
    double place[RANK];
    int64_t rest = row;
    for (int64_t d = rank - 1; d-- > 0;) {
      place[rank - 1 - d] = place_of(self, rest % self->dims[d], self->dims[d]);
      rest /= self->dims[d];
    }
    for (int64_t i = 0; i < length; i++) {
      place[0] = place_of(self, i, length);
      move(self, loop->pointers[0], rest, place, loop->pointers[1], (row * length + i) * rank);
    }
  }
}

lk_status lk_affine_grid_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_affine_grid *self = params;
  int64_t rows = self->batches;
  for (uint32_t d = 0; d + 1 < self->rank; d++) rows *= self->dims[d];
  const bool shared = (double)rows * (double)self->dims[self->rank - 1] >= SHARED_PLACES;
  return lk_kernel_turns(rows, shared, move_rows, params, pointers);
}
