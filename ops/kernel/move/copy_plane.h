/* Planes of blocks, the inside of a strided copy, for each instruction set. */
#pragma once

#include "ops/kernel/block.h"
#include "ops/kernel/isa.h"

/* Rows of blocks; steps are in bytes. */
typedef struct lk_copy_plane {
  const char *from;
  char *to;
  int64_t rows, cols;
  int64_t from_row, from_col, to_row, to_col;
  size_t block;
  int64_t ahead; /* of a transpose: so many columns before they are moved, memory is asked for
                    them; 0: it is not */
} lk_copy_plane;

typedef void lk_copy_plane_fn(const lk_copy_plane *plane);

/* Of one instruction set. */
typedef struct lk_copy_planes {
  /* By the binary logarithm of the size of an element, which from_row and to_col are. */
  lk_copy_plane_fn *transpose[4];
  lk_copy_plane_fn *repeat[4];                /* likewise; from_col is 0, to_col the element */
  lk_copy_plane_fn *every_second_4;           /* of 4 bytes; from_col is 8, to_col 4 */
  lk_copy_plane_fn *blocks[LK_BLOCK_CLASSES]; /* any steps */
} lk_copy_planes;

extern const lk_copy_planes lk_copy_planes_base, lk_copy_planes_avx2, lk_copy_planes_avx512;

/* Only for a processor that has the instructions. */
static inline const lk_copy_planes *lk_copy_planes_get(lk_isa isa) {
  return LK_BY_ISA(isa, lk_copy_planes);
}
