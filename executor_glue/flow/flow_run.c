/* Runs the stages of a flow, one after the other. */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/flow/copy.h"
#include "executor_glue/flow/flow.h"
#include "executor_glue/flow/frame.h"
#include "executor_glue/run/check_request.h"
#include "executor_glue/run/invocation.h"
#include "executor_glue/run/watch.h"

/* ---- parts ---- */

/* Runs a graph executor on values. `wanted` as its run has it. */
static lk_status run_executor(const lk_flow *flow, lk_graph_executor *executor,
                              const lk_flow_call *call, const lk_flow_value *inputs,
                              size_t n_inputs, const bool *wanted, lk_flow_value *outputs,
                              size_t n_outputs, lk_error *error) {
  lk_status status = LK_OK;
  lk_tensor *tensors = lk_calloc(flow->allocator, n_inputs + n_outputs, sizeof *tensors);
  if (tensors == NULL) {
    return lk_fail_memory(error, "the arguments of a stage",
                          (n_inputs + n_outputs) * sizeof *tensors);
  }
  lk_tensor *results = tensors + n_inputs;
  for (size_t i = 0; i < n_inputs; i++) tensors[i] = inputs[i].tensor;
  lk_graph_run run = *call->run;
  run.inputs = tensors;
  run.outputs = results;
  run.wanted = wanted;
  run.place = NULL;
  LK_TRY(lk_graph_executor_run(executor, &run, error));
  for (size_t i = 0; i < n_outputs; i++) {
    if (wanted != NULL && !wanted[i]) continue;
    const lk_status owned = lk_flow_value_own(flow->allocator, &results[i], &outputs[i], error);
    if (status == LK_OK) status = owned;
  }

cleanup:
  for (size_t i = 0; status != LK_OK && i < n_outputs; i++) {
    lk_flow_value_release(flow->allocator, &outputs[i]);
  }
  lk_free(flow->allocator, tensors);
  return status;
}

/* Where the outputs of a run with a frame go. */
typedef struct output_places {
  const lk_allocator *allocator;
  lk_flow_part_frame *frame;
  lk_flow_value *outputs;
} output_places;

static lk_status place_output(void *arg, uint32_t output, const lk_tensor_desc *desc,
                              void **out_data, lk_error *error) {
  const output_places *places = arg;
  lk_flow_value *value = &places->outputs[output];
  LK_RETURN_NOT_OK(
      lk_flow_spare_take(places->allocator, &places->frame->outputs[output], desc, value, error));
  *out_data = value->tensor.data;
  return LK_OK;
}

/* The same with what the run before has left: in the steady state nothing is allocated. */
static lk_status run_executor_again(const lk_flow *flow, lk_graph_executor *executor,
                                    const lk_flow_call *call, lk_flow_part_frame *frame,
                                    const lk_flow_value *inputs, size_t n_inputs,
                                    const bool *wanted, lk_flow_value *outputs, lk_error *error) {
  output_places places = {flow->allocator, frame, outputs};
  for (size_t i = 0; i < n_inputs; i++) frame->inputs[i] = inputs[i].tensor;
  lk_graph_run run = *call->run;
  run.inputs = frame->inputs;
  run.outputs = NULL;
  run.wanted = wanted;
  run.place = place_output;
  run.place_arg = &places;
  const lk_status status = lk_graph_executor_run_kept(executor, &run, &frame->kept, error);
  for (size_t i = 0; status != LK_OK && i < frame->n_outputs; i++) {
    lk_flow_value_release(flow->allocator, &outputs[i]);
  }
  return status;
}

/* ---- operators whose outputs' shapes follow from data ---- */

/* Where op_run_alloc's memory is noted, so that a failure can free it. */
typedef struct op_memory {
  const lk_allocator *allocator;
  void **data; /* [n_outputs] */
} op_memory;

static void *alloc_output(void *arg, const lk_output_request *request) {
  const op_memory *self = arg;
  void *data = lk_alloc_pages(self->allocator, (size_t)request->bytes);
  self->data[request->index] = data;
  return data;
}

/* An idle frame, or a new one. */
static lk_status take_frame(const lk_flow *flow, lk_stage *stage, lk_frame **out, lk_error *error) {
  *out = atomic_exchange(&stage->frame, NULL);
  return *out != NULL ? LK_OK : flow->api->frame_create(flow->executor, out, error);
}

static void leave_frame(const lk_flow *flow, lk_stage *stage, lk_frame *frame) {
  lk_frame *other = frame != NULL ? atomic_exchange(&stage->frame, frame) : NULL;
  if (other != NULL) flow->api->frame_destroy(other);
}

static lk_status run_op(const lk_flow *flow, lk_stage *stage, const lk_graph_run *run,
                        const lk_flow_value *inputs, lk_flow_value *outputs, lk_error *error) {
  lk_status status = LK_OK;
  const lk_node *node = &stage->graph->nodes[0];
  const uint32_t n_inputs = node->n_inputs, n_outputs = node->n_outputs;
  lk_frame *frame = NULL;
  lk_stop stop;
  lk_graph_run_stop(run, &stop);
  lk_tensor *tensors = lk_calloc(flow->allocator, n_inputs + n_outputs, sizeof *tensors);
  void **data = lk_calloc(flow->allocator, n_outputs, sizeof *data);
  if (tensors == NULL || data == NULL) {
    status = lk_fail_memory(error, "the arguments of an operator", n_inputs * sizeof *tensors);
    goto cleanup;
  }
  /* inputs of the stage are those of the node that are no constants, each once */
  for (uint32_t i = 0; i < n_inputs; i++) {
    for (size_t k = 0; k < stage->graph->n_inputs; k++) {
      if (stage->graph->inputs[k] == node->inputs[i]) tensors[i] = inputs[k].tensor;
    }
  }
  op_memory memory = {flow->allocator, data};
  const lk_bind_desc bind = {.struct_size = sizeof bind,
                             .inputs = tensors,
                             .n_inputs = n_inputs,
                             .n_outputs = n_outputs,
                             .in_place_input = -1};
  lk_tensor *results = tensors + n_inputs;
  LK_TRY(take_frame(flow, stage, &frame, error));
  LK_TRY(lk_watch_begin(flow->api, frame, &stop, error));
  status = flow->api->op_run_alloc(frame, stage->program->ops[0], &bind, alloc_output, &memory,
                                   results, error);
  if (status != LK_OK) LK_TRY(lk_program_name_node(stage->graph, node, status, error));
  for (uint32_t i = 0; i < n_outputs; i++) {
    for (size_t k = 0; k < stage->graph->n_outputs; k++) {
      if (stage->graph->outputs[k] != node->outputs[i]) continue;
      data[i] = NULL; /* also a failure takes it */
      LK_TRY(lk_flow_value_own(flow->allocator, &results[i], &outputs[k], error));
    }
  }

cleanup:
  if (frame != NULL) lk_watch_end(flow->api, frame, &stop);
  leave_frame(flow, stage, frame);
  for (uint32_t i = 0; data != NULL && i < n_outputs; i++) lk_free(flow->allocator, data[i]);
  lk_free(flow->allocator, (void *)data);
  lk_free(flow->allocator, tensors);
  return status;
}

/* ---- stages ---- */

/* One run of a flow of several stages. */
typedef struct stages_run {
  lk_flow *flow;
  const lk_flow_call *call;
  lk_flow_frame *frame;
} stages_run;

/* Which slots somebody reads. */
static void find_needed(const stages_run *self, const bool *wanted) {
  const lk_flow *flow = self->flow;
  lk_flow_frame *frame = self->frame;
  if (wanted == NULL && frame->knows_needed) return;
  memset(frame->is_needed, 0, flow->n_slots * sizeof *frame->is_needed);
  frame->knows_needed = wanted == NULL;
  for (size_t i = 0; i < flow->graph->n_outputs; i++) {
    if (wanted == NULL || wanted[i]) frame->is_needed[flow->output_slots[i]] = true;
  }
  for (size_t s = flow->n_stages; s-- > 0;) {
    const lk_stage *stage = &flow->stages[s];
    bool runs = false;
    for (int32_t i = 0; i < stage->n_outputs; i++) {
      const int32_t slot = stage->slots[stage->n_inputs + i];
      runs = runs || (slot != LK_NO_SLOT && frame->is_needed[slot]);
    }
    for (int32_t i = 0; runs && i < stage->n_inputs; i++) {
      if (stage->slots[i] != LK_NO_SLOT) frame->is_needed[stage->slots[i]] = true;
    }
  }
}

static lk_status run_kind(const stages_run *self, lk_stage *stage, lk_flow_value *outputs,
                          lk_error *error) {
  lk_flow *flow = self->flow;
  const lk_flow_value *inputs = self->frame->operands;
  const bool *wanted = self->frame->wanted;
  const size_t n_inputs = (size_t)stage->n_inputs;
  lk_flow_stage_frame *kept =
      self->frame->stages != NULL ? &self->frame->stages[stage - flow->stages] : NULL;
  switch (stage->kind) {
  case LK_STAGE_PART:
    if (kept != NULL) {
      return run_executor_again(flow, stage->executor, self->call, &kept->part, inputs, n_inputs,
                                wanted, outputs, error);
    }
    return run_executor(flow, stage->executor, self->call, inputs, n_inputs, wanted, outputs,
                        (size_t)stage->n_outputs, error);
  case LK_STAGE_OP:
    return run_op(flow, stage, self->call->run, inputs, outputs, error);
  case LK_STAGE_IF:
    return lk_flow_if(flow, stage, self->call, kept, inputs, outputs, error);
  case LK_STAGE_LOOP:
    return lk_flow_loop(flow, stage, self->call, kept, inputs, outputs, error);
  case LK_STAGE_LIST:
    return lk_flow_list_run(flow, stage, self->call, kept, inputs, outputs, error);
  case LK_STAGE_SCAN:
    return lk_flow_scan(flow, stage, self->call, kept, inputs, outputs, error);
  }
  return LK_OK;
}

static lk_status run_stage(const stages_run *self, size_t index, lk_error *error) {
  lk_flow *flow = self->flow;
  lk_flow_frame *frame = self->frame;
  lk_stage *stage = &flow->stages[index];
  lk_flow_value *outputs = frame->operands + stage->n_inputs;
  bool runs = false;
  for (int32_t i = 0; i < stage->n_outputs; i++) {
    const int32_t slot = stage->slots[stage->n_inputs + i];
    frame->wanted[i] = slot != LK_NO_SLOT && frame->is_needed[slot];
    runs = runs || frame->wanted[i];
    outputs[i] = (lk_flow_value){0};
  }
  if (!runs) return LK_OK;
  for (int32_t i = 0; i < stage->n_inputs; i++) {
    static const lk_flow_value absent;
    frame->operands[i] = stage->slots[i] != LK_NO_SLOT ? frame->slots[stage->slots[i]] : absent;
  }
  const bool is_control = stage->kind != LK_STAGE_PART && stage->kind != LK_STAGE_OP;
  const lk_status status = run_kind(self, stage, outputs, error);
  if (status != LK_OK) {
    return is_control ? lk_program_name_node(flow->graph, stage->node, status, error) : status;
  }
  for (int32_t i = 0; i < stage->n_outputs; i++) {
    const int32_t slot = stage->slots[stage->n_inputs + i];
    if (slot != LK_NO_SLOT) {
      frame->slots[slot] = outputs[i];
    } else {
      lk_flow_value_release(flow->allocator, &outputs[i]);
    }
  }
  for (int32_t i = 0; i < stage->n_inputs + stage->n_outputs; i++) {
    const int32_t slot = stage->slots[i];
    if (slot != LK_NO_SLOT && flow->last_use[slot] == (int32_t)index) {
      lk_flow_value_release(flow->allocator, &frame->slots[slot]);
    }
  }
  return LK_OK;
}

static lk_status run_stages(lk_flow *flow, const lk_flow_call *call, lk_flow_frame *frame,
                            const lk_flow_value *inputs, const bool *wanted, lk_flow_value *outputs,
                            lk_error *error) {
  lk_status status = LK_OK;
  lk_flow_frame *own = NULL;
  if (frame == NULL) {
    LK_RETURN_NOT_OK(lk_flow_frame_create(flow, false, &own, error));
    frame = own;
  }
  const stages_run self = {flow, call, frame};
  for (size_t i = 0; i < flow->n_slots; i++) {
    if (flow->constants[i].data != NULL) frame->slots[i].tensor = flow->constants[i];
  }
  for (size_t i = 0; i < flow->graph->n_inputs; i++) {
    if (flow->constants[flow->input_slots[i]].data != NULL) continue;
    frame->slots[flow->input_slots[i]] = lk_flow_value_retain(&inputs[i]);
  }
  find_needed(&self, wanted);
  for (size_t s = 0; s < flow->n_stages; s++) {
    LK_TRY(lk_flow_look(flow->api, error));
    LK_TRY(run_stage(&self, s, error));
  }
  for (size_t i = 0; i < flow->graph->n_outputs; i++) {
    if (wanted != NULL && !wanted[i]) continue;
    outputs[i] = lk_flow_value_retain(&frame->slots[flow->output_slots[i]]);
  }

cleanup:
  for (size_t i = 0; i < flow->n_slots; i++) {
    lk_flow_value_release(flow->allocator, &frame->slots[i]);
  }
  lk_flow_frame_destroy(own);
  return status;
}

static lk_status run_body(lk_flow *flow, const lk_flow_call *call, lk_flow_frame *frame,
                          const lk_flow_value *inputs, const bool *wanted, lk_flow_value *outputs,
                          lk_error *error) {
  if (flow->single == NULL) return run_stages(flow, call, frame, inputs, wanted, outputs, error);
  if (frame != NULL) {
    return run_executor_again(flow, flow->single, call, &frame->single, inputs,
                              flow->graph->n_inputs, wanted, outputs, error);
  }
  return run_executor(flow, flow->single, call, inputs, flow->graph->n_inputs, wanted, outputs,
                      flow->graph->n_outputs, error);
}

/* ---- the caller's run ---- */

static lk_status check_inputs(const lk_flow *flow, const lk_graph_run *run, lk_error *error) {
  for (size_t i = 0; i < flow->graph->n_inputs; i++) {
    const lk_value *value = &flow->graph->values[flow->graph->inputs[i]];
    LK_RETURN_NOT_OK(lk_check_input(value, &run->inputs[i], error));
  }
  return LK_OK;
}

static bool is_wanted(const lk_graph_run *run, size_t output) {
  return run->wanted == NULL || run->wanted[output];
}

/* Whether memory of the caller's is waiting for it. */
static bool has_room(const lk_graph_run *run, size_t output) {
  return run->place == NULL && is_wanted(run, output) && run->outputs[output].data != NULL;
}

/* All of them, before anything is written to the caller's memory. */
static lk_status check_outputs(const lk_flow *flow, const lk_graph_run *run,
                               const lk_flow_value *outputs, lk_error *error) {
  const lk_graph *graph = flow->graph;
  bool is_any = false;
  for (size_t i = 0; i < graph->n_outputs; i++) {
    is_any = is_any || has_room(run, i);
    if (!is_wanted(run, i) || outputs[i].tensor.data != NULL) continue;
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to give output '%s': it is %s, a tensor is required; let the model give "
                   "the tensors themselves",
                   graph->values[graph->outputs[i]].name,
                   outputs[i].list != NULL ? "a sequence" : "an optional value that is absent");
  }
  if (!is_any) return LK_OK;
  lk_tensor_desc *made = lk_calloc(flow->allocator, graph->n_outputs, sizeof *made);
  if (made == NULL) return lk_fail_memory(error, "outputs", graph->n_outputs * sizeof *made);
  for (size_t i = 0; i < graph->n_outputs; i++) made[i] = outputs[i].tensor.desc;
  const lk_status status =
      lk_check_outputs(graph, made, run->inputs, run->outputs, run->wanted, run->options, error);
  lk_free(flow->allocator, made);
  return status;
}

/* Memory of the caller's gets a copy; else the memory itself is handed over, and `value` zeroed. */
static lk_status hand_over_one(const lk_flow *flow, const lk_graph_run *run, uint32_t output,
                               lk_flow_value *value, lk_error *error) {
  const lk_tensor *made = &value->tensor;
  void *to = run->place == NULL ? run->outputs[output].data : NULL;
  if (run->place != NULL) {
    LK_RETURN_NOT_OK(run->place(run->place_arg, output, &made->desc, &to, error));
  } else if (to == NULL) {
    return lk_flow_value_detach(flow->api, flow->allocator, value, &run->outputs[output], error);
  }
  const size_t bytes = lk_flow_value_bytes(&made->desc);
  LK_RETURN_NOT_OK(lk_flow_copy_bytes(flow->api, made->data, to, bytes, error));
  if (run->place == NULL) run->outputs[output].desc = made->desc;
  return LK_OK;
}

static lk_status hand_over(const lk_flow *flow, const lk_graph_run *run, lk_flow_value *outputs,
                           lk_error *error) {
  lk_status status = LK_OK;
  uint32_t n_done = 0;
  LK_RETURN_NOT_OK(check_outputs(flow, run, outputs, error));
  for (; status == LK_OK && n_done < flow->graph->n_outputs; n_done++) {
    if (!is_wanted(run, n_done)) continue;
    status = hand_over_one(flow, run, n_done, &outputs[n_done], error);
  }
  for (uint32_t i = 0; status != LK_OK && i < n_done; i++) {
    if (!is_wanted(run, i) || outputs[i].tensor.data != NULL) continue; /* not handed over */
    lk_free(flow->allocator, run->outputs[i].data);
    run->outputs[i].data = NULL;
  }
  return status;
}

/* All but the place among the flow's runs. */
static lk_status run_admitted(lk_flow *flow, const lk_graph_run *run, lk_error *error) {
  lk_status status = LK_OK;
  const lk_graph *graph = flow->graph;
  const lk_flow_call call = {run, run_body};
  const size_t n_values = graph->n_inputs + graph->n_outputs;
  LK_RETURN_NOT_OK(check_inputs(flow, run, error));
  lk_flow_value *values = lk_calloc(flow->allocator, n_values, sizeof *values);
  if (values == NULL) return lk_fail_memory(error, "values", n_values * sizeof *values);
  lk_flow_value *outputs = values + graph->n_inputs;
  for (size_t i = 0; i < graph->n_inputs; i++) values[i].tensor = run->inputs[i];
  LK_TRY(run_stages(flow, &call, NULL, values, run->wanted, outputs, error));
  LK_TRY(hand_over(flow, run, outputs, error));
  atomic_fetch_add_explicit(&flow->runs, 1, memory_order_relaxed);

cleanup:
  for (size_t i = 0; i < graph->n_outputs; i++) lk_flow_value_release(flow->allocator, &outputs[i]);
  lk_free(flow->allocator, values);
  return status;
}

lk_status lk_flow_run(lk_flow *flow, const lk_graph_run *run, lk_error *error) {
  if (flow->single != NULL) return lk_graph_executor_run(flow->single, run, error);
  lk_thread_watch room;
  lk_stop stop;
  lk_graph_run_stop(run, &stop);
  LK_RETURN_NOT_OK(lk_run_limit_enter(&flow->limit, &stop.limit, error));
  /* for what stages do besides running operators, which look themselves */
  lk_status status = lk_watch_thread_begin(flow->api, &room, &stop, error);
  if (status == LK_OK) {
    status = run_admitted(flow, run, error);
    flow->api->thread_unwatch(&room);
  }
  lk_run_limit_leave(&flow->limit);
  return status;
}
