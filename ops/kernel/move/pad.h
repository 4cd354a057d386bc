/* A tensor with more elements around it, or fewer: constant ones, or its own again.
 *
 * Bound: bytes, each written once. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"
#include "ops/kernel/move/copy_plane.h"

typedef enum lk_pad_mode {
  LK_PAD_CONSTANT,
  LK_PAD_REFLECT, /* back and forth, without the edge */
  LK_PAD_EDGE,
  LK_PAD_WRAP /* from the other end: repetition */
} lk_pad_mode;

/* Of each dimension `in` elements count, from `crop` on; the first is at `begin` of `out`. */
typedef struct lk_pad {
  uint32_t mode; /* lk_pad_mode */
  uint32_t rank;
  size_t element;   /* bytes */
  uint8_t value[8]; /* of LK_PAD_CONSTANT, where there is no pointer to it */
  bool has_value;   /* there is */
  /* ---- by lk_pad_plan ---- */
  bool shared;
  const lk_copy_planes *planes;
  size_t block;        /* bytes that keep together */
  int64_t rows;        /* along the last dimension */
  int64_t from_offset; /* bytes, as the next */
  int64_t steps[LK_MAX_RANK];
  /* ---- */
  int64_t dims[LK_MAX_RANK], crop[LK_MAX_RANK], in[LK_MAX_RANK], begin[LK_MAX_RANK],
      out[LK_MAX_RANK];
} lk_pad;

/* Merges dimensions, which are in the order of memory, and sets the second part. */
void lk_pad_plan(lk_pad *self);

/* Params: lk_pad. Pointers: from, to, and the value with has_value. */
lk_status lk_pad_kernel(const void *params, void *const *pointers, lk_error *error);
