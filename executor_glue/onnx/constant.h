/* Initializers and Constant nodes: values that are known when the model is loaded. */
#pragma once

#include "executor_glue/onnx/scope.h"
#include "executor_glue/onnx/tensor.h"

/* Makes `value` the constant that a tensor holds: MAPPED where the elements lie in the file as they
 * are, else decoded and OWNED. */
lk_status lk_onnx_constant_from_tensor(const lk_onnx_source *source, lk_graph *graph, int32_t value,
                                       const Onnx__TensorProto *proto, lk_error *error);
/* Makes `value` what a Constant node of the scope gives. */
lk_status lk_onnx_constant_from_node(const lk_onnx_source *source, const lk_onnx_scope *scope,
                                     int32_t value, const Onnx__NodeProto *node, int32_t opset,
                                     lk_error *error);
/* After one of the two, which may have failed with the sentence in `error`. What is wrong with the
 * tensor or the file of its data (lk_graph_may_leave_unread) is kept in a node LK_GRAPH_UNREAD:
 * maybe nobody reads the value. */
lk_status lk_onnx_constant_forgive(lk_graph *graph, int32_t value, lk_status status,
                                   lk_error *error);
