/* What a convolution is (conv.h). */
#pragma once

#include "ops/kernel/conv_shape.h"
#include "ops/kernel/product.h"

typedef struct lk_conv {
  lk_conv_shape shape;
  lk_isa isa;
  bool weights_are_last; /* their channels are, and not the kernel: [...][kernel...][in_channels] */
  bool has_planes;       /* the input's layout is plain; only where lk_conv_takes_planes */
  bool has_bias, has_residual;
  bool has_chain; /* an lk_product_chain lies behind this struct */
  bool is_phase;  /* of a transposed convolution: rows of the output lie apart */
  /* ---- by lk_conv_plan ---- */
  bool is_dense;     /* pixels of the input are the rows of the product */
  bool merges;       /* positions along the last dimension are one tap */
  bool pads;         /* they are read from copies of lines (conv_padded.h) */
  bool trims;        /* rows of a tile that have a tap in the padding are left out of it */
  int64_t line_rows; /* of a tile along a line; 0: tiles go across the ends of lines */
  lk_product product;
} lk_conv;
