/* Linear attention: a state for each head of keys and values, which every row changes and then
 * reads (Yang et al., Gated Delta Networks, arXiv 2412.06464; ONNX operator LinearAttention).
 *
 *   S = e^g S, where there is a decay
 *   S = S + k (b (v - S'k))', or S + k v' without a rate b
 *   o = scale S'q, for each query head of the group
 *
 * Bound: the state, which is read and written three times a row; it stays in the cache. */
#pragma once

#include "ops/kernel/kernel.h"

/* All tensors are f32. */
typedef struct lk_linear_attention {
  int64_t batch, rows, heads, kv_heads; /* kv_heads divides heads */
  int64_t size, v_size;                 /* of a head of keys, of values */
  int64_t decays;                       /* of a row: 0, kv_heads, or kv_heads * size */
  int64_t rates;                        /* of a row: 0, 1, or kv_heads */
  float scale;
  bool has_past;
} lk_linear_attention;

/* Params: lk_linear_attention. Pointers: q [batch][rows][heads][size], k [batch][rows][kv_heads]
 * [size], v [batch][rows][kv_heads][v_size], output [batch][rows][heads][v_size], state
 * [batch][kv_heads][size][v_size]; then, each where there is one, the past state, decays and rates
 * [batch][rows][...]. The past state may be the state. */
lk_status lk_linear_attention_kernel(const void *params, void *const *pointers, lk_error *error);
