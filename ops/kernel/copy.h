/* Moves of bytes: strided copies, which every data-moving operator boils down to, fills, and slices
 * picked by indices. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"

typedef struct lk_copy {
  size_t block;                   /* bytes that are moved together; at first, of an element */
  int64_t from_offset, to_offset; /* bytes */
  uint32_t rank;                  /* 0: one block, and the arrays below may be left out */
  int64_t dims[LK_MAX_RANK];
  int64_t from[LK_MAX_RANK], to[LK_MAX_RANK]; /* bytes between neighbours; `from` may be negative */
} lk_copy;

/* All elements of a tensor, to their places in another one of the same dimensions and type. */
lk_copy lk_copy_between(const lk_tensor_desc *from, const lk_tensor_desc *to);

/* Makes the blocks as large, and the dimensions as few, as the strides allow. Each dimension is 1
 * or more. To be called once, before lk_copy_kernel. */
void lk_copy_simplify(lk_copy *copy);

/* Params: lk_copy. Pointers: from, to. They may be equal where every element keeps its place, and
 * do not overlap otherwise. */
lk_status lk_copy_kernel(const void *params, void *const *pointers, lk_error *error);

/* The longest pattern that a fill repeats, in bytes. */
#define LK_MAX_FILL 4096

/* `count` times the same `size` bytes. */
typedef struct lk_fill {
  int64_t count;
  size_t size;
  uint8_t value[LK_MAX_FILL]; /* may be left out behind the first `size` bytes */
} lk_fill;

/* Params: lk_fill. Pointers: to. */
lk_status lk_fill_kernel(const void *params, void *const *pointers, lk_error *error);

typedef struct lk_gather {
  int64_t outer, axis, count; /* slices before the axis, the axis, indices */
  size_t block;               /* bytes behind the axis */
  bool wide;                  /* indices are i64, else i32 */
} lk_gather;

/* Params: lk_gather. Pointers: data, indices, to. A negative index counts from the end; one that is
 * out of range is LK_OUT_OF_RANGE. */
lk_status lk_gather_kernel(const void *params, void *const *pointers, lk_error *error);
