/* What the plan of a Resize hands to its kernel: dimensions in the order of memory, and for each
 * output position along a resized one the input positions and weights that it is made of. */
#ifndef LK_OPS_RESIZE_H
#define LK_OPS_RESIZE_H

#include "ops/planner.h"

/* Resized axes: the taps of all but the last are combined, 4 for each at the most. */
#define LK_RESIZE_MAX_AXES 4
#define LK_RESIZE_MAX_COMBINED (4 * 4 * 4)

typedef enum lk_resize_mode { LK_RESIZE_NEAREST, LK_RESIZE_LINEAR, LK_RESIZE_CUBIC } lk_resize_mode;

typedef struct lk_resize_tap {
  int64_t offset; /* elements */
  float weight;
} lk_resize_tap;

typedef struct lk_resize_step {
  uint32_t rank;              /* at least 1; without the block */
  uint32_t element;           /* bytes */
  bool nearest;               /* one tap of weight 1: elements of any type are copied */
  int64_t block;              /* elements that lie together on both sides */
  int64_t dims[LK_MAX_RANK];  /* of the output */
  uint32_t taps[LK_MAX_RANK]; /* for each output position; 0: this dimension is not resized */
  size_t first[LK_MAX_RANK];  /* in the table */
  int64_t steps[LK_MAX_RANK]; /* elements between input neighbours */
  lk_resize_tap table[];
} lk_resize_step;

lk_status lk_resize_kernel(const void *params, void *const *pointers, lk_error *error);

#endif
