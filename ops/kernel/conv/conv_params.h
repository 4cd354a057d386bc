/* What a convolution is (conv.h). */
#pragma once

#include "ops/kernel/conv_shape.h"
#include "ops/kernel/product/product.h"

typedef struct lk_conv {
  lk_conv_shape shape;
  lk_isa isa;
  bool weights_are_last : 1; /* their channels are, not the kernel: [...][kernel...][in_channels] */
  bool has_planes : 1;       /* the input's layout is plain; only where lk_conv_takes_planes */
  bool has_bias : 1, has_residual : 1;
  bool has_chain : 1; /* an lk_product_chain lies behind this struct */
  bool is_phase : 1;  /* of a transposed convolution: rows of the output lie apart */
  /* ---- by lk_conv_plan ---- */
  bool is_dense : 1; /* pixels of the input are the rows of the product */
  bool merges : 1;   /* positions along the last dimension are one tap */
  bool pads : 1;     /* they are read from copies of lines (conv_padded.h) */
  bool trims : 1;    /* rows of a tile that have a tap in the padding are left out of it */
  int32_t line_rows; /* of a tile along a line; 0: tiles go across the ends of lines */
  lk_product product;
} lk_conv;
