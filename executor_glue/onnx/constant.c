/* Initializers and Constant nodes: values that are known when the model is loaded. */
#include "executor_glue/onnx/constant.h"

#include <string.h>

#include <latchkey/latchkey.h>

#include "base/alloc.h"
#include "base/attrs.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/onnx/attribute.h"

lk_status lk_onnx_constant_from_tensor(const lk_onnx_source *source, lk_graph *graph, int32_t value,
                                       const Onnx__TensorProto *proto, lk_error *error) {
  lk_onnx_tensor tensor;
  lk_value *target = &graph->values[value];
  LK_RETURN_NOT_OK(lk_onnx_tensor_find(source, proto, target->name, &tensor, error));

  if (tensor.direct != NULL || tensor.n_bytes == 0) {
    /* Nobody writes to a MAPPED constant; lk_tensor has no const data. */
    target->constant = (lk_tensor){tensor.desc, (void *)(uintptr_t)tensor.direct};
    target->constant_kind = LK_CONSTANT_MAPPED;
    target->owner = tensor.owner;
  } else {
    LK_RETURN_NOT_OK(lk_onnx_source_charge(source, tensor.n_bytes, target->name, error));
    void *data = lk_alloc_aligned(graph->allocator, tensor.n_bytes, LK_DATA_ALIGNMENT);
    if (data == NULL) return lk_fail_memory(error, target->name, tensor.n_bytes);
    const lk_status status = lk_onnx_tensor_copy(&tensor, data, error);
    if (status != LK_OK) {
      lk_free(graph->allocator, data);
      lk_onnx_source_give_back(source, tensor.n_bytes);
      return lk_error_prefix(error, status, "tensor '%s'", target->name);
    }
    lk_value_set_constant(graph, value, &tensor.desc, data);
  }
  return LK_OK;
}

/* By its name and type. Files of the first versions of ONNX have no types. */
static lk_status check_attribute(const char *kind, const Onnx__AttributeProto *a, int32_t opset,
                                 lk_error *error) {
  const lk_op_row *row = lk_get_api(LK_API_VERSION)->op_find("Constant", "", opset);
  const lk_attr given = {.name = kind, .type = lk_onnx_attribute_type(a), .count = 1};
  if (row == NULL || given.type == 0) return LK_OK;
  return lk_op_attr_check(row, opset, &given, error);
}

/* A copy of `count` elements; rank 0 or 1. */
static lk_status from_elements(const lk_onnx_source *source, lk_graph *graph, int32_t value,
                               uint32_t dtype, uint32_t rank, size_t count, const void *elements,
                               lk_error *error) {
  const uint64_t bytes = (uint64_t)count * lk_dtype_size(dtype);
  LK_RETURN_NOT_OK(lk_onnx_source_charge(source, bytes, graph->values[value].name, error));
  const int64_t dims[1] = {(int64_t)count};
  /* Nobody writes to what is copied; lk_tensor has no const data. */
  const lk_tensor from = {lk_tensor_desc_make(dtype, rank, dims), (void *)(uintptr_t)elements};
  return lk_value_copy_constant(graph, value, &from, error);
}

lk_status lk_onnx_constant_from_node(const lk_onnx_source *source, const lk_onnx_scope *scope,
                                     int32_t value, const Onnx__NodeProto *node, int32_t opset,
                                     lk_error *error) {
  lk_graph *graph = scope->graph;
  const char *name = graph->values[value].name;
  if (node->n_attribute != 1 || node->attribute[0]->name == NULL) {
    return lk_fail(error, LK_MALFORMED,
                   "failed to read Constant '%s': it has %zu attributes, exactly one is required",
                   name, node->n_attribute);
  }
  const char *kind = node->attribute[0]->name;
  const Onnx__AttributeProto *a = lk_onnx_attribute_resolve(scope, node->attribute[0]);
  if (a == NULL) {
    return lk_fail(error, LK_MALFORMED,
                   "failed to read Constant '%s': attribute '%s' refers to '%s', which the call of "
                   "the function does not give",
                   name, kind, node->attribute[0]->ref_attr_name);
  }
  const lk_status allowed = check_attribute(kind, a, opset, error);
  if (allowed != LK_OK) {
    return lk_error_prefix(error, allowed, "failed to read Constant '%s'", name);
  }
  if (strcmp(kind, "value") == 0 && a->t != NULL) {
    return lk_onnx_constant_from_tensor(source, graph, value, a->t, error);
  }
  if (strcmp(kind, "value_float") == 0) {
    return from_elements(source, graph, value, LK_F32, 0, 1, &a->f, error);
  }
  if (strcmp(kind, "value_floats") == 0) {
    return from_elements(source, graph, value, LK_F32, 1, a->n_floats, a->floats, error);
  }
  if (strcmp(kind, "value_int") == 0) {
    return from_elements(source, graph, value, LK_I64, 0, 1, &a->i, error);
  }
  if (strcmp(kind, "value_ints") == 0) {
    return from_elements(source, graph, value, LK_I64, 1, a->n_ints, a->ints, error);
  }
  return lk_fail(error, LK_UNSUPPORTED,
                 "failed to read Constant '%s': attribute '%s' is not supported or is empty, a "
                 "value that is a tensor, numbers or a number is required",
                 name, kind);
}

lk_status lk_onnx_constant_forgive(lk_graph *graph, int32_t value, lk_status status,
                                   lk_error *error) {
  int32_t node = LK_NO_NODE;
  if (!lk_graph_may_leave_unread(status)) return status;
  const lk_error why = *error;
  LK_RETURN_NOT_OK(lk_graph_add_node(graph, 0, 1, 0, &node, error));
  graph->nodes[node].outputs[0] = value;
  return lk_graph_leave_unread(graph, node, &why, error);
}
