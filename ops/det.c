/* Det: determinants of the last two dimensions. */
#include "ops/kernel/signal/det.h"

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/moves.h"

static lk_status infer(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[0].desc;
  lk_tensor_desc *to = &self->outputs[0];
  if (!lk_rank_is_known(x)) return LK_OK;
  if (x->rank < 2 || lk_dims_differ(x->dims[x->rank - 2], x->dims[x->rank - 1])) {
    return lk_refuse(x, "the input", "square matrices", error);
  }
  lk_shape_of_input(self, 0, 0);
  to->rank = x->rank - 2;
  for (uint32_t i = to->rank; i < x->rank; i++) to->dims[i] = 0;
  return LK_OK;
}

/* In f64, whatever the type is: what cancels in f32 would depend on the order of rows. */
static lk_status plan(lk_planner *planner, lk_error *error) {
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  lk_operand from, work, found, to;
  lk_tensor_desc desc = *x;
  lk_chain chain;
  desc.dtype = LK_F64;
  desc.layout = LK_LAYOUT_PLAIN;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &from, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &to, error));
  found = to;
  lk_tensor_desc results = to.desc;
  results.dtype = LK_F64;
  const bool is_f64 = x->dtype == LK_F64;
  if (!is_f64) LK_RETURN_NOT_OK(lk_planner_temp(planner, &results, &found, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &work, error));
  if (lk_elements(x) > 0) { /* a copy, which is overwritten */
    lk_chain_begin_at(planner, &work, &chain);
    chain.value = lk_element_cast(&chain.program, lk_chain_operand(&chain, &from), LK_F64);
    LK_RETURN_NOT_OK(lk_chain_step(&chain, error));
  }
  const lk_det step = {.matrices = lk_elements(&results), .n = x->dims[x->rank - 1]};
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_det_kernel, "determinant", &step, sizeof step,
                                     (lk_operand[]){work, found}, 2, error));
  const double n = (double)step.n;
  lk_planner_flops(planner, (double)step.matrices * n * n * n * 2 / 3);
  return is_f64 ? LK_OK : lk_planner_cast(planner, &found, &to, error);
}

const lk_op_class lk_op_det = {
    LK_OP_ROW("Det", "", 11, "Determinants of matrices", .flags = LK_OP_WORTH_CLAIMING,
              .min_inputs = 1, .max_inputs = 1, .max_outputs = 1, .input_types = "T",
              .output_types = "T", .types = {LK_TYPES_FLOAT}),
    .infer = infer,
    .plan = plan,
};
