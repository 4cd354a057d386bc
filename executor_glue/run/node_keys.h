/* Which sizes of its inputs have made a node be bound anew: for each bind, what differs from the
 * nearest of the sizes before.
 *
 * Threads: any number may note and read at the same time. */
#pragma once

#include <latchkey/session.h>

enum { LK_NODE_KEY_INPUTS = 8 }; /* of a node, that are looked at: its first ones */

typedef struct lk_node_keys lk_node_keys;

lk_status lk_node_keys_create(const lk_allocator *allocator, size_t n_nodes,
                              lk_node_keys **out_keys, lk_error *error);
void lk_node_keys_destroy(lk_node_keys *keys); /* NULL is allowed */

/* Notes a bind of `ns` nanoseconds to inputs of these descriptions, always as many of a node, up to
 * LK_NODE_KEY_INPUTS; NULL: one that is constant or not there. */
lk_status lk_node_keys_note(lk_node_keys *keys, size_t node, const lk_tensor_desc *const *inputs,
                            uint32_t n_inputs, uint64_t ns, lk_error *error);
/* Fills `changes` and `n_changes`, those that have cost the most first. */
void lk_node_keys_get(lk_node_keys *keys, size_t node, lk_node_stats *stats);
