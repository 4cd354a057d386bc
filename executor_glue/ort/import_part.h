/* The parts of a graph: its opset, a value's type or constant, a node's attributes. */
#ifndef LK_ORT_IMPORT_PART_H
#define LK_ORT_IMPORT_PART_H

#include "executor_glue/graph/graph.h"
#include "executor_glue/ort/ort.h"

/* The opset of ai.onnx that the graph is of; 0: it says none. */
lk_status lk_ort_import_opset(const lk_ort *ort, const lk_allocator *allocator,
                              const OrtGraph *graph, int64_t *out, lk_error *error);

/* Type and shape of value `index`, as far as they are known, and a constant's bytes where they lie. */
lk_status lk_ort_import_value(const lk_ort *ort, lk_graph *graph, const OrtValueInfo *info,
                              int32_t index, lk_error *error);

/* The attributes of `from`; those that the IR has no form for are left out, and `*out_problem` says
 * so. */
lk_status lk_ort_import_attributes(const lk_ort *ort, lk_graph *graph, const OrtNode *from,
                                   lk_node *node, const char **out_problem, lk_error *error);

/* Type, shape and borrowed bytes of a tensor. LK_UNSUPPORTED: an element type or rank that Latchkey has
 * not. */
lk_status lk_ort_import_tensor(const lk_ort *ort, const OrtValue *value, lk_tensor *out,
                               lk_error *error);

#endif
