/* Split: parts of a tensor along an axis, as an output each. Strided copies. */
#include <inttypes.h>

#include "base/status.h"
#include "ops/plan/moves.h"

enum { SIZES_AS_INPUT_SINCE = 13, PARTS_GIVEN_SINCE = 18, SIZES = 1, MOST_PARTS = 64 };

typedef struct split_params {
  int64_t axis;
  uint32_t n_parts; /* as given, or the outputs */
  lk_list sizes;
} split_params;

static void parse(lk_attrs *attrs, void *params) {
  split_params *self = params;
  self->axis = lk_attrs_int(attrs, "axis");
  self->n_parts = attrs->n_outputs;
  lk_attrs_list(attrs, "split", &self->sizes);
  const bool has_sizes =
      SIZES < attrs->n_inputs && (attrs->desc->inputs[SIZES].flags & LK_INPUT_ABSENT) == 0;
  if (attrs->opset >= PARTS_GIVEN_SINCE && has_sizes == lk_attrs_has(attrs, "num_outputs")) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                  "input %d ('split') and attribute 'num_outputs' are %s, one of both is needed",
                  SIZES, has_sizes ? "both given" : "both missing");
    return;
  }
  if (has_sizes || !lk_attrs_has(attrs, "num_outputs")) return;
  const int64_t given = lk_attrs_int(attrs, "num_outputs");
  if (given >= attrs->n_outputs && given <= MOST_PARTS) {
    self->n_parts = (uint32_t)given;
    return;
  }
  lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                "attribute 'num_outputs' is %" PRId64 ", it must be at least the %" PRIu32
                " outputs, and at most %d",
                given, attrs->n_outputs, MOST_PARTS);
}

/* Equal parts, but for the last one from opset 18 on. `dim` may be a term. */
static void split_evenly(const lk_inference *self, int64_t dim, lk_list *sizes) {
  const uint32_t n = ((const split_params *)self->node->params)->n_parts;
  const bool may_differ = self->node->opset >= PARTS_GIVEN_SINCE && n > 1;
  const int64_t each = dim >= 0     ? dim / n + (may_differ && dim % n != 0)
                       : may_differ ? lk_dims_window(self->dims, dim, -1, n)
                                    : lk_dims_divide(self->dims, dim, n);
  sizes->count = n;
  for (uint32_t i = 0; i < n; i++) sizes->values[i] = each;
  if (may_differ) sizes->values[n - 1] = dim < 0 ? LK_DIM_UNKNOWN : dim - each * (n - 1);
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const split_params *params = self->node->params;
  const lk_tensor_desc *from = &self->inputs[0].desc;
  uint32_t axis = 0;
  lk_list sizes = params->sizes;
  if (!lk_rank_is_known(from)) return LK_OK;
  LK_RETURN_NOT_OK(lk_read_axes(&params->axis, 1, from->rank, "split", &axis, error));
  for (uint32_t i = 0; i < self->node->n_outputs; i++) {
    lk_shape_of_input(self, i, 0);
    self->outputs[i].dims[axis] = LK_DIM_UNKNOWN;
  }
  if (!lk_infer_knows_all(self)) return LK_OK;
  LK_RETURN_NOT_OK(lk_read_list(self, SIZES, "split", &sizes, error));
  const int64_t dim = from->dims[axis];
  int64_t sum = 0;
  bool fits = true;
  if (!sizes.given) split_evenly(self, dim, &sizes);
  for (uint32_t i = 0; i < sizes.count; i++) {
    const int64_t size = sizes.values[i];
    fits = fits && (size >= 0 || (dim < 0 && !sizes.given)) && lk_dims_add(NULL, sum, size, &sum);
    if (i < self->node->n_outputs) self->outputs[i].dims[axis] = size;
  }
  if (fits && sizes.count >= self->node->n_outputs && !lk_dims_differ(sum, dim)) return LK_OK;
  if (!sizes.given) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to split dimension %" PRIu32 " of %" PRId64
                   ": its size must be a multiple of the %" PRIu32
                   " outputs; give the sizes as 'split'",
                   axis, dim, self->node->n_outputs);
  }
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to split dimension %" PRIu32 " of %" PRId64 ": %" PRIu32
                 " sizes are given for %" PRIu32
                 " outputs, they must be one for each, and add up to the dimension",
                 axis, dim, sizes.count, self->node->n_outputs);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const split_params *params = planner->node->params;
  const lk_tensor_desc *desc = &planner->inputs[0].desc;
  const uint32_t axis = (uint32_t)lk_axis(params->axis, desc->rank);
  const lk_layout layout = desc->layout;
  int64_t at = 0;
  lk_operand from, to;
  if (planner->outputs[0].dims[axis] == desc->dims[axis] && planner->node->n_outputs == 1) {
    return lk_plan_same(planner, 0, error);
  }
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &from, error));
  for (uint32_t i = 0; i < planner->node->n_outputs; i++) {
    LK_RETURN_NOT_OK(lk_planner_output(planner, i, layout, &to, error));
    lk_copy copy = lk_copy_between(&from.desc, &to.desc);
    copy.from_offset = at * copy.from[axis];
    at += to.desc.dims[axis];
    LK_RETURN_NOT_OK(lk_planner_copy(planner, &copy, &from, &to, error));
  }
  return LK_OK;
}

const lk_op_class lk_op_split = {
    LK_OP_ROW("Split", "", 7, "parts along an axis", .min_inputs = 1, .max_inputs = 2,
              .max_outputs = MOST_PARTS, .input_types = "TU", .output_types = "T",
              .types = {LK_TYPES_ANY, LK_TYPES_INDEX}, .shape_inputs = 1u << SIZES),
    .params_size = sizeof(split_params),
    LK_OP_ATTRS(LK_INT("axis", 0), LK_ANY_INT("num_outputs", 0, .since = PARTS_GIVEN_SINCE),
                LK_INTS("split", .until = SIZES_AS_INPUT_SINCE - 1, .input = SIZES)),
    .parse = parse,
    .infer = infer,
    .plan = plan,
};
