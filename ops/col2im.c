/* Col2Im: windows of images, with what overlaps added up. */
#include "ops/kernel/reduce/col2im.h"
#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/planner.h"
#include "ops/plan/window.h"

enum { IMAGE = 1, BLOCK = 2 };

/* The parameter is the lk_window. */
static void parse(lk_attrs *attrs, void *params) {
  lk_window_parse(attrs, params);
}

/* `found` is the lk_col2im. */
static lk_status infer(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[0].desc;
  lk_tensor_desc *to = &self->outputs[0];
  lk_list image = {0}, block = {0};
  lk_window_shape shape;
  lk_col2im room, *step = self->found != NULL ? self->found : &room;
  if (!lk_infer_knows_all(self)) {
    const int64_t spatial = lk_infer_count(self, IMAGE);
    if (spatial >= 0) lk_shape_open(to, spatial + 2);
    return LK_OK;
  }
  LK_RETURN_NOT_OK(lk_read_list(self, IMAGE, "image_shape", &image, error));
  LK_RETURN_NOT_OK(lk_read_list(self, BLOCK, "block_shape", &block, error));
  const uint32_t n = image.count;
  bool fits = block.count == n;
  for (uint32_t i = 0; i < n; i++) fits = fits && image.values[i] >= 0 && block.values[i] > 0;
  if (!fits) {
    return lk_refuse(&self->inputs[BLOCK].desc, "image_shape and block_shape",
                     "equally many, and positive", error);
  }
  LK_RETURN_NOT_OK(
      lk_window_infer(self->node->params, n, image.values, block.values, NULL, &shape, error));
  *step = (lk_col2im){.rank = n, .taps = 1, .windows = 1};
  lk_shape_open(to, n + 2);
  for (uint32_t i = 0; i < n; i++) {
    to->dims[i + 2] = step->image[i] = image.values[i];
    step->block[i] = block.values[i];
    step->counts[i] = shape.out[i];
    step->strides[i] = shape.strides[i];
    step->dilations[i] = shape.dilations[i];
    step->pads[i] = shape.begin[i];
    LK_RETURN_NOT_OK(
        lk_infer_product(self, step->taps, block.values[i], "count", &step->taps, error));
    LK_RETURN_NOT_OK(
        lk_infer_product(self, step->windows, shape.out[i], "count", &step->windows, error));
  }
  if (!lk_rank_is_known(x)) return LK_OK;
  const lk_tensor_desc wanted = {.rank = 3, .dims = {x->dims[0], x->dims[1], step->windows}};
  if (!lk_shape_may_equal(x, &wanted) || (x->dims[1] >= 0 && x->dims[1] % step->taps != 0)) {
    return lk_refuse(x, "windows", "batch, channels times elements of a window, windows", error);
  }
  to->dims[0] = x->dims[0];
  to->dims[1] = lk_dims_divide(self->dims, x->dims[1], step->taps);
  return lk_shape_check(to, "the images", error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  lk_operand operands[2];
  LK_RETURN_NOT_OK(lk_planner_plain(planner, 1, operands, error));
  const lk_tensor_desc *to = &operands[1].desc;
  lk_col2im step = *(const lk_col2im *)planner->found;
  step.planes = to->dims[0] * to->dims[1];
  step.plane = lk_count_dims(to, 2, to->rank);
  step.dtype = to->dtype;
  lk_col2im_plan(&step);
  return lk_planner_kernel(planner, lk_col2im_kernel, "col2im", &step, sizeof step, operands, 2,
                           error);
}

const lk_op_class lk_op_col2im = {
    LK_OP_ROW("Col2Im", "", 18, "images from their windows, with what overlaps added up",
              .min_inputs = 3, .max_inputs = 3, .max_outputs = 1, .input_types = "TU",
              .output_types = "T", .types = {LK_TYPES_ANY, LK_TYPE(LK_I64)},
              .shape_inputs = 1u << IMAGE | 1u << BLOCK),
    .params_size = sizeof(lk_window),
    .found_size = sizeof(lk_col2im),
    LK_OP_ATTRS(LK_INTS("dilations"), LK_INTS("pads"), LK_INTS("strides")),
    .parse = parse,
    .infer = infer,
    .plan = plan,
};
