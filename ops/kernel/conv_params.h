/* What a convolution is (conv.h). */
#pragma once

#include "ops/kernel/product.h"

enum { LK_CONV_DIMS = 3 };

/* Dimensions in the order of memory; those that are not there have size, stride and so on of 1, and
 * no padding. */
typedef struct lk_conv {
  lk_isa isa;
  int64_t batch, groups;
  int64_t in_channels, out_channels; /* of a group */
  int64_t in[LK_CONV_DIMS], out[LK_CONV_DIMS], kernel[LK_CONV_DIMS];
  int64_t stride[LK_CONV_DIMS], dilation[LK_CONV_DIMS];
  int64_t pad[LK_CONV_DIMS]; /* before the first element */
  float low, high;           /* the output is clipped; -INFINITY, INFINITY: it is not */
  bool has_bias, has_residual;
  bool has_chain; /* an lk_product_chain lies behind this struct */
  /* ---- by lk_conv_plan ---- */
  bool is_dense; /* pixels of the input are the rows of the product */
  bool merges;   /* positions along the last dimension are one tap */
  lk_product product;
} lk_conv;
