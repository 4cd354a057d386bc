/* Which elements each output position of an interpolation is made of, and with what weights. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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

typedef struct lk_resize_rule {
  lk_resize_mode mode;
  lk_resize_coordinates coordinates;
  lk_resize_rounding rounding; /* of nearest */
  bool antialias, exclude_outside;
  float cubic; /* the coefficient "a" */
} lk_resize_rule;

/* How one dimension is stretched. */
typedef struct lk_stretch {
  int64_t in, out;
  double up, down;   /* the scale is up / down */
  double start, end; /* the region of interest: 0 and 1 are the first and the last element */
  bool rounded;      /* the scale is a float that was given, and not exactly out / in */
  bool same;         /* every element stays where it is */
} lk_stretch;

/* Where the taps of a position are written: indices of elements, and weights of f32, or f64 where
 * `wide`, each `step` behind the one before. */
typedef struct lk_resize_taps {
  int32_t *indices;
  void *weights;
  int64_t step;
  bool wide;
} lk_resize_taps;

/* How many taps each position has. */
int64_t lk_resize_capacity(const lk_resize_rule *rule, const lk_stretch *s);
/* Those of output position `x`, for linear and cubic: `capacity` of them. Where fewer elements
 * matter, the last one comes several times, with parts of its weight. */
void lk_resize_weigh(const lk_resize_rule *rule, const lk_stretch *s, int64_t capacity, int64_t x,
                     const lk_resize_taps *to);
/* The input position for nearest. */
int64_t lk_resize_nearest(const lk_resize_rule *rule, const lk_stretch *s, int64_t x);
/* Whether output position `x` lies outside the input, and so has the extrapolation value. */
bool lk_resize_is_outside(const lk_resize_rule *rule, const lk_stretch *s, int64_t x);
