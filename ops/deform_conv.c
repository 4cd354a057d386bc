/* DeformConv: a convolution whose kernel takes elements where offsets say, as a product of its
 * weights and columns. */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/sample/deform_columns.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/moves.h"
#include "ops/plan/work.h"

enum { WEIGHTS = 1, OFFSETS = 2, BIAS = 3, MASK = 4, MAX_GROUPS = 1 << 30 };

typedef struct deform_params {
  lk_window window;
  int64_t groups, offset_groups;
} deform_params;

static void parse(lk_attrs *attrs, void *params) {
  deform_params *self = params;
  lk_window_parse(attrs, &self->window);
  self->groups = lk_attrs_int(attrs, "group");
  self->offset_groups = lk_attrs_int(attrs, "offset_group");
  if (self->groups >= 1 && self->groups <= MAX_GROUPS && self->offset_groups >= 1 &&
      self->offset_groups <= MAX_GROUPS) {
    return;
  }
  lk_attrs_fail(attrs, LK_OUT_OF_RANGE,
                "failed to read groups: %" PRId64 " and %" PRId64
                " of offsets, they must be 1 to %d",
                self->groups, self->offset_groups, MAX_GROUPS);
}

static bool is_multiple(int64_t dim, int64_t of) {
  return dim < 0 || dim % of == 0;
}

/* Images, weights and bias, whose ranks are known. */
static lk_status check_channels(const lk_inference *self, lk_error *error) {
  const deform_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[0].desc, *w = &self->inputs[WEIGHTS].desc;
  const lk_tensor_desc *bias = &self->inputs[BIAS].desc;
  if (x->rank != 4) return lk_refuse(x, "images", "of rank 4", error);
  if (w->rank != 4) return lk_refuse(w, "weights", "of rank 4", error);
  int64_t channels = LK_DIM_UNKNOWN;
  LK_RETURN_NOT_OK(
      lk_infer_product(self, w->dims[1], params->groups, "count channels", &channels, error));
  if (lk_dims_differ(x->dims[1], channels) || !is_multiple(x->dims[1], params->groups) ||
      !is_multiple(x->dims[1], params->offset_groups) || !is_multiple(w->dims[0], params->groups)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read the weights: they take %" PRId64 " channels in %" PRId64
                   " groups, and %" PRId64 " of offsets, for images of %" PRId64
                   ", which groups must divide",
                   w->dims[1], params->groups, params->offset_groups, x->dims[1]);
  }
  if (lk_op_has(self->node, BIAS) && lk_rank_is_known(bias) &&
      (bias->rank != 1 || lk_dims_differ(bias->dims[0], w->dims[0]))) {
    return lk_refuse(bias, "the bias", "one for each output channel", error);
  }
  const lk_window *window = &params->window;
  for (uint32_t d = 0; d < 2 && window->n_kernel == 2; d++) {
    if (!lk_dims_differ(w->dims[d + 2], window->kernel[d])) continue;
    return lk_refuse(w, "weights", "as large as kernel_shape says", error);
  }
  return LK_OK;
}

/* Offsets or a mask: `each` for each element of the kernel. */
static lk_status check_places(const lk_inference *self, uint32_t input, int64_t each,
                              const lk_tensor_desc *to, lk_error *error) {
  const deform_params *params = self->node->params;
  const lk_tensor_desc *w = &self->inputs[WEIGHTS].desc, *places = &self->inputs[input].desc;
  if (!lk_op_has(self->node, input) || !lk_rank_is_known(places)) return LK_OK;
  int64_t count = each * params->offset_groups;
  LK_RETURN_NOT_OK(lk_infer_product(self, count, w->dims[2], "count offsets", &count, error));
  LK_RETURN_NOT_OK(lk_infer_product(self, count, w->dims[3], "count offsets", &count, error));
  const lk_tensor_desc wanted = {.rank = 4, .dims = {to->dims[0], count, to->dims[2], to->dims[3]}};
  if (lk_shape_may_equal(places, &wanted)) return LK_OK;
  return lk_refuse(places, input == MASK ? "the mask" : "offsets",
                   "batch, one for each group and element of the kernel (offsets: two), "
                   "and the output's size",
                   error);
}

/* `found` is the lk_window_shape. */
static lk_status infer(lk_inference *self, lk_error *error) {
  const deform_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[0].desc, *w = &self->inputs[WEIGHTS].desc;
  lk_tensor_desc *to = &self->outputs[0];
  lk_window_shape room, *shape = self->found != NULL ? self->found : &room;
  if (!lk_rank_is_known(x) || !lk_rank_is_known(w)) return LK_OK;
  LK_RETURN_NOT_OK(check_channels(self, error));
  LK_RETURN_NOT_OK(
      lk_window_infer(&params->window, 2, x->dims + 2, w->dims + 2, self->dims, shape, error));
  lk_shape_open(to, 4);
  to->dims[0] = x->dims[0];
  to->dims[1] = w->dims[0];
  memcpy(to->dims + 2, shape->out, 2 * sizeof to->dims[0]);
  LK_RETURN_NOT_OK(check_places(self, OFFSETS, 2, to, error));
  LK_RETURN_NOT_OK(check_places(self, MASK, 1, to, error));
  return lk_shape_is_known(to) ? lk_shape_check(to, "the output", error) : LK_OK;
}

static lk_status plan_columns(lk_planner *planner, lk_operand *out_columns, lk_error *error) {
  const deform_params *params = planner->node->params;
  const lk_window_shape *shape = planner->found;
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  lk_operand operands[4];
  lk_deform_columns step = {.has_mask = lk_op_has(planner->node, MASK),
                            .batches = x->dims[0],
                            .channels = x->dims[1],
                            .groups = params->offset_groups};
  for (uint32_t d = 0; d < 2; d++) {
    step.image[d] = x->dims[d + 2];
    step.kernel[d] = shape->kernel[d], step.out[d] = shape->out[d];
    step.strides[d] = shape->strides[d], step.dilations[d] = shape->dilations[d];
    step.pads[d] = shape->begin[d];
  }
  const lk_tensor_desc columns = {.dtype = LK_F32,
                                  .rank = 4,
                                  .dims = {step.batches, step.channels,
                                           step.kernel[0] * step.kernel[1],
                                           step.out[0] * step.out[1]}};
  LK_RETURN_NOT_OK(lk_shape_check(&columns, "the columns", error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &operands[0], error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, OFFSETS, LK_LAYOUT_PLAIN, &operands[1], error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &columns, out_columns, error));
  operands[2] = *out_columns;
  if (step.has_mask)
    LK_RETURN_NOT_OK(lk_planner_input(planner, MASK, LK_LAYOUT_PLAIN, &operands[3], error));
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_deform_columns_kernel, "deform_columns", &step,
                                     sizeof step, operands, step.has_mask ? 4 : 3, error));
  lk_planner_flops(planner, 8 * (double)lk_elements(&columns));
  return LK_OK;
}

/* Matrices for each image and group, of which there may be one. */
static lk_tensor_desc matrices_of(int64_t images, int64_t groups, int64_t rows, int64_t columns) {
  const int64_t of_groups[] = {images, groups, rows, columns}, of_one[] = {images, rows, columns};
  return groups == 1 ? lk_tensor_desc_make(LK_F32, 3, of_one)
                     : lk_tensor_desc_make(LK_F32, 4, of_groups);
}

/* Weights times columns: the weights are the same for all images. */
static lk_status plan_product(lk_planner *planner, const lk_operand *to, lk_error *error) {
  const int64_t groups = ((const deform_params *)planner->node->params)->groups;
  const lk_tensor_desc *w = &planner->inputs[WEIGHTS].desc;
  const int64_t *dims = to->desc.dims;
  const int64_t k = lk_count_dims(w, 1, 4), rows = w->dims[0] / groups, pixels = dims[2] * dims[3];
  const lk_tensor_desc weights = matrices_of(1, groups, rows, k);
  lk_operand columns, product = *to;
  lk_task task;
  LK_RETURN_NOT_OK(plan_columns(planner, &columns, error));
  columns.desc = matrices_of(dims[0], groups, k, pixels);
  product.desc = matrices_of(dims[0], groups, rows, pixels);
  lk_task_begin(&task, LK_WORK_PRODUCT);
  lk_task_view(&task, LK_ROLE_SRC, LK_PLACE_INPUT, WEIGHTS, &weights);
  lk_task_place(&task, LK_ROLE_WEIGHTS, &columns);
  lk_task_place(&task, LK_ROLE_DST, &product);
  return lk_plan_task(planner, &task, error);
}

static lk_status plan_bias(lk_planner *planner, const lk_operand *to, lk_error *error) {
  lk_operand bias;
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_planner_input(planner, BIAS, LK_LAYOUT_PLAIN, &bias, error));
  lk_put_beside(&bias, to->desc.rank);
  lk_chain_begin_at(planner, to, &chain);
  chain.value = lk_chain_operand(&chain, to);
  const lk_element_value value = lk_chain_operand(&chain, &bias);
  chain.value = lk_element_binary(&chain.program, LK_ELEMENT_ADD, chain.value, value);
  return lk_chain_step(&chain, error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  static const float zero = 0;
  lk_operand to;
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &to, error));
  const bool is_empty = lk_elements(&planner->inputs[WEIGHTS].desc) == 0;
  LK_RETURN_NOT_OK(is_empty ? lk_plan_fill(planner, &to, sizeof zero, &zero, error)
                            : plan_product(planner, &to, error));
  return lk_op_has(planner->node, BIAS) ? plan_bias(planner, &to, error) : LK_OK;
}

static double flops(const lk_op_node *node, const lk_tensor *inputs,
                    const lk_tensor_desc *outputs) {
  (void)node;
  const lk_tensor_desc *w = &inputs[WEIGHTS].desc;
  return 2 * (double)lk_elements(&outputs[0]) * (double)lk_count_dims(w, 1, w->rank);
}

/* Without f64, which products have no kernel for. */
const lk_op_class lk_op_deform_conv = {
    LK_OP_ROW("DeformConv", "", 19, "convolution of elements that lie where offsets say, in 2-D",
              .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 3, .max_inputs = 5, .max_outputs = 1,
              .input_types = "TTTTT", .output_types = "T", .types = {LK_TYPES_BY_F32}),
    .by_f32 = true,
    .params_size = sizeof(deform_params),
    .found_size = sizeof(lk_window_shape),
    LK_OP_ATTRS(LK_INTS("dilations"), LK_INT("group", 1), LK_INTS("kernel_shape"),
                LK_INT("offset_group", 1), LK_INTS("pads"), LK_INTS("strides")),
    .parse = parse,
    .infer = infer,
    .flops = flops,
    .plan = plan,
};
