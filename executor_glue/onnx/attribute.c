/* A node's attributes into the graph IR. */
#include "executor_glue/onnx/attribute.h"

#include <string.h>

#include "base/status.h"

/* What the attributes of one node are read with. */
typedef struct reader {
  const lk_onnx_source *source;
  lk_graph *graph;
  const Onnx__NodeProto *node;
  const char *label;
  lk_error *error;
} reader;

static lk_status copy_list(const reader *r, uint32_t type, const void *items, size_t count,
                           size_t item_bytes, lk_attr *out) {
  void *copy = lk_graph_alloc(r->graph, count * item_bytes);
  if (copy == NULL) return lk_fail_memory(r->error, "an attribute", count * item_bytes);
  if (count > 0) memcpy(copy, items, count * item_bytes);
  *out = (lk_attr){out->name, type, (uint32_t)count, copy};
  return LK_OK;
}

/* Copies the tensors' data, so that it is aligned: attributes are small. */
static lk_status copy_tensors(const reader *r, const char *name, Onnx__TensorProto *const *tensors,
                              size_t count, lk_attr *out) {
  lk_tensor *copies = lk_graph_alloc(r->graph, count * sizeof *copies);
  if (copies == NULL) return lk_fail_memory(r->error, "an attribute", count * sizeof *copies);
  for (size_t i = 0; i < count; i++) {
    lk_onnx_tensor tensor;
    LK_RETURN_NOT_OK(lk_onnx_tensor_find(r->source, tensors[i], name, &tensor, r->error));
    void *data = lk_graph_alloc(r->graph, tensor.n_bytes);
    if (data == NULL) return lk_fail_memory(r->error, "a tensor attribute", tensor.n_bytes);
    LK_RETURN_NOT_OK(lk_onnx_tensor_copy(&tensor, data, r->error));
    copies[i] = (lk_tensor){tensor.desc, data};
  }
  *out = (lk_attr){out->name, LK_ATTR_TENSOR, (uint32_t)count, copies};
  return LK_OK;
}

static lk_status malformed(const reader *r, const Onnx__AttributeProto *a, const char *problem) {
  return lk_fail(r->error, LK_MALFORMED, "failed to read node '%s' (%s): attribute '%s' %s",
                 r->label, r->node->op_type, a->name, problem);
}

static lk_status read_one(const reader *r, const Onnx__AttributeProto *a, lk_attr *out) {
  switch (a->has_type ? (int)a->type : ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED) {
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
    return copy_list(r, LK_ATTR_INTS, &a->i, 1, sizeof a->i, out);
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
    return copy_list(r, LK_ATTR_INTS, a->ints, a->n_ints, sizeof a->ints[0], out);
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
    return copy_list(r, LK_ATTR_FLOATS, &a->f, 1, sizeof a->f, out);
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
    return copy_list(r, LK_ATTR_FLOATS, a->floats, a->n_floats, sizeof a->floats[0], out);
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
    return copy_list(r, LK_ATTR_STRING, a->s.data, a->s.len, 1, out);
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR:
    if (a->t == NULL) break;
    return copy_tensors(r, a->name, &a->t, 1, out);
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSORS:
    return copy_tensors(r, a->name, a->tensors, a->n_tensors, out);
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED:
    break;
  default: {
    const ProtobufCEnumValue *type = protobuf_c_enum_descriptor_get_value(
        &onnx__attribute_proto__attribute_type__descriptor, (int)a->type);
    return lk_fail(r->error, LK_UNSUPPORTED,
                   "failed to read node '%s' (%s): attribute '%s' of type %s is not supported",
                   r->label, r->node->op_type, a->name, type != NULL ? type->name : "unknown");
  }
  }
  return malformed(r, a, "has no type or no value");
}

lk_status lk_onnx_attributes_read(const lk_onnx_source *source, lk_graph *graph,
                                  const Onnx__NodeProto *node, const char *label, lk_attr *attrs,
                                  lk_error *error) {
  const reader r = {source, graph, node, label, error};
  for (size_t i = 0; i < node->n_attribute; i++) {
    const Onnx__AttributeProto *a = node->attribute[i];
    if (a->name == NULL || a->name[0] == '\0') {
      return lk_fail(error, LK_MALFORMED,
                     "failed to read node '%s' (%s): attribute %zu has no name", label,
                     node->op_type, i);
    }
    for (size_t j = 0; j < i; j++) {
      if (strcmp(attrs[j].name, a->name) == 0) return malformed(&r, a, "is there twice");
    }
    if (a->ref_attr_name != NULL && a->ref_attr_name[0] != '\0') {
      return malformed(&r, a, "refers to one of a function, outside of any");
    }
    attrs[i].name = lk_graph_strndup(graph, a->name, strlen(a->name));
    if (attrs[i].name == NULL) return lk_fail_memory(error, "an attribute", strlen(a->name));
    LK_RETURN_NOT_OK(read_one(&r, a, &attrs[i]));
  }
  return LK_OK;
}
