/* The kinds of primitives: one row each in primitive_list.inc, one builder each in the source. */
#pragma once

#include "ops/plan/primitive_build.h"

/* Each is the interned name that is `op` in its value keys. */
typedef enum lk_primitive_kind {
#define K(symbol, name, bytes) LK_PRIMITIVE_##symbol = LK_WORD_##symbol,
#include "ops/plan/primitive_list.inc"
#undef K
} lk_primitive_kind;

typedef struct lk_primitive_kind_row {
  const char *describe, *create; /* what fails, for sentences */
  /* Makes the descriptor from the key, and from nothing else. */
  dnnl_status_t (*build)(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc);
  uint64_t bytes; /* what one is charged in the cache */
} lk_primitive_kind_row;

/* By lk_primitive_kind, which has gaps. */
extern const lk_primitive_kind_row lk_primitive_kinds[LK_N_WORDS];
