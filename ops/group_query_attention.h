/* What the files of GroupQueryAttention share: the attributes, read, and the sizes. */
#pragma once

#include "ops/plan/planner.h"

enum {
  GQA_QUERY,
  GQA_KEY,
  GQA_VALUE,
  GQA_PAST_KEY,
  GQA_PAST_VALUE,
  GQA_LAST_ROWS,
  GQA_TOTAL,
  GQA_COSINES,
  GQA_SINES,
  GQA_POSITIONS,
  GQA_ADDED,
  GQA_SINKS,
  GQA_KEY_SCALE,
  GQA_VALUE_SCALE,
  GQA_UNSUPPORTED /* the first one of those */
};
enum { GQA_OUTPUT, GQA_PRESENT_KEY, GQA_PRESENT_VALUE, GQA_SCORES };

/* The scores that output_qk has. Where a key is not attended, it has 0. */
typedef enum gqa_seen { GQA_NO_SCORES, GQA_BEFORE_SOFTMAX, GQA_BEHIND_SOFTMAX } gqa_seen;

/* Whether numbers of a cache share a scale; in the order of the attributes' names. */
typedef enum gqa_scale { GQA_NO_SCALE, GQA_ONE_SCALE, GQA_SCALES_OF_CHANNELS } gqa_scale;

typedef struct gqa_params {
  int64_t heads, kv_heads;
  int64_t left;         /* keys that are attended before a query's own; -1: all */
  float scale, softcap; /* scale: NaN is 1 / sqrt(size) */
  bool is_causal, is_rotated, is_interleaved, is_smooth;
  bool is_quantized, is_half; /* the cache is whole numbers, of 4 bits */
  gqa_scale scales[2];        /* of keys, of values */
  gqa_seen seen;
  bool is_sliding; /* the cache keeps the last rows alone: its length is a capacity */
} gqa_params;

/* Dimensions that are not known yet are as in dims.h. */
typedef struct gqa_sizes {
  int64_t batch, rows, size;
  int64_t past; /* rows of the buffer before; 0 without one */
  int64_t total, present;
  /* The buffer that is attended: its rows, and how many of them at most. It is the present one, or
   * (`is_apart`) one with all rows that new ones attend, where the present one keeps fewer. */
  int64_t buffer, keys;
  bool is_apart;
  int64_t width; /* elements of the cache for a row of a head: bytes where it is quantized */
} gqa_sizes;

/* Keys and values lie behind the queries of each row. */
static inline bool gqa_is_packed(const lk_op_node *node) {
  return !lk_op_has(node, GQA_KEY);
}

/* The type of what is cached; `dtype`: of what is not quantized. */
static inline uint32_t gqa_cache_type(const gqa_params *params, uint32_t dtype) {
  if (!params->is_quantized) return dtype;
  return params->is_half ? LK_U8 : LK_I8;
}

/* lk_op_class.plan; `found` is the gqa_sizes. */
lk_status gqa_plan(lk_planner *planner, lk_error *error);
