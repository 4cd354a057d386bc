/* Nodes that ONNX Runtime computes sooner than the library: in less than 1 / 1.3 of the time. */
#pragma once

#include "executor_glue/graph/graph.h"

/* By operator, type, and shapes as far as they are known, of `inputs` [node->n_inputs]. */
bool lk_ort_is_sooner(const lk_node *node, const lk_tensor *inputs);
