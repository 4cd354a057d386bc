/* The kinds of primitives: one row each in primitive_list.inc, one builder each in the source. A
 * builder sees a value key, read as oneDNN's types. */
#pragma once

#include "ops/plan/env.h"

typedef struct lk_primitive_build {
  lk_ops_env *env; /* builders take its engine and layouts, which the key names, and nothing else */
  const lk_key *key;
  dnnl_primitive_attr_t attr; /* user scratchpad, math mode and post-ops of the key */
  /* The tensors of these roles; NULL: the key has none. */
  dnnl_memory_desc_t src, dst;
} lk_primitive_build;

/* The memory descriptor of a tensor record, which the caller destroys; `*out_md` NULL when the key
 * has none of that role and index. */
lk_status lk_build_tensor(const lk_primitive_build *build, lk_word role, uint32_t index,
                          dnnl_memory_desc_t *out_md, lk_error *error);
/* Each is the interned name that is `op` in its value keys. */
typedef enum lk_primitive_kind {
#define K(symbol, name, bytes) LK_PRIMITIVE_##symbol = LK_WORD_##symbol,
#include "ops/plan/primitive_list.inc"
#undef K
} lk_primitive_kind;

typedef struct lk_primitive_kind_row {
  const char *name;
  const char *describe, *create; /* what fails, for sentences */
  /* Makes the descriptor from the key, and from nothing else. */
  dnnl_status_t (*build)(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc);
  uint64_t bytes; /* what one is charged in the cache */
} lk_primitive_kind_row;

/* By lk_primitive_kind, which has gaps. */
extern const lk_primitive_kind_row lk_primitive_kinds[LK_N_WORDS];
