/* The operators that executors run themselves. */
#include "executor_glue/graph/own_ops.h"

#include <math.h>
#include <string.h>

#include "base/attrs.h"

#define OWN_OP(name, first, ...) OWN_OP_OF("", name, first, __VA_ARGS__)
#define OWN_OP_OF(domain_, name, first, ...)                                                       \
  {                                                                                                \
    .struct_size = sizeof(lk_op_row), .op_type = name, .domain = domain_, .since = first,          \
    __VA_ARGS__                                                                                    \
  }
#define ATTRS(...) LK_ATTR_LIST_OF(., __VA_ARGS__)

/* That a body is there is for the executor to check: it counts them. */
static const lk_op_row rows[] = {
    OWN_OP("ConcatFromSequence", 11, ATTRS(LK_REQUIRED_INT("axis"), LK_FLAG("new_axis", 0))),
    OWN_OP_OF("ai.onnx.preview", "FlexAttention", 1,
              ATTRS(LK_BODY("prob_mod"), LK_ANY_FLOAT("scale", NAN), LK_BODY("score_mod"),
                    LK_ANY_INT("softmax_precision", 0))),
    OWN_OP("If", LK_MIN_OPSET, ATTRS(LK_BODY("else_branch"), LK_BODY("then_branch"))),
    OWN_OP("Loop", LK_MIN_OPSET, ATTRS(LK_BODY("body"))),
    OWN_OP("Optional", 15, ATTRS(LK_OTHER("type"))),
    OWN_OP("OptionalGetElement", 15),
    OWN_OP("OptionalHasElement", 15),
    OWN_OP("Scan", 8,
           ATTRS(LK_BODY("body"), LK_INTS("directions", .until = 8),
                 LK_REQUIRED_INT("num_scan_inputs"), LK_INTS("scan_input_axes", .since = 9),
                 LK_INTS("scan_input_directions", .since = 9),
                 LK_INTS("scan_output_axes", .since = 9),
                 LK_INTS("scan_output_directions", .since = 9))),
    OWN_OP("SequenceAt", 11),
    OWN_OP("SequenceConstruct", 11),
    OWN_OP("SequenceEmpty", 11, ATTRS(LK_ANY_INT("dtype", LK_F32))),
    OWN_OP("SequenceErase", 11),
    OWN_OP("SequenceInsert", 11),
    OWN_OP("SequenceLength", 11),
    OWN_OP("SequenceMap", 17, ATTRS(LK_BODY("body"))),
    OWN_OP("SplitToSequence", 11, ATTRS(LK_INT("axis", 0), LK_FLAG("keepdims", 1))),
};

const lk_op_row *lk_own_op_find(const lk_node *node) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const bool is_it = strcmp(node->op_type, rows[i].op_type) == 0;
    if (is_it && !node->dead && strcmp(node->domain, rows[i].domain) == 0) return &rows[i];
  }
  return NULL;
}

const lk_op_row *lk_graph_find_row(const lk_api *api, const lk_graph *graph, const lk_node *node) {
  if (lk_own_op_find(node) != NULL) return NULL;
  return graph->context != NULL
             ? api->op_find_in(graph->context, node->op_type, node->domain, node->opset)
             : api->op_find(node->op_type, node->domain, node->opset);
}

int64_t lk_own_op_int(const lk_node *node, const char *name) {
  const lk_op_row *row = lk_own_op_find(node);
  const lk_op_attr *attr = row != NULL ? lk_op_attr_find(row, name, node->opset) : NULL;
  return attr != NULL ? lk_node_attr_int(node, name, attr->integer) : 0;
}
