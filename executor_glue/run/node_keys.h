/* Which sizes of its inputs have made a node be bound anew: for each build of a run plan, what
 * differs from the nearest of the builds before.
 *
 * Threads: any number may note and read at the same time. */
#pragma once

#include <latchkey/session.h>

#include "executor_glue/graph/graph.h"

typedef struct lk_node_keys lk_node_keys;

/* `graph` lives longer. */
lk_status lk_node_keys_create(const lk_allocator *allocator, const lk_graph *graph,
                              lk_node_keys **out_keys, lk_error *error);
void lk_node_keys_destroy(lk_node_keys *keys); /* NULL is allowed */

/* Notes a build. `shapes` [n_values]: of the graph's values; NULL: it is constant, or not there.
 * `bind_ns` [n_nodes]: how long the nodes took; 0: the node was not bound. */
lk_status lk_node_keys_note(lk_node_keys *keys, const lk_tensor_desc *const *shapes,
                            const uint64_t *bind_ns, lk_error *error);
/* Fills `changes` and `n_changes`, those that have cost the most first. */
void lk_node_keys_get(lk_node_keys *keys, size_t node, lk_node_stats *stats);
