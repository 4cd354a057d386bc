/* What the files of Resize share: attributes, how each dimension is stretched, and the steps that
 * the plan hands to the kernels. */
#ifndef LK_OPS_RESIZE_H
#define LK_OPS_RESIZE_H

#include "ops/plan/planner.h"

typedef enum lk_resize_mode { LK_RESIZE_NEAREST, LK_RESIZE_LINEAR, LK_RESIZE_CUBIC } lk_resize_mode;

typedef enum lk_resize_coordinates {
  LK_HALF_PIXEL,
  LK_PYTORCH_HALF_PIXEL,
  LK_ALIGN_CORNERS,
  LK_ASYMMETRIC,
  LK_HALF_PIXEL_SYMMETRIC,
  LK_TF_CROP_AND_RESIZE,
  LK_TF_HALF_PIXEL_FOR_NN /* until opset 13; later models still have it */
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
  bool antialias, exclude_outside, axes_given;
  float cubic, extrapolation;
  uint32_t n_axes;
  int64_t axes[LK_MAX_RANK];
} lk_resize_params;

/* ---- how each dimension is stretched (resize_shape.c) ---- */

typedef struct lk_stretch {
  int64_t in, out;
  double up, down;   /* the scale is up / down */
  double start, end; /* the region of interest: 0 and 1 are the first and the last element */
  bool rounded;      /* the scale is a float that was given, and not exactly out / in */
  bool same;         /* every element stays where it is */
} lk_stretch;

/* Reads attributes and the values of roi, scales and sizes; one stretch for each dimension. The
 * dimensions of input 0 may be terms of `dims`: then `out` may be one too, and the rest says nothing. */
lk_status lk_resize_infer(const lk_op_node *node, const lk_tensor *inputs, lk_dims *dims,
                          lk_stretch stretches[LK_MAX_RANK], lk_error *error);
/* The same for dimensions that are numbers. */
lk_status lk_resize_read(const lk_op_node *node, const lk_tensor *inputs,
                         lk_stretch stretches[LK_MAX_RANK], lk_error *error);

/* ---- which elements each output position is made of (resize_taps.c) ---- */

/* Neighbours that lie side by side. */
typedef struct lk_resize_window {
  int64_t first, count;
} lk_resize_window;

/* How many neighbours a window can have at the most. */
int64_t lk_resize_capacity(const lk_resize_params *params, const lk_stretch *s);
/* The window of output position `x` for linear and cubic, and its weights. */
lk_resize_window lk_resize_weigh(const lk_resize_params *params, const lk_stretch *s, int64_t x,
                                 double *weights);
/* The input position for nearest. */
int64_t lk_resize_nearest(const lk_resize_params *params, const lk_stretch *s, int64_t x);
/* Whether output position `x` lies outside the input, and so has the extrapolation value. */
bool lk_resize_is_outside(const lk_resize_params *params, const lk_stretch *s, int64_t x);

/* ---- steps (resize_plan.c, resize_kernel.c) ---- */

/* Emits the steps for dimensions of which at least one is not the same; `from` and `to` have one
 * layout, plain or channels-last. */
lk_status lk_resize_plan_kernels(lk_planner *planner, const lk_resize_params *params,
                                 const lk_stretch *stretches, const lk_operand *from,
                                 const lk_operand *to, lk_error *error);

/* Linear or cubic along one dimension: [outer, in, inner] to [outer, out, inner], of f32 or f64.
 * Behind the windows, `capacity` weights of that type for each output position. */
typedef struct lk_resize_pass {
  int64_t outer, in, out, inner, capacity;
  lk_resize_window windows[];
} lk_resize_pass;

lk_status lk_resize_pass_f32(const void *params, void *const *pointers, lk_error *error);
lk_status lk_resize_pass_f64(const void *params, void *const *pointers, lk_error *error);

/* Nearest along all dimensions at once, for elements of any type. The dimensions of the output are
 * in the order of memory, the last one is resized; the elements of a block lie together on both
 * sides. */
typedef struct lk_resize_gather {
  uint32_t rank;
  size_t block;               /* bytes */
  int64_t dims[LK_MAX_RANK];  /* of the output */
  int64_t steps[LK_MAX_RANK]; /* bytes between input neighbours */
  int64_t
      first[LK_MAX_RANK]; /* where the dimension's offsets begin; -1: it has none, it is the same */
  int64_t offsets[];      /* bytes */
} lk_resize_gather;

lk_status lk_resize_gather_kernel(const void *params, void *const *pointers, lk_error *error);

/* Writes the extrapolation value where any dimension is outside. */
typedef struct lk_resize_outside {
  uint32_t rank;
  size_t block; /* bytes of an element */
  uint8_t value[8];
  int64_t dims[LK_MAX_RANK];
  int64_t first[LK_MAX_RANK]; /* in `outside`; -1: nothing of this dimension is outside */
  bool outside[];
} lk_resize_outside;

lk_status lk_resize_outside_kernel(const void *params, void *const *pointers, lk_error *error);

/* ---- element types (resize_convert.c) ---- */

/* What elements are computed in: f32 where it holds them exactly, f64 for wider ones;
 * LK_DTYPE_NONE for those that cannot be interpolated. */
uint32_t lk_resize_wide(uint32_t dtype);
/* Bytes of `value` as an element: to the nearest, and within the range of an integer type. */
void lk_resize_element(uint32_t dtype, double value, uint8_t bytes[8]);

typedef struct lk_resize_convert {
  uint32_t dtype;
  int64_t count;
} lk_resize_convert;

/* From `dtype` to lk_resize_wide of it, and back. */
lk_status lk_resize_widen(const void *params, void *const *pointers, lk_error *error);
lk_status lk_resize_narrow(const void *params, void *const *pointers, lk_error *error);

#endif
