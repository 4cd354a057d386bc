/* Reductions of whole numbers whose totals need not fit in 64 bits. */
#include "ops/plan/whole_reduction.h"

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"

/* A total that is smaller in f64 fits in 64 bits, and its root in 31, however it was rounded. */
static const double FITS = 0x1p61;

bool lk_reduction_is_whole(uint32_t dtype, const lk_reduction *reduction) {
  if ((LK_TYPE(dtype) & LK_TYPES_INTEGER) == 0) return false;
  return reduction->end != LK_REDUCE_AS_IT_IS ||
         (reduction->divisor != 1 && lk_dtype_size(dtype) == sizeof(int64_t));
}

/* The totals of `from`, of type `as`, as a list in memory of their own. */
static lk_status plan_totals(lk_planner *planner, const lk_operand *from, uint32_t mask,
                             lk_reduce_kind kind, uint32_t as, lk_operand *out, lk_error *error) {
  lk_tensor_desc kept = from->desc;
  for (uint32_t i = 0; i < kept.rank; i++) {
    if ((mask >> i & 1) != 0) kept.dims[i] = 1;
  }
  kept.dtype = as;
  const lk_reduction total = {
      .kind = kind, .divisor = 1, .as = as != from->desc.dtype ? as : LK_DTYPE_NONE};
  const int64_t count = lk_elements(&kept);
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &kept, out, error));
  LK_RETURN_NOT_OK(lk_plan_reduce_step(planner, from, out, mask, &total, error));
  *out = lk_operand_seen_as(out, 1, &count);
  return LK_OK;
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

/* What becomes of a total in f64. */
static lk_element_value end_real(lk_element_program *program, lk_element_value total,
                                 const lk_reduction *reduction) {
  if (reduction->end == LK_REDUCE_ROOT) {
    return lk_element_unary(program, LK_ELEMENT_SQRT, total, 0, 0);
  }
  if (reduction->end == LK_REDUCE_LOG) {
    return lk_element_unary(program, LK_ELEMENT_LOG, total, 0, 0);
  }
  return lk_element_binary(program, LK_ELEMENT_DIV, total,
                           lk_element_number(program, LK_F64, reduction->divisor));
}

/* And of one of 64 bits that fits, as `dtype`. */
static lk_element_value end_whole(lk_element_program *program, lk_element_value total,
                                  uint32_t wide, uint32_t dtype, const lk_reduction *reduction) {
  if (reduction->end != LK_REDUCE_AS_IT_IS) {
    const lk_element_value real = lk_element_cast(program, total, LK_F64);
    return lk_element_cast(program, end_real(program, real, reduction), dtype);
  }
  const lk_element_value divisor = lk_element_integer(program, wide, (int64_t)reduction->divisor);
  return lk_element_cast(program, lk_element_binary(program, LK_ELEMENT_DIV, total, divisor),
                         dtype);
}

/* The results from totals in f64, and those of 64 bits that some of them fit in. */
static lk_status plan_ends(lk_planner *planner, const lk_operand *to, const lk_operand *real_totals,
                           const lk_operand *whole_totals, const lk_reduction *reduction,
                           lk_error *error) {
  lk_chain chain;
  const uint32_t dtype = to->desc.dtype, wide = whole_totals->desc.dtype;
  lk_chain_begin_at(planner, to, &chain);
  lk_element_program *program = &chain.program;
  const lk_element_value real = lk_chain_operand(&chain, real_totals);
  const lk_element_value whole = lk_chain_operand(&chain, whole_totals);
  const lk_element_value size = lk_element_unary(program, LK_ELEMENT_ABS, real, 0, 0);
  const lk_element_value fits =
      lk_element_binary(program, LK_ELEMENT_LESS, size, lk_element_number(program, LK_F64, FITS));
  chain.value = lk_element_ternary(
      program, LK_ELEMENT_WHERE, fits, end_whole(program, whole, wide, dtype, reduction),
      lk_element_held(program, end_real(program, real, reduction), dtype));
  return lk_chain_step(&chain, error);
}

/* A logarithm depends on the size of a total, which f64 has. */
static lk_status plan_log(lk_planner *planner, const lk_operand *to, const lk_operand *real_totals,
                          const lk_reduction *reduction, lk_error *error) {
  lk_chain chain;
  lk_chain_begin_at(planner, to, &chain);
  const lk_element_value total = lk_chain_operand(&chain, real_totals);
  chain.value =
      lk_element_held(&chain.program, end_real(&chain.program, total, reduction), to->desc.dtype);
  return lk_chain_step(&chain, error);
}

lk_status lk_plan_whole_reduction(lk_planner *planner, uint32_t mask, const lk_reduction *reduction,
                                  lk_error *error) {
  lk_operand from, to, reals, wholes;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &from, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &to, error));
  const int64_t count = lk_elements(&to.desc);
  const lk_operand results = lk_operand_seen_as(&to, 1, &count);
  const uint32_t wide = from.desc.dtype == LK_U64 ? LK_U64 : LK_I64;
  if (from.desc.dtype == LK_U32) LK_RETURN_NOT_OK(plan_wider(planner, &from, error));
  LK_RETURN_NOT_OK(plan_totals(planner, &from, mask, reduction->kind, LK_F64, &reals, error));
  if (reduction->end == LK_REDUCE_LOG) return plan_log(planner, &results, &reals, reduction, error);
  LK_RETURN_NOT_OK(plan_totals(planner, &from, mask, reduction->kind, wide, &wholes, error));
  return plan_ends(planner, &results, &reals, &wholes, reduction, error);
}
