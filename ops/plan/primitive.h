/* Primitives: what a value key describes and the cache keeps.
 *
 * A value key has the head (op = kind of primitive, precision, math mode, engine, ISA, oneDNN
 * version), tensors by role, and attributes. What builds the primitive reads the key and nothing
 * else (primitive_kind.c).
 */
#pragma once

#include "keys/key_build.h"
#include "ops/plan/primitive_kind.h"

typedef struct lk_primitive {
  dnnl_primitive_t primitive;
  dnnl_primitive_desc_t desc;
  const char *kind;           /* "convolution"; static */
  const char *implementation; /* as oneDNN names it; lives as long as desc */
  size_t scratchpad_bytes;
  bool is_ref;
} lk_primitive;

/* Finds or builds the primitive of the key. */
lk_status lk_primitive_get(lk_ops_env *env, const lk_key *key, lk_ref **out_ref, lk_error *error);

/* A float as an attribute value of a key: its bit pattern; -0.0 becomes 0.0. */
int64_t lk_float_bits(float value);
