/* Poolings of f32 and f64 in plain or channels-last layout, with 1 to 3 spatial dimensions. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"

typedef enum lk_pool_kind {
  LK_POOL_MAX,
  LK_POOL_MEAN,             /* of the elements */
  LK_POOL_MEAN_WITH_PADDING /* of the elements and the declared padding, but of nothing beyond it */
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
/* The first tap, counted from 0, that does not lie before the input, of a window that starts at
 * `start`, and the tap behind the last one that does not lie behind it. */
int64_t lk_pool_first_tap(const lk_pool_geometry *self, uint32_t dim, int64_t start);
int64_t lk_pool_end_tap(const lk_pool_geometry *self, uint32_t dim, int64_t start);

typedef struct lk_pool {
  lk_pool_geometry geometry;
  lk_pool_kind kind;
  bool wide;      /* f64, else f32 */
  bool positions; /* maxima only: pointer 2 is there; the kernel has at most 2^31 - 1 elements */
} lk_pool;

/* Params: lk_pool. Pointers: from, to, positions. The latter are i32 in the layout of the result:
 * which element of the kernel was the largest, as oneDNN's workspace has it, and 0 where nothing
 * was larger than minus infinity. */
lk_status lk_pool_kernel(const void *params, void *const *pointers, lk_error *error);

/* Params: lk_pool. Pointers: f32 sums over windows, divided by the whole kernel, which become
 * LK_POOL_MEAN_WITH_PADDING: a correction of the windows that reach beyond the declared padding. */
lk_status lk_pool_divisors_kernel(const void *params, void *const *pointers, lk_error *error);
