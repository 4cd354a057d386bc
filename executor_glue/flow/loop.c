/* Loop (ONNX "Loop"): its body again and again, with values that it carries on. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/flow/frame.h"
#include "executor_glue/flow/iteration.h"
#include "executor_glue/flow/stack.h"

enum { TRIPS = 0, CONDITION = 1, CARRIED = 2 }; /* of the node's inputs, and of the body's */

typedef struct loop {
  const lk_stage *stage;
  lk_flow *body;
  const lk_flow_call *call;
  const lk_api *api;
  const lk_allocator *allocator;
  uint32_t n_carried, n_scanned;
  lk_flow_frame *frame; /* of the body */
  lk_flow_frame *own;   /* the same, where this loop made it */
  lk_flow_spare numbers[CARRIED];
  lk_flow_value *inputs;  /* of the body */
  lk_flow_value *outputs; /* of the body: the condition, carried values, scan outputs */
  lk_flow_stack *stacks;  /* [n_scanned] */
  int64_t most;           /* iterations */
  bool goes_on;
} loop;

static lk_status begin(loop *self, lk_flow_stage_frame *frame, const lk_flow_value *inputs,
                       lk_error *error) {
  const size_t n_inputs = self->body->graph->n_inputs, n_outputs = self->body->graph->n_outputs;
  self->most = INT64_MAX;
  self->goes_on = true;
  if (inputs[TRIPS].tensor.data != NULL) {
    LK_RETURN_NOT_OK(lk_flow_value_int(&inputs[TRIPS], "the trip count", &self->most, error));
  }
  if (inputs[CONDITION].tensor.data != NULL) {
    LK_RETURN_NOT_OK(
        lk_flow_value_bool(&inputs[CONDITION], "the condition", &self->goes_on, error));
  }
  LK_RETURN_NOT_OK(lk_flow_frame_of_body(self->stage, 0, frame, &self->own, &self->frame, error));
  self->inputs = lk_calloc(self->allocator, n_inputs, sizeof *self->inputs);
  self->outputs = lk_calloc(self->allocator, n_outputs, sizeof *self->outputs);
  self->stacks = lk_calloc(self->allocator, self->n_scanned, sizeof *self->stacks);
  if (self->inputs == NULL || self->outputs == NULL || self->stacks == NULL) {
    return lk_fail_memory(error, "the values of a loop", n_inputs * sizeof *self->inputs);
  }
  for (uint32_t i = 0; i < self->n_carried; i++) {
    self->inputs[CARRIED + i] = lk_flow_value_retain(&inputs[CARRIED + i]);
  }
  const lk_flow_value *captured = lk_flow_captured(self->stage, 0, inputs);
  for (uint32_t i = 0; i < self->stage->n_captured[0]; i++) {
    self->inputs[CARRIED + self->n_carried + i] = lk_flow_value_retain(&captured[i]);
  }
  return LK_OK;
}

static void end(loop *self) {
  const size_t n_inputs = self->body->graph->n_inputs, n_outputs = self->body->graph->n_outputs;
  for (size_t i = 0; self->inputs != NULL && i < n_inputs; i++) {
    lk_flow_value_release(self->allocator, &self->inputs[i]);
  }
  for (size_t i = 0; self->outputs != NULL && i < n_outputs; i++) {
    lk_flow_value_release(self->allocator, &self->outputs[i]);
  }
  for (uint32_t i = 0; self->stacks != NULL && i < self->n_scanned; i++) {
    lk_flow_stack_end(self->allocator, &self->stacks[i]);
  }
  for (int i = 0; i < CARRIED; i++) lk_flow_spare_end(self->allocator, &self->numbers[i]);
  lk_flow_frame_destroy(self->own);
  lk_free(self->allocator, self->inputs);
  lk_free(self->allocator, self->outputs);
  lk_free(self->allocator, self->stacks);
}

/* A number for the body's input `index`, which may be a scalar or a list of one: a value of its own
 * for each iteration, since the body may hand it on. */
static lk_status set_number(loop *self, uint32_t index, uint32_t dtype, const void *number,
                            lk_error *error) {
  const lk_graph *graph = self->body->graph;
  const lk_declaration *declared = graph->values[graph->inputs[index]].declared;
  const int64_t one = 1;
  const lk_tensor_desc desc =
      lk_tensor_desc_make(dtype, declared != NULL && declared->rank == 1 ? 1 : 0, &one);
  lk_flow_value_release(self->allocator, &self->inputs[index]);
  LK_RETURN_NOT_OK(lk_flow_spare_take(self->allocator, &self->numbers[index], &desc,
                                      &self->inputs[index], error));
  memcpy(self->inputs[index].tensor.data, number, lk_dtype_size(dtype));
  return LK_OK;
}

static lk_status iterate(loop *self, int64_t iteration, lk_error *error) {
  const uint8_t goes_on = self->goes_on;
  LK_RETURN_NOT_OK(set_number(self, TRIPS, LK_I64, &iteration, error));
  LK_RETURN_NOT_OK(set_number(self, CONDITION, LK_BOOL, &goes_on, error));
  LK_RETURN_NOT_OK(self->call->run_body(self->body, self->call, self->frame, self->inputs, NULL,
                                        self->outputs, error));
  LK_RETURN_NOT_OK(
      lk_flow_value_bool(&self->outputs[0], "the body's condition", &self->goes_on, error));
  lk_flow_value_release(self->allocator, &self->outputs[0]);
  for (uint32_t i = 0; i < self->n_carried; i++) {
    lk_flow_value_release(self->allocator, &self->inputs[CARRIED + i]);
    self->inputs[CARRIED + i] = self->outputs[1 + i];
    self->outputs[1 + i] = (lk_flow_value){0};
  }
  for (uint32_t i = 0; i < self->n_scanned; i++) {
    lk_flow_value *value = &self->outputs[1 + self->n_carried + i];
    LK_RETURN_NOT_OK(lk_flow_stack_push(self->api, self->allocator, &self->stacks[i], value,
                                        self->most != INT64_MAX ? self->most : 0, error));
    lk_flow_value_release(self->allocator, value);
  }
  return LK_OK;
}

lk_status lk_flow_loop(lk_flow *flow, const lk_stage *stage, const lk_flow_call *call,
                       lk_flow_stage_frame *frame, const lk_flow_value *inputs,
                       lk_flow_value *outputs, lk_error *error) {
  lk_status status = LK_OK;
  const lk_node *node = stage->node;
  const uint32_t n_carried = node->n_inputs - lk_node_captured(node) - CARRIED;
  loop self = {.stage = stage,
               .body = stage->bodies[0],
               .call = call,
               .api = flow->api,
               .allocator = flow->allocator,
               .n_carried = n_carried,
               .n_scanned = node->n_outputs - n_carried};
  int64_t iteration = 0;
  LK_TRY(begin(&self, frame, inputs, error));
  for (; iteration < self.most && self.goes_on; iteration++) {
    LK_TRY(iterate(&self, iteration, error));
  }
  for (uint32_t i = 0; i < self.n_scanned; i++) {
    lk_flow_stack *stack = &self.stacks[i];
    if (iteration == 0) {
      LK_TRY(lk_flow_describe_none(stage, 1 + n_carried + i, &stack->each, error));
    }
    LK_TRY(lk_flow_stack_finish(flow->api, flow->allocator, stack, &outputs[n_carried + i], error));
  }
  for (uint32_t i = 0; i < n_carried; i++) {
    outputs[i] = lk_flow_value_retain(&self.inputs[CARRIED + i]);
  }

cleanup:
  end(&self);
  for (uint32_t i = 0; status != LK_OK && i < node->n_outputs; i++) {
    lk_flow_value_release(flow->allocator, &outputs[i]);
  }
  return status;
}
