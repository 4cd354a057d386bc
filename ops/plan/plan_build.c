/* From a node and the shapes of its inputs to a plan: what holds for all operators is checked, and
 * the operator's own functions are called. */
#include "ops/plan/plan_build.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"
#include "base/team/budget.h"
#include "base/team/team.h"
#include "base/tensor.h"
#include "ops/plan/planner.h"

/* What is wrong with input `index`, by that name. */
static lk_status refuse_input(const lk_tensor *input, uint32_t index, lk_error *error) {
  char what[24];
  uint64_t bytes = 0;
  (void)snprintf(what, sizeof what, "input %" PRIu32, index);
  LK_RETURN_NOT_OK(lk_tensor_size(&input->desc, what, NULL, NULL, error));
  if (input->desc.layout == LK_LAYOUT_ANY) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read %s: its layout is 'any', which only a wish can be", what);
  }
  LK_RETURN_NOT_OK(lk_layout_bytes(&input->desc, &bytes, error));
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to read %s: its value must be known when shapes are bound", what);
}

/* Types and shapes of inputs, before the operator's own rules. Constants were checked with the
 * node. */
static lk_status check_inputs(const lk_op_node *node, const lk_tensor *inputs, lk_error *error) {
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    const lk_tensor *input = &inputs[i];
    int64_t elements = 0;
    if (lk_op_is_absent(node, i) || node->constants[i].content != NULL) continue;
    const bool is_value = i < 64 && (node->class_->row.shape_inputs >> i & 1) != 0;
    if (lk_tensor_size(&input->desc, "an input", &elements, NULL, NULL) != LK_OK ||
        !lk_layout_fits(&input->desc) || (is_value && input->data == NULL && elements > 0)) {
      return refuse_input(input, i, error);
    }
  }
  return LK_OK;
}

/* Whether the operator's steps see a tensor as one of f32. */
static bool is_real(const lk_op_node *node, uint32_t dtype) {
  return dtype == LK_F32 || (node->class_->by_f32 && (dtype == LK_F16 || dtype == LK_BF16));
}

/* Whether there are no post-ops but the operator's own, which take all its types. */
static bool has_only_own_post_ops(const lk_op_node *node) {
  lk_post_op own[LK_MAX_OWN_POST_OPS];
  const lk_op_class *class_ = node->class_;
  return node->n_post_ops == (class_->own_post_ops != NULL ? class_->own_post_ops(node, own) : 0);
}

/* Operands of post-ops must be of f32, and broadcast to output 0, which is of f32 too. */
static lk_status check_post_ops(const lk_op_node *node, const lk_tensor *inputs,
                                const lk_tensor_desc *to, lk_error *error) {
  if (!is_real(node, to->dtype)) {
    if (has_only_own_post_ops(node)) return LK_OK;
    return lk_fail(error, LK_UNSUPPORTED, "post-ops on an output of type %s, f32 is supported",
                   lk_dtype_name(to->dtype));
  }
  for (uint32_t i = 0; i < node->n_post_ops; i++) {
    if (node->post_ops[i].input < 0) continue;
    const lk_tensor_desc *operand = &inputs[node->post_ops[i].input].desc;
    lk_tensor_desc together = {0};
    if (is_real(node, operand->dtype) &&
        (lk_shape_equal(operand, to) || (to->rank == 0 && lk_elements(operand) == 1) ||
         (lk_broadcast_dims(NULL, to, operand, &together, NULL) == LK_OK &&
          lk_shape_equal(&together, to)))) {
      continue;
    }
    char text[LK_TENSOR_TEXT_CAPACITY], to_text[LK_TENSOR_TEXT_CAPACITY];
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "the operand of post-op %" PRIu32 " is %s, it must broadcast to %s", i,
                   lk_tensor_text(operand, text), lk_tensor_text(to, to_text));
  }
  return LK_OK;
}

/* In place, output 0 is written over an input of its size. */
static lk_status check_in_place(const lk_planner *planner, lk_error *error) {
  const int32_t over = planner->draft.in_place_input;
  if (over < 0) return LK_OK;
  const lk_tensor_desc *in = &planner->inputs[over].desc, *out = &planner->outputs[0];
  if (lk_elements(in) == lk_elements(out) &&
      lk_dtype_size(in->dtype) == lk_dtype_size(out->dtype)) {
    return LK_OK;
  }
  char in_text[LK_TENSOR_TEXT_CAPACITY], out_text[LK_TENSOR_TEXT_CAPACITY];
  return lk_fail(
      error, LK_INVALID_ARGUMENT,
      "it is to run in place over input %d, which is %s, and the output is %s; they must be equal",
      over, lk_tensor_text(in, in_text), lk_tensor_text(out, out_text));
}

/* Room for what `infer` leaves to `plan`. */
static lk_status make_found(lk_planner *planner, lk_inference *inference, lk_error *error) {
  const size_t bytes = planner->node->class_->found_size;
  if (bytes == 0) return LK_OK;
  planner->found = inference->found = lk_bump_alloc(&planner->memory, bytes);
  return planner->found != NULL ? LK_OK : lk_fail_memory(error, "a plan", bytes);
}

static lk_status plan_steps(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = planner->node;
  const lk_tensor *inputs = planner->inputs;
  bool is_empty = true;
  LK_RETURN_NOT_OK(check_inputs(node, inputs, error));
  lk_inference inference = {
      .node = node, .inputs = inputs, .outputs = planner->outputs, .bounds = true};
  LK_RETURN_NOT_OK(make_found(planner, &inference, error));
  LK_RETURN_NOT_OK(lk_op_infer(&inference, error));
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    LK_RETURN_NOT_OK(lk_tensor_size(&planner->outputs[i], "an output", NULL, NULL, error));
    is_empty = is_empty && lk_elements(&planner->outputs[i]) == 0;
  }
  LK_RETURN_NOT_OK(check_post_ops(node, inputs, &planner->outputs[0], error));
  /* what follows from data is written by a step, also that there is nothing */
  is_empty = is_empty && (node->class_->row.flags & LK_OP_DATA_DEPENDENT) == 0;
  if (node->class_->flops != NULL) {
    planner->draft.flops = node->class_->flops(node, inputs, planner->outputs);
  }
  if (!is_empty) {
    if (node->class_->by_f32) LK_RETURN_NOT_OK(lk_planner_widen(planner, error));
    LK_RETURN_NOT_OK(node->class_->plan(planner, error));
    /* what comes behind brings outputs from the last step, and is a part of its work */
    const uint32_t n_steps = planner->draft.n_steps;
    planner->work = n_steps > 0 ? planner->arrays.steps[n_steps - 1].work : 0;
    LK_RETURN_NOT_OK(lk_planner_narrow(planner, error));
  }
  return check_in_place(planner, error);
}

/* Constants are packed by as many threads as a run would have. A run that binds has been granted
 * some; a host that does not ask keeps count itself. */
static int packing_threads(const lk_ops_env *env) {
  const int granted = lk_budget_granted();
  return granted > 0 && granted < env->threads ? granted : env->threads;
}

/* A planner of no steps yet. */
static lk_status begin(lk_planner *planner, lk_ops_env *env, const lk_op_node *node,
                       const lk_plan_request *request, void *room, lk_error *error) {
  LK_RETURN_NOT_OK(
      lk_planner_begin(planner, env, node, request->inputs, request->wishes, room, error));
  planner->body->in_place_input = (int16_t)request->in_place_input;
  planner->body->asks = (uint8_t)request->asks;
  return LK_OK;
}

lk_status lk_plan_build(lk_ops_env *env, const lk_op_node *node, const lk_plan_request *request,
                        lk_plan_body **out_body, lk_error *error) {
  alignas(max_align_t) unsigned char room[LK_PLANNER_ROOM];
  *out_body = NULL;
  lk_status status = LK_OK;
  lk_planner planner;
  const int host_threads = lk_team_begin(packing_threads(env));
  LK_TRY(begin(&planner, env, node, request, room, error));
  LK_TRY(plan_steps(&planner, error));
  LK_TRY(lk_planner_finish(&planner, request->use, out_body, error));
cleanup:
  lk_team_end(host_threads);
  lk_planner_end(&planner);
  if (status != LK_OK) {
    status = lk_error_prefix(error, status, "failed to bind %s '%s'", node->class_->row.op_type,
                             node->output_name);
  }
  return status;
}

/* What is certain of the outputs, and of their dimensions nothing. */
static lk_status infer_open(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = planner->node;
  lk_tensor_desc *outputs = planner->outputs;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    char what[24];
    if (lk_op_is_absent(node, i)) continue;
    (void)snprintf(what, sizeof what, "input %" PRIu32, i);
    LK_RETURN_NOT_OK(lk_tensor_size(&planner->inputs[i].desc, what, NULL, NULL, error));
  }
  lk_inference inference = {.node = node, .inputs = planner->inputs, .outputs = outputs};
  LK_RETURN_NOT_OK(lk_op_infer(&inference, error));
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    lk_shape_open(&outputs[i], outputs[i].rank);
    outputs[i].layout = LK_LAYOUT_ANY;
  }
  return LK_OK;
}

lk_status lk_plan_defer(lk_ops_env *env, const lk_op_node *node, const lk_plan_request *request,
                        lk_plan_body **out_body, lk_error *error) {
  *out_body = NULL;
  lk_status status = LK_OK;
  lk_planner planner;
  LK_TRY(begin(&planner, env, node, request, NULL, error));
  LK_TRY(infer_open(&planner, error));
  LK_TRY(lk_planner_finish(&planner, LK_PLAN_COMPARED, out_body, error));
cleanup:
  lk_planner_end(&planner);
  if (status != LK_OK) {
    status = lk_error_prefix(error, status, "failed to bind %s '%s'", node->class_->row.op_type,
                             node->output_name);
  }
  return status;
}
