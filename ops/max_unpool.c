/* MaxUnpool: largest values back at their places. */
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/indexing.h"
#include "ops/plan/moves.h"
#include "ops/plan/window.h"

enum { INDICES = 1, OUTPUT_SHAPE = 2 };

/* The parameter is the lk_window. */
static void parse(lk_attrs *attrs, void *params) {
  lk_window_parse(attrs, params);
}

/* `found` is the shape of which indices speak, that of the input of a MaxPool: an
 * lk_tensor_desc. */
static lk_status infer(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[0].desc, *indices = &self->inputs[INDICES].desc;
  lk_tensor_desc *to = &self->outputs[0];
  lk_window_shape shape;
  lk_list given = {0};
  if (!lk_rank_is_known(x)) return LK_OK;
  if (x->rank < 3) return lk_refuse(x, "the input", "of rank 3 or more", error);
  if (!lk_shape_may_equal(x, indices)) {
    return lk_refuse(indices, "indices", "one for each element", error);
  }
  LK_RETURN_NOT_OK(lk_window_infer_transposed(self->node->params, x->rank - 2, x->dims + 2, NULL,
                                              self->dims, &shape, error));
  lk_shape_of_input(self, 0, 0);
  memcpy(to->dims + 2, shape.out, (x->rank - 2) * sizeof to->dims[0]);
  if (self->found != NULL) *(lk_tensor_desc *)self->found = *to;
  if (!lk_op_has(self->node, OUTPUT_SHAPE)) return lk_shape_check(to, "the output", error);
  lk_shape_open(to, x->rank);
  if (!lk_infer_knows_all(self)) return LK_OK;
  LK_RETURN_NOT_OK(lk_read_list(self, OUTPUT_SHAPE, "output_shape", &given, error));
  if (given.count == x->rank) memcpy(to->dims, given.values, x->rank * sizeof to->dims[0]);
  if (lk_shape_is_known(to)) return lk_shape_check(to, "output_shape", error);
  return lk_refuse(&self->inputs[OUTPUT_SHAPE].desc, "output_shape", "one for each dimension",
                   error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  static const uint8_t zero[8];
  const lk_tensor_desc *natural = planner->found;
  lk_operand operands[3], place;
  LK_RETURN_NOT_OK(lk_planner_plain(planner, 2, operands, error));
  const lk_operand *x = &operands[0], *to = &operands[2];
  const size_t size = lk_dtype_size(x->desc.dtype);
  const bool is_natural = lk_shape_equal(natural, &to->desc);
  LK_RETURN_NOT_OK(lk_plan_fill(planner, to, size, zero, error));
  if (lk_elements(&x->desc) == 0) return LK_OK;
  place = *to;
  if (!is_natural) {
    LK_RETURN_NOT_OK(lk_planner_temp(planner, natural, &place, error));
    LK_RETURN_NOT_OK(lk_plan_fill(planner, &place, size, zero, error));
  }
  lk_indexed step = {.rule = LK_INDEX_CHECKED, .elements = 1, .rank = 1};
  lk_index_dim(&step, 0, lk_elements(&x->desc), 0, 1, 1);
  lk_index_axis(&step, lk_elements(natural), 1);
  LK_RETURN_NOT_OK(lk_plan_scatter(planner, &step, &place, &operands[INDICES], x, error));
  if (is_natural) return LK_OK;
  lk_copy copy = lk_copy_between(natural, &to->desc);
  for (uint32_t i = 0; i < copy.rank; i++) {
    if (natural->dims[i] < copy.dims[i]) copy.dims[i] = natural->dims[i];
  }
  return lk_planner_copy(planner, &copy, &place, to, error);
}

const lk_op_class lk_op_max_unpool = {
    LK_OP_ROW("MaxUnpool", "", 9, "largest values back at their places, and 0 elsewhere",
              .min_inputs = 2, .max_inputs = 3, .max_outputs = 1, .input_types = "TU",
              .output_types = "T", .types = {LK_TYPES_FLOAT, LK_TYPE(LK_I64)},
              .shape_inputs = 1u << OUTPUT_SHAPE),
    .params_size = sizeof(lk_window),
    .found_size = sizeof(lk_tensor_desc),
    LK_OP_ATTRS(LK_INTS("kernel_shape", .is_required = 1), LK_INTS("pads"), LK_INTS("strides")),
    .parse = parse,
    .infer = infer,
    .plan = plan,
};
