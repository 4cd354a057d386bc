/* What a context lends the operators. ops/ knows nothing of contexts: the context fills this in. */
#pragma once

#include <stdatomic.h>

#include "base/memory_budget.h"
#include "keys/cache/cache.h"
#include "keys/weights/weights.h"

typedef struct lk_planning lk_planning;
typedef struct lk_engines lk_engines;

typedef struct lk_ops_env {
  const lk_allocator *allocator;
  lk_memory_budget *memory; /* of `allocator`, for what others allocate on its account */
  lk_intern *intern;
  lk_cache *cache;
  lk_weights *weights;
  int32_t threads;             /* the context's N */
  const lk_planning *planning; /* of all works (work.h) */
  lk_engines *engines;         /* for `planning` (ops/engine/engines.h) */
  _Atomic uint64_t reorders;   /* steps put into plans */
  /* A line of the context's log, as a warning; NULL: nobody hears it. */
  void (*warn)(void *context, const char *line);
  void *context; /* for `warn` */
} lk_ops_env;
