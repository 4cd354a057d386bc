/* DynamicQuantizeLinear: bytes for real numbers, by the scale and the zero point that fit them. */
#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/quantized_steps.h"

static lk_status infer(lk_inference *self, lk_error *error) {
  for (uint32_t i = 1; i < self->node->n_outputs; i++) self->outputs[i].rank = 0;
  return lk_infer_same(self, error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  lk_operand operands[4]; /* X, Y, scale, zero point */
  LK_RETURN_NOT_OK(lk_planner_plain(planner, 1, operands, error));
  for (uint32_t i = 1; i < 3; i++) {
    const lk_tensor_desc desc = lk_tensor_desc_make(i == 1 ? LK_F32 : LK_U8, 0, NULL);
    LK_RETURN_NOT_OK(lk_planner_output_or_temp(planner, i, &desc, &operands[1 + i], error));
  }
  const lk_quantized of = {operands[0], operands[1], operands[2], operands[3]};
  return lk_plan_dynamic_quantize(planner, &of, NULL, error);
}

const lk_op_class lk_op_dynamic_quantize_linear = {
    LK_OP_ROW("DynamicQuantizeLinear", "", 11, "x as u8, by the scale and zero point that fit it",
              .flags = LK_OP_QUANTIZES, .min_inputs = 1, .max_inputs = 1, .max_outputs = 3,
              .input_types = "T", .output_types = "UTU", .types = {LK_TYPES_F32, LK_TYPE(LK_U8)}),
    .infer = infer,
    .plan = plan,
};
