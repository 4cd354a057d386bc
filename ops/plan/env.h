/* What a context lends the operators. ops/ knows nothing of contexts: the context fills this in. */
#pragma once

#include <oneapi/dnnl/dnnl.h>
#include <stdatomic.h>

#include "keys/cache/cache.h"
#include "keys/weights/weights.h"

typedef struct lk_layouts lk_layouts;

typedef struct lk_ops_env {
  const lk_allocator *allocator;
  lk_intern *intern;
  lk_cache *cache;
  lk_weights *weights;
  lk_layouts *layouts;
  dnnl_engine_t engine;
  int32_t threads;                 /* the context's N */
  uint32_t engine_id;              /* kind << 16 | index */
  uint32_t isa;                    /* effective ISA, as oneDNN numbers it */
  uint32_t library;                /* oneDNN's version: major << 16 | minor << 8 | patch */
  uint32_t math_mode;              /* dnnl_fpmath_mode_t */
  _Atomic uint64_t ref_primitives; /* built on a ref: implementation */
  _Atomic uint64_t reorders;       /* steps put into plans */
} lk_ops_env;
