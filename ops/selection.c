/* Operators whose outputs are as large as the elements say: NonZero, Compress, Unique,
 * NonMaxSuppression (ONNX operators of these names). A plan has the most that there can be, and the
 * kernel writes the true dimensions behind the outputs. */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/reduce/selection.h"
#include "ops/kernel/reduce/unique.h"
#include "ops/plan/planner.h"

/* A dimension that follows from data: `most` where a plan is made, else unknown. */
static int64_t bound(const lk_inference *self, int64_t most) {
  return self->bounds ? most : LK_DIM_UNKNOWN;
}

/* Where the kernel writes the outputs' dimensions. */
static lk_operand dims_operand(const lk_planner *planner) {
  const int64_t count = (int64_t)planner->node->n_outputs * LK_MAX_RANK;
  return (lk_operand){LK_PLACE_OUTPUT, planner->node->n_outputs,
                      lk_tensor_desc_make(LK_I64, 1, &count)};
}

/* The node's inputs, plain, and its outputs behind them; an input that is not there is input 0. */
static lk_status take_all(lk_planner *planner, uint32_t n_inputs, lk_operand *operands,
                          lk_error *error) {
  for (uint32_t i = 0; i < n_inputs; i++) {
    const uint32_t input = lk_op_has(planner->node, i) ? i : 0;
    LK_RETURN_NOT_OK(lk_planner_input(planner, input, LK_LAYOUT_PLAIN, &operands[i], error));
  }
  for (uint32_t i = 0; i < planner->node->n_outputs; i++) {
    LK_RETURN_NOT_OK(
        lk_planner_output(planner, i, LK_LAYOUT_PLAIN, &operands[n_inputs + i], error));
  }
  return LK_OK;
}

/* The axis of a node that may take the tensor as one dimension. */
typedef struct axis_params {
  int64_t axis;
  bool is_flat, is_sorted;
} axis_params;

static void parse_axis(lk_attrs *attrs, void *params) {
  axis_params *self = params;
  self->is_flat = !lk_attrs_has(attrs, "axis");
  self->axis = lk_attrs_int(attrs, "axis");
  self->is_sorted = lk_attrs_lists(attrs, "sorted") && lk_attrs_bool(attrs, "sorted");
}

static lk_status find_axis(const axis_params *params, const lk_tensor_desc *x, uint32_t *out,
                           lk_error *error) {
  *out = 0;
  return params->is_flat ? LK_OK : lk_attr_axis(params->axis, x, out, error);
}

/* Output 0: all of X, or of X as one dimension, with at most `most` along the axis; and which axis
 * it is. */
static lk_status infer_chosen(lk_inference *self, uint32_t *out_axis, lk_error *error) {
  const axis_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[0].desc;
  lk_tensor_desc *to = &self->outputs[0];
  *out_axis = 0;
  if (params->is_flat) {
    lk_shape_open(to, 1);
    if (self->bounds) to->dims[0] = lk_elements(x);
    return LK_OK;
  }
  if (!lk_rank_is_known(x)) return LK_OK;
  LK_RETURN_NOT_OK(find_axis(params, x, out_axis, error));
  lk_shape_of_input(self, 0, 0);
  to->dims[*out_axis] = bound(self, x->dims[*out_axis]);
  return LK_OK;
}

/* ---- NonZero ---- */

static lk_status infer_non_zero(lk_inference *self, lk_error *error) {
  (void)error;
  const lk_tensor_desc *x = &self->inputs[0].desc;
  lk_tensor_desc *to = &self->outputs[0];
  lk_shape_open(to, 2);
  if (lk_rank_is_known(x)) to->dims[0] = x->rank > 0 ? x->rank : 1;
  if (self->bounds) to->dims[1] = lk_elements(x);
  return LK_OK;
}

static lk_status plan_non_zero(lk_planner *planner, lk_error *error) {
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  lk_non_zero step = {.dtype = x->dtype, .rank = x->rank > 0 ? x->rank : 1, .dims = {1}};
  lk_operand operands[3]; /* data, coordinates, dimensions */
  memcpy(step.dims, x->dims, x->rank * sizeof step.dims[0]);
  LK_RETURN_NOT_OK(take_all(planner, 1, operands, error));
  operands[2] = dims_operand(planner);
  return lk_planner_kernel(planner, lk_non_zero_kernel, "non_zero", &step, sizeof step, operands, 3,
                           error);
}

/* ---- Compress ---- */

static lk_status infer_compress(lk_inference *self, lk_error *error) {
  uint32_t axis = 0;
  const lk_tensor_desc *condition = &self->inputs[1].desc;
  if (lk_rank_is_known(condition) && condition->rank != 1) {
    return lk_refuse(condition, "the condition", "of one dimension", error);
  }
  return infer_chosen(self, &axis, error);
}

static lk_status plan_compress(lk_planner *planner, lk_error *error) {
  const axis_params *params = planner->node->params;
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  lk_operand operands[4]; /* data, condition, to, dimensions */
  lk_compress step = {.rank = params->is_flat ? 1 : x->rank,
                      .block = lk_dtype_size(x->dtype),
                      .length = planner->inputs[1].desc.dims[0],
                      .dims = {lk_elements(x)}};
  LK_RETURN_NOT_OK(find_axis(params, x, &step.axis, error));
  if (!params->is_flat) memcpy(step.dims, x->dims, sizeof step.dims);
  for (uint32_t i = step.axis + 1; i < step.rank; i++) step.block *= (size_t)step.dims[i];
  LK_RETURN_NOT_OK(take_all(planner, 2, operands, error));
  operands[3] = dims_operand(planner);
  return lk_planner_kernel(planner, lk_compress_kernel, "compress", &step, sizeof step, operands, 4,
                           error);
}

/* ---- Unique ---- */

enum { UNIQUE_OUTPUTS = 4, NUMBERS = 2 };

static lk_status infer_unique(lk_inference *self, lk_error *error) {
  uint32_t axis = 0;
  const lk_tensor_desc *x = &self->inputs[0].desc, *to = &self->outputs[0];
  LK_RETURN_NOT_OK(infer_chosen(self, &axis, error));
  const bool is_flat = ((const axis_params *)self->node->params)->is_flat;
  for (uint32_t i = 1; i < self->node->n_outputs; i++) {
    lk_shape_open(&self->outputs[i], 1);
    if (self->bounds) self->outputs[i].dims[0] = to->dims[axis];
    if (i == NUMBERS && !is_flat && lk_rank_is_known(x)) {
      self->outputs[i].dims[0] = x->dims[axis];
    }
  }
  return LK_OK;
}

enum { MANY_SLICES = 16 * 1024 }; /* to sort */

static lk_status plan_unique(lk_planner *planner, lk_error *error) {
  const axis_params *params = planner->node->params;
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  /* data; slices, first places, numbers, counts; scratch; dimensions */
  lk_operand operands[1 + UNIQUE_OUTPUTS + 2];
  lk_unique step = {.dtype = x->dtype,
                    .rank = params->is_flat ? 1 : x->rank,
                    .n_outputs = planner->node->n_outputs,
                    .sorted = params->is_sorted,
                    .dims = {lk_elements(x)}};
  LK_RETURN_NOT_OK(find_axis(params, x, &step.axis, error));
  if (!params->is_flat) memcpy(step.dims, x->dims, sizeof step.dims);
  LK_RETURN_NOT_OK(take_all(planner, 1, operands, error));
  const lk_tensor_desc list = lk_tensor_desc_make(LK_I64, 1, &step.dims[step.axis]);
  for (uint32_t i = planner->node->n_outputs; i < UNIQUE_OUTPUTS + 1; i++) {
    LK_RETURN_NOT_OK(lk_planner_temp(planner, &list, &operands[1 + i], error));
  }
  operands[UNIQUE_OUTPUTS + 2] = dims_operand(planner);
  if (step.dims[step.axis] >= MANY_SLICES) lk_planner_is_long(planner);
  return lk_planner_kernel(planner, lk_unique_kernel, "unique", &step, sizeof step, operands,
                           UNIQUE_OUTPUTS + 3, error);
}

/* ---- NonMaxSuppression ---- */

enum { BOXES, SCORES, MOST, OVERLAP, LEAST_SCORE, NMS_INPUTS };

static lk_status infer_non_max(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *boxes = &self->inputs[BOXES].desc, *scores = &self->inputs[SCORES].desc;
  lk_tensor_desc *to = &self->outputs[0];
  lk_shape_open(to, 2);
  to->dims[1] = 3;
  const bool knows = lk_rank_is_known(boxes) && lk_rank_is_known(scores);
  if (knows && (boxes->rank != 3 || scores->rank != 3 || lk_dims_differ(boxes->dims[2], 4) ||
                lk_dims_differ(boxes->dims[0], scores->dims[0]) ||
                lk_dims_differ(boxes->dims[1], scores->dims[2]))) {
    char text[LK_TENSOR_TEXT_CAPACITY], other[LK_TENSOR_TEXT_CAPACITY];
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read scores: they are %s and boxes are %s, they must be batch x "
                   "classes x boxes, and batch x boxes x 4",
                   lk_tensor_text(scores, text), lk_tensor_text(boxes, other));
  }
  static const char *const names[] = {"max_output_boxes_per_class", "iou_threshold",
                                      "score_threshold"};
  for (uint32_t i = MOST; i < NMS_INPUTS; i++) {
    const lk_tensor_desc *desc = &self->inputs[i].desc;
    if (!lk_op_has(self->node, i) || !lk_shape_is_known(desc) || lk_elements(desc) == 1) continue;
    return lk_refuse(desc, names[i - MOST], "one number", error);
  }
  if (self->bounds) to->dims[0] = lk_elements(scores);
  return LK_OK;
}

enum { PAIR_FLOPS = 16 }; /* of an intersection over union */

static lk_status plan_non_max(lk_planner *planner, lk_error *error) {
  const lk_tensor_desc *scores = &planner->inputs[SCORES].desc;
  const lk_op_node *node = planner->node;
  const lk_non_max step = {.batches = scores->dims[0],
                           .classes = scores->dims[1],
                           .boxes = scores->dims[2],
                           .centered = *(const bool *)node->params,
                           .has_most = lk_op_has(node, MOST),
                           .has_overlap = lk_op_has(node, OVERLAP),
                           .has_least_score = lk_op_has(node, LEAST_SCORE)};
  if (step.boxes >= UINT32_MAX) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to choose boxes: %" PRId64 " of them, fewer than 2^32 - 1 are supported",
                   step.boxes);
  }
  lk_operand operands[NMS_INPUTS + 3]; /* inputs, chosen, scratch, dimensions */
  const int64_t room = LK_NON_MAX_SCRATCH * step.boxes;
  const lk_tensor_desc scratch = lk_tensor_desc_make(LK_I64, 1, &room);
  LK_RETURN_NOT_OK(take_all(planner, NMS_INPUTS, operands, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &scratch, &operands[NMS_INPUTS + 1], error));
  operands[NMS_INPUTS + 2] = dims_operand(planner);
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_non_max_kernel, "non_max", &step, sizeof step,
                                     operands, NMS_INPUTS + 3, error));
  /* at the most: each box with each better one */
  const double pairs = (double)step.boxes * (double)(step.boxes - 1) / 2;
  lk_planner_flops(planner, (double)step.batches * (double)step.classes * pairs * PAIR_FLOPS);
  return LK_OK;
}

/* ---- rows ---- */

#define SELECTION_ROW(name, first, summary_text, least_inputs, most_inputs, outputs, ...)          \
  LK_OP_ROW(name, "", first, summary_text, .flags = LK_OP_DATA_DEPENDENT,                          \
            .min_inputs = least_inputs, .max_inputs = most_inputs, .max_outputs = outputs,         \
            __VA_ARGS__)

const lk_op_class lk_op_non_zero = {
    SELECTION_ROW("NonZero", 9, "where elements are not 0", 1, 1, 1, .input_types = "T",
                  .output_types = "U", .types = {LK_TYPES_ANY, LK_TYPE(LK_I64)}),
    .infer = infer_non_zero,
    .plan = plan_non_zero,
};
const lk_op_class lk_op_compress = {
    SELECTION_ROW("Compress", 9, "slices that a condition chooses", 2, 2, 1, .input_types = "TU",
                  .output_types = "T", .types = {LK_TYPES_ANY, LK_TYPE(LK_BOOL)}),
    .params_size = sizeof(axis_params),
    LK_OP_ATTRS(LK_ANY_INT("axis", 0)),
    .parse = parse_axis,
    .infer = infer_compress,
    .plan = plan_compress,
};
const lk_op_class lk_op_unique = {
    SELECTION_ROW("Unique", 11, "slices that differ", 1, 1, UNIQUE_OUTPUTS, .input_types = "T",
                  .output_types = "TU", .types = {LK_TYPES_ANY, LK_TYPE(LK_I64)}),
    .params_size = sizeof(axis_params),
    LK_OP_ATTRS(LK_ANY_INT("axis", 0), LK_FLAG("sorted", 1)),
    .parse = parse_axis,
    .infer = infer_unique,
    .plan = plan_unique,
};
const lk_op_class lk_op_non_max_suppression = {
    SELECTION_ROW("NonMaxSuppression", 10, "boxes that do not overlap better ones", 2, NMS_INPUTS,
                  1, .input_types = "TTUTT", .output_types = "U",
                  .types = {LK_TYPES_F32, LK_TYPE(LK_I64)}),
    LK_OP_ATTRS(LK_FLAG("center_point_box", 0)),
    LK_OP_PARAM(bool, "center_point_box"),
    .infer = infer_non_max,
    .plan = plan_non_max,
};
