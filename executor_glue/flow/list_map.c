/* SequenceMap (ONNX "SequenceMap"): its body for each tensor of a sequence, and for those at the
 * same places of others. */
#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/flow/list_state.h"

/* Of all sequences among the inputs. */
static lk_status check_lengths(const list_call *c, lk_error *error) {
  const size_t count = c->inputs[0].list->count;
  for (uint32_t i = 1; i < c->n_inputs; i++) {
    const lk_flow_list *list = c->inputs[i].list;
    if (list == NULL || list->count == count) continue;
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to map sequences: input %u has %zu tensors and input 0 has %zu, they "
                   "must be as many",
                   i, list->count, count);
  }
  return LK_OK;
}

/* The body's inputs of one place: all are borrowed. */
static void set_inputs(const lk_stage *stage, const list_call *c, size_t place,
                       lk_flow_value *inputs) {
  for (uint32_t i = 0; i < c->n_inputs; i++) {
    const lk_flow_list *list = c->inputs[i].list;
    inputs[i] = list != NULL ? list->values[place] : c->inputs[i];
  }
  const lk_flow_value *captured = lk_flow_captured(stage, 0, c->inputs);
  for (uint32_t i = 0; i < stage->n_captured[0]; i++) inputs[c->n_inputs + i] = captured[i];
}

static lk_status create_outputs(const lk_stage *stage, const list_call *c, lk_flow_value *outputs,
                                lk_error *error) {
  for (uint32_t i = 0; i < stage->node->n_outputs; i++) {
    LK_RETURN_NOT_OK(
        lk_flow_list_create(c->allocator, c->inputs[0].list->count, &outputs[i], error));
  }
  return LK_OK;
}

lk_status lk_flow_list_map(const lk_stage *stage, const lk_flow_call *call, const list_call *c,
                           lk_flow_stage_frame *frame, lk_flow_value *outputs, lk_error *error) {
  lk_status status = LK_OK;
  lk_flow *body = stage->bodies[0];
  const size_t n_inputs = body->graph->n_inputs, n_outputs = stage->node->n_outputs;
  lk_flow_frame *own = NULL, *of_body = NULL;
  lk_flow_value *results = NULL;
  lk_flow_value *values = lk_calloc(c->allocator, n_inputs + n_outputs, sizeof *values);
  if (values == NULL) return lk_fail_memory(error, "the values of a map", n_inputs);
  results = values + n_inputs;
  LK_TRY(check_lengths(c, error));
  LK_TRY(lk_flow_frame_of_body(stage, 0, frame, &own, &of_body, error));
  LK_TRY(create_outputs(stage, c, outputs, error));
  for (size_t place = 0; place < c->inputs[0].list->count; place++) {
    set_inputs(stage, c, place, values);
    LK_TRY(call->run_body(body, call, of_body, values, NULL, results, error));
    for (size_t i = 0; i < n_outputs; i++) {
      outputs[i].list->dtype = results[i].tensor.desc.dtype;
      outputs[i].list->values[place] = results[i];
      results[i] = (lk_flow_value){0};
    }
  }

cleanup:
  lk_flow_frame_destroy(own);
  for (size_t i = 0; status != LK_OK && i < n_outputs; i++) {
    lk_flow_value_release(c->allocator, &outputs[i]);
  }
  lk_free(c->allocator, values);
  return status;
}
