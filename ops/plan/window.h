/* Sliding windows: kernel, strides, dilations and padding of convolutions and poolings. */
#pragma once

#include "ops/plan/op.h"

#define LK_MAX_SPATIAL 3

typedef enum lk_auto_pad {
  LK_PAD_NOTSET = 0,
  LK_PAD_SAME_UPPER,
  LK_PAD_SAME_LOWER,
  LK_PAD_VALID
} lk_auto_pad;

/* As the attributes say; counts of 0 mean "not given". */
typedef struct lk_window {
  int64_t kernel[LK_MAX_SPATIAL], strides[LK_MAX_SPATIAL], dilations[LK_MAX_SPATIAL];
  int64_t pads[2 * LK_MAX_SPATIAL];
  int64_t output_padding[LK_MAX_SPATIAL], output_shape[LK_MAX_SPATIAL]; /* of a transposed one */
  uint32_t n_kernel, n_strides, n_dilations, n_pads, n_output_padding, n_output_shape;
  uint32_t auto_pad; /* lk_auto_pad */
  bool ceil_mode;
} lk_window;

/* For given spatial sizes: everything resolved. */
typedef struct lk_window_shape {
  uint32_t rank; /* spatial */
  int64_t kernel[LK_MAX_SPATIAL], strides[LK_MAX_SPATIAL], dilations[LK_MAX_SPATIAL];
  int64_t begin[LK_MAX_SPATIAL], end[LK_MAX_SPATIAL], out[LK_MAX_SPATIAL];
  int64_t declared[LK_MAX_SPATIAL]; /* padding at the end without what `end` has more for the sake
                                       of ceil_mode; lk_window_infer only */
} lk_window_shape;

/* Reads kernel_shape, strides, dilations, pads, auto_pad and ceil_mode. `out` comes zeroed. */
void lk_window_parse(lk_attrs *attrs, lk_window *out);

/* Output size and padding for an input of `rank` spatial dimensions `in`. `kernel` is used where
 * the attribute is not given (a convolution's weights). With ceil_mode, `end` is raised so that
 * the last window fits; a window that would start in the end padding is left out (as ONNX says).
 * With auto_pad, ceil_mode makes no difference: ONNX's formulas for the two come to the same.
 *
 * Before all is known, `in` and `kernel` may be terms of `dims`. Where they are, `out` is set,
 * which may be one too, and padding says nothing. `dims` is NULL when all are numbers. */
lk_status lk_window_infer(const lk_window *window, uint32_t rank, const int64_t *in,
                          const int64_t *kernel, lk_dims *dims, lk_window_shape *out,
                          lk_error *error);

/* The same for a transposed convolution, with output_padding and output_shape. */
lk_status lk_window_infer_transposed(const lk_window *window, uint32_t rank, const int64_t *in,
                                     const int64_t *kernel, lk_dims *dims, lk_window_shape *out,
                                     lk_error *error);
