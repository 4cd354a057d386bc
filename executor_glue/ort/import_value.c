/* Values: what ONNX Runtime declares of them, and constants where they lie. */
#include "executor_glue/ort/import_value.h"

#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/ort/tensor.h"

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
  /* Without dimensions it is a scalar, or nobody knows its shape: the two look alike. */
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
