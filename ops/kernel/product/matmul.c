/* Matrix products of any rank and strides. */
#include "ops/kernel/product/matmul.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/team/look.h"
#include "base/team/team.h"
#include "ops/kernel/integer/bits_panels.h"
#include "ops/kernel/kernel.h"
#include "ops/kernel/product/dots.h"
#include "ops/kernel/product/product_loops.h"
#include "ops/kernel/sizes.h"

/* So few rows read the right operand sooner than it is packed: by its rows, by its columns. */
enum { FEW_ROWS = 32, FEW_DOTS = 4 };
/* Elements of a right operand that one row reads sooner than it is prepared for anything else. */
enum { FEW_WEIGHTS = 4096 };
/* Rows that are multiplied by one column together, and so much of it. */
enum { LINES = 128, LINE_PART = LK_LOOK_EACH / LINES };
/* So few rows take numbers of few bits one by one; more have them unpacked. */
enum { FEW_SUMS = LK_INTEGER_BITS_ROWS };
/* Parts of a product by few bits that have scratch memory of their own. */
enum { MAX_SLOTS = 64 };
/* Of bytes that are multiplied by a panel at a time. */
enum { BYTE_ROWS = 16 };

static int64_t b_matrices(const lk_matmul *self) {
  int64_t count = 1;
  for (uint32_t i = 0; i < self->batch_rank; i++) {
    if (self->batch[i].b != 0) count *= self->batch[i].size;
  }
  return self->b_is_packed ? 1 : count;
}

void lk_matmul_plan(lk_matmul *self) {
  self->batches = lk_matmul_count_batches(self->batch, self->batch_rank);
  self->b_matrices = b_matrices(self);
  self->product = (lk_product){.micro = self->b_is_bits ? lk_micro_get(self->isa)
                                                        : lk_micro_for(self->isa, self->columns),
                               .rows = self->rows,
                               .columns = self->columns,
                               .taps = 1,
                               .k = self->k,
                               .c_step = self->c_row,
                               .c_rows = 1,
                               .groups = 1,
                               .low = self->low,
                               .high = self->high};
  lk_product_plan(&self->product, (int64_t)sizeof(float) * self->k);
  self->first_packed = 0;
  self->has_dots = !self->b_is_packed && self->rows <= FEW_DOTS && self->k > 0 && self->a_k == 1 &&
                   self->b_k == 1 && self->b_column != 1;
  self->sums_bits =
      self->b_is_bits && self->left_bytes == 0 && self->a_k == 1 && self->rows <= FEW_SUMS;
  self->has_lines =
      !self->b_is_packed && self->columns == 1 && self->k > 0 && self->a_k == 1 && self->b_k == 1;
  self->has_sums = !self->b_is_packed && self->rows == 1 && self->k > 0 && self->a_k == 1 &&
                   self->b_column == 1 && self->columns > 1 &&
                   self->columns <= FEW_WEIGHTS / self->k && !self->has_bias && !self->has_chain &&
                   self->low == -INFINITY && self->high == INFINITY;
  if (self->b_is_bits) lk_product_plan_made(&self->product);
  if (self->has_lines || self->has_dots || self->has_sums) { /* nothing is packed for them */
    self->first_packed = self->product.panels;
    return;
  }
  if (self->b_is_packed || self->b_column != 1 || self->rows > FEW_ROWS) return;
  /* of several rows, a panel that is not whole would be read beyond its columns */
  self->first_packed = self->rows == 1 ? self->product.panels : self->columns / self->product.panel;
}

/* ---- the right operand ---- */

int64_t lk_matmul_packed_size(const lk_matmul *self) {
  return lk_product_packed_size(&self->product);
}

static void pack_constant(const void *arg, int64_t begin_panel, int64_t end_panel) {
  const lk_kernel_loop *loop = arg;
  const lk_matmul *self = loop->params;
  lk_product_pack(&self->product, loop->pointers[0], self->b_column, 0, self->b_k, begin_panel,
                  end_panel, loop->pointers[1]);
}

void lk_matmul_pack(const lk_matmul *self, const float *b, float *packed) {
  void *const pointers[] = {(void *)(uintptr_t)b, packed};
  const bool is_shared = lk_sharing_pays_for(lk_matmul_packed_size(self), LK_SHARING_ELEMENT);
  (void)lk_kernel_turns(self->product.panels, is_shared, pack_constant, self, pointers);
}

void lk_matmul_unpack(const lk_matmul *self, const float *packed, float *b) {
  lk_product_unpack(&self->product, packed, self->b_column, 0, self->b_k, b);
}

static int64_t slots(const lk_matmul *self) {
  return lk_min(self->product.panels, lk_sharing_slots(MAX_SLOTS));
}

/* Elements of scratch memory of a slot, and of the left operand as bytes before them. */
static int64_t slot_size(const lk_matmul *self) {
  if (self->left_bytes > 0) return BYTE_ROWS * self->product.panel;
  return self->sums_bits ? FEW_SUMS * self->product.panel : lk_product_made_size(&self->product);
}
static int64_t left_size(const lk_matmul *self) {
  const int64_t line = (int64_t)(LK_DATA_ALIGNMENT / sizeof(float));
  return lk_div_up(self->left_bytes, (int64_t)LK_DATA_ALIGNMENT) * line;
}

int64_t lk_matmul_scratch_size(const lk_matmul *self) {
  if (self->b_is_bits) return left_size(self) + slots(self) * slot_size(self);
  if (self->b_is_packed || self->first_packed == self->product.panels) return 0;
  return self->b_matrices * lk_matmul_packed_size(self);
}

/* ---- batches ---- */

/* Where a matrix of the right operand lies. */
static int64_t matrix_offset(const lk_matmul *self, int64_t matrix) {
  int64_t offset = 0;
  for (uint32_t i = self->batch_rank; i-- > 0;) {
    if (self->batch[i].b == 0) continue;
    offset += matrix % self->batch[i].size * self->batch[i].b;
    matrix /= self->batch[i].size;
  }
  return offset;
}

/* ---- running ---- */

typedef struct operands {
  const float *a, *b, *bias, *residual;
  float *c, *scratch;
  void *const *of_chain;
  lk_kernel_ahead ahead;
} operands;

static operands read_pointers(const lk_matmul *self, void *const *pointers) {
  operands read = {.a = (const float *)pointers[0] + self->a_first,
                   .b = (const float *)pointers[1] + self->b_first,
                   .c = pointers[2]};
  uint32_t n = 3;
  if (self->has_bias) read.bias = pointers[n++];
  if (self->has_residual) read.residual = pointers[n++];
  if (lk_matmul_scratch_size(self) > 0) read.scratch = pointers[n++];
  read.of_chain = pointers + n;
  return read;
}

static void pack_panels(const void *arg, int64_t begin_panel, int64_t end_panel) {
  const lk_kernel_loop *loop = arg;
  const lk_matmul *self = loop->params;
  const operands read = read_pointers(self, loop->pointers);
  const int64_t panels = self->product.panels - self->first_packed;
  if (panels == 0) return;
  for (int64_t i = begin_panel; i < end_panel; i++) {
    const int64_t matrix = i / panels, panel = self->first_packed + i % panels;
    lk_product_pack(&self->product, read.b + matrix_offset(self, matrix), self->b_column, 0,
                    self->b_k, panel, panel + 1,
                    read.scratch + matrix * lk_matmul_packed_size(self));
  }
}

/* A task of the product, of one batch. `product`: this one's, or one that ends as it does. */
static void do_task(const lk_matmul *self, const lk_product *product, const operands *read,
                    int64_t batch, int64_t task, const lk_product_maker *maker, float *made) {
  const lk_matmul_place at = lk_matmul_find_place(self->batch, self->batch_rank, batch);
  const lk_product_chain *chain =
      self->has_chain ? (const void *)((const char *)self + lk_matmul_size(self)) : NULL;
  lk_product_rows source = lk_product_rows_make(product, read->a + at.a, self->a_row, self->a_k);
  const float *packed = self->b_is_packed ? read->b : read->scratch;
  lk_product_operands of_product = {
      .b = packed != NULL ? packed + at.b_matrix * lk_matmul_packed_size(self) : NULL,
      .maker = maker,
      .made = made,
      .plain_b = read->b + at.b,
      .plain_step = self->b_k,
      .first_packed = self->first_packed,
      .groups = 1,
      .bias = read->bias,
      .adds_bias = true,
      .residual = read->residual != NULL ? read->residual + at.c : NULL,
      .c = read->c + at.c,
      .chain = chain,
      .ahead = read->ahead};
  if (chain != NULL) {
    of_product.of_chain = lk_product_chain_at(chain, read->of_chain, batch * self->rows, 0);
  }
  lk_product_run(product, &of_product, &source.source, task);
}

/* ---- of sums that have been made otherwise ---- */

/* Those of some columns into C, from element `at` on, with the residual. */
static void put_sums(const lk_matmul *self, const operands *read, int64_t at, int64_t rows,
                     int64_t columns, const float *sums, int64_t step) {
  for (int64_t r = 0; r < rows; r++, at += self->c_row) {
    for (int64_t n = 0; n < columns; n++) {
      const float residual = read->residual != NULL ? read->residual[at + n] : 0;
      read->c[at + n] = sums[r * step + n] + residual;
    }
  }
}

/* What follows the sums of a task, a panel or some rows of one: a product without elements. */
static void end_sums(const lk_matmul *self, const operands *read, int64_t batch, int64_t task,
                     int64_t rows) {
  lk_product ends = self->product;
  operands of_ends = *read;
  ends.k = ends.k_block = 0;
  ends.row_block = rows;
  ends.panel_block = 1;
  of_ends.residual = read->c;
  do_task(self, &ends, &of_ends, batch, task, NULL, NULL);
}

/* Elements are products of a row and a column. A task is a panel of a batch. */
static void do_dots(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_matmul *self = loop->params;
  const lk_product_loops *loops = lk_product_loops_get(self->isa);
  const operands read = read_pointers(self, loop->pointers);
  const int64_t panels = self->product.panels, width = self->product.panel;
  for (int64_t i = begin; i < end; i++) {
    const lk_matmul_place at = lk_matmul_find_place(self->batch, self->batch_rank, i / panels);
    const int64_t first = i % panels * width, columns = lk_min(width, self->columns - first);
    const float *rows[FEW_DOTS] = {NULL};
    float sums[FEW_DOTS * LK_MICRO_COLUMNS];
    for (int64_t r = 0; r < self->rows; r++) rows[r] = read.a + at.a + r * self->a_row;
    lk_dots_run(loops, rows, self->rows, read.b + at.b + first * self->b_column, self->b_column,
                columns, self->k, sums, width);
    put_sums(self, &read, at.c + first, self->rows, columns, sums, width);
    end_sums(self, &read, i / panels, i % panels, self->rows);
  }
}

/* Elements are products of a row and the only column. A task is some rows of a batch. */
static int64_t line_tasks(const lk_matmul *self) {
  return lk_div_up(self->rows, LINES);
}

static void do_lines(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_matmul *self = loop->params;
  const lk_product_loops *loops = lk_product_loops_get(self->isa);
  const operands read = read_pointers(self, loop->pointers);
  const int64_t tasks = line_tasks(self);
  const bool has_end =
      self->has_bias || self->has_chain || self->low != -INFINITY || self->high != INFINITY;
  for (int64_t i = begin; i < end; i++) {
    const lk_matmul_place at = lk_matmul_find_place(self->batch, self->batch_rank, i / tasks);
    const int64_t first = i % tasks * LINES, rows = lk_min(LINES, self->rows - first);
    float sums[LINES] = {0}, parts[LINES];
    for (int64_t k = 0; k < self->k && !(k > 0 && lk_team_is_stopped()); k += LINE_PART) {
      const float *column = read.b + at.b + k, *lines = read.a + at.a + first * self->a_row + k;
      loops->dots(&column, 1, lines, self->a_row, rows, lk_min(LINE_PART, self->k - k), parts,
                  LINES);
      for (int64_t r = 0; r < rows; r++) sums[r] += parts[r];
    }
    if (self->c_row == 1 && read.residual == NULL) {
      memcpy(read.c + at.c + first, sums, (size_t)rows * sizeof *sums);
    } else {
      put_sums(self, &read, at.c + first * self->c_row, rows, 1, sums, 1);
    }
    if (has_end) end_sums(self, &read, i / tasks, i % tasks, LINES);
  }
}

/* Elements are sums of rows of the right operand. A task is a batch. */
static void do_sums(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_matmul *self = loop->params;
  const lk_product_loops *loops = lk_product_loops_get(self->isa);
  const operands read = read_pointers(self, loop->pointers);
  for (int64_t i = begin; i < end; i++) {
    const lk_matmul_place at = lk_matmul_find_place(self->batch, self->batch_rank, i);
    float *to = read.c + at.c;
    for (int64_t n = 0; n < self->columns; n++) {
      to[n] = read.residual != NULL ? read.residual[at.c + n] : 0;
    }
    loops->weigh(read.a + at.a, self->a_row, 1, read.b + at.b, self->b_k, self->k, self->columns,
                 &to);
  }
}

static void do_tasks(const void *arg, int64_t begin_task, int64_t end_task) {
  const lk_kernel_loop *loop = arg;
  const lk_matmul *self = loop->params;
  operands read = read_pointers(self, loop->pointers);
  const int64_t tasks = lk_product_tasks(&self->product);
  for (int64_t i = begin_task; i < end_task; i++) {
    read.ahead = lk_kernel_ahead_of(loop, i, self->batches * tasks);
    do_task(self, &self->product, &read, i / tasks, i % tasks, NULL, NULL);
  }
}

/* ---- by a matrix of few bits ---- */

typedef struct bits_maker {
  const lk_bits_panels *panels;
  const lk_integer_loops *loops;
} bits_maker;

static void make_panel(const void *arg, int64_t panel, int64_t k, int64_t k_end, float *to) {
  const bits_maker *self = arg;
  lk_bits_panels_make(self->panels, self->loops, panel, k, k_end, to);
}

/* By rows that have been made bytes. */
static void multiply_bytes(const lk_matmul *self, const operands *read, int64_t panel,
                           const bits_maker *of_bits, float *sums) {
  const int64_t width = self->product.panel, first = panel * width;
  const int64_t columns = lk_min(width, self->columns - first);
  for (int64_t row = 0; row < self->rows; row += BYTE_ROWS) {
    const int64_t rows = lk_min(self->rows - row, BYTE_ROWS);
    lk_bits_panels_multiply(of_bits->panels, of_bits->loops, read->scratch, row, rows, panel, sums);
    put_sums(self, read, row * self->c_row + first, rows, columns, sums, width);
  }
  end_sums(self, read, 0, panel, self->rows);
}

/* By rows as they are. */
static void sum_bits(const lk_matmul *self, const operands *read, int64_t batch, int64_t panel,
                     const bits_maker *of_bits, float *sums) {
  const lk_matmul_place at = lk_matmul_find_place(self->batch, self->batch_rank, batch);
  const int64_t width = self->product.panel, first = panel * width;
  lk_bits_panels_sum(of_bits->panels, of_bits->loops, read->a + at.a, self->a_row, self->rows,
                     panel, sums);
  put_sums(self, read, at.c + first, self->rows, lk_min(width, self->columns - first), sums, width);
  end_sums(self, read, batch, panel, self->rows);
}

/* A task is a panel, see lk_product_plan_made. */
static void do_slots(const void *arg, int64_t begin_slot, int64_t end_slot) {
  const lk_kernel_loop *loop = arg;
  const lk_matmul *self = loop->params;
  const operands read = read_pointers(self, loop->pointers);
  const bits_maker of_bits = {loop->pointers[1], lk_integer_loops_get(self->isa)};
  const lk_product_maker maker = {make_panel, &of_bits};
  const int64_t panels = self->product.panels, n_slots = slots(self);
  if (read.scratch == NULL) return; /* there is some with b_is_bits */
  for (int64_t slot = begin_slot; slot < end_slot; slot++) {
    float *of_slot = read.scratch + left_size(self) + slot * slot_size(self);
    for (int64_t panel = slot * panels / n_slots; panel < (slot + 1) * panels / n_slots; panel++) {
      if (lk_team_is_stopped()) return;
      if (self->left_bytes > 0) {
        multiply_bytes(self, &read, panel, &of_bits, of_slot);
        continue;
      }
      for (int64_t batch = 0; batch < self->batches; batch++) {
        if (self->sums_bits) {
          sum_bits(self, &read, batch, panel, &of_bits, of_slot);
        } else {
          do_task(self, &self->product, &read, batch, panel, &maker, of_slot);
        }
      }
    }
  }
}

static lk_status multiply_by_bits(const lk_matmul *self, bool is_shared, void *const *pointers) {
  if (self->left_bytes > 0) {
    const operands read = read_pointers(self, pointers);
    const lk_bits_panels *panels = pointers[1];
    lk_bits_left_make(&panels->bits, lk_integer_loops_get(self->isa), read.a, self->a_row,
                      self->rows, read.scratch);
  }
  return lk_kernel_turns_looking(slots(self), is_shared, do_slots, self, pointers);
}

lk_status lk_matmul_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_matmul *self = params;
  const lk_product *product = &self->product;
  const bool is_shared =
      lk_sharing_of_rows_pays(lk_product_operations(product, self->batches), self->rows);
  (void)error;
  if (self->b_is_bits) return multiply_by_bits(self, is_shared, pointers);
  if (self->has_sums) {
    return lk_kernel_turns(self->batches, is_shared, do_sums, self, pointers);
  }
  if (self->has_lines) {
    return lk_kernel_turns(self->batches * line_tasks(self), is_shared, do_lines, self, pointers);
  }
  if (self->has_dots) {
    return lk_kernel_turns(self->batches * product->panels, is_shared, do_dots, self, pointers);
  }
  if (lk_matmul_scratch_size(self) > 0) {
    const int64_t panels = self->b_matrices * (product->panels - self->first_packed);
    LK_RETURN_NOT_OK(lk_kernel_turns(panels, is_shared, pack_panels, self, pointers));
  }
  return lk_kernel_turns_fetching(self->batches * lk_product_tasks(product), is_shared, do_tasks,
                                  self, pointers);
}
