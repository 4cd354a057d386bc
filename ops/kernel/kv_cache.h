/* A cache of keys or values in a buffer that may be longer than what it holds, with as many rows
 * for each batch as data say. Bound: bytes. */
#pragma once

#include "ops/kernel/kernel.h"

/* New rows of each batch: where they begin. */
typedef struct lk_kv_places {
  int64_t batch, rows;
  int64_t most;      /* rows that a batch may have, with the new ones */
  int64_t past_rows; /* that there are before */
  bool is_prompt; /* there is nothing before the new rows, of which the last ones may be padding */
} lk_kv_places;

/* Params: lk_kv_places. Pointers: i32 [batch], the last row that each batch has; lengths i64
 * [batch], one more; positions i64 [batch][rows], of the new rows. LK_OUT_OF_RANGE: a batch has
 * more rows than it may, or fewer than are new. */
lk_status lk_kv_places_kernel(const void *params, void *const *pointers, lk_error *error);

/* The buffer is [batch][heads][buffer_rows][size], the past [batch][heads][past_rows][size]. */
typedef struct lk_kv_cache {
  size_t element; /* bytes */
  int64_t batch, heads, rows, size;
  int64_t first, from[3]; /* new rows: the first element; strides of batch, head and row */
  int64_t past_rows, buffer_rows;
  bool is_prompt; /* as of lk_kv_places, which has checked the lengths */
  bool has_past;
} lk_kv_cache;

/* Params: lk_kv_cache. Pointers: the new rows; the buffer; lengths i64 [batch]; the past, where
 * there is one. Rows of the buffer that are neither before the new ones nor new become 0. A past
 * that is the buffer stays as it is. */
lk_status lk_kv_cache_kernel(const void *params, void *const *pointers, lk_error *error);
