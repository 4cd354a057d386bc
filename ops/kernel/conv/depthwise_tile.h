/* Tiles of a convolution with few channels in each group: up to eight columns of a line of the
 * output, each a vector of channels whose sums stay in registers.
 *
 *   out[x][n] = clip(bias[n] + sum over l, k and j of in[l][x + k][group of n][j] w[l][k][j][n])
 *
 * over the lines l and columns k of the window, and the input channels j of a group.
 *
 * Each element is summed in an order that the kind of tile has, whatever its width is. What lies in
 * the padding is left out, lines by whom calls and columns by the tile, or taken for the zeros that
 * it stands for.
 *
 * Bound: 2 operations for each position of the window and each j, or the bandwidth of the cache.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ops/kernel/conv_shape.h"
#include "ops/kernel/isa.h"

enum { LK_DEPTHWISE_COLUMNS = 8, LK_DEPTHWISE_LANES = 16 };

/* Steps are in elements. */
typedef struct lk_depthwise_call {
  const float *in;      /* where the window of the first column begins; may be in the padding */
  const float *weights; /* [vectors][lines][columns of the window][in_channels][lanes], from the
                           first line on */
  const float *bias;    /* NULL: none */
  float *out;
  int64_t planes, lines; /* of the window that lie in the image */
  int64_t plane_step, line_step;
  int64_t weights_plane, weights_line, weights_vector;
  int64_t in_column, out_column; /* from a column to the next; all channels of the input are one */
  int64_t tiles;                 /* one beside the other, at least 1 */
  int64_t in_tile, out_tile;     /* from a tile to the next */
  int64_t channels;
  uint32_t columns; /* a bit for each column of the tile's windows that lies in the image */
  bool clips;       /* NaN stays NaN */
  float low, high;
  /* ---- of those for any window ---- */
  int64_t width;            /* columns of the tile */
  int64_t window;           /* columns of a window */
  int64_t stride, dilation; /* in columns */
  int64_t first, image;     /* where the first window begins; columns of the image */
  /* ---- of those for groups: `in` is channel 0 ---- */
  int64_t channel;                   /* of the output, the first */
  int64_t in_channels, out_channels; /* of a group */
  int64_t vector, vector_in;         /* channels of the output in a vector, and of the input */
  int32_t pick[LK_DEPTHWISE_LANES];  /* input channel 0 of the lane's group, in a vector */
} lk_depthwise_call;

typedef void (*lk_depthwise_fn)(const lk_depthwise_call *call);

/* What is known of the windows: 3, 5 or 7 columns, 1 or 2 apart, without dilation. */
typedef enum lk_depthwise_kind {
  LK_DEPTHWISE_3_1,
  LK_DEPTHWISE_3_2,
  LK_DEPTHWISE_5_1,
  LK_DEPTHWISE_5_2,
  LK_DEPTHWISE_7_1,
  LK_DEPTHWISE_ANY,
  LK_DEPTHWISE_KINDS
} lk_depthwise_kind;

/* Those of one kind. NULL where there are none. */
typedef struct lk_depthwise_set {
  lk_depthwise_fn inside; /* for the most columns, where all windows lie in the image */
  lk_depthwise_fn at_edge[LK_DEPTHWISE_COLUMNS + 1]; /* by columns */
} lk_depthwise_set;

/* Lines of a plane, copied with the zeros around it; columns that lie `stride` apart come to lie
 * side by side (depthwise_planes.h). */
typedef struct lk_depthwise_fill {
  const float *plane;
  int64_t size[2];      /* lines and columns of the plane */
  int64_t line, column; /* the first ones, which may lie outside */
  int64_t stride, lines;
  float *to;
  int64_t to_line, phase; /* from line to line, and between columns that follow each other */
} lk_depthwise_fill;

/* Windows over these lines. There is memory for a vector behind what they read. */
enum { LK_DEPTHWISE_WINDOW = 32 };
typedef struct lk_depthwise_lines {
  const float *from;                       /* the window of the first line and column */
  int64_t columns_at[LK_DEPTHWISE_WINDOW]; /* of the window, in its lines */
  int64_t line_step;    /* from the windows of a line of the output to those of the next */
  int64_t tap_step;     /* from a line of the window to the next */
  const float *weights; /* of the window's lines and columns */
  int64_t window[2];
  float *to;
  int64_t to_line, lines, columns;
  float bias, low, high; /* NaN stays NaN */
} lk_depthwise_lines;

/* Planes of an image that follow each other, as many as a vector has lanes at the most. */
typedef struct lk_depthwise_across {
  const float *planes, *weights, *bias; /* of the first; bias may be NULL */
  float *to;
  int64_t count; /* of the planes */
  const lk_conv_shape *shape;
  int64_t image_lines, image_columns; /* with what windows see around the image */
  float low, high;                    /* NaN stays NaN */
  /* Vectors: of the image, with zeros where it has none, of the window, of the output. */
  float *buffer;
} lk_depthwise_across;

/* Those of one instruction set. */
typedef struct lk_depthwise_tiles {
  int32_t lanes; /* floats in a vector */
  /* For one channel in each group, by lk_depthwise_kind: but for any window, and with AVX-512,
   * there is a vector of channels or more. */
  lk_depthwise_set channels[LK_DEPTHWISE_KINDS];
  /* For several groups in a vector. `inside`: the input has a vector of channels or more. */
  lk_depthwise_set several[LK_DEPTHWISE_KINDS];
  lk_depthwise_set one[LK_DEPTHWISE_KINDS]; /* for at most one group in a vector */
  void (*fill)(const lk_depthwise_fill *fill);
  void (*lines)(const lk_depthwise_lines *lines);
  void (*across)(const lk_depthwise_across *call);
} lk_depthwise_tiles;

extern const lk_depthwise_tiles lk_depthwise_base, lk_depthwise_avx2, lk_depthwise_avx512;

/* Only for a processor that has the instructions. */
static inline const lk_depthwise_tiles *lk_depthwise_tiles_get(lk_isa isa) {
  return LK_BY_ISA(isa, lk_depthwise);
}
