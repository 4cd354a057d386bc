/* Binds a node before it is claimed, where its shapes are known: an operator's plan may refuse
 * shapes that its rules for types and ranks allow, and a run would be too late for another provider
 * to take the node. */
#pragma once

#include <stdbool.h>

#include <latchkey/latchkey.h>

/* Rank and dimensions; an input that is absent has no type, and no dimensions. */
bool lk_ort_shape_is_known(const lk_tensor_desc *desc);

/* LK_OK: a run with inputs like these [node->n_inputs] can bind the node, or not all dimensions are
 * known, so that only a run knows. Otherwise why not; LK_OUT_OF_MEMORY is no answer. Nothing stays
 * of it, in the cache neither. Constants are taken for inputs, so that none is packed. */
lk_status lk_ort_try_bind(const lk_api *api, lk_executor *executor, const lk_node_desc *node,
                          const lk_tensor *inputs, lk_error *error);
