/* Norms over axes, without scales: LpNormalization and MeanVarianceNormalization (ONNX operators of
 * these names). */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/reduction.h"

/* A temporary of the size that `x` has when the dimensions of `mask` are reduced. */
static lk_status take_reduced(lk_planner *planner, const lk_tensor_desc *x, uint32_t mask,
                              lk_operand *out, lk_error *error) {
  lk_tensor_desc desc = *x;
  for (uint32_t i = 0; i < desc.rank; i++) {
    if ((mask >> i & 1) != 0) desc.dims[i] = 1;
  }
  return lk_planner_temp(planner, &desc, out, error);
}

/* ---- LpNormalization ---- */

typedef struct norm_params {
  int64_t axis, p;
} norm_params;

static void parse_norm(lk_attrs *attrs, void *params) {
  norm_params *self = params;
  self->axis = lk_attrs_int(attrs, "axis");
  self->p = lk_attrs_int(attrs, "p");
  if (self->p != 1 && self->p != 2) {
    lk_attrs_fail(attrs, LK_UNSUPPORTED, "attribute 'p' is %" PRId64 ", 1 and 2 are supported",
                  self->p);
  }
}

static lk_status infer_norm(lk_inference *self, lk_error *error) {
  const norm_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[0].desc;
  uint32_t axis = 0;
  if (lk_rank_is_known(x)) LK_RETURN_NOT_OK(lk_attr_axis(params->axis, x, &axis, error));
  return lk_infer_same(self, error);
}

/* For p = 1 the sum of |x|, as in ONNX Runtime; ONNX's own reference leaves the signs. */
static lk_status plan_norm(lk_planner *planner, lk_error *error) {
  static const lk_reduction of_1 = {LK_REDUCE_SIZES, .divisor = 1};
  static const lk_reduction of_2 = {LK_REDUCE_SQUARES, .end = LK_REDUCE_ROOT, .divisor = 1};
  const norm_params *params = planner->node->params;
  lk_operand x, norm, to;
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &x, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &to, error));
  const uint32_t mask = 1U << lk_axis(params->axis, x.desc.rank);
  LK_RETURN_NOT_OK(take_reduced(planner, &x.desc, mask, &norm, error));
  LK_RETURN_NOT_OK(
      lk_plan_reduce_step(planner, &x, &norm, mask, params->p == 1 ? &of_1 : &of_2, error));
  lk_chain_begin_at(planner, &to, &chain);
  lk_element_program *program = &chain.program;
  const lk_element_value value = lk_chain_operand(&chain, &x);
  const lk_element_value divisor = lk_chain_operand(&chain, &norm);
  const lk_element_value zero = lk_element_number(program, x.desc.dtype, 0);
  const lk_element_value is_zero = lk_element_binary(program, LK_ELEMENT_EQUAL, divisor, zero);
  chain.value = lk_element_ternary(program, LK_ELEMENT_WHERE, is_zero, zero,
                                   lk_element_binary(program, LK_ELEMENT_DIV, value, divisor));
  return lk_chain_step(&chain, error);
}

/* ---- MeanVarianceNormalization ---- */

/* What ONNX adds to the deviation. */
#define EPSILON 1e-9

typedef struct axes_params {
  uint32_t count;
  int64_t axes[LK_MAX_RANK];
} axes_params;

static void parse_axes(lk_attrs *attrs, void *params) {
  axes_params *self = params;
  self->count = lk_attrs_ints(attrs, "axes", self->axes, LK_MAX_RANK);
}

/* Without axes, as in a reduction, all of them. */
static lk_status axes_mask(const axes_params *self, uint32_t rank, uint32_t *out_mask,
                           lk_error *error) {
  uint32_t axes[LK_MAX_RANK];
  *out_mask = self->count == 0 ? (1U << rank) - 1 : 0;
  LK_RETURN_NOT_OK(lk_read_axes(self->axes, self->count, rank, "normalize", axes, error));
  for (uint32_t i = 0; i < self->count; i++) *out_mask |= 1U << axes[i];
  return LK_OK;
}

static lk_status infer_mean_variance(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[0].desc;
  uint32_t mask = 0;
  if (lk_rank_is_known(x)) {
    if (x->rank == 0) return lk_refuse(x, "the input", "of rank 1 or more", error);
    LK_RETURN_NOT_OK(axes_mask(self->node->params, x->rank, &mask, error));
  }
  return lk_infer_same(self, error);
}

/* The variance is the mean of squares of x - mean. ONNX's function takes mean(x^2) - mean(x)^2,
 * which is the same number, but cancels where the mean is large. */
static lk_status plan_mean_variance(lk_planner *planner, lk_error *error) {
  lk_operand x, mean, deviation, centered, to;
  lk_chain chain;
  uint32_t mask = 0;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &x, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &to, error));
  LK_RETURN_NOT_OK(axes_mask(planner->node->params, x.desc.rank, &mask, error));
  LK_RETURN_NOT_OK(take_reduced(planner, &x.desc, mask, &mean, error));
  LK_RETURN_NOT_OK(take_reduced(planner, &x.desc, mask, &deviation, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &x.desc, &centered, error));
  const double count = (double)lk_elements(&x.desc) / (double)lk_elements(&mean.desc);
  const lk_reduction average = {LK_REDUCE_SUM, .divisor = count};
  const lk_reduction spread = {LK_REDUCE_SQUARES, .end = LK_REDUCE_ROOT, .divisor = count};
  LK_RETURN_NOT_OK(lk_plan_reduce_step(planner, &x, &mean, mask, &average, error));
  lk_chain_begin_at(planner, &centered, &chain);
  chain.value = lk_chain_operand(&chain, &x);
  chain.value = lk_element_binary(&chain.program, LK_ELEMENT_SUB, chain.value,
                                  lk_chain_operand(&chain, &mean));
  LK_RETURN_NOT_OK(lk_chain_step(&chain, error));
  LK_RETURN_NOT_OK(lk_plan_reduce_step(planner, &centered, &deviation, mask, &spread, error));
  lk_chain_begin_at(planner, &to, &chain);
  const lk_element_value value = lk_chain_operand(&chain, &centered);
  chain.value = lk_chain_operand(&chain, &deviation);
  const lk_element_value least = lk_element_number(&chain.program, x.desc.dtype, EPSILON);
  chain.value = lk_element_binary(&chain.program, LK_ELEMENT_ADD, chain.value, least);
  chain.value = lk_element_binary(&chain.program, LK_ELEMENT_DIV, value, chain.value);
  return lk_chain_step(&chain, error);
}

#define NORM_ROW(name, first, summary_text)                                                        \
  LK_OP_ROW(name, "", first, summary_text, .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 1,         \
            .max_inputs = 1, .max_outputs = 1, .input_types = "T", .output_types = "T",            \
            .types = {LK_TYPES_FLOAT}),                                                            \
      .by_f32 = true
const lk_op_class lk_op_lp_normalization = {
    NORM_ROW("LpNormalization", 1, "x divided by its norm along an axis"),
    .params_size = sizeof(norm_params),
    LK_OP_ATTRS(LK_INT("axis", -1), LK_INT("p", 2)),
    .parse = parse_norm,
    .infer = infer_norm,
    .plan = plan_norm,
};
const lk_op_class lk_op_mean_variance_normalization = {
    NORM_ROW("MeanVarianceNormalization", 9, "(x - mean) / deviation over axes"),
    .params_size = sizeof(axes_params),
    LK_OP_ATTRS(
        LK_INTS("axes", .has_default = 1, .n_integers = 3, .integers = (const int64_t[]){0, 2, 3})),
    .parse = parse_axes,
    .infer = infer_mean_variance,
    .plan = plan_mean_variance,
};
