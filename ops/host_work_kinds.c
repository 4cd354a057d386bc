/* Works of hosts: functions of elements, and what goes along dimensions. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/names.h"
#include "base/status.h"
#include "base/tensor.h"
#include "ops/host_work.h"
#include "ops/plan/conv_operands.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/matmul_shape.h"
#include "ops/plan/moves.h"

/* ---- functions of elements ---- */

/* Makes a number of numbers; with `*out_has_two`, of two. */
static bool is_function(uint32_t kind, bool *out_has_two) {
  *out_has_two = LK_POST_OP_IS_BINARY(kind) || kind >= LK_FUNCTION_MIN;
  switch (kind) {
  case LK_FUNCTION_NOT:
  case LK_FUNCTION_BIT_NOT:
  case LK_FUNCTION_IS_NAN:
  case LK_FUNCTION_IS_INF:
  case LK_FUNCTION_MOD:
  case LK_FUNCTION_EQUAL:
  case LK_FUNCTION_LESS:
  case LK_FUNCTION_LESS_EQUAL:
  case LK_FUNCTION_AND:
  case LK_FUNCTION_OR:
  case LK_FUNCTION_XOR:
  case LK_FUNCTION_SHIFT_LEFT:
  case LK_FUNCTION_SHIFT_RIGHT:
    return false;
  default:
    return lk_function_name(kind) != NULL;
  }
}

lk_status lk_host_take_element(lk_host_work *self, lk_error *error) {
  const lk_work *given = &self->given->work;
  uint32_t next = LK_ROLE_OPERAND;
  LK_RETURN_NOT_OK(lk_host_check_broadcast(self, LK_ROLE_SRC, error));
  for (uint32_t i = 0; i < given->n_post_ops; i++) {
    const lk_work_post_op *of = &given->post_ops[i];
    bool has_two = false;
    if (!is_function(of->kind, &has_two)) {
      return lk_host_refuse(self, error,
                            "function %" PRIu32 " is of kind %" PRIu32
                            ", those that make real numbers of real numbers are supported",
                            i, of->kind);
    }
    if (isnan(of->alpha) || isnan(of->beta)) {
      return lk_host_refuse(self, error,
                            "function %" PRIu32 " (%s) has alpha %g and beta %g, no NaN may "
                            "be there",
                            i, lk_function_name(of->kind), (double)of->alpha, (double)of->beta);
    }
    if (of->operand != 0 && (!has_two || of->operand != next)) {
      char text[LK_ROLE_TEXT_CAPACITY], right[LK_ROLE_TEXT_CAPACITY];
      return lk_host_refuse(self, error,
                            "function %" PRIu32 " (%s) has the operand %s, %s is required", i,
                            lk_function_name(of->kind), lk_host_role_text(self, of->operand, text),
                            has_two ? lk_host_role_text(self, next, right) : "it takes none: 0");
    }
    if (of->operand != 0) LK_RETURN_NOT_OK(lk_host_check_broadcast(self, (lk_role)next++, error));
    *lk_task_apply(&self->task, of->kind, of->alpha, of->beta) = *of;
  }
  return LK_OK;
}

/* ---- along dimensions ---- */

static lk_status take_axes(lk_host_work *self, const char *which, bool is_right, lk_error *error) {
  const uint32_t axes = self->given->work.axes;
  if (!is_right) {
    return lk_host_refuse(self, error,
                          "axes are 0x%" PRIx32 ", %s dimensions of a tensor of rank %" PRIu32
                          " are required",
                          axes, which, self->task.work.tensors[LK_ROLE_SRC].rank);
  }
  self->task.work.axes = axes;
  return LK_OK;
}

/* Bit i for each dimension of src. */
static uint32_t all_axes(const lk_host_work *self) {
  return (1U << self->task.work.tensors[LK_ROLE_SRC].rank) - 1;
}

static bool has_neighbours(const lk_host_work *self) {
  const uint32_t axes = self->given->work.axes, lowest = axes & (~axes + 1);
  return axes != 0 && (axes & ~all_axes(self)) == 0 && ((axes + lowest) & axes) == 0;
}

lk_status lk_host_take_softmax(lk_host_work *self, lk_error *error) {
  LK_RETURN_NOT_OK(lk_host_check_same(self, error));
  return take_axes(self, "neighbouring", has_neighbours(self), error);
}

static lk_status check_channels(const lk_host_work *self, lk_role role, lk_error *error) {
  const lk_tensor_desc *of = &self->task.work.tensors[role];
  if (of->rank == 1 && of->dims[0] == self->task.work.tensors[LK_ROLE_SRC].dims[1]) return LK_OK;
  return lk_host_refuse_shape(
      self, role, "a vector with one number for each channel, dimension 1, is required", error);
}

lk_status lk_host_take_batch_norm(lk_host_work *self, lk_error *error) {
  const float epsilon = self->given->work.epsilon;
  LK_RETURN_NOT_OK(lk_host_check_same(self, error));
  if (self->task.work.tensors[LK_ROLE_SRC].rank < 2) {
    return lk_host_refuse_shape(self, LK_ROLE_SRC, "a rank of 2 or more is required", error);
  }
  LK_RETURN_NOT_OK(check_channels(self, LK_ROLE_SCALE, error));
  LK_RETURN_NOT_OK(check_channels(self, LK_ROLE_SHIFT, error));
  LK_RETURN_NOT_OK(check_channels(self, LK_ROLE_MEAN, error));
  LK_RETURN_NOT_OK(check_channels(self, LK_ROLE_VARIANCE, error));
  LK_RETURN_NOT_OK(lk_host_check_finite(self, "epsilon", (double)epsilon, error));
  self->task.work.epsilon = epsilon;
  return LK_OK;
}

static lk_status take_norm(lk_host_work *self, lk_error *error) {
  const lk_work *given = &self->given->work;
  if (!(given->epsilon >= 0) || isinf(given->epsilon) || given->is_centered > 1) {
    return lk_host_refuse(self, error,
                          "epsilon is %g and is_centered %" PRIu32
                          ", a finite number from 0 on and 0 or 1 are allowed",
                          (double)given->epsilon, given->is_centered);
  }
  self->task.work.epsilon = given->epsilon;
  self->task.work.is_centered = given->is_centered;
  return LK_OK;
}

lk_status lk_host_take_layer_norm(lk_host_work *self, lk_error *error) {
  const uint32_t axes = self->given->work.axes, lowest = axes & (~axes + 1);
  const bool are_last = has_neighbours(self) && axes + lowest == all_axes(self) + 1;
  LK_RETURN_NOT_OK(lk_host_check_same(self, error));
  LK_RETURN_NOT_OK(take_axes(self, "the last", are_last, error));
  LK_RETURN_NOT_OK(lk_host_check_broadcast(self, LK_ROLE_SCALE, error));
  LK_RETURN_NOT_OK(lk_host_check_broadcast(self, LK_ROLE_SHIFT, error));
  return take_norm(self, error);
}

/* By the number of scales, engines tell whether they are of channels or of groups. */
static lk_status check_scales(const lk_host_work *self, int64_t channels, lk_error *error) {
  const lk_tensor_desc *scale = &self->task.work.tensors[LK_ROLE_SCALE];
  const int64_t groups = self->given->work.groups;
  if (scale->rank != 1 || (scale->dims[0] != channels && scale->dims[0] != groups)) {
    char text[LK_TENSOR_TEXT_CAPACITY];
    return lk_host_refuse(self, error,
                          "groups are %" PRId64 " and the tensor of LK_ROLE_SCALE is %s, a vector "
                          "with one number for each group, or for each of %" PRId64
                          " channels, is required",
                          groups, lk_tensor_text(scale, text), channels);
  }
  if (lk_shape_equal(scale, &self->task.work.tensors[LK_ROLE_SHIFT])) return LK_OK;
  return lk_host_refuse_shape(self, LK_ROLE_SHIFT, "the shape of the scale is required", error);
}

lk_status lk_host_take_group_norm(lk_host_work *self, lk_error *error) {
  const lk_tensor_desc *src = &self->task.work.tensors[LK_ROLE_SRC];
  const int64_t groups = self->given->work.groups;
  LK_RETURN_NOT_OK(lk_host_check_same(self, error));
  if (src->rank < 2) {
    return lk_host_refuse_shape(self, LK_ROLE_SRC, "a rank of 2 or more is required", error);
  }
  if (groups < 1 || src->dims[1] % groups != 0) {
    return lk_host_refuse(self, error,
                          "groups are %" PRId64 ", they must divide the %" PRId64 " channels",
                          groups, src->dims[1]);
  }
  LK_RETURN_NOT_OK(check_scales(self, src->dims[1], error));
  self->task.work.groups = groups;
  return take_norm(self, error);
}

lk_status lk_host_take_lrn(lk_host_work *self, lk_error *error) {
  const lk_work_lrn *given = &self->given->work.lrn;
  const uint32_t rank = self->task.work.tensors[LK_ROLE_SRC].rank;
  LK_RETURN_NOT_OK(lk_host_check_same(self, error));
  if (rank < 2 || rank > 5) {
    return lk_host_refuse_shape(self, LK_ROLE_SRC, "a rank of 2 to 5 is required", error);
  }
  LK_RETURN_NOT_OK(lk_host_check_number(self, "lrn.size", given->size, 1, LK_HOST_MOST, error));
  LK_RETURN_NOT_OK(lk_host_check_finite(self, "lrn.alpha", (double)given->alpha, error));
  LK_RETURN_NOT_OK(lk_host_check_finite(self, "lrn.beta", (double)given->beta, error));
  LK_RETURN_NOT_OK(lk_host_check_finite(self, "lrn.bias", (double)given->bias, error));
  self->task.work.lrn = (lk_work_lrn){
      .size = given->size, .alpha = given->alpha, .beta = given->beta, .bias = given->bias};
  return LK_OK;
}

/* ---- products ---- */

lk_status lk_host_take_product(lk_host_work *self, lk_error *error) {
  const lk_planner *planner = self->planner;
  const lk_matmul_order *orders = self->given->work.orders;
  lk_tensor_desc made = {.dtype = planner->outputs[0].dtype};
  lk_inference of = {.node = planner->node, .inputs = planner->inputs, .outputs = &made};
  for (uint32_t i = 0; i < 2; i++) {
    if (orders[i].swaps <= 1 && orders[i].batch_inside <= 1) continue;
    return lk_host_refuse(self, error, "orders[%" PRIu32 "] has %u and %u, 0 and 1 are allowed", i,
                          orders[i].swaps, orders[i].batch_inside);
  }
  lk_error why;
  const lk_status status = lk_infer_matmul_ordered(&of, orders, &why);
  LK_RETURN_NOT_OK(lk_host_refuse_as(self, "", status, &why, error));
  LK_RETURN_NOT_OK(lk_host_check_made(self, "product", &made, error));
  memcpy(self->task.work.orders, orders, sizeof self->task.work.orders);
  return LK_OK;
}

/* As the operators of these names count them. */
static double flops_of(const lk_work *work) {
  const lk_tensor_desc *tensors = work->tensors;
  const lk_tensor_desc *src = &tensors[LK_ROLE_SRC], *weights = &tensors[LK_ROLE_WEIGHTS];
  const lk_tensor_desc *dst = &tensors[LK_ROLE_DST];
  if (work->kind == LK_WORK_CONV) return lk_conv_flops(dst, weights);
  if (work->kind == LK_WORK_CONV_TRANSPOSED) return lk_conv_flops(src, weights);
  return lk_matmul_flops(work);
}

lk_status lk_host_plan_sums(const lk_host_work *self, lk_error *error) {
  const bool has_bias = lk_work_has(&self->task.work, LK_ROLE_BIAS);
  if (lk_elements(&self->task.work.tensors[LK_ROLE_SRC]) > 0) {
    self->planner->draft.flops = flops_of(&self->task.work);
    return lk_plan_task(self->planner, &self->task, error);
  }
  return lk_plan_sum_of_nothing(self->planner, has_bias ? self->task.from[LK_ROLE_BIAS].index : -1,
                                error);
}

/* ---- reductions ---- */

/* Src without the dimensions of `axes`, or with 1 in their place. */
static lk_tensor_desc reduced(const lk_tensor_desc *src, uint32_t axes, bool keeps) {
  lk_tensor_desc made = *src;
  made.rank = 0;
  for (uint32_t i = 0; i < src->rank; i++) {
    const bool is_along = (axes >> i & 1) != 0;
    if (!is_along || keeps) made.dims[made.rank++] = is_along ? 1 : src->dims[i];
  }
  return made;
}

lk_status lk_host_take_reduce(lk_host_work *self, lk_error *error) {
  const lk_work *given = &self->given->work;
  const lk_tensor_desc *tensors = self->task.work.tensors, *dst = &tensors[LK_ROLE_DST];
  const bool are_some = given->axes != 0 && (given->axes & ~all_axes(self)) == 0;
  LK_RETURN_NOT_OK(take_axes(self, "one or more", are_some, error));
  LK_RETURN_NOT_OK(
      lk_host_check_number(self, "reducing", given->reducing, 0, LK_REDUCING_LOG_SUM_EXP, error));
  self->task.work.reducing = given->reducing;
  const lk_tensor_desc fewer = reduced(&tensors[LK_ROLE_SRC], given->axes, false);
  const lk_tensor_desc kept = reduced(&tensors[LK_ROLE_SRC], given->axes, true);
  if (lk_shape_equal(&fewer, dst) || lk_shape_equal(&kept, dst)) return LK_OK;
  char text[LK_TENSOR_TEXT_CAPACITY], left[LK_TENSOR_TEXT_CAPACITY], ones[LK_TENSOR_TEXT_CAPACITY];
  return lk_host_refuse(self, error,
                        "the output is %s, the reduction over axes 0x%" PRIx32 " makes %s or %s",
                        lk_tensor_text(dst, text), given->axes, lk_tensor_text(&fewer, left),
                        lk_tensor_text(&kept, ones));
}

lk_status lk_host_plan_reduce(const lk_host_work *self, lk_error *error) {
  const lk_work *work = &self->task.work;
  const int64_t count = lk_elements(&work->tensors[LK_ROLE_SRC]);
  if (lk_reducing_keeps_one((lk_reducing)work->reducing) && count > 0 &&
      count == lk_elements(&work->tensors[LK_ROLE_DST])) {
    return lk_plan_view(self->planner, 0, LK_LAYOUT_PLAIN, LK_LAYOUT_PLAIN, error);
  }
  return lk_plan_task(self->planner, &self->task, error);
}
