/* The post-ops of a node in its primitive: in the value key, and as arguments of the step. */
#include "ops/plan/post_operands.h"

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/moves.h"

enum { MAX_ARGS = 64 };

/* How input `index`, the operand of a binary post-op, is described beside `dst`, with `dst`'s rank.
 * It broadcasts to output 0, of which `dst` may be another description: a matrix of all rows, whose
 * operands are full tensors or single rows (matmul.c makes sure), or a description with added
 * dimensions of 1 where a product takes a vector. */
static lk_tensor_desc operand_desc(lk_planner *planner, uint32_t index, const lk_tensor_desc *dst) {
  const lk_tensor_desc *input = &planner->inputs[index].desc;
  const lk_tensor_desc *to = &planner->body->outputs[0];
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

void lk_post_ops_key(lk_planner *planner, lk_key_builder *key, const lk_tensor_desc *dst) {
  const lk_op_node *node = planner->node;
  for (uint32_t i = 0; i < node->n_post_ops; i++) {
    const lk_post_op *post_op = &node->post_ops[i];
    /* the primitive does not depend on the node's own numbering of inputs */
    const lk_key_post_op record = {.kind = post_op->kind,
                                   .input = -1,
                                   .alpha = (uint32_t)lk_float_bits(post_op->alpha),
                                   .beta = (uint32_t)lk_float_bits(post_op->beta)};
    lk_key_add_post_op(key, &record);
    if (post_op->input < 0) continue;
    const lk_tensor_desc operand = operand_desc(planner, (uint32_t)post_op->input, dst);
    lk_key_add_tensor(key, LK_WORD_INPUT, i, &operand, 0);
  }
}

/* Input `index` beside a tensor of `rank` dimensions in `layout`: in that layout too, but plain
 * where its rank is another. */
static lk_status plan_operand(lk_planner *planner, uint32_t index, uint32_t rank, lk_layout layout,
                              lk_operand *out_operand, lk_error *error) {
  const bool same_rank = planner->inputs[index].desc.rank == rank;
  return lk_planner_input(planner, index, same_rank ? layout : LK_LAYOUT_PLAIN, out_operand, error);
}

/* A step that copies `operand`, which broadcasts to `like`, into a temporary with the dimensions
 * and the layout of `like`, and makes that the operand. Both lie plain or channels-last; `operand`
 * plain where its rank is lower. */
static lk_status plan_broadcast(lk_planner *planner, lk_operand *operand,
                                const lk_tensor_desc *like, lk_error *error) {
  const lk_operand from = *operand;
  lk_tensor_desc full = *like;
  full.dtype = from.desc.dtype;
  lk_copy copy = lk_copy_between(&full, &full);
  lk_broadcast_strides(&from.desc, full.rank, (int64_t)copy.block, copy.from);
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &full, operand, error));
  return lk_planner_copy(planner, &copy, &from, operand, error);
}

/* Whether the primitive takes argument `arg` in the shape of `dst`. */
static bool takes_full(const lk_primitive *primitive, int arg, const lk_tensor_desc *dst) {
  const_dnnl_memory_desc_t md =
      dnnl_primitive_desc_query_md(primitive->desc, dnnl_query_exec_arg_md, arg);
  int rank = 0;
  dnnl_dims_t *dims = NULL;
  dnnl_memory_desc_query(md, dnnl_query_ndims_s32, &rank);
  dnnl_memory_desc_query(md, dnnl_query_dims, (void *)&dims);
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, (uint32_t)rank, *dims);
  return lk_shape_equal(&desc, dst);
}

/* The argument for the operand of post-op `index`, in the shape that the primitive was built for:
 * as it is, or copied to full shape first. */
static lk_status operand_arg(lk_planner *planner, const lk_primitive *primitive, uint32_t index,
                             const lk_tensor_desc *dst, lk_primitive_arg *out_arg,
                             lk_error *error) {
  const uint32_t input = (uint32_t)planner->node->post_ops[index].input;
  const lk_tensor_desc wanted = operand_desc(planner, input, dst);
  out_arg->arg = DNNL_ARG_ATTR_MULTIPLE_POST_OP((int)index) | DNNL_ARG_SRC_1;
  lk_operand *operand = &out_arg->operand;
  if (lk_shape_equal(&wanted, dst) || !takes_full(primitive, out_arg->arg, dst)) {
    return plan_operand(planner, input, wanted.rank, wanted.layout, operand, error);
  }
  LK_RETURN_NOT_OK(lk_planner_input(planner, input, LK_LAYOUT_PLAIN, operand, error));
  operand->desc = wanted;
  operand->desc.layout = LK_LAYOUT_PLAIN;
  return plan_broadcast(planner, operand, dst, error);
}

lk_status lk_post_ops_execute(lk_planner *planner, const lk_primitive *primitive,
                              const lk_primitive_arg *args, uint32_t n_args,
                              const lk_tensor_desc *dst, lk_error *error) {
  const lk_op_node *node = planner->node;
  lk_primitive_arg all[MAX_ARGS];
  uint32_t count = 0;
  for (; count < n_args; count++) all[count] = args[count];
  for (uint32_t i = 0; i < node->n_post_ops; i++) {
    if (node->post_ops[i].input < 0) continue;
    if (count == MAX_ARGS) {
      return lk_fail(error, LK_OUT_OF_RANGE, "failed to plan a step: over %d arguments", MAX_ARGS);
    }
    LK_RETURN_NOT_OK(operand_arg(planner, primitive, i, dst, &all[count++], error));
  }
  return lk_planner_execute(planner, primitive, all, count, error);
}
