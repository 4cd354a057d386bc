/* A graph of ONNX Runtime into the graph IR: values by name, nodes in its order, constants borrowed. */
#include "executor_glue/ort/import.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/graph/value_names.h"
#include "executor_glue/ort/import_part.h"

typedef struct importer {
  const lk_ort *ort;
  const OrtApi *api;
  const lk_allocator *allocator;
  lk_graph *graph;
  lk_value_names names;
  int64_t opset; /* of the graph */
  lk_ort_import *out;
  lk_error *error;
} importer;

/* ---- lists of values --------------------------------------------------------------------------- */

typedef struct value_list {
  const OrtValueInfo **items; /* NULL items: absent optional inputs */
  size_t count;
} value_list;

/* How a list is asked for. */
typedef struct list_kind {
  ort_Node_GetNumInputs_fn count;
  ort_Node_GetInputs_fn read;
  const char *what;
} list_kind;

static list_kind inputs_of(const OrtApi *api) {
  return (list_kind){ort_Node_GetNumInputs(api), ort_Node_GetInputs(api), "read a node's inputs"};
}
static list_kind implicit_inputs_of(const OrtApi *api) {
  return (list_kind){ort_Node_GetNumImplicitInputs(api), ort_Node_GetImplicitInputs(api),
                     "read a node's implicit inputs"};
}
static list_kind outputs_of(const OrtApi *api) {
  return (list_kind){ort_Node_GetNumOutputs(api), ort_Node_GetOutputs(api),
                     "read a node's outputs"};
}

static lk_status make_list(const importer *im, size_t count, value_list *out) {
  out->count = count;
  out->items = lk_calloc(im->allocator, count, sizeof *out->items);
  return out->items != NULL ? LK_OK : lk_fail_memory(im->error, "values", count * sizeof(void *));
}

/* `out->items` is the caller's to free, also on failure. */
static lk_status node_values(const importer *im, const OrtNode *node, list_kind kind,
                             value_list *out) {
  lk_status status = LK_OK;
  size_t count = 0;
  LK_TRY(lk_ort_check(im->ort, kind.count(node, &count), kind.what, im->error));
  LK_TRY(make_list(im, count, out));
  if (count == 0) return LK_OK;
  status = lk_ort_check(im->ort, kind.read(node, out->items, count), kind.what, im->error);
cleanup:
  return status;
}

static lk_status graph_outputs(const importer *im, const OrtGraph *graph, value_list *out) {
  static const char what[] = "read a graph's outputs";
  lk_status status = LK_OK;
  size_t count = 0;
  LK_TRY(lk_ort_check(im->ort, ort_Graph_GetNumOutputs(im->api)(graph, &count), what, im->error));
  LK_TRY(make_list(im, count, out));
  if (count == 0) return LK_OK;
  status = lk_ort_check(im->ort, ort_Graph_GetOutputs(im->api)(graph, out->items, count), what,
                        im->error);
cleanup:
  return status;
}

/* ---- values ------------------------------------------------------------------------------------ */

/* "" for a value that is not there. */
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
  lk_status status = LK_OK;
  const char *name = NULL;
  *out = LK_NO_VALUE;
  LK_TRY(name_of(im, info, &name));
  if (name[0] == '\0') return LK_OK;
  *out = lk_value_names_find(&im->names, name);
  if (*out != LK_NO_VALUE) return LK_OK;
  LK_TRY(lk_value_names_add(&im->names, im->graph, name, out, im->error));
  status = lk_ort_import_value(im->ort, im->graph, info, *out, im->error);
cleanup:
  return status;
}

/* ---- nodes ------------------------------------------------------------------------------------- */

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
  lk_status status = LK_OK;
  const char *op_type = NULL, *domain = NULL, *name = NULL;
  int version = 0;
  LK_TRY(lk_ort_check(im->ort, ort_Node_GetOperatorType(im->api)(from, &op_type),
                      "read a node's operator", im->error));
  LK_TRY(lk_ort_check(im->ort, ort_Node_GetDomain(im->api)(from, &domain), "read a node's domain",
                      im->error));
  LK_TRY(lk_ort_check(im->ort, ort_Node_GetName(im->api)(from, &name), "read a node's name",
                      im->error));
  LK_TRY(lk_ort_check(im->ort, ort_Node_GetSinceVersion(im->api)(from, &version),
                      "read a node's version", im->error));
  if (domain != NULL && strcmp(domain, "ai.onnx") == 0) domain = NULL;
  LK_TRY(copy_text(im, op_type, &node->op_type));
  LK_TRY(copy_text(im, domain, &node->domain));
  LK_TRY(copy_text(im, name, &node->name));
  node->opset = node->domain[0] == '\0' ? opset_of(im, version) : version;
cleanup:
  return status;
}

static lk_status add_node(importer *im, const OrtNode *from, size_t number) {
  lk_status status = LK_OK;
  value_list inputs = {0}, implicit = {0}, outputs = {0};
  size_t n_attrs = 0;
  int32_t index = LK_NO_NODE, value = LK_NO_VALUE;
  LK_TRY(node_values(im, from, inputs_of(im->api), &inputs));
  LK_TRY(node_values(im, from, implicit_inputs_of(im->api), &implicit));
  LK_TRY(node_values(im, from, outputs_of(im->api), &outputs));
  LK_TRY(lk_ort_check(im->ort, ort_Node_GetNumAttributes(im->api)(from, &n_attrs),
                      "count a node's attributes", im->error));
  const uint32_t n_inputs = (uint32_t)(inputs.count + implicit.count);
  LK_TRY(lk_graph_add_node(im->graph, n_inputs, (uint32_t)outputs.count, (uint32_t)n_attrs, &index,
                           im->error));
  LK_TRY(name_node(im, from, &im->graph->nodes[index]));
  for (uint32_t i = 0; i < n_inputs; i++) {
    LK_TRY(find_value(im, i < inputs.count ? inputs.items[i] : implicit.items[i - inputs.count],
                      &value));
    im->graph->nodes[index].inputs[i] = value;
  }
  for (uint32_t i = 0; i < outputs.count; i++) {
    LK_TRY(find_value(im, outputs.items[i], &value));
    im->graph->nodes[index].outputs[i] = value;
  }
  LK_TRY(lk_ort_import_attributes(im->ort, im->graph, from, &im->graph->nodes[index],
                                  &im->out->problems[number], im->error));
cleanup:
  lk_free(im->allocator, (void *)inputs.items);
  lk_free(im->allocator, (void *)implicit.items);
  lk_free(im->allocator, (void *)outputs.items);
  return status;
}

/* ---- the borders of the graph ------------------------------------------------------------------ */

/* Inputs and outputs as a run will hand them over, in its order. */
static lk_status add_fused_borders(importer *im, const OrtNode *fused) {
  lk_status status = LK_OK;
  value_list inputs = {0}, outputs = {0};
  int32_t value = LK_NO_VALUE;
  LK_TRY(node_values(im, fused, inputs_of(im->api), &inputs));
  LK_TRY(node_values(im, fused, outputs_of(im->api), &outputs));
  for (size_t i = 0; i < inputs.count; i++) {
    LK_TRY(find_value(im, inputs.items[i], &value));
    if (value == LK_NO_VALUE) {
      LK_TRY(
          lk_fail(im->error, LK_INTERNAL, "failed to read a fused node: input %zu is absent", i));
    }
    LK_TRY(lk_graph_add_input(im->graph, value, im->error));
  }
  for (size_t i = 0; i < outputs.count; i++) {
    LK_TRY(find_value(im, outputs.items[i], &value));
    if (value == LK_NO_VALUE) {
      LK_TRY(
          lk_fail(im->error, LK_INTERNAL, "failed to read a fused node: output %zu is absent", i));
    }
    LK_TRY(lk_graph_add_output(im->graph, value, im->error));
  }
cleanup:
  lk_free(im->allocator, (void *)inputs.items);
  lk_free(im->allocator, (void *)outputs.items);
  return status;
}

/* Inputs are what no node makes, values of an outer graph among them. */
static lk_status add_inputs(importer *im) {
  lk_status status = LK_OK;
  const lk_graph *graph = im->graph;
  bool *made = lk_calloc(im->allocator, graph->n_values, sizeof *made);
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
  lk_free(im->allocator, made);
  return status;
}

/* Those that a node here makes or reads; others are nothing to a claim. */
static lk_status add_outputs(importer *im, const OrtGraph *from) {
  lk_status status = LK_OK;
  value_list outputs = {0};
  const char *name = NULL;
  LK_TRY(graph_outputs(im, from, &outputs));
  for (size_t i = 0; i < outputs.count; i++) {
    LK_TRY(name_of(im, outputs.items[i], &name));
    const int32_t value = lk_value_names_find(&im->names, name);
    if (value == LK_NO_VALUE || im->graph->values[value].is_output) continue;
    LK_TRY(lk_graph_add_output(im->graph, value, im->error));
  }
cleanup:
  lk_free(im->allocator, (void *)outputs.items);
  return status;
}

/* ---- the whole --------------------------------------------------------------------------------- */

static lk_status list_nodes(importer *im, const OrtGraph *from) {
  static const char what[] = "read a graph's nodes";
  lk_status status = LK_OK;
  lk_ort_import *out = im->out;
  LK_TRY(
      lk_ort_check(im->ort, ort_Graph_GetNumNodes(im->api)(from, &out->n_nodes), what, im->error));
  out->nodes = lk_calloc(im->allocator, out->n_nodes, sizeof *out->nodes);
  out->problems = lk_calloc(im->allocator, out->n_nodes, sizeof *out->problems);
  if (out->nodes == NULL || out->problems == NULL) {
    return lk_fail_memory(im->error, "a graph's nodes", out->n_nodes * sizeof *out->nodes);
  }
  if (out->n_nodes > 0) {
    LK_TRY(lk_ort_check(im->ort, ort_Graph_GetNodes(im->api)(from, out->nodes, out->n_nodes), what,
                        im->error));
  }
cleanup:
  return status;
}

/* As many names as there can be. */
static lk_status count_names(const importer *im, const OrtNode *fused, size_t *out) {
  const list_kind kinds[] = {inputs_of(im->api), implicit_inputs_of(im->api), outputs_of(im->api)};
  *out = 0;
  for (size_t i = 0; i <= im->out->n_nodes; i++) {
    const OrtNode *node = i < im->out->n_nodes ? im->out->nodes[i] : fused;
    for (size_t k = 0; node != NULL && k < sizeof kinds / sizeof kinds[0]; k++) {
      size_t count = 0;
      const lk_status status =
          lk_ort_check(im->ort, kinds[k].count(node, &count), kinds[k].what, im->error);
      if (status != LK_OK) return status;
      *out += count;
    }
  }
  return LK_OK;
}

lk_status lk_ort_import_graph(const lk_ort *ort, const lk_allocator *allocator,
                              const OrtGraph *from, const OrtNode *fused, lk_ort_import *out,
                              lk_error *error) {
  lk_status status = LK_OK;
  importer importing = {
      .ort = ort, .api = ort->api, .allocator = allocator, .out = out, .error = error};
  importer *im = &importing;
  size_t n_names = 0;
  *out = (lk_ort_import){0};
  LK_TRY(lk_graph_create(allocator, &out->graph, error));
  im->graph = out->graph;
  LK_TRY(lk_ort_import_opset(ort, allocator, from, &im->opset, error));
  LK_TRY(list_nodes(im, from));
  LK_TRY(count_names(im, fused, &n_names));
  LK_TRY(lk_value_names_create(im->graph, n_names, &im->names, error));
  /* First, so that the borders are numbered first and stand in their order. */
  if (fused != NULL) LK_TRY(add_fused_borders(im, fused));
  for (size_t i = 0; i < out->n_nodes; i++) LK_TRY(add_node(im, out->nodes[i], i));
  if (fused == NULL) {
    LK_TRY(add_inputs(im));
    LK_TRY(add_outputs(im, from));
  }
  out->graph->n_nodes_in_file = out->n_nodes;
  LK_TRY(lk_graph_link(out->graph, error));
cleanup:
  lk_value_names_destroy(&im->names);
  if (status != LK_OK) lk_ort_import_end(allocator, out);
  return status;
}

void lk_ort_import_end(const lk_allocator *allocator, lk_ort_import *import) {
  lk_graph_destroy(import->graph);
  lk_free(allocator, (void *)import->nodes);
  lk_free(allocator, (void *)import->problems);
  *import = (lk_ort_import){0};
}
