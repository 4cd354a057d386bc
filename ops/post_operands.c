/* Operands of binary post-ops: what they must be, and how they are described to oneDNN. */
#include "ops/post_operands.h"

#include <inttypes.h>

#include "plugin/base/status.h"
#include "plugin/base/tensor.h"

lk_tensor_desc lk_post_operand_desc(lk_planner *planner, uint32_t index,
                                    const lk_tensor_desc *dst) {
  const lk_tensor_desc *input = &lk_planner_input_tensor(planner, index)->desc;
  const lk_tensor_desc *to = lk_planner_output_desc(planner, 0);
  if (lk_shape_equal(input, to)) {
    lk_tensor_desc full = *dst;
    full.dtype = input->dtype;
    return full;
  }
  if (dst->rank > to->rank && dst->rank > 1) {
    const lk_tensor_desc padded = lk_shape_pad_rank(input, to->rank);
    lk_tensor_desc desc = {.dtype = input->dtype, .rank = dst->rank, .layout = dst->layout};
    uint32_t left = to->rank;
    for (uint32_t i = dst->rank; i-- > 0;) {
      const bool same = left > 0 && dst->dims[i] == to->dims[left - 1];
      desc.dims[i] = same ? padded.dims[--left] : 1;
    }
    return desc;
  }
  lk_tensor_desc padded = lk_shape_pad_rank(input, dst->rank);
  const bool reorderable = input->rank == dst->rank;
  if (reorderable || lk_layout_same_bytes(&padded, padded.layout, dst->layout)) {
    padded.layout = dst->layout;
  }
  return padded;
}

void lk_planner_key_post_ops(lk_planner *planner, lk_key_builder *key, const lk_tensor_desc *dst) {
  const lk_op_node *node = lk_planner_node(planner);
  for (uint32_t i = 0; i < node->n_post_ops; i++) {
    const lk_post_op *post_op = &node->post_ops[i];
    lk_key_post_op record = {.kind = post_op->kind,
                             .input = -1, /* a node's own numbering is no part of the primitive */
                             .alpha = (uint32_t)lk_float_bits(post_op->alpha),
                             .beta = (uint32_t)lk_float_bits(post_op->beta)};
    lk_key_add_post_op(key, &record);
    if (post_op->input < 0) continue;
    const lk_tensor_desc operand = lk_post_operand_desc(planner, (uint32_t)post_op->input, dst);
    lk_key_add_tensor(key, LK_WORD_INPUT, i, &operand, 0);
  }
}

lk_status lk_post_operands_check(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = lk_planner_node(planner);
  const lk_tensor_desc *to = lk_planner_output_desc(planner, 0);
  if (node->n_post_ops > 0 && to->dtype != LK_F32) {
    return lk_fail(error, LK_UNSUPPORTED, "post-ops on an output of type %s, f32 is supported",
                   lk_dtype_name(to->dtype));
  }
  for (uint32_t i = 0; i < node->n_post_ops; i++) {
    if (node->post_ops[i].input < 0) continue;
    const lk_tensor_desc *operand =
        &lk_planner_input_tensor(planner, (uint32_t)node->post_ops[i].input)->desc;
    lk_tensor_desc together;
    if (operand->dtype == LK_F32 && lk_broadcast(to, operand, &together, NULL) == LK_OK &&
        lk_shape_equal(&together, to)) {
      continue;
    }
    char text[LK_TENSOR_TEXT_CAPACITY], to_text[LK_TENSOR_TEXT_CAPACITY];
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "the operand of post-op %" PRIu32 " is %s, it must broadcast to %s", i,
                   lk_tensor_text(operand, text), lk_tensor_text(to, to_text));
  }
  return LK_OK;
}
