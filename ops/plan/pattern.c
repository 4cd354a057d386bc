/* Plans for further sizes of a node, from what they have in common. */
#include "ops/plan/pattern.h"

#include <stdalign.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/prefetch.h"
#include "base/status.h"
#include "base/tensor.h"

enum { MOST_INPUTS = 12, MOST_PACKED = 6, FOUND_BYTES = 256 };

/* Everything that a further plan needs of its node lies in one block: the memory of a model has
 * driven it out of the cache since the last size. */
struct lk_pattern {
  const lk_allocator *allocator;
  uint16_t at_run; /* bit i: input i comes at run time; others are constant or absent */
  uint8_t n_inputs, n_packed;
  lk_layout wish;     /* of output 0, the only one */
  double other_bytes; /* of the step's, but for inputs and outputs */
  lk_packed_name packed[/* n_packed */];
  /* Behind them: lk_tensor [n_inputs], as an lk_planner has them, and a plan body, whose packed
   * constants are not there: they have names. */
};

_Static_assert(MOST_INPUTS <= 16, "bits of at_run");

static lk_tensor *inputs_of(const lk_pattern *pattern) {
  return (lk_tensor *)(uintptr_t)(pattern->packed + pattern->n_packed);
}
static lk_plan_body *body_of(const lk_pattern *pattern) {
  return (lk_plan_body *)(inputs_of(pattern) + pattern->n_inputs);
}

/* ---- the first plan ---- */

/* Of one step on what the node has, without memory in between. */
static bool has_pattern(const lk_op_node *node, const lk_plan_body *body) {
  if (node->class_->resize == NULL || node->class_->found_size > FOUND_BYTES) return false;
  if (node->n_inputs > MOST_INPUTS || node->n_outputs != 1) return false;
  if (body->n_blocks > 0 || body->n_reorders > 0 || body->alias_input >= 0) return false;
  return body->n_steps == 1 && body->n_temps == 0 && body->n_values == 0 &&
         body->n_packed <= MOST_PACKED;
}

/* Everything of a plan without a copy of it. */
static lk_plan_arrays arrays_of(const lk_plan_body *body) {
  return (lk_plan_arrays){.steps = (lk_step *)(uintptr_t)lk_plan_steps(body),
                          .args = (lk_step_arg *)(uintptr_t)lk_plan_args(body),
                          .packed = (lk_packed **)(uintptr_t)lk_plan_packed(body),
                          .temps = (size_t *)(uintptr_t)lk_plan_temps(body)};
}

/* An operand that changes with the sizes; NULL: it is none. */
static const lk_tensor_desc *sized(lk_step_arg arg, const lk_tensor *inputs,
                                   const lk_tensor_desc *output) {
  if (arg.place == LK_PLACE_INPUT) return &inputs[arg.index].desc;
  return arg.place == LK_PLACE_OUTPUT ? output : NULL;
}

static double bytes_of(const lk_tensor_desc *desc) {
  return (double)lk_elements(desc) * (double)lk_dtype_size(desc->dtype);
}

/* All but the names and the body. */
static void fill(lk_pattern *pattern, const lk_op_node *node, const lk_plan_body *body,
                 const lk_tensor *inputs, const lk_layout *wishes) {
  const lk_step *step = lk_plan_steps(body);
  const lk_tensor_desc output = lk_plan_body_output(body, 0);
  lk_tensor *mine = inputs_of(pattern);
  double bytes = step->bytes;
  pattern->wish = wishes != NULL ? wishes[0] : LK_LAYOUT_ANY;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    if (lk_op_is_absent(node, i)) continue;
    const bool is_constant = node->constants[i].content != NULL;
    mine[i] = is_constant ? node->constants[i].tensor : (lk_tensor){.desc = inputs[i].desc};
    if (!is_constant) pattern->at_run |= (uint16_t)(1U << i);
  }
  for (uint32_t i = 0; i < step->n_args; i++) {
    const lk_tensor_desc *desc = sized(lk_plan_args(body)[step->first_arg + i], mine, &output);
    if (desc != NULL) bytes -= bytes_of(desc);
  }
  pattern->other_bytes = bytes;
}

lk_status lk_pattern_create(const lk_op_node *node, const lk_plan_body *body,
                            const lk_tensor *inputs, const lk_layout *wishes,
                            lk_pattern **out_pattern, lk_error *error) {
  lk_status status = LK_OK;
  lk_plan_body *plain = NULL; /* as one that nobody compares */
  *out_pattern = NULL;
  if (!has_pattern(node, body)) return LK_OK;
  const lk_allocator *allocator = body->env->allocator;
  lk_plan_body draft = *body;
  lk_plan_arrays arrays = arrays_of(body);
  lk_tensor_desc output = lk_plan_body_output(body, 0);
  draft.is_compared = false;
  arrays.outputs = &output;
  LK_TRY(lk_plan_body_create(&draft, &arrays, &plain, error));
  const size_t bytes = sizeof(lk_pattern) + body->n_packed * sizeof(lk_packed_name) +
                       node->n_inputs * sizeof(lk_tensor) + plain->bytes;
  lk_pattern *made = lk_calloc(allocator, 1, bytes);
  if (made == NULL) {
    status = lk_fail_memory(error, "what plans have in common", bytes);
    goto cleanup;
  }
  made->allocator = allocator;
  made->n_inputs = (uint8_t)node->n_inputs;
  made->n_packed = (uint8_t)body->n_packed;
  for (uint32_t i = 0; i < body->n_packed; i++) {
    made->packed[i] = lk_packed_get_name(arrays.packed[i]);
  }
  fill(made, node, body, inputs, wishes);
  lk_plan_body_copy_to(plain, body_of(made));
  *out_pattern = made;

cleanup:
  if (plain != NULL) lk_free(allocator, plain); /* its packed constants are not its own */
  return status;
}

void lk_pattern_destroy(lk_pattern *pattern) {
  if (pattern != NULL) lk_free(pattern->allocator, pattern);
}

/* ---- further plans ---- */

/* And what lk_plan_build takes: no larger than a tensor may be. */
static bool is_like(const lk_tensor_desc *pattern, const lk_tensor_desc *desc) {
  if (desc->dtype != pattern->dtype || desc->layout != pattern->layout ||
      desc->rank != pattern->rank) {
    return false;
  }
  for (uint32_t i = 0; i < desc->rank; i++) {
    const bool is_one = pattern->dims[i] == 1;
    if (is_one ? desc->dims[i] != 1 : desc->dims[i] < 2 || pattern->dims[i] < 2) return false;
  }
  return lk_tensor_size(desc, "a tensor", NULL, NULL, NULL) == LK_OK;
}

/* The operand of a post-op is broadcast to the output. */
static bool fits(const lk_tensor_desc *operand, const lk_tensor_desc *output) {
  if (operand->rank > output->rank) return false;
  const uint32_t shift = output->rank - operand->rank;
  for (uint32_t i = 0; i < operand->rank; i++) {
    if (operand->dims[i] != 1 && operand->dims[i] != output->dims[i + shift]) return false;
  }
  return true;
}

static bool post_ops_fit(const lk_op_node *node, const lk_tensor *inputs,
                         const lk_tensor_desc *output) {
  for (uint32_t i = 0; i < node->n_post_ops; i++) {
    const int32_t input = node->post_ops[i].input;
    if (input >= 0 && !fits(&inputs[input].desc, output)) return false;
  }
  return true;
}

/* The step's work, where `resize` does not say otherwise, as lk_planner_kernel counts it. Operands
 * that are neither inputs nor outputs are as large as the pattern's. */
static void count_work(const lk_pattern *pattern, const lk_resizing *of) {
  double flops = 0, bytes = pattern->other_bytes;
  for (uint32_t i = 0; i < of->step->n_args; i++) {
    const lk_tensor_desc *desc = sized(of->args[i], of->inputs, of->output);
    if (desc == NULL) continue;
    const double elements = (double)lk_elements(desc);
    bytes += elements * (double)lk_dtype_size(desc->dtype);
    if (elements > flops) flops = elements;
  }
  of->step->flops = (float)flops;
  of->step->bytes = (float)bytes;
}

/* The sizes of the step in `body`, which is a copy of the pattern's. */
static bool set_sizes(const lk_pattern *pattern, const lk_tensor_desc *output,
                      const lk_inference *inferred, lk_plan_body *body) {
  lk_step *step = (lk_step *)(uintptr_t)lk_plan_steps(body);
  const lk_resizing resizing = {.env = body->env,
                                .node = inferred->node,
                                .inputs = inferred->inputs,
                                .output = output,
                                .found = inferred->found,
                                .step = step,
                                .args = lk_plan_args(body) + step->first_arg,
                                .params = (void *)(uintptr_t)step->params};
  count_work(pattern, &resizing);
  return inferred->node->class_->resize(&resizing);
}

/* The packed constants into `out`; false: one has gone, and none is taken. */
static bool take_packed(const lk_pattern *pattern, lk_packed **out) {
  for (uint32_t i = 0; i < pattern->n_packed; i++) {
    out[i] = lk_packed_by_name(&pattern->packed[i]);
    if (out[i] != NULL) continue;
    while (i-- > 0) lk_packed_release(out[i]);
    return false;
  }
  return true;
}

/* Copies the pattern's body. NULL: a packed constant has gone. */
static lk_status copy_body(const lk_pattern *pattern, const lk_inference *inferred,
                           lk_plan_body **out_body, lk_error *error) {
  lk_packed *packed[MOST_PACKED];
  const lk_op_class *class_ = inferred->node->class_;
  *out_body = NULL;
  if (!take_packed(pattern, packed)) return LK_OK;
  const lk_status status =
      lk_plan_body_copy(body_of(pattern), packed, &inferred->outputs[0], out_body, error);
  if (status != LK_OK) {
    for (uint32_t i = 0; i < pattern->n_packed; i++) lk_packed_release(packed[i]);
  } else if (class_->flops != NULL) {
    (*out_body)->flops = class_->flops(inferred->node, inferred->inputs, inferred->outputs);
  }
  return status;
}

static bool can_write_over(const lk_tensor *inputs, int32_t over, const lk_tensor_desc *output) {
  return over < 0 || (lk_elements(&inputs[over].desc) == lk_elements(output) &&
                      lk_dtype_size(inputs[over].desc.dtype) == lk_dtype_size(output->dtype));
}

/* Of a convolution with two operands more: what is larger is not worth more. */
enum { PREFETCHED_BYTES = 1024 };

void lk_pattern_prefetch(const lk_pattern *pattern) {
  lk_prefetch(pattern, PREFETCHED_BYTES);
}

void lk_pattern_prefetch_packed(const lk_pattern *pattern) {
  for (uint32_t i = 0; i < pattern->n_packed; i++) lk_packed_prefetch(&pattern->packed[i]);
}

lk_status lk_pattern_resize(const lk_pattern *pattern, const lk_op_node *node,
                            const lk_tensor *inputs, const lk_layout *wishes,
                            int32_t in_place_input, lk_plan_body **out_body, lk_error *error) {
  alignas(max_align_t) unsigned char found[FOUND_BYTES];
  lk_tensor all[MOST_INPUTS];
  const lk_plan_body *former_body = body_of(pattern);
  *out_body = NULL;
  if (in_place_input != former_body->in_place_input) return LK_OK;
  if ((wishes != NULL ? wishes[0] : LK_LAYOUT_ANY) != pattern->wish) return LK_OK;
  memcpy(all, inputs_of(pattern), pattern->n_inputs * sizeof all[0]);
  for (uint32_t i = 0; i < pattern->n_inputs; i++) {
    if ((pattern->at_run >> i & 1) == 0) continue;
    if (!is_like(&all[i].desc, &inputs[i].desc)) return LK_OK;
    memcpy(all[i].desc.dims, inputs[i].desc.dims, inputs[i].desc.rank * sizeof(int64_t));
  }
  const lk_tensor_desc former = lk_plan_body_output(former_body, 0);
  lk_tensor_desc output = {.dtype = former.dtype, .rank = LK_RANK_UNKNOWN};
  const lk_inference inference = {.node = node,
                                  .inputs = all,
                                  .outputs = &output,
                                  .found = found,
                                  .bounds = true,
                                  .copy_of = -1};
  lk_inference inferred = inference;
  if (node->class_->infer(&inferred, NULL) != LK_OK) return LK_OK; /* refused with a sentence */
  output.layout = former.layout;
  if (!is_like(&former, &output) || !post_ops_fit(node, all, &output) ||
      !can_write_over(all, in_place_input, &output) || !lk_plan_body_holds(former_body, &output)) {
    return LK_OK;
  }
  lk_plan_body *body = NULL;
  LK_RETURN_NOT_OK(copy_body(pattern, &inferred, &body, error));
  if (body != NULL && !set_sizes(pattern, &output, &inferred, body)) {
    lk_plan_body_destroy(body);
    body = NULL;
  }
  *out_body = body;
  return LK_OK;
}
