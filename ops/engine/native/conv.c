/* Convolutions, transposed or not, on kernels that serve every size. */
#include <inttypes.h>

#include "base/status.h"
#include "ops/engine/native/native.h"
#include "ops/engine/native/plane_products.h"
#include "ops/kernel/conv/depthwise.h"
#include "ops/kernel/conv/depthwise_planes.h"
#include "ops/kernel/isa.h"
#include "ops/kernel/sizes.h"
#include "ops/plan/product_steps.h"
#include "ops/plan/product_weights.h"

/* Dimensions that are not there come first, as memory has them. */
static lk_conv_shape describe(const lk_work *work) {
  const lk_tensor_desc *x = &work->tensors[LK_ROLE_SRC], *w = &work->tensors[LK_ROLE_WEIGHTS];
  const lk_window_shape *window = &work->window;
  const bool is_transposed = work->kind == LK_WORK_CONV_TRANSPOSED;
  const int64_t groups = work->groups;
  lk_conv_shape conv = {.batch = x->dims[0],
                        .groups = groups,
                        .in_channels = x->dims[1] / groups,
                        .out_channels = is_transposed ? w->dims[1] : w->dims[0] / groups};
  const uint32_t first = LK_CONV_DIMS - window->rank;
  for (uint32_t d = 0; d < LK_CONV_DIMS; d++) {
    const bool is_there = d >= first;
    const uint32_t i = is_there ? d - first : 0;
    conv.in[d] = is_there ? x->dims[2 + i] : 1;
    conv.out[d] = is_there ? window->out[i] : 1;
    conv.kernel[d] = is_there ? w->dims[2 + i] : 1;
    conv.stride[d] = is_there ? (int32_t)window->strides[i] : 1;
    conv.dilation[d] = is_there ? (int32_t)window->dilations[i] : 1;
    conv.pad[d] = is_there ? (int32_t)window->begin[i] : 0;
  }
  return conv;
}

static bool has_bias(const lk_task *task) {
  return lk_work_has(&task->work, LK_ROLE_BIAS);
}

/* A step on tensors in the layout of `output`, but for its weights, operand 1, and the input in
 * `layout`. */
static lk_status begin_conv(lk_planner *planner, const lk_task *task, lk_product_output output,
                            lk_layout layout, lk_product_step *step, lk_error *error) {
  LK_RETURN_NOT_OK(lk_product_step_begin(planner, output, step, error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &step->operands[0], error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, output.layout, &step->operands[2], error));
  const int32_t bias = has_bias(task) ? task->from[LK_ROLE_BIAS].index : -1;
  LK_RETURN_NOT_OK(lk_product_step_input(planner, step, bias, LK_LAYOUT_PLAIN, error));
  LK_RETURN_NOT_OK(lk_product_step_input(planner, step, step->ends.residual, output.layout, error));
  return lk_product_step_chain(planner, step, error);
}

/* ---- convolutions: what is true of the first plan, and of those for further sizes ---- */

static lk_product_output channels_last(const lk_conv_shape *shape) {
  return (lk_product_output){.layout = LK_LAYOUT_CHANNELS_LAST,
                             .column_dim = 1,
                             .row_step = shape->groups * shape->out_channels};
}

/* Of lk_depthwise_kernel: each channel has sums of its own, and no registers are left. */
static lk_product_output depthwise_output(const lk_conv_shape *shape) {
  lk_product_output output = channels_last(shape);
  output.chains_residual = true;
  return output;
}

/* Of plain tensors whose last dimension are the channels. */
static lk_product_output plain_channels_last(const lk_conv_shape *shape, const lk_tensor_desc *to) {
  lk_product_output output = channels_last(shape);
  output.layout = LK_LAYOUT_PLAIN;
  output.column_dim = (int32_t)to->rank - 1;
  return output;
}

/* Lines are the rows, columns of the image the columns. */
static lk_product_output planes_output(const lk_conv_shape *shape, const lk_tensor_desc *to) {
  return (lk_product_output){.layout = LK_LAYOUT_PLAIN,
                             .column_dim = (int32_t)to->rank - 1,
                             .row_step = shape->out[2],
                             .chains_residual = true};
}

/* Each sets what depends on sizes, and returns the operations of a run. */
static double size_conv(lk_conv *conv, const lk_conv_shape *shape) {
  conv->shape = *shape;
  lk_conv_plan(conv);
  return lk_product_operations(&conv->product, shape->groups);
}
static double size_depthwise(lk_depthwise *conv, const lk_conv_shape *shape) {
  conv->shape = *shape;
  lk_depthwise_plan(conv, lk_isa_get());
  return lk_depthwise_operations(conv);
}
static double size_planes(lk_depthwise_planes *conv, const lk_conv_shape *shape) {
  conv->shape = *shape;
  lk_depthwise_planes_plan(conv, lk_isa_get());
  return lk_depthwise_planes_operations(conv);
}

static lk_status plan_conv(lk_planner *planner, const lk_task *task, const lk_conv_shape *shape,
                           lk_error *error) {
  const bool is_last = lk_task_is_view(task, LK_ROLE_SRC);
  const lk_product_output output =
      is_last ? plain_channels_last(shape, &planner->outputs[0]) : channels_last(shape);
  const bool has_planes =
      !is_last && planner->inputs[0].desc.layout == LK_LAYOUT_PLAIN && lk_conv_takes_planes(shape);
  const lk_layout layout = has_planes ? LK_LAYOUT_PLAIN : output.layout;
  lk_product_step step;
  LK_RETURN_NOT_OK(begin_conv(planner, task, output, layout, &step, error));
  lk_conv conv = {.has_planes = has_planes,
                  .weights_are_last = lk_task_is_view(task, LK_ROLE_WEIGHTS),
                  .isa = lk_isa_get(),
                  .product = {.low = step.ends.low, .high = step.ends.high},
                  .has_bias = has_bias(task),
                  .has_residual = step.ends.residual >= 0,
                  .has_chain = step.ends.has_chain};
  const double operations = size_conv(&conv, shape);
  LK_RETURN_NOT_OK(lk_conv_weights(planner, &conv, &step.operands[1], error));
  const lk_product_kernel kernel = {lk_conv_kernel, "convolution", &conv, sizeof conv, operations};
  return lk_product_step_emit(planner, &step, &kernel, error);
}

static lk_status plan_conv_transposed(lk_planner *planner, const lk_task *task,
                                      const lk_conv_shape *shape, lk_error *error) {
  const lk_product_output output = channels_last(shape);
  lk_product_step step;
  LK_RETURN_NOT_OK(begin_conv(planner, task, output, output.layout, &step, error));
  lk_conv_transposed conv = {.shape = *shape,
                             .isa = lk_isa_get(),
                             .low = step.ends.low,
                             .high = step.ends.high,
                             .has_bias = has_bias(task),
                             .has_residual = step.ends.residual >= 0,
                             .has_chain = step.ends.has_chain,
                             .has_chain_operands = step.ends.chain.n_operands > 0};
  lk_conv_transposed_plan(&conv);
  LK_RETURN_NOT_OK(lk_conv_transposed_weights(planner, &conv, &step.operands[1], error));
  const lk_product_kernel kernel = {lk_conv_transposed_kernel, "deconvolution", &conv, sizeof conv,
                                    lk_conv_transposed_operations(&conv)};
  return lk_product_step_emit(planner, &step, &kernel, error);
}

static lk_status plan_depthwise_planes(lk_planner *planner, const lk_task *task,
                                       const lk_conv_shape *shape, lk_error *error) {
  const lk_product_output output = planes_output(shape, &planner->outputs[0]);
  lk_product_step step;
  LK_RETURN_NOT_OK(begin_conv(planner, task, output, output.layout, &step, error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, 1, LK_LAYOUT_PLAIN, &step.operands[1], error));
  lk_depthwise_planes conv = {.has_bias = has_bias(task),
                              .has_chain = step.ends.has_chain,
                              .low = step.ends.low,
                              .high = step.ends.high};
  const double operations = size_planes(&conv, shape);
  const lk_product_kernel kernel = {lk_depthwise_planes_kernel, "convolution", &conv, sizeof conv,
                                    operations};
  return lk_product_step_emit(planner, &step, &kernel, error);
}

static lk_status plan_depthwise(lk_planner *planner, const lk_task *task,
                                const lk_conv_shape *shape, lk_error *error) {
  const bool is_transposed = task->work.kind == LK_WORK_CONV_TRANSPOSED;
  if (!is_transposed && lk_conv_wants_planes(planner) && lk_depthwise_planes_takes(shape)) {
    return plan_depthwise_planes(planner, task, shape, error);
  }
  const lk_product_output output = depthwise_output(shape);
  lk_product_step step;
  LK_RETURN_NOT_OK(begin_conv(planner, task, output, output.layout, &step, error));
  lk_depthwise conv = {.is_transposed = is_transposed,
                       .low = step.ends.low,
                       .high = step.ends.high,
                       .has_bias = has_bias(task),
                       .has_chain = step.ends.has_chain};
  const double operations = size_depthwise(&conv, shape);
  LK_RETURN_NOT_OK(lk_depthwise_weights(planner, &conv, &step.operands[1], error));
  const lk_product_kernel kernel = {lk_depthwise_kernel,
                                    is_transposed ? "deconvolution" : "convolution", &conv,
                                    sizeof conv, operations};
  return lk_product_step_emit(planner, &step, &kernel, error);
}

/* Plans of the kernels that are named here have the same kernel for each size: the groups, channels
 * and kernel are those of the first plan, and so are the layouts. Others are planned anew, such as
 * products of planes, which a transposed convolution is where that product is not too large. */
static bool resize(const lk_resizing *self, const lk_task *task) {
  const lk_conv_shape of_task = describe(&task->work), *shape = &of_task;
  lk_step *step = self->step;
  lk_product_ends_of of = {.node = self->node, .inputs = self->inputs, .to = self->output};
  double operations = 0;
  size_t size = 0; /* of the params, behind which the chain lies */
  bool has_chain = false;
  if (step->kernel == lk_conv_kernel) {
    lk_conv *conv = self->params;
    operations = size_conv(conv, shape);
    size = sizeof *conv;
    has_chain = conv->has_chain;
    of.output = channels_last(shape);
  } else if (step->kernel == lk_depthwise_planes_kernel) {
    lk_depthwise_planes *conv = self->params;
    operations = size_planes(conv, shape);
    size = sizeof *conv;
    has_chain = conv->has_chain;
    of.output = planes_output(shape, self->output);
  } else if (step->kernel == lk_depthwise_kernel) {
    lk_depthwise *conv = self->params;
    operations = size_depthwise(conv, shape);
    size = sizeof *conv;
    has_chain = conv->has_chain;
    of.output = depthwise_output(shape);
  } else {
    return false;
  }
  step->flops = (float)operations;
  void *chain = (unsigned char *)self->params + size;
  return lk_product_ends_resize(&of, has_chain ? chain : NULL);
}

/* A transposed convolution is as many convolutions as its strides have remainders, each with some
 * work of its own, however small the output is. */
enum { MOST_PHASES = 1 << 18 };

static lk_status check_phases(const lk_conv_shape *conv, lk_error *error) {
  int64_t phases = 1;
  for (int d = 0; d < LK_CONV_DIMS; d++) phases = lk_multiply_up_to_most(phases, conv->stride[d]);
  if (phases <= MOST_PHASES) return LK_OK;
  return lk_fail(error, LK_UNSUPPORTED,
                 "the product of the strides is %" PRId64 ", at most %d is supported", phases,
                 MOST_PHASES);
}

static lk_status plan(lk_planner *planner, const lk_task *task, lk_error *error) {
  const bool is_transposed = task->work.kind == LK_WORK_CONV_TRANSPOSED;
  const lk_conv_shape shape = describe(&task->work);
  const uint32_t dtype = task->work.tensors[LK_ROLE_SRC].dtype;
  if (dtype == LK_U8 || dtype == LK_I8) return lk_native_conv_bytes(planner, task, &shape, error);
  if (is_transposed) LK_RETURN_NOT_OK(check_phases(&shape, error));
  if (lk_task_is_view(task, LK_ROLE_SRC)) return plan_conv(planner, task, &shape, error);
  if (lk_depthwise_takes(&shape, lk_isa_get())) {
    return plan_depthwise(planner, task, &shape, error);
  }
  if (is_transposed && lk_plane_product_takes_transposed(planner, &shape)) {
    return lk_plan_plane_product_transposed(planner, task, &shape, error);
  }
  if (!is_transposed && lk_plane_product_takes(planner, &shape)) {
    return lk_plan_plane_product(planner, task, &shape, error);
  }
  return (is_transposed ? plan_conv_transposed : plan_conv)(planner, task, &shape, error);
}

const lk_planning lk_native_conv = {.plan = plan, .resize = resize};
