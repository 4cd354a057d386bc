/* Strided copies, which every operator that moves elements boils down to: layout changes,
 * transposes of any permutation, slices, repetitions.
 *
 * Dimensions are put into the order of the destination, and merged where both sides allow it. What
 * remains innermost is a plane of blocks. Where the blocks are elements, and the source lies side
 * by side along another dimension than the destination, the plane is transposed in registers.
 *
 * Bound: bytes, each read and written once. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/isa.h"
#include "ops/kernel/kernel.h"
#include "ops/kernel/move/copy_plane.h"

typedef struct lk_copy {
  size_t block;                   /* bytes that are moved together; at first, of an element */
  int64_t from_offset, to_offset; /* bytes */
  uint32_t rank;                  /* 0: one block, and the arrays below may be left out */
  bool shared;                    /* worth it to wake other threads */
  /* ---- by lk_copy_simplify ---- */
  lk_copy_plane_fn *plane;
  int64_t ahead;    /* of lk_copy_plane */
  int64_t tile[2];  /* blocks of a turn, along the last two dimensions */
  int64_t tiles[2]; /* how many turns of a plane are along each */
  int64_t turns;
  /* ---- */
  int64_t dims[LK_MAX_RANK];
  int64_t from[LK_MAX_RANK], to[LK_MAX_RANK]; /* bytes between neighbours; `from` may be negative */
} lk_copy;

/* All elements of a tensor, to their places in another one of the same dimensions and type. */
lk_copy lk_copy_between(const lk_tensor_desc *from, const lk_tensor_desc *to);

/* Makes the blocks as large, and the dimensions as few, as the strides allow, and cuts them into
 * turns. Each dimension is 1 or more. To be called once, before lk_copy_kernel. */
void lk_copy_simplify(lk_copy *copy);
/* The same for another instruction set than the best one. */
void lk_copy_simplify_for(lk_copy *copy, lk_isa isa);

/* Copies a tensor to one of the same dimensions and type in another layout, at once. */
lk_status lk_copy_layout(const lk_tensor_desc *from_desc, const void *from,
                         const lk_tensor_desc *to_desc, void *to, lk_error *error);

/* Params: lk_copy. Pointers: from, to. They may be equal where every element keeps its place, and
 * do not overlap otherwise. */
lk_status lk_copy_kernel(const void *params, void *const *pointers, lk_error *error);
