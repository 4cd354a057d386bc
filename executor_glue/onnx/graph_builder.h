/* An unpacked model into the graph IR. */
#pragma once

#include "executor_glue/graph/graph.h"
#include "executor_glue/onnx/tensor.h"

/* Builds the graph of `model`, whose tensors lie in `source`; lk_graph_link is left to the caller.
 * Inputs that have an initializer are constants, not inputs. Constant nodes become constants. Every
 * name is a value once: LK_MALFORMED names one that is made twice or never. LK_UNSUPPORTED names
 * the opset, the operator and node, or the tensor that Latchkey does not read. */
lk_status lk_onnx_graph_build(const lk_allocator *allocator, const lk_onnx_source *source,
                              const Onnx__ModelProto *model, lk_graph **out_graph, lk_error *error);
