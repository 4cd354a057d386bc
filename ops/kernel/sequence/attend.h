/* Scaled dot-product attention, a block of scores at a time, so that they stay in the cache
 * (Dao et al., FlashAttention, arXiv 2205.14135; Milakov and Gimelshein, arXiv 1805.02867).
 *
 *   Y = softmax(softcap(scale Q K') + masks, over the keys that a query attends) V
 *
 * Several heads of Q may share one of K and V; then they are computed together. Blocks of keys
 * follow each other; each row keeps the largest score so far and the sum of its powers of e, by
 * which what has been added up in Y is corrected. Blocks follow from sizes, lengths and windows, so
 * no bit depends on threads.
 *
 * Bound: 2 * batch * heads * queries * keys * (size + v_size) operations, and the powers of e; of
 * few rows, the bytes of K and V. */
#pragma once

#include "ops/kernel/product/product.h"
#include "ops/kernel/product/product_loops.h"
#include "ops/kernel/sequence/attend_loops.h"
#include "ops/kernel/sequence/attention.h"

enum { LK_ATTEND_MASKS = 2 };

/* Where a tensor's heads lie: the first element and strides, in elements. The elements of a head
 * lie side by side. */
typedef struct lk_attend_place {
  int64_t first, batch, head, row;
} lk_attend_place;

/* Sizes are 1 or more. */
typedef struct lk_attend {
  const lk_attend_loops *loops;
  const lk_product_loops *products;
  const lk_micro *micro;
  int64_t batch, heads, kv_heads, size, v_size;
  lk_attend_place q, k, v, y;
  lk_key_window window; /* has the numbers of queries and keys */
  float scale, cap;     /* cap 0: none */
  lk_attend_sink sink;
  uint32_t n_masks;
  int64_t masks[LK_ATTEND_MASKS][3]; /* strides of batch, head and query; keys lie side by side */
  bool has_lengths;
  bool fills;       /* as of lk_attend_row: one mask, and no cap */
  bool needs_score; /* a row that attends nothing, or minus infinities alone, becomes NaN, not 0 */
  bool hides_nan;   /* weights of a row are 0 where softmax makes NaN of it; without a window */
  /* ---- by lk_attend_plan ---- */
  bool is_few;                  /* rows: K and V are read where they lie */
  bool reads_v;                 /* where it lies */
  int64_t key_block, row_block; /* keys, and queries of one head, at a time */
  int64_t chunks;               /* tasks of a head of K and V */
  int64_t slots;                /* that have scratch memory */
  int64_t score_row;            /* from a row of scores to the next */
  lk_product scores, values;    /* of a block */
} lk_attend;

/* Sets the last part from the others. */
void lk_attend_plan(lk_attend *self);
/* Elements of f32 of scratch memory that a run needs. */
int64_t lk_attend_scratch_size(const lk_attend *self);
double lk_attend_operations(const lk_attend *self);

/* Params: lk_attend. Pointers: Q, K, V, Y and scratch memory, f32; then, where there are any, masks
 * f32; lengths i64 [batch]; sinks f32 [heads]. */
lk_status lk_attend_kernel(const void *params, void *const *pointers, lk_error *error);
