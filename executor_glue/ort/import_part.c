/* Opset, types, constants and attributes, as ONNX Runtime describes them. */
#include "executor_glue/ort/import_part.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"

/* ---- the opset --------------------------------------------------------------------------------- */

lk_status lk_ort_import_opset(const lk_ort *ort, const lk_allocator *allocator,
                              const OrtGraph *graph, int64_t *out, lk_error *error) {
  static const char what[] = "read a graph's opsets";
  lk_status status = LK_OK;
  const char **domains = NULL;
  int64_t *versions = NULL;
  size_t count = 0;
  *out = 0;
  LK_TRY(lk_ort_check(ort, ort_Graph_GetNumOperatorSets(ort->api)(graph, &count), what, error));
  if (count == 0) return LK_OK;
  domains = lk_calloc(allocator, count, sizeof *domains);
  versions = lk_calloc(allocator, count, sizeof *versions);
  if (domains == NULL || versions == NULL) {
    LK_TRY(lk_fail_memory(error, "a graph's opsets", count * sizeof *versions));
  }
  LK_TRY(lk_ort_check(ort, ort_Graph_GetOperatorSets(ort->api)(graph, domains, versions, count),
                      what, error));
  for (size_t i = 0; i < count; i++) {
    if (strcmp(domains[i], "") == 0 || strcmp(domains[i], "ai.onnx") == 0) *out = versions[i];
  }
cleanup:
  lk_free(allocator, (void *)domains);
  lk_free(allocator, versions);
  return status;
}

/* ---- tensors ----------------------------------------------------------------------------------- */

lk_status lk_ort_import_tensor(const lk_ort *ort, const OrtValue *value, lk_tensor *out,
                               lk_error *error) {
  static const char what[] = "read a tensor";
  const OrtApi *api = ort->api;
  lk_status status = LK_OK;
  OrtTensorTypeAndShapeInfo *info = NULL;
  const void *data = NULL;
  uint32_t dtype = 0;
  size_t rank = 0;
  int64_t dims[LK_MAX_RANK] = {0};
  LK_TRY(lk_ort_check(ort, ort_GetTensorTypeAndShape(api)(value, &info), what, error));
  LK_TRY(lk_ort_check(ort, ort_GetTensorElementType(api)(info, &dtype), what, error));
  LK_TRY(lk_ort_check(ort, ort_GetDimensionsCount(api)(info, &rank), what, error));
  if (lk_dtype_size(dtype) == 0 || rank > LK_MAX_RANK) {
    LK_TRY(lk_fail(error, LK_UNSUPPORTED, "failed to read a tensor: element type %u, rank %zu",
                   dtype, rank));
  }
  LK_TRY(lk_ort_check(ort, ort_GetDimensions(api)(info, dims, rank), what, error));
  LK_TRY(lk_ort_check(ort, ort_GetTensorData(api)(value, &data), what, error));
  *out = (lk_tensor){.desc = lk_tensor_desc_make(dtype, (uint32_t)rank, dims),
                     .data = (void *)(uintptr_t)data}; /* lk_tensor has no const data */
  status = lk_tensor_size(&out->desc, "a tensor of ONNX Runtime", NULL, NULL, error);
cleanup:
  if (info != NULL) ort_ReleaseTensorTypeAndShapeInfo(api)(info);
  return status;
}

/* ---- values ------------------------------------------------------------------------------------ */

/* As far as ONNX Runtime knows it. */
static lk_status declare(const lk_ort *ort, lk_graph *graph, const OrtValueInfo *info,
                         int32_t index, lk_error *error) {
  static const char what[] = "read a value's type";
  const OrtApi *api = ort->api;
  lk_status status = LK_OK;
  const OrtTensorTypeAndShapeInfo *tensor = NULL;
  uint32_t dtype = 0;
  size_t rank = 0;
  const char *names[LK_MAX_RANK] = {NULL};
  LK_TRY(lk_ort_tensor_type(ort, info, &tensor, &dtype, &rank, error));
  if (tensor == NULL) return LK_OK;
  lk_declaration *declared = lk_graph_alloc(graph, sizeof *declared);
  if (declared == NULL) return lk_fail_memory(error, "a declaration", sizeof *declared);
  *declared = (lk_declaration){.rank = -1};
  if (lk_dtype_size(dtype) > 0) declared->dtype = dtype;
  graph->values[index].declared = declared;
  /* Without dimensions it is a scalar, or nobody knows its shape: the two look alike. */
  if (rank == 0 || rank > LK_MAX_RANK) return LK_OK;
  LK_TRY(lk_ort_check(ort, ort_GetDimensions(api)(tensor, declared->dims, rank), what, error));
  LK_TRY(lk_ort_check(ort, ort_GetSymbolicDimensions(api)(tensor, names, rank), what, error));
  declared->rank = (int32_t)rank;
  for (size_t i = 0; i < rank; i++) {
    if (declared->dims[i] >= 0 || names[i] == NULL || names[i][0] == '\0') continue;
    declared->symbols[i] = lk_graph_strndup(graph, names[i], strlen(names[i]));
    if (declared->symbols[i] == NULL) return lk_fail_memory(error, "a dimension's name", 0);
  }
cleanup:
  return status;
}

lk_status lk_ort_import_value(const lk_ort *ort, lk_graph *graph, const OrtValueInfo *info,
                              int32_t index, lk_error *error) {
  static const char what[] = "read a constant";
  lk_status status = LK_OK;
  const OrtValue *constant = NULL;
  bool is_constant = false;
  lk_tensor tensor;
  LK_TRY(declare(ort, graph, info, index, error));
  LK_TRY(lk_ort_check(ort, ort_ValueInfo_IsConstantInitializer(ort->api)(info, &is_constant), what,
                      error));
  if (!is_constant) return LK_OK;
  LK_TRY(
      lk_ort_check(ort, ort_ValueInfo_GetInitializerValue(ort->api)(info, &constant), what, error));
  if (constant == NULL) return LK_OK;
  status = lk_ort_import_tensor(ort, constant, &tensor, error);
  /* Strings and the like have no type here, so no node that reads them is claimed. */
  if (status == LK_UNSUPPORTED) return LK_OK;
  if (status == LK_OK) lk_value_lend_constant(graph, index, &tensor);
cleanup:
  return status;
}

/* ---- attributes -------------------------------------------------------------------------------- */

typedef struct reader {
  const lk_ort *ort;
  lk_graph *graph;
  const OrtOpAttr *attr;
  lk_error *error;
} reader;

/* Elements of `size` bytes. */
static lk_status read_elements(const reader *r, OrtOpAttrType type, uint32_t lk_type, size_t size,
                               lk_attr *out) {
  const OrtApi *api = r->ort->api;
  size_t bytes = 0;
  /* Without room it fails and says how much is needed; nothing is needed for no elements. */
  OrtStatus *refused = ort_ReadOpAttr(api)(r->attr, type, NULL, 0, &bytes);
  if (refused != NULL) ort_ReleaseStatus(api)(refused);
  void *data = lk_graph_alloc(r->graph, bytes);
  if (data == NULL) return lk_fail_memory(r->error, "an attribute", bytes);
  if (bytes > 0) {
    const lk_status status =
        lk_ort_check(r->ort, ort_ReadOpAttr(api)(r->attr, type, data, bytes, &bytes),
                     "read an attribute", r->error);
    if (status != LK_OK) return status;
  }
  out->type = lk_type;
  out->count = (uint32_t)(bytes / size);
  out->data = data;
  return LK_OK;
}

static lk_status read_tensor(const reader *r, lk_attr *out) {
  lk_status status = LK_OK;
  OrtValue *value = NULL;
  lk_tensor tensor;
  int64_t bytes = 0;
  LK_TRY(lk_ort_check(r->ort, ort_OpAttr_GetTensorAttributeAsOrtValue(r->ort->api)(r->attr, &value),
                      "read a tensor attribute", r->error));
  LK_TRY(lk_ort_import_tensor(r->ort, value, &tensor, r->error));
  LK_TRY(lk_tensor_size(&tensor.desc, "a tensor attribute", NULL, &bytes, r->error));
  lk_tensor *copy = lk_graph_alloc(r->graph, sizeof *copy);
  void *data = lk_graph_alloc(r->graph, (size_t)bytes);
  if (copy == NULL || data == NULL) {
    LK_TRY(lk_fail_memory(r->error, "a tensor attribute", (size_t)bytes));
  }
  if (bytes > 0) memcpy(data, tensor.data, (size_t)bytes);
  *copy = (lk_tensor){tensor.desc, data};
  out->type = LK_ATTR_TENSOR;
  out->count = 1;
  out->data = copy;
cleanup:
  if (value != NULL) ort_ReleaseValue(r->ort->api)(value);
  return status;
}

/* LK_UNSUPPORTED: the IR has no form for it. */
static lk_status read_attribute(const reader *r, OrtOpAttrType type, lk_attr *out) {
  switch (type) {
  case ORT_OP_ATTR_INT:
  case ORT_OP_ATTR_INTS:
    return read_elements(r, type, LK_ATTR_INTS, sizeof(int64_t), out);
  case ORT_OP_ATTR_FLOAT:
  case ORT_OP_ATTR_FLOATS:
    return read_elements(r, type, LK_ATTR_FLOATS, sizeof(float), out);
  case ORT_OP_ATTR_STRING:
    return read_elements(r, type, LK_ATTR_STRING, 1, out);
  case ORT_OP_ATTR_TENSOR:
    return read_tensor(r, out);
  default:
    return LK_UNSUPPORTED;
  }
}

static lk_status note_problem(lk_graph *graph, const char *name, const char **out,
                              lk_error *error) {
  char text[LK_ERROR_CAPACITY];
  (void)snprintf(text, sizeof text, "attribute '%s' holds a graph or strings", name);
  *out = lk_graph_strndup(graph, text, strlen(text));
  return *out != NULL ? LK_OK : lk_fail_memory(error, "a note on a node", sizeof text);
}

static lk_status add_attribute(const reader *r, lk_node *node, const char **out_problem) {
  lk_status status = LK_OK;
  const char *name = NULL;
  OrtOpAttrType type = ORT_OP_ATTR_UNDEFINED;
  lk_attr attr = {0};
  LK_TRY(lk_ort_check(r->ort, ort_OpAttr_GetName(r->ort->api)(r->attr, &name),
                      "read an attribute's name", r->error));
  LK_TRY(lk_ort_check(r->ort, ort_OpAttr_GetType(r->ort->api)(r->attr, &type),
                      "read an attribute's type", r->error));
  status = read_attribute(r, type, &attr);
  if (status == LK_UNSUPPORTED) return note_problem(r->graph, name, out_problem, r->error);
  if (status != LK_OK) return status;
  attr.name = lk_graph_strndup(r->graph, name, strlen(name));
  if (attr.name == NULL) return lk_fail_memory(r->error, "an attribute's name", strlen(name));
  node->attrs[node->n_attrs++] = attr;
cleanup:
  return status;
}

lk_status lk_ort_import_attributes(const lk_ort *ort, lk_graph *graph, const OrtNode *from,
                                   lk_node *node, const char **out_problem, lk_error *error) {
  lk_status status = LK_OK;
  const size_t count = node->n_attrs;
  node->n_attrs = 0; /* counts those that have been read */
  if (count == 0) return LK_OK;
  const OrtOpAttr **attrs = lk_graph_alloc(graph, count * sizeof *attrs);
  if (attrs == NULL) return lk_fail_memory(error, "attributes", count * sizeof *attrs);
  LK_TRY(lk_ort_check(ort, ort_Node_GetAttributes(ort->api)(from, attrs, count),
                      "read a node's attributes", error));
  for (size_t i = 0; i < count; i++) {
    const reader r = {ort, graph, attrs[i], error};
    LK_TRY(add_attribute(&r, node, out_problem));
  }
cleanup:
  return status;
}
