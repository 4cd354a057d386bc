/* What the files of Resize share: its attributes, and how each dimension is stretched. */
#pragma once

#include "ops/plan/work.h"

typedef enum lk_resize_policy { LK_STRETCH, LK_NOT_LARGER, LK_NOT_SMALLER } lk_resize_policy;

typedef struct lk_resize_params {
  lk_work_resize rule; /* but for what each dimension has */
  uint32_t policy;     /* lk_resize_policy */
  bool axes_given;
  uint32_t n_axes;
  int64_t axes[LK_MAX_RANK];
  uint32_t scales_at; /* the input */
  bool scales_given;  /* as an attribute: Upsample before opset 9 */
  uint32_t n_scales;
  float scales[LK_MAX_RANK];
} lk_resize_params;

/* How one dimension is stretched, as lk_work_resize has it. */
typedef struct lk_stretched {
  int64_t in, out;
  double up, down, start, end;
  bool rounded;
  bool same; /* every element stays where it is */
} lk_stretched;

/* Reads attributes and the values of roi, scales and sizes; one stretch for each dimension. The
 * dimensions of input 0 may be terms of `dims`: then `out` may be one too, and the rest says
 * nothing. `dims` is NULL when they are numbers. */
lk_status lk_resize_infer(const lk_op_node *node, const lk_tensor *inputs, lk_dims *dims,
                          lk_stretched stretches[LK_MAX_RANK], lk_error *error);
