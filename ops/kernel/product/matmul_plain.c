/* Matrix products of f64 and of integers. */
#include "ops/kernel/product/matmul_plain.h"

#include <string.h>

#include "base/team/look.h"
#include "ops/kernel/kernel.h"
#include "ops/kernel/sizes.h"

enum {
  BLOCK_ROWS = 128,
  BLOCK_PANELS = 8,
  BLOCK_K = 128,
  COLUMNS_K = 1024, /* of few columns, whose rows are read as they lie */
  FEW_ROWS = 8      /* so few read the right operand sooner than it is copied */
};

/* ---- planning ---- */

bool lk_matmul_plain_takes(uint32_t dtype) {
  return dtype == LK_F64 || dtype == LK_I32 || dtype == LK_U32 || dtype == LK_I64 ||
         dtype == LK_U64;
}

static lk_plain_type type_of(uint32_t dtype) {
  if (dtype == LK_F64) return LK_PLAIN_F64;
  return dtype == LK_I32 || dtype == LK_U32 ? LK_PLAIN_U32 : LK_PLAIN_U64;
}

void lk_matmul_plain_plan(const lk_matmul *of, uint32_t dtype, lk_isa isa, lk_matmul_plain *out) {
  const lk_product_loops *loops = lk_product_loops_get(isa);
  const lk_plain_type type = type_of(dtype);
  out->run = loops->plain[type];
  const bool has_few =
      of->columns <= LK_PLAIN_COLUMNS && of->a_k == 1 && of->k >= LK_PLAIN_SHORTEST;
  out->run_columns = has_few ? loops->plain_columns[type] : NULL;
  out->size = type == LK_PLAIN_U32 ? 4 : 8;
  out->panel = loops->plain_panel / out->size;
  out->of = *of;
  out->batches = lk_matmul_count_batches(of->batch, of->batch_rank);
}

double lk_matmul_plain_operations(const lk_matmul_plain *self) {
  const lk_matmul *of = &self->of;
  return 2 * (double)self->batches * (double)of->rows * (double)of->columns * (double)of->k;
}

/* ---- running ---- */

/* `n` elements, steps are in bytes. */
static void copy_line(const char *from, int64_t from_step, char *to, int64_t to_step, int64_t n,
                      int64_t size) {
  if (size == 8) {
    for (int64_t i = 0; i < n; i++) memcpy(to + i * to_step, from + i * from_step, 8);
  } else {
    for (int64_t i = 0; i < n; i++) memcpy(to + i * to_step, from + i * from_step, 4);
  }
}

/* `columns` of `k` rows, and zeros up to those of a panel. */
static void copy_panel(const lk_matmul_plain *self, const char *from, int64_t k, int64_t columns,
                       char *to) {
  const int64_t row = self->of.b_k * self->size, column = self->of.b_column * self->size;
  const int64_t step = self->panel * self->size;
  if (columns < self->panel) memset(to, 0, (size_t)(k * step));
  if (self->of.b_column == 1) {
    for (int64_t i = 0; i < k; i++) {
      memcpy(to + i * step, from + i * row, (size_t)(columns * self->size));
    }
    return;
  }
  for (int64_t j = 0; j < columns; j++) {
    copy_line(from + j * column, row, to + j * self->size, step, k, self->size);
  }
}

/* A block of rows and panels, which looks as if a column were copied in the time of 8 products. */
typedef struct block {
  const char *a, *b;
  char *c;
  int64_t rows, begin_column, end_column;
} block;

static void do_block(const lk_matmul_plain *self, const block *at) {
  const lk_matmul *of = &self->of;
  _Alignas(64) char copy[BLOCK_K * LK_PLAIN_PANEL];
  lk_plain_tile tile = {.a_row = of->a_row, .a_k = of->a_k, .c_row = of->c_row, .rows = at->rows};
  const int64_t columns = at->end_column - at->begin_column;
  for (int64_t k = 0, done = 0; k < of->k; k += BLOCK_K) {
    if (lk_look_more(&done, (at->rows + 8) * columns * BLOCK_K, 4 * LK_LOOK_EACH)) return;
    tile.k = lk_min(of->k - k, BLOCK_K);
    tile.a = at->a + k * of->a_k * self->size;
    tile.adds = k > 0;
    for (int64_t column = at->begin_column; column < at->end_column; column += self->panel) {
      const char *b = at->b + (k * of->b_k + column * of->b_column) * self->size;
      tile.columns = lk_min(at->end_column - column, self->panel);
      tile.c = at->c + column * self->size;
      if (of->b_column == 1 && tile.columns == self->panel && at->rows <= FEW_ROWS) {
        tile.b = b;
        tile.b_k = of->b_k;
      } else {
        copy_panel(self, b, tile.k, tile.columns, copy);
        tile.b = copy;
        tile.b_k = self->panel;
      }
      self->run(&tile);
    }
  }
}

/* The same of a few columns, each of which is brought side by side. */
static void do_columns(const lk_matmul_plain *self, const block *at) {
  enum { MOST_K = COLUMNS_K + LK_PLAIN_SHORTEST }; /* no block is too short */
  const lk_matmul *of = &self->of;
  _Alignas(64) char copy[MOST_K * LK_PLAIN_COLUMNS * sizeof(uint64_t)];
  lk_plain_tile tile = {.b = copy,
                        .c = at->c,
                        .rows = at->rows,
                        .columns = of->columns,
                        .a_row = of->a_row,
                        .b_k = MOST_K,
                        .c_row = of->c_row};
  for (int64_t k = 0, done = 0; k < of->k; k += tile.k) {
    if (lk_look_more(&done, (at->rows + 8) * of->columns * MOST_K, 4 * LK_LOOK_EACH)) return;
    tile.k = of->k - k < MOST_K ? of->k - k : COLUMNS_K;
    tile.a = at->a + k * self->size;
    tile.adds = k > 0;
    for (int64_t column = 0; column < of->columns; column++) {
      const char *from = at->b + (k * of->b_k + column * of->b_column) * self->size;
      copy_line(from, of->b_k * self->size, copy + column * MOST_K * self->size, self->size, tile.k,
                self->size);
    }
    self->run_columns(&tile);
  }
}

static void do_tasks(const void *arg, int64_t begin_task, int64_t end_task) {
  const lk_kernel_loop *loop = arg;
  const lk_matmul_plain *self = loop->params;
  const lk_matmul *of = &self->of;
  const int64_t row_blocks = lk_div_up(of->rows, BLOCK_ROWS);
  const int64_t width = BLOCK_PANELS * self->panel;
  const int64_t tasks = row_blocks * lk_div_up(of->columns, width);
  for (int64_t i = begin_task; i < end_task; i++) {
    const lk_matmul_place place = lk_matmul_find_place(of->batch, of->batch_rank, i / tasks);
    const int64_t row = i % tasks % row_blocks * BLOCK_ROWS;
    const int64_t column = i % tasks / row_blocks * width;
    const block at = {.a = (const char *)loop->pointers[0] +
                           (of->a_first + place.a + row * of->a_row) * self->size,
                      .b = (const char *)loop->pointers[1] + (of->b_first + place.b) * self->size,
                      .c = (char *)loop->pointers[2] + (place.c + row * of->c_row) * self->size,
                      .rows = lk_min(of->rows - row, BLOCK_ROWS),
                      .begin_column = column,
                      .end_column = lk_min(of->columns, column + width)};
    (self->run_columns != NULL ? do_columns : do_block)(self, &at);
  }
}

lk_status lk_matmul_plain_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_matmul_plain *self = params;
  const int64_t width = BLOCK_PANELS * self->panel;
  const int64_t tasks =
      self->batches * lk_div_up(self->of.rows, BLOCK_ROWS) * lk_div_up(self->of.columns, width);
  const bool is_shared = lk_sharing_of_rows_pays(lk_matmul_plain_operations(self), self->of.rows);
  (void)error;
  return lk_kernel_turns(tasks, is_shared, do_tasks, self, pointers);
}
