/* Tiles of a depthwise convolution: up to eight columns of a line of the output, each a vector of
 * channels whose sums stay in registers.
 *
 *   out[x][c] = clip(bias[c] + sum over l and k of in[l][x + k][c] w[l][k][c])
 *
 * over the lines l and columns k of the window.
 *
 * Each element is summed in the order of the window, whatever the tile is. What lies in the padding
 * is left out: lines by whom calls, columns by the tile.
 *
 * Bound: 2 operations for each position of the window, or the bandwidth of the cache.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ops/kernel/isa.h"

enum { LK_DEPTHWISE_COLUMNS = 8 };

/* Steps are in elements. */
typedef struct lk_depthwise_call {
  const float *in;      /* where the window of the first column begins; may be in the padding */
  const float *weights; /* [vectors][lines][columns of the window][lanes], from the first line on */
  const float *bias;    /* NULL: none */
  float *out;
  int64_t planes, lines; /* of the window that lie in the image */
  int64_t plane_step, line_step;
  int64_t weights_plane, weights_line, weights_vector;
  int64_t in_column, out_column; /* from a column to the next */
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
  int64_t channel;          /* the first, and how many of the output an input channel has */
  int64_t multiplier;
} lk_depthwise_call;

typedef void (*lk_depthwise_fn)(const lk_depthwise_call *call);

/* Windows of 3, 5 and 7 columns without dilation, one or two columns apart. */
enum { LK_DEPTHWISE_WINDOWS = 3, LK_DEPTHWISE_STRIDES = 2 };

/* Those of one instruction set. */
typedef struct lk_depthwise_tiles {
  int32_t lanes; /* floats in a vector */
  /* By window, stride and columns; `inside` for the most columns, where all windows lie in the
   * image. NULL where there is none; else there are at least `lanes` channels, but for AVX-512. */
  lk_depthwise_fn inside[LK_DEPTHWISE_WINDOWS][LK_DEPTHWISE_STRIDES];
  lk_depthwise_fn at_edge[LK_DEPTHWISE_WINDOWS][LK_DEPTHWISE_STRIDES][LK_DEPTHWISE_COLUMNS + 1];
  lk_depthwise_fn any_inside, any_at_edge; /* for any window */
} lk_depthwise_tiles;

/* Only for a processor that has the instructions. */
const lk_depthwise_tiles *lk_depthwise_tiles_get(lk_isa isa);

/* ---- for depthwise_tile.c ---- */

extern const lk_depthwise_tiles lk_depthwise_base, lk_depthwise_avx2, lk_depthwise_avx512;
