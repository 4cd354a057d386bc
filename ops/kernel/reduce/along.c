/* Along one dimension: turns of columns, loaded in pieces where they do not lie as their class.
 * Short rows are many at a time: a piece of them is transposed, so that they are columns. */
#include "ops/kernel/reduce/along.h"

#include <string.h>

#include "base/team/look.h"
#include "base/tensor.h"
#include "ops/kernel/copy_long.h"
#include "ops/kernel/element/element_program.h"
#include "ops/kernel/move/copy_plane.h"
#include "ops/kernel/number.h"
#include "ops/kernel/sizes.h"

enum {
  PIECE = 4096,      /* elements */
  SHORT_ROW = 96,    /* elements of rows that are transposed, at most */
  LONG_RUN = 1 << 20 /* elements between two looks at what may stop it */
};

void lk_along_plan(lk_along *self, lk_isa isa) {
  const lk_element_class class_ = lk_element_class_of(self->dtype);
  const lk_element_loops *loops = lk_element_loops_for((uint32_t)isa);
  const bool lies = lk_element_is_of_class(self->dtype);
  self->largest = lk_row_loops_get(isa)->largest[class_];
  self->running = lk_row_loops_get(isa)->running[class_];
  self->load = lies ? NULL : loops->load[self->dtype];
  self->store = lies ? NULL : loops->store[self->dtype];
  self->transpose = NULL;
  if (self->n == 1) { /* whatever lies around it is columns */
    self->inner *= self->outer;
    self->outer = 1;
  } else if (self->inner == 1 && self->n <= SHORT_ROW) {
    const bool is_wide = lk_element_class_bytes(class_) == sizeof(int64_t);
    self->transpose = lk_copy_planes_get(isa)->transpose[is_wide ? 3 : 2];
  }
}

/* Columns that are done together, in the order of their rows. */
typedef struct span {
  int64_t first;   /* element of the first row */
  int64_t step;    /* from row to row, in elements */
  int64_t columns; /* at most LK_REDUCE_COLUMNS */
  int64_t size;    /* bytes of an element */
} span;

static bool is_shared(const lk_along *self) {
  return lk_sharing_pays_for(self->outer * self->n * self->inner, LK_SHARING_ELEMENT);
}
static int64_t blocks_of(const lk_along *self) {
  return (self->inner + LK_REDUCE_COLUMNS - 1) / LK_REDUCE_COLUMNS;
}
static span span_of(const lk_along *self, int64_t turn) {
  const int64_t blocks = blocks_of(self), column = turn % blocks * LK_REDUCE_COLUMNS;
  const int64_t left = self->inner - column, at = turn / blocks * self->n * self->inner + column;
  return (span){.first = self->is_reversed ? at + (self->n - 1) * self->inner : at,
                .step = self->is_reversed ? -self->inner : self->inner,
                .columns = left < LK_REDUCE_COLUMNS ? left : LK_REDUCE_COLUMNS,
                .size = (int64_t)lk_dtype_size(self->dtype)};
}
static int64_t wide_of(const lk_along *self) {
  return lk_element_class_bytes(lk_element_class_of(self->dtype));
}

/* Rows from `at` on in memory, and without gaps in a piece. */
static lk_element_args between(const lk_along *self, const span *block, char *memory, char *piece,
                               int64_t rows, bool loads) {
  const bool is_row = block->columns == 1;
  const lk_element_ref there = {memory, block->step * block->size};
  const lk_element_ref here = {piece, block->columns * wide_of(self)};
  return (lk_element_args){.to = loads ? here : there,
                           .a = loads ? there : here,
                           .rows = is_row ? 1 : rows,
                           .cols = is_row ? rows : block->columns,
                           .stride = is_row ? block->step * block->size : block->size};
}

/* ---- short rows ---- */

/* Rows that a turn transposes. */
static int64_t rows_of(const lk_along *self) {
  return lk_min(LK_REDUCE_COLUMNS, PIECE / self->n);
}
static int64_t turns_of(const lk_along *self) {
  if (self->transpose == NULL) return self->outer * blocks_of(self);
  return (self->outer + rows_of(self) - 1) / rows_of(self);
}

/* Short rows side by side, of their class in `rows`, and as columns. */
typedef struct short_rows {
  _Alignas(64) char rows[PIECE * sizeof(int64_t)];
  _Alignas(64) char columns[PIECE * sizeof(int64_t)];
  int64_t first, count, step; /* step: from row to row of the columns, in elements */
  char *begin;                /* of the columns: the first row, or the last one */
} short_rows;

static lk_element_args side_by_side(const lk_along *self, char *to, char *from, int64_t count) {
  return (lk_element_args){.to = {to, 0},
                           .a = {from, 0},
                           .rows = 1,
                           .cols = count * self->n,
                           .stride = (int64_t)lk_dtype_size(self->dtype)};
}

static void take_short(const lk_along *self, int64_t turn, char *from, short_rows *out) {
  const int64_t wide = wide_of(self), first = turn * rows_of(self);
  const int64_t count = lk_min(rows_of(self), self->outer - first);
  from += first * self->n * (int64_t)lk_dtype_size(self->dtype);
  if (self->load != NULL) {
    const lk_element_args args = side_by_side(self, out->rows, from, count);
    self->load(&args);
    from = out->rows;
  }
  const lk_copy_plane plane = {.from = from,
                               .to = out->columns,
                               .rows = self->n,
                               .cols = count,
                               .from_row = wide,
                               .from_col = self->n * wide,
                               .to_row = count * wide,
                               .to_col = wide,
                               .block = (size_t)wide};
  self->transpose(&plane);
  out->first = first;
  out->count = count;
  out->step = self->is_reversed ? -count : count;
  out->begin = self->is_reversed ? out->columns + (self->n - 1) * count * wide : out->columns;
}

static void give_short(const lk_along *self, short_rows *rows, char *to) {
  const int64_t wide = wide_of(self);
  to += rows->first * self->n * (int64_t)lk_dtype_size(self->dtype);
  const lk_copy_plane plane = {.from = rows->columns,
                               .to = self->store != NULL ? rows->rows : to,
                               .rows = rows->count,
                               .cols = self->n,
                               .from_row = wide,
                               .from_col = rows->count * wide,
                               .to_row = self->n * wide,
                               .to_col = wide,
                               .block = (size_t)wide};
  self->transpose(&plane);
  if (self->store == NULL) return;
  const lk_element_args args = side_by_side(self, to, rows->rows, rows->count);
  self->store(&args);
}

/* ---- the largest ---- */

/* The first row of a piece has the largest elements of those before. */
static void find_loaded(const lk_along *self, const span *block, char *from, int64_t *at) {
  _Alignas(64) char piece[PIECE * sizeof(int64_t)];
  int64_t found[LK_REDUCE_COLUMNS];
  const int64_t columns = block->columns, wide = wide_of(self), most = PIECE / columns - 1;
  for (int64_t row = 0; row < self->n && !lk_team_is_stopped(); row += most) {
    const int64_t count = self->n - row < most ? self->n - row : most, kept = row > 0 ? 1 : 0;
    const lk_element_args args = between(self, block, from + row * block->step * block->size,
                                         piece + kept * columns * wide, count, true);
    self->load(&args);
    self->largest(piece, count + kept, columns, columns, self->is_smallest, found);
    for (int64_t i = 0; i < columns; i++) {
      if (found[i] >= kept) at[i] = row + found[i] - kept;
      memmove(piece + i * wide, piece + (found[i] * columns + i) * wide, (size_t)wide);
    }
  }
}

/* The bits of 1. */
static uint64_t one_of(uint32_t dtype) {
  switch (dtype) {
  case LK_F64:
    return UINT64_C(0x3ff) << 52;
  case LK_F16:
    return 0x3c00;
  case LK_BF16:
    return 0x3f80;
  default:
    return 0x3f800000;
  }
}

/* 1 in place at[i] of `count` lines, `next` bytes apart, whose places lie `step` bytes apart. */
static void put_ones(const lk_along *self, char *to, const int64_t *at, int64_t step, int64_t next,
                     int64_t count) {
  const uint64_t one = one_of(self->dtype);
  const int64_t size = (int64_t)lk_dtype_size(self->dtype);
  if (size == sizeof(uint16_t)) {
    for (int64_t i = 0; i < count; i++) memcpy(to + i * next + at[i] * step, &one, 2);
  } else if (size == sizeof(uint32_t)) {
    for (int64_t i = 0; i < count; i++) memcpy(to + i * next + at[i] * step, &one, 4);
  } else {
    for (int64_t i = 0; i < count; i++) memcpy(to + i * next + at[i] * step, &one, 8);
  }
}

/* 1 in rows `at` of columns from `to` on, and 0 in the others. */
static void write_hot(const lk_along *self, const span *block, char *to, const int64_t *at) {
  const int64_t size = block->size;
  const bool is_whole = block->columns == self->inner; /* rows lie behind each other */
  const int64_t rows = is_whole ? 1 : self->n, of_row = is_whole ? self->n : 1;
  for (int64_t row = 0; row < rows; row++) {
    lk_fill_long(to + row * self->inner * size, 0, (size_t)(of_row * block->columns * size));
    if (lk_look_after(row, LK_LOOK_EACH)) return;
  }
  put_ones(self, to, at, self->inner * size, size, block->columns);
}

/* `at`: of the rows of a turn. */
static void write_short(const lk_along *self, const short_rows *rows, void *to, const int64_t *at) {
  if (!self->is_one_hot) {
    memcpy((int64_t *)to + rows->first, at, (size_t)rows->count * sizeof *at);
    return;
  }
  const int64_t size = (int64_t)lk_dtype_size(self->dtype), of_row = self->n * size;
  char *first = (char *)to + rows->first * of_row;
  lk_fill_long(first, 0, (size_t)(rows->count * of_row));
  put_ones(self, first, at, size, of_row, rows->count);
}

static void find_short(const lk_kernel_loop *loop, int64_t begin, int64_t end) {
  const lk_along *self = loop->params;
  short_rows rows;
  int64_t at[LK_REDUCE_COLUMNS];
  for (int64_t turn = begin; turn < end; turn++) {
    take_short(self, turn, loop->pointers[0], &rows);
    self->largest(rows.begin, self->n, rows.step, rows.count, self->is_smallest, at);
    for (int64_t i = 0; self->is_reversed && i < rows.count; i++) at[i] = self->n - 1 - at[i];
    write_short(self, &rows, loop->pointers[1], at);
  }
}

static void find_turns(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_along *self = loop->params;
  int64_t at[LK_REDUCE_COLUMNS];
  if (self->transpose != NULL) {
    find_short(loop, begin, end);
    return;
  }
  for (int64_t turn = begin; turn < end; turn++) {
    const span block = span_of(self, turn);
    char *from = (char *)loop->pointers[0] + block.first * block.size;
    /* where it is stopped, they are places all the same */
    memset(at, 0, (size_t)block.columns * sizeof *at);
    if (self->load != NULL) {
      find_loaded(self, &block, from, at);
    } else {
      self->largest(from, self->n, block.step, block.columns, self->is_smallest, at);
    }
    for (int64_t i = 0; self->is_reversed && i < block.columns; i++) at[i] = self->n - 1 - at[i];
    if (self->is_one_hot) {
      write_hot(self, &block, (char *)loop->pointers[1] + block.first * block.size, at);
    } else {
      const int64_t blocks = blocks_of(self);
      int64_t *to = (int64_t *)loop->pointers[1] + turn / blocks * self->inner;
      memcpy(to + turn % blocks * LK_REDUCE_COLUMNS, at, (size_t)block.columns * sizeof *at);
    }
  }
}

lk_status lk_largest_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_along *self = params;
  return lk_kernel_turns(turns_of(self), is_shared(self), find_turns, self, pointers);
}

/* ---- running sums and products ---- */

static void run_loaded(const lk_along *self, const span *block, char *from, char *to,
                       lk_reduce_total *totals) {
  _Alignas(64) char piece[PIECE * sizeof(int64_t)];
  const int64_t columns = block->columns, most = PIECE / columns;
  for (int64_t row = 0; row < self->n && !lk_team_is_stopped(); row += most) {
    const int64_t count = self->n - row < most ? self->n - row : most;
    const int64_t offset = row * block->step * block->size;
    const lk_element_args in = between(self, block, from + offset, piece, count, true);
    const lk_element_args out = between(self, block, to + offset, piece, count, false);
    self->load(&in);
    self->running(piece, piece, count, columns, columns, self->is_product, self->is_exclusive,
                  totals);
    self->store(&out);
  }
}

static void run_plain(const lk_along *self, const span *block, const char *from, char *to,
                      lk_reduce_total *totals) {
  const int64_t most = lk_max(1, LONG_RUN / block->columns);
  for (int64_t row = 0; row < self->n && !lk_team_is_stopped(); row += most) {
    const int64_t count = lk_min(most, self->n - row);
    const int64_t offset = row * block->step * block->size;
    self->running(from + offset, to + offset, count, block->step, block->columns, self->is_product,
                  self->is_exclusive, totals);
  }
}

static void run_short(const lk_kernel_loop *loop, int64_t turn, lk_reduce_total *totals) {
  const lk_along *self = loop->params;
  short_rows rows;
  take_short(self, turn, loop->pointers[0], &rows);
  self->running(rows.begin, rows.begin, self->n, rows.step, rows.count, self->is_product,
                self->is_exclusive, totals);
  give_short(self, &rows, loop->pointers[1]);
}

static void run_turns(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_along *self = loop->params;
  const bool is_real = lk_element_class_of(self->dtype) <= LK_ELEMENT_F64;
  const int64_t first = self->is_product ? 1 : 0;
  lk_reduce_total start = {.whole = first}, totals[LK_REDUCE_COLUMNS];
  if (is_real) start.real = (double)first;
  for (int64_t turn = begin; turn < end; turn++) {
    if (self->transpose != NULL) {
      for (int64_t i = 0; i < rows_of(self); i++) totals[i] = start;
      run_short(loop, turn, totals);
      continue;
    }
    const span block = span_of(self, turn);
    char *from = (char *)loop->pointers[0] + block.first * block.size;
    char *to = (char *)loop->pointers[1] + block.first * block.size;
    for (int64_t i = 0; i < block.columns; i++) totals[i] = start;
    if (self->load != NULL) {
      run_loaded(self, &block, from, to, totals);
    } else {
      run_plain(self, &block, from, to, totals);
    }
  }
}

lk_status lk_running_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_along *self = params;
  return lk_kernel_turns(turns_of(self), is_shared(self), run_turns, self, pointers);
}
