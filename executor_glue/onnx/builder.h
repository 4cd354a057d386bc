/* What the parts of the loader that make a graph share. */
#pragma once

#include "executor_glue/onnx/scope.h"
#include "executor_glue/onnx/tensor.h"

typedef struct lk_onnx_builder lk_onnx_builder;
struct lk_onnx_builder {
  const lk_onnx_source *source;
  const Onnx__ModelProto *model;
  /* What the files below need of those above them: graphs have nodes, and nodes have graphs. */
  lk_status (*fill)(lk_onnx_builder *builder, lk_onnx_scope *scope, const Onnx__GraphProto *graph);
  lk_status (*add_nodes)(lk_onnx_builder *builder, lk_onnx_scope *scope,
                         Onnx__NodeProto *const *nodes, size_t count);
  lk_value_names functions; /* the last function of the model of each name, by its number */
  int32_t *same_name;       /* [n functions]: the one before it of the same name, or LK_NO_VALUE */
  lk_value_names scopes;    /* of the bodies so far, if there are any */
  uint32_t calls;           /* of functions, each within the one before */
  size_t n_inlined;         /* nodes that calls of functions have added */
  lk_error *error;
};

static inline bool lk_onnx_given(const char *text) {
  return text != NULL && text[0] != '\0';
}

/* What a sentence calls a node: its name, or that of an output. */
static inline const char *lk_onnx_node_label(const Onnx__NodeProto *node) {
  if (lk_onnx_given(node->name)) return node->name;
  for (size_t i = 0; i < node->n_output; i++) {
    if (lk_onnx_given(node->output[i])) return node->output[i];
  }
  return "?";
}

/* How many names a graph makes. */
static inline size_t lk_onnx_count_names(const Onnx__GraphProto *graph) {
  size_t count = graph->n_initializer + graph->n_input;
  for (size_t i = 0; i < graph->n_node; i++) count += graph->node[i]->n_output;
  return count;
}

/* ---- opsets.c ---- */

/* The default domain has two names. */
const char *lk_onnx_domain(const char *domain);
/* LK_UNSUPPORTED, LK_MALFORMED: opsets that the loader does not read. `where`: "the model". */
lk_status lk_onnx_check_opsets(const lk_onnx_builder *builder,
                               Onnx__OperatorSetIdProto *const *opsets, size_t count,
                               const char *where);

/* ---- nodes.c ---- */

/* Adds nodes with their outputs. */
lk_status lk_onnx_add_nodes(lk_onnx_builder *builder, lk_onnx_scope *scope,
                            Onnx__NodeProto *const *nodes, size_t count);

/* ---- functions.c ---- */

/* Finds out which functions the model has. */
lk_status lk_onnx_functions_begin(lk_onnx_builder *builder, const lk_graph *graph);
void lk_onnx_functions_end(lk_onnx_builder *builder, const lk_allocator *allocator);
/* The function that a node calls; NULL: it is an operator. */
const Onnx__FunctionProto *lk_onnx_function_find(const lk_onnx_builder *builder,
                                                 const Onnx__NodeProto *node);
/* Puts the nodes of `function` in the place of the node that calls it. LK_OUT_OF_RANGE: calls
 * within calls, or nodes, are too many. */
lk_status lk_onnx_function_inline(lk_onnx_builder *builder, lk_onnx_scope *scope,
                                  const Onnx__NodeProto *node, const Onnx__FunctionProto *function);
