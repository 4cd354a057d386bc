/* What the cache of a context did between two moments. */
#pragma once

#include <jansson.h>

#include <latchkey/latchkey.h>

/* What was added to the counters of one kind of key; `entries` and `bytes` are those of `after`. */
lk_kind_stats cache_counts_of(const lk_stats *before, const lk_stats *after, uint32_t kind);
/* The sum over all kinds. A build inside another is in the times of both. */
lk_kind_stats cache_counts_sum(const lk_stats *before, const lk_stats *after);
/* {"hits": ..., "build_ms": ...} */
json_t *cache_counts_json(const lk_kind_stats *counts);
/* The same for each kind, by its name. */
json_t *cache_counts_kinds_json(const lk_stats *before, const lk_stats *after);
