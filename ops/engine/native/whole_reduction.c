/* Reductions of whole numbers whose totals need not fit in 64 bits. */
#include "ops/engine/native/whole_reduction.h"

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/reduce/reduce_whole.h"
#include "ops/plan/eltwise_steps.h"

bool lk_reduction_is_whole(uint32_t dtype, const lk_reduction *reduction) {
  if ((LK_TYPE(dtype) & LK_TYPES_INTEGER) == 0) return false;
  return reduction->end != LK_REDUCE_AS_IT_IS ||
         (reduction->divisor != 1 && lk_dtype_size(dtype) == sizeof(int64_t));
}

/* Totals of type `as`. */
static lk_reduction total_as(lk_reduce_kind kind, uint32_t from, uint32_t as) {
  return (lk_reduction){.kind = kind, .divisor = 1, .as = as != from ? as : LK_DTYPE_NONE};
}

/* Elements of 32 bits without a sign, which are of no class's own type, as ones of 64. */
static lk_status plan_wider(lk_planner *planner, lk_operand *inout, lk_error *error) {
  lk_chain chain;
  const lk_operand from = *inout;
  lk_tensor_desc desc = from.desc;
  desc.dtype = LK_I64;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, inout, error));
  lk_chain_begin_at(planner, inout, &chain);
  chain.value = lk_element_cast(&chain.program, lk_chain_operand(&chain, &from), desc.dtype);
  return lk_chain_step(&chain, error);
}

/* A logarithm depends on the size of a total, which f64 has. `totals`: memory for one each. */
static lk_status plan_log(lk_planner *planner, uint32_t mask, lk_reduce_kind kind,
                          const lk_operand *from, const lk_operand *totals, const lk_operand *to,
                          lk_error *error) {
  lk_chain chain;
  const lk_reduction total = total_as(kind, from->desc.dtype, LK_F64);
  const int64_t count = lk_elements(&to->desc);
  const lk_operand list = lk_operand_seen_as(totals, 1, &count);
  const lk_operand results = lk_operand_seen_as(to, 1, &count);
  LK_RETURN_NOT_OK(lk_plan_reduce_step(planner, from, totals, mask, &total, error));
  lk_chain_begin_at(planner, &results, &chain);
  lk_element_program *program = &chain.program;
  const lk_element_value real =
      lk_element_unary(program, LK_ELEMENT_LOG, lk_chain_operand(&chain, &list), 0, 0);
  chain.value = lk_element_held(program, real, to->desc.dtype);
  return lk_chain_step(&chain, error);
}

lk_status lk_plan_whole_reduction(lk_planner *planner, const lk_operand *given,
                                  const lk_operand *result, uint32_t mask,
                                  const lk_reduction *reduction, lk_error *error) {
  enum { FROM, TO, REALS, WHOLES, WIDE, OPERANDS };
  lk_operand all[OPERANDS] = {[FROM] = *given, [TO] = *result};
  const lk_tensor_desc *from = &all[FROM].desc, *to = &all[TO].desc;
  all[WIDE] = all[FROM];
  if (from->dtype == LK_U32) LK_RETURN_NOT_OK(plan_wider(planner, &all[WIDE], error));
  const uint32_t elements = all[WIDE].desc.dtype;
  lk_tensor_desc kept = *from;
  for (uint32_t i = 0; i < kept.rank; i++) {
    if ((mask >> i & 1) != 0) kept.dims[i] = 1;
  }
  kept.dtype = LK_F64;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &kept, &all[REALS], error));
  if (reduction->end == LK_REDUCE_LOG) {
    return plan_log(planner, mask, reduction->kind, &all[WIDE], &all[REALS], &all[TO], error);
  }
  kept.dtype = elements == LK_U64 ? LK_U64 : LK_I64;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &kept, &all[WHOLES], error));
  const lk_reduction real = total_as(reduction->kind, elements, LK_F64);
  const lk_reduction whole = total_as(reduction->kind, elements, kept.dtype);
  lk_reduce_whole step = {.small = lk_make_reduce(from, to, mask, reduction),
                          .real = lk_make_reduce(&all[WIDE].desc, &kept, mask, &real),
                          .whole = lk_make_reduce(&all[WIDE].desc, &kept, mask, &whole)};
  lk_reduce_whole_plan(from->dtype, elements, lk_elements(from), lk_elements(to), lk_isa_get(),
                       &step);
  return lk_planner_kernel(planner, lk_reduce_whole_kernel, "reduce", &step, sizeof step, all,
                           OPERANDS, error);
}
