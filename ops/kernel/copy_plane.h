/* Planes of blocks, the inside of a strided copy, for each instruction set. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ops/kernel/isa.h"

/* Rows of blocks; steps are in bytes. */
typedef struct lk_copy_plane {
  const char *from;
  char *to;
  int64_t rows, cols;
  int64_t from_row, from_col, to_row, to_col;
  size_t block;
} lk_copy_plane;

typedef void lk_copy_plane_fn(const lk_copy_plane *plane);

/* Of one instruction set. Sizes of elements are given by their binary logarithm. */
typedef struct lk_copy_planes {
  lk_copy_plane_fn *transpose[4]; /* from_row and to_col are the size of an element */
  lk_copy_plane_fn *exact[5];     /* blocks of 1, 2, 4, 8, 16 bytes */
  lk_copy_plane_fn *up_to[7];     /* of at most so many bytes, and more than half of them */
  lk_copy_plane_fn *vectors;      /* of 64 bytes and more */
  lk_copy_plane_fn *large;        /* of so many that a call of memcpy pays */
} lk_copy_planes;

/* Only for a processor that has the instructions. */
const lk_copy_planes *lk_copy_planes_get(lk_isa isa);

/* The one for blocks of that many bytes, with any steps. */
lk_copy_plane_fn *lk_copy_blocks_fn(const lk_copy_planes *planes, size_t block);
/* The binary logarithm of a number from 1 on, rounded up. */
static inline uint32_t lk_copy_log(size_t number) {
  return number > 1 ? 64 - (uint32_t)__builtin_clzl(number - 1) : 0;
}

extern const lk_copy_planes lk_copy_planes_base, lk_copy_planes_avx2, lk_copy_planes_avx512;
