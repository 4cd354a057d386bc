/* Places moved by affine maps. A turn is a row of places, of the last dimension. */
#include "ops/kernel/sample/affine_grid.h"

enum { RANK = 3, PLACE = 64 /* operations of products with one vector of f64 */ };

/* Where elements of a dimension lie: element i at `first` + i `step`. A single one, whose corners
 * are one, is at -1, as in ONNX's reference, since ONNX says nothing of it; ONNX Runtime has it at
 * 1. */
typedef struct places {
  double first, step;
} places;

static places places_of(const lk_affine_grid *self, int64_t length) {
  if (!self->align_corners) return (places){1 / (double)length - 1, 2 / (double)length};
  return (places){-1, length > 1 ? 2 / (double)(length - 1) : 0};
}

static double number(const lk_affine_grid *self, const void *from, int64_t at) {
  return self->is_wide ? ((const double *)from)[at] : (double)((const float *)from)[at];
}

/* A row of places on their way: coordinate d of element i is at first[d] + i step[d]. */
typedef struct line {
  double first[RANK], step[RANK];
} line;

static line line_of(const lk_affine_grid *self, const places *along, const void *maps,
                    int64_t row) {
  const int64_t rank = self->rank;
  double place[RANK];
  line result;
  for (int64_t d = rank - 1; d-- > 0; row /= self->dims[d]) {
    place[rank - 1 - d] = along[d].first + (double)(row % self->dims[d]) * along[d].step;
  }
  const int64_t map = row * rank * (rank + 1); /* of a batch is what is left */
  place[0] = along[rank - 1].first;
  for (int64_t i = 0; i < rank; i++) {
    const int64_t of = map + i * (rank + 1);
    result.first[i] = number(self, maps, of + rank);
    for (int64_t k = 0; k < rank; k++) result.first[i] += number(self, maps, of + k) * place[k];
    result.step[i] = number(self, maps, of) * along[rank - 1].step;
  }
  return result;
}

#define WRITE(name, type)                                                                          \
  static inline __attribute__((always_inline)) void name(const line *of, int64_t length,           \
                                                         int64_t rank, type *to) {                 \
    for (int64_t i = 0; i < length; i++) {                                                         \
      for (int64_t d = 0; d < rank; d++) {                                                         \
        to[i * rank + d] = (type)of->first[d] + (type)i * (type)of->step[d];                       \
      }                                                                                            \
    }                                                                                              \
  }
WRITE(write_f32, float)
WRITE(write_f64, double)

static void move_rows(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_affine_grid *self = loop->params;
  const int64_t rank = self->rank, length = self->dims[rank - 1];
  places along[RANK] = {{0, 0}};
  for (int64_t d = 0; d < rank; d++) along[d] = places_of(self, self->dims[d]);
  for (int64_t row = begin; row < end; row++) {
    const line of = line_of(self, along, loop->pointers[0], row);
    const int64_t at = row * length * rank;
    if (self->is_wide) {
      write_f64(&of, length, rank, (double *)loop->pointers[1] + at);
    } else if (rank == 2) { /* a constant makes vectors */
      write_f32(&of, length, 2, (float *)loop->pointers[1] + at);
    } else {
      write_f32(&of, length, rank, (float *)loop->pointers[1] + at);
    }
  }
}

lk_status lk_affine_grid_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_affine_grid *self = params;
  int64_t rows = self->batches;
  for (uint32_t d = 0; d + 1 < self->rank; d++) rows *= self->dims[d];
  const int64_t count = rows * self->dims[self->rank - 1];
  return lk_kernel_turns(rows, lk_sharing_pays_for(count, PLACE), move_rows, params, pointers);
}
