/* Reads types, shapes and bytes of tensors; constants where they lie. */
#include "executor_glue/ort/tensor.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"

static const char reading[] = "read a tensor";

lk_status lk_ort_value_type(const lk_ort *ort, const OrtValueInfo *value,
                            const OrtTensorTypeAndShapeInfo **out_info, uint32_t *out_dtype,
                            size_t *out_rank, lk_error *error) {
  static const char what[] = "read a value's type";
  const OrtApi *api = ort->api;
  const OrtTypeInfo *type = NULL;
  ONNXType kind = 0;
  *out_info = NULL;
  *out_dtype = 0;
  *out_rank = 0;
  LK_RETURN_NOT_OK(lk_ort_check(ort, ort_GetValueInfoTypeInfo(api)(value, &type), what, error));
  if (type == NULL) return LK_OK;
  LK_RETURN_NOT_OK(lk_ort_check(ort, ort_GetOnnxTypeFromTypeInfo(api)(type, &kind), what, error));
  if (kind != ONNX_TYPE_TENSOR) return LK_OK;
  LK_RETURN_NOT_OK(
      lk_ort_check(ort, ort_CastTypeInfoToTensorInfo(api)(type, out_info), what, error));
  LK_RETURN_NOT_OK(
      lk_ort_check(ort, ort_GetTensorElementType(api)(*out_info, out_dtype), what, error));
  return lk_ort_check(ort, ort_GetDimensionsCount(api)(*out_info, out_rank), what, error);
}

/* ---- with bytes ---- */

static lk_status set_desc(uint32_t dtype, size_t rank, const int64_t *dims, lk_tensor_desc *out,
                          lk_error *error) {
  if (lk_dtype_size(dtype) == 0) {
    char type[LK_DTYPE_TEXT_CAPACITY];
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to read a tensor: it is of type %s, numbers and bool are supported",
                   lk_dtype_text(dtype, type));
  }
  if (rank > LK_MAX_RANK) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to read a tensor: it has rank %zu, at most %d is supported", rank,
                   LK_MAX_RANK);
  }
  out->dtype = dtype;
  out->layout = LK_LAYOUT_PLAIN;
  out->rank = (uint32_t)rank;
  for (size_t i = 0; i < rank; i++) out->dims[i] = dims[i]; /* a scalar has none, and NULL */
  return LK_OK;
}

/* 1.23 makes an object of a shape. */
static lk_status read_desc_1_23(const lk_ort *ort, const OrtValue *value, lk_tensor_desc *out,
                                lk_error *error) {
  const OrtApi *api = ort->api;
  lk_status status = LK_OK;
  OrtTensorTypeAndShapeInfo *info = NULL;
  int64_t dims[LK_MAX_RANK] = {0};
  uint32_t dtype = 0;
  size_t rank = 0;
  LK_TRY(lk_ort_check(ort, ort_GetTensorTypeAndShape(api)(value, &info), reading, error));
  LK_TRY(lk_ort_check(ort, ort_GetTensorElementType(api)(info, &dtype), reading, error));
  LK_TRY(lk_ort_check(ort, ort_GetDimensionsCount(api)(info, &rank), reading, error));
  if (rank <= LK_MAX_RANK) {
    LK_TRY(lk_ort_check(ort, ort_GetDimensions(api)(info, dims, rank), reading, error));
  }
  status = set_desc(dtype, rank, dims, out, error);
cleanup:
  if (info != NULL) ort_ReleaseTensorTypeAndShapeInfo(api)(info);
  return status;
}

static lk_status read_desc(const lk_ort *ort, const OrtValue *value, lk_tensor_desc *out,
                           lk_error *error) {
  if (ort->api_24 == NULL) return read_desc_1_23(ort, value, out, error);
  uint32_t dtype = 0;
  const int64_t *dims = NULL;
  size_t rank = 0;
  LK_RETURN_NOT_OK(lk_ort_check(
      ort, ort_GetTensorElementTypeAndShapeDataReference(ort->api_24)(value, &dtype, &dims, &rank),
      reading, error));
  return set_desc(dtype, rank, dims, out, error);
}

lk_status lk_ort_tensor_read(const lk_ort *ort, const OrtValue *value, lk_tensor *out,
                             lk_error *error) {
  const void *data = NULL;
  LK_RETURN_NOT_OK(read_desc(ort, value, &out->desc, error));
  LK_RETURN_NOT_OK(lk_ort_check(ort, ort_GetTensorData(ort->api)(value, &data), reading, error));
  out->data = (void *)(uintptr_t)data; /* never written to: lk_tensor has no const data */
  return LK_OK;
}

/* ---- into the graph ---- */

lk_status lk_ort_check_ranks(const lk_ort *ort, lk_graph *graph, const lk_ort_values *values,
                             const char *what, const char **out_problem, lk_error *error) {
  *out_problem = NULL;
  for (size_t i = 0; i < values->count && *out_problem == NULL; i++) {
    const OrtTensorTypeAndShapeInfo *info = NULL;
    uint32_t dtype = 0;
    size_t rank = 0;
    char text[96];
    if (values->items[i] == NULL) continue;
    LK_RETURN_NOT_OK(lk_ort_value_type(ort, values->items[i], &info, &dtype, &rank, error));
    if (rank <= LK_MAX_RANK) continue;
    (void)snprintf(text, sizeof text, "%s %zu has rank %zu, at most %d is supported", what, i, rank,
                   LK_MAX_RANK);
    *out_problem = lk_graph_strndup(graph, text, strlen(text));
    if (*out_problem == NULL) return lk_fail_memory(error, "a reason", sizeof text);
  }
  return LK_OK;
}

static lk_status set_dims(const lk_ort *ort, lk_graph *graph, const OrtTensorTypeAndShapeInfo *info,
                          size_t rank, lk_declaration *declared, lk_error *error) {
  static const char what[] = "read a value's shape";
  const char *names[LK_MAX_RANK] = {NULL};
  LK_RETURN_NOT_OK(
      lk_ort_check(ort, ort_GetDimensions(ort->api)(info, declared->dims, rank), what, error));
  LK_RETURN_NOT_OK(
      lk_ort_check(ort, ort_GetSymbolicDimensions(ort->api)(info, names, rank), what, error));
  declared->rank = (int32_t)rank;
  for (size_t i = 0; i < rank; i++) {
    if (declared->dims[i] >= 0 || names[i] == NULL || names[i][0] == '\0') continue;
    declared->symbols[i] = lk_graph_strndup(graph, names[i], strlen(names[i]));
    if (declared->symbols[i] == NULL) {
      return lk_fail_memory(error, "a dimension's name", strlen(names[i]));
    }
  }
  return LK_OK;
}

static lk_status declare(const lk_ort *ort, lk_graph *graph, const OrtValueInfo *info,
                         int32_t index, lk_error *error) {
  const OrtTensorTypeAndShapeInfo *tensor = NULL;
  uint32_t dtype = 0;
  size_t rank = 0;
  LK_RETURN_NOT_OK(lk_ort_value_type(ort, info, &tensor, &dtype, &rank, error));
  if (tensor == NULL) return LK_OK;
  lk_declaration *declared = lk_graph_alloc(graph, sizeof *declared);
  if (declared == NULL) return lk_fail_memory(error, "a declaration", sizeof *declared);
  *declared = (lk_declaration){.rank = -1};
  if (lk_dtype_size(dtype) > 0) declared->dtype = dtype;
  graph->values[index].declared = declared;
  if (rank == 0 && lk_ort_knows_scalars(ort) &&
      ort_TensorTypeAndShape_HasShape(ort->api_24)(tensor)) {
    declared->rank = 0;
  }
  /* Of too high a rank, it is of a node that has a problem (lk_ort_check_ranks). */
  if (rank == 0 || rank > LK_MAX_RANK) return LK_OK;
  return set_dims(ort, graph, tensor, rank, declared, error);
}

/* NULL: it is not a constant. */
static lk_status find_constant(const lk_ort *ort, const OrtValueInfo *info, const OrtValue **out,
                               lk_error *error) {
  static const char what[] = "read a constant";
  bool is_constant = false;
  *out = NULL;
  LK_RETURN_NOT_OK(lk_ort_check(
      ort, ort_ValueInfo_IsConstantInitializer(ort->api)(info, &is_constant), what, error));
  if (!is_constant) return LK_OK;
  return lk_ort_check(ort, ort_ValueInfo_GetInitializerValue(ort->api)(info, out), what, error);
}

lk_status lk_ort_import_value(const lk_ort *ort, lk_graph *graph, const OrtValueInfo *info,
                              int32_t index, lk_error *error) {
  const OrtValue *constant = NULL;
  lk_tensor tensor = {0};
  LK_RETURN_NOT_OK(declare(ort, graph, info, index, error));
  LK_RETURN_NOT_OK(find_constant(ort, info, &constant, error));
  if (constant == NULL) return LK_OK;
  const lk_status status = lk_ort_tensor_read(ort, constant, &tensor, error);
  /* Strings and the like have no type here, so no node that reads them is claimed. */
  if (status == LK_UNSUPPORTED) return LK_OK;
  LK_RETURN_NOT_OK(status);
  LK_RETURN_NOT_OK(lk_tensor_size(&tensor.desc, "a constant", NULL, NULL, error));
  lk_value_lend_constant(graph, index, &tensor);
  return LK_OK;
}
