/* Steps of scaled dot-product attention, on f32, for every operator that is one.
 *
 *   scores = scale Q K'            [batch][heads][queries][keys]
 *   scores = softcap tanh(scores / softcap) + mask
 *   Y = softmax(scores, over the keys that a query attends) V
 *
 * Several heads of Q may share one of K and V (grouped-query attention, arXiv 2305.13245). Operands
 * are read and written where they lie: with heads inside of rows, or rows inside of heads. */
#pragma once

#include "ops/kernel/sequence/attend.h"
#include "ops/kernel/sequence/padding.h"
#include "ops/plan/planner.h"

/* Rows of heads, f32 where products read them: the first element and strides, in elements. The
 * elements of a head lie side by side. */
typedef struct lk_heads {
  lk_operand operand;
  int64_t first, batch, head, row;
} lk_heads;

typedef struct lk_head_sizes {
  int64_t batch, heads, rows, size;
} lk_head_sizes;

/* [batch][rows][heads * size], [batch][heads][rows][size] in its layout, and part `part` of `parts`
 * of [batch][rows][heads][parts][size]. */
lk_heads lk_heads_in_rows(const lk_operand *operand, const lk_head_sizes *sizes);
lk_heads lk_heads_apart(const lk_operand *operand, const lk_head_sizes *sizes);
lk_heads lk_heads_packed(const lk_operand *operand, const lk_head_sizes *sizes, int64_t part,
                         int64_t parts);

/* K or V behind what it was before, input `past`, and as output `present` too: both are
 * [batch][heads][rows][size], of `keys` rows in all, or part `part` of a tensor of such parts.
 * Nothing is done where neither is there. `inout`: at first the new rows, of `sizes`. */
lk_status lk_plan_behind_past(lk_planner *planner, const lk_head_sizes *sizes, int64_t keys,
                              uint32_t past, uint32_t present, int64_t part, lk_heads *inout,
                              lk_error *error);

/* What masks of i32 add to scores, `step->filter` or 0, as f32 [batch][1][rows][keys]. */
lk_status lk_plan_padding(lk_planner *planner, const lk_padding *step, const lk_operand *mask,
                          lk_operand *out, lk_error *error);

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
  /* Each may be NULL. Masks broadcast to the scores, but for keys behind the first one, which
   * nobody attends: bool, true where a key is attended, or numbers that are added. Lengths are i64.
   * The seen scores, those of `stage`, are f32, f16 or bf16. */
  const lk_operand *mask, *mask_too, *lengths, *seen;
  lk_attention_stage stage;
  float hidden; /* what seen scores of stage MASKED have where a key is not attended */
  /* What is added to each row's powers of e (f32 [heads]). */
  lk_attend_sink sink;
  const lk_operand *sinks;
  bool fills, needs_score, hides_nan; /* as in lk_attend; without seen scores */
} lk_attention;

lk_status lk_plan_attention(lk_planner *planner, const lk_attention *self, lk_error *error);
