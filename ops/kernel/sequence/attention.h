/* Softmax of attention scores, where each query attends a range of keys: a causal frontier, a
 * window, and padding leave no holes.
 *
 * Bound: the powers of e, as of softmax.h. */
#pragma once

#include "ops/kernel/kernel.h"
#include "ops/kernel/reduce/row_loops.h"

/* Which keys a query attends. Query i has the position `past` + i; without `has_past` but with
 * lengths, length - queries + i. */
typedef struct lk_key_window {
  int64_t queries, keys;
  int64_t past;
  int64_t left, right;  /* keys that are attended before and behind a query's position; -1: all */
  int64_t first_padded; /* this key and those behind it are attended by nobody */
  bool has_past;
} lk_key_window;

/* `begin` to `end` - 1; neither becomes less from query to query. */
typedef struct lk_key_range {
  int64_t begin, end;
} lk_key_range;

/* `length`: keys of the batch that are no padding; NULL: all. */
lk_key_range lk_key_range_of(const lk_key_window *window, const int64_t *length, int64_t query);

/* What is added to the sum of each row's powers of e: nothing, 1, or a power of e for each head. */
typedef enum lk_attend_sink {
  LK_ATTEND_NO_SINK,
  LK_ATTEND_ZERO_SINK,
  LK_ATTEND_SINKS
} lk_attend_sink;

/* Scores are [batch][heads][queries][keys]. */
typedef struct lk_attention_softmax {
  const lk_row_loops *loops;
  int64_t batch, heads;
  lk_key_window window;
  bool has_lengths; /* of each batch, keys that are no padding */
  bool has_masked;  /* the scores as they were, `hidden` where a key is not attended, are wanted */
  float hidden;
  lk_attend_sink sink;
} lk_attention_softmax;

/* Params: lk_attention_softmax. Pointers: scores f32, which become the powers of e over their sum,
 * and 0 where a key is not attended, and in rows that attend none or whose scores are all
 * -infinity; lengths i64 [batch], masked scores f32 and sinks f32 [heads], each where there is
 * one. */
lk_status lk_attention_softmax_kernel(const void *params, void *const *pointers, lk_error *error);
