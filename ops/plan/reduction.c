/* Steps that reduce dimensions, or go along one. */
#include "ops/plan/reduction.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/reduce/softmax.h"
#include "ops/kernel/strides.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/moves.h"

lk_reduce lk_make_reduce(const lk_tensor_desc *from, const lk_tensor_desc *to, uint32_t mask,
                         const lk_reduction *reduction) {
  lk_reduce step;
  int64_t own[LK_MAX_RANK], strides[LK_MAX_RANK] = {0};
  const bool keeps = to->rank == from->rank;
  uint32_t next = 0;
  lk_strides(to, 1, own);
  for (uint32_t i = 0; i < from->rank; i++) {
    const bool reduced = (mask >> i & 1) != 0;
    if (!reduced) strides[i] = own[next];
    if (!reduced || keeps) next++;
  }
  lk_reduce_plan(from, mask, strides, reduction, lk_isa_get(), &step);
  return step;
}

static size_t size_of(const lk_reduce *step) {
  return offsetof(lk_reduce, dims) + (step->n_kept + step->n_reduced) * sizeof step->dims[0];
}

lk_status lk_plan_reduce_step(lk_planner *planner, const lk_operand *from, const lk_operand *to,
                              uint32_t mask, const lk_reduction *reduction, lk_error *error) {
  const lk_reduce step = lk_make_reduce(&from->desc, &to->desc, mask, reduction);
  const lk_operand operands[] = {*from, *to};
  return lk_planner_kernel(planner, lk_reduce_kernel, "reduce", &step, size_of(&step), operands, 2,
                           error);
}

bool lk_resize_reduction(const lk_resizing *self, uint32_t mask, const lk_reduction *reduction) {
  if (self->step->kernel != lk_reduce_kernel || mask == 0) return false;
  if (self->args[0].place != LK_PLACE_INPUT) return false;
  const lk_reduce step = lk_make_reduce(&self->inputs[0].desc, self->output, mask, reduction);
  if (size_of(&step) != self->step->params_size) return false;
  memcpy(self->params, &step, size_of(&step));
  return true;
}

lk_status lk_plan_reduction(lk_planner *planner, uint32_t mask, const lk_reduction *reduction,
                            lk_error *error) {
  const lk_tensor_desc *to = &planner->outputs[0];
  lk_operand from, result;
  const lk_layout layout = lk_image_layout(planner, 0);
  const lk_layout natural = to->rank == planner->inputs[0].desc.rank ? layout : LK_LAYOUT_PLAIN;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &from, error));
  LK_RETURN_NOT_OK(
      lk_planner_output(planner, 0, lk_strided_output_layout(planner, natural), &result, error));
  return lk_plan_reduce_step(planner, &from, &result, mask, reduction, error);
}

lk_element_value lk_element_held(lk_element_program *program, lk_element_value real,
                                 uint32_t dtype) {
  const bool is_signed = dtype == LK_I8 || dtype == LK_I16 || dtype == LK_I32 || dtype == LK_I64;
  const uint32_t bits = 8 * (uint32_t)lk_dtype_size(dtype) - (is_signed ? 1 : 0);
  const uint64_t most = UINT64_MAX >> (64 - bits);
  const lk_element_value limit = lk_element_number(program, LK_F64, ldexp(1, (int)bits));
  const lk_element_value is_above = lk_element_binary(program, LK_ELEMENT_LESS_EQUAL, limit, real);
  return lk_element_ternary(program, LK_ELEMENT_WHERE, is_above,
                            lk_element_integer(program, dtype, (int64_t)most),
                            lk_element_cast(program, real, dtype));
}

/* ---- softmax and its kin, of types that have no kernel: by way of the largest x ---- */

lk_operand lk_operand_seen_as(const lk_operand *operand, uint32_t rank, const int64_t *dims) {
  lk_operand seen = *operand;
  seen.desc = lk_tensor_desc_make(operand->desc.dtype, rank, dims);
  return seen;
}

/* What the largest x is as a number to subtract: an infinite one is not. */
static lk_element_value shift_of(lk_element_program *program, lk_element_value largest,
                                 uint32_t dtype) {
  const lk_element_value is_infinite = lk_element_unary(program, LK_ELEMENT_IS_INF, largest, 1, 1);
  const lk_element_value zero = lk_element_number(program, dtype, 0);
  return lk_element_ternary(program, LK_ELEMENT_WHERE, is_infinite, zero, largest);
}

static lk_status plan_powers(lk_planner *planner, const lk_operand *from, const lk_operand *largest,
                             bool is_shifted, const lk_operand *to, lk_error *error) {
  lk_chain chain;
  const uint32_t dtype = to->desc.dtype;
  lk_chain_begin_at(planner, to, &chain);
  lk_element_program *program = &chain.program;
  const lk_element_value x = lk_element_cast(program, lk_chain_operand(&chain, from), dtype);
  lk_element_value most = lk_element_cast(program, lk_chain_operand(&chain, largest), dtype);
  if (is_shifted) most = shift_of(program, most, dtype);
  chain.value = lk_element_binary(program, LK_ELEMENT_SUB, x, most);
  lk_chain_unary(&chain, LK_ELEMENT_EXP, 0, 0);
  return lk_chain_step(&chain, error);
}

static const lk_reduction largest_of = {LK_REDUCE_MAX, .divisor = 1};
static const lk_reduction sum_of = {LK_REDUCE_SUM, .divisor = 1};

lk_status lk_plan_log_sum_exp(lk_planner *planner, const lk_operand *from, const lk_operand *to,
                              uint32_t mask, lk_error *error) {
  lk_operand largest, powers, sum;
  lk_chain chain;
  const uint32_t dtype = from->desc.dtype;
  const uint32_t wide = lk_element_class_of(dtype) == LK_ELEMENT_F32 ? LK_F32 : LK_F64;
  lk_tensor_desc kept = from->desc, all = from->desc;
  for (uint32_t i = 0; i < kept.rank; i++) {
    if ((mask >> i & 1) != 0) kept.dims[i] = 1;
  }
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &kept, &largest, error));
  kept.dtype = all.dtype = wide;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &all, &powers, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &kept, &sum, error));
  LK_RETURN_NOT_OK(lk_plan_reduce_step(planner, from, &largest, mask, &largest_of, error));
  LK_RETURN_NOT_OK(plan_powers(planner, from, &largest, true, &powers, error));
  LK_RETURN_NOT_OK(lk_plan_reduce_step(planner, &powers, &sum, mask, &sum_of, error));
  const int64_t count = lk_elements(&kept);
  const lk_operand results = lk_operand_seen_as(to, 1, &count);
  largest = lk_operand_seen_as(&largest, 1, &count);
  sum = lk_operand_seen_as(&sum, 1, &count);
  lk_chain_begin_at(planner, &results, &chain);
  lk_element_program *program = &chain.program;
  const lk_element_value most = lk_element_cast(program, lk_chain_operand(&chain, &largest), wide);
  chain.value = lk_chain_operand(&chain, &sum);
  lk_chain_unary(&chain, LK_ELEMENT_LOG, 0, 0);
  chain.value =
      lk_element_binary(program, LK_ELEMENT_ADD, chain.value, shift_of(program, most, wide));
  chain.value = wide == LK_F64 && dtype != LK_F64 ? lk_element_held(program, chain.value, dtype)
                                                  : lk_element_cast(program, chain.value, dtype);
  return lk_chain_step(&chain, error);
}

/* Of an element: a comparison, a power of e, an addition and a product. */
#define SOFTMAX_FLOPS 20

lk_status lk_plan_softmax(lk_planner *planner, const lk_operand *from, const lk_operand *to,
                          const int64_t dims[3], bool is_last, bool is_log, lk_error *error) {
  const lk_softmax step = {.loops = lk_row_loops_get(lk_isa_get()),
                           .outer = dims[0],
                           .n = dims[1],
                           .inner = dims[2],
                           .is_last = is_last,
                           .is_log = is_log,
                           .is_f64 = from->desc.dtype == LK_F64};
  const lk_operand operands[] = {*from, *to};
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_softmax_kernel, "softmax", &step, sizeof step,
                                     operands, 2, error));
  const double elements = (double)lk_elements(&from->desc);
  const double size = (double)lk_dtype_size(from->desc.dtype);
  lk_planner_work(planner, SOFTMAX_FLOPS * elements, 2 * size * elements);
  return LK_OK;
}

lk_status lk_plan_softmax_steps(lk_planner *planner, const lk_operand *from, const lk_operand *to,
                                const int64_t dims[3], bool is_log, lk_error *error) {
  if (dims[2] == 1 && dims[1] <= LK_SOFTMAX_WIDE) {
    return lk_plan_softmax(planner, from, to, dims, true, is_log, error);
  }
  const lk_operand x = lk_operand_seen_as(from, 3, dims), y = lk_operand_seen_as(to, 3, dims);
  lk_operand largest, sum, powers = y;
  lk_tensor_desc kept = x.desc;
  lk_chain chain;
  kept.dims[1] = 1;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &kept, &largest, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &kept, &sum, error));
  if (is_log) LK_RETURN_NOT_OK(lk_planner_temp(planner, &x.desc, &powers, error));
  LK_RETURN_NOT_OK(lk_plan_reduce_step(planner, &x, &largest, 1U << 1, &largest_of, error));
  LK_RETURN_NOT_OK(plan_powers(planner, &x, &largest, false, &powers, error));
  LK_RETURN_NOT_OK(lk_plan_reduce_step(planner, &powers, &sum, 1U << 1, &sum_of, error));
  lk_chain_begin_at(planner, &y, &chain);
  lk_element_program *program = &chain.program;
  const lk_element_value total = lk_chain_operand(&chain, &sum);
  if (is_log) {
    const lk_element_value value = lk_chain_operand(&chain, &x);
    const lk_element_value most = lk_chain_operand(&chain, &largest);
    chain.value = lk_element_binary(program, LK_ELEMENT_SUB,
                                    lk_element_binary(program, LK_ELEMENT_SUB, value, most),
                                    lk_element_unary(program, LK_ELEMENT_LOG, total, 0, 0));
  } else {
    chain.value =
        lk_element_binary(program, LK_ELEMENT_DIV, lk_chain_operand(&chain, &powers), total);
  }
  return lk_chain_step(&chain, error);
}

lk_status lk_plan_along(lk_planner *planner, lk_kernel_fn kernel, const char *kind, int64_t axis,
                        lk_along *step, lk_error *error) {
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  lk_operand operands[2]; /* from, to */
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &operands[0], error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &operands[1], error));
  const int64_t at = lk_axis(axis, x->rank);
  step->dtype = x->dtype;
  step->outer = step->inner = 1;
  step->n = x->dims[at];
  for (uint32_t i = 0; i < x->rank; i++) {
    if ((int64_t)i != at) *((int64_t)i < at ? &step->outer : &step->inner) *= x->dims[i];
  }
  lk_along_plan(step, lk_isa_get());
  return lk_planner_kernel(planner, kernel, kind, step, sizeof *step, operands, 2, error);
}
