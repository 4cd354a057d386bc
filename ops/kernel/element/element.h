/* Element programs on tensors of any size: one pass over memory, by blocks that stay in the L1
 * cache.
 *
 * A block is some rows and columns. Each step of the program runs over the block before the next
 * one does, from registers to registers, which are pieces of the stack; inputs and outputs that lie
 * as f32 (or i32, i64, u64, f64, bool) in rows are used where they are. A size is nothing but
 * numbers here: nothing is compiled for it.
 *
 * Bound: bytes, for all but chains of many expensive functions. Results do not depend, to the bit,
 * on how the work is split: into tiles, blocks or threads. */
#pragma once

#include "ops/kernel/element/element_program.h"
#include "ops/kernel/kernel.h"

enum {
  LK_ELEMENT_CALLS = 64,
  LK_ELEMENT_REGISTERS = 24,
  LK_ELEMENT_MEMORY = 28 * 1024 /* bytes of the stack that registers may take */
};

/* What a value is in a block. */
typedef enum lk_element_level {
  LK_ELEMENT_ONE,  /* one element */
  LK_ELEMENT_ROW,  /* one for each row */
  LK_ELEMENT_EACH, /* one for each row and column */
} lk_element_level;

/* One loop over a block: a step, or a load or store that is more than that. */
typedef struct lk_element_call {
  float p, q;
  uint16_t loop;    /* where it stands in lk_element_loops, in bytes */
  uint8_t level;    /* lk_element_level of the result */
  uint8_t memory;   /* of loads and stores: which of refs is in memory */
  uint8_t refs[4];  /* to, a, b, c */
  uint8_t bytes[4]; /* from element to element of these; 0: one for the row */
  bool is_strided;  /* `memory` has the strides of its operand */
  bool is_once;     /* what it leaves holds for all blocks, and it is as large as one can be */
  uint8_t reserved[2];
} lk_element_call;

/* Where a register's elements begin in the memory of a block. */
typedef struct lk_element_register {
  uint32_t at;
  uint8_t bytes, level; /* of an element; lk_element_level */
  uint16_t reserved;
} lk_element_register;

enum { LK_ELEMENT_SLOT = sizeof(lk_element_call) / sizeof(int64_t) };

typedef union lk_element_slot {
  lk_element_call call;
  lk_element_register registers[LK_ELEMENT_SLOT];
  int64_t words[LK_ELEMENT_SLOT];
} lk_element_slot;

enum {
  LK_ELEMENT_OPERANDS = LK_ELEMENT_INPUTS + LK_ELEMENT_OUTPUTS,
  LK_ELEMENT_WORDS = LK_ELEMENT_NUMBERS + (1 + LK_ELEMENT_OPERANDS) * LK_MAX_RANK,
  LK_ELEMENT_SLOTS =
      LK_ELEMENT_CALLS + (LK_ELEMENT_REGISTERS + LK_ELEMENT_WORDS) / LK_ELEMENT_SLOT + 2,
  /* inputs, outputs, numbers, registers, in this order, and one that stands for none */
  LK_ELEMENT_REFS = LK_ELEMENT_OPERANDS + LK_ELEMENT_NUMBERS + LK_ELEMENT_REGISTERS + 1
};

/* A program for tensors of known sizes: params of lk_element_kernel. One is kept for every size
 * that a node has had, so it is as long as it must be. */
typedef struct lk_element {
  uint32_t size; /* bytes of this struct that matter: what lies behind may be left out */
  uint8_t n_inputs, n_outputs, n_numbers, n_registers, n_calls, rank;
  uint8_t cost; /* of an element, in cheap steps */
  uint8_t reserved;
  uint32_t memory; /* bytes that a block's registers take, at most LK_ELEMENT_MEMORY */
  const lk_element_loops *loops;
  int32_t block_cols, block_rows;
  int64_t col_blocks, row_blocks; /* blocks along the last two dimensions */
  int64_t tiles;
  /* Calls; then registers; then as words the numbers, `rank` dimensions, and for each input and
   * output `rank` strides in bytes; for lk_element_apply only the bytes from element to element of
   * each. */
  lk_element_slot slots[LK_ELEMENT_SLOTS];
} lk_element;

/* Register `index`. A macro, because it is written when it is planned, and read when it runs. */
#define LK_ELEMENT_REGISTER_OF(self, index)                                                        \
  (&(self)->slots[(self)->n_calls + (index) / LK_ELEMENT_SLOT].registers[(index) % LK_ELEMENT_SLOT])

/* The numbers, with dimensions and strides behind them. */
#define LK_ELEMENT_WORDS_OF(self)                                                                  \
  ((self)                                                                                          \
       ->slots[(self)->n_calls + ((self)->n_registers + LK_ELEMENT_SLOT - 1U) / LK_ELEMENT_SLOT]   \
       .words)

/* A tensor's place in the space: strides in elements, 0 along what is broadcast. */
typedef struct lk_element_strides {
  int64_t strides[LK_MAX_RANK];
} lk_element_strides;

/* The program over `dims`: for inputs and then outputs, strides. Those of outputs reach each
 * element once. Rank 0 is one element. */
lk_status lk_element_plan(const lk_element_program *program, uint32_t rank, const int64_t *dims,
                          const lk_element_strides *operands, lk_element *out, lk_error *error);

/* Sets other sizes in what lk_element_plan has made. `sizes`: bytes of an element of each input and
 * output. False: the calls would be others, and nothing is changed. */
bool lk_element_resize(lk_element *self, uint32_t rank, const int64_t *dims,
                       const lk_element_strides *operands, const uint8_t *sizes);

/* The program over rows and columns whose numbers come with each call of lk_element_apply. Of each
 * input one value for a row, one in all, or one for each element: `levels`. */
lk_status lk_element_plan_tile(const lk_element_program *program, const uint8_t *levels,
                               lk_element *out, lk_error *error);

/* Params: lk_element. Pointers: inputs, outputs. An output may be an input that has its type and
 * strides. LK_INVALID_ARGUMENT: an integer was divided by 0. */
lk_status lk_element_kernel(const void *params, void *const *pointers, lk_error *error);

/* The tiles `begin` to `end` - 1 of 0 .. tiles, for who splits the work. False: an integer was
 * divided by 0. */
bool lk_element_run(const lk_element *self, void *const *pointers, int64_t begin, int64_t end);

/* A program of lk_element_plan_tile on a tile of `rows` x `cols`: where the rows of the inputs and
 * then the outputs lie. Their elements lie side by side. False: as above. */
bool lk_element_apply(const lk_element *self, int64_t rows, int64_t cols,
                      const lk_element_ref *operands);
