/* From a node's description to a node as operators see it, and what is refused on the way. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/names.h"
#include "base/status.h"
#include "base/struct.h"
#include "base/tensor.h"
#include "ops/op_table.h"
#include "plugin/internal.h"

#define MAX_INPUTS 4096
#define MAX_POST_OPS 32
#define MAX_OPTIONAL_INPUTS 64 /* absent inputs are bits of one word */

static lk_status check_inputs(const lk_node_desc *desc, lk_error *error) {
  for (uint32_t i = 0; i < desc->n_inputs; i++) {
    const uint32_t flags = desc->inputs[i].flags;
    if ((flags & ~(uint32_t)(LK_INPUT_ABSENT | LK_INPUT_COPY)) == 0) continue;
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "input %" PRIu32 " has flags 0x%" PRIx32 ", those of lk_input_flags are known",
                   i, flags);
  }
  for (uint32_t i = MAX_OPTIONAL_INPUTS; i < desc->n_inputs; i++) {
    if ((desc->inputs[i].flags & LK_INPUT_ABSENT) == 0) continue;
    return lk_fail(error, LK_OUT_OF_RANGE, "input %" PRIu32 " is absent, only the first %d may be",
                   i, MAX_OPTIONAL_INPUTS);
  }
  return LK_OK;
}

/* That it can be read: all go into the key, by value. Whether the operator has it is another
 * question (base/attrs.h). */
static lk_status check_attr(const lk_attr *attr, lk_error *error) {
  if (attr->name == NULL || attr->type < LK_ATTR_INTS || attr->type > LK_ATTR_STRINGS ||
      (attr->data == NULL && attr->count > 0)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "attribute %s has type %" PRIu32 ", %" PRIu32
                   " values and %s; a name, a type of lk_attr_type and data are required",
                   attr->name != NULL ? attr->name : "NULL", attr->type, attr->count,
                   attr->data != NULL ? "data" : "no data");
  }
  for (uint32_t i = 0; attr->type == LK_ATTR_STRINGS && i < attr->count; i++) {
    if (((const char *const *)attr->data)[i] != NULL) continue;
    return lk_fail(error, LK_INVALID_ARGUMENT, "text %" PRIu32 " of attribute %s is NULL", i,
                   attr->name);
  }
  for (uint32_t i = 0; attr->type == LK_ATTR_TENSOR && i < attr->count; i++) {
    const lk_tensor *tensor = (const lk_tensor *)attr->data + i;
    int64_t elements = 0;
    LK_RETURN_NOT_OK(lk_tensor_size(&tensor->desc, attr->name, &elements, NULL, error));
    if (tensor->desc.layout != LK_LAYOUT_PLAIN || (tensor->data == NULL && elements > 0)) {
      return lk_fail(error, LK_INVALID_ARGUMENT, "attribute %s must be plain and have data",
                     attr->name);
    }
  }
  return LK_OK;
}

static lk_status check_post_ops(const lk_node_desc *desc, lk_error *error) {
  for (uint32_t i = 0; i < desc->n_post_ops; i++) {
    const lk_post_op *post_op = &desc->post_ops[i];
    const bool binary = LK_POST_OP_IS_BINARY(post_op->kind);
    const bool known = lk_post_op_name(post_op->kind) != NULL;
    const bool has_input = post_op->input >= 0 && (uint32_t)post_op->input < desc->n_inputs;
    if (!known || (binary && !has_input) || (!binary && post_op->input != -1)) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "post-op %u has kind %u and input %d; binary kinds need "
                     "an input of the node, the others -1",
                     i, post_op->kind, post_op->input);
    }
  }
  return LK_OK;
}

static lk_status check_desc(const lk_node_desc *desc, lk_error *error) {
  if (desc->n_outputs < 1 || desc->n_inputs > MAX_INPUTS || desc->n_outputs > 64 ||
      desc->n_post_ops > MAX_POST_OPS) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "it has %u inputs, %u outputs and %u post-ops; at most %d, 1 to 64 and at most "
                   "%d are allowed",
                   desc->n_inputs, desc->n_outputs, desc->n_post_ops, MAX_INPUTS, MAX_POST_OPS);
  }
  if ((desc->n_inputs > 0 && desc->inputs == NULL) || (desc->n_attrs > 0 && desc->attrs == NULL) ||
      (desc->n_post_ops > 0 && desc->post_ops == NULL)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "inputs, attrs or post_ops is NULL, but its count is not 0");
  }
  LK_RETURN_NOT_OK(check_inputs(desc, error));
  for (uint32_t i = 0; i < desc->n_attrs; i++) {
    LK_RETURN_NOT_OK(check_attr(&desc->attrs[i], error));
  }
  return check_post_ops(desc, error);
}

static uint32_t count_operands(const lk_node_desc *desc) {
  uint32_t count = desc->n_inputs;
  for (uint32_t i = 0; i < desc->n_post_ops; i++) {
    if (desc->post_ops[i].input >= 0 && (uint32_t)desc->post_ops[i].input < count) {
      count = (uint32_t)desc->post_ops[i].input;
    }
  }
  return count;
}

static lk_status fail_count(const char *what, uint32_t count, uint32_t least, uint32_t most,
                            lk_error *error) {
  if (least == most) {
    return lk_fail(error, LK_INVALID_ARGUMENT, "it has %u %s, exactly %u %s required", count, what,
                   most, most == 1 ? "is" : "are");
  }
  return lk_fail(error, LK_INVALID_ARGUMENT, "it has %u %s, %u to %u are allowed", count, what,
                 least, most);
}

static lk_status check_counts(const lk_op_node *node, lk_error *error) {
  const lk_op_row *row = &node->class_->row;
  if (node->n_operands < row->min_inputs || node->n_operands > row->max_inputs) {
    return fail_count("inputs", node->n_operands, row->min_inputs, row->max_inputs, error);
  }
  if (node->n_outputs > row->max_outputs) {
    return fail_count("outputs", node->n_outputs, 1, row->max_outputs, error);
  }
  const uint32_t needed = node->class_->needs_all ? node->n_operands : row->min_inputs;
  for (uint32_t i = 0; i < needed; i++) {
    if (lk_op_has(node, i)) continue;
    return lk_fail(error, LK_INVALID_ARGUMENT, "input %u is absent, it is required", i);
  }
  if (node->n_post_ops > 0 && (row->flags & LK_OP_POST_OPS) == 0) {
    return lk_fail(error, LK_UNSUPPORTED, "it has post-ops, this operator takes none");
  }
  return LK_OK;
}

static void set_counts(const lk_node_desc *desc, lk_op_node *node) {
  node->opset = desc->opset;
  node->n_inputs = desc->n_inputs;
  node->n_outputs = desc->n_outputs;
  node->n_operands = count_operands(desc);
  node->n_post_ops = desc->n_post_ops;
  for (uint32_t i = 0; i < desc->n_inputs && i < 64; i++) {
    if ((desc->inputs[i].flags & LK_INPUT_ABSENT) != 0) node->absent |= UINT64_C(1) << i;
  }
}

static lk_status prefix(const lk_node_desc *desc, lk_status status, lk_error *error) {
  if (status == LK_OK) return LK_OK;
  return lk_error_prefix(error, status, "failed to create %s '%s'", desc->op_type,
                         desc->output_name);
}

lk_status lk_node_read(const lk_allocator *allocator, const lk_host_operators *host,
                       const lk_node_desc *given, lk_node_desc *desc, lk_op_node *node,
                       lk_error *error) {
  *desc = (lk_node_desc){0};
  LK_RETURN_NOT_OK(lk_struct_read(desc, sizeof *desc, given, "a node description", error));
  if (desc->op_type == NULL || desc->output_name == NULL || desc->output_name[0] == '\0') {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to create an op: op_type and output_name are required");
  }
  LK_RETURN_NOT_OK(prefix(desc, check_desc(desc, error), error));
  LK_RETURN_NOT_OK(
      lk_op_class_find(host, desc->op_type, desc->domain, desc->opset, &node->class_, error));
  set_counts(desc, node);
  LK_RETURN_NOT_OK(prefix(desc, check_counts(node, error), error));
  lk_attrs attrs = lk_attrs_of(node->class_, &node->class_->row, desc, error);
  lk_attrs_check(&attrs);
  if (attrs.status != LK_OK) return attrs.status;
  const lk_op_class *class_ = node->class_;
  const size_t behind = class_->params_behind != NULL ? class_->params_behind(desc) : 0;
  void *params = lk_calloc(allocator, 1, class_->params_size + behind);
  node->params = params;
  if (params == NULL) return lk_fail_memory(error, "an op's parameters", class_->params_size);
  lk_attrs_fill(&attrs, class_->params, params);
  if (class_->parse != NULL) class_->parse(&attrs, params);
  return attrs.status;
}
