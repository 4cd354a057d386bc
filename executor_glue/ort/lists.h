/* ONNX Runtime's lists: the nodes and values of a graph, the values and attributes of a node. */
#pragma once

#include "executor_glue/ort/ort.h"

typedef struct lk_ort_nodes {
  const OrtNode **items;
  size_t count;
} lk_ort_nodes;

typedef struct lk_ort_values {
  const OrtValueInfo **items; /* NULL items: optional inputs and outputs that are absent */
  size_t count;
} lk_ort_values;

typedef struct lk_ort_attributes {
  const OrtOpAttr **items;
  size_t count;
} lk_ort_attributes;

/* L(function, owner's type, list's type, Owner, Things, what): Owner_GetNumThings counts its items,
 * and Owner_GetThings writes them. */
#define LK_ORT_LISTS(L)                                                                            \
  L(graph_nodes, OrtGraph, lk_ort_nodes, Graph, Nodes, "a graph's nodes")                          \
  L(graph_inputs, OrtGraph, lk_ort_values, Graph, Inputs, "a graph's inputs")                      \
  L(graph_outputs, OrtGraph, lk_ort_values, Graph, Outputs, "a graph's outputs")                   \
  L(node_inputs, OrtNode, lk_ort_values, Node, Inputs, "a node's inputs")                          \
  L(node_implicit_inputs, OrtNode, lk_ort_values, Node, ImplicitInputs, "a node's other inputs")   \
  L(node_outputs, OrtNode, lk_ort_values, Node, Outputs, "a node's outputs")                       \
  L(node_attributes, OrtNode, lk_ort_attributes, Node, Attributes, "a node's attributes")

/* lk_ort_<name>(ort, allocator, owner, out, error) reads a list. `out->items` is the caller's to
 * free, also on failure. */
#define LK_ORT_DECLARE_LIST(name, owner, list, ...)                                                \
  lk_status lk_ort_##name(const lk_ort *ort, const lk_allocator *allocator, const owner *from,     \
                          list *out, lk_error *error);
LK_ORT_LISTS(LK_ORT_DECLARE_LIST)
#undef LK_ORT_DECLARE_LIST
