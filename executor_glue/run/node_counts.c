#include "executor_glue/run/node_counts.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/time_bucket.h"

typedef struct node_count {
  atomic_uint_least64_t ns, longest_ns;
  atomic_uint_least32_t times[LK_TIME_BUCKETS]; /* their sum: the binds */
} node_count;

struct lk_node_counts {
  const lk_allocator *allocator;
  node_count of_node[]; /* [n_nodes] */
};

lk_status lk_node_counts_create(const lk_allocator *allocator, size_t n_nodes,
                                lk_node_counts **out_counts, lk_error *error) {
  const size_t bytes = sizeof **out_counts + n_nodes * sizeof(node_count);
  *out_counts = lk_calloc(allocator, 1, bytes);
  if (*out_counts == NULL) return lk_fail_memory(error, "counts of nodes", bytes);
  (*out_counts)->allocator = allocator;
  return LK_OK;
}

void lk_node_counts_destroy(lk_node_counts *counts) {
  if (counts != NULL) lk_free(counts->allocator, counts);
}

void lk_node_counts_add(lk_node_counts *counts, size_t node, uint64_t ns) {
  node_count *count = &counts->of_node[node];
  uint64_t longest = atomic_load_explicit(&count->longest_ns, memory_order_relaxed);
  atomic_fetch_add_explicit(&count->ns, ns, memory_order_relaxed);
  atomic_fetch_add_explicit(&count->times[lk_time_bucket(ns)], 1, memory_order_relaxed);
  while (ns > longest && !atomic_compare_exchange_weak(&count->longest_ns, &longest, ns)) {
  }
}

lk_node_stats lk_node_counts_get(const lk_node_counts *counts, size_t node) {
  const node_count *count = &counts->of_node[node];
  lk_node_stats stats = {.struct_size = sizeof stats,
                         .bind_ns = atomic_load_explicit(&count->ns, memory_order_relaxed),
                         .longest_bind_ns =
                             atomic_load_explicit(&count->longest_ns, memory_order_relaxed)};
  for (uint32_t i = 0; i < LK_TIME_BUCKETS; i++) {
    stats.bind_times[i] = atomic_load_explicit(&count->times[i], memory_order_relaxed);
    stats.binds += stats.bind_times[i];
  }
  return stats;
}
