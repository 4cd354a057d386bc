/* Imports a graph: values by name, nodes in ONNX Runtime's order, constants borrowed. */
#include "executor_glue/ort/import.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/graph/value_names.h"
#include "executor_glue/ort/import_attributes.h"
#include "executor_glue/ort/tensor.h"

typedef struct importer {
  const lk_ort *ort;
  const OrtApi *api;
  lk_graph *graph;
  lk_value_names names;
  int64_t opset; /* of ai.onnx, that the graph is of; 0: it says none */
  lk_ort_import *out;
  lk_error *error;
} importer;

/* ---- values ---- */

/* "" for a value that is absent. */
static lk_status name_of(const importer *im, const OrtValueInfo *info, const char **out) {
  *out = "";
  if (info == NULL) return LK_OK;
  const lk_status status = lk_ort_check(im->ort, ort_GetValueInfoName(im->api)(info, out),
                                        "read a value's name", im->error);
  if (*out == NULL) *out = "";
  return status;
}

/* The value of that name, which is added when it is met for the first time. */
static lk_status find_value(importer *im, const OrtValueInfo *info, int32_t *out) {
  const char *name = NULL;
  *out = LK_NO_VALUE;
  LK_RETURN_NOT_OK(name_of(im, info, &name));
  if (name[0] == '\0') return LK_OK;
  *out = lk_value_names_find(&im->names, name);
  if (*out != LK_NO_VALUE) return LK_OK;
  LK_RETURN_NOT_OK(lk_value_names_add(&im->names, im->graph, name, out, im->error));
  return lk_ort_import_value(im->ort, im->graph, info, *out, im->error);
}

/* ---- nodes ---- */

static lk_status copy_text(importer *im, const char *text, const char **out) {
  *out = text == NULL ? "" : lk_graph_strndup(im->graph, text, strlen(text));
  return *out != NULL ? LK_OK : lk_fail_memory(im->error, "a node's name", 0);
}

/* The opset that brought the operator as it is: it means the same until the next one that does, and
 * the graph's is before that. So one from before Latchkey's oldest is of that one too. */
static int32_t opset_of(const importer *im, int version) {
  const bool still = version < LK_MIN_OPSET && im->opset >= LK_MIN_OPSET;
  return still ? LK_MIN_OPSET : version;
}

static lk_status name_node(importer *im, const OrtNode *from, lk_node *node) {
  const ort_Node_GetName_fn getters[] = {ort_Node_GetOperatorType(im->api),
                                         ort_Node_GetDomain(im->api), ort_Node_GetName(im->api)};
  const char **const to[] = {&node->op_type, &node->domain, &node->name};
  int version = 0;
  for (size_t i = 0; i < 3; i++) {
    const char *text = NULL;
    LK_RETURN_NOT_OK(
        lk_ort_check(im->ort, getters[i](from, &text), "read a node's names", im->error));
    LK_RETURN_NOT_OK(copy_text(im, text, to[i]));
  }
  LK_RETURN_NOT_OK(lk_ort_check(im->ort, ort_Node_GetSinceVersion(im->api)(from, &version),
                                "read a node's version", im->error));
  if (strcmp(node->domain, "ai.onnx") == 0) node->domain = "";
  node->opset = node->domain[0] == '\0' ? opset_of(im, version) : version;
  return LK_OK;
}

/* What a node has, as ONNX Runtime lists it. */
typedef struct node_lists {
  lk_ort_values inputs, implicit, outputs;
  lk_ort_attributes attributes;
} node_lists;

static lk_status read_lists(const importer *im, const OrtNode *from, node_lists *out) {
  const lk_ort *ort = im->ort;
  LK_RETURN_NOT_OK(lk_ort_node_inputs(ort, from, &out->inputs, im->error));
  LK_RETURN_NOT_OK(lk_ort_node_implicit(ort, from, &out->implicit, im->error));
  LK_RETURN_NOT_OK(lk_ort_node_outputs(ort, from, &out->outputs, im->error));
  return lk_ort_node_attributes(ort, from, &out->attributes, im->error);
}

static void free_lists(node_lists *lists) {
  lk_free(lk_allocator_default(), (void *)lists->inputs.items);
  lk_free(lk_allocator_default(), (void *)lists->implicit.items);
  lk_free(lk_allocator_default(), (void *)lists->outputs.items);
  lk_free(lk_allocator_default(), (void *)lists->attributes.items);
}

/* To inputs or outputs of a node. */
static lk_status set_values(importer *im, const lk_ort_values *from, int32_t *to) {
  for (size_t i = 0; i < from->count; i++) LK_RETURN_NOT_OK(find_value(im, from->items[i], &to[i]));
  return LK_OK;
}

static lk_status check_ranks(importer *im, const node_lists *lists, const char **out_problem) {
  LK_RETURN_NOT_OK(
      lk_ort_check_ranks(im->ort, im->graph, &lists->inputs, "input", out_problem, im->error));
  if (*out_problem != NULL) return LK_OK;
  return lk_ort_check_ranks(im->ort, im->graph, &lists->outputs, "output", out_problem, im->error);
}

static lk_status add_node(importer *im, const OrtNode *from, const char **out_problem) {
  lk_status status = LK_OK;
  node_lists lists = {0};
  int32_t index = LK_NO_NODE;
  LK_TRY(read_lists(im, from, &lists));
  LK_TRY(lk_graph_add_node(im->graph, (uint32_t)(lists.inputs.count + lists.implicit.count),
                           (uint32_t)lists.outputs.count, (uint32_t)lists.attributes.count, &index,
                           im->error));
  lk_node *node = &im->graph->nodes[index];
  LK_TRY(name_node(im, from, node));
  LK_TRY(set_values(im, &lists.inputs, node->inputs));
  LK_TRY(set_values(im, &lists.implicit, node->inputs + lists.inputs.count));
  LK_TRY(set_values(im, &lists.outputs, node->outputs));
  LK_TRY(lk_ort_import_attributes(im->ort, im->graph, &lists.attributes, node, out_problem,
                                  im->error));
  if (*out_problem == NULL) LK_TRY(check_ranks(im, &lists, out_problem));
cleanup:
  free_lists(&lists);
  return status;
}

/* ---- the borders of the graph ---- */

typedef lk_status (*add_border)(lk_graph *graph, int32_t value, lk_error *error);

static lk_status add_fused_border(importer *im, const lk_ort_values *values, add_border add) {
  for (size_t i = 0; i < values->count; i++) {
    int32_t value = LK_NO_VALUE;
    LK_RETURN_NOT_OK(find_value(im, values->items[i], &value));
    if (value == LK_NO_VALUE) {
      return lk_fail(im->error, LK_INTERNAL,
                     "failed to read a fused node: input or output %zu is absent", i);
    }
    LK_RETURN_NOT_OK(add(im->graph, value, im->error));
  }
  return LK_OK;
}

/* Inputs and outputs as a run will hand them over, in its order. */
static lk_status add_fused_borders(importer *im, const OrtNode *fused) {
  lk_status status = LK_OK;
  node_lists lists = {0};
  LK_TRY(read_lists(im, fused, &lists));
  LK_TRY(add_fused_border(im, &lists.inputs, lk_graph_add_input));
  LK_TRY(add_fused_border(im, &lists.outputs, lk_graph_add_output));
cleanup:
  free_lists(&lists);
  return status;
}

/* Inputs are what no node makes, values of an outer graph among them. */
static lk_status add_inputs(importer *im) {
  lk_status status = LK_OK;
  const lk_graph *graph = im->graph;
  bool *made = lk_calloc(lk_allocator_default(), graph->n_values, sizeof *made);
  if (made == NULL) return lk_fail_memory(im->error, "a graph's inputs", graph->n_values);
  for (size_t n = 0; n < graph->n_nodes; n++) {
    const lk_node *node = &graph->nodes[n];
    for (uint32_t i = 0; i < node->n_outputs; i++) {
      if (node->outputs[i] != LK_NO_VALUE) made[node->outputs[i]] = true;
    }
  }
  for (size_t i = 0; i < graph->n_values; i++) {
    if (made[i] || graph->values[i].constant_kind != LK_CONSTANT_NONE) continue;
    LK_TRY(lk_graph_add_input(im->graph, (int32_t)i, im->error));
  }
cleanup:
  lk_free(lk_allocator_default(), made);
  return status;
}

/* Those that a node here makes or reads; others are nothing to a claim. */
static lk_status add_outputs(importer *im, const OrtGraph *from) {
  lk_status status = LK_OK;
  lk_ort_values outputs = {0};
  const char *name = NULL;
  LK_TRY(lk_ort_graph_outputs(im->ort, from, &outputs, im->error));
  for (size_t i = 0; i < outputs.count; i++) {
    LK_TRY(name_of(im, outputs.items[i], &name));
    const int32_t value = lk_value_names_find(&im->names, name);
    if (value == LK_NO_VALUE || im->graph->values[value].is_output) continue;
    LK_TRY(lk_graph_add_output(im->graph, value, im->error));
  }
cleanup:
  lk_free(lk_allocator_default(), (void *)outputs.items);
  return status;
}

/* ---- the whole ---- */

static lk_status read_opset(importer *im, const OrtGraph *from) {
  static const char what[] = "read a graph's opsets";
  lk_status status = LK_OK;
  const char **domains = NULL;
  int64_t *versions = NULL;
  size_t count = 0;
  LK_TRY(
      lk_ort_check(im->ort, ort_Graph_GetNumOperatorSets(im->api)(from, &count), what, im->error));
  domains = lk_calloc(lk_allocator_default(), count, sizeof *domains);
  versions = lk_calloc(lk_allocator_default(), count, sizeof *versions);
  if (domains == NULL || versions == NULL) {
    LK_TRY(lk_fail_memory(im->error, "a graph's opsets", count * sizeof *versions));
  }
  if (count > 0) {
    LK_TRY(lk_ort_check(im->ort, ort_Graph_GetOperatorSets(im->api)(from, domains, versions, count),
                        what, im->error));
  }
  for (size_t i = 0; i < count; i++) {
    if (strcmp(domains[i], "") == 0 || strcmp(domains[i], "ai.onnx") == 0) im->opset = versions[i];
  }
cleanup:
  lk_free(lk_allocator_default(), (void *)domains);
  lk_free(lk_allocator_default(), versions);
  return status;
}

static lk_status list_nodes(importer *im, const OrtGraph *from) {
  lk_ort_import *out = im->out;
  lk_ort_nodes nodes = {0};
  const lk_status status = lk_ort_graph_nodes(im->ort, from, &nodes, im->error);
  out->nodes = nodes.items;
  LK_RETURN_NOT_OK(status);
  out->n_nodes = nodes.count;
  out->problems = lk_graph_alloc(im->graph, nodes.count * sizeof *out->problems);
  if (out->problems == NULL) return lk_fail_memory(im->error, "a graph's nodes", nodes.count);
  for (size_t i = 0; i < nodes.count; i++) out->problems[i] = NULL;
  return LK_OK;
}

/* As many names as there can be. */
static lk_status count_names(const importer *im, const OrtNode *fused, size_t *out) {
  const ort_Node_GetNumInputs_fn counters[] = {ort_Node_GetNumInputs(im->api),
                                               ort_Node_GetNumImplicitInputs(im->api),
                                               ort_Node_GetNumOutputs(im->api)};
  *out = 0;
  for (size_t i = 0; i <= im->out->n_nodes; i++) {
    const OrtNode *node = i < im->out->n_nodes ? im->out->nodes[i] : fused;
    for (size_t k = 0; node != NULL && k < sizeof counters / sizeof counters[0]; k++) {
      size_t count = 0;
      LK_RETURN_NOT_OK(
          lk_ort_check(im->ort, counters[k](node, &count), "count a node's values", im->error));
      *out += count;
    }
  }
  return LK_OK;
}

lk_status lk_ort_import_create(const lk_ort_context *context, const OrtGraph *from,
                               const OrtNode *fused, lk_ort_import *out, lk_error *error) {
  lk_status status = LK_OK;
  const lk_ort *ort = context->ort;
  importer importing = {.ort = ort, .api = ort->api, .out = out, .error = error};
  importer *im = &importing;
  size_t n_names = 0;
  *out = (lk_ort_import){0};
  LK_TRY(lk_graph_create(ort->latchkey->context_allocator(context->handle), &out->graph, error));
  im->graph = out->graph;
  LK_TRY(read_opset(im, from));
  LK_TRY(list_nodes(im, from));
  LK_TRY(count_names(im, fused, &n_names));
  LK_TRY(lk_value_names_create(im->graph, n_names, &im->names, error));
  /* First, so that the borders are numbered first and stand in their order. */
  if (fused != NULL) LK_TRY(add_fused_borders(im, fused));
  for (size_t i = 0; i < out->n_nodes; i++) {
    LK_TRY(add_node(im, out->nodes[i], &out->problems[i]));
  }
  if (fused == NULL) {
    LK_TRY(add_inputs(im));
    LK_TRY(add_outputs(im, from));
  }
  out->graph->n_nodes_in_file = out->n_nodes;
  LK_TRY(lk_graph_link(out->graph, error));
cleanup:
  lk_value_names_destroy(&im->names);
  if (status != LK_OK) lk_ort_import_destroy(out);
  return status;
}

void lk_ort_import_destroy(lk_ort_import *import) {
  lk_graph_destroy(import->graph);
  lk_free(lk_allocator_default(), (void *)import->nodes);
  *import = (lk_ort_import){0};
}
