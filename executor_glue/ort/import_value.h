/* What is known of a value before a run: its type and shape, or its content. */
#pragma once

#include "executor_glue/graph/graph.h"
#include "executor_glue/ort/ort.h"

/* Type and shape of value `index`, as far as ONNX Runtime knows them, and the bytes of a constant,
 * which are borrowed. */
lk_status lk_ort_import_value(const lk_ort *ort, lk_graph *graph, const OrtValueInfo *info,
                              int32_t index, lk_error *error);
