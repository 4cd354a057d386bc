/* Graphs and models into the graph IR: what is around the nodes. */
#include "executor_glue/onnx/graph_builder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/graph/advice.h"
#include "executor_glue/graph/step.h"
#include "executor_glue/onnx/builder.h"
#include "executor_glue/onnx/constant.h"

/* ---- values ---------------------------------------------------------------------------------- */

static lk_status copy_text(lk_graph *graph, const char *text, const char **out, lk_error *error) {
  *out = text == NULL ? "" : lk_graph_strndup(graph, text, strlen(text));
  return *out != NULL ? LK_OK : lk_fail_memory(error, "a text of a model", strlen(text));
}

static bool is_tensor(const Onnx__TypeProto *type) {
  return type != NULL && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
}

/* What the model declares about an input or output; NULL: nothing. */
static lk_status read_declaration(lk_graph *graph, const Onnx__ValueInfoProto *info,
                                  const lk_declaration **out, lk_error *error) {
  *out = NULL;
  if (!is_tensor(info->type)) return LK_OK;
  const Onnx__TypeProto__Tensor *type = info->type->tensor_type;
  lk_declaration *declared = lk_graph_alloc(graph, sizeof *declared);
  if (declared == NULL) return lk_fail_memory(error, "a declaration", sizeof *declared);
  *declared = (lk_declaration){.rank = -1};
  *out = declared;
  if (type->elem_type > 0 && lk_dtype_size((uint32_t)type->elem_type) > 0) {
    declared->dtype = (uint32_t)type->elem_type;
  }
  if (type->shape == NULL || type->shape->n_dim > LK_MAX_RANK) return LK_OK;
  declared->rank = (int32_t)type->shape->n_dim;
  for (size_t i = 0; i < type->shape->n_dim; i++) {
    const Onnx__TensorShapeProto__Dimension *dim = type->shape->dim[i];
    declared->dims[i] = -1;
    if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
      /* Some exporters write -1 for a dimension that is not known. */
      if (dim->dim_value >= 0) declared->dims[i] = dim->dim_value;
    } else if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
               lk_onnx_given(dim->dim_param) && strcmp(dim->dim_param, "?") != 0) {
      /* "?" is what some write for "no name": two of them are not the same dimension. */
      LK_RETURN_NOT_OK(copy_text(graph, dim->dim_param, &declared->symbols[i], error));
    }
  }
  return LK_OK;
}

/* Notes what is declared. Of a constant all is known already. */
static lk_status declare(lk_graph *graph, int32_t index, const Onnx__ValueInfoProto *info,
                         lk_error *error) {
  const lk_declaration *declared = NULL;
  if (graph->values[index].constant_kind != LK_CONSTANT_NONE) return LK_OK;
  LK_RETURN_NOT_OK(read_declaration(graph, info, &declared, error));
  if (declared != NULL) graph->values[index].declared = declared;
  return LK_OK;
}

/* Of a body's input, which gets what the node gives it: exporters write the sizes of their first
 * iteration. */
static void forget_dims(lk_value *value) {
  if (value->declared == NULL) return;
  lk_declaration *declared = (lk_declaration *)(uintptr_t)value->declared; /* made just now */
  for (int32_t i = 0; i < declared->rank; i++) {
    declared->dims[i] = -1;
    declared->symbols[i] = NULL;
  }
}

/* A value of the scope itself. */
static int32_t find(const lk_onnx_scope *scope, const char *name) {
  return lk_onnx_given(name) ? lk_value_names_find(&scope->names, name) : LK_NO_VALUE;
}

static lk_status add_sparse(lk_onnx_builder *b, lk_onnx_scope *scope,
                            const Onnx__GraphProto *graph) {
  for (size_t i = 0; i < graph->n_sparse_initializer; i++) {
    const Onnx__TensorProto *values = graph->sparse_initializer[i]->values;
    int32_t value = LK_NO_VALUE;
    if (values == NULL) continue;
    LK_RETURN_NOT_OK(lk_onnx_scope_add(scope, values->name, "an initializer", &value, b->error));
    const lk_status status = lk_fail(b->error, LK_UNSUPPORTED,
                                     "failed to read the graph: initializer '%s' is sparse, dense "
                                     "ones are supported; save it as a dense tensor",
                                     values->name);
    LK_RETURN_NOT_OK(lk_onnx_constant_forgive(scope->graph, value, status, b->error));
  }
  return LK_OK;
}

static lk_status add_initializers(lk_onnx_builder *b, lk_onnx_scope *scope,
                                  const Onnx__GraphProto *graph) {
  LK_RETURN_NOT_OK(add_sparse(b, scope, graph));
  for (size_t i = 0; i < graph->n_initializer; i++) {
    LK_RETURN_NOT_OK(lk_step(b->error));
    const Onnx__TensorProto *tensor = graph->initializer[i];
    int32_t value = LK_NO_VALUE;
    LK_RETURN_NOT_OK(lk_onnx_scope_add(scope, tensor->name, "an initializer", &value, b->error));
    const lk_status status =
        lk_onnx_constant_from_tensor(b->source, scope->graph, value, tensor, b->error);
    LK_RETURN_NOT_OK(lk_onnx_constant_forgive(scope->graph, value, status, b->error));
  }
  return LK_OK;
}

/* What is no tensor. */
static const char *name_type(const Onnx__TypeProto *type) {
  switch (type != NULL ? type->value_case : ONNX__TYPE_PROTO__VALUE__NOT_SET) {
  case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
    return "a sequence";
  case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
    return "a map";
  case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
    return "an optional value";
  default:
    return "of no type that the model names";
  }
}

/* The first node that reads an input of its graph; NULL: none does. */
static const Onnx__NodeProto *find_reader(const Onnx__GraphProto *graph, const char *name) {
  for (size_t n = 0; n < graph->n_node; n++) {
    const Onnx__NodeProto *node = graph->node[n];
    for (size_t i = 0; i < node->n_input; i++) {
      if (lk_onnx_given(node->op_type) && strcmp(node->input[i], name) == 0) return node;
    }
  }
  return NULL;
}

/* "failed to read graph input 'x', which node 'n' (Relu) reads: it is a sequence, ..." */
static lk_status refuse_input(const lk_onnx_builder *b, const Onnx__GraphProto *graph,
                              const Onnx__ValueInfoProto *info, const char *found,
                              const char *advice) {
  const Onnx__NodeProto *reader = find_reader(graph, info->name);
  const char *which = reader != NULL ? ", which node '" : "";
  return lk_fail(b->error, LK_UNSUPPORTED,
                 "failed to read graph input '%s'%s%s%s%s%s: it is %s, tensors of numbers and bool "
                 "are supported%s",
                 info->name, which, reader != NULL ? lk_onnx_node_label(reader) : "",
                 reader != NULL ? "' (" : "", reader != NULL ? reader->op_type : "",
                 reader != NULL ? ") reads" : "", found, advice);
}

static lk_status check_input(const lk_onnx_builder *b, const Onnx__GraphProto *graph,
                             const Onnx__ValueInfoProto *info) {
  const Onnx__TypeProto *type = info->type;
  char found[LK_DTYPE_TEXT_CAPACITY + 32];
  if (!is_tensor(type)) {
    const bool is_typed = type != NULL && type->value_case != ONNX__TYPE_PROTO__VALUE__NOT_SET;
    return refuse_input(b, graph, info, name_type(type), is_typed ? LK_ADVICE_PROVIDER : "");
  }
  const int32_t dtype = type->tensor_type->elem_type;
  if (dtype <= 0 || lk_dtype_size((uint32_t)dtype) == 0) {
    char name[LK_DTYPE_TEXT_CAPACITY];
    (void)snprintf(found, sizeof found, "a tensor of type %s", lk_dtype_text(dtype, name));
    return refuse_input(b, graph, info, found, lk_advice_on_type(dtype));
  }
  if (type->tensor_type->shape != NULL && type->tensor_type->shape->n_dim > LK_MAX_RANK) {
    return lk_fail(b->error, LK_OUT_OF_RANGE,
                   "failed to read graph input '%s': it has rank %zu, at most %d is "
                   "supported; give it fewer dimensions in the model" LK_ADVICE_PROVIDER,
                   info->name, type->tensor_type->shape->n_dim, LK_MAX_RANK);
  }
  return LK_OK;
}

static bool is_given(const lk_onnx_source *source, const char *name) {
  for (size_t i = 0; i < source->n_given; i++) {
    if (strcmp(source->given[i], name) == 0) return true;
  }
  return false;
}

/* Makes a constant an input of the graph. Its elements, aligned, go into `out`. */
static lk_status make_input(lk_graph *graph, int32_t index, lk_graph_default *out,
                            lk_error *error) {
  lk_value *value = &graph->values[index];
  int64_t bytes = 0;
  LK_RETURN_NOT_OK(lk_tensor_size(&value->constant.desc, value->name, NULL, &bytes, error));
  void *data = value->constant.data;
  if (value->constant_kind != LK_CONSTANT_OWNED) {
    data = lk_alloc_aligned(graph->allocator, (size_t)bytes, LK_DATA_ALIGNMENT);
    if (data == NULL) return lk_fail_memory(error, value->name, (size_t)bytes);
    if (bytes > 0) memcpy(data, value->constant.data, (size_t)bytes);
  }
  out->tensor = (lk_tensor){value->constant.desc, data};
  out->input = (int32_t)graph->n_inputs;
  value->constant_kind = LK_CONSTANT_NONE;
  value->constant = (lk_tensor){0};
  value->declared = out->declared;
  return lk_graph_add_input(graph, index, error);
}

/* An initializer of the main graph that is an input too. */
static lk_status add_default(lk_onnx_builder *b, lk_graph *graph, int32_t index,
                             const Onnx__ValueInfoProto *info) {
  const lk_value *value = &graph->values[index];
  const lk_declaration *declared = NULL;
  LK_RETURN_NOT_OK(read_declaration(graph, info, &declared, b->error));
  if (declared == NULL) {
    lk_declaration *own = lk_graph_alloc(graph, sizeof *own);
    if (own == NULL) return lk_fail_memory(b->error, "a declaration", sizeof *own);
    *own = (lk_declaration){.rank = (int32_t)value->constant.desc.rank};
    memcpy(own->dims, value->constant.desc.dims, sizeof own->dims);
    declared = own;
  }
  ((lk_declaration *)(uintptr_t)declared)->dtype = value->constant.desc.dtype; /* made just now */
  if (!LK_GROW(graph->allocator, graph->defaults, graph->n_defaults, graph->defaults_capacity)) {
    return lk_fail_memory(b->error, "inputs with a default", sizeof *graph->defaults);
  }
  lk_graph_default *made = &graph->defaults[graph->n_defaults++];
  *made = (lk_graph_default){.name = value->name, .declared = declared, .input = -1};
  return is_given(b->source, value->name) ? make_input(graph, index, made, b->error) : LK_OK;
}

/* Before this version of the IR, every initializer had to be listed as an input too. */
#define DEFAULTS_SINCE_IR 4

static lk_status add_inputs(lk_onnx_builder *b, lk_onnx_scope *scope,
                            const Onnx__GraphProto *graph) {
  for (size_t i = 0; i < graph->n_input; i++) {
    LK_RETURN_NOT_OK(lk_step(b->error));
    const Onnx__ValueInfoProto *info = graph->input[i];
    int32_t value = find(scope, info->name);
    const lk_value *found = value != LK_NO_VALUE ? &scope->graph->values[value] : NULL;
    if (found != NULL && !found->is_input) {
      const bool may_be_given = found->constant_kind != LK_CONSTANT_NONE && scope->around == NULL &&
                                b->model->ir_version >= DEFAULTS_SINCE_IR;
      if (may_be_given) LK_RETURN_NOT_OK(add_default(b, scope->graph, value, info));
      continue;
    }
    LK_RETURN_NOT_OK(lk_onnx_scope_add(scope, info->name, "a graph input", &value, b->error));
    /* a body's may leave the type to the node, and be a sequence that the graph around it makes */
    if (scope->around == NULL || is_tensor(info->type)) {
      LK_RETURN_NOT_OK(lk_onnx_source_forgive(b->source, check_input(b, graph, info), b->error));
    }
    LK_RETURN_NOT_OK(declare(scope->graph, value, info, b->error));
    if (scope->around != NULL) forget_dims(&scope->graph->values[value]);
    LK_RETURN_NOT_OK(lk_graph_add_input(scope->graph, value, b->error));
  }
  return LK_OK;
}

/* A second output of the same value has a value of its own, which a node copies. */
static lk_status copy_output(const lk_onnx_builder *b, lk_onnx_scope *scope, int32_t *inout_value) {
  int32_t node = LK_NO_NODE, copy = LK_NO_VALUE;
  lk_graph *graph = scope->graph;
  LK_RETURN_NOT_OK(lk_value_names_add_free(&scope->names, graph, "copy", &copy, b->error));
  LK_RETURN_NOT_OK(lk_graph_add_node(graph, 1, 1, 0, &node, b->error));
  graph->nodes[node].op_type = "Identity";
  graph->nodes[node].opset = LK_MAX_OPSET;
  graph->nodes[node].inputs[0] = *inout_value;
  graph->nodes[node].outputs[0] = copy;
  *inout_value = copy;
  return LK_OK;
}

static lk_status add_outputs(lk_onnx_builder *b, lk_onnx_scope *scope,
                             const Onnx__GraphProto *from) {
  lk_graph *graph = scope->graph;
  for (size_t i = 0; i < from->n_output; i++) {
    LK_RETURN_NOT_OK(lk_step(b->error));
    const Onnx__ValueInfoProto *info = from->output[i];
    int32_t value = LK_NO_VALUE;
    if (lk_onnx_given(info->name)) {
      LK_RETURN_NOT_OK(lk_onnx_scope_find(scope, info->name, &value, b->error));
    }
    const bool is_twice = value >= 0 && graph->values[value].is_output;
    if (value < 0) {
      return lk_fail(b->error, LK_MALFORMED,
                     "failed to read the graph: output '%s' is not an input, an initializer, or "
                     "made by a node",
                     lk_onnx_given(info->name) ? info->name : "");
    }
    if (is_twice && scope->around == NULL) continue; /* a run asks for it by its name */
    if (is_twice) LK_RETURN_NOT_OK(copy_output(b, scope, &value));
    /* An output that is an input too has said its type as an input. */
    if (!graph->values[value].is_input) {
      LK_RETURN_NOT_OK(declare(graph, value, info, b->error));
    }
    LK_RETURN_NOT_OK(lk_graph_add_output(graph, value, b->error));
  }
  return LK_OK;
}

static lk_status fill(lk_onnx_builder *builder, lk_onnx_scope *scope,
                      const Onnx__GraphProto *graph) {
  LK_RETURN_NOT_OK(add_initializers(builder, scope, graph));
  LK_RETURN_NOT_OK(add_inputs(builder, scope, graph));
  LK_RETURN_NOT_OK(lk_onnx_add_nodes(builder, scope, graph->node, graph->n_node));
  return add_outputs(builder, scope, graph);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static lk_status add_model_info(const lk_onnx_builder *b, lk_graph *graph) {
  const Onnx__ModelProto *model = b->model;
  lk_model_info *info = &graph->model;
  const size_t bytes = model->n_opset_import * sizeof(lk_opset);
  lk_opset *opsets = lk_graph_alloc(graph, bytes);
  if (opsets == NULL) return lk_fail_memory(b->error, "the opsets of a model", bytes);
  info->opsets = opsets;
  info->n_opsets = (uint32_t)model->n_opset_import; /* the scan has bounded it */
  info->ir_version = model->ir_version;
  LK_RETURN_NOT_OK(copy_text(graph, model->producer_name, &info->producer_name, b->error));
  LK_RETURN_NOT_OK(copy_text(graph, model->producer_version, &info->producer_version, b->error));
  for (size_t i = 0; i < model->n_opset_import; i++) {
    const Onnx__OperatorSetIdProto *opset = model->opset_import[i];
    opsets[i].version = opset->version;
    LK_RETURN_NOT_OK(copy_text(graph, lk_onnx_domain(opset->domain), &opsets[i].domain, b->error));
  }
  return LK_OK;
}

static lk_status add_metadata(const lk_onnx_builder *b, lk_graph *graph) {
  for (size_t i = 0; i < b->model->n_metadata_props; i++) {
    LK_RETURN_NOT_OK(lk_step(b->error));
    const Onnx__StringStringEntryProto *entry = b->model->metadata_props[i];
    lk_metadata metadata = {NULL, NULL};
    LK_RETURN_NOT_OK(copy_text(graph, entry->key, &metadata.key, b->error));
    LK_RETURN_NOT_OK(copy_text(graph, entry->value, &metadata.value, b->error));
    if (!LK_GROW(graph->allocator, graph->metadata, graph->n_metadata, graph->metadata_capacity)) {
      return lk_fail_memory(b->error, "metadata", graph->n_metadata * sizeof metadata);
    }
    graph->metadata[graph->n_metadata++] = metadata;
  }
  return LK_OK;
}

lk_status lk_onnx_graph_build(const lk_allocator *allocator, const lk_onnx_source *source,
                              const Onnx__ModelProto *model, lk_graph **out_graph,
                              lk_error *error) {
  lk_status status = LK_OK;
  lk_onnx_source limited = *source; /* several graphs may be read from one model at once */
  uint64_t copies_left = LK_ONNX_COPIES(source->size);
  limited.copies_left = &copies_left;
  lk_onnx_builder b = {.source = &limited,
                       .model = model,
                       .fill = fill,
                       .add_nodes = lk_onnx_add_nodes,
                       .error = error};
  lk_graph_limit limit = {.left = source->graph_budget};
  lk_onnx_scope scope = {0};
  lk_graph *graph = NULL;
  lk_error kept; /* what is not supported stays in the graph, with its sentence */
  *out_graph = NULL;
  if (error == NULL) b.error = error = &kept;
  if (!model->has_ir_version || model->graph == NULL) {
    return lk_fail(error, LK_MALFORMED, "failed to read the model: it has no %s, which is required",
                   model->graph == NULL ? "graph" : "ir_version");
  }
  LK_TRY(lk_onnx_check_opsets(&b, model->opset_import, model->n_opset_import, "the model"));
  LK_TRY(lk_graph_create(allocator, &graph, error));
  graph->limit = &limit;
  graph->context = source->context;
  LK_TRY(lk_onnx_functions_begin(&b, graph));
  LK_TRY(lk_onnx_scope_of_graph(graph, NULL, lk_onnx_count_names(model->graph), &scope, error));
  scope.opsets = model->opset_import;
  scope.n_opsets = model->n_opset_import;
  LK_TRY(fill(&b, &scope, model->graph));
  LK_TRY(add_model_info(&b, graph));
  LK_TRY(add_metadata(&b, graph));
  graph->n_nodes_in_file = model->graph->n_node;
  lk_graph_lift_limit(graph);
  *out_graph = graph;

cleanup:
  lk_onnx_functions_end(&b, allocator);
  lk_value_names_destroy(&b.scopes);
  if (scope.graph != NULL) lk_onnx_scope_destroy(&scope);
  if (status != LK_OK) lk_graph_destroy(graph);
  if (!limit.is_passed) return status;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to read the model: its names, nodes and calls of functions take more than "
                 "the %" PRIu64 " MB that are left of what is allowed for this file",
                 source->graph_budget >> 20);
}
