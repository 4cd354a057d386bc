/* Sliding windows: kernel, strides, dilations and padding of convolutions and poolings. */
#pragma once

#include <latchkey/engine.h>

#include "ops/plan/op.h"

/* Kernels keep what a window has in 32 bits. */
#define LK_WINDOW_MOST ((int64_t)INT32_MAX)

typedef enum lk_auto_pad {
  LK_PAD_NOTSET = 0,
  LK_PAD_SAME_UPPER,
  LK_PAD_SAME_LOWER,
  LK_PAD_VALID
} lk_auto_pad;

/* In the order of lk_auto_pad. */
#define LK_AUTO_PAD_ATTR LK_CHOICE("auto_pad", "NOTSET|SAME_UPPER|SAME_LOWER|VALID")

/* As the attributes say, which are checked as far as they can be without an input. */
typedef struct lk_window {
  /* with the defaults of those that are not given: 1, and no padding */
  int64_t kernel[LK_MAX_SPATIAL], strides[LK_MAX_SPATIAL], dilations[LK_MAX_SPATIAL];
  int64_t begin[LK_MAX_SPATIAL], end[LK_MAX_SPATIAL];                   /* padding */
  int64_t output_padding[LK_MAX_SPATIAL], output_shape[LK_MAX_SPATIAL]; /* of a transposed one */
  /* how many values are given; 0: none */
  uint32_t n_kernel, n_strides, n_dilations, n_pads, n_output_padding, n_output_shape;
  uint32_t rank;     /* spatial, as far as these say: 0 if none is given, LK_RANK_UNKNOWN if they
                        differ, which no input fits */
  uint32_t auto_pad; /* lk_auto_pad */
  bool ceil_mode;
  bool is_pooling; /* may be larger than the padded input */
} lk_window;

/* Reads kernel_shape, strides, dilations, pads, auto_pad and ceil_mode, as far as the row lists
 * them. `out` comes zeroed. */
void lk_window_parse(lk_attrs *attrs, lk_window *out);
/* The same for a pooling. */
void lk_window_parse_pooling(lk_attrs *attrs, lk_window *out);
/* The same for a transposed convolution, with output_padding and output_shape. */
void lk_window_parse_transposed(lk_attrs *attrs, lk_window *out);

/* Output size and padding for an input of `rank` spatial dimensions `in`. `kernel` is used where
 * the attribute is not given (a convolution's weights). With ceil_mode, the last window may reach
 * beyond the padding; one that would start in the end padding is left out (as ONNX says). With
 * auto_pad, ceil_mode makes no difference: ONNX's formulas for the two come to the same.
 *
 * Sizes are quotients that are rounded toward zero, as in ONNX Runtime. So the window of a pooling
 * may exceed the padded input: by less than one stride, and there is one output, of what is there;
 * by less than two, and there is none. Beyond it is refused, and so is any that a convolution has.
 *
 * Before all is known, `in` and `kernel` may be terms of `dims`. Where they are, `out` is set,
 * which may be one too, and padding says nothing. `dims` is NULL when all are numbers. */
lk_status lk_window_infer(const lk_window *window, uint32_t rank, const int64_t *in,
                          const int64_t *kernel, lk_dims *dims, lk_window_shape *out,
                          lk_error *error);

/* Counts what the last window has beyond the end padding as padding, too: means that count padding
 * divide by the size of the whole window then. `in` as for lk_window_infer; what is not known
 * stays. */
void lk_window_pad_excess(lk_window_shape *inout, const int64_t *in);

/* The same for a transposed convolution, with output_padding and output_shape. */
lk_status lk_window_infer_transposed(const lk_window *window, uint32_t rank, const int64_t *in,
                                     const int64_t *kernel, lk_dims *dims, lk_window_shape *out,
                                     lk_error *error);
