/* A node's attributes into the graph IR. */
#pragma once

#include "executor_glue/onnx/scope.h"
#include "executor_glue/onnx/tensor.h"

/* The attribute itself; or in a function the one that it refers to, of the call or by default.
 * NULL: neither has it. */
const Onnx__AttributeProto *lk_onnx_attribute_resolve(const lk_onnx_scope *scope,
                                                      const Onnx__AttributeProto *attribute);

/* The lk_attr_type that it has in the graph IR; 0: the file does not say. */
uint32_t lk_onnx_attribute_type(const Onnx__AttributeProto *attribute);

/* Fills the attributes of `out`, whose operator and opset are there, and counts them. `label` names
 * the node in errors. Graphs are left to the caller; of types and of sparse tensors the attribute
 * has a name and a type. What a call of a function does not give is left out. LK_MALFORMED: also a
 * list in the place of one number, or one number in that of a list, which the graph does not tell
 * apart. */
lk_status lk_onnx_attributes_read(const lk_onnx_source *source, const lk_onnx_scope *scope,
                                  const Onnx__NodeProto *node, const char *label, lk_node *out,
                                  lk_error *error);
