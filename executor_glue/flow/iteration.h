/* What one iteration of a Loop or Scan leaves, as far as it is known before any run: the scan
 * outputs of no iterations have its types and shapes. */
#pragma once

#include "executor_glue/flow/state.h"
#include "executor_glue/passes/symbolic_shapes.h"

/* What is known of the inputs of body `body` of a stage whose node is in the graph of `around`: a
 * list of the flow's allocator, one for each, where dimensions that are not known are -1. */
lk_status lk_flow_body_inputs(const lk_symbolic_shapes *around, const lk_stage *stage,
                              uint32_t body, const lk_graph *graph, lk_tensor_desc **out,
                              lk_error *error);
/* The same of the body's outputs. */
lk_status lk_flow_body_outputs(const lk_api *api, const lk_graph *graph,
                               const lk_tensor_desc *inputs, lk_tensor_desc **out, lk_error *error);
/* What output `index` of the body is when it has not run: dimensions that nobody knows are 0, and
 * without a known rank it is a scalar, as in ONNX Runtime. LK_UNSUPPORTED: its type is not
 * known. */
lk_status lk_flow_describe_none(const lk_stage *stage, size_t index, lk_tensor_desc *out,
                                lk_error *error);
