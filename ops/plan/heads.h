/* Heads of attention: where they lie in operands, and the steps that bring them there. Operands are
 * read and written where they lie: with heads inside of rows, or rows inside of heads. */
#pragma once

#include "ops/kernel/sequence/padding.h"
#include "ops/plan/work.h"

/* Rows of heads, f32 where they are attended. */
typedef struct lk_heads {
  lk_operand operand;
  lk_heads_place at;
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

/* ---- tasks of LK_WORK_ATTENTION, whose sizes are set ---- */

/* Src, keys, values and dst. */
void lk_task_heads(lk_task *task, const lk_heads *q, const lk_heads *k, const lk_heads *v,
                   const lk_heads *y);
/* One more mask, of two at most. */
void lk_task_mask(lk_task *task, const lk_operand *mask);
