/* What op_create refuses of a description before it looks at the operator. */
#include "plugin/op_check.h"

#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"

#define MAX_INPUTS 4096
#define MAX_POST_OPS 32
#define MAX_OPTIONAL_INPUTS 64 /* absent inputs are bits of one word */

static lk_status check_inputs(const lk_node_desc *desc, lk_error *error) {
  for (uint32_t i = MAX_OPTIONAL_INPUTS; i < desc->n_inputs; i++) {
    if ((desc->inputs[i].flags & LK_INPUT_ABSENT) == 0) continue;
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to create %s '%s': input %" PRIu32
                   " is absent, only the first %d may be",
                   desc->op_type, desc->output_name, i, MAX_OPTIONAL_INPUTS);
  }
  return LK_OK;
}

/* Also of attributes that the operator does not know: all go into the key, by value. */
static lk_status check_attr(const lk_node_desc *desc, const lk_attr *attr, lk_error *error) {
  if (attr->name == NULL || attr->type < LK_ATTR_INTS || attr->type > LK_ATTR_TENSOR ||
      (attr->data == NULL && attr->count > 0)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to create %s '%s': attribute %s has type %" PRIu32 ", %" PRIu32
                   " values and %s; a name, a type of lk_attr_type and data are required",
                   desc->op_type, desc->output_name, attr->name != NULL ? attr->name : "NULL",
                   attr->type, attr->count, attr->data != NULL ? "data" : "no data");
  }
  for (uint32_t i = 0; attr->type == LK_ATTR_TENSOR && i < attr->count; i++) {
    const lk_tensor *tensor = (const lk_tensor *)attr->data + i;
    int64_t elements = 0;
    lk_status status = lk_tensor_size(&tensor->desc, attr->name, &elements, NULL, error);
    if (status != LK_OK) {
      return lk_error_prefix(error, status, "failed to create %s '%s'", desc->op_type,
                             desc->output_name);
    }
    if (tensor->desc.layout != LK_LAYOUT_PLAIN || (tensor->data == NULL && elements > 0)) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to create %s '%s': attribute %s must be plain and have data",
                     desc->op_type, desc->output_name, attr->name);
    }
  }
  return LK_OK;
}

static bool is_known_kind(uint32_t kind) {
  switch (kind) {
#define LK_POST_OP_CASE(symbol, value, name) case symbol:
    LK_POST_OP_LIST(LK_POST_OP_CASE)
#undef LK_POST_OP_CASE
    return true;
  default:
    return false;
  }
}

static lk_status check_post_ops(const lk_node_desc *desc, lk_error *error) {
  for (uint32_t i = 0; i < desc->n_post_ops; i++) {
    const lk_post_op *post_op = &desc->post_ops[i];
    const bool binary = LK_POST_OP_IS_BINARY(post_op->kind);
    const bool known = is_known_kind(post_op->kind);
    const bool has_input = post_op->input >= 0 && (uint32_t)post_op->input < desc->n_inputs;
    if (!known || (binary && !has_input) || (!binary && post_op->input != -1)) {
      return lk_fail(
          error, LK_INVALID_ARGUMENT,
          "failed to create %s '%s': post-op %u has kind %u and input %d; binary kinds need "
          "an input of the node, the others -1",
          desc->op_type, desc->output_name, i, post_op->kind, post_op->input);
    }
  }
  return LK_OK;
}

lk_status lk_node_desc_check(const lk_node_desc *desc, lk_error *error) {
  if (desc->op_type == NULL || desc->output_name == NULL || desc->output_name[0] == '\0') {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to create an op: op_type and output_name are required");
  }
  if (desc->n_outputs < 1 || desc->n_inputs > MAX_INPUTS || desc->n_outputs > 64 ||
      desc->n_post_ops > MAX_POST_OPS) {
    return lk_fail(
        error, LK_OUT_OF_RANGE,
        "failed to create %s '%s': %u inputs, %u outputs, %u post-ops; at most %d, 1 to 64, "
        "at most %d",
        desc->op_type, desc->output_name, desc->n_inputs, desc->n_outputs, desc->n_post_ops,
        MAX_INPUTS, MAX_POST_OPS);
  }
  if ((desc->n_inputs > 0 && desc->inputs == NULL) || (desc->n_attrs > 0 && desc->attrs == NULL) ||
      (desc->n_post_ops > 0 && desc->post_ops == NULL)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to create %s '%s': inputs, attrs or post_ops is NULL, but its count is "
                   "not 0",
                   desc->op_type, desc->output_name);
  }
  lk_status status = check_inputs(desc, error);
  for (uint32_t i = 0; i < desc->n_attrs && status == LK_OK; i++) {
    status = check_attr(desc, &desc->attrs[i], error);
  }
  return status == LK_OK ? check_post_ops(desc, error) : status;
}
