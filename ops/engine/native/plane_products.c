/* Convolutions of plain tensors that are products of matrices as they lie. */
#include "ops/engine/native/plane_products.h"

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/reduce/col2im.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/product_steps.h"

enum {
  MOST_CHANNELS = 4,      /* of a transposed convolution: more fill the columns of a tile */
  MOST_ROWS = 256,        /* of its product, which is as large as that many planes of the input */
  MOST_NUMBERS = 1 << 24, /* of that product */
  /* Operations for each element that is not brought to channels-last and back: with more, packed
   * weights and tiles of channels gain more than that costs. */
  MOST_OPERATIONS = 48
};

/* ---- when ---- */

static int64_t pixels_of(const lk_conv_shape *shape) {
  return shape->in[0] * shape->in[1] * shape->in[2];
}

bool lk_conv_wants_planes(lk_planner *planner) {
  return planner->inputs[0].desc.layout == LK_LAYOUT_PLAIN &&
         lk_planner_wish(planner, 0, LK_LAYOUT_CHANNELS_LAST) == LK_LAYOUT_PLAIN;
}

/* The product is written before a residual is read, which must lie elsewhere. */
static bool wants_planes(lk_planner *planner) {
  return planner->body->in_place_input < 0 && lk_conv_wants_planes(planner);
}

bool lk_plane_product_takes(lk_planner *planner, const lk_conv_shape *shape) {
  const int64_t in = shape->in_channels, out = shape->out_channels;
  bool keeps = lk_conv_positions(shape) == 1 && in * out <= MOST_OPERATIONS * (in + out);
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    keeps = keeps && shape->stride[d] == 1 && shape->pad[d] == 0 && shape->out[d] == shape->in[d];
  }
  return keeps && wants_planes(planner);
}

bool lk_plane_product_takes_transposed(lk_planner *planner, const lk_conv_shape *shape) {
  const int64_t rows = shape->out_channels * lk_conv_positions(shape);
  return shape->out_channels <= MOST_CHANNELS && rows <= MOST_ROWS &&
         pixels_of(shape) <= MOST_NUMBERS / rows / shape->batch / shape->groups &&
         wants_planes(planner);
}

/* ---- steps ---- */

/* `rows` rows of every group and image: sums over its channels of planes times weights, which lie
 * `a_row` apart from row to row and `a_k` from channel to channel. */
static lk_matmul describe(const lk_conv_shape *shape, int64_t rows, int64_t a_row, int64_t a_k) {
  const int64_t pixels = pixels_of(shape), groups = shape->groups, k = shape->in_channels;
  lk_matmul matmul = {.rows = rows,
                      .columns = pixels,
                      .k = k,
                      .a_row = a_row,
                      .a_k = a_k,
                      .b_k = pixels,
                      .b_column = 1,
                      .c_row = pixels};
  const lk_matmul_batch batches[] = {{shape->batch, 0, groups * k * pixels, groups * rows * pixels},
                                     {groups, rows * k, k * pixels, rows * pixels}};
  for (uint32_t i = 0; i < 2; i++) {
    if (batches[i].size != 1) matmul.batch[matmul.batch_rank++] = batches[i];
  }
  return matmul;
}

/* The bias of each channel and the node's post-ops, on what `to` holds. */
static lk_status add_tail(lk_planner *planner, const lk_task *task, const lk_operand *to,
                          lk_error *error) {
  if (!lk_work_has(&task->work, LK_ROLE_BIAS)) return lk_plan_post_ops(planner, 0, to, error);
  lk_chain chain;
  lk_operand bias;
  lk_chain_begin_at(planner, to, &chain);
  chain.value = lk_chain_operand(&chain, to);
  LK_RETURN_NOT_OK(
      lk_planner_input(planner, task->from[LK_ROLE_BIAS].index, LK_LAYOUT_PLAIN, &bias, error));
  lk_put_beside(&bias, to->desc.rank);
  const lk_element_value shift = lk_chain_operand(&chain, &bias);
  chain.value = lk_element_binary(&chain.program, LK_ELEMENT_ADD, chain.value, shift);
  return lk_chain_end(&chain, error);
}

lk_status lk_plan_plane_product(lk_planner *planner, const lk_task *task,
                                const lk_conv_shape *shape, lk_error *error) {
  lk_operand x, w, y;
  lk_matmul matmul = describe(shape, shape->out_channels, shape->in_channels, 1);
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &x, error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, 1, LK_LAYOUT_PLAIN, &w, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &y, error));
  LK_RETURN_NOT_OK(lk_plan_product(planner, &matmul, &w, &x, &y, error));
  return add_tail(planner, task, &y, error);
}

/* The windows of the product, put to where they come from. */
static lk_col2im windows_of(const lk_conv_shape *shape, const lk_tensor_desc *to) {
  lk_col2im step = {.planes = shape->batch * shape->groups * shape->out_channels,
                    .plane = shape->out[0] * shape->out[1] * shape->out[2],
                    .taps = lk_conv_positions(shape),
                    .windows = pixels_of(shape),
                    .dtype = to->dtype};
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    const bool is_there = step.rank > 0 || d + 1 == LK_CONV_DIMS || shape->in[d] != 1 ||
                          shape->out[d] != 1 || shape->kernel[d] != 1 || shape->pad[d] != 0;
    if (!is_there) continue;
    step.image[step.rank] = shape->out[d];
    step.block[step.rank] = shape->kernel[d];
    step.counts[step.rank] = shape->in[d];
    step.strides[step.rank] = shape->stride[d];
    step.dilations[step.rank] = shape->dilation[d];
    step.pads[step.rank++] = shape->pad[d];
  }
  lk_col2im_plan(&step);
  return step;
}

lk_status lk_plan_plane_product_transposed(lk_planner *planner, const lk_task *task,
                                           const lk_conv_shape *shape, lk_error *error) {
  const int64_t rows = shape->out_channels * lk_conv_positions(shape);
  lk_matmul matmul = describe(shape, rows, 1, rows);
  lk_operand x, w, y, product;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &x, error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, 1, LK_LAYOUT_PLAIN, &w, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &y, error));
  const int64_t numbers = shape->batch * shape->groups * rows * pixels_of(shape);
  const lk_tensor_desc desc = lk_tensor_desc_make(y.desc.dtype, 1, &numbers);
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &product, error));
  LK_RETURN_NOT_OK(lk_plan_product(planner, &matmul, &w, &x, &product, error));
  const lk_col2im step = windows_of(shape, &y.desc);
  const lk_operand operands[] = {product, y};
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_col2im_kernel, "col2im", &step, sizeof step,
                                     operands, 2, error));
  return add_tail(planner, task, &y, error);
}
