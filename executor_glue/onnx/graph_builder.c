/* An unpacked model into the graph IR. */
#include "executor_glue/onnx/graph_builder.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/graph/value_names.h"
#include "executor_glue/onnx/attribute.h"
#include "executor_glue/onnx/constant.h"

typedef struct builder {
  const lk_onnx_source *source;
  const Onnx__ModelProto *model;
  lk_graph *graph;
  lk_value_names names;
  lk_error *error;
} builder;

static bool given(const char *text) {
  return text != NULL && text[0] != '\0';
}

/* The default domain has two names. */
static const char *domain_of(const char *domain) {
  return !given(domain) || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

static const char *label_of(const Onnx__NodeProto *node) {
  if (given(node->name)) return node->name;
  for (size_t i = 0; i < node->n_output; i++) {
    if (given(node->output[i])) return node->output[i];
  }
  return "?";
}

/* ---- operator sets and functions ------------------------------------------------------------- */

static lk_status check_opsets(const builder *b) {
  for (size_t i = 0; i < b->model->n_opset_import; i++) {
    const Onnx__OperatorSetIdProto *opset = b->model->opset_import[i];
    const char *domain = domain_of(opset->domain);
    int64_t version = opset->has_version ? opset->version : 0;
    if (domain[0] == '\0' && (version < LK_MIN_OPSET || version > LK_MAX_OPSET)) {
      return lk_fail(b->error, LK_UNSUPPORTED,
                     "failed to read the model: opset %" PRId64 " of ai.onnx, %d to %d", version,
                     LK_MIN_OPSET, LK_MAX_OPSET);
    }
    if (version < 1 || version > INT32_MAX) {
      return lk_fail(b->error, LK_MALFORMED,
                     "failed to read the model: opset %" PRId64 " of domain '%s', at least 1",
                     version, domain);
    }
    for (size_t j = 0; j < i; j++) {
      const Onnx__OperatorSetIdProto *other = b->model->opset_import[j];
      if (strcmp(domain, domain_of(other->domain)) != 0 || other->version == version) continue;
      return lk_fail(b->error, LK_MALFORMED,
                     "failed to read the model: opsets %" PRId64 " and %" PRId64
                     " of one domain, '%s'",
                     other->version, version, domain);
    }
  }
  return LK_OK;
}

static lk_status find_opset(const builder *b, const Onnx__NodeProto *node, int32_t *out) {
  const char *domain = domain_of(node->domain);
  for (size_t i = 0; i < b->model->n_opset_import; i++) {
    if (strcmp(domain, domain_of(b->model->opset_import[i]->domain)) == 0) {
      *out = (int32_t)b->model->opset_import[i]->version;
      return LK_OK;
    }
  }
  return lk_fail(b->error, LK_MALFORMED,
                 "failed to read node '%s' (%s): the model imports no opset of domain '%s'",
                 label_of(node), node->op_type, domain[0] == '\0' ? "ai.onnx" : domain);
}

static lk_status check_operator(const builder *b, const Onnx__NodeProto *node) {
  if (!given(node->op_type)) {
    return lk_fail(b->error, LK_MALFORMED, "failed to read node '%s': it has no operator",
                   label_of(node));
  }
  for (size_t i = 0; i < b->model->n_functions; i++) {
    const Onnx__FunctionProto *f = b->model->functions[i];
    if (f->name == NULL || strcmp(f->name, node->op_type) != 0 ||
        strcmp(domain_of(f->domain), domain_of(node->domain)) != 0) {
      continue;
    }
    return lk_fail(
        b->error, LK_UNSUPPORTED,
        "failed to read node '%s': %s is a function of the model, which is not supported",
        label_of(node), node->op_type);
  }
  return LK_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

static lk_status copy_text(const builder *b, const char *text, const char **out) {
  *out = text == NULL ? "" : lk_graph_strndup(b->graph, text, strlen(text));
  return *out != NULL ? LK_OK : lk_fail_memory(b->error, "a text of a model", strlen(text));
}

/* Notes what the model declares about an input or output. Of a constant all is known already. */
static lk_status declare(const builder *b, int32_t index, const Onnx__ValueInfoProto *info) {
  lk_value *value = &b->graph->values[index];
  if (value->constant_kind != LK_CONSTANT_NONE || info->type == NULL ||
      info->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) {
    return LK_OK;
  }
  const Onnx__TypeProto__Tensor *type = info->type->tensor_type;
  lk_declaration *declared = lk_graph_alloc(b->graph, sizeof *declared);
  if (declared == NULL) return lk_fail_memory(b->error, "a declaration", sizeof *declared);
  *declared = (lk_declaration){.rank = -1};
  value->declared = declared;
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
               given(dim->dim_param) && strcmp(dim->dim_param, "?") != 0) {
      /* "?" is what some write for "no name": two of them are not the same dimension. */
      LK_RETURN_NOT_OK(copy_text(b, dim->dim_param, &declared->symbols[i]));
    }
  }
  return LK_OK;
}

/* LK_NO_VALUE: no value has the name, or it is none. */
static int32_t find(const builder *b, const char *name) {
  return given(name) ? lk_value_names_find(&b->names, name) : LK_NO_VALUE;
}

/* Adds a value that must be new. */
static lk_status add_value(builder *b, const char *name, const char *as, int32_t *out) {
  if (!given(name)) {
    return lk_fail(b->error, LK_MALFORMED, "failed to read the graph: %s without a name", as);
  }
  if (find(b, name) != LK_NO_VALUE) {
    return lk_fail(b->error, LK_MALFORMED,
                   "failed to read the graph: '%s' is made twice, the second time as %s", name, as);
  }
  return lk_value_names_add(&b->names, b->graph, name, out, b->error);
}

static lk_status add_initializers(builder *b, const Onnx__GraphProto *graph) {
  if (graph->n_sparse_initializer > 0) {
    const Onnx__TensorProto *values = graph->sparse_initializer[0]->values;
    return lk_fail(b->error, LK_UNSUPPORTED,
                   "failed to read the graph: initializer '%s' is sparse, which is not supported",
                   values != NULL && given(values->name) ? values->name : "?");
  }
  for (size_t i = 0; i < graph->n_initializer; i++) {
    const Onnx__TensorProto *tensor = graph->initializer[i];
    int32_t value = LK_NO_VALUE;
    LK_RETURN_NOT_OK(add_value(b, tensor->name, "an initializer", &value));
    LK_RETURN_NOT_OK(lk_onnx_constant_from_tensor(b->source, b->graph, value, tensor, b->error));
  }
  return LK_OK;
}

static lk_status check_input(const builder *b, const Onnx__ValueInfoProto *info) {
  const Onnx__TypeProto *type = info->type;
  if (type == NULL || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) {
    return lk_fail(b->error, LK_UNSUPPORTED, "failed to read graph input '%s': it is not a tensor",
                   info->name);
  }
  int32_t dtype = type->tensor_type->elem_type;
  if (dtype <= 0 || lk_dtype_size((uint32_t)dtype) == 0) {
    return lk_fail(b->error, LK_UNSUPPORTED,
                   "failed to read graph input '%s': element type %" PRId32 " is not supported",
                   info->name, dtype);
  }
  if (type->tensor_type->shape != NULL && type->tensor_type->shape->n_dim > LK_MAX_RANK) {
    return lk_fail(b->error, LK_OUT_OF_RANGE,
                   "failed to read graph input '%s': rank %zu, at most %d", info->name,
                   type->tensor_type->shape->n_dim, LK_MAX_RANK);
  }
  return LK_OK;
}

static lk_status add_inputs(builder *b, const Onnx__GraphProto *graph) {
  for (size_t i = 0; i < graph->n_input; i++) {
    const Onnx__ValueInfoProto *info = graph->input[i];
    int32_t value = find(b, info->name);
    /* Before IR version 4, every initializer had to be listed as an input too. */
    if (value != LK_NO_VALUE && b->graph->values[value].constant_kind != LK_CONSTANT_NONE) continue;
    LK_RETURN_NOT_OK(add_value(b, info->name, "a graph input", &value));
    LK_RETURN_NOT_OK(check_input(b, info));
    LK_RETURN_NOT_OK(declare(b, value, info));
    LK_RETURN_NOT_OK(lk_graph_add_input(b->graph, value, b->error));
  }
  return LK_OK;
}

static lk_status add_outputs(builder *b, const Onnx__GraphProto *graph) {
  for (size_t i = 0; i < graph->n_output; i++) {
    const Onnx__ValueInfoProto *info = graph->output[i];
    int32_t value = find(b, info->name);
    if (value == LK_NO_VALUE || b->graph->values[value].is_output) {
      return lk_fail(b->error, LK_MALFORMED, "failed to read the graph: output '%s' is %s",
                     given(info->name) ? info->name : "",
                     value == LK_NO_VALUE ? "never made" : "listed twice");
    }
    /* An output that is an input too has said its type as an input. */
    if (!b->graph->values[value].is_input) LK_RETURN_NOT_OK(declare(b, value, info));
    LK_RETURN_NOT_OK(lk_graph_add_output(b->graph, value, b->error));
  }
  return LK_OK;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Before the nodes themselves: a node may stand before the one that makes its input. */
static lk_status add_node_outputs(builder *b, const Onnx__GraphProto *graph) {
  for (size_t i = 0; i < graph->n_node; i++) {
    for (size_t j = 0; j < graph->node[i]->n_output; j++) {
      int32_t value = LK_NO_VALUE;
      if (!given(graph->node[i]->output[j])) continue;
      LK_RETURN_NOT_OK(add_value(b, graph->node[i]->output[j], "a node's output", &value));
    }
  }
  return LK_OK;
}

static lk_status add_constant(builder *b, const Onnx__NodeProto *node) {
  if (node->n_output != 1 || !given(node->output[0]) || node->n_input != 0) {
    return lk_fail(b->error, LK_MALFORMED,
                   "failed to read node '%s' (Constant): %zu inputs and %zu outputs, none and one",
                   label_of(node), node->n_input, node->n_output);
  }
  return lk_onnx_constant_from_node(b->source, b->graph, find(b, node->output[0]), node, b->error);
}

static lk_status add_node(builder *b, const Onnx__NodeProto *proto) {
  int32_t index = LK_NO_NODE, opset = 0;
  LK_RETURN_NOT_OK(check_operator(b, proto));
  LK_RETURN_NOT_OK(find_opset(b, proto, &opset));
  if (strcmp(proto->op_type, "Constant") == 0 && domain_of(proto->domain)[0] == '\0') {
    return add_constant(b, proto);
  }
  /* The scan has bounded the three counts. */
  LK_RETURN_NOT_OK(lk_graph_add_node(b->graph, (uint32_t)proto->n_input, (uint32_t)proto->n_output,
                                     (uint32_t)proto->n_attribute, &index, b->error));
  lk_node *node = &b->graph->nodes[index];
  node->opset = opset;
  LK_RETURN_NOT_OK(copy_text(b, proto->op_type, &node->op_type));
  LK_RETURN_NOT_OK(copy_text(b, domain_of(proto->domain), &node->domain));
  LK_RETURN_NOT_OK(copy_text(b, proto->name, &node->name));
  for (size_t i = 0; i < proto->n_input; i++) {
    node->inputs[i] = find(b, proto->input[i]);
    if (node->inputs[i] == LK_NO_VALUE && given(proto->input[i])) {
      return lk_fail(b->error, LK_MALFORMED,
                     "failed to read node '%s' (%s): its input '%s' is never made", label_of(proto),
                     proto->op_type, proto->input[i]);
    }
  }
  for (size_t i = 0; i < proto->n_output; i++) node->outputs[i] = find(b, proto->output[i]);
  return lk_onnx_attributes_read(b->source, b->graph, proto, label_of(proto), node->attrs,
                                 b->error);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static lk_status add_model_info(const builder *b) {
  const Onnx__ModelProto *model = b->model;
  lk_model_info *info = &b->graph->model;
  const size_t bytes = model->n_opset_import * sizeof(lk_opset);
  lk_opset *opsets = lk_graph_alloc(b->graph, bytes);
  if (opsets == NULL) return lk_fail_memory(b->error, "the opsets of a model", bytes);
  info->opsets = opsets;
  info->n_opsets = (uint32_t)model->n_opset_import; /* the scan has bounded it */
  info->ir_version = model->ir_version;
  LK_RETURN_NOT_OK(copy_text(b, model->producer_name, &info->producer_name));
  LK_RETURN_NOT_OK(copy_text(b, model->producer_version, &info->producer_version));
  for (size_t i = 0; i < model->n_opset_import; i++) {
    opsets[i].version = model->opset_import[i]->version;
    LK_RETURN_NOT_OK(copy_text(b, domain_of(model->opset_import[i]->domain), &opsets[i].domain));
  }
  return LK_OK;
}

static lk_status add_metadata(builder *b) {
  lk_graph *graph = b->graph;
  for (size_t i = 0; i < b->model->n_metadata_props; i++) {
    const Onnx__StringStringEntryProto *entry = b->model->metadata_props[i];
    lk_metadata metadata = {NULL, NULL};
    LK_RETURN_NOT_OK(copy_text(b, entry->key, &metadata.key));
    LK_RETURN_NOT_OK(copy_text(b, entry->value, &metadata.value));
    if (!LK_GROW(graph->allocator, graph->metadata, graph->n_metadata, graph->metadata_capacity)) {
      return lk_fail_memory(b->error, "metadata", graph->n_metadata * sizeof metadata);
    }
    graph->metadata[graph->n_metadata++] = metadata;
  }
  return LK_OK;
}

static size_t count_names(const Onnx__GraphProto *graph) {
  size_t count = graph->n_initializer + graph->n_input;
  for (size_t i = 0; i < graph->n_node; i++) count += graph->node[i]->n_output;
  return count;
}

lk_status lk_onnx_graph_build(const lk_allocator *allocator, const lk_onnx_source *source,
                              const Onnx__ModelProto *model, lk_graph **out_graph,
                              lk_error *error) {
  lk_status status = LK_OK;
  builder b = {.source = source, .model = model, .error = error};
  const Onnx__GraphProto *graph = model->graph;
  *out_graph = NULL;
  if (!model->has_ir_version || graph == NULL) {
    return lk_fail(error, LK_MALFORMED, "failed to read the model: it has no %s",
                   graph == NULL ? "graph" : "ir_version");
  }
  LK_TRY(check_opsets(&b));
  LK_TRY(lk_graph_create(allocator, &b.graph, error));
  LK_TRY(lk_value_names_create(b.graph, count_names(graph), &b.names, error));
  LK_TRY(add_initializers(&b, graph));
  LK_TRY(add_inputs(&b, graph));
  LK_TRY(add_node_outputs(&b, graph));
  for (size_t i = 0; i < graph->n_node; i++) LK_TRY(add_node(&b, graph->node[i]));
  LK_TRY(add_outputs(&b, graph));
  LK_TRY(add_model_info(&b));
  LK_TRY(add_metadata(&b));
  b.graph->n_nodes_in_file = graph->n_node;
  *out_graph = b.graph;
  b.graph = NULL;

cleanup:
  lk_value_names_destroy(&b.names);
  lk_graph_destroy(b.graph);
  return status;
}
