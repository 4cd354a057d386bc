/* From a node's description to a node as operators see it. */
#pragma once

#include "plugin/internal.h"

/* Reads a description that has been checked: counts, absent inputs, and attributes into params,
 * which are the caller's to free, also on failure. The name stays the host's. */
lk_status lk_node_read(const lk_allocator *allocator, const lk_node_desc *desc, lk_op_node *node,
                       lk_error *error);
