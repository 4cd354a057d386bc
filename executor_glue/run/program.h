/* A finished graph with an op for each node, and what run plans need to know about it. */
#pragma once

#include "executor_glue/graph/graph.h"

/* Immutable once created; shared by threads. */
typedef struct lk_program {
  const lk_api *api;
  lk_context *context;
  lk_executor *executor;
  const lk_graph *graph;
  const lk_allocator *allocator; /* the context's */
  lk_op **ops;                   /* [n_nodes] */
  lk_op_info *infos;             /* [n_nodes] */
  bool *must_know;               /* [n_values]: shapes depend on the value itself */
  bool *by_value;                /* [n_inputs]: the graph input's value is part of the run key */
  uint32_t n_by_value;
} lk_program;

/* Creates the ops in the graph's order, then compacts the graph. Constants that the graph owns are
 * freed as soon as all their users have an op, except those that are graph outputs. */
lk_status lk_program_create(const lk_api *api, lk_context *context, lk_executor *executor,
                            lk_graph *graph, lk_program **out_program, lk_error *error);
void lk_program_destroy(lk_program *program); /* NULL is allowed */

/* Puts "node '<label>' (<operator>): " before the sentence in `error`, names of inputs behind their
 * numbers, and the advice to use the provider behind LK_UNSUPPORTED; returns `status`. */
lk_status lk_program_name_node(const lk_graph *graph, const lk_node *node, lk_status status,
                               lk_error *error);
/* Shapes depend on the value of one of its outputs. */
bool lk_program_must_know(const lk_program *program, const lk_node *node);
/* The node reads the shape of its input only, never its elements. */
bool lk_program_shape_only(const lk_program *program, const lk_node *node);
