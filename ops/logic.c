/* Comparisons, logic and bits of two tensors, with broadcasting: a row for each. */
#include "ops/plan/work.h"

static lk_status plan(lk_planner *planner, lk_error *error) {
  return lk_plan_binary(planner, planner->node->class_->function, 0, 1, error);
}
/* a > b is b < a */
static lk_status plan_turned(lk_planner *planner, lk_error *error) {
  return lk_plan_binary(planner, planner->node->class_->function, 1, 0, error);
}

#define ROW(symbol, name, first, summary_text, of, plan_fn, letter, over, ...)                     \
  const lk_op_class lk_op_##symbol = {                                                             \
      LK_OP_ROW(name, "", first, summary_text, .min_inputs = 2, .max_inputs = 2, .max_outputs = 1, \
                .input_types = "T", .output_types = letter, .types = {__VA_ARGS__},                \
                .in_place_inputs = over),                                                          \
      .function = of, .infer = lk_infer_broadcast, .plan = plan_fn}
/* Of any type that can be compared: bool. Over themselves: bool or integers. */
#define COMPARE(symbol, name, first, summary_text, of, plan_fn, types)                             \
  ROW(symbol, name, first, summary_text, of, plan_fn, "U", 0, types, LK_TYPE(LK_BOOL))
#define BITS(symbol, name, first, summary_text, of, types)                                         \
  ROW(symbol, name, first, summary_text, of, plan, "T", 3, types)

COMPARE(equal, "Equal", 7, "a == b", LK_FUNCTION_EQUAL, plan, LK_TYPES_NUMBER | LK_TYPE(LK_BOOL));
COMPARE(greater, "Greater", 7, "a > b", LK_FUNCTION_LESS, plan_turned, LK_TYPES_NUMBER);
COMPARE(greater_or_equal, "GreaterOrEqual", 12, "a >= b", LK_FUNCTION_LESS_EQUAL, plan_turned,
        LK_TYPES_NUMBER);
COMPARE(less, "Less", 7, "a < b", LK_FUNCTION_LESS, plan, LK_TYPES_NUMBER);
COMPARE(less_or_equal, "LessOrEqual", 12, "a <= b", LK_FUNCTION_LESS_EQUAL, plan, LK_TYPES_NUMBER);
BITS(and, "And", 7, "Logical and", LK_FUNCTION_AND, LK_TYPE(LK_BOOL));
BITS(or, "Or", 7, "Logical or", LK_FUNCTION_OR, LK_TYPE(LK_BOOL));
BITS(xor, "Xor", 7, "Logical exclusive or", LK_FUNCTION_XOR, LK_TYPE(LK_BOOL));
BITS(bitwise_and, "BitwiseAnd", 18, "Bits that both have", LK_FUNCTION_AND, LK_TYPES_INTEGER);
BITS(bitwise_or, "BitwiseOr", 18, "Bits that one has", LK_FUNCTION_OR, LK_TYPES_INTEGER);
BITS(bitwise_xor, "BitwiseXor", 18, "Bits that only one has", LK_FUNCTION_XOR, LK_TYPES_INTEGER);

/* ---- BitShift ---- */

static void parse_shift(lk_attrs *attrs, void *params) {
  const bool is_right = lk_attrs_choice(attrs, "direction") == 1;
  *(uint32_t *)params = is_right ? LK_FUNCTION_SHIFT_RIGHT : LK_FUNCTION_SHIFT_LEFT;
}
static lk_status plan_shift(lk_planner *planner, lk_error *error) {
  return lk_plan_binary(planner, *(const uint32_t *)planner->node->params, 0, 1, error);
}
const lk_op_class lk_op_bit_shift = {
    LK_OP_ROW("BitShift", "", 11, "Bits of a, b places to the left or right", .min_inputs = 2,
              .max_inputs = 2, .max_outputs = 1, .input_types = "T", .output_types = "T",
              .types = {LK_TYPES_INTEGER}, .in_place_inputs = 3),
    .params_size = sizeof(uint32_t),
    LK_OP_ATTRS(LK_ANY_CHOICE("direction", "LEFT|RIGHT", .is_required = 1)),
    .parse = parse_shift,
    .infer = lk_infer_broadcast,
    .plan = plan_shift,
};
