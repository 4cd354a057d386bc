/* Elements held between two bounds, for the types that oneDNN has no element-wise functions for. */
#pragma once

#include "ops/kernel/kernel.h"

/* y = min(max(x, low), high), all of one type: an integer type, f64, f16 or bf16. */
typedef struct lk_clip {
  uint32_t dtype;
  uint32_t low_at, high_at; /* which pointers are the bounds; 0: the number below is */
  int64_t count;
  uint64_t low, high; /* an element, in the first bytes */
} lk_clip;

/* Sets the bounds that are not pointers: the limits of an integer type; for floating point `low`
 * and `high`, held within the finite values. */
lk_clip lk_clip_make(uint32_t dtype, int64_t count, float low, float high);

/* Params: lk_clip. Pointers: x, y, and the bounds; x and y may be the same. NaN stays NaN, and
 * where low is over high, everything is high. */
lk_status lk_clip_kernel(const void *params, void *const *pointers, lk_error *error);
