/* Scan (ONNX "Scan"): its body for each slice of its scan inputs, with states that it carries on.
 */
#include "executor_glue/flow/scan.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/flow/copy.h"
#include "executor_glue/flow/frame.h"
#include "executor_glue/flow/iteration.h"
#include "executor_glue/flow/stack.h"
#include "executor_glue/graph/own_ops.h"

/* ---- attributes ---- */

static lk_status read_axes(const lk_allocator *allocator, const lk_node *node, uint32_t count,
                           const char *axes_name, const char *directions_name, lk_scan_axis **out,
                           lk_error *error) {
  const lk_attr *axes = lk_node_attr(node, axes_name, LK_ATTR_INTS);
  const lk_attr *directions = lk_node_attr(node, directions_name, LK_ATTR_INTS);
  if ((axes != NULL && axes->count != count) ||
      (directions != NULL && directions->count != count)) {
    return lk_fail(
        error, LK_MALFORMED,
        "failed to read it: one of attributes '%s' and '%s' has another number of values, "
        "both must have %" PRIu32,
        axes_name, directions_name, count);
  }
  *out = lk_calloc(allocator, count, sizeof **out);
  if (*out == NULL) return lk_fail_memory(error, "the axes of a scan", count * sizeof **out);
  for (uint32_t i = 0; i < count; i++) {
    if (axes != NULL) (*out)[i].axis = ((const int64_t *)axes->data)[i];
    if (directions != NULL) (*out)[i].is_backward = ((const int64_t *)directions->data)[i] != 0;
  }
  return LK_OK;
}

lk_status lk_flow_scan_read(const lk_allocator *allocator, lk_stage *stage, lk_error *error) {
  const lk_node *node = stage->node;
  const uint32_t own = node->n_inputs - lk_node_captured(node);
  const int64_t n = lk_own_op_int(node, "num_scan_inputs");
  if (node->opset < LK_SCAN_SINCE) {
    return lk_fail(error, LK_UNSUPPORTED, "failed to read it: " LK_SCAN_IS_OLD);
  }
  if (n < 1 || n > own || node->n_outputs < own - n) {
    return lk_fail(error, LK_MALFORMED,
                   "failed to read it: attribute 'num_scan_inputs' is %" PRId64
                   ", which does not fit %" PRIu32 " inputs and %" PRIu32
                   " outputs; each scan input is an input, each other one a state "
                   "with an output",
                   n, own, node->n_outputs);
  }
  stage->n_scan_inputs = (uint32_t)n;
  const uint32_t n_states = own - (uint32_t)n;
  LK_RETURN_NOT_OK(read_axes(allocator, node, (uint32_t)n, "scan_input_axes",
                             "scan_input_directions", &stage->scan_inputs, error));
  return read_axes(allocator, node, node->n_outputs - n_states, "scan_output_axes",
                   "scan_output_directions", &stage->scan_outputs, error);
}

/* ---- slices ---- */

/* Of a tensor of `dims` seen as [outer, size, inner bytes] around an axis. */
typedef struct around_axis {
  size_t outer, size, inner;
} around_axis;

static around_axis split(const lk_tensor_desc *desc, uint32_t axis) {
  around_axis it = {
      .outer = 1, .size = (size_t)desc->dims[axis], .inner = lk_dtype_size(desc->dtype)};
  for (uint32_t i = 0; i < axis; i++) it.outer *= (size_t)desc->dims[i];
  for (uint32_t i = axis + 1; i < desc->rank; i++) it.inner *= (size_t)desc->dims[i];
  return it;
}

/* Slice `index` along an axis: a view where it lies in one piece, else a copy in `spare`. */
static lk_status slice(const lk_flow *flow, const lk_flow_value *from, uint32_t axis, int64_t index,
                       lk_flow_spare *spare, lk_flow_value *out, lk_error *error) {
  const lk_tensor_desc *whole = &from->tensor.desc;
  const around_axis it = split(whole, axis);
  int64_t dims[LK_MAX_RANK] = {0};
  for (uint32_t i = 0, n = 0; i < whole->rank; i++) {
    if (i != axis) dims[n++] = whole->dims[i];
  }
  const lk_tensor_desc desc = lk_tensor_desc_make(whole->dtype, whole->rank - 1, dims);
  const unsigned char *data = (const unsigned char *)from->tensor.data + (size_t)index * it.inner;
  if (it.outer == 1) {
    *out = lk_flow_value_retain(from);
    out->tensor = (lk_tensor){desc, (void *)(uintptr_t)data};
    return LK_OK;
  }
  LK_RETURN_NOT_OK(lk_flow_spare_take(flow->allocator, spare, &desc, out, error));
  const lk_flow_pieces pieces = {
      .count = it.outer, .bytes = it.inner, .from_step = it.size * it.inner, .to_step = it.inner};
  return lk_flow_copy(flow->api, data, out->tensor.data, &pieces, error);
}

/* Moves the first dimension of `value` to `axis`, backward if asked for. */
static lk_status place_axis(const lk_flow *flow, lk_flow_value *value, const lk_scan_axis *to,
                            lk_error *error) {
  lk_status status = LK_OK;
  const lk_tensor_desc *desc = &value->tensor.desc;
  const int64_t rank = desc->rank, axis = to->axis < 0 ? to->axis + rank : to->axis;
  if (axis < 0 || axis >= rank) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to make a scan output: its axis is %" PRId64
                   ", it must be one of %" PRId64 " dimensions",
                   to->axis, rank);
  }
  if (axis == 0 && !to->is_backward) return LK_OK;
  int64_t dims[LK_MAX_RANK] = {0};
  for (int64_t i = 0; i < axis; i++) dims[i] = desc->dims[i + 1];
  dims[axis] = desc->dims[0];
  for (int64_t i = axis + 1; i < rank; i++) dims[i] = desc->dims[i];
  const lk_tensor_desc moved = lk_tensor_desc_make(desc->dtype, desc->rank, dims);
  lk_flow_value result;
  LK_RETURN_NOT_OK(lk_flow_value_create(flow->allocator, &moved, &result, error));
  const around_axis it = split(&moved, (uint32_t)axis);
  const unsigned char *from = value->tensor.data;
  unsigned char *data = result.tensor.data;
  size_t done = 0;
  const lk_flow_pieces pieces = {
      .count = it.outer, .bytes = it.inner, .from_step = it.inner, .to_step = it.size * it.inner};
  for (size_t n = 0; n < it.size; n++) {
    const size_t at = to->is_backward ? it.size - 1 - n : n;
    LK_TRY(lk_flow_copy(flow->api, from + n * it.outer * it.inner, data + at * it.inner, &pieces,
                        error));
    LK_TRY(lk_flow_look_after(flow->api, 0, &done, error));
  }
cleanup:
  lk_flow_value_release(flow->allocator, status == LK_OK ? value : &result);
  if (status == LK_OK) *value = result;
  return status;
}

/* ---- a scan ---- */

typedef struct scan {
  const lk_stage *stage;
  lk_flow *body;
  const lk_flow_call *call;
  const lk_flow *flow; /* that the node is in */
  const lk_allocator *allocator;
  uint32_t n_states, n_inputs, n_outputs; /* scan inputs, scan outputs */
  uint32_t axes[LK_MAX_RANK * 8];         /* of scan inputs */
  int64_t length;
  lk_flow_frame *frame;            /* of the body */
  lk_flow_frame *own;              /* the same, where this scan made it */
  lk_flow_spare *spares;           /* [n_inputs]: for slices */
  lk_flow_value *inputs, *outputs; /* of the body */
  lk_flow_stack *stacks;           /* [n_outputs] */
} scan;

/* All scan inputs are equally long. */
static lk_status find_length(scan *self, const lk_flow_value *scanned, lk_error *error) {
  for (uint32_t i = 0; i < self->n_inputs; i++) {
    const lk_tensor_desc *desc = &scanned[i].tensor.desc;
    const uint32_t number = self->n_states + i;
    const int64_t given = self->stage->scan_inputs[i].axis, rank = desc->rank;
    const int64_t axis = given < 0 ? given + rank : given;
    if (axis < 0 || axis >= rank) {
      return lk_fail(error, LK_OUT_OF_RANGE,
                     "failed to scan input %" PRIu32 ": its axis is %" PRId64
                     ", it must be one of %" PRId64 " dimensions",
                     number, given, rank);
    }
    self->axes[i] = (uint32_t)axis;
    if (i == 0) self->length = desc->dims[axis];
    if (desc->dims[axis] != self->length) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to scan input %" PRIu32 ": its length is %" PRId64
                     ", it must be that of the first, %" PRId64,
                     number, desc->dims[axis], self->length);
    }
  }
  return LK_OK;
}

static lk_status begin(scan *self, lk_flow_stage_frame *frame, const lk_flow_value *inputs,
                       lk_error *error) {
  const size_t n_inputs = self->body->graph->n_inputs, n_outputs = self->body->graph->n_outputs;
  if (self->n_inputs > sizeof self->axes / sizeof self->axes[0]) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to scan: it has %" PRIu32 " scan inputs, at most %zu are supported",
                   self->n_inputs, sizeof self->axes / sizeof self->axes[0]);
  }
  LK_RETURN_NOT_OK(lk_flow_frame_of_body(self->stage, 0, frame, &self->own, &self->frame, error));
  self->spares = lk_calloc(self->allocator, self->n_inputs, sizeof *self->spares);
  self->inputs = lk_calloc(self->allocator, n_inputs, sizeof *self->inputs);
  self->outputs = lk_calloc(self->allocator, n_outputs, sizeof *self->outputs);
  self->stacks = lk_calloc(self->allocator, self->n_outputs, sizeof *self->stacks);
  if (self->spares == NULL || self->inputs == NULL || self->outputs == NULL ||
      self->stacks == NULL) {
    return lk_fail_memory(error, "the values of a scan", n_inputs * sizeof *self->inputs);
  }
  for (uint32_t i = 0; i < self->n_states; i++) self->inputs[i] = lk_flow_value_retain(&inputs[i]);
  const lk_flow_value *captured = lk_flow_captured(self->stage, 0, inputs);
  for (uint32_t i = 0; i < self->stage->n_captured[0]; i++) {
    self->inputs[self->n_states + self->n_inputs + i] = lk_flow_value_retain(&captured[i]);
  }
  return LK_OK;
}

static void end(const scan *self) {
  const size_t n_inputs = self->body->graph->n_inputs, n_outputs = self->body->graph->n_outputs;
  for (size_t i = 0; self->inputs != NULL && i < n_inputs; i++) {
    lk_flow_value_release(self->allocator, &self->inputs[i]);
  }
  for (size_t i = 0; self->outputs != NULL && i < n_outputs; i++) {
    lk_flow_value_release(self->allocator, &self->outputs[i]);
  }
  for (uint32_t i = 0; self->stacks != NULL && i < self->n_outputs; i++) {
    lk_flow_stack_end(self->allocator, &self->stacks[i]);
  }
  for (uint32_t i = 0; self->spares != NULL && i < self->n_inputs; i++) {
    lk_flow_spare_end(self->allocator, &self->spares[i]);
  }
  lk_flow_frame_destroy(self->own);
  lk_free(self->allocator, self->spares);
  lk_free(self->allocator, self->inputs);
  lk_free(self->allocator, self->outputs);
  lk_free(self->allocator, self->stacks);
}

static lk_status iterate(scan *self, const lk_flow_value *scanned, int64_t iteration,
                         lk_error *error) {
  const lk_stage *stage = self->stage;
  for (uint32_t i = 0; i < self->n_inputs; i++) {
    lk_flow_value *to = &self->inputs[self->n_states + i];
    const int64_t index =
        stage->scan_inputs[i].is_backward ? self->length - 1 - iteration : iteration;
    lk_flow_value_release(self->allocator, to);
    LK_RETURN_NOT_OK(
        slice(self->flow, &scanned[i], self->axes[i], index, &self->spares[i], to, error));
  }
  LK_RETURN_NOT_OK(self->call->run_body(self->body, self->call, self->frame, self->inputs, NULL,
                                        self->outputs, error));
  for (uint32_t i = 0; i < self->n_states; i++) {
    lk_flow_value_release(self->allocator, &self->inputs[i]);
    self->inputs[i] = self->outputs[i];
    self->outputs[i] = (lk_flow_value){0};
  }
  for (uint32_t i = 0; i < self->n_outputs; i++) {
    lk_flow_value *value = &self->outputs[self->n_states + i];
    LK_RETURN_NOT_OK(lk_flow_stack_push(self->flow->api, self->allocator, &self->stacks[i], value,
                                        self->length, error));
    lk_flow_value_release(self->allocator, value);
  }
  return LK_OK;
}

lk_status lk_flow_scan(lk_flow *flow, const lk_stage *stage, const lk_flow_call *call,
                       lk_flow_stage_frame *frame, const lk_flow_value *inputs,
                       lk_flow_value *outputs, lk_error *error) {
  const lk_node *node = stage->node;
  const uint32_t n_states = node->n_inputs - lk_node_captured(node) - stage->n_scan_inputs;
  lk_status status = LK_OK;
  scan self = {.stage = stage,
               .body = stage->bodies[0],
               .call = call,
               .flow = flow,
               .allocator = flow->allocator,
               .n_states = n_states,
               .n_inputs = stage->n_scan_inputs,
               .n_outputs = node->n_outputs - n_states};
  LK_TRY(begin(&self, frame, inputs, error));
  LK_TRY(find_length(&self, inputs + n_states, error));
  for (int64_t i = 0; i < self.length; i++) LK_TRY(iterate(&self, inputs + n_states, i, error));
  for (uint32_t i = 0; i < self.n_outputs; i++) {
    lk_flow_value *to = &outputs[n_states + i];
    lk_tensor_desc *each = &self.stacks[i].each;
    if (self.length == 0) LK_TRY(lk_flow_describe_none(stage, n_states + i, each, error));
    LK_TRY(lk_flow_stack_finish(flow->api, flow->allocator, &self.stacks[i], to, error));
    LK_TRY(place_axis(flow, to, &stage->scan_outputs[i], error));
  }
  for (uint32_t i = 0; i < n_states; i++) outputs[i] = lk_flow_value_retain(&self.inputs[i]);

cleanup:
  end(&self);
  for (uint32_t i = 0; status != LK_OK && i < node->n_outputs; i++) {
    lk_flow_value_release(flow->allocator, &outputs[i]);
  }
  return status;
}
