/* A node of an operator of a host's: its attributes, which are copied, and how the host sees it. */
#include <stdint.h>
#include <string.h>

#include "base/bump.h"
#include "base/tensor.h"
#include "ops/host_operator.h"

/* ---- attributes ---- */

/* Writes one behind the other; without `begin`, it only counts. */
typedef struct copier {
  unsigned char *begin;
  size_t used; /* SIZE_MAX: more than there is */
} copier;

/* Room for `bytes`; NULL while it counts. */
static void *take(copier *self, size_t bytes) {
  void *to = self->begin != NULL ? self->begin + self->used : NULL;
  const size_t rounded = bytes > SIZE_MAX - LK_BUMP_ALIGNMENT ? SIZE_MAX : lk_bump_round(bytes);
  self->used = rounded > SIZE_MAX - self->used ? SIZE_MAX : self->used + rounded;
  return to;
}

static void *put(copier *self, const void *from, size_t bytes) {
  void *to = take(self, bytes);
  if (to != NULL && bytes > 0) memcpy(to, from, bytes);
  return to;
}

static size_t tensor_bytes(const lk_tensor *tensor) {
  int64_t bytes = 0;
  /* the node has been checked */
  return lk_tensor_size(&tensor->desc, "", NULL, &bytes, NULL) == LK_OK ? (size_t)bytes : 0;
}

static void put_tensors(copier *self, const lk_attr *from, lk_attr *to) {
  const lk_tensor *tensors = from->data;
  lk_tensor *copies = put(self, tensors, from->count * sizeof *tensors);
  to->data = copies;
  for (uint32_t i = 0; i < from->count; i++) {
    void *data = put(self, tensors[i].data, tensor_bytes(&tensors[i]));
    if (copies != NULL) copies[i].data = data;
  }
}

static void put_strings(copier *self, const lk_attr *from, lk_attr *to) {
  const char *const *texts = from->data;
  const char **copies = put(self, (const void *)texts, from->count * sizeof *texts);
  to->data = (const void *)copies;
  for (uint32_t i = 0; i < from->count; i++) {
    const char *text = put(self, texts[i], strlen(texts[i]) + 1);
    if (copies != NULL) copies[i] = text;
  }
}

static void put_attr(copier *self, const lk_attr *from, lk_attr *to) {
  *to = *from;
  to->name = put(self, from->name, strlen(from->name) + 1);
  switch (from->type) {
  case LK_ATTR_INTS:
    to->data = put(self, from->data, from->count * sizeof(int64_t));
    break;
  case LK_ATTR_FLOATS:
    to->data = put(self, from->data, from->count * sizeof(float));
    break;
  case LK_ATTR_STRING:
    to->data = put(self, from->data, from->count);
    break;
  case LK_ATTR_STRINGS:
    put_strings(self, from, to);
    break;
  default:
    put_tensors(self, from, to);
  }
}

size_t lk_host_params_behind(const lk_node_desc *desc) {
  copier counter = {NULL, 0};
  lk_attr none;
  (void)take(&counter, desc->n_attrs * sizeof(lk_attr));
  for (uint32_t i = 0; i < desc->n_attrs; i++) put_attr(&counter, &desc->attrs[i], &none);
  return counter.used < SIZE_MAX - sizeof(lk_host_params) ? counter.used
                                                          : SIZE_MAX - sizeof(lk_host_params);
}

void lk_host_params_parse(lk_attrs *attrs, void *params) {
  lk_host_params *self = params;
  const lk_node_desc *desc = attrs->desc;
  copier copies = {(unsigned char *)self->attrs, 0};
  (void)take(&copies, desc->n_attrs * sizeof(lk_attr));
  self->n_attrs = desc->n_attrs;
  for (uint32_t i = 0; i < desc->n_attrs; i++) put_attr(&copies, &desc->attrs[i], &self->attrs[i]);
}

/* ---- tensors ---- */

lk_tensor_desc lk_host_plain(const lk_tensor_desc *desc) {
  lk_tensor_desc plain = *desc;
  plain.layout = LK_LAYOUT_PLAIN;
  plain.reserved = 0;
  for (uint32_t d = lk_rank_is_known(desc) ? desc->rank : 0; d < LK_MAX_RANK; d++) {
    plain.dims[d] = 0;
  }
  return plain;
}

void lk_host_node_describe(const lk_op_node *node, const lk_tensor *inputs, lk_host_node *out) {
  const lk_host_params *params = node->params;
  const uint64_t values = node->class_->row.shape_inputs;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    out->inputs[i] = (lk_tensor){0};
    if (!lk_op_has(node, i)) continue;
    out->inputs[i].desc = lk_host_plain(&inputs[i].desc);
    if ((values >> i & 1) != 0) out->inputs[i].data = inputs[i].data;
  }
  out->node = (lk_operator_node){.struct_size = sizeof out->node,
                                 .opset = node->opset,
                                 .n_inputs = node->n_inputs,
                                 .n_outputs = node->n_outputs,
                                 .n_attrs = params->n_attrs,
                                 .inputs = out->inputs,
                                 .attrs = params->attrs};
}
