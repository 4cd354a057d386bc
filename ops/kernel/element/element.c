/* Element programs on tensors of any size: one pass over memory, by blocks that stay in the L1
 * cache. */
#include "ops/kernel/element/element.h"

#include <stdatomic.h>

#include "base/status.h"
#include "ops/kernel/sizes.h"

typedef struct block {
  const lk_element *self;
  char *memory;
  bool fault;
  lk_element_ref refs[LK_ELEMENT_REFS];
} block;

/* Behind the numbers. */
static const int64_t *words_of(const lk_element *self) {
  return LK_ELEMENT_WORDS_OF(self) + self->n_numbers;
}

static void begin(block *b, const lk_element *self, char *memory) {
  b->self = self;
  b->memory = memory;
  b->fault = false;
  lk_element_ref *refs = b->refs + self->n_inputs + self->n_outputs;
  const int64_t *numbers = LK_ELEMENT_WORDS_OF(self);
  for (uint32_t i = 0; i < self->n_numbers; i++) {
    /* loops only read them */
    *refs++ = (lk_element_ref){(char *)(uintptr_t)&numbers[i], 0};
  }
  for (uint32_t i = 0; i < self->n_registers; i++) {
    const lk_element_register *r = LK_ELEMENT_REGISTER_OF(self, i);
    *refs++ = (lk_element_ref){memory + r->at, r->level == LK_ELEMENT_ROW ? r->bytes : 0};
  }
}

/* Registers have their rows side by side. */
static void set_cols(block *b, int64_t cols) {
  const lk_element *self = b->self;
  lk_element_ref *refs = b->refs + self->n_inputs + self->n_outputs + self->n_numbers;
  for (uint32_t i = 0; i < self->n_registers; i++) {
    const lk_element_register *r = LK_ELEMENT_REGISTER_OF(self, i);
    if (r->level == LK_ELEMENT_EACH) refs[i].row = cols * r->bytes;
  }
}

/* Whether the rows of all operands follow each other without a gap, so that they are one row. */
static bool is_one_row(const lk_element_call *call, const lk_element_args *args) {
  return !call->is_strided && args->to.row == args->cols * call->bytes[0] &&
         args->a.row == args->cols * call->bytes[1] && args->b.row == args->cols * call->bytes[2] &&
         args->c.row == args->cols * call->bytes[3];
}

/* Bytes from element to element of what a call loads or stores. */
static int64_t stride_of(const lk_element *self, const lk_element_call *call) {
  if (!call->is_strided) return call->bytes[call->memory];
  return words_of(self)[(2U + call->refs[call->memory]) * self->rank - 1];
}

/* `is_first`: no block was before. */
static void do_block(block *b, int64_t rows, int64_t cols, bool is_first) {
  static const lk_element_ref none = {NULL, 0};
  const lk_element *self = b->self;
  const uint32_t n_refs =
      (uint32_t)self->n_inputs + self->n_outputs + self->n_numbers + self->n_registers;
  for (uint32_t i = 0; i < self->n_calls; i++) {
    const lk_element_call *call = &self->slots[i].call;
    const uint8_t *at = call->refs;
    if (call->is_once && !is_first) continue;
    lk_element_args args = {.to = b->refs[at[0]],
                            .a = b->refs[at[1]],
                            .b = at[2] < n_refs ? b->refs[at[2]] : none,
                            .c = at[3] < n_refs ? b->refs[at[3]] : none,
                            .rows = call->level == LK_ELEMENT_ONE ? 1
                                    : call->is_once               ? self->block_rows
                                                                  : rows,
                            .cols = call->level == LK_ELEMENT_EACH ? cols : 1,
                            .stride = stride_of(self, call),
                            .p = call->p,
                            .q = call->q,
                            .fault = &b->fault};
    if (args.rows > 1 && is_one_row(call, &args)) {
      args.cols *= args.rows;
      args.rows = 1;
    }
    const char *loop = (const char *)self->loops + call->loop;
    (*(lk_element_fn *const *)(const void *)loop)(&args);
  }
}

/* ---- tensors ---- */

/* Points the operands at the block's first element. */
static void aim(block *b, void *const *pointers, int64_t outer, int64_t row, int64_t col) {
  const lk_element *self = b->self;
  const uint32_t rank = self->rank, n_operands = (uint32_t)self->n_inputs + self->n_outputs;
  const int64_t *dims = words_of(self);
  int64_t at[LK_MAX_RANK] = {0};
  at[rank - 1] = col;
  if (rank > 1) at[rank - 2] = row;
  for (uint32_t i = rank > 2 ? rank - 2 : 0; i-- > 0; outer /= dims[i]) at[i] = outer % dims[i];
  for (uint32_t k = 0; k < n_operands; k++) {
    const int64_t *strides = dims + (size_t)(1 + k) * rank;
    int64_t offset = 0;
    for (uint32_t i = 0; i < rank; i++) offset += at[i] * strides[i];
    b->refs[k].at = (char *)pointers[k] + offset;
    b->refs[k].row = rank > 1 ? strides[rank - 2] : 0;
  }
}

bool lk_element_run(const lk_element *self, void *const *pointers, int64_t begin_tile,
                    int64_t end_tile) {
  _Alignas(64) char memory[LK_ELEMENT_MEMORY];
  block b;
  begin(&b, self, memory);
  const int64_t *dims = words_of(self);
  const int64_t cols = dims[self->rank - 1], rows = self->rank > 1 ? dims[self->rank - 2] : 1;
  if (self->rank == 1 && self->n_registers == 0) {
    /* no blocks that must fit anywhere */
    const int64_t first = begin_tile * self->block_cols;
    const int64_t end = lk_min(end_tile * self->block_cols, cols);
    if (first >= end) return true;
    aim(&b, pointers, 0, 0, first);
    do_block(&b, 1, end - first, true);
    return !b.fault;
  }
  const int64_t of_row = begin_tile / self->col_blocks;
  int64_t col_block = begin_tile % self->col_blocks;
  int64_t row_block = of_row % self->row_blocks, outer = of_row / self->row_blocks;
  for (int64_t tile = begin_tile; tile < end_tile; tile++) {
    const int64_t col = col_block * self->block_cols, row = row_block * self->block_rows;
    const int64_t n_cols = lk_min(self->block_cols, cols - col);
    aim(&b, pointers, outer, row, col);
    set_cols(&b, n_cols);
    do_block(&b, lk_min(self->block_rows, rows - row), n_cols, tile == begin_tile);
    if (++col_block < self->col_blocks) continue;
    col_block = 0;
    if (++row_block < self->row_blocks) continue;
    row_block = 0;
    outer++;
  }
  return !b.fault;
}

typedef struct turns {
  const lk_element *self;
  void *const *pointers;
  atomic_bool *fault;
} turns;

static void run_turns(const void *arg, int64_t first, int64_t end) {
  const turns *self = arg;
  if (!lk_element_run(self->self, self->pointers, first, end)) {
    atomic_store_explicit(self->fault, true, memory_order_relaxed);
  }
}

lk_status lk_element_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_element *self = params;
  atomic_bool fault = false;
  const turns all = {self, pointers, &fault};
  const int64_t steps = self->tiles * self->block_cols * self->block_rows * self->cost;
  lk_team_for(self->tiles, lk_sharing_pays_for(steps, LK_SHARING_ELEMENT), run_turns, &all);
  if (!atomic_load_explicit(&fault, memory_order_relaxed)) return LK_OK;
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to compute on integers: a divisor is 0, or 0 is raised to a negative "
                 "power, which has no value");
}

/* ---- tiles in the cache ---- */

bool lk_element_apply(const lk_element *self, int64_t rows, int64_t cols,
                      const lk_element_ref *operands) {
  _Alignas(64) char memory[LK_ELEMENT_MEMORY];
  block b;
  begin(&b, self, memory);
  const uint32_t n_operands = (uint32_t)self->n_inputs + self->n_outputs;
  const int64_t block_cols = lk_min(self->block_cols, cols);
  const int64_t *bytes = words_of(self); /* from element to element of each operand */
  if (block_cols == 0) return true;
  const int64_t block_rows = lk_min(self->block_rows, self->block_cols / block_cols);
  for (int64_t row = 0; row < rows; row += block_rows) {
    for (int64_t col = 0; col < cols; col += block_cols) {
      for (uint32_t k = 0; k < n_operands; k++) {
        b.refs[k] = operands[k];
        b.refs[k].at += row * operands[k].row + col * bytes[k];
      }
      set_cols(&b, lk_min(block_cols, cols - col));
      do_block(&b, lk_min(block_rows, rows - row), lk_min(block_cols, cols - col), true);
    }
  }
  return !b.fault;
}
