/* ReduceMean (ONNX "ReduceMean"): axes as an attribute before opset 18, as an input from there on.
 *
 * oneDNN's reduction is a reference implementation on many machines. So a mean over neighbouring
 * dimensions is a product with a vector of 1/n, and one over all spatial dimensions of a
 * channels-last tensor is a pooling; what is left is a reduction. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/pooling.h"

typedef struct reduce_params {
  int64_t axes[LK_MAX_RANK];
  uint32_t n_axes;
  bool keep_dims, noop_with_empty_axes;
} reduce_params;

static void parse(lk_attrs *attrs, void *params) {
  reduce_params *self = params;
  self->n_axes = lk_attrs_ints(attrs, "axes", self->axes, LK_MAX_RANK);
  self->keep_dims = lk_attrs_int(attrs, "keepdims", 1) != 0;
  self->noop_with_empty_axes = lk_attrs_int(attrs, "noop_with_empty_axes", 0) != 0;
}

/* Bit d: dimension d is reduced. */
static lk_status reduced_dims(const lk_op_node *node, const lk_tensor *inputs, uint32_t *out_mask,
                              lk_error *error) {
  const reduce_params *self = node->params;
  const uint32_t rank = inputs[0].desc.rank;
  const int64_t *axes = self->axes;
  int64_t given[LK_MAX_RANK];
  uint32_t count = self->n_axes;
  *out_mask = 0;
  if (lk_op_has(node, 1)) {
    LK_RETURN_NOT_OK(lk_read_ints(&inputs[1], "axes", given, LK_MAX_RANK, &count, error));
    axes = given;
  }
  if (count == 0 && !self->noop_with_empty_axes) *out_mask = (1U << rank) - 1;
  for (uint32_t i = 0; i < count; i++) {
    const int64_t axis = lk_axis(axes[i], rank);
    if (axis < 0) {
      return lk_fail(error, LK_OUT_OF_RANGE, "axis %" PRId64 " of a tensor of rank %" PRIu32,
                     axes[i], rank);
    }
    *out_mask |= 1U << axis;
  }
  return LK_OK;
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const reduce_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[0].desc;
  lk_tensor_desc *to = &self->outputs[0];
  uint32_t mask = 0;
  if (!lk_rank_is_known(x)) return LK_OK;
  if (lk_op_has(self->node, 1) && !lk_infer_knows(self, 1)) {
    /* one axis is one dimension less; of several, two may be the same */
    if (params->keep_dims) {
      lk_shape_open(to, x->rank);
    } else if (lk_infer_count(self, 1) == 1) {
      lk_shape_open(to, (int64_t)x->rank - 1);
    }
    return LK_OK;
  }
  LK_RETURN_NOT_OK(reduced_dims(self->node, self->inputs, &mask, error));
  to->rank = 0;
  for (uint32_t i = 0; i < x->rank; i++) {
    const bool reduced = (mask >> i & 1) != 0;
    if (reduced && !params->keep_dims) continue;
    to->dims[to->rank++] = reduced ? 1 : x->dims[i];
  }
  return LK_OK;
}

/* Neighbouring dimensions as one: [outer, n, inner], of which the middle one is reduced. */
typedef struct reduce_block {
  int64_t outer, n, inner;
} reduce_block;

/* False: kept dimensions lie between those that are reduced. */
static bool find_block(const lk_tensor_desc *x, uint32_t mask, reduce_block *out) {
  *out = (reduce_block){1, 1, 1};
  for (uint32_t i = 0; i < x->rank; i++) {
    const bool reduced = (mask >> i & 1) != 0;
    if (x->dims[i] == 1) continue;
    if (reduced && out->inner > 1) return false;
    if (reduced) {
      out->n *= x->dims[i];
    } else if (out->n > 1) {
      out->inner *= x->dims[i];
    } else {
      out->outer *= x->dims[i];
    }
  }
  return true;
}

/* [outer, n] by [n, 1], or [outer, 1, n] by [outer, n, inner]; each element of the other factor is
 * 1/n. */
static lk_status plan_product(lk_planner *planner, const reduce_block *block, lk_error *error) {
  lk_status status = LK_OK;
  lk_operand x, means, dst;
  lk_key_builder key;
  const lk_primitive *primitive = NULL;
  const lk_allocator *allocator = planner->env->allocator;
  const bool last = block->inner == 1;
  const uint32_t rank = last ? 2 : 3;
  const int64_t x_dims[] = {block->outer, block->n, block->inner};
  const int64_t dst_dims[] = {block->outer, 1, block->inner};
  const int64_t column[] = {block->n, 1}, row[] = {1, 1, block->n};
  const lk_tensor_desc x_desc = lk_tensor_desc_make(LK_F32, rank, x_dims);
  const lk_tensor_desc dst_desc = lk_tensor_desc_make(LK_F32, rank, dst_dims);
  lk_tensor_desc means_desc = lk_tensor_desc_make(LK_F32, rank, last ? column : row);
  means_desc.layout = last ? LK_LAYOUT_ANY : LK_LAYOUT_PLAIN;
  const size_t count = (size_t)lk_elements(&means_desc);
  float *factors = lk_alloc(allocator, count * sizeof *factors);
  if (factors == NULL) return lk_fail_memory(error, "a mean", count * sizeof *factors);
  for (size_t i = 0; i < count; i++) factors[i] = 1.0F / (float)block->n;
  LK_TRY(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &x, error));
  LK_TRY(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &dst, error));
  lk_planner_key_begin(planner, &key, LK_PRIMITIVE_MATMUL);
  lk_key_add_tensor(&key, LK_WORD_SRC, 0, last ? &x_desc : &means_desc, 0);
  lk_key_add_tensor(&key, LK_WORD_WEIGHTS, 0, last ? &means_desc : &x_desc, 0);
  lk_key_add_tensor(&key, LK_WORD_DST, 0, &dst_desc, 0);
  LK_TRY(lk_planner_primitive(planner, &key, &primitive, error));
  const dnnl_query_t which = last ? dnnl_query_weights_md : dnnl_query_src_md;
  LK_TRY(lk_planner_literal(planner, &means_desc, factors,
                            dnnl_primitive_desc_query_md(primitive->desc, which, 0), &means,
                            error));
  const lk_primitive_arg args[] = {
      {DNNL_ARG_SRC, last ? x : means}, {DNNL_ARG_WEIGHTS, last ? means : x}, {DNNL_ARG_DST, dst}};
  LK_TRY(lk_planner_execute(planner, primitive, args, 3, error));
cleanup:
  lk_free(allocator, factors);
  return status;
}

static lk_status plan_general(lk_planner *planner, uint32_t mask, lk_error *error) {
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  const lk_tensor_desc *to = &planner->body->outputs[0];
  lk_operand src, dst;
  lk_key_builder key;
  /* with all dimensions kept, the layout can stay; otherwise plain bytes are the same either way */
  const lk_layout layout = to->rank == x->rank ? x->layout : LK_LAYOUT_PLAIN;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &src, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &dst, error));
  lk_tensor_desc kept = *x;
  kept.layout = layout;
  for (uint32_t i = 0; i < x->rank; i++) {
    if ((mask >> i & 1) != 0) kept.dims[i] = 1;
  }
  lk_planner_key_unary(planner, &key, LK_PRIMITIVE_REDUCTION, &src.desc, &kept);
  lk_key_add_number(&key, LK_WORD_ALGORITHM, dnnl_reduction_mean);
  return lk_planner_unary(planner, &key, &src, &dst, error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = planner->node;
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  const lk_tensor_desc *to = &planner->body->outputs[0];
  uint32_t mask = 0;
  LK_RETURN_NOT_OK(reduced_dims(node, planner->inputs, &mask, error));
  /* ONNX leaves the mean of nothing undefined, and numpy has NaN. This is the 0 of ONNX Runtime's
   * CPU provider, so that a node computes the same wherever it runs. */
  if (lk_elements(x) == 0) return lk_plan_sum_of_nothing(planner, -1, error);
  if (lk_elements(x) == lk_elements(to)) return lk_planner_view(planner, 0, LK_LAYOUT_PLAIN, error);
  const uint32_t spatial = ((1U << x->rank) - 1) & ~3U;
  if (x->layout == LK_LAYOUT_CHANNELS_LAST && mask == spatial && to->rank == x->rank &&
      x->rank <= 5) {
    return lk_plan_global_average(planner, error);
  }
  reduce_block block;
  if (find_block(x, mask, &block)) return plan_product(planner, &block, error);
  return plan_general(planner, mask, error);
}

const lk_op_class lk_op_reduce_mean = {
    LK_OP_ROW("ReduceMean", "", 1, "Mean over axes", .flags = LK_OP_PRIMITIVE, .min_inputs = 1,
              .max_inputs = 2, .max_outputs = 1, .input_types = "TU", .output_types = "T",
              .types = {LK_TYPES_F32, LK_TYPES_INDEX}, .shape_inputs = 1u << 1),
    .params_size = sizeof(reduce_params),
    .parse = parse,
    .infer = infer,
    .plan = plan,
};
