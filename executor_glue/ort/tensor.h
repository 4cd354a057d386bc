/* What ONNX Runtime says of tensors: what a graph knows of a value, and what a run brings. */
#pragma once

#include "executor_glue/graph/graph.h"
#include "executor_glue/ort/ort.h"

/* Element type and rank of a graph's value. `*out_info`, which belongs to the value, has its shape.
 * NULL, and type and rank 0: the value is not a tensor, or nothing is known of it. */
lk_status lk_ort_value_type(const lk_ort *ort, const OrtValueInfo *value,
                            const OrtTensorTypeAndShapeInfo **out_info, uint32_t *out_dtype,
                            size_t *out_rank, lk_error *error);

/* Type, shape and borrowed bytes of a tensor; of `out`, dimensions behind the rank stay as they
 * are. LK_UNSUPPORTED: an element type or a rank that Latchkey does not have. */
lk_status lk_ort_tensor_read(const lk_ort *ort, const OrtValue *value, lk_tensor *out,
                             lk_error *error);

/* Type and shape of value `index`, as far as ONNX Runtime knows them, and the bytes of a constant,
 * which are borrowed. */
lk_status lk_ort_import_value(const lk_ort *ort, lk_graph *graph, const OrtValueInfo *info,
                              int32_t index, lk_error *error);

/* `*out_problem` (in the graph's memory; NULL: none) says of inputs or outputs of a node that one
 * has a rank that the IR has no room for. `what` is "input" or "output". */
lk_status lk_ort_check_ranks(const lk_ort *ort, lk_graph *graph, const lk_ort_values *values,
                             const char *what, const char **out_problem, lk_error *error);
