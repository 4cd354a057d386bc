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

/* The elements of `from` as ones of `dtype` in memory of their own. */
static lk_status plan_cast(lk_planner *planner, const lk_operand *from, uint32_t dtype,
                           lk_operand *out, lk_error *error) {
  lk_chain chain;
  lk_tensor_desc desc = from->desc;
  desc.dtype = dtype;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, out, error));
  lk_chain_begin_at(planner, out, &chain);
  chain.value = lk_element_cast(&chain.program, lk_chain_operand(&chain, from), dtype);
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
  lk_operand from, to, reals, wholes, real_totals, whole_totals;
  const lk_reduction total_of = {.kind = reduction->kind, .divisor = 1};
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &from, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &to, error));
  const uint32_t dtype = from.desc.dtype, wide = dtype == LK_U64 ? LK_U64 : LK_I64;
  lk_tensor_desc kept = from.desc;
  for (uint32_t i = 0; i < kept.rank; i++) {
    if ((mask >> i & 1) != 0) kept.dims[i] = 1;
  }
  const int64_t count = lk_elements(&kept);
  const lk_operand results = lk_operand_seen_as(&to, 1, &count);
  kept.dtype = LK_F64;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &kept, &real_totals, error));
  LK_RETURN_NOT_OK(plan_cast(planner, &from, LK_F64, &reals, error));
  LK_RETURN_NOT_OK(lk_plan_reduce_step(planner, &reals, &real_totals, mask, &total_of, error));
  real_totals = lk_operand_seen_as(&real_totals, 1, &count);
  if (reduction->end == LK_REDUCE_LOG) {
    return plan_log(planner, &results, &real_totals, reduction, error);
  }
  kept.dtype = wide;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &kept, &whole_totals, error));
  wholes = from;
  if (dtype != wide) LK_RETURN_NOT_OK(plan_cast(planner, &from, wide, &wholes, error));
  LK_RETURN_NOT_OK(lk_plan_reduce_step(planner, &wholes, &whole_totals, mask, &total_of, error));
  whole_totals = lk_operand_seen_as(&whole_totals, 1, &count);
  return plan_ends(planner, &results, &real_totals, &whole_totals, reduction, error);
}
