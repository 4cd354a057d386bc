/* ReduceMean (ONNX "ReduceMean"): axes as an attribute before opset 18, as an input from there on. */
#include <inttypes.h>

#include "ops/planner.h"
#include "plugin/base/status.h"
#include "plugin/base/tensor.h"

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
    lk_status status = lk_read_ints(&inputs[1], "axes", given, LK_MAX_RANK, &count, error);
    if (status != LK_OK) return status;
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

static lk_status infer(const lk_op_node *node, const lk_tensor *inputs, lk_tensor_desc *outputs,
                       lk_error *error) {
  const reduce_params *self = node->params;
  const lk_tensor_desc *x = &inputs[0].desc;
  uint32_t mask = 0;
  if (x->dtype != LK_F32) {
    return lk_fail(error, LK_UNSUPPORTED, "the input's type is %s, f32 is supported",
                   lk_dtype_name(x->dtype));
  }
  lk_status status = reduced_dims(node, inputs, &mask, error);
  if (status != LK_OK) return status;
  outputs[0] = lk_tensor_desc_make(LK_F32, 0, NULL);
  for (uint32_t i = 0; i < x->rank; i++) {
    const bool reduced = (mask >> i & 1) != 0;
    if (reduced && !self->keep_dims) continue;
    outputs[0].dims[outputs[0].rank++] = reduced ? 1 : x->dims[i];
  }
  if (lk_elements(x) == 0 && lk_elements(&outputs[0]) > 0) {
    return lk_fail(error, LK_INVALID_ARGUMENT, "the mean of no elements is not defined");
  }
  return LK_OK;
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = lk_planner_node(planner);
  const lk_tensor_desc *x = &lk_planner_input_tensor(planner, 0)->desc;
  const lk_tensor_desc *to = lk_planner_output_desc(planner, 0);
  uint32_t mask = 0;
  lk_status status = reduced_dims(node, lk_planner_input_tensor(planner, 0), &mask, error);
  if (status != LK_OK) return status;
  if (lk_elements(x) == lk_elements(to)) return lk_planner_view(planner, 0, LK_LAYOUT_PLAIN, error);
  lk_operand src, dst;
  lk_key_builder key;
  const lk_primitive *primitive = NULL;
  /* with all dimensions kept, the layout can stay; otherwise plain bytes are the same either way */
  const lk_layout layout = to->rank == x->rank ? x->layout : LK_LAYOUT_PLAIN;
  LK_TRY(lk_planner_input(planner, 0, layout, &src, error));
  LK_TRY(lk_planner_output(planner, 0, layout, &dst, error));
  lk_tensor_desc kept = *x;
  kept.layout = layout;
  for (uint32_t i = 0; i < x->rank; i++) {
    if ((mask >> i & 1) != 0) kept.dims[i] = 1;
  }
  const int64_t algorithm = (int64_t)dnnl_reduction_mean;
  LK_TRY(lk_primitive_key_begin(&key, lk_planner_env(planner), LK_PRIMITIVE_REDUCTION,
                                lk_planner_threads(planner), error));
  lk_key_add_tensor(&key, LK_WORD_SRC, 0, &src.desc, 0);
  lk_key_add_tensor(&key, LK_WORD_DST, 0, &kept, 0);
  lk_key_add_attr(&key, LK_WORD_ALGORITHM, &algorithm, 1);
  LK_TRY(lk_planner_primitive(planner, &key, &primitive, error));
  const lk_primitive_arg args[] = {{DNNL_ARG_SRC, src}, {DNNL_ARG_DST, dst}};
  LK_TRY(lk_planner_execute(planner, primitive, args, 2, NULL, error));
cleanup:
  return status;
}

const lk_op_class lk_op_reduce_mean = {
    .op_type = "ReduceMean",
    .domain = "",
    .summary = "Mean over axes",
    .min_opset = 1,
    .max_opset = 23,
    .min_inputs = 1,
    .max_inputs = 2,
    .max_outputs = 1,
    .shape_inputs = 2,
    .runs_on_onednn = true,
    .params_size = sizeof(reduce_params),
    .parse = parse,
    .infer = infer,
    .plan = plan,
};
