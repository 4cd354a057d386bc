/* A node's attributes into the graph IR. */
#pragma once

#include "executor_glue/graph/graph.h"
#include "executor_glue/onnx/tensor.h"

/* Fills `attrs` [node->n_attribute], in memory of the graph. `label` names the node in errors.
 * LK_UNSUPPORTED: graphs (as If and Loop have them), lists of strings, types, sparse tensors. */
lk_status lk_onnx_attributes_read(const lk_onnx_source *source, lk_graph *graph,
                                  const Onnx__NodeProto *node, const char *label, lk_attr *attrs,
                                  lk_error *error);
