/* A node's attributes into the graph IR. */
#pragma once

#include "executor_glue/onnx/scope.h"
#include "executor_glue/onnx/tensor.h"

/* The attribute itself; or in a function the one that it refers to, of the call or by default.
 * NULL: neither has it. */
const Onnx__AttributeProto *lk_onnx_attribute_resolve(const lk_onnx_scope *scope,
                                                      const Onnx__AttributeProto *attribute);

/* Fills `attrs` [node->n_attribute], in memory of the scope's graph, and counts them. `label` names
 * the node in errors. Graphs are left to the caller; types and sparse tensors, which no operator
 * with a row has, are left out, and so is what a call of a function does not give. */
lk_status lk_onnx_attributes_read(const lk_onnx_source *source, const lk_onnx_scope *scope,
                                  const Onnx__NodeProto *node, const char *label, lk_attr *attrs,
                                  uint32_t *out_count, lk_error *error);
