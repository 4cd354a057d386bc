/* Primitives: what a value key describes and the cache keeps.
 *
 * A value key has the head (op = kind of primitive, precision, math mode, engine, ISA, oneDNN
 * version), one call record (threads), tensors by role, attributes, and the post-op chain. The build
 * function reads the key and nothing else: one builder for each kind, in primitive_builders.c, one row
 * each in ops/plan/primitive_list.inc.
 */
#ifndef LK_OPS_PLAN_PRIMITIVE_H
#define LK_OPS_PLAN_PRIMITIVE_H

#include "keys/key_build.h"
#include "ops/plan/env.h"

typedef struct lk_primitive {
  dnnl_primitive_t primitive;
  dnnl_primitive_desc_t desc;
  const char *implementation; /* as oneDNN names it; lives as long as desc */
  size_t scratchpad_bytes;
  bool is_ref;
} lk_primitive;

/* Kinds of primitives, each by the interned name that is `op` in its value keys. */
typedef enum lk_primitive_kind {
#define K(symbol, name, bytes) LK_PRIMITIVE_##symbol = LK_WORD_##symbol,
#include "ops/plan/primitive_list.inc"
#undef K
} lk_primitive_kind;

/* Starts a value key. Then add tensors, attributes and post-ops in the order that the builder of
 * the kind documents, finish it, and call lk_primitive_get. */
void lk_primitive_key(lk_key_builder *builder, const lk_ops_env *env, lk_primitive_kind kind,
                      int32_t threads);

/* Finds or builds the primitive of the key. */
lk_status lk_primitive_get(lk_ops_env *env, const lk_key *key, lk_ref **out_ref, lk_error *error);

/* ---- for builders ---- */

typedef struct lk_primitive_build {
  lk_ops_env *env;
  const lk_key *key;
  dnnl_primitive_attr_t attr; /* user scratchpad, math mode and post-ops of the key */
  /* The tensors of these roles with index 0, lent; NULL: the key has none. */
  dnnl_memory_desc_t src, src1, weights, bias, dst;
} lk_primitive_build;

/* Makes the primitive descriptor. Whatever else it makes on the way it frees itself. */
typedef lk_status (*lk_primitive_builder)(const lk_primitive_build *build,
                                          dnnl_primitive_desc_t *out_desc, lk_error *error);

/* The memory descriptor of another tensor record, which the caller destroys; `*out_md` NULL when the
 * key has none of that role. */
lk_status lk_build_tensor(const lk_primitive_build *build, lk_word role, uint32_t index,
                          dnnl_memory_desc_t *out_md, lk_error *error);
/* Attribute values; `fallback` when it is not in the key. */
int64_t lk_build_number(const lk_primitive_build *build, lk_word name, int64_t fallback);
float lk_build_float(const lk_primitive_build *build, lk_word name,
                     float fallback); /* bit pattern */
dnnl_alg_kind_t lk_build_algorithm(const lk_primitive_build *build);

/* How a window moves over the spatial dimensions: KERNEL, STRIDES, DILATIONS, PADS_BEGIN, PADS_END;
 * zeros where the key has none. */
typedef struct lk_build_window {
  dnnl_dims_t kernel, strides, dilations, begin, end;
} lk_build_window;
lk_build_window lk_build_get_window(const lk_primitive_build *build);

/* A float as an attribute value of a key: its bit pattern; -0.0 becomes 0.0. */
int64_t lk_float_bits(float value);

#endif
