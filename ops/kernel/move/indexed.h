/* Blocks of a tensor that indices pick: gathered into another tensor, or scattered from it.
 *
 * A slot is a place in a space of up to LK_MAX_RANK dimensions. Its coordinates lead to its
 * indices, to its block of the other tensor, the values, and to a base in the data; from there one
 * to LK_MAX_RANK indices, which lie side by side, pick the block of the data.
 *
 * Bound: bytes, of blocks and indices. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"
#include "ops/kernel/move/combine.h"

/* What an index means. One that is out of range fails the kernel, but for the first rule. */
typedef enum lk_index_rule {
  LK_INDEX_DROPPED,  /* from the end if negative; a slot whose index is out of range is left out */
  LK_INDEX_CHECKED,  /* from the end if negative */
  LK_INDEX_SHIFTED,  /* plus the slot's coordinate along `shift`, the whole of which must fit */
  LK_INDEX_CIRCULAR, /* the same, around the end; any index is in range */
  LK_INDEX_REVERSED  /* a length: of the coordinates along `shift`, so many go backwards */
} lk_index_rule;

typedef struct lk_indexed {
  size_t block;                     /* bytes */
  int64_t elements;                 /* of a block */
  uint32_t rule;                    /* lk_index_rule */
  uint32_t rank;                    /* of the space of slots; at most LK_MAX_RANK */
  uint32_t n_axes;                  /* indices of a slot */
  uint32_t axis;                    /* which axis of the data the first one is, for messages */
  uint32_t shift;                   /* a dimension of slots */
  bool wide;                        /* indices are i64, else i32 */
  bool scatters;                    /* the values go into the data */
  lk_combine_fn *combine;           /* NULL: they replace what is there */
  lk_combine_each_fn *combine_each; /* of blocks of one element; NULL with the other */
  int64_t values_offset;            /* bytes */
  /* ---- by lk_indexed_plan ---- */
  int64_t slots, turns, unit; /* unit: slots of a turn */
  /* ---- */
  int64_t sizes[LK_MAX_RANK], strides[LK_MAX_RANK]; /* of indexed axes; bytes in the data */
  int64_t dims[LK_MAX_RANK];                        /* of slots; from here on for each of them: */
  int64_t data[LK_MAX_RANK], values[LK_MAX_RANK];   /* bytes between neighbours */
  int64_t index[LK_MAX_RANK];                       /* indices between neighbours */
} lk_indexed;

/* Merges dimensions and sets the second part. Slots that meet at a block are one thread's, in their
 * order: where values are scattered, the first dimension is shared out if it moves in the data. */
void lk_indexed_plan(lk_indexed *self);

/* Params: lk_indexed. Pointers: data, indices, values. LK_OUT_OF_RANGE names an index or a length,
 * its axis and what is allowed; other blocks have been moved then. */
lk_status lk_indexed_kernel(const void *params, void *const *pointers, lk_error *error);
