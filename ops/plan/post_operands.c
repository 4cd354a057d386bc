/* Operands of binary post-ops: what they must be, and how they are described to oneDNN. */
#include "ops/plan/post_operands.h"

#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/expand.h"

/* How input `index`, the operand of a binary post-op, is described beside `dst`, with `dst`'s rank. It
 * broadcasts to output 0, of which `dst` may be another description: a matrix of all rows, whose
 * operands are full tensors or single rows (matmul.c sees to it), or one with ones put in where a
 * product takes a vector. */
static lk_tensor_desc operand_desc(lk_planner *planner, uint32_t index, const lk_tensor_desc *dst) {
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
    const lk_tensor_desc operand = operand_desc(planner, (uint32_t)post_op->input, dst);
    lk_key_add_tensor(key, LK_WORD_INPUT, i, &operand, 0);
  }
}

/* Begins the key of the same primitive with all operands in the full shape of DST. False, and nothing
 * begun: they have it already. */
static bool widen(const lk_key *key, const lk_allocator *allocator, lk_key_builder *out_key) {
  lk_tensor_desc full, operand;
  bool is_narrow = false;
  if (!lk_key_find_tensor(key, LK_WORD_DST, 0, &full, NULL)) return false;
  lk_key_begin(out_key, allocator, lk_key_get_head(key));
  for (lk_key_reader reader = lk_key_read(key); lk_key_next(&reader);) {
    const lk_key_tensor *tensor = reader.record;
    if (reader.type != LK_RECORD_TENSOR || tensor->role != LK_WORD_INPUT) {
      lk_key_add_record(out_key, &reader);
      continue;
    }
    operand = lk_tensor_desc_make(tensor->dtype, tensor->rank, reader.payload);
    is_narrow = is_narrow || !lk_shape_equal(&operand, &full);
    full.dtype = tensor->dtype;
    lk_key_add_tensor(out_key, tensor->role, tensor->index, &full, tensor->extra);
  }
  if (!is_narrow) lk_key_builder_release(out_key);
  return is_narrow;
}

static bool is_ref(const lk_ref *ref) {
  const lk_primitive *primitive = lk_ref_value(ref);
  return primitive->is_ref;
}

lk_status lk_post_operands_primitive(lk_ops_env *env, const lk_key *key, lk_ref **out_ref,
                                     lk_error *error) {
  lk_status status = LK_OK;
  lk_ref *ref = NULL, *other = NULL;
  lk_key_builder full;
  lk_key full_key;
  bool widens = false;
  LK_TRY(lk_primitive_get(env, key, &ref, error));
  /* a copy to full shape takes far less than a reference implementation */
  widens = is_ref(ref) && widen(key, env->allocator, &full);
  if (widens) {
    LK_TRY(lk_key_finish(&full, &full_key, error));
    LK_TRY(lk_primitive_get(env, &full_key, &other, error));
    if (!is_ref(other)) {
      lk_ref *worse = ref;
      ref = other;
      other = worse;
    }
  }
  *out_ref = ref;
  ref = NULL;
cleanup:
  if (widens) lk_key_builder_release(&full);
  if (ref != NULL) lk_ref_release(ref);
  if (other != NULL) lk_ref_release(other);
  return status;
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

lk_status lk_post_operand(lk_planner *planner, const lk_primitive *primitive, uint32_t index,
                          const lk_tensor_desc *dst, lk_primitive_arg *out_arg, lk_error *error) {
  const uint32_t input = (uint32_t)lk_planner_node(planner)->post_ops[index].input;
  const lk_tensor_desc wanted = operand_desc(planner, input, dst);
  const bool same_rank = lk_planner_input_tensor(planner, input)->desc.rank == wanted.rank;
  out_arg->arg = DNNL_ARG_ATTR_MULTIPLE_POST_OP((int)index) | DNNL_ARG_SRC_1;
  if (lk_shape_equal(&wanted, dst) || !takes_full(primitive, out_arg->arg, dst)) {
    return lk_planner_input(planner, input, same_rank ? wanted.layout : LK_LAYOUT_PLAIN,
                            &out_arg->operand, error);
  }
  lk_operand narrow;
  lk_status status = lk_planner_input(planner, input, LK_LAYOUT_PLAIN, &narrow, error);
  if (status != LK_OK) return status;
  narrow.desc = wanted;
  narrow.desc.layout = LK_LAYOUT_PLAIN;
  return lk_plan_expand(planner, &narrow, dst, &out_arg->operand, error);
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
