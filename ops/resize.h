/* What the files of Resize share: attributes, how each dimension is stretched, and what the plan
 * hands to the kernel. */
#ifndef LK_OPS_RESIZE_H
#define LK_OPS_RESIZE_H

#include "ops/planner.h"

/* Resized axes: the taps of all but the last are combined, 4 for each at the most. */
#define LK_RESIZE_MAX_AXES 4
#define LK_RESIZE_MAX_COMBINED (4 * 4 * 4)

typedef enum lk_resize_mode { LK_RESIZE_NEAREST, LK_RESIZE_LINEAR, LK_RESIZE_CUBIC } lk_resize_mode;

typedef enum lk_resize_coordinates {
  LK_HALF_PIXEL,
  LK_PYTORCH_HALF_PIXEL,
  LK_ALIGN_CORNERS,
  LK_ASYMMETRIC,
  LK_HALF_PIXEL_SYMMETRIC,
  LK_TF_CROP_AND_RESIZE
} lk_resize_coordinates;

typedef enum lk_resize_rounding {
  LK_PREFER_FLOOR,
  LK_PREFER_CEIL,
  LK_FLOOR,
  LK_CEIL,
  LK_FLOOR_UP_CEIL_DOWN
} lk_resize_rounding;
typedef enum lk_resize_policy { LK_STRETCH, LK_NOT_LARGER, LK_NOT_SMALLER } lk_resize_policy;

typedef struct lk_resize_params {
  uint32_t mode; /* lk_resize_mode */
  uint32_t coordinates, rounding, policy;
  bool exclude_outside, axes_given;
  float cubic;
  uint32_t n_axes;
  int64_t axes[LK_MAX_RANK];
} lk_resize_params;

typedef struct lk_stretch {
  int64_t in, out;
  bool ratio;   /* the scale is exactly out / in */
  double scale; /* else this, which is a float's value when it was given */
} lk_stretch;

typedef struct lk_resize_tap {
  int64_t offset; /* elements */
  float weight;
} lk_resize_tap;

/* Fills the taps of output position `x` along a dimension whose input neighbours lie `step`
 * elements apart: 1 for nearest, 2 for linear, 4 for cubic. */
void lk_resize_make_taps(const lk_resize_params *params, const lk_stretch *s, uint32_t n_taps,
                         int64_t x, int64_t step, lk_resize_tap *taps);

/* Dimensions in the order of memory, and for each output position along a resized one its taps. */
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
