/* Softmax of attention scores, where each query attends a range of keys: a causal frontier, a
 * window, and padding leave no holes.
 *
 * Bound: the powers of e, as of softmax.h. */
#pragma once

#include "ops/kernel/kernel.h"
#include "ops/kernel/row_loops.h"

/* Scores are [batch][heads][queries][keys]. Query i has the position `past` + i; without `has_past`
 * but with lengths, length - queries + i. */
typedef struct lk_attention_softmax {
  const lk_row_loops *loops;
  int64_t batch, heads, queries, keys;
  int64_t past;
  int64_t left, right;  /* keys that are attended before and behind a query's position; -1: all */
  int64_t first_padded; /* this key and those behind it are attended by nobody */
  bool has_past;
  bool has_lengths; /* of each batch, keys that are no padding */
  bool has_masked;  /* the scores as they were, -infinity where a key is not attended, are wanted */
} lk_attention_softmax;

/* Params: lk_attention_softmax. Pointers: scores f32, which become the powers of e over their sum,
 * and 0 where a key is not attended, and in rows that attend none or whose scores are all
 * -infinity; lengths i64 [batch] and masked scores f32, each where there is one. */
lk_status lk_attention_softmax_kernel(const void *params, void *const *pointers, lk_error *error);
