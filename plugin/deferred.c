/* Plans of binds that lack a value which shapes depend on: they have no steps, only what is certain
 * about the outputs. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "plugin/internal.h"

lk_status lk_bind_size_input(const lk_bind_desc *bind, uint32_t index, int64_t *out_elements,
                             lk_error *error) {
  char what[32];
  (void)snprintf(what, sizeof what, "input %u", index);
  return lk_tensor_size(&bind->inputs[index].desc, what, out_elements, NULL, error);
}

bool lk_bind_lacks_value(const lk_op *op, const lk_bind_desc *bind, uint32_t index) {
  return lk_op_is_shape_input(op, index) && op->comes_at_run[index] &&
         bind->inputs[index].data == NULL && lk_elements(&bind->inputs[index].desc) > 0;
}

static lk_status read_inputs(const lk_op *op, const lk_bind_desc *bind, lk_tensor *inputs,
                             lk_tensor_desc *out, lk_error *error) {
  for (uint32_t i = 0; i < op->node.n_inputs; i++) {
    if (op->node.constants[i].content != NULL) inputs[i] = op->node.constants[i].tensor;
    if (op->comes_at_run[i]) {
      LK_RETURN_NOT_OK(lk_bind_size_input(bind, i, NULL, error));
      inputs[i] = bind->inputs[i];
    }
    out[i] = inputs[i].desc;
  }
  return LK_OK;
}

static lk_status infer_outputs(const lk_op *op, const lk_tensor *inputs, lk_tensor_desc *outputs,
                               lk_error *error) {
  lk_inference inference = {.node = &op->node, .inputs = inputs, .outputs = outputs};
  LK_RETURN_NOT_OK(lk_op_infer(&inference, error));
  for (uint32_t i = 0; i < op->node.n_outputs; i++) {
    lk_shape_open(&outputs[i], outputs[i].rank);
    outputs[i].layout = LK_LAYOUT_ANY;
  }
  return LK_OK;
}

lk_status lk_deferred_build(const lk_op *op, const lk_bind_desc *bind, int32_t threads,
                            lk_plan_body **out_body, lk_error *error) {
  *out_body = NULL;
  lk_status status = LK_OK;
  lk_plan_body *body = NULL;
  const lk_allocator *allocator = op->executor->context->env.allocator;
  lk_tensor *inputs = lk_calloc(allocator, op->node.n_inputs, sizeof *inputs);
  if (inputs == NULL) {
    LK_TRY(lk_fail_memory(error, "a plan", op->node.n_inputs * sizeof *inputs));
  }
  LK_TRY(lk_plan_body_create(&op->executor->context->env, &op->node, bind->wishes, threads, &body,
                             error));
  LK_TRY(lk_op_prefix(op, "bind", read_inputs(op, bind, inputs, body->inputs, error), error));
  LK_TRY(lk_op_prefix(op, "bind", infer_outputs(op, inputs, body->outputs, error), error));
  *out_body = body;
  body = NULL;
cleanup:
  lk_plan_body_destroy(body);
  lk_free(allocator, inputs);
  return status;
}
