/* MaxRoiPool: the largest elements of regions of images, as bins of one size. */
#include "ops/kernel/sample/roi_pool.h"

#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/planner.h"

enum { REGIONS = 1 };

/* The parameter is the lk_roi_pool, without sizes of inputs. */
static void parse(lk_attrs *attrs, void *params) {
  lk_roi_pool *self = params;
  self->scale = (double)lk_attrs_float(attrs, "spatial_scale");
  const uint32_t count = lk_attrs_ints(attrs, "pooled_shape", self->bins, 2);
  if (count != 2 || self->bins[0] < 1 || self->bins[1] < 1) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                  "failed to read pooled_shape: it must have two numbers, both at least 1");
  }
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const lk_roi_pool *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[0].desc, *regions = &self->inputs[REGIONS].desc;
  lk_tensor_desc *to = &self->outputs[0];
  if (lk_rank_is_known(x) && x->rank != 4) return lk_refuse(x, "images", "of rank 4", error);
  if (lk_rank_is_known(regions) && (regions->rank != 2 || lk_dims_differ(regions->dims[1], 5))) {
    return lk_refuse(regions, "regions", "five numbers for each", error);
  }
  lk_shape_open(to, 4);
  if (lk_rank_is_known(regions)) to->dims[0] = regions->dims[0];
  if (lk_rank_is_known(x)) to->dims[1] = x->dims[1];
  memcpy(to->dims + 2, params->bins, sizeof params->bins);
  return lk_shape_is_known(to) ? lk_shape_check(to, "the output", error) : LK_OK;
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  lk_roi_pool step = *(const lk_roi_pool *)planner->node->params;
  lk_operand operands[3];
  LK_RETURN_NOT_OK(lk_planner_plain(planner, 2, operands, error));
  step.is_wide = x->dtype == LK_F64;
  step.batches = x->dims[0], step.channels = x->dims[1], step.regions = operands[2].desc.dims[0];
  memcpy(step.image, x->dims + 2, sizeof step.image);
  return lk_planner_kernel(planner, lk_roi_pool_kernel, "roi_pool", &step, sizeof step, operands, 3,
                           error);
}

const lk_op_class lk_op_max_roi_pool = {
    LK_OP_ROW("MaxRoiPool", "", 1, "the largest elements of regions of images, as bins",
              .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 2, .max_inputs = 2, .max_outputs = 1,
              .input_types = "TT", .output_types = "T", .types = {LK_TYPES_FLOAT}),
    .by_f32 = true,
    .params_size = sizeof(lk_roi_pool),
    LK_OP_ATTRS(LK_INTS("pooled_shape", .is_required = 1), LK_FLOAT("spatial_scale", 1)),
    .parse = parse,
    .infer = infer,
    .plan = plan,
};
