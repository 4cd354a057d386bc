/* What a builder of primitives sees: a value key, read as oneDNN's types. */
#pragma once

#include "ops/plan/env.h"

#define LK_MAX_SOURCES 64

typedef struct lk_primitive_build {
  lk_ops_env *env; /* builders take its engine and layouts, which the key names, and nothing else */
  const lk_key *key;
  dnnl_primitive_attr_t attr; /* user scratchpad, math mode and post-ops of the key */
  dnnl_memory_desc_t sources[LK_MAX_SOURCES]; /* SRC 0 to n_sources - 1 */
  int n_sources;
  /* The tensors of these roles with index 0; NULL: the key has none. `src` is sources[0]. */
  dnnl_memory_desc_t src, src1, weights, bias, dst;
} lk_primitive_build;

/* The memory descriptor of a tensor record, which the caller destroys; `*out_md` NULL when the key
 * has none of that role and index. */
lk_status lk_build_tensor(const lk_primitive_build *build, lk_word role, uint32_t index,
                          dnnl_memory_desc_t *out_md, lk_error *error);
/* Attribute values; `fallback` when it is not in the key. A float is a bit pattern there. */
int64_t lk_build_number(const lk_primitive_build *build, lk_word name, int64_t fallback);
float lk_build_float(const lk_primitive_build *build, lk_word name, float fallback);
dnnl_alg_kind_t lk_build_algorithm(const lk_primitive_build *build);

/* How a window moves over the spatial dimensions: KERNEL, STRIDES, DILATIONS, PADS_BEGIN, PADS_END;
 * zeros where the key has none. */
typedef struct lk_build_window {
  dnnl_dims_t kernel, strides, dilations, begin, end;
} lk_build_window;
lk_build_window lk_build_get_window(const lk_primitive_build *build);
