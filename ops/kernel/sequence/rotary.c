/* Rotary position embedding. */
#include "ops/kernel/sequence/rotary.h"

#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/team/look.h"

/* Operations of an element, which is brought to its partner, and both to an angle. */
enum { ELEMENT = 32 };

/* Which row of cos and sin. */
static int64_t position_of(const lk_rotary *self, const int64_t *given, int64_t batch,
                           int64_t row) {
  if (!self->has_positions) return self->positions >= 0 ? row : batch * self->rows + row;
  return self->is_first ? given[0] + row : given[batch * self->rows + row];
}

static lk_status check_positions(const lk_rotary *self, const int64_t *given, lk_error *error) {
  const int64_t batches = self->has_positions && !self->is_first ? self->batch : 1;
  if (self->positions < 0) return LK_OK;
  for (int64_t i = 0; i < batches * self->rows; i++) {
    LK_RETURN_NOT_OK(lk_look_check_after(i, LK_LOOK_EACH, "check positions", error));
    const int64_t at = position_of(self, given, i / self->rows, i % self->rows);
    if (at >= 0 && at < self->positions) continue;
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "position %" PRId64 " of batch %" PRId64 ", row %" PRId64
                   ": cos and sin have %" PRId64,
                   at, i / self->rows, i % self->rows, self->positions);
  }
  return LK_OK;
}

/* Pairs `begin` to `end` - 1 of `half`. */
static void turn_halves(const float *x, float *y, const float *cosines, const float *sines,
                        int64_t half, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++) {
    const float a = x[i], b = x[half + i];
    y[i] = cosines[i] * a - sines[i] * b;
    y[half + i] = sines[i] * a + cosines[i] * b;
  }
}
static void turn_neighbours(const float *x, float *y, const float *cosines, const float *sines,
                            int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++) {
    const float a = x[2 * i], b = x[2 * i + 1];
    y[2 * i] = cosines[i] * a - sines[i] * b;
    y[2 * i + 1] = sines[i] * a + cosines[i] * b;
  }
}

static int64_t offset_of(const int64_t strides[3], int64_t batch, int64_t head, int64_t row) {
  return batch * strides[0] + head * strides[1] + row * strides[2];
}

static void turn_head(const lk_rotary *self, const float *x, float *y, const float *cosines,
                      const float *sines) {
  const int64_t half = self->rotated / 2;
  for (int64_t i = 0, end; i < half && !lk_look_after(i, LK_LOOK_EACH); i = end) {
    end = lk_look_part(i, half, LK_LOOK_EACH);
    if (self->is_interleaved) {
      turn_neighbours(x, y, cosines, sines, i, end);
    } else {
      turn_halves(x, y, cosines, sines, half, i, end);
    }
  }
  if (x == y) return;
  const int64_t rest = self->size - self->rotated;
  for (int64_t i = 0, end; i < rest && !lk_look_after(i, LK_LOOK_EACH); i = end) {
    end = lk_look_part(i, rest, LK_LOOK_EACH);
    memcpy(y + self->rotated + i, x + self->rotated + i, (size_t)(end - i) * sizeof *y);
  }
}

/* A turn: all heads of a row. */
static void do_rows(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_rotary *self = loop->params;
  int64_t done = 0;
  const int64_t half = self->rotated / 2;
  for (int64_t i = begin; i < end; i++) {
    const int64_t batch = i / self->rows, row = i % self->rows;
    const int64_t angles = half * position_of(self, loop->pointers[4], batch, row);
    const float *cosines = (const float *)loop->pointers[2] + angles;
    const float *sines = (const float *)loop->pointers[3] + angles;
    for (int64_t head = 0; head < self->heads; head++) {
      const float *x =
          (const float *)loop->pointers[0] + self->first + offset_of(self->from, batch, head, row);
      float *y = (float *)loop->pointers[1] + offset_of(self->to, batch, head, row);
      if (lk_look_more(&done, self->size, LK_LOOK_EACH)) return;
      turn_head(self, x, y, cosines, sines);
    }
  }
}

lk_status lk_rotary_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_rotary *self = params;
  void *const all[] = {pointers[0], pointers[1], pointers[2], pointers[3],
                       self->has_positions ? pointers[4] : NULL};
  LK_RETURN_NOT_OK(check_positions(self, all[4], error));
  const int64_t rows = self->batch * self->rows;
  const int64_t elements = rows * self->heads * self->size;
  return lk_kernel_turns(rows, lk_sharing_pays_for(elements, ELEMENT), do_rows, self, all);
}
