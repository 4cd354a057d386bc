/* A cache of keys or values in a buffer that may be longer than what it holds, with as many rows
 * for each batch as data say. A cache with a capacity keeps the last rows of a sequence alone, so
 * that the sequence may outgrow it. Bound: bytes. */
#pragma once

#include "ops/kernel/kernel.h"

/* New rows of each batch: where they begin. */
typedef struct lk_kv_places {
  int64_t batch, rows;
  int64_t most;      /* rows that a batch may have, with the new ones */
  int64_t past_rows; /* that there are before */
  bool is_prompt; /* there is nothing before the new rows, of which the last ones may be padding */
  /* The cache keeps the last rows, `capacity` at most and `window` at least, where there are so
   * many. A sequence that outgrows it loses capacity - window + 1 rows at a time, so what is kept
   * depends on the sequence's length alone. Capacity 0: all rows are kept. */
  int64_t capacity, window;
  bool is_apart; /* rows that new ones drop are attended: the buffer has them, the cache has not */
} lk_kv_places;

/* Params: lk_kv_places. Pointers: i32 [batch], the last row that each batch has; lengths i64
 * [batch], how many rows are attended; positions i64 [batch][rows], of the new rows. With a
 * capacity also kept i64 [batch], how many rows the cache holds then, and dropped i64 [batch], how
 * many that it held, or that are new, it does not. LK_OUT_OF_RANGE: a batch has more rows than it
 * may, or fewer than are new. */
lk_status lk_kv_places_kernel(const void *params, void *const *pointers, lk_error *error);

/* The buffer is [batch][heads][buffer_rows][size], the past [batch][heads][past_rows][size]. */
typedef struct lk_kv_cache {
  size_t element; /* bytes */
  int64_t batch, heads, rows, size;
  int64_t first, from[3]; /* new rows: the first element; strides of batch, head and row */
  int64_t past_rows, buffer_rows;
  bool is_prompt; /* as of lk_kv_places, which has checked the lengths */
  bool has_past, has_dropped;
} lk_kv_cache;

/* Params: lk_kv_cache. Pointers: the new rows; the buffer; lengths i64 [batch], of what the buffer
 * holds in the end; the past, where there is one; dropped i64 [batch], where there are: the first
 * rows of the past that the buffer does not get. Rows of the buffer that are neither before the new
 * ones nor new become 0. Of a past that is the buffer they stay as they are. */
lk_status lk_kv_cache_kernel(const void *params, void *const *pointers, lk_error *error);

/* What is added to the scores of the keys in a buffer: the columns of their positions. */
typedef struct lk_kv_columns {
  int64_t batch, heads, rows; /* of the result */
  int64_t from[2];            /* strides of batch and head, in elements */
  int64_t from_columns, to_columns;
} lk_kv_columns;

/* Params: lk_kv_columns. Pointers: f32 [...][rows][from_columns], a column for each position; f32
 * [batch][heads][rows][to_columns], one for each row of the buffer, 0 behind the last one; lengths
 * and positions of lk_kv_places. */
lk_status lk_kv_columns_kernel(const void *params, void *const *pointers, lk_error *error);
