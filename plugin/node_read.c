#include "plugin/node_read.h"

#include "base/alloc.h"
#include "base/status.h"

static uint32_t count_operands(const lk_node_desc *desc) {
  uint32_t count = desc->n_inputs;
  for (uint32_t i = 0; i < desc->n_post_ops; i++) {
    if (desc->post_ops[i].input >= 0 && (uint32_t)desc->post_ops[i].input < count) {
      count = (uint32_t)desc->post_ops[i].input;
    }
  }
  return count;
}

static lk_status check_counts(const lk_op_node *node, lk_error *error) {
  const lk_op_row *row = &node->class_->row;
  if (node->n_operands < row->min_inputs || node->n_operands > row->max_inputs ||
      node->n_outputs > row->max_outputs) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to create %s '%s': %u inputs and %u outputs; %u to %u, and at most %u",
                   row->op_type, node->output_name, node->n_operands, node->n_outputs,
                   row->min_inputs, row->max_inputs, row->max_outputs);
  }
  for (uint32_t i = 0; i < row->min_inputs; i++) {
    if (lk_op_has(node, i)) continue;
    return lk_fail(error, LK_INVALID_ARGUMENT, "failed to create %s '%s': input %u is required",
                   row->op_type, node->output_name, i);
  }
  if (node->n_post_ops > 0 && (row->flags & LK_OP_POST_OPS) == 0) {
    return lk_fail(error, LK_UNSUPPORTED, "failed to create %s '%s': it takes no post-ops",
                   row->op_type, node->output_name);
  }
  return LK_OK;
}

lk_status lk_node_read(const lk_allocator *allocator, const lk_node_desc *desc, lk_op_node *node,
                       lk_error *error) {
  node->output_name = desc->output_name;
  node->opset = desc->opset;
  node->n_inputs = desc->n_inputs;
  node->n_outputs = desc->n_outputs;
  node->n_operands = count_operands(desc);
  node->n_post_ops = desc->n_post_ops;
  for (uint32_t i = 0; i < desc->n_inputs && i < 64; i++) {
    if ((desc->inputs[i].flags & LK_INPUT_ABSENT) != 0) node->absent |= UINT64_C(1) << i;
  }
  LK_RETURN_NOT_OK(check_counts(node, error));
  void *params = lk_calloc(allocator, 1, node->class_->params_size);
  node->params = params;
  if (params == NULL) return lk_fail_memory(error, "an op's parameters", node->class_->params_size);
  if (node->class_->parse == NULL) return LK_OK;
  lk_attrs attrs = {.node = desc, .class_ = node->class_, .status = LK_OK, .error = error};
  node->class_->parse(&attrs, params);
  return attrs.status;
}
