/* Which values stages hand to each other, and until when. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/flow/builder.h"

/* The slot of a value, which gets one where it has none. */
static int32_t take_slot(const lk_flow_builder *b, int32_t value) {
  if (value == LK_NO_VALUE) return LK_NO_SLOT;
  if (b->slots[value] == LK_NO_SLOT) b->slots[value] = (int32_t)b->flow->n_slots++;
  return b->slots[value];
}

lk_status lk_flow_set_slots(const lk_flow_builder *b, lk_stage *stage, const int32_t *inputs,
                            size_t n_inputs, const int32_t *outputs, size_t n_outputs) {
  stage->slots = lk_calloc(b->flow->allocator, n_inputs + n_outputs, sizeof *stage->slots);
  if (stage->slots == NULL) {
    return lk_fail_memory(b->error, "a stage", (n_inputs + n_outputs) * sizeof *stage->slots);
  }
  stage->n_inputs = (int32_t)n_inputs;
  stage->n_outputs = (int32_t)n_outputs;
  for (size_t i = 0; i < n_inputs; i++) stage->slots[i] = take_slot(b, inputs[i]);
  for (size_t i = 0; i < n_outputs; i++) stage->slots[n_inputs + i] = take_slot(b, outputs[i]);
  return LK_OK;
}

lk_status lk_flow_fill_constants(const lk_flow_builder *b) {
  lk_flow *flow = b->flow;
  flow->constants = lk_calloc(flow->allocator, flow->n_slots, sizeof *flow->constants);
  if (flow->constants == NULL) {
    return lk_fail_memory(b->error, "slots", flow->n_slots * sizeof *flow->constants);
  }
  for (size_t v = 0; v < flow->graph->n_values; v++) {
    if (b->slots[v] == LK_NO_SLOT || !lk_value_is_constant(flow->graph, (int32_t)v)) continue;
    const lk_tensor *from = &flow->graph->values[v].constant;
    const size_t bytes = lk_flow_value_bytes(&from->desc);
    lk_tensor *to = &flow->constants[b->slots[v]];
    *to = (lk_tensor){from->desc, lk_alloc_aligned(flow->allocator, bytes, LK_DATA_ALIGNMENT)};
    if (to->data == NULL) return lk_fail_memory(b->error, "a constant", bytes);
    if (bytes > 0) memcpy(to->data, from->data, bytes);
  }
  return LK_OK;
}

lk_status lk_flow_find_last_uses(const lk_flow_builder *b) {
  lk_flow *flow = b->flow;
  const lk_graph *graph = flow->graph;
  flow->last_use = lk_calloc(flow->allocator, flow->n_slots, sizeof *flow->last_use);
  if (flow->last_use == NULL) {
    return lk_fail_memory(b->error, "slots", flow->n_slots * sizeof *flow->last_use);
  }
  for (size_t s = 0; s < flow->n_stages; s++) {
    const lk_stage *stage = &flow->stages[s];
    for (int32_t i = 0; i < stage->n_inputs + stage->n_outputs; i++) {
      if (stage->slots[i] != LK_NO_SLOT) flow->last_use[stage->slots[i]] = (int32_t)s;
    }
  }
  for (size_t i = 0; i < graph->n_outputs; i++) {
    flow->last_use[flow->output_slots[i]] = (int32_t)flow->n_stages;
  }
  return LK_OK;
}

void lk_flow_take_border_slots(const lk_flow_builder *b) {
  lk_flow *flow = b->flow;
  const lk_graph *graph = flow->graph;
  for (size_t i = 0; i < graph->n_inputs; i++) {
    flow->input_slots[i] = take_slot(b, graph->inputs[i]);
  }
  for (size_t i = 0; i < graph->n_outputs; i++) {
    flow->output_slots[i] = take_slot(b, graph->outputs[i]);
  }
}
