/* Which value a name stands for: in a graph, in the body of a node, in a call of a function. */
#include "executor_glue/onnx/scope.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

lk_status lk_onnx_scope_of_graph(lk_graph *graph, lk_onnx_scope *around, size_t n_names,
                                 lk_onnx_scope *out, lk_error *error) {
  *out = (lk_onnx_scope){.graph = graph, .graphs = out, .around = around, .prefix = ""};
  if (around != NULL) {
    out->call = around->call;
    out->opsets = around->opsets;
    out->n_opsets = around->n_opsets;
  }
  return lk_value_names_create(graph, n_names, &out->names, error);
}

lk_status lk_onnx_scope_of_call(lk_onnx_scope *caller, const lk_onnx_call *call, const char *prefix,
                                size_t n_names, lk_onnx_scope *out, lk_error *error) {
  *out = (lk_onnx_scope){.graph = caller->graph,
                         .graphs = caller->graphs,
                         .call = call,
                         .prefix = prefix,
                         .opsets = call->function->opset_import,
                         .n_opsets = call->function->n_opset_import};
  return lk_value_names_create(caller->graph, n_names, &out->names, error);
}

void lk_onnx_scope_destroy(lk_onnx_scope *scope) {
  if (scope->captured != NULL) lk_free(scope->graph->allocator, scope->captured);
  lk_value_names_destroy(&scope->names);
  *scope = (lk_onnx_scope){0};
}

/* The value `outer`, of the graph around, as an input of the body. */
static lk_status capture(lk_onnx_scope *scope, const char *name, int32_t outer, int32_t *out,
                         lk_error *error) {
  if (!LK_GROW(scope->graph->allocator, scope->captured, scope->n_captured,
               scope->captured_capacity)) {
    return lk_fail_memory(error, "captured values", scope->n_captured * sizeof(int32_t));
  }
  LK_RETURN_NOT_OK(lk_value_names_add(&scope->names, scope->graph, name, out, error));
  LK_RETURN_NOT_OK(lk_graph_add_input(scope->graph, *out, error));
  scope->captured[scope->n_captured++] = outer;
  return LK_OK;
}

lk_status lk_onnx_scope_find(lk_onnx_scope *scope, const char *name, int32_t *out,
                             lk_error *error) {
  *out = lk_value_names_find(&scope->names, name);
  if (*out != LK_NO_VALUE || scope->around == NULL) return LK_OK;
  int32_t outer = LK_NO_VALUE;
  LK_RETURN_NOT_OK(lk_onnx_scope_find(scope->around, name, &outer, error));
  *out = outer;
  return outer >= 0 ? capture(scope, name, outer, out, error) : LK_OK;
}

/* A value of a function, under a name that no other value of the graph has: where prefix and name
 * are taken, a number follows. */
static lk_status add_inlined(lk_onnx_scope *scope, const char *name, int32_t *out,
                             lk_error *error) {
  const size_t bytes = strlen(scope->prefix) + strlen(name) + 1;
  char *full = lk_graph_alloc(scope->graph, bytes);
  if (full == NULL) return lk_fail_memory(error, "the name of a value", bytes);
  (void)snprintf(full, bytes, "%s%s", scope->prefix, name);
  LK_RETURN_NOT_OK(lk_value_names_add_free(&scope->graphs->names, scope->graph, full, out, error));
  return lk_value_names_put(&scope->names, name, *out, error);
}

lk_status lk_onnx_scope_add(lk_onnx_scope *scope, const char *name, const char *as, int32_t *out,
                            lk_error *error) {
  if (name == NULL || name[0] == '\0') {
    return lk_fail(error, LK_MALFORMED, "failed to read the graph: %s has no name, it is required",
                   as);
  }
  if (lk_value_names_find(&scope->names, name) != LK_NO_VALUE) {
    return lk_fail(error, LK_MALFORMED,
                   "failed to read the graph: '%s' is made twice, the second time as %s; each name "
                   "must be made once",
                   name, as);
  }
  if (scope->graphs != scope) return add_inlined(scope, name, out, error);
  return lk_value_names_add(&scope->names, scope->graph, name, out, error);
}
