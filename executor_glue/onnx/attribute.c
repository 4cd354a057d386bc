/* A node's attributes into the graph IR. */
#include "executor_glue/onnx/attribute.h"

#include <string.h>

#include <latchkey/latchkey.h>

#include "base/attrs.h"
#include "base/status.h"
#include "executor_glue/graph/own_ops.h"

/* What the attributes of one node are read with. */
typedef struct reader {
  const lk_onnx_source *source;
  lk_graph *graph;
  const Onnx__NodeProto *node;
  const char *label;
  lk_error *error;
} reader;

/* Room in the graph's memory. Also charged where the scan has charged it: each call of a function
 * copies the attributes in it, and each attribute what it finds in other files. */
static lk_status take(const reader *r, size_t bytes, const char *name, void **out) {
  *out = NULL;
  LK_RETURN_NOT_OK(lk_onnx_source_charge(r->source, bytes, name, r->error));
  *out = lk_graph_alloc(r->graph, bytes);
  return *out != NULL ? LK_OK : lk_fail_memory(r->error, "an attribute", bytes);
}

static lk_status copy_list(const reader *r, uint32_t type, const void *items, size_t count,
                           size_t item_bytes, lk_attr *out) {
  void *copy = NULL;
  LK_RETURN_NOT_OK(take(r, count * item_bytes, out->name, &copy));
  if (count > 0) memcpy(copy, items, count * item_bytes);
  *out = (lk_attr){out->name, type, (uint32_t)count, copy};
  return LK_OK;
}

/* Copies the tensors' data, so that it is aligned: attributes are small. */
static lk_status copy_tensors(const reader *r, const char *name, Onnx__TensorProto *const *tensors,
                              size_t count, lk_attr *out) {
  void *room = NULL;
  LK_RETURN_NOT_OK(take(r, count * sizeof(lk_tensor), name, &room));
  lk_tensor *copies = room;
  for (size_t i = 0; i < count; i++) {
    lk_onnx_tensor tensor;
    LK_RETURN_NOT_OK(lk_onnx_tensor_find(r->source, tensors[i], name, &tensor, r->error));
    void *data = NULL;
    LK_RETURN_NOT_OK(take(r, tensor.n_bytes, name, &data));
    LK_RETURN_NOT_OK(lk_onnx_tensor_copy(&tensor, data, r->error));
    copies[i] = (lk_tensor){tensor.desc, data};
  }
  *out = (lk_attr){out->name, LK_ATTR_TENSOR, (uint32_t)count, copies};
  return LK_OK;
}

/* With a NUL at the end of each. */
static lk_status copy_strings(const reader *r, const Onnx__AttributeProto *a, lk_attr *out) {
  void *room = NULL;
  LK_RETURN_NOT_OK(take(r, a->n_strings * sizeof(char *), out->name, &room));
  const char **texts = room;
  for (size_t i = 0; i < a->n_strings; i++) {
    LK_RETURN_NOT_OK(lk_onnx_source_charge(r->source, a->strings[i].len, out->name, r->error));
    texts[i] = lk_graph_strndup(r->graph, (const char *)a->strings[i].data, a->strings[i].len);
    if (texts[i] == NULL) return lk_fail_memory(r->error, "an attribute", a->strings[i].len);
  }
  *out = (lk_attr){out->name, LK_ATTR_STRINGS, (uint32_t)a->n_strings, texts};
  return LK_OK;
}

static lk_status malformed(const reader *r, const Onnx__AttributeProto *a, const char *problem) {
  return lk_fail(r->error, LK_MALFORMED, "failed to read node '%s' (%s): attribute '%s' %s",
                 r->label, r->node->op_type, a->name, problem);
}

static int type_of(const Onnx__AttributeProto *a) {
  return a->has_type ? (int)a->type : ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED;
}

uint32_t lk_onnx_attribute_type(const Onnx__AttributeProto *attribute) {
  switch (type_of(attribute)) {
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED:
    return 0;
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
    return LK_ATTR_INTS;
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
    return LK_ATTR_FLOATS;
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
    return LK_ATTR_STRING;
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS:
    return LK_ATTR_STRINGS;
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR:
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSORS:
    return LK_ATTR_TENSOR;
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH:
    return LK_ATTR_GRAPH;
  default:
    return LK_ATTR_OTHER;
  }
}

/* Leaves `out->type` 0 for a graph; of what the IR does not have, the name and the type alone. */
static lk_status read_one(const reader *r, const Onnx__AttributeProto *a, lk_attr *out) {
  switch (type_of(a)) {
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
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS:
    return copy_strings(r, a, out);
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED:
    break;
  default:
    out->type = lk_onnx_attribute_type(a);
    if (out->type != LK_ATTR_GRAPH) return LK_OK;
    if (a->g == NULL) break;
    out->type = 0; /* a body of the node is no attribute of it */
    return LK_OK;
  }
  return malformed(r, a, "has no type or no value");
}

static const lk_op_row *find_row(const lk_graph *graph, const lk_node *node) {
  const lk_op_row *own = lk_own_op_find(node);
  return own != NULL ? own : lk_graph_find_row(lk_get_api(LK_API_VERSION), graph, node);
}

static lk_status check_list(const reader *r, const lk_op_row *row, int32_t opset,
                            const Onnx__AttributeProto *a, const char *name) {
  static const char list[] = "a list of ";
  const int type = type_of(a);
  const bool is_list = type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS ||
                       type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS ||
                       type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSORS;
  const lk_op_attr *attr = row != NULL ? lk_op_attr_find(row, name, opset) : NULL;
  /* What else is wrong with it is told where attributes are checked. */
  if (attr == NULL || !lk_op_attr_holds(attr, opset) || attr->type != lk_onnx_attribute_type(a) ||
      attr->type == LK_ATTR_STRING || attr->type == LK_ATTR_STRINGS ||
      is_list == (attr->is_list != 0)) {
    return LK_OK;
  }
  return lk_fail(r->error, LK_MALFORMED,
                 "failed to read node '%s' (%s): attribute '%s' holds %s%s, it must hold %s%s",
                 r->label, r->node->op_type, name, is_list ? list : "",
                 lk_attr_type_text(attr->type, is_list), is_list ? "" : list,
                 lk_attr_type_text(attr->type, !is_list));
}

static bool is_reference(const Onnx__AttributeProto *a) {
  return a->ref_attr_name != NULL && a->ref_attr_name[0] != '\0';
}

const Onnx__AttributeProto *lk_onnx_attribute_resolve(const lk_onnx_scope *scope,
                                                      const Onnx__AttributeProto *attribute) {
  const lk_onnx_call *call = scope->call;
  if (!is_reference(attribute)) return attribute;
  for (size_t i = 0; call != NULL && i < call->n_given; i++) {
    if (strcmp(call->names[i], attribute->ref_attr_name) == 0) return call->given[i];
  }
  for (size_t i = 0; call != NULL && i < call->function->n_attribute_proto; i++) {
    const Onnx__AttributeProto *fallback = call->function->attribute_proto[i];
    if (fallback->name == NULL || is_reference(fallback)) continue;
    if (strcmp(fallback->name, attribute->ref_attr_name) == 0) return fallback;
  }
  return NULL;
}

lk_status lk_onnx_attributes_read(const lk_onnx_source *source, const lk_onnx_scope *scope,
                                  const Onnx__NodeProto *node, const char *label, lk_node *out,
                                  lk_error *error) {
  const reader r = {source, scope->graph, node, label, error};
  const lk_op_row *row = node->n_attribute > 0 ? find_row(scope->graph, out) : NULL;
  out->n_attrs = 0;
  for (size_t i = 0; i < node->n_attribute; i++) {
    const Onnx__AttributeProto *a = node->attribute[i];
    if (a->name == NULL || a->name[0] == '\0') {
      return lk_fail(error, LK_MALFORMED,
                     "failed to read node '%s' (%s): attribute %zu has no name, it is required",
                     label, node->op_type, i);
    }
    for (size_t j = 0; j < i; j++) {
      if (strcmp(node->attribute[j]->name, a->name) == 0) return malformed(&r, a, "is there twice");
    }
    if (is_reference(a) && scope->call == NULL) {
      return malformed(&r, a, "refers to one of a function, outside of any");
    }
    const Onnx__AttributeProto *resolved = lk_onnx_attribute_resolve(scope, a);
    if (resolved == NULL) continue;
    lk_attr *attr = &out->attrs[out->n_attrs];
    attr->name = lk_graph_strndup(scope->graph, a->name, strlen(a->name));
    if (attr->name == NULL) return lk_fail_memory(error, "an attribute", strlen(a->name));
    LK_RETURN_NOT_OK(lk_onnx_source_forgive(source, read_one(&r, resolved, attr), error));
    if (attr->type != 0) out->n_attrs++;
    LK_RETURN_NOT_OK(check_list(&r, row, out->opset, resolved, a->name));
  }
  return LK_OK;
}
