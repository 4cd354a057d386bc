/* Which value a name stands for: in a graph, in the body of a node, in a call of a function.
 *
 * A body reads values from around it. Each that it reads is captured once: it becomes an input of
 * the body, and of the node that has it. A function reads nothing but its inputs; its nodes go into
 * the graph that calls it, under names of their own. */
#pragma once

#include "executor_glue/graph/value_names.h"
#include "onnx.pb-c.h"

/* A call of a function of the model. */
typedef struct lk_onnx_call {
  const Onnx__FunctionProto *function;
  Onnx__AttributeProto *const *given; /* [n_given]: the call's, none of which refers to others */
  const char *const *names;           /* [n_given]: what the call names them */
  size_t n_given;
} lk_onnx_call;

typedef struct lk_onnx_scope lk_onnx_scope;
struct lk_onnx_scope {
  lk_graph *graph;          /* where its nodes and values go */
  lk_onnx_scope *graphs;    /* the scope of the graph itself, which knows all names in it */
  lk_onnx_scope *around;    /* of a body: where it captures values; else NULL */
  const lk_onnx_call *call; /* the function that it is in, by itself or around; or NULL */
  const char *prefix;       /* of a function: put before the names of its values and nodes; "" */
  Onnx__OperatorSetIdProto *const *opsets;
  size_t n_opsets;
  lk_value_names names;
  int32_t *captured; /* values around a body, in the order of its last inputs */
  size_t n_captured, captured_capacity;
};

/* A scope for `graph`: the main one (`around` NULL), or that of a body. */
lk_status lk_onnx_scope_of_graph(lk_graph *graph, lk_onnx_scope *around, size_t n_names,
                                 lk_onnx_scope *out, lk_error *error);
/* A scope for a call within `caller`. `prefix` stays the caller's. */
lk_status lk_onnx_scope_of_call(lk_onnx_scope *caller, const lk_onnx_call *call, const char *prefix,
                                size_t n_names, lk_onnx_scope *out, lk_error *error);
void lk_onnx_scope_destroy(lk_onnx_scope *scope); /* before its graph; also a zeroed one */

/* What a name of a function's input stands for that the call leaves out. */
#define LK_ONNX_ABSENT (-2)

/* The value of a name, which a body may capture now; LK_NO_VALUE: nothing has the name;
 * LK_ONNX_ABSENT. */
lk_status lk_onnx_scope_find(lk_onnx_scope *scope, const char *name, int32_t *out, lk_error *error);
/* Adds a value. LK_MALFORMED: the name is taken, or empty; `as` says what was to have it. */
lk_status lk_onnx_scope_add(lk_onnx_scope *scope, const char *name, const char *as, int32_t *out,
                            lk_error *error);
