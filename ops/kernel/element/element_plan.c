/* Element programs and sizes: how large a block is, where its registers lie, and how many tiles
 * there are. */
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/element/element_compile.h"
#include "ops/kernel/element/element_space.h"
#include "ops/kernel/sizes.h"

enum {
  /* What a block's registers may take of the L1 cache, which inputs and outputs pass through too */
  REGISTER_BYTES = 8 * 1024,
  MOST_ELEMENTS = 2048, /* of a register in a block: more do not make the calls any rarer */
  MOST_BYTES = 4 * MOST_ELEMENTS, /* of an operand of one or two bytes, which is read as quickly */
  LEAST_ELEMENTS = 64,
  WITHOUT_REGISTERS = 16384, /* elements of a block: a tile's worth of work */
  /* What takes so many bytes comes from memory: there a block is small, so that the processor reads
   * the next one while the last steps of this one are under way. */
  FAR_BYTES = 64 * 1024 * 1024,
  FAR_ELEMENTS = 128,
  ALONG_COLUMNS = 16, /* rows of a block at least, where an operand lies along columns */
  TILE_ROWS = 64,     /* most rows of a block in lk_element_apply */
  /* a row of so many elements is better copied to that many rows than read for each */
  SHORT_ROW = 24,
  SHORT_FIXED_ROW = 48, /* the same, where it is copied once */
  MANY_ROWS = 8
};
_Static_assert(SHORT_FIXED_ROW <= LEAST_ELEMENTS, "a block has room for the whole row");

/* Gives registers their places, for blocks of that many elements and rows. */
static void place_registers(lk_element *self, int64_t elements, int64_t rows) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < self->n_registers; i++) {
    lk_element_register *r = LK_ELEMENT_REGISTER_OF(self, i);
    const int64_t count = r->level == LK_ELEMENT_EACH  ? elements
                          : r->level == LK_ELEMENT_ROW ? rows
                                                       : 1;
    r->at = at;
    at += (uint32_t)((count * r->bytes + 63) / 64 * 64);
  }
  self->memory = at;
}

/* How many elements a block may have for the sake of its registers, at most `most`. */
static int64_t block_elements(const lk_element *self, int64_t most) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < self->n_registers; i++) {
    const lk_element_register *r = LK_ELEMENT_REGISTER_OF(self, i);
    if (r->level != LK_ELEMENT_ONE) bytes += r->bytes;
  }
  if (bytes == 0) return WITHOUT_REGISTERS;
  const int64_t elements = REGISTER_BYTES / bytes / LEAST_ELEMENTS * LEAST_ELEMENTS;
  return elements < LEAST_ELEMENTS ? LEAST_ELEMENTS : elements > most ? most : elements;
}

/* Whether more than one loop runs over a block. */
static bool is_chain(const lk_element *self) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < self->n_calls; i++) count += self->slots[i].call.is_once ? 0 : 1;
  return count > 1;
}

/* Elements and the least rows of a block, for operands that take so many bytes. */
static void choose_block(const lk_element *self, const lk_element_lie *lies, int64_t bytes,
                         int64_t *out_elements, int64_t *out_rows) {
  const uint32_t n_operands = (uint32_t)self->n_inputs + self->n_outputs;
  int64_t size = 1; /* of the largest element; as if that had 4 bytes at most */
  for (uint32_t k = 0; k < n_operands; k++) {
    const int64_t stride = lies[k].level == LK_ELEMENT_EACH ? lies[k].stride : 1;
    size = lk_max(size, stride == 1 || stride == 2 ? stride : 4);
  }
  *out_elements = block_elements(self, MOST_BYTES / size);
  *out_rows = 1;
  for (uint32_t k = 0; k < n_operands; k++) {
    if (lies[k].is_along_columns) *out_rows = ALONG_COLUMNS;
  }
  if (*out_rows > 1) {
    if (*out_elements > MOST_ELEMENTS) *out_elements = MOST_ELEMENTS;
  } else if (bytes > FAR_BYTES && is_chain(self)) {
    *out_elements = FAR_ELEMENTS;
  }
}

static void set_blocks(lk_element *self, const lk_element_space *space, const lk_element_lie *lies,
                       int64_t bytes) {
  const uint32_t rank = space->rank;
  const int64_t cols = space->dims[rank - 1], rows = rank > 1 ? space->dims[rank - 2] : 1;
  int64_t elements, least_rows;
  choose_block(self, lies, bytes, &elements, &least_rows);
  self->block_cols = (int32_t)lk_min(cols, elements / lk_min(least_rows, rows > 0 ? rows : 1));
  for (uint32_t k = 0; k < (uint32_t)self->n_inputs + self->n_outputs; k++) {
    /* what is copied once is the whole row, which a block has room for: SHORT_FIXED_ROW */
    if (lies[k].is_fixed && lies[k].repeats) self->block_cols = (int32_t)cols;
  }
  self->block_rows = (int32_t)lk_min(rows, cols > 0 ? elements / self->block_cols : 1);
  self->tiles = 0;
  for (uint32_t i = 0; i < rank; i++) {
    if (space->dims[i] == 0) return;
  }
  self->col_blocks = (cols + self->block_cols - 1) / self->block_cols;
  self->row_blocks = (rows + self->block_rows - 1) / self->block_rows;
  self->tiles = self->col_blocks * self->row_blocks;
  for (uint32_t i = 0; i + 2 < rank; i++) self->tiles *= space->dims[i];
  place_registers(self, (int64_t)self->block_cols * self->block_rows, self->block_rows);
}

/* Behind the numbers. */
static int64_t *words_of(lk_element *self) {
  return LK_ELEMENT_WORDS_OF(self) + self->n_numbers;
}

static void set_space(lk_element *self, const lk_element_space *space, uint32_t n_operands) {
  int64_t *words = words_of(self);
  const uint32_t rank = space->rank;
  self->rank = (uint8_t)rank;
  memcpy(words, space->dims, rank * sizeof *words);
  for (uint32_t k = 0; k < n_operands; k++) {
    memcpy(words + (size_t)(1 + k) * rank, space->strides[k], rank * sizeof *words);
  }
  const char *end = (const char *)(words + (size_t)(1 + n_operands) * rank);
  self->size = (uint32_t)(end - (const char *)self);
}

/* What lk_element_resize reads back. */
static lk_element_space space_of(const lk_element *self) {
  lk_element_space space = {.rank = self->rank};
  const size_t bytes = self->rank * sizeof space.dims[0];
  const int64_t *words = LK_ELEMENT_WORDS_OF(self) + self->n_numbers;
  memcpy(space.dims, words, bytes);
  for (uint32_t k = 0; k < (uint32_t)self->n_inputs + self->n_outputs; k++) {
    memcpy(space.strides[k], words + (size_t)(1 + k) * self->rank, bytes);
  }
  return space;
}

/* Of an element of an input, or of an output, which count on. */
static uint8_t operand_bytes(const lk_element_program *program, uint32_t index) {
  const uint32_t n_inputs = program->n_inputs;
  return (uint8_t)lk_dtype_size(index < n_inputs ? program->input_dtypes[index]
                                                 : program->output_dtypes[index - n_inputs]);
}

/* `size`: of an element. */
static lk_element_lie find_lie(const lk_element_space *space, uint32_t operand, int64_t size) {
  const uint32_t rank = space->rank;
  const int64_t *strides = space->strides[operand];
  const int64_t of_row = rank > 1 ? strides[rank - 2] : 0, stride = strides[rank - 1];
  if (stride == 0) {
    return (lk_element_lie){.level = of_row != 0 ? LK_ELEMENT_ROW : LK_ELEMENT_ONE};
  }
  lk_element_lie lie = {.stride = stride,
                        .level = LK_ELEMENT_EACH,
                        .is_along_columns = size == 4 && of_row == 4 && stride != 4};
  if (rank == 1 || of_row != 0 || space->dims[rank - 2] < MANY_ROWS) return lie;
  lie.is_fixed = true;
  for (uint32_t i = 0; i + 2 < rank; i++) lie.is_fixed = lie.is_fixed && strides[i] == 0;
  lie.repeats = space->dims[rank - 1] <= (lie.is_fixed ? SHORT_FIXED_ROW : SHORT_ROW);
  return lie;
}

/* Of `n_operands` operands, whose elements have those sizes. Returns the bytes that a pass
 * moves. */
static int64_t find_lies(const lk_element_space *space, const uint8_t *sizes, uint32_t n_operands,
                         lk_element_lie *out_lies) {
  int64_t elements = 1, bytes = 0;
  for (uint32_t i = 0; i < space->rank; i++) elements *= space->dims[i];
  for (uint32_t k = 0; k < n_operands; k++) {
    out_lies[k] = elements == 1 /* which has any stride */
                      ? (lk_element_lie){.stride = sizes[k], .level = LK_ELEMENT_EACH}
                      : find_lie(space, k, sizes[k]);
    if (out_lies[k].level == LK_ELEMENT_EACH) bytes += elements * sizes[k];
  }
  return bytes;
}

/* As simple as it can be. The strides of `operands` are in elements. */
static lk_element_space make_space(uint32_t rank, const int64_t *dims,
                                   const lk_element_strides *operands, const uint8_t *sizes,
                                   uint32_t n_inputs, uint32_t n_operands) {
  lk_element_space space;
  space.rank = rank;
  for (uint32_t i = 0; i < rank; i++) space.dims[i] = dims[i]; /* of rank 0 there are none */
  for (uint32_t k = 0; k < n_operands; k++) {
    for (uint32_t i = 0; i < rank; i++) space.strides[k][i] = operands[k].strides[i] * sizes[k];
  }
  lk_element_space_simplify(&space, n_operands, n_inputs);
  return space;
}

lk_status lk_element_plan(const lk_element_program *program, uint32_t rank, const int64_t *dims,
                          const lk_element_strides *operands, lk_element *out, lk_error *error) {
  const uint32_t n_inputs = program->n_inputs, n_operands = n_inputs + program->n_outputs;
  uint8_t sizes[LK_ELEMENT_OPERANDS];
  lk_element_lie lies[LK_ELEMENT_OPERANDS] = {{0}};
  for (uint32_t k = 0; k < n_operands; k++) sizes[k] = operand_bytes(program, k);
  const lk_element_space space = make_space(rank, dims, operands, sizes, n_inputs, n_operands);
  const int64_t bytes = find_lies(&space, sizes, n_operands, lies);
  LK_RETURN_NOT_OK(lk_element_compile(program, lies, out, error));
  set_blocks(out, &space, lies, bytes);
  set_space(out, &space, n_operands);
  return LK_OK;
}

/* Whether the calls are the same: they know nothing else of a size. */
static bool lie_alike(const lk_element_lie *a, const lk_element_lie *b) {
  return a->stride == b->stride && a->level == b->level && a->repeats == b->repeats &&
         a->is_along_columns == b->is_along_columns && a->is_fixed == b->is_fixed;
}

bool lk_element_resize(lk_element *self, uint32_t rank, const int64_t *dims,
                       const lk_element_strides *operands, const uint8_t *sizes) {
  const uint32_t n_operands = (uint32_t)self->n_inputs + self->n_outputs;
  lk_element_lie lies[LK_ELEMENT_OPERANDS], former_lies[LK_ELEMENT_OPERANDS];
  const lk_element_space former = space_of(self);
  const lk_element_space space =
      make_space(rank, dims, operands, sizes, self->n_inputs, n_operands);
  if (space.rank != former.rank) return false; /* it would be shorter or longer */
  (void)find_lies(&former, sizes, n_operands, former_lies);
  const int64_t bytes = find_lies(&space, sizes, n_operands, lies);
  for (uint32_t k = 0; k < n_operands; k++) {
    if (!lie_alike(&lies[k], &former_lies[k])) return false;
  }
  set_blocks(self, &space, lies, bytes);
  set_space(self, &space, n_operands);
  return true;
}

lk_status lk_element_plan_tile(const lk_element_program *program, const uint8_t *levels,
                               lk_element *out, lk_error *error) {
  const uint32_t n_operands = (uint32_t)program->n_inputs + program->n_outputs;
  lk_element_lie lies[LK_ELEMENT_OPERANDS] = {{0}};
  for (uint32_t k = 0; k < n_operands; k++) {
    const uint32_t level = k < program->n_inputs ? levels[k] : LK_ELEMENT_EACH;
    lies[k] = (lk_element_lie){.stride = operand_bytes(program, k), .level = (uint8_t)level};
  }
  LK_RETURN_NOT_OK(lk_element_compile(program, lies, out, error));
  out->block_cols = (int32_t)block_elements(out, MOST_ELEMENTS);
  out->block_rows = TILE_ROWS;
  place_registers(out, out->block_cols, out->block_rows);
  int64_t *bytes = words_of(out);
  for (uint32_t k = 0; k < n_operands; k++) {
    bytes[k] = lies[k].level == LK_ELEMENT_EACH ? lies[k].stride : 0;
  }
  out->size = (uint32_t)((const char *)(bytes + n_operands) - (const char *)out);
  return LK_OK;
}
