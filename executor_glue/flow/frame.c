/* What the runs of a body keep from one to the next. */
#include "executor_glue/flow/frame.h"

#include "base/alloc.h"
#include "base/status.h"

/* ---- of a graph executor ---- */

static lk_status create_part(const lk_allocator *allocator, size_t n_inputs, size_t n_outputs,
                             lk_flow_part_frame *out, lk_error *error) {
  out->inputs = lk_calloc(allocator, n_inputs, sizeof *out->inputs);
  out->outputs = lk_calloc(allocator, n_outputs, sizeof *out->outputs);
  if (out->inputs == NULL || out->outputs == NULL) {
    return lk_fail_memory(error, "the arguments of a body", n_inputs * sizeof *out->inputs);
  }
  out->n_outputs = n_outputs;
  return LK_OK;
}

static void destroy_part(const lk_allocator *allocator, lk_flow_part_frame *part) {
  lk_kept_run_end(part->kept);
  for (size_t i = 0; i < part->n_outputs; i++) lk_flow_spare_end(allocator, &part->outputs[i]);
  lk_free(allocator, part->inputs);
  lk_free(allocator, part->outputs);
}

/* ---- of stages ---- */

static lk_status create_lists(lk_flow_frame *self, lk_error *error) {
  const lk_flow *flow = self->flow;
  int32_t most = 0;
  for (size_t s = 0; s < flow->n_stages; s++) {
    const int32_t count = flow->stages[s].n_inputs + flow->stages[s].n_outputs;
    if (count > most) most = count;
  }
  self->slots = lk_calloc(flow->allocator, flow->n_slots, sizeof *self->slots);
  self->is_needed = lk_calloc(flow->allocator, flow->n_slots, sizeof *self->is_needed);
  self->operands = lk_calloc(flow->allocator, (size_t)most, sizeof *self->operands);
  self->wanted = lk_calloc(flow->allocator, (size_t)most, sizeof *self->wanted);
  if (self->slots != NULL && self->is_needed != NULL && self->operands != NULL &&
      self->wanted != NULL) {
    return LK_OK;
  }
  return lk_fail_memory(error, "the values of a run", flow->n_slots * sizeof *self->slots);
}

static lk_status create_stages(lk_flow_frame *self, lk_error *error) {
  const lk_flow *flow = self->flow;
  self->stages = lk_calloc(flow->allocator, flow->n_stages, sizeof *self->stages);
  if (self->stages == NULL) {
    return lk_fail_memory(error, "the stages of a body", flow->n_stages * sizeof *self->stages);
  }
  for (size_t s = 0; s < flow->n_stages; s++) {
    const lk_stage *stage = &flow->stages[s];
    if (stage->kind != LK_STAGE_PART) continue;
    LK_RETURN_NOT_OK(create_part(flow->allocator, (size_t)stage->n_inputs, (size_t)stage->n_outputs,
                                 &self->stages[s].part, error));
  }
  return LK_OK;
}

lk_status lk_flow_frame_create(const lk_flow *flow, bool is_kept, lk_flow_frame **out,
                               lk_error *error) {
  lk_status status = LK_OK;
  *out = NULL;
  lk_flow_frame *self = lk_calloc(flow->allocator, 1, sizeof *self);
  if (self == NULL) return lk_fail_memory(error, "the frame of a body", sizeof *self);
  self->flow = flow;
  if (flow->single != NULL) {
    LK_TRY(create_part(flow->allocator, flow->graph->n_inputs, flow->graph->n_outputs,
                       &self->single, error));
  } else {
    LK_TRY(create_lists(self, error));
    if (is_kept) LK_TRY(create_stages(self, error));
  }
  *out = self;
  self = NULL;
cleanup:
  lk_flow_frame_destroy(self);
  return status;
}

void lk_flow_frame_destroy(lk_flow_frame *self) {
  if (self == NULL) return;
  const lk_flow *flow = self->flow;
  destroy_part(flow->allocator, &self->single);
  for (size_t s = 0; self->stages != NULL && s < flow->n_stages; s++) {
    destroy_part(flow->allocator, &self->stages[s].part);
    lk_flow_frame_destroy(self->stages[s].bodies[0]);
    lk_flow_frame_destroy(self->stages[s].bodies[1]);
  }
  lk_free(flow->allocator, self->stages);
  lk_free(flow->allocator, self->slots);
  lk_free(flow->allocator, self->is_needed);
  lk_free(flow->allocator, self->operands);
  lk_free(flow->allocator, self->wanted);
  lk_free(flow->allocator, self);
}

lk_status lk_flow_frame_of_body(const lk_stage *stage, uint32_t body, lk_flow_stage_frame *frame,
                                lk_flow_frame **inout_own, lk_flow_frame **out, lk_error *error) {
  lk_flow_frame **place = frame != NULL ? &frame->bodies[body] : inout_own;
  if (*place == NULL) {
    LK_RETURN_NOT_OK(lk_flow_frame_create(stage->bodies[body], true, place, error));
  }
  *out = *place;
  return LK_OK;
}
