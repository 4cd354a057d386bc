/* op_run_alloc: binds with the values that are there now, asks the host for the outputs, runs. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/require.h"
#include "base/status.h"
#include "base/struct.h"
#include "base/tensor.h"
#include "plugin/frame.h"
#include "plugin/table.h"

/* Before a bind: without a shape input's data it would be deferred again. Counts that do not fit
 * are the bind's to refuse. */
static lk_status check_data(const lk_op *op, const lk_frame *frame, const lk_bind_desc *bind,
                            lk_error *error) {
  if (frame->executor != op->executor) {
    return lk_fail(error, LK_INVALID_ARGUMENT, "the frame belongs to another executor");
  }
  if (frame->is_brought) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "the frame has no scratch memory: its caller was to bring it");
  }
  for (uint32_t i = 0; i < op->node.n_inputs && i < bind->n_inputs; i++) {
    int64_t elements = 0;
    if (!op->comes_at_run[i]) continue;
    LK_RETURN_NOT_OK(lk_bind_size_input(bind, i, &elements, error));
    if (bind->inputs[i].data == NULL && elements > 0) {
      return lk_fail(error, LK_INVALID_ARGUMENT, "input %" PRIu32 " has no data", i);
    }
  }
  return LK_OK;
}

static lk_status ask_for_output(const lk_op *op, const lk_plan_body *body, uint32_t index,
                                lk_output_alloc_fn alloc, void *arg, void **out_data,
                                lk_error *error) {
  const lk_tensor_desc desc = lk_plan_body_output(body, index);
  lk_output_request request = {.struct_size = sizeof request,
                               .desc = desc,
                               .alignment = LK_DATA_ALIGNMENT,
                               .index = index,
                               .alias_input = index == 0 ? body->alias_input : -1};
  LK_RETURN_NOT_OK(lk_layout_bytes(&desc, &request.bytes, error));
  *out_data = alloc(arg, &request);
  if (*out_data == NULL && request.bytes > 0) {
    char text[LK_TENSOR_TEXT_CAPACITY];
    return lk_fail(error, LK_OUT_OF_MEMORY,
                   "failed to run %s '%s': the host gave no memory for output %" PRIu32
                   ", %s, %" PRIu64 " bytes",
                   op->node.class_->row.op_type, op->node.output_name, index,
                   lk_tensor_text(&desc, text), request.bytes);
  }
  return LK_OK;
}

/* An operator whose outputs' shapes follow from data writes them behind the outputs: of each
 * output LK_MAX_RANK dimensions, which begin as the bounds that the plan has. */
static size_t count_dims(const lk_op *op) {
  const bool writes = (op->node.class_->row.flags & LK_OP_DATA_DEPENDENT) != 0;
  return writes ? (size_t)op->node.n_outputs * LK_MAX_RANK : 0;
}

lk_status lk_op_run_alloc(lk_frame *frame, lk_op *op, const lk_bind_desc *given,
                          lk_output_alloc_fn alloc, void *arg, lk_tensor *outputs,
                          lk_error *error) {
  LK_REQUIRE_AS("op_run_alloc", "frame, op, bind, alloc, outputs", error, frame, op, given, alloc,
                outputs);
  lk_status status = LK_OK;
  const lk_allocator *allocator = &op->executor->context->allocator;
  const uint32_t n_inputs = op->node.n_inputs, n_outputs = op->node.n_outputs;
  lk_bind_desc bind = LK_BIND_DEFAULTS;
  lk_plan *plan = NULL;
  uint32_t slot = 0;
  bool is_attached = false;
  void **pointers = NULL; /* of inputs, then of outputs, then of their dimensions */
  const size_t n_dims = count_dims(op);
  LK_TRY(lk_struct_read(&bind, sizeof bind, given, "a bind description", error));
  LK_TRY(lk_op_prefix(op, "run", check_data(op, frame, &bind, error), error));
  LK_TRY(lk_op_bind(op, &bind, &plan, error));
  const size_t n_pointers = (size_t)n_inputs + n_outputs + 1;
  pointers = lk_calloc(allocator, n_pointers + n_dims, sizeof *pointers);
  if (pointers == NULL) {
    LK_TRY(lk_fail_memory(error, "the pointers of a run", n_pointers * sizeof *pointers));
  }
  LK_TRY(lk_frame_attach(frame, plan, &slot, error));
  is_attached = true;
  /* The host is asked last: what can fail for lack of our own memory has not failed. */
  const lk_plan_body *body = lk_plan_get_body(plan);
  int64_t *dims = (int64_t *)(void *)(pointers + n_pointers);
  pointers[n_pointers - 1] = dims;
  for (uint32_t i = 0; i < n_inputs; i++) pointers[i] = bind.inputs[i].data;
  for (uint32_t i = 0; i < n_outputs; i++) {
    LK_TRY(ask_for_output(op, body, i, alloc, arg, &pointers[n_inputs + i], error));
    if (n_dims == 0) continue;
    const lk_tensor_desc bound = lk_plan_body_output(body, i);
    memcpy(dims + (size_t)i * LK_MAX_RANK, bound.dims, sizeof bound.dims);
  }
  LK_TRY(lk_op_run(frame, slot, pointers, pointers + n_inputs, error));
  for (uint32_t i = 0; i < n_outputs; i++) {
    outputs[i] = (lk_tensor){lk_plan_body_output(body, i), pointers[n_inputs + i]};
    if (n_dims > 0)
      memcpy(outputs[i].desc.dims, dims + i * LK_MAX_RANK, sizeof outputs[i].desc.dims);
  }
cleanup:
  if (is_attached) lk_frame_detach(frame);
  lk_free(allocator, pointers);
  lk_plan_release(plan);
  return status;
}
