/* Matrix products of any size, as tiles of microkernels: what matrix products (matmul.h) and
 * convolutions (conv.h) have in common.
 *
 *   C[row][n] = clip(sum over taps t and k of A_t[row][k] B[t][k][n] + bias[n] + residual[row][n])
 *
 * B lies in panels of some vectors' width, so that a tile reads it from the first byte to the last:
 * [panel][tap][k][panel width], with zeros behind the last column. What the rows of A are, a source
 * says, tile by tile. The work is cut into blocks of rows and panels that fit the caches; sums that
 * are too long for them are added up in C. Neither changes a bit of the result.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ops/kernel/product/micro.h"
#include "ops/kernel/product/product_chain.h"

/* The most elements of a tap that are summed at a time. */
enum { LK_PRODUCT_LONGEST_SUM = 2048 };
/* How much of B is kept in the second-level cache, which has 1 MiB or more on the processors that
 * blocks were measured on. */
enum { LK_PRODUCT_B_BYTES = 512 << 10 };

typedef struct lk_product {
  const lk_micro *micro;
  int64_t rows, columns;
  int64_t taps, k; /* each tap sums k elements */
  int64_t c_step;  /* from a row of C and of the residual to the next */
  int32_t c_rows; /* rows of C from one row of a tile to the next: 1, or more where it has others */
  int32_t groups; /* that a task computes: products whose rows lie beside each other; at least 1 */
  int64_t line; /* rows of a line, where tiles are along lines: blocks begin with a line where these
                   are short. 0: rows are all alike. Which of the two, no size may change */
  float low, high; /* -INFINITY, INFINITY: no clipping */
  /* ---- by lk_product_plan ---- */
  int32_t tile_rows;              /* the most in a tile */
  int32_t panel;                  /* columns of a panel */
  int64_t panels;                 /* how many */
  int32_t tap_block, k_block;     /* summed at a time */
  int64_t row_block, panel_block; /* of a task */
} lk_product;

/* Sets the second half from the first. `row_bytes`: what a further row of A takes in a cache. */
void lk_product_plan(lk_product *self, int64_t row_bytes);

/* Floating-point operations of so many such products. */
double lk_product_operations(const lk_product *self, int64_t products);

/* Blocks of rows and panels; those of the same panels follow each other. */
int64_t lk_product_tasks(const lk_product *self);

/* "6x64 in blocks of 48x256": rows and columns of a tile and of a task. */
void lk_product_describe(const lk_product *self, char *text, size_t capacity);

/* For a B that is made a block at a time: in tasks of all rows, so that it is made once. */
void lk_product_plan_made(lk_product *self);
/* Elements of a block of it. */
int64_t lk_product_made_size(const lk_product *self);

/* Elements of B in panels. */
int64_t lk_product_packed_size(const lk_product *self);

/* Writes panels of B, whose element of column n, tap t and k is at from[n * n_step + t * tap_step +
 * k * k_step]. `from` need not be aligned. */
void lk_product_pack(const lk_product *self, const float *from, int64_t n_step, int64_t tap_step,
                     int64_t k_step, int64_t first_panel, int64_t last_panel, float *to);

/* The other way round, all panels. */
void lk_product_unpack(const lk_product *self, const float *from, int64_t n_step, int64_t tap_step,
                       int64_t k_step, float *to);

/* Some of a tile's taps, and which of its rows add them. */
typedef struct lk_product_part {
  int64_t row, rows;
  int64_t tap_end; /* behind its last tap; it begins where the part before it ends */
} lk_product_part;

/* Rows of A for one or several tiles. */
typedef struct lk_product_tiles {
  int64_t rows;   /* of each tile, at most `tile_rows` */
  int64_t place;  /* the first one's row of C: how many rows came before, if the source is silent */
  int64_t tiles;  /* of so many rows each */
  int64_t a_row;  /* between rows of A, where there are more than LK_MICRO_LOOSE_ROWS */
  int64_t a_next; /* from a row of a tile to that of the next tile */
  int64_t n_taps;
  lk_micro_tap taps[LK_MICRO_TAPS]; /* without b */
  int64_t tap[LK_MICRO_TAPS];       /* which tap each is; those that add nothing may be left out */
  int64_t
      n_parts; /* of one tile, in the order of taps; 0, as it is before: all rows have all taps */
  lk_product_part parts[LK_MICRO_TAPS];
} lk_product_tiles;

/* For sources whose rows all lie the same distance apart: the whole tiles of `left` rows, but for
 * the last two, which share what is left for them. */
void lk_product_split(const lk_product *self, int64_t left, lk_product_tiles *out_tiles);

/* Sets where the rows of a tile begin, `step` elements apart. */
static inline void lk_product_set_rows(const float *from, int64_t step, int64_t rows,
                                       const float *out_a[LK_MICRO_LOOSE_ROWS]) {
  for (int64_t r = 0; r < rows && r < LK_MICRO_LOOSE_ROWS; r++) out_a[r] = from + r * step;
}

/* Where the rows of A come from. The functions get the source itself, and are called in order of
 * rows; `begin` before the first. */
typedef struct lk_product_source {
  int64_t a_step; /* from one k to the next */
  void (*begin)(struct lk_product_source *self, int64_t row);
  /* At most `left` rows from here on, elements of A from `k` on, taps `tap` to `tap_end` - 1. */
  void (*next)(struct lk_product_source *self, int64_t left, int64_t tap, int64_t tap_end,
               int64_t k, lk_product_tiles *out_tiles);
} lk_product_source;

/* Rows of one tap that lie `a_row` elements apart from `a` on. */
typedef struct lk_product_rows {
  lk_product_source source; /* first: what lk_product_run gets is this */
  const lk_product *product;
  const float *a;
  int64_t a_row, row; /* row: the next one */
} lk_product_rows;

lk_product_rows lk_product_rows_make(const lk_product *product, const float *a, int64_t a_row,
                                     int64_t a_step);

/* Writes the elements `k` to k_end - 1 of a panel, and may write LK_PRODUCT_MADE_BEHIND rows of it
 * behind them. */
typedef struct lk_product_maker {
  void (*make)(const void *arg, int64_t panel, int64_t k, int64_t k_end, float *to);
  const void *arg;
} lk_product_maker;
enum { LK_PRODUCT_MADE_BEHIND = 15 };

typedef struct lk_product_operands {
  const float *b; /* panels */
  /* Of a B with one tap, and one group: makes its panels, a block at a time, in `made`, which has
   * room for lk_product_made_size elements. NULL: they are there. */
  const lk_product_maker *maker;
  float *made;
  /* Of a B with one tap whose columns lie side by side, whole panels can be read where they are;
   * where there is one row, the last one too, whole or not. */
  const float *plain_b;
  int64_t plain_step;   /* from one k to the next */
  int64_t first_packed; /* panels before it are read from `plain_b` */
  /* Further products: B's panels, and the columns of C, bias, residual and chain, follow those of
   * the product before; rows of A begin `a_group` behind. */
  int64_t groups, a_group;
  const float *bias;     /* [columns]; NULL: none */
  bool adds_bias;        /* to the sum: it is not a term of it, which may be rounded with it */
  const float *residual; /* may be C; NULL: none */
  float *c;
  const lk_product_chain *chain; /* NULL: none */
  lk_product_chain_operands of_chain;
  lk_kernel_ahead ahead; /* what is fetched while the last panels of the task are read */
} lk_product_operands;

/* Does one task. */
void lk_product_run(const lk_product *self, const lk_product_operands *operands,
                    lk_product_source *source, int64_t task);
