/* Heads of attention: where they lie in operands, and the steps that bring them there. Operands are
 * read and written where they lie: with heads inside of rows, or rows inside of heads. */
#pragma once

#include "ops/kernel/sequence/padding.h"
#include "ops/plan/work.h"

typedef struct lk_head_sizes {
  int64_t batch, heads, rows, size;
} lk_head_sizes;

/* What is attended, and by what. */
typedef struct lk_attended {
  lk_head_sizes q, k, v;
  int64_t past, keys; /* keys: with past ones */
} lk_attended;

/* ---- shapes: dimensions that are not known yet are as in dims.h ---- */

/* A past of keys or values, [batch][heads][rows][size], before the rows of `now`. What is wrong
 * breaks `rule`, here and below. `inout_past`: its rows, as far as they are known. */
lk_status lk_infer_past(const lk_inference *self, uint32_t input, const char *name,
                        const char *rule, const lk_head_sizes *now, int64_t *inout_past,
                        lk_error *error);
/* The sum of both. */
lk_status lk_infer_keys(const lk_inference *self, int64_t past, int64_t rows, int64_t *out_keys,
                        lk_error *error);
/* Past and keys of k and v that are there: inputs `past` and `past` + 1, or none of both. */
lk_status lk_infer_pasts(const lk_inference *self, uint32_t past, const char *key,
                         const char *value, const char *rule, lk_attended *inout, lk_error *error);
/* attention_bias, if it is there: it is added to scores of `dims`, and may have 1 batch or head. */
lk_status lk_infer_added(const lk_inference *self, uint32_t input, const int64_t dims[4],
                         const char *rule, lk_error *error);
/* Output `output`, if the node has it, is [batch][heads][rows][size]. */
void lk_infer_heads(lk_inference *self, uint32_t output, int64_t batch, int64_t heads, int64_t rows,
                    int64_t size);
/* Output 0 is [batch][rows][heads * size]; "failed to <what>: ...". */
lk_status lk_infer_rows(lk_inference *self, const lk_head_sizes *of, const char *what,
                        lk_error *error);

/* ---- steps ---- */

/* Rows of heads, f32 where they are attended. */
typedef struct lk_heads {
  lk_operand operand;
  lk_heads_place at;
} lk_heads;

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

/* ---- tasks of LK_WORK_ATTENTION ---- */

/* Begins one that attends all keys, of queries of `q`; a scale of NaN is 1 / sqrt(size). */
void lk_task_attention(lk_task *task, const lk_head_sizes *q, int64_t kv_heads, int64_t keys,
                       int64_t v_size, float scale);
/* Src, keys, values and dst. */
void lk_task_heads(lk_task *task, const lk_heads *q, const lk_heads *k, const lk_heads *v,
                   const lk_heads *y);
/* One more mask, of two at most. */
void lk_task_mask(lk_task *task, const lk_operand *mask);
