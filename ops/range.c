/* Range: numbers at equal distances. */
#include <inttypes.h>
#include <math.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/element/cast.h"
#include "ops/kernel/move/range.h"
#include "ops/plan/moves.h"
#include "ops/plan/values.h"

enum { START = 0, LIMIT = 1, DELTA = 2, N_INPUTS = 3 };

/* How many numbers: integers without overflow, others as the specification has it. */
static int64_t count_of(const lk_range *range, const int64_t *whole, const double *real) {
  if ((LK_TYPES_FLOAT >> range->dtype & 1) != 0) {
    const double count = ceil((real[LIMIT] - real[START]) / real[DELTA]);
    return count > 0 ? (count < 0x1p62 ? (int64_t)count : -1) : count <= 0 ? 0 : -1;
  }
  const bool up = whole[DELTA] > 0;
  if (up ? whole[START] >= whole[LIMIT] : whole[START] <= whole[LIMIT]) return 0;
  const uint64_t room = up ? (uint64_t)whole[LIMIT] - (uint64_t)whole[START]
                           : (uint64_t)whole[START] - (uint64_t)whole[LIMIT];
  const uint64_t step = up ? (uint64_t)whole[DELTA] : 0 - (uint64_t)whole[DELTA];
  const uint64_t count = (room - 1) / step + 1;
  return count <= INT64_MAX ? (int64_t)count : -1;
}

/* By 1, from one value to another. */
static int64_t count_of_values(const lk_inference *self) {
  const bool has_delta = lk_op_has(self->node, DELTA);
  if (self->dims == NULL || (has_delta && lk_value_at(self, DELTA, 0) != 1)) return LK_DIM_UNKNOWN;
  const int64_t count =
      lk_dims_subtract(self->dims, lk_value_at(self, LIMIT, 0), lk_value_at(self, START, 0));
  return lk_dims_is_dim(self->dims, count) ? count : LK_DIM_UNKNOWN;
}

/* `found` is the lk_range. */
static lk_status infer(lk_inference *self, lk_error *error) {
  lk_range room, *range = self->found != NULL ? self->found : &room;
  int64_t whole[N_INPUTS];
  double real[N_INPUTS];
  lk_shape_open(&self->outputs[0], 1);
  self->outputs[0].dims[0] = count_of_values(self);
  for (uint32_t i = 0; i < N_INPUTS; i++) {
    if (!lk_op_has(self->node, i)) { /* the delta of com.microsoft */
      whole[i] = 1;
      real[i] = 1;
      continue;
    }
    const lk_tensor *input = &self->inputs[i];
    if (lk_shape_is_known(&input->desc) && lk_elements(&input->desc) != 1) {
      return lk_refuse(&input->desc, "the range", "of one start, limit and delta", error);
    }
    if (!lk_infer_knows(self, i)) return LK_OK;
    lk_cast_one(input->desc.dtype, input->data, LK_I64, &whole[i]);
    lk_cast_one(input->desc.dtype, input->data, LK_F64, &real[i]);
  }
  const uint32_t dtype = self->inputs[START].desc.dtype;
  const bool is_float = (LK_TYPES_FLOAT >> dtype & 1) != 0;
  const bool is_half = dtype == LK_F16 || dtype == LK_BF16; /* rounded by a cast */
  *range = (lk_range){.dtype = is_half ? LK_F64 : dtype,
                      .start = whole[START],
                      .delta = whole[DELTA],
                      .first = real[START],
                      .between = real[DELTA]};
  const bool is_zero = is_float ? real[DELTA] == 0 : whole[DELTA] == 0;
  range->count = is_zero ? -1 : count_of(range, whole, real);
  self->outputs[0].dims[0] = range->count;
  if (range->count >= 0) return lk_shape_check(&self->outputs[0], "the range", error);
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to count from %g to %g by %g: the step must not be 0, and fewer than 2^62 "
                 "values are allowed",
                 real[START], real[LIMIT], real[DELTA]);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const lk_range *range = planner->found;
  lk_operand to, wide;
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &to, error));
  wide = to;
  wide.desc.dtype = range->dtype;
  const bool is_wide = wide.desc.dtype == to.desc.dtype;
  if (!is_wide) {
    const lk_tensor_desc desc = wide.desc;
    LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &wide, error));
  }
  LK_RETURN_NOT_OK(
      lk_planner_kernel(planner, lk_range_kernel, "range", range, sizeof *range, &wide, 1, error));
  return is_wide ? LK_OK : lk_planner_cast(planner, &wide, &to, error);
}

#define RANGE(domain_text, first, least)                                                           \
  LK_OP_ROW("Range", domain_text, first, "numbers at equal distances", .min_inputs = least,        \
            .max_inputs = 3, .max_outputs = 1, .input_types = "T", .output_types = "T",            \
            .types = {LK_TYPES_FLOAT | LK_TYPE(LK_I16) | LK_TYPE(LK_I32) | LK_TYPE(LK_I64)},       \
            .shape_inputs = 1u << START | 1u << LIMIT | 1u << DELTA),                              \
      .found_size = sizeof(lk_range), .infer = infer, .plan = plan
const lk_op_class lk_op_range = {
    RANGE("", 11, 3),
    LK_OP_ATTRS(LK_INT("stash_type", 1, .since = 27, .is_unused = 1)),
};
const lk_op_class lk_op_range_microsoft = {RANGE("com.microsoft", 1, 2)};
