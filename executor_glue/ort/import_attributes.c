/* Attributes, as ONNX Runtime describes them. */
#include "executor_glue/ort/import_attributes.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/ort/tensor.h"

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
    LK_RETURN_NOT_OK(lk_ort_check(r->ort, ort_ReadOpAttr(api)(r->attr, type, data, bytes, &bytes),
                                  "read an attribute", r->error));
  }
  out->type = lk_type;
  out->count = (uint32_t)(bytes / size);
  out->data = data;
  return LK_OK;
}

/* They come behind each other, each with a 0 at its end. */
static lk_status read_strings(const reader *r, lk_attr *out) {
  LK_RETURN_NOT_OK(read_elements(r, ORT_OP_ATTR_STRINGS, LK_ATTR_STRINGS, 1, out));
  const char *text = out->data;
  const uint32_t bytes = out->count;
  uint32_t count = 0;
  for (uint32_t i = 0; i < bytes; i++) count += text[i] == 0 ? 1 : 0;
  const char **strings = lk_graph_alloc(r->graph, count * sizeof *strings);
  if (strings == NULL) {
    return lk_fail_memory(r->error, "a list of strings", count * sizeof *strings);
  }
  for (uint32_t i = 0; i < count; i++, text += strlen(text) + 1) strings[i] = text;
  out->count = count;
  out->data = strings;
  return LK_OK;
}

static lk_status read_tensor(const reader *r, lk_attr *out) {
  lk_status status = LK_OK;
  OrtValue *value = NULL;
  lk_tensor tensor = {0};
  int64_t bytes = 0;
  LK_TRY(lk_ort_check(r->ort, ort_OpAttr_GetTensorAttributeAsOrtValue(r->ort->api)(r->attr, &value),
                      "read a tensor attribute", r->error));
  LK_TRY(lk_ort_tensor_read(r->ort, value, &tensor, r->error));
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
  case ORT_OP_ATTR_STRINGS:
    return read_strings(r, out);
  case ORT_OP_ATTR_TENSOR:
    return read_tensor(r, out);
  default:
    return LK_UNSUPPORTED;
  }
}

static lk_status note_problem(const reader *r, const char *name, const char **out) {
  char text[LK_ERROR_CAPACITY];
  (void)snprintf(text, sizeof text, "attribute '%s' holds a graph", name);
  *out = lk_graph_strndup(r->graph, text, strlen(text));
  return *out != NULL ? LK_OK : lk_fail_memory(r->error, "a note on a node", strlen(text));
}

static lk_status add_attribute(const reader *r, lk_node *node, const char **out_problem) {
  const OrtApi *api = r->ort->api;
  const char *name = NULL;
  OrtOpAttrType type = ORT_OP_ATTR_UNDEFINED;
  lk_attr attr = {0};
  LK_RETURN_NOT_OK(lk_ort_check(r->ort, ort_OpAttr_GetName(api)(r->attr, &name),
                                "read an attribute's name", r->error));
  LK_RETURN_NOT_OK(lk_ort_check(r->ort, ort_OpAttr_GetType(api)(r->attr, &type),
                                "read an attribute's type", r->error));
  const lk_status status = read_attribute(r, type, &attr);
  if (status == LK_UNSUPPORTED) return note_problem(r, name, out_problem);
  LK_RETURN_NOT_OK(status);
  attr.name = lk_graph_strndup(r->graph, name, strlen(name));
  if (attr.name == NULL) return lk_fail_memory(r->error, "an attribute's name", strlen(name));
  node->attrs[node->n_attrs++] = attr;
  return LK_OK;
}

lk_status lk_ort_import_attributes(const lk_ort *ort, lk_graph *graph,
                                   const lk_ort_attributes *attributes, lk_node *node,
                                   const char **out_problem, lk_error *error) {
  node->n_attrs = 0; /* counts those that have been read */
  for (size_t i = 0; i < attributes->count; i++) {
    const reader r = {ort, graph, attributes->items[i], error};
    LK_RETURN_NOT_OK(add_attribute(&r, node, out_problem));
  }
  return LK_OK;
}
