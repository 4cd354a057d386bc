/* GridSample, of ai.onnx and of com.microsoft: images at the places of a grid. */
#include "ops/kernel/sample/grid_sample.h"

#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/planner.h"

enum { GRID = 1 };

typedef struct grid_sample_params {
  uint32_t mode, padding;
  bool align_corners;
} grid_sample_params;

static lk_status infer(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[0].desc, *grid = &self->inputs[GRID].desc;
  lk_tensor_desc *to = &self->outputs[0];
  if (lk_rank_is_known(x) && (x->rank < 3 || x->rank > LK_SAMPLE_RANK + 2)) {
    return lk_refuse(x, "the input", "of rank 3, 4 or 5", error);
  }
  if (!lk_rank_is_known(x) || !lk_rank_is_known(grid)) return LK_OK;
  if (grid->rank != x->rank || lk_dims_differ(grid->dims[0], x->dims[0]) ||
      lk_dims_differ(grid->dims[grid->rank - 1], x->rank - 2)) {
    return lk_refuse(grid, "the grid",
                     "batch, one for each spatial dimension of the output, and coordinates, one "
                     "for each spatial dimension of the input",
                     error);
  }
  lk_shape_of_input(self, 0, 0);
  to->dims[0] = lk_dims_either(x->dims[0], grid->dims[0]);
  memcpy(to->dims + 2, grid->dims + 1, (x->rank - 2) * sizeof to->dims[0]);
  return lk_shape_is_known(to) ? lk_shape_check(to, "the output", error) : LK_OK;
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const grid_sample_params *params = planner->node->params;
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  lk_operand operands[3];
  LK_RETURN_NOT_OK(lk_planner_plain(planner, 2, operands, error));
  lk_grid_sample step = {.mode = params->mode,
                         .padding = params->padding,
                         .rank = x->rank - 2,
                         .align_corners = params->align_corners,
                         .is_wide = x->dtype == LK_F64,
                         .grid_is_wide = operands[1].desc.dtype == LK_F64,
                         .batches = x->dims[0],
                         .channels = x->dims[1],
                         .places = lk_count_dims(&operands[2].desc, 2, operands[2].desc.rank)};
  memcpy(step.dims, x->dims + 2, step.rank * sizeof step.dims[0]);
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_grid_sample_kernel, "grid_sample", &step,
                                     sizeof step, operands, 3, error));
  const int64_t taps = params->mode == LK_SAMPLE_NEAREST ? 0
                       : params->mode == LK_SAMPLE_CUBIC ? 2
                                                         : 1;
  lk_planner_flops(planner, 2.0 * (double)lk_elements(&operands[2].desc) *
                                (double)(INT64_C(1) << (taps * step.rank)));
  return LK_OK;
}

#define ROW(domain_text, first)                                                                    \
  LK_OP_ROW("GridSample", domain_text, first,                                                      \
            "images at the places of a grid, between their elements",                              \
            .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 2, .max_inputs = 2, .max_outputs = 1,     \
            .input_types = "TU", .output_types = "T", .types = {LK_TYPES_FLOAT, LK_TYPES_FLOAT}),  \
      .by_f32 = true,                                                                              \
      LK_OP_PARAMS(grid_sample_params, LK_PARAM(grid_sample_params, mode, "mode"),                 \
                   LK_PARAM(grid_sample_params, padding, "padding_mode"),                          \
                   LK_PARAM(grid_sample_params, align_corners, "align_corners")),                  \
      .infer = infer, .plan = plan

#define GRID_ATTRS(...)                                                                            \
  LK_OP_ATTRS(LK_FLAG("align_corners", 0), LK_CHOICE("padding_mode", "zeros|border|reflection"),   \
              __VA_ARGS__)

const lk_op_class lk_op_grid_sample = {
    ROW("", 16),
    GRID_ATTRS(LK_CHOICE("mode", "bilinear|nearest|bicubic", .until = 19),
               LK_CHOICE("mode", "linear|nearest|cubic", .since = 20)),
};
const lk_op_class lk_op_grid_sample_microsoft = {
    ROW("com.microsoft", 1),
    GRID_ATTRS(LK_CHOICE("mode", "bilinear|nearest|bicubic")),
};
