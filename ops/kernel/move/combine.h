/* Elements that are added to others, multiplied with them, or replace them where they are less or
 * more: what is left where several updates meet. */
#pragma once

#include <latchkey/base.h>
#include <stdint.h>

typedef enum lk_combine_op {
  LK_COMBINE_NONE, /* the update replaces what is there */
  LK_COMBINE_ADD,
  LK_COMBINE_MUL,
  LK_COMBINE_MIN,
  LK_COMBINE_MAX,
  LK_COMBINE_OPS
} lk_combine_op;

/* to[i] = to[i] op from[i], which do not overlap. */
typedef void lk_combine_fn(void *restrict to, const void *restrict from, int64_t count);

/* Of elements of a type; NULL for LK_COMBINE_NONE. Integers wrap around; NaN on either side stays;
 * of bool, add and max are `or`, the others `and`. */
lk_combine_fn *lk_combine_find(uint32_t dtype, lk_combine_op op);

/* Elements of `data`, `at` bytes from its beginning, each with one of `from`, which lie `step`
 * bytes apart: one by one, since places may be equal. */
typedef void lk_combine_each_fn(char *data, const int64_t *at, const char *from, int64_t step,
                                int64_t count);
lk_combine_each_fn *lk_combine_find_each(uint32_t dtype, lk_combine_op op);
