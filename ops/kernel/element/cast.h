/* Conversion between element types, by the loops of element programs.
 *
 * Integers keep their low bits; floating-point values are cut toward zero, and what is out of range
 * comes out as number.h says; bool tells whether an element is not 0. f16 and bf16 are rounded to
 * the nearest, ties to even; of f64 as well as of f32, once.
 *
 * Bound: bytes, for pairs that the processor converts. */
#pragma once

#include "ops/kernel/element/element_ops.h"
#include "ops/kernel/isa.h"
#include "ops/kernel/kernel.h"

enum { LK_CAST_LOOPS = 5 };

typedef struct lk_cast {
  uint32_t from, to; /* lk_dtype, different ones */
  int64_t count;
  /* ---- by lk_cast_plan ---- */
  uint8_t n_loops, from_size, to_size;
  uint8_t strides[LK_CAST_LOOPS];      /* bytes in memory, of loads and stores */
  lk_element_fn *loops[LK_CAST_LOOPS]; /* one after the other */
} lk_cast;

/* Sets the second part from the first. */
void lk_cast_plan(lk_cast *self, lk_isa isa);

/* Params: lk_cast. Pointers: from, to. */
lk_status lk_cast_kernel(const void *params, void *const *pointers, lk_error *error);

/* One element, whose types may be equal. */
void lk_cast_one(uint32_t from_type, const void *from, uint32_t to_type, void *to);
