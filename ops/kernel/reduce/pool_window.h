/* What a pooling is: windows laid over a tensor, and which of their elements lie in it. */
#pragma once

#include <latchkey/base.h>

#include "ops/kernel/inside.h"
#include "ops/kernel/reduce/row_loops.h"

typedef enum lk_pool_kind {
  LK_POOL_MAX,  /* NaN is never the largest; minus infinity where there is no other */
  LK_POOL_MEAN, /* of the elements */
  /* of the elements and the declared padding, but of nothing beyond it */
  LK_POOL_MEAN_WITH_PADDING,
  LK_POOL_TOTAL /* the sum */
} lk_pool_kind;

enum { LK_POOL_DIMS = 3 };

/* A window laid over a tensor, always of three spatial dimensions: those that are not there come
 * first, with sizes of 1. `inner` numbers belong to each place: the channels, or 1 when plain. */
typedef struct lk_pool_geometry {
  int64_t outer, inner;
  int64_t in[LK_POOL_DIMS], out[LK_POOL_DIMS];
  int64_t kernel[LK_POOL_DIMS], strides[LK_POOL_DIMS], dilations[LK_POOL_DIMS];
  int64_t begin[LK_POOL_DIMS];    /* padding before the input */
  int64_t declared[LK_POOL_DIMS]; /* padding behind it, without what ceil_mode adds */
} lk_pool_geometry;

/* Where the window of output `o` starts in the input; negative: in the padding. */
static inline int64_t lk_pool_start(const lk_pool_geometry *self, uint32_t dim, int64_t o) {
  return o * self->strides[dim] - self->begin[dim];
}
/* The taps of its window that lie in the input. */
static inline lk_inside lk_pool_find_inside(const lk_pool_geometry *self, uint32_t dim, int64_t o) {
  return lk_find_inside(lk_pool_start(self, dim, o), self->dilations[dim], self->kernel[dim],
                        self->in[dim]);
}
/* By how many elements the mean of output `o` is divided along one dimension. */
int64_t lk_pool_divisor(const lk_pool_geometry *self, lk_pool_kind kind, uint32_t dim, int64_t o);

/* Whether a product with 1 / divisor is the quotient, to the bit. */
static inline bool lk_pool_is_exact(double divisor) {
  const int64_t whole = (int64_t)divisor;
  return (whole & (whole - 1)) == 0 && whole != 0;
}

typedef struct lk_pool {
  lk_pool_geometry geometry;
  uint32_t kind;  /* lk_pool_kind */
  uint8_t dtype;  /* LK_F32, LK_F64; of maxima also LK_U8, LK_I8 */
  bool positions; /* maxima only: pointer 2 is there; the kernel has at most 2^31 - 1 elements */
  /* ---- by lk_pool_plan ---- */
  uint8_t size;    /* of an element */
  bool is_rolling; /* pool_rolling.h */
  bool is_staged;  /* pool_staged.h, by blocks of these: */
  int32_t block_channels, block_columns, block_lines, block_images;
  lk_pool_fn *run;
  lk_pool_plane_fn *roll;
  int64_t whole_first, whole_end; /* the outputs of a line whose windows lie in the input */
} lk_pool;
