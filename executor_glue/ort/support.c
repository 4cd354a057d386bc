/* Asks the operator table, node by node, what it can run and why not. */
#include "executor_glue/ort/support.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/ort/partition.h"
#include "executor_glue/run/program.h"

/* Weights decide nothing about support, and hashing them twice costs seconds. */
#define MAX_CONSTANT_BYTES ((int64_t)4096)

typedef struct asker {
  const lk_api *api;
  lk_executor *executor;
  lk_graph *graph;
} asker;

static bool is_small(const lk_value *value) {
  int64_t bytes = 0;
  return value->constant_kind != LK_CONSTANT_NONE &&
         lk_tensor_size(&value->constant.desc, value->name, NULL, &bytes, NULL) == LK_OK &&
         bytes <= MAX_CONSTANT_BYTES;
}

static bool is_data(uint32_t dtype) {
  return dtype != LK_DTYPE_NONE && !lk_ort_is_shape_type(dtype);
}

/* Dropout is planned by the value of its training_mode (since opset 12). The embedded executor says so
 * when a run brings a true one; here that would be too late for another provider to take the node. */
static lk_status check_training(const lk_graph *graph, const lk_node *node, lk_error *error) {
  enum { TRAINING_MODE = 2 };
  if (!lk_node_is(node, "Dropout") || node->n_inputs <= TRAINING_MODE) return LK_OK;
  if (node->inputs[TRAINING_MODE] == LK_NO_VALUE) return LK_OK;
  const lk_value *mode = &graph->values[node->inputs[TRAINING_MODE]];
  if (!is_small(mode)) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "input 'training_mode' is not constant, only inference is supported");
  }
  if (lk_elements(&mode->constant.desc) == 1 && lk_constant_number(mode, 0) != 0) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "input 'training_mode' is true, only inference is supported");
  }
  return LK_OK;
}

/* LK_OK, or why the node is left. */
static lk_status ask(const asker *a, const lk_node *node, lk_op_info *out_info, lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = a->graph->allocator;
  lk_op *op = NULL;
  const char *name = node->name;
  lk_node_input *inputs = lk_calloc(allocator, node->n_inputs, sizeof *inputs);
  uint32_t *dtypes = lk_calloc(allocator, node->n_inputs, sizeof *dtypes);
  if (inputs == NULL || dtypes == NULL) {
    LK_TRY(lk_fail_memory(error, "a node's inputs", node->n_inputs * sizeof *inputs));
  }
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    inputs[i].flags = LK_INPUT_COPY;
    if (node->inputs[i] == LK_NO_VALUE) {
      inputs[i].flags = LK_INPUT_ABSENT;
      continue;
    }
    const lk_value *value = &a->graph->values[node->inputs[i]];
    dtypes[i] = lk_value_dtype(value);
    if (is_small(value)) inputs[i].constant = &value->constant;
    if (dtypes[i] != LK_DTYPE_NONE) continue;
    LK_TRY(lk_fail(error, LK_UNSUPPORTED, "input %u is no tensor of a type that is supported", i));
  }
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    if (node->outputs[i] != LK_NO_VALUE) name = a->graph->values[node->outputs[i]].name;
  }
  const lk_node_desc desc = {.struct_size = sizeof desc,
                             .op_type = node->op_type,
                             .domain = node->domain,
                             .output_name = name,
                             .opset = node->opset,
                             .n_inputs = node->n_inputs,
                             .n_outputs = node->n_outputs,
                             .n_attrs = node->n_attrs,
                             .inputs = inputs,
                             .attrs = node->attrs};
  LK_TRY(check_training(a->graph, node, error));
  LK_TRY(a->api->op_create(a->executor, &desc, &op, error));
  LK_TRY(a->api->op_check_types(op, dtypes, error));
  out_info->struct_size = sizeof *out_info;
  LK_TRY(a->api->op_info(op, out_info, error));
cleanup:
  a->api->op_destroy(op);
  lk_free(allocator, dtypes);
  lk_free(allocator, inputs);
  return status;
}

static bool does_work(const lk_graph *graph, const lk_node *node, const lk_op_info *info) {
  if ((info->row->flags & LK_OP_WORTH_CLAIMING) == 0) return false;
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    if (node->outputs[i] != LK_NO_VALUE &&
        is_data(lk_value_dtype(&graph->values[node->outputs[i]])))
      return true;
  }
  return false;
}

lk_status lk_ort_support_find(const lk_ort *ort, lk_executor *executor, const lk_ort_import *import,
                              lk_ort_support *out, lk_error *error) {
  lk_graph *graph = import->graph;
  const size_t n = graph->n_nodes;
  const asker a = {ort->latchkey, executor, graph};
  out->reasons = lk_graph_alloc(graph, n * sizeof *out->reasons);
  out->works = lk_graph_alloc(graph, n * sizeof *out->works);
  out->shape_inputs = lk_graph_alloc(graph, n * sizeof *out->shape_inputs);
  out->shape_only = lk_graph_alloc(graph, n * sizeof *out->shape_only);
  if (out->reasons == NULL || out->works == NULL || out->shape_inputs == NULL ||
      out->shape_only == NULL) {
    return lk_fail_memory(error, "the support of nodes", n * sizeof *out->reasons);
  }
  for (size_t i = 0; i < n; i++) {
    const lk_node *node = &graph->nodes[i];
    lk_op_info info = {0};
    lk_error why;
    out->reasons[i] = import->problems[node->source];
    out->works[i] = out->shape_only[i] = false;
    out->shape_inputs[i] = 0;
    if (out->reasons[i] != NULL) continue;
    const lk_status status = ask(&a, node, &info, &why);
    if (status == LK_OUT_OF_MEMORY) {
      if (error != NULL) *error = why;
      return status;
    }
    if (status != LK_OK) {
      out->reasons[i] = lk_graph_strndup(graph, why.message, strlen(why.message));
      if (out->reasons[i] == NULL) return lk_fail_memory(error, "a reason", sizeof why.message);
      continue;
    }
    out->shape_inputs[i] = info.shape_inputs;
    out->shape_only[i] = (info.row->flags & LK_OP_SHAPE_ONLY) != 0;
    out->works[i] = does_work(graph, node, &info);
  }
  return LK_OK;
}
