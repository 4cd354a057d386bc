/* Concat: inputs behind each other along an axis. f32 through oneDNN, other types and very many
 * inputs by strided copies. Inputs without elements are left out. */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/strides.h"
#include "ops/plan/moves.h"

/* More sources than one primitive takes are copied one by one. */
enum { MAX_SOURCES = 60, MAX_INPUTS = 4096 };
_Static_assert((int)MAX_SOURCES <= LK_MAX_SOURCES, "the builder reads them all");

/* The parameter is the axis: an int64_t. */
static void parse(lk_attrs *attrs, void *params) {
  if (!lk_attrs_has(attrs, "axis")) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT, "no attribute axis, it is required");
  }
  *(int64_t *)params = lk_attrs_int(attrs, "axis", 0);
}

/* The first input of known rank; NULL: none. */
static const lk_tensor_desc *first_known(const lk_inference *self) {
  for (uint32_t i = 0; i < self->node->n_operands; i++) {
    if (lk_rank_is_known(&self->inputs[i].desc)) return &self->inputs[i].desc;
  }
  return NULL;
}

/* Adds an input to `to`. False: it does not fit. */
static bool append(lk_dims *dims, lk_tensor_desc *to, const lk_tensor_desc *next, uint32_t axis,
                   bool *out_overflows) {
  if (!lk_rank_is_known(next)) {
    to->dims[axis] = LK_DIM_UNKNOWN;
    return true;
  }
  bool fits = next->rank == to->rank;
  for (uint32_t i = 0; fits && i < to->rank; i++) {
    if (i == axis) continue;
    fits = !lk_dims_differ(next->dims[i], to->dims[i]);
    to->dims[i] = lk_dims_either(to->dims[i], next->dims[i]);
  }
  *out_overflows = fits && !lk_dims_add(dims, to->dims[axis], next->dims[axis], &to->dims[axis]);
  return fits;
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *first = first_known(self);
  if (first == NULL) return LK_OK;
  uint32_t axis = 0;
  LK_RETURN_NOT_OK(lk_read_axes(self->node->params, 1, first->rank, "concatenate", &axis, error));
  lk_tensor_desc to = {.dtype = self->outputs[0].dtype, .rank = first->rank};
  memcpy(to.dims, first->dims, sizeof to.dims);
  to.dims[axis] = 0;
  for (uint32_t i = 0; i < self->node->n_operands; i++) {
    const lk_tensor_desc *next = &self->inputs[i].desc;
    bool overflows = false;
    if (!append(self->dims, &to, next, axis, &overflows)) {
      char text[LK_TENSOR_TEXT_CAPACITY], first_text[LK_TENSOR_TEXT_CAPACITY];
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to concatenate input %" PRIu32
                     ": %s, must be like %s but for axis %" PRIu32,
                     i, lk_tensor_text(next, text), lk_tensor_text(first, first_text), axis);
    }
    if (overflows) {
      return lk_fail(error, LK_OUT_OF_RANGE,
                     "failed to concatenate: axis %" PRIu32 ", a dimension exceeds 2^63", axis);
    }
  }
  self->outputs[0] = to;
  return lk_shape_check(&to, "the concatenation", error);
}

/* Channels-last when all inputs that come at run time lie so, or when some do and it is wished for;
 * inputs whose bytes are the same either way do not count. */
static lk_layout choose_layout(lk_planner *planner) {
  const lk_op_node *node = planner->node;
  bool any = false, all = true;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    const lk_tensor_desc *desc = &planner->inputs[i].desc;
    const bool is_neutral = node->constants[i].content != NULL || lk_elements(desc) == 0 ||
                            desc->rank < 3 ||
                            lk_layout_same_bytes(desc, LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST);
    if (is_neutral) continue;
    const bool is_last = desc->layout == LK_LAYOUT_CHANNELS_LAST;
    any = any || is_last;
    all = all && is_last;
  }
  const bool wished = lk_planner_wish(planner, 0, LK_LAYOUT_PLAIN) == LK_LAYOUT_CHANNELS_LAST;
  return any && (all || wished) ? LK_LAYOUT_CHANNELS_LAST : LK_LAYOUT_PLAIN;
}

/* The same bytes as three dimensions: all that lie outside the axis in memory, the axis, and all
 * that lie within. So one primitive serves all ranks and both layouts. */
static lk_tensor_desc three_dims(const lk_tensor_desc *desc, uint32_t axis) {
  int64_t strides[LK_MAX_RANK] = {0};
  lk_strides(desc, 1, strides);
  const int64_t inside = strides[axis], length = desc->dims[axis];
  const int64_t dims[] = {lk_elements(desc) / (inside * length), length, inside};
  return lk_tensor_desc_make(desc->dtype, 3, dims);
}

static lk_status plan_primitive(lk_planner *planner, const lk_operand *sources, uint32_t count,
                                const lk_operand *to, uint32_t axis, lk_error *error) {
  lk_key_builder key;
  const lk_primitive *primitive = NULL;
  lk_planner_key_begin(planner, &key, LK_PRIMITIVE_CONCAT);
  lk_primitive_arg args[MAX_SOURCES + 1];
  for (uint32_t i = 0; i < count; i++) {
    lk_tensor_desc three = three_dims(&sources[i].desc, axis);
    lk_key_add_tensor(&key, LK_WORD_SRC, i, &three, 0);
    args[i] = (lk_primitive_arg){DNNL_ARG_MULTIPLE_SRC + (int)i, sources[i]};
  }
  lk_tensor_desc three = three_dims(&to->desc, axis);
  lk_key_add_tensor(&key, LK_WORD_DST, 0, &three, 0);
  lk_key_add_number(&key, LK_WORD_AXIS, 1);
  args[count] = (lk_primitive_arg){DNNL_ARG_DST, *to};
  LK_RETURN_NOT_OK(lk_planner_primitive(planner, &key, &primitive, error));
  return lk_planner_execute(planner, primitive, args, count + 1, error);
}

/* One copy step for each input, at its place along the axis. */
static lk_status plan_copies(lk_planner *planner, lk_layout layout, const lk_operand *to,
                             uint32_t axis, lk_error *error) {
  int64_t strides[LK_MAX_RANK], offset = 0;
  lk_strides(&to->desc, (int64_t)lk_dtype_size(to->desc.dtype), strides);
  for (uint32_t i = 0; i < planner->node->n_inputs; i++) {
    const lk_tensor_desc *desc = &planner->inputs[i].desc;
    if (lk_elements(desc) == 0) continue;
    lk_operand from;
    LK_RETURN_NOT_OK(lk_planner_input(planner, i, layout, &from, error));
    lk_copy copy = lk_copy_between(&from.desc, &from.desc);
    copy.to_offset = offset;
    memcpy(copy.to, strides, sizeof copy.to);
    LK_RETURN_NOT_OK(lk_planner_copy(planner, &copy, &from, to, error));
    offset += strides[axis] * desc->dims[axis];
  }
  return LK_OK;
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = planner->node;
  const lk_tensor_desc *desc = &planner->body->outputs[0];
  const uint32_t axis = (uint32_t)lk_axis(*(const int64_t *)node->params, desc->rank);
  uint32_t count = 0, last = 0;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    if (lk_elements(&planner->inputs[i].desc) == 0) continue;
    count++;
    last = i;
  }
  if (count == 1) return lk_plan_same(planner, last, error);

  lk_operand to, sources[MAX_SOURCES] = {{0}};
  lk_layout layout = choose_layout(planner);
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &to, error));
  if (desc->dtype != LK_F32 || count > MAX_SOURCES) {
    return plan_copies(planner, layout, &to, axis, error);
  }
  for (uint32_t i = 0, next = 0; i < node->n_inputs; i++) {
    if (lk_elements(&planner->inputs[i].desc) == 0) continue;
    LK_RETURN_NOT_OK(lk_planner_input(planner, i, layout, &sources[next++], error));
  }
  return plan_primitive(planner, sources, count, &to, axis, error);
}

const lk_op_class lk_op_concat = {
    LK_OP_ROW("Concat", "", 7, "inputs behind each other along an axis", .flags = LK_OP_PRIMITIVE,
              .min_inputs = 1, .max_inputs = MAX_INPUTS, .max_outputs = 1, .input_types = "T",
              .output_types = "T"),
    .params_size = sizeof(int64_t),
    .parse = parse,
    .infer = infer,
    .plan = plan,
};
