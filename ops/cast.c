/* Other element types: Cast, CastLike, BitCast. */
#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/moves.h"

/* The type of output 0 is that of input 1, or the parameter. */
static lk_status infer(lk_inference *self, lk_error *error) {
  const uint32_t from = self->inputs[0].desc.dtype;
  lk_tensor_desc *to = &self->outputs[0];
  if (self->node->class_->params_size > 0) to->dtype = *(const uint32_t *)self->node->params;
  if (to->dtype == from && from != LK_DTYPE_NONE) self->copy_of = 0;
  return lk_infer_same(self, error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  if (planner->inputs[0].desc.dtype == planner->outputs[0].dtype) {
    return lk_plan_same(planner, 0, error);
  }
  lk_operand from, to;
  const lk_layout layout = planner->inputs[0].desc.layout;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &from, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &to, error));
  return lk_planner_cast(planner, &from, &to, error);
}

/* The same bytes: of bool, too, which is 0 or 1 here. */
static lk_status infer_bits(lk_inference *self, lk_error *error) {
  const uint32_t from = self->inputs[0].desc.dtype, to = *(const uint32_t *)self->node->params;
  if (from != LK_DTYPE_NONE && lk_dtype_size(from) != lk_dtype_size(to)) {
    return lk_fail(error, LK_UNSUPPORTED, "it casts bits of %s to %s, both must have as many bytes",
                   lk_dtype_name(from), lk_dtype_name(to));
  }
  return infer(self, error);
}
static lk_status plan_bits(lk_planner *planner, lk_error *error) {
  return lk_plan_same(planner, 0, error);
}

#define ROW(symbol, name, first, summary_text, count, inputs, output, ...)                         \
  const lk_op_class lk_op_##symbol = {                                                             \
      LK_OP_ROW(name, "", first, summary_text, .min_inputs = count, .max_inputs = count,           \
                .max_outputs = 1, .input_types = inputs, .output_types = output),                  \
      __VA_ARGS__}
/* Of 8-bit floats, which are not here. */
#define ROUNDING(first)                                                                            \
  LK_CHOICE("round_mode", "up|down|nearest", .since = 24, .is_unused = 1),                         \
      LK_FLAG("saturate", 1, .since = first, .is_unused = 1)
/* The parameter is the type. How an operator saturates and rounds is asked of types of 8 bits and
 * fewer alone, which are not here. */
#define TO LK_OP_PARAM(uint32_t, "to")
ROW(cast, "Cast", 7, "another element type", 1, "T", "?", TO,
    LK_OP_ATTRS(ROUNDING(19), LK_REQUIRED_INT("to")), .infer = infer, .plan = plan);
ROW(cast_like, "CastLike", 15, "the element type of input 1", 2, "TU", "U",
    LK_OP_ATTRS(ROUNDING(19)), .infer = infer, .plan = plan);
ROW(bit_cast, "BitCast", 26, "the same bits as another element type", 1, "T", "?", TO,
    LK_OP_ATTRS(LK_REQUIRED_INT("to")), .infer = infer_bits, .plan = plan_bits);
