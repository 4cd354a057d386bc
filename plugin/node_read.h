/* From a node's description to a node as operators see it. */
#pragma once

#include "plugin/internal.h"

/* Reads `given` into `desc`, which borrows from it, checks it, and makes `node` of it, but for its
 * name: operator, counts, absent inputs, and attributes as params, which are the caller's to free,
 * also on failure. */
lk_status lk_node_read(const lk_allocator *allocator, const lk_node_desc *given, lk_node_desc *desc,
                       lk_op_node *node, lk_error *error);
