/* Tensors behind each other along an axis. A turn is some rows of the output, or a piece of a long
 * one, to which all sources contribute before the next turn: so each line of the cache is filled
 * while it is there. */
#include "ops/kernel/move/concat.h"

#include "ops/kernel/copy_block.h"

enum { TURN_BYTES = 32 * 1024 };

/* Rows of one element of each source. */
static lk_interleave_fn *find_interleave(const lk_concat *self) {
  for (uint32_t i = 1; i < self->count; i++) {
    if (self->blocks[i] != self->blocks[0]) return NULL;
  }
  return lk_interleave_find(self->count, self->blocks[0]);
}

void lk_concat_plan(lk_concat *self) {
  lk_concat_plan_for(self, lk_isa_get());
}

void lk_concat_plan_for(lk_concat *self, lk_isa isa) {
  self->planes = lk_copy_planes_get(isa);
  self->interleave = find_interleave(self);
  self->row = 0;
  for (uint32_t i = 0; i < self->count; i++) self->row += self->blocks[i];
  const size_t row = self->row > 0 ? self->row : 1; /* of nothing: one turn does that */
  self->piece = row < TURN_BYTES ? row : TURN_BYTES;
  self->tile = row < TURN_BYTES ? (int64_t)(TURN_BYTES / row) : 1;
  const int64_t pieces = (int64_t)((self->row + self->piece - 1) / self->piece);
  self->turns = (self->rows + self->tile - 1) / self->tile * pieces;
  self->shared = lk_sharing_pays_for(self->rows * (int64_t)self->row, LK_SHARING_BYTE);
}

/* The bytes `begin` to `end` of a row. */
static void concat_piece(const lk_concat *self, void *const *pointers, int64_t row, size_t begin,
                         size_t end) {
  char *to = (char *)pointers[self->count] + (size_t)row * self->row;
  size_t at = 0;
  for (uint32_t i = 0; i < self->count && at < end; at += self->blocks[i], i++) {
    const size_t block = self->blocks[i];
    const size_t first = begin > at ? begin : at, last = end < at + block ? end : at + block;
    if (first >= last) continue;
    lk_copy_block(to + first, (const char *)pointers[i] + (size_t)row * block + (first - at),
                  last - first);
  }
}

static void concat_rows(const lk_concat *self, void *const *pointers, int64_t row, int64_t rows) {
  lk_copy_plane plane = {.rows = 1,
                         .cols = rows,
                         .to = (char *)pointers[self->count] + (size_t)row * self->row,
                         .to_col = (int64_t)self->row};
  if (self->interleave != NULL) {
    void *from[LK_INTERLEAVE_ARRAYS];
    for (uint32_t i = 0; i < self->count; i++) {
      from[i] = (char *)pointers[i] + (size_t)row * self->blocks[i];
    }
    self->interleave(from, rows, plane.to);
    return;
  }
  for (uint32_t i = 0; i < self->count; i++) {
    plane.block = self->blocks[i];
    plane.from = (const char *)pointers[i] + (size_t)row * plane.block;
    plane.from_col = (int64_t)plane.block;
    plane.from_row = plane.from_col * rows;
    self->planes->blocks[lk_block_class_of(plane.block)](&plane);
    plane.to += plane.block;
  }
}

static void concat_turns(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_concat *self = loop->params;
  const int64_t pieces = (int64_t)((self->row + self->piece - 1) / self->piece);
  for (int64_t turn = begin; turn < end; turn++) {
    if (self->tile > 1 || pieces == 1) {
      const int64_t row = turn * self->tile, left = self->rows - row;
      concat_rows(self, loop->pointers, row, left < self->tile ? left : self->tile);
      continue;
    }
    const size_t first = (size_t)(turn % pieces) * self->piece, last = first + self->piece;
    concat_piece(self, loop->pointers, turn / pieces, first, last < self->row ? last : self->row);
  }
}

lk_status lk_concat_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_concat *self = params;
  return lk_kernel_turns(self->turns, self->shared, concat_turns, params, pointers);
}
