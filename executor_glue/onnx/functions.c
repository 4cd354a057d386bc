/* Functions of a model: each call becomes the nodes of the function, in the graph that calls it. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/onnx/attribute.h"
#include "executor_glue/onnx/builder.h"

/* Calls within calls; functions that call themselves end here. */
#define MAX_CALLS 32
/* Nodes that calls may add: functions that call others twice would double them with each. */
#define MAX_INLINED ((size_t)1 << 18)

lk_status lk_onnx_functions_begin(lk_onnx_builder *builder, const lk_graph *graph) {
  const Onnx__ModelProto *model = builder->model;
  if (model->n_functions == 0) return LK_OK;
  LK_RETURN_NOT_OK(
      lk_value_names_create(graph, model->n_functions, &builder->functions, builder->error));
  builder->same_name = lk_calloc(graph->allocator, model->n_functions, sizeof(int32_t));
  if (builder->same_name == NULL) {
    return lk_fail_memory(builder->error, "functions", model->n_functions * sizeof(int32_t));
  }
  for (size_t i = 0; i < model->n_functions; i++) {
    const Onnx__FunctionProto *f = model->functions[i];
    if (!lk_onnx_given(f->name)) continue;
    builder->same_name[i] = lk_value_names_find(&builder->functions, f->name);
    LK_RETURN_NOT_OK(lk_value_names_put(&builder->functions, f->name, (int32_t)i, builder->error));
  }
  return LK_OK;
}

void lk_onnx_functions_end(lk_onnx_builder *builder, const lk_allocator *allocator) {
  lk_value_names_destroy(&builder->functions);
  if (builder->same_name != NULL) lk_free(allocator, builder->same_name);
}

static bool same_text(const char *a, const char *b) {
  return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

const Onnx__FunctionProto *lk_onnx_function_find(const lk_onnx_builder *builder,
                                                 const Onnx__NodeProto *node) {
  if (builder->model->n_functions == 0) return NULL;
  int32_t i = lk_value_names_find(&builder->functions, node->op_type);
  for (; i != LK_NO_VALUE; i = builder->same_name[i]) {
    const Onnx__FunctionProto *f = builder->model->functions[i];
    if (same_text(f->overload, node->overload) &&
        strcmp(lk_onnx_domain(f->domain), lk_onnx_domain(node->domain)) == 0) {
      return f;
    }
  }
  return NULL;
}

/* ---- a call ---- */

/* "n/" of a call whose node is n, or makes n first. Calls may have equal ones. */
static lk_status make_prefix(const lk_onnx_scope *scope, const Onnx__NodeProto *node,
                             const char **out, lk_error *error) {
  const char *label = lk_onnx_node_label(node);
  const size_t bytes = strlen(scope->prefix) + strlen(label) + 2;
  char *prefix = lk_graph_alloc(scope->graph, bytes);
  *out = prefix;
  if (prefix == NULL) return lk_fail_memory(error, "the prefix of a function's names", bytes);
  (void)snprintf(prefix, bytes, "%s%s/", scope->prefix, label);
  return LK_OK;
}

static bool has_attribute(const Onnx__FunctionProto *f, const char *name) {
  for (size_t i = 0; i < f->n_attribute; i++) {
    if (same_text(f->attribute[i], name)) return true;
  }
  for (size_t i = 0; i < f->n_attribute_proto; i++) {
    if (same_text(f->attribute_proto[i]->name, name)) return true;
  }
  return false;
}

/* What the function does not have nobody would read. */
static lk_status check_attribute(const lk_onnx_builder *b, const Onnx__NodeProto *node,
                                 const Onnx__FunctionProto *f, const char *name) {
  if (has_attribute(f, name)) return LK_OK;
  char names[256] = "none";
  size_t used = 0;
  for (size_t i = 0; i < f->n_attribute + f->n_attribute_proto && used < sizeof names; i++) {
    const char *one =
        i < f->n_attribute ? f->attribute[i] : f->attribute_proto[i - f->n_attribute]->name;
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "",
                             one != NULL ? one : "");
  }
  return lk_fail(b->error, LK_MALFORMED,
                 "failed to read node '%s' (%s): the function has no attribute '%s'; it has %s",
                 lk_onnx_node_label(node), node->op_type, name, names);
}

/* The call's attributes, none of which refers to others any more. In memory of the graph. */
static lk_status resolve(const lk_onnx_builder *b, const lk_onnx_scope *scope,
                         const Onnx__NodeProto *node, lk_onnx_call *call) {
  const size_t n = node->n_attribute, bytes = n * sizeof(void *);
  Onnx__AttributeProto **given = lk_graph_alloc(scope->graph, bytes);
  const char **names = lk_graph_alloc(scope->graph, bytes);
  if (given == NULL || names == NULL) return lk_fail_memory(b->error, "attributes", bytes);
  for (size_t i = 0; i < n; i++) {
    const Onnx__AttributeProto *a = lk_onnx_attribute_resolve(scope, node->attribute[i]);
    if (a == NULL || node->attribute[i]->name == NULL) continue;
    LK_RETURN_NOT_OK(check_attribute(b, node, call->function, node->attribute[i]->name));
    names[call->n_given] = node->attribute[i]->name;
    given[call->n_given++] = (Onnx__AttributeProto *)(uintptr_t)a; /* only read */
  }
  call->given = given;
  call->names = names;
  return LK_OK;
}

static lk_status put(lk_onnx_builder *b, lk_onnx_scope *inner, const char *name, int32_t value) {
  if (!lk_onnx_given(name) || lk_value_names_find(&inner->names, name) != LK_NO_VALUE) {
    return lk_fail(b->error, LK_MALFORMED,
                   "failed to read function '%s': '%s' is an input or output twice, or has no name",
                   inner->call->function->name, name != NULL ? name : "");
  }
  return lk_value_names_put(&inner->names, name, value, b->error);
}

/* The names of inputs stand for what the call gives. */
static lk_status put_inputs(lk_onnx_builder *b, lk_onnx_scope *outer, lk_onnx_scope *inner,
                            const Onnx__NodeProto *node) {
  const Onnx__FunctionProto *f = inner->call->function;
  if (node->n_input > f->n_input || node->n_output > f->n_output) {
    return lk_fail(b->error, LK_MALFORMED,
                   "failed to read node '%s' (%s): it has %zu inputs and %zu outputs, its function "
                   "has %zu and %zu at most",
                   lk_onnx_node_label(node), node->op_type, node->n_input, node->n_output,
                   f->n_input, f->n_output);
  }
  for (size_t i = 0; i < f->n_input; i++) {
    int32_t value = LK_ONNX_ABSENT;
    if (i < node->n_input && lk_onnx_given(node->input[i])) {
      LK_RETURN_NOT_OK(lk_onnx_scope_find(outer, node->input[i], &value, b->error));
      if (value == LK_NO_VALUE) {
        return lk_fail(b->error, LK_MALFORMED,
                       "failed to read node '%s' (%s): its input '%s' is not an input, an "
                       "initializer, or made by a node before it",
                       lk_onnx_node_label(node), node->op_type, node->input[i]);
      }
    }
    LK_RETURN_NOT_OK(put(b, inner, f->input[i], value));
  }
  return LK_OK;
}

/* An output that is an input too has a node that copies it. */
static lk_status copy_input(const lk_onnx_builder *b, lk_onnx_scope *inner, int32_t from,
                            int32_t to) {
  int32_t index = LK_NO_NODE;
  LK_RETURN_NOT_OK(lk_graph_add_node(inner->graph, 1, 1, 0, &index, b->error));
  lk_node *node = &inner->graph->nodes[index];
  node->op_type = "Identity";
  node->opset = LK_MAX_OPSET;
  node->inputs[0] = from;
  node->outputs[0] = to;
  return LK_OK;
}

static lk_status put_outputs(lk_onnx_builder *b, lk_onnx_scope *outer, lk_onnx_scope *inner,
                             const Onnx__NodeProto *node) {
  const Onnx__FunctionProto *f = inner->call->function;
  for (size_t i = 0; i < node->n_output; i++) {
    int32_t value = LK_NO_VALUE;
    if (!lk_onnx_given(node->output[i]) || !lk_onnx_given(f->output[i])) continue;
    LK_RETURN_NOT_OK(lk_onnx_scope_find(outer, node->output[i], &value, b->error));
    const int32_t input = lk_value_names_find(&inner->names, f->output[i]);
    if (input >= 0) {
      LK_RETURN_NOT_OK(copy_input(b, inner, input, value));
    } else {
      LK_RETURN_NOT_OK(put(b, inner, f->output[i], value));
    }
  }
  return LK_OK;
}

lk_status lk_onnx_function_inline(lk_onnx_builder *builder, lk_onnx_scope *scope,
                                  const Onnx__NodeProto *node,
                                  const Onnx__FunctionProto *function) {
  lk_status status = LK_OK;
  lk_onnx_scope inner = {0};
  lk_onnx_call call = {.function = function};
  const char *prefix = NULL;
  if (builder->calls >= MAX_CALLS) {
    return lk_fail(builder->error, LK_OUT_OF_RANGE,
                   "failed to read function '%s': it is reached by more than the %d calls within "
                   "calls that are supported, or calls itself",
                   function->name, MAX_CALLS);
  }
  builder->n_inlined += function->n_node + 1;
  if (builder->n_inlined > MAX_INLINED) {
    return lk_fail(builder->error, LK_OUT_OF_RANGE,
                   "failed to read function '%s': the model's functions make more than %zu nodes",
                   function->name, MAX_INLINED);
  }
  builder->calls++;
  LK_TRY(lk_onnx_check_opsets(builder, function->opset_import, function->n_opset_import,
                              function->name));
  LK_TRY(make_prefix(scope, node, &prefix, builder->error));
  LK_TRY(resolve(builder, scope, node, &call));
  LK_TRY(lk_onnx_scope_of_call(scope, &call, prefix, function->n_node + function->n_input, &inner,
                               builder->error));
  LK_TRY(put_inputs(builder, scope, &inner, node));
  LK_TRY(put_outputs(builder, scope, &inner, node));
  LK_TRY(builder->add_nodes(builder, &inner, function->node, function->n_node));
cleanup:
  if (inner.graph != NULL) lk_onnx_scope_destroy(&inner);
  builder->calls--;
  return status;
}
