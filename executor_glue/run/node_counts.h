/* How often each node of a graph was bound, and how long that took.
 *
 * Threads: any number may add and read at the same time; what is read of a node that is being bound
 * may lack a part of its last bind. */
#pragma once

#include <latchkey/session.h>

typedef struct lk_node_counts lk_node_counts;

lk_status lk_node_counts_create(const lk_allocator *allocator, size_t n_nodes,
                                lk_node_counts **out_counts, lk_error *error);
void lk_node_counts_destroy(lk_node_counts *counts); /* NULL is allowed */

void lk_node_counts_add(lk_node_counts *counts, size_t node, uint64_t ns);
lk_node_stats lk_node_counts_get(const lk_node_counts *counts, size_t node);
