/* Concat, and QLinearConcat of com.microsoft: inputs behind each other along an axis, in one step.
 * Inputs in another layout than the output's, and very many, take a strided copy each. Inputs
 * without elements are left out. */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/move/concat.h"
#include "ops/kernel/strides.h"
#include "ops/plan/moves.h"
#include "ops/plan/quantized_steps.h"
#include "ops/plan/work.h"

enum { MAX_INPUTS = 4096 };

/* Of the class's variant: every third input of QLinearConcat is a tensor, behind the output's scale
 * and zero point; its own follow. */
enum { PLAIN, QLINEAR };
static const struct { uint32_t first, step; } tensors_of[] = {[PLAIN] = {0, 1}, [QLINEAR] = {2, 3}};

/* The first input of known rank; NULL: none. */
static const lk_tensor_desc *first_known(const lk_inference *self) {
  const int32_t variant = self->node->class_->variant;
  for (uint32_t i = tensors_of[variant].first; i < self->node->n_operands;
       i += tensors_of[variant].step) {
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
  const int32_t variant = self->node->class_->variant;
  for (uint32_t i = tensors_of[variant].first; i < self->node->n_operands;
       i += tensors_of[variant].step) {
    const lk_tensor_desc *next = &self->inputs[i].desc;
    bool overflows = false;
    if (!append(self->dims, &to, next, axis, &overflows)) {
      char text[LK_TENSOR_TEXT_CAPACITY], first_text[LK_TENSOR_TEXT_CAPACITY];
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to concatenate input %" PRIu32
                     ": it is %s, it must be like %s but for axis %" PRIu32,
                     i, lk_tensor_text(next, text), lk_tensor_text(first, first_text), axis);
    }
    if (overflows) {
      return lk_fail(error, LK_OUT_OF_RANGE,
                     "failed to concatenate: the output exceeds 2^63 along axis %" PRIu32, axis);
    }
  }
  self->outputs[0] = to;
  return lk_shape_check(&to, "the concatenation", error);
}

/* That of all inputs that come at run time, or channels-last when some lie so and it is wished for;
 * inputs whose bytes are the same in every layout do not count. */
static lk_layout choose_layout(lk_planner *planner) {
  const lk_op_node *node = planner->node;
  bool any = false, any_last = false, all = true;
  lk_layout common = LK_LAYOUT_PLAIN;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    const lk_tensor_desc *desc = &planner->inputs[i].desc;
    const bool is_neutral = node->constants[i].content != NULL || lk_elements(desc) == 0 ||
                            (lk_layout_same_bytes(desc, LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST) &&
                             lk_layout_same_bytes(desc, LK_LAYOUT_PLAIN, desc->layout));
    if (is_neutral) continue;
    if (!any) common = desc->layout;
    any = true;
    any_last = any_last || desc->layout == LK_LAYOUT_CHANNELS_LAST;
    all = all && desc->layout == common;
  }
  const lk_layout wish = lk_planner_wish(planner, 0, common);
  if (all && (common != LK_LAYOUT_HEADS_INSIDE || wish == common)) return common;
  return any_last && wish == LK_LAYOUT_CHANNELS_LAST ? wish : LK_LAYOUT_PLAIN;
}

/* Inputs of a run are taken in their own layout. */
static lk_layout input_layout(lk_planner *planner, uint32_t index, lk_layout layout) {
  const bool is_constant = planner->node->constants[index].content != NULL;
  const lk_layout own = planner->inputs[index].desc.layout;
  return is_constant || lk_layout_same_bytes(&planner->inputs[index].desc, own, layout) ? layout
                                                                                        : own;
}

/* One copy step for each input, at its place along the axis. */
static lk_status plan_copies(lk_planner *planner, const lk_operand *to, uint32_t axis,
                             lk_error *error) {
  int64_t strides[LK_MAX_RANK], offset = 0;
  lk_strides(&to->desc, (int64_t)lk_dtype_size(to->desc.dtype), strides);
  for (uint32_t i = 0; i < planner->node->n_inputs; i++) {
    const lk_tensor_desc *desc = &planner->inputs[i].desc;
    if (lk_elements(desc) == 0) continue;
    lk_operand from;
    LK_RETURN_NOT_OK(
        lk_planner_input(planner, i, input_layout(planner, i, to->desc.layout), &from, error));
    lk_copy copy = lk_copy_between(&from.desc, &from.desc);
    copy.to_offset = offset;
    memcpy(copy.to, strides, sizeof copy.to);
    LK_RETURN_NOT_OK(lk_planner_copy(planner, &copy, &from, to, error));
    offset += strides[axis] * desc->dims[axis];
  }
  return LK_OK;
}

/* All inputs are brought into the layout of `to`. Of few of them it is a work. */
static lk_status plan_whole(lk_planner *planner, const lk_operand *to, uint32_t axis,
                            lk_error *error) {
  lk_operand operands[LK_CONCAT_SOURCES];
  uint32_t count = 0;
  for (uint32_t i = 0; i < planner->node->n_inputs; i++) {
    if (lk_elements(&planner->inputs[i].desc) == 0) continue;
    LK_RETURN_NOT_OK(lk_planner_input(planner, i, to->desc.layout, &operands[count++], error));
  }
  return count <= LK_WORK_OPERANDS + 1
             ? lk_plan_concat(planner, operands, count, axis, to, error)
             : lk_plan_concat_blocks(planner, operands, count, axis, to, error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = planner->node;
  const lk_tensor_desc *desc = &planner->outputs[0];
  const uint32_t axis = (uint32_t)lk_axis(*(const int64_t *)node->params, desc->rank);
  const lk_layout layout = choose_layout(planner);
  uint32_t count = 0, last = 0;
  bool is_mixed = false;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    if (lk_elements(&planner->inputs[i].desc) == 0) continue;
    is_mixed = is_mixed || input_layout(planner, i, layout) != layout;
    count++;
    last = i;
  }
  if (count == 1) return lk_plan_same(planner, last, error);
  lk_operand to;
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &to, error));
  return is_mixed || count == 0 || count > LK_CONCAT_SOURCES
             ? plan_copies(planner, &to, axis, error)
             : plan_whole(planner, &to, axis, error);
}

const lk_op_class lk_op_concat = {
    LK_OP_ROW("Concat", "", 7, "inputs behind each other along an axis",
              .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 1, .max_inputs = MAX_INPUTS,
              .max_outputs = 1, .input_types = "T", .output_types = "T"),
    .needs_all = true,
    LK_OP_ATTRS(LK_REQUIRED_INT("axis")),
    LK_OP_PARAM(int64_t, "axis"),
    .infer = infer,
    .plan = plan,
};

/* ---- QLinearConcat ---- */

static lk_status check_type(const lk_inference *self, uint32_t index, uint32_t dtype,
                            lk_error *error) {
  const uint32_t found = self->inputs[index].desc.dtype;
  if (found == LK_DTYPE_NONE || dtype == LK_DTYPE_NONE || found == dtype) return LK_OK;
  return lk_fail(error, LK_UNSUPPORTED, "input %" PRIu32 " is of type %s; %s is supported", index,
                 lk_dtype_name(found), lk_dtype_name(dtype));
}

static lk_status infer_qlinear(lk_inference *self, lk_error *error) {
  const uint32_t n = self->node->n_operands, dtype = self->outputs[0].dtype;
  if (n % 3 != 2) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "it has %" PRIu32 " inputs; two, and three for each tensor, are required", n);
  }
  for (uint32_t i = 0; i < n; i++) {
    const bool is_tensor = i % 3 == 2, is_scale = i % 3 == 0;
    LK_RETURN_NOT_OK(check_type(self, i, is_scale ? LK_F32 : dtype, error));
    if (is_tensor) continue;
    LK_RETURN_NOT_OK(lk_infer_quantizer(self, i, is_scale ? "scale" : "zero point", 1, error));
  }
  return infer(self, error);
}

/* Each tensor is quantized as the output is, into its place: a block of each row. */
static lk_status plan_qlinear(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = planner->node;
  lk_byte_operand to = {.scale = 0, .zero = 1}, from;
  int64_t strides[LK_MAX_RANK];
  const lk_layout layout = lk_image_layout(planner, 2);
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &to.bytes, error));
  const lk_tensor_desc *desc = &to.bytes.desc;
  const uint32_t axis = (uint32_t)lk_axis(*(const int64_t *)node->params, desc->rank);
  lk_strides(desc, 1, strides);
  lk_byte_rows rows = {.to_row = strides[axis] * desc->dims[axis]};
  for (uint32_t i = 2; i < node->n_operands; i += 3) {
    if (lk_elements(&planner->inputs[i].desc) == 0) continue;
    from = (lk_byte_operand){.scale = i + 1, .zero = i + 2};
    LK_RETURN_NOT_OK(lk_planner_input(planner, i, layout, &from.bytes, error));
    rows.count = strides[axis] * from.bytes.desc.dims[axis];
    rows.rows = lk_elements(&from.bytes.desc) / rows.count;
    LK_RETURN_NOT_OK(lk_plan_byte_rows(planner, &rows, &from, &to, error));
    rows.to_first += rows.count;
  }
  return LK_OK;
}

const lk_op_class lk_op_qlinear_concat = {
    LK_OP_ROW("QLinearConcat", "com.microsoft", 1, "Concat of quantized tensors",
              .flags = LK_OP_QUANTIZES, .min_inputs = 5, .max_inputs = 3 * MAX_INPUTS,
              .max_outputs = 1, .input_types = "UT?", .output_types = "T",
              .types = {LK_TYPE(LK_U8) | LK_TYPE(LK_I8), LK_TYPES_F32}),
    .needs_all = true,
    .variant = QLINEAR,
    LK_OP_ATTRS(LK_REQUIRED_INT("axis")),
    LK_OP_PARAM(int64_t, "axis"),
    .infer = infer_qlinear,
    .plan = plan_qlinear,
};
