/* Element-wise choices: Where, PRelu (ONNX operators of these names). */
#include "base/status.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/work.h"

static lk_status plan_where(lk_planner *planner, lk_error *error) {
  lk_element_value choice, yes, no;
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_chain_begin(planner, &chain, error));
  LK_RETURN_NOT_OK(lk_chain_input(&chain, 0, &choice, error));
  LK_RETURN_NOT_OK(lk_chain_input(&chain, 1, &yes, error));
  LK_RETURN_NOT_OK(lk_chain_input(&chain, 2, &no, error));
  chain.value = lk_element_ternary(&chain.program, LK_ELEMENT_WHERE, choice, yes, no);
  return lk_chain_end(&chain, error);
}
const lk_op_class lk_op_where = {
    LK_OP_ROW("Where", "", 9, "c ? a : b, with broadcasting", .min_inputs = 3, .max_inputs = 3,
              .max_outputs = 1, .input_types = "UTT", .output_types = "T",
              .types = {LK_TYPES_NUMBER | LK_TYPE(LK_BOOL), LK_TYPE(LK_BOOL)},
              .in_place_inputs = 6),
    .infer = lk_infer_broadcast,
    .plan = plan_where,
};

static lk_status plan_prelu(lk_planner *planner, lk_error *error) {
  return lk_plan_binary(planner, LK_FUNCTION_PRELU, 0, 1, error);
}
const lk_op_class lk_op_prelu = {
    LK_OP_ROW("PRelu", "", 7, "x < 0 ? slope x : x", .flags = LK_OP_WORTH_CLAIMING | LK_OP_POST_OPS,
              .min_inputs = 2, .max_inputs = 2, .max_outputs = 1, .input_types = "T",
              .output_types = "T", .types = {LK_TYPES_NUMBER}, .in_place_inputs = 1),
    .infer = lk_infer_broadcast_to_first,
    .plan = plan_prelu,
    .resize = lk_resize_elements,
};
