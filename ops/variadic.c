/* Operators of any number of tensors, with broadcasting from opset 8 on: Max, Mean, Min, Sum. */
#include "base/status.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/moves.h"

/* One after the other: ((a + b) + c) + ... */
static lk_status plan(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = planner->node;
  const lk_element_op op = (lk_element_op)node->class_->element_op;
  if (node->n_operands == 1 && node->n_post_ops == 0) return lk_plan_same(planner, 0, error);
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_chain_begin(planner, &chain, error));
  LK_RETURN_NOT_OK(lk_chain_input(&chain, 0, &chain.value, error));
  for (uint32_t i = 1; i < node->n_operands; i++) {
    /* a mean is a sum until the end */
    const lk_element_op step = op == LK_ELEMENT_DIV ? LK_ELEMENT_ADD : op;
    LK_RETURN_NOT_OK(lk_chain_binary(&chain, step, i, error));
  }
  if (op == LK_ELEMENT_DIV) {
    const lk_element_value n =
        lk_element_integer(&chain.program, chain.to.desc.dtype, node->n_operands);
    chain.value = lk_element_binary(&chain.program, op, chain.value, n);
  }
  return lk_chain_end(&chain, error);
}

#define VARIADIC(symbol, name, summary_text, step, type_set, ...)                                  \
  const lk_op_class lk_op_##symbol = {                                                             \
      LK_OP_ROW(name, "", 6, summary_text,                                                         \
                .flags = LK_OP_WORTH_CLAIMING | LK_OP_POST_OPS | LK_OP_COMMUTATIVE,                \
                .min_inputs = 1, .max_inputs = 1024, .max_outputs = 1, .input_types = "T",         \
                .output_types = "T", .types = {type_set}, .in_place_inputs = 3,                    \
                .fusion = {__VA_ARGS__}),                                                          \
      .element_op = step, .needs_all = true, .infer = lk_infer_broadcast, .plan = plan}
VARIADIC(max, "Max", "The largest of any number of tensors", LK_ELEMENT_MAX, LK_TYPES_NUMBER, 0);
VARIADIC(mean, "Mean", "Mean of any number of tensors", LK_ELEMENT_DIV, LK_TYPES_FLOAT, 0);
VARIADIC(min, "Min", "The least of any number of tensors", LK_ELEMENT_MIN, LK_TYPES_NUMBER, 0);
VARIADIC(sum, "Sum", "Sum of any number of tensors with broadcasting", LK_ELEMENT_ADD,
         LK_TYPES_FLOAT, .kind = LK_POST_ADD);
