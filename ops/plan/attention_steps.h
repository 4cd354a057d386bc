/* Steps of scaled dot-product attention, on f32, for every operator that is one.
 *
 *   scores = scale Q K'            [batch][heads][queries][keys]
 *   scores = softcap tanh(scores / softcap) + mask
 *   Y = softmax(scores, over the keys that a query attends) V
 *
 * Several heads of Q may share one of K and V (grouped-query attention, arXiv 2305.13245). Operands
 * are read and written where they lie: with heads inside of rows, or rows inside of heads. */
#pragma once

#include "ops/plan/planner.h"

/* Rows of heads: strides in elements. The elements of a head lie side by side. */
typedef struct lk_heads {
  lk_operand operand;
  int64_t batch, head, row;
} lk_heads;

/* [batch][rows][heads * size], or [batch][heads][rows][size]. */
lk_heads lk_heads_in_rows(const lk_operand *operand, int64_t rows, int64_t heads, int64_t size);
lk_heads lk_heads_apart(const lk_operand *operand, int64_t rows, int64_t heads, int64_t size);

/* Which scores somebody wants to see. */
typedef enum lk_attention_stage {
  LK_ATTENTION_SCALED,
  LK_ATTENTION_CAPPED,
  LK_ATTENTION_MASKED,
  LK_ATTENTION_SOFTMAX
} lk_attention_stage;

/* Sizes are 1 or more, but for `keys`. */
typedef struct lk_attention {
  int64_t batch, heads, kv_heads; /* kv_heads divides heads */
  int64_t queries, keys, size, v_size;
  float scale, softcap; /* softcap 0: none */
  lk_heads q, k, v, y;
  /* As in lk_attention_softmax. */
  int64_t past, left, right;
  bool has_past;
  /* Each may be NULL. The mask broadcasts to the scores, but for keys behind it, which nobody
   * attends: bool, true where a key is attended, or numbers that are added. Lengths are i64. The
   * seen scores, those of `stage`, are f32, f16 or bf16. */
  const lk_operand *mask, *lengths, *seen;
  lk_attention_stage stage;
} lk_attention;

lk_status lk_plan_attention(lk_planner *planner, const lk_attention *self, lk_error *error);
