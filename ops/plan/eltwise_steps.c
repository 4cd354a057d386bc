/* Element-wise steps that several operators emit. */
#include "ops/plan/eltwise_steps.h"

#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/moves.h"
#include "ops/plan/post_operands.h"
#include "ops/plan/post_ops.h"

/* One step: to = algorithm(from), both of one shape and layout. */
static lk_status eltwise_step(lk_planner *planner, dnnl_alg_kind_t algorithm, float alpha,
                              float beta, const lk_operand *from, const lk_operand *to,
                              lk_error *error) {
  lk_key_builder key;
  lk_planner_key_unary(planner, &key, LK_PRIMITIVE_ELTWISE, &from->desc, &to->desc);
  lk_key_add_number(&key, LK_WORD_ALGORITHM, algorithm);
  lk_key_add_number(&key, LK_WORD_ALPHA, lk_float_bits(alpha));
  lk_key_add_number(&key, LK_WORD_BETA, lk_float_bits(beta));
  return lk_planner_unary(planner, &key, from, to, error);
}

lk_status lk_plan_eltwise(lk_planner *planner, dnnl_alg_kind_t algorithm, float alpha, float beta,
                          lk_error *error) {
  lk_operand src, dst;
  const lk_layout layout = lk_planner_wish(planner, 0, planner->inputs[0].desc.layout);
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &src, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &dst, error));
  LK_RETURN_NOT_OK(eltwise_step(planner, algorithm, alpha, beta, &src, &dst, error));
  /* steps of their own: with post-ops, oneDNN's element-wise primitive is a reference
   * implementation */
  return lk_plan_post_ops(planner, 0, &dst, error);
}

/* ---- binary arithmetic ---- */

static lk_status find_binary(lk_planner *planner, dnnl_alg_kind_t algorithm,
                             const lk_tensor_desc *a, const lk_tensor_desc *b,
                             const lk_tensor_desc *to, bool post_ops,
                             const lk_primitive **out_primitive, lk_error *error) {
  lk_key_builder key;
  lk_planner_key_begin(planner, &key, LK_PRIMITIVE_BINARY);
  lk_key_add_tensor(&key, LK_WORD_SRC, 0, a, 0);
  lk_key_add_tensor(&key, LK_WORD_SRC_1, 0, b, 0);
  lk_key_add_tensor(&key, LK_WORD_DST, 0, to, 0);
  lk_key_add_number(&key, LK_WORD_ALGORITHM, algorithm);
  if (post_ops) lk_post_ops_key(planner, &key, to);
  return lk_planner_primitive(planner, &key, out_primitive, error);
}

lk_status lk_plan_binary_step(lk_planner *planner, dnnl_alg_kind_t algorithm, const lk_operand *a,
                              const lk_operand *b, const lk_operand *to, bool post_ops,
                              lk_error *error) {
  const lk_primitive *primitive = NULL;
  lk_operand second = *b;
  lk_tensor_desc padded = lk_shape_pad_rank(&b->desc, to->desc.rank);
  if (lk_layout_same_bytes(&padded, padded.layout, to->desc.layout)) {
    padded.layout = to->desc.layout;
  }
  LK_RETURN_NOT_OK(
      find_binary(planner, algorithm, &a->desc, &padded, &to->desc, post_ops, &primitive, error));
  if (primitive->is_ref && !lk_shape_equal(&padded, &to->desc)) {
    /* a broadcast that oneDNN has no kernel for: a copy to full shape is cheaper by far */
    const lk_primitive *full = NULL;
    LK_RETURN_NOT_OK(
        find_binary(planner, algorithm, &a->desc, &to->desc, &to->desc, post_ops, &full, error));
    if (!full->is_ref) {
      primitive = full;
      LK_RETURN_NOT_OK(lk_plan_broadcast(planner, &second, &to->desc, error));
    }
  }
  const lk_primitive_arg args[] = {
      {DNNL_ARG_SRC_0, *a}, {DNNL_ARG_SRC_1, second}, {DNNL_ARG_DST, *to}};
  return post_ops ? lk_post_ops_execute(planner, primitive, args, 3, &to->desc, error)
                  : lk_planner_execute(planner, primitive, args, 3, error);
}

/* ---- post-ops as steps ---- */

/* In place. */
static lk_status apply_post_op(lk_planner *planner, const lk_post_op *post_op, const lk_operand *to,
                               lk_error *error) {
  if (post_op->input < 0) {
    float alpha = 0, beta = 0;
    const dnnl_alg_kind_t algorithm = lk_post_op_eltwise(post_op, &alpha, &beta);
    return eltwise_step(planner, algorithm, alpha, beta, to, to, error);
  }
  lk_operand operand;
  LK_RETURN_NOT_OK(lk_plan_operand(planner, (uint32_t)post_op->input, to->desc.rank,
                                   to->desc.layout, &operand, error));
  return lk_plan_binary_step(planner, lk_post_op_binary(post_op->kind), to, &operand, to, false,
                             error);
}

lk_status lk_plan_post_ops(lk_planner *planner, uint32_t first, const lk_operand *to,
                           lk_error *error) {
  const lk_op_node *node = planner->node;
  for (uint32_t i = first; i < node->n_post_ops; i++) {
    LK_RETURN_NOT_OK(apply_post_op(planner, &node->post_ops[i], to, error));
  }
  return LK_OK;
}

/* ---- reductions of nothing ---- */

/* Output 0 of repeated `byte`s, with the node's post-ops. */
static lk_status fill_output(lk_planner *planner, uint8_t byte, lk_error *error) {
  lk_operand to;
  uint8_t value[8];
  memset(value, byte, sizeof value);
  const lk_layout layout = lk_fixed_output_layout(planner, LK_LAYOUT_PLAIN);
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &to, error));
  LK_RETURN_NOT_OK(lk_plan_fill(planner, &to, lk_dtype_size(to.desc.dtype), value, error));
  return lk_plan_post_ops(planner, 0, &to, error);
}

/* Output 0 of input `index`, repeated along all dimensions but the channels, with post-ops. */
static lk_status repeat_channels(lk_planner *planner, uint32_t index, lk_error *error) {
  lk_operand from, to;
  const lk_layout layout = lk_fixed_output_layout(planner, LK_LAYOUT_PLAIN);
  LK_RETURN_NOT_OK(lk_planner_input(planner, index, LK_LAYOUT_PLAIN, &from, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &to, error));
  lk_copy copy = lk_copy_between(&to.desc, &to.desc);
  memset(copy.from, 0, sizeof copy.from);
  copy.from[1] = (int64_t)copy.block;
  LK_RETURN_NOT_OK(lk_planner_copy(planner, &copy, &from, &to, error));
  return lk_plan_post_ops(planner, 0, &to, error);
}

lk_status lk_plan_sum_of_nothing(lk_planner *planner, int32_t bias, lk_error *error) {
  return bias < 0 ? fill_output(planner, 0, error)
                  : repeat_channels(planner, (uint32_t)bias, error);
}

lk_status lk_plan_mean_of_nothing(lk_planner *planner, lk_error *error) {
  /* all bits set are a quiet NaN in every format of IEEE 754, and in bf16 */
  return fill_output(planner, 0xff, error);
}
