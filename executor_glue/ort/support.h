/* Which nodes the operators can run. */
#pragma once

#include "executor_glue/ort/import.h"
#include "executor_glue/ort/partition.h"

/* Asks the operators, with the types of a node's inputs, its small constants, and the shapes that
 * are known; where all are, binds it once. Quantized groups are left where ONNX Runtime computes
 * them sooner, but not with `takes_slow`. `*out` [n_nodes] is in the graph's memory. */
lk_status lk_ort_support_find(const lk_ort_context *context, const lk_ort_import *import,
                              bool takes_slow, lk_ort_support **out, lk_error *error);
