/* Tensors behind each other along an axis. A turn is some rows of the output, or a piece of a long
 * one, to which all sources contribute before the next turn: so each line of the cache is filled
 * while it is there. */
#include "ops/kernel/concat.h"

#include <emmintrin.h>
#include <string.h>

#include "ops/kernel/copy_block.h"

enum {
  TURN_BYTES = 32 * 1024,
  SHARED_BYTES = 256 * 1024 /* with less to move, waking the threads costs more than they save */
};

/* ---- pairs ---- */

#define PAIRS(block, bits)                                                                         \
  static void pairs_of_##block(const char *a, const char *b, int64_t rows, char *to) {             \
    enum { AT_ONCE = 16 / (block) };                                                               \
    int64_t i = 0;                                                                                 \
    for (; i + AT_ONCE <= rows; i += AT_ONCE) {                                                    \
      const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(a + i * (block)));         \
      const __m128i y = _mm_loadu_si128((const __m128i *)(const void *)(b + i * (block)));         \
      __m128i *both = (__m128i *)(void *)(to + 2 * i * (block));                                   \
      _mm_storeu_si128(both, _mm_unpacklo_epi##bits(x, y));                                        \
      _mm_storeu_si128(both + 1, _mm_unpackhi_epi##bits(x, y));                                    \
    }                                                                                              \
    for (; i < rows; i++) {                                                                        \
      memcpy(to + 2 * i * (block), a + i * (block), block);                                        \
      memcpy(to + (2 * i + 1) * (block), b + i * (block), block);                                  \
    }                                                                                              \
  }
PAIRS(1, 8)
PAIRS(2, 16)
PAIRS(4, 32)
PAIRS(8, 64)
#undef PAIRS

static lk_concat_pairs_fn *find_pairs(const lk_concat *self) {
  if (self->count != 2 || self->blocks[0] != self->blocks[1]) return NULL;
  switch (self->blocks[0]) {
  case 1:
    return pairs_of_1;
  case 2:
    return pairs_of_2;
  case 4:
    return pairs_of_4;
  case 8:
    return pairs_of_8;
  default:
    return NULL;
  }
}

/* ---- the whole ---- */

void lk_concat_plan(lk_concat *self, lk_isa isa) {
  self->planes = lk_copy_planes_get(isa);
  self->pairs = find_pairs(self);
  self->row = 0;
  for (uint32_t i = 0; i < self->count; i++) self->row += self->blocks[i];
  const size_t row = self->row > 0 ? self->row : 1; /* of nothing: one turn does that */
  self->piece = row < TURN_BYTES ? row : TURN_BYTES;
  self->tile = row < TURN_BYTES ? (int64_t)(TURN_BYTES / row) : 1;
  const int64_t pieces = (int64_t)((self->row + self->piece - 1) / self->piece);
  self->turns = (self->rows + self->tile - 1) / self->tile * pieces;
  self->shared = (double)self->rows * (double)self->row >= SHARED_BYTES;
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
  if (self->pairs != NULL) {
    const size_t at = (size_t)row * self->blocks[0];
    const char *a = pointers[0], *b = pointers[1];
    self->pairs(a + at, b + at, rows, plane.to);
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
