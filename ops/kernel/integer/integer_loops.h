/* Loops of products of bytes (product_integer.h): tiles in registers, and what becomes of them. One
 * source, integer_loops.inc, compiled for each instruction set.
 *
 * Operands come as groups of k, a lane of 32 bits each (vec_dot.h), in the form that the products
 * want: 2 elements of int16_t, or 4 bytes, unsigned on the left and signed on the right.
 * To get there, bytes of the other sign are moved by 128, and so are their zero points: the
 * difference of both, which is all that matters, stays. Zero points are subtracted in the end:
 *
 *   sum of (a - p) (b - q) = sum of a b - q (sum of a - k p) - p sum of b
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ops/kernel/isa.h"

enum {
  LK_INTEGER_PANEL = 64,       /* the most columns of a tile */
  LK_INTEGER_SMALL = 64,       /* of small bytes: 2 * 255 * 64 is an int16_t */
  LK_INTEGER_ROWS = 48,        /* the most of a block, whole tiles */
  LK_INTEGER_RUNS = 9,         /* the most that a row lies in */
  LK_INTEGER_TILE_GROUPS = 16, /* of a right operand, which tiles of AMX read at once */
  LK_INTEGER_SUMMED = 1 << 23  /* bytes whose sum is an int32_t */
};

/* A right operand, as bytes: element (k, n) lies k / inner * outer + k % inner * step + n * column
 * bytes behind `from`. Of several groups, it is the byte 0 but where k % inner / group_k is
 * n / group_columns, and k counts within the group. */
typedef struct lk_integer_right {
  const uint8_t *from;
  bool is_signed;
  int64_t k, columns;
  int64_t panel; /* columns that are packed together: whole vectors, at most the table's panel */
  int64_t inner, step, outer, column;
  int64_t group_k, group_columns; /* 0: there is one group */
} lk_integer_right;

/* Some rows of the left operand, by some panels of the right one. Steps are in elements. */
typedef struct lk_integer_block {
  /* Groups of the rows, `a_step` from row to row: whole vectors, of which the rest is 0. Tiles read
   * behind the last row: there is memory for whole ones. */
  const int32_t *a;
  int64_t a_step, rows;
  /* NULL, or where the rows lie instead: [n_runs][LK_INTEGER_ROWS], each `run_groups` whole groups.
   * Not for a table that has_tiles. */
  const int32_t *const *runs;
  int64_t n_runs, run_groups;
  const int32_t *b, *b_sums; /* packed, and for each column the sum of its elements */
  int64_t k, columns, panel, first_panel, end_panel; /* panel: columns of one */
  bool a_is_signed, b_is_signed;
  /* zero points, as bytes; NULL: 0. Steps of 0 or 1. */
  const uint8_t *a_zero, *b_zero;
  int64_t a_zero_step, b_zero_step;
  const float *scale; /* for columns; NULL: the sums are the output */
  int64_t scale_step;
  const int32_t *bias; /* NULL: none */
  int64_t bias_row, bias_column;
  void *c;
  int64_t c_step;
  uint32_t c_dtype; /* LK_I32: sums; LK_F32: times scale; LK_U8, LK_I8: rounded, plus c_zero */
  bool adds;        /* of f32: to what C is */
  int32_t c_zero;
} lk_integer_block;

/* What bytes stand for. */
typedef struct lk_byte_type {
  float scale;
  int32_t zero;
  bool is_signed;
} lk_byte_type;

/* Windows side by side of a depthwise convolution of bytes, channels-last. */
typedef struct lk_integer_window {
  const uint8_t *const *from; /* [taps]: the first channel of each tap of the first window */
  int64_t taps;               /* even */
  int64_t channels;           /* at least `lanes` */
  int64_t step, count;        /* bytes from window to window; windows */
  bool is_signed;
  const int32_t *weights; /* [taps / 2][channels]: two int16_t, the lower one of the first tap */
  const int32_t *add;     /* [channels] */
  const float *scale;     /* [channels]; of bytes */
  void *c;                /* side by side */
  uint32_t c_dtype;       /* LK_I32, LK_U8, LK_I8 */
  int32_t c_zero;
} lk_integer_window;

/* What numbers of few bits stand for: (number - zero point) scale. */
typedef struct lk_integer_bits_scaling {
  const float *scales; /* [blocks][columns] */
  /* Zero points likewise, of one kind; both NULL: `zero`. */
  const uint8_t *byte_zeros;
  const float *zeros;
  float zero;
} lk_integer_bits_scaling;

/* Numbers of few bits, 32 / bits of a column in a lane, from the lowest bits on. */
typedef struct lk_integer_bits {
  const int32_t *from;             /* [rows][columns] */
  int64_t rows, columns;           /* columns: whole vectors */
  uint32_t bits;                   /* 2, 4 or 8 */
  lk_integer_bits_scaling scaling; /* of one block */
  float *to;                       /* [rows 32 / bits][columns] */
} lk_integer_bits;

enum { LK_INTEGER_BITS_ROWS = 4 };

/* A block of a row on the left, as signed bytes: what they are to be multiplied by, and their
 * sum. */
typedef struct lk_integer_bits_left {
  float scale, sum;
} lk_integer_bits_left;

/* Rows of bytes by such numbers: the sum over blocks of both scales by the sum of (number - zero
 * point) byte. With e = 8 / bits, word s of a group's bytes has those of its elements s, s + e,
 * s + 2 e and s + 3 e. */
typedef struct lk_integer_bits_product {
  const int32_t *numbers; /* [groups][columns] */
  const int32_t *bytes;   /* [rows][groups e], `bytes_step` apart; 0 behind the last element */
  int64_t bytes_step;
  const lk_integer_bits_left *left; /* [rows][blocks], `left_step` apart */
  int64_t left_step;
  int64_t rows;                  /* 1 or LK_INTEGER_BITS_ROWS */
  int64_t block, groups, blocks; /* a block: elements */
  int64_t columns;
  uint32_t bits;
  lk_integer_bits_scaling scaling;
  float *to; /* [rows][columns] */
} lk_integer_bits_product;

/* Rows of f32 by such numbers: the sum over blocks of their scale by the sum of (number - zero
 * point) element. */
typedef struct lk_integer_bits_sum {
  const int32_t *numbers; /* [groups][columns] */
  const float *from;      /* [rows][k], `from_step` apart */
  int64_t from_step;
  int64_t rows;              /* 1 or LK_INTEGER_BITS_ROWS */
  int64_t k, block, columns; /* k and a block: elements */
  uint32_t bits;
  lk_integer_bits_scaling scaling;
  float *to; /* [rows][columns] */
} lk_integer_bits_sum;

typedef struct lk_integer_loops {
  int32_t group, lanes;
  int32_t panel, tile_rows; /* the most columns and rows of a tile */
  bool has_tiles; /* of AMX: they read up to LK_INTEGER_TILE_GROUPS - 1 groups behind the last */
  /* `count` bytes as elements of a left operand, of 4 / group bytes. */
  void (*widen)(void *to, const uint8_t *from, int64_t count, bool is_signed);
  /* `runs` of them, `step` bytes apart, which come to lie `to_step` elements apart. */
  void (*widen_runs)(void *to, int64_t to_step, const uint8_t *from, int64_t count, int64_t runs,
                     int64_t step, bool is_signed);
  /* The byte `value`, or 0 where it is NULL, `count` times. */
  void (*fill)(void *to, const uint8_t *value, int64_t count, bool is_signed);
  /* The range that was found so far, with `count` numbers more; NaN does not count. */
  void (*range)(const float *from, int64_t count, float *inout_least, float *inout_most);
  /* saturate(round(from / scale) + zero), ties to even; of NaN, the least byte. */
  void (*quantize)(const float *from, uint8_t *to, int64_t count, const lk_byte_type *type);
  /* (from - zero) scale */
  void (*dequantize)(const uint8_t *from, float *to, int64_t count, const lk_byte_type *type);
  void (*unpack)(const lk_integer_bits *part);
  void (*sum_bits)(const lk_integer_bits_sum *product);
  uint32_t byte_bits; /* the most that multiply_bits takes; 0: it is not there */
  void (*multiply_bits)(const lk_integer_bits_product *product);
  /* What bytes of the first type stand for, as bytes of the second: rows of `count`, which come to
   * lie `to_row` apart. */
  void (*convert)(const uint8_t *from, uint8_t *to, int64_t to_row, int64_t count, int64_t rows,
                  const lk_byte_type types[2]);
  /* The sum or the product of what both stand for: by the ratios of their scales to the result's,
   * and so without a division for each. */
  void (*combine)(const uint8_t *a, const uint8_t *b, uint8_t *to, int64_t count,
                  const lk_byte_type types[3], bool multiplies);
  /* to = table[from], of 256 bytes; `to` may be `from`. */
  void (*look_up)(const uint8_t *table, const uint8_t *from, uint8_t *to, int64_t count);
  /* Of up to LK_INTEGER_SUMMED bytes; of so many rows, `step` bytes apart. */
  int32_t (*sum_bytes)(const uint8_t *from, int64_t count, bool is_signed);
  void (*sum_byte_columns)(const uint8_t *from, int64_t rows, int64_t step, int64_t columns,
                           bool is_signed, int32_t *to);
  /* The columns of a panel from `first` on, as far as there are such: groups, whole vectors of
   * each, and sums. */
  void (*pack)(const lk_integer_right *right, int64_t first, int32_t *to, int32_t *sums);
  void (*multiply)(const lk_integer_block *block);
  void (*depthwise)(const lk_integer_window *windows);
} lk_integer_loops;

/* Only for a processor that has the instructions. */
const lk_integer_loops *lk_integer_loops_get(lk_isa isa);

/* The same for right operands whose bytes are small; NULL: there are none of their own. */
const lk_integer_loops *lk_integer_loops_small(lk_isa isa);
/* Whether all are within LK_INTEGER_SMALL of 0, or, of unsigned ones, of 128. */
bool lk_integer_are_small(const uint8_t *bytes, int64_t count, bool is_signed);

/* ---- for integer_loops.c ---- */

extern const lk_integer_loops lk_integer_base, lk_integer_avx2, lk_integer_avx2_small,
    lk_integer_avx512, lk_integer_vnni, lk_integer_amx;
