/* RoiAlign: regions of images as bins of one size. */
#include "ops/kernel/sample/roi_align.h"

#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/planner.h"

enum { REGIONS = 1, BATCHES = 2, HALF_PIXEL_SINCE = 16 };

/* The parameter is the lk_roi_align, without sizes of inputs. */
static void parse(lk_attrs *attrs, void *params) {
  lk_roi_align *self = params;
  const bool is_new = attrs->opset >= HALF_PIXEL_SINCE;
  self->is_max = lk_attrs_choice(attrs, "mode") == 1;
  self->half_pixel = is_new && lk_attrs_choice(attrs, "coordinate_transformation_mode") == 0;
  self->scale = (double)lk_attrs_float(attrs, "spatial_scale");
  self->samples = lk_attrs_int(attrs, "sampling_ratio");
  self->bins[0] = lk_attrs_int(attrs, "output_height");
  self->bins[1] = lk_attrs_int(attrs, "output_width");
  if (self->bins[0] < 1 || self->bins[1] < 1) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                  "failed to read the output's size: it is %" PRId64 " x %" PRId64
                  ", both must be at least 1",
                  self->bins[0], self->bins[1]);
  }
  if (self->samples < 0 || self->samples > LK_ROI_SAMPLES) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                  "failed to read sampling_ratio: it is %" PRId64 ", 0 to %d are allowed",
                  self->samples, LK_ROI_SAMPLES);
  }
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const lk_roi_align *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[0].desc, *regions = &self->inputs[REGIONS].desc;
  const lk_tensor_desc *batches = &self->inputs[BATCHES].desc;
  lk_tensor_desc *to = &self->outputs[0];
  if (lk_rank_is_known(x) && x->rank != 4) return lk_refuse(x, "images", "of rank 4", error);
  if (lk_rank_is_known(regions) && (regions->rank != 2 || lk_dims_differ(regions->dims[1], 4))) {
    return lk_refuse(regions, "regions", "four numbers for each", error);
  }
  if (lk_rank_is_known(batches) &&
      (batches->rank != 1 ||
       (lk_rank_is_known(regions) && lk_dims_differ(batches->dims[0], regions->dims[0])))) {
    return lk_refuse(batches, "batch_indices", "one for each region", error);
  }
  lk_shape_open(to, 4);
  if (lk_rank_is_known(regions)) to->dims[0] = regions->dims[0];
  if (lk_rank_is_known(batches)) to->dims[0] = lk_dims_either(to->dims[0], batches->dims[0]);
  if (lk_rank_is_known(x)) to->dims[1] = x->dims[1];
  memcpy(to->dims + 2, params->bins, sizeof params->bins);
  return lk_shape_is_known(to) ? lk_shape_check(to, "the output", error) : LK_OK;
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  lk_roi_align step = *(const lk_roi_align *)planner->node->params;
  lk_operand operands[4];
  LK_RETURN_NOT_OK(lk_planner_plain(planner, 3, operands, error));
  step.is_wide = x->dtype == LK_F64;
  step.batches = x->dims[0], step.channels = x->dims[1], step.regions = operands[3].desc.dims[0];
  memcpy(step.image, x->dims + 2, sizeof step.image);
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_roi_align_kernel, "roi_align", &step, sizeof step,
                                     operands, 4, error));
  /* how many samples there are where no number is given, only the regions say */
  const double samples = step.samples > 0 ? (double)step.samples : 2;
  if (step.samples == 0) lk_planner_is_long(planner);
  lk_planner_flops(planner, 8 * samples * samples * (double)lk_elements(&operands[3].desc));
  return LK_OK;
}

const lk_op_class lk_op_roi_align = {
    LK_OP_ROW("RoiAlign", "", 10, "regions of images as bins, sampled between elements",
              .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 3, .max_inputs = 3, .max_outputs = 1,
              .input_types = "TTU", .output_types = "T",
              .types = {LK_TYPES_FLOAT, LK_TYPE(LK_I64)}),
    .by_f32 = true,
    .params_size = sizeof(lk_roi_align),
    LK_OP_ATTRS(LK_CHOICE("coordinate_transformation_mode", "half_pixel|output_half_pixel",
                          .since = HALF_PIXEL_SINCE),
                LK_CHOICE("mode", "avg|max"), LK_INT("output_height", 1), LK_INT("output_width", 1),
                LK_INT("sampling_ratio", 0), LK_FLOAT("spatial_scale", 1)),
    .parse = parse,
    .infer = infer,
    .plan = plan,
};
