/* QLinearWhere (com.microsoft): one of two quantized tensors, by a condition, quantized. */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/quantized_steps.h"

enum { CONDITION, X, X_SCALE, X_ZERO, Y, Y_SCALE, Y_ZERO, Z_SCALE, Z_ZERO };

/* Zero points may be absent, which a row cannot say of an input with others behind it. */
static lk_status check(const lk_inference *self, lk_error *error) {
  static const uint32_t required[] = {X, X_SCALE, Y, Y_SCALE, Z_SCALE};
  static const uint32_t singles[] = {X_SCALE, X_ZERO, Y_SCALE, Y_ZERO, Z_SCALE, Z_ZERO};
  for (uint32_t i = 0; i < sizeof required / sizeof *required; i++) {
    if (lk_op_has(self->node, required[i])) continue;
    return lk_fail(error, LK_INVALID_ARGUMENT, "input %" PRIu32 " is absent, it is required",
                   required[i]);
  }
  for (uint32_t i = 0; i < sizeof singles / sizeof *singles; i++) {
    LK_RETURN_NOT_OK(
        lk_infer_quantizer(self, singles[i], i % 2 == 0 ? "scale" : "zero point", 1, error));
  }
  return LK_OK;
}

static lk_status infer(lk_inference *self, lk_error *error) {
  lk_tensor_desc *to = &self->outputs[0], both = {.dtype = to->dtype};
  LK_RETURN_NOT_OK(check(self, error));
  both.rank = LK_RANK_UNKNOWN;
  LK_RETURN_NOT_OK(
      lk_broadcast_dims(self->dims, &self->inputs[X].desc, &self->inputs[Y].desc, &both, error));
  return lk_broadcast_dims(self->dims, &self->inputs[CONDITION].desc, &both, to, error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  lk_chain chain;
  lk_element_value condition, x, y;
  LK_RETURN_NOT_OK(lk_chain_begin(planner, &chain, error));
  LK_RETURN_NOT_OK(lk_chain_input(&chain, CONDITION, &condition, error));
  LK_RETURN_NOT_OK(lk_chain_input(&chain, X, &x, error));
  LK_RETURN_NOT_OK(lk_chain_dequantize(&chain, X_SCALE, X_ZERO, &x, error));
  LK_RETURN_NOT_OK(lk_chain_input(&chain, Y, &y, error));
  LK_RETURN_NOT_OK(lk_chain_dequantize(&chain, Y_SCALE, Y_ZERO, &y, error));
  chain.value = lk_element_ternary(&chain.program, LK_ELEMENT_WHERE, condition, x, y);
  LK_RETURN_NOT_OK(lk_chain_quantize(&chain, Z_SCALE, Z_ZERO, &chain.value, error));
  return lk_chain_step(&chain, error);
}

const lk_op_class lk_op_qlinear_where = {
    LK_OP_ROW("QLinearWhere", "com.microsoft", 1, "c ? x : y of quantized tensors, quantized",
              .flags = LK_OP_QUANTIZES, .min_inputs = 1, .max_inputs = 9, .max_outputs = 1,
              .input_types = "VTUTTUTUT", .output_types = "T",
              .types = {LK_TYPE(LK_U8) | LK_TYPE(LK_I8), LK_TYPES_F32, LK_TYPE(LK_BOOL)}),
    .infer = infer,
    .plan = plan,
};
