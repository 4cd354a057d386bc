/* Frames: argument handles and scratch memory of running plans. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/status.h"
#include "ops/plan/threadpool.h"
#include "plugin/frame.h"
#include "plugin/table.h"

/* What an argument handle of oneDNN takes, for the budget: RSS of one, measured. */
#define HANDLE_BYTES 1280

/* On failure, `out` has what lane_destroy takes. */
static lk_status lane_create(const lk_frame *frame, lk_lane *out, lk_error *error) {
  const lk_context *context = frame->executor->context;
  *out = (lk_lane){0};
  if (frame->scratch_bytes > 0) {
    out->scratch = lk_alloc_aligned(&context->allocator, frame->scratch_bytes, LK_DATA_ALIGNMENT);
    if (out->scratch == NULL) {
      return lk_fail_memory(error, "a frame's scratch memory", frame->scratch_bytes);
    }
  }
  lk_dnnl_create_begin();
  const dnnl_status_t made = lk_stream_create(context->env.engine, &out->stream);
  lk_dnnl_create_end();
  return lk_dnnl_check(error, made, "create a stream");
}

static void lane_destroy(const lk_frame *frame, lk_lane *self) {
  if (self->stream != NULL) dnnl_stream_destroy(self->stream);
  lk_free(&frame->executor->context->allocator, self->scratch);
}

lk_status lk_frame_lanes(lk_frame *frame, uint32_t count, lk_error *error) {
  const lk_allocator *allocator = &frame->executor->context->allocator;
  if (count <= frame->n_lanes) return LK_OK;
  if (count > LK_MAX_THREADS) {
    return lk_fail(error, LK_OUT_OF_RANGE, "failed to give a frame %" PRIu32 " lanes: at most %d",
                   count, LK_MAX_THREADS);
  }
  lk_status status = LK_OK;
  const uint32_t n_former = frame->n_lanes;
  lk_lane *lanes = lk_calloc(allocator, count, sizeof *lanes);
  if (lanes == NULL) return lk_fail_memory(error, "a frame's lanes", count * sizeof *lanes);
  for (uint32_t i = n_former; i < count; i++) LK_TRY(lane_create(frame, &lanes[i], error));
  for (uint32_t i = 0; i < n_former; i++) lanes[i] = frame->lanes[i];
  lk_free(allocator, frame->lanes);
  frame->lanes = lanes;
  frame->n_lanes = count;
  lanes = NULL;
cleanup:
  for (uint32_t i = n_former; lanes != NULL && i < count; i++) lane_destroy(frame, &lanes[i]);
  lk_free(allocator, lanes);
  return status;
}

lk_status lk_frame_create(lk_executor *executor, lk_frame **out_frame, lk_error *error) {
  *out_frame = NULL;
  lk_status status = LK_OK;
  const lk_allocator *allocator = &executor->context->allocator;
  lk_frame *frame = lk_calloc(allocator, 1, sizeof *frame);
  if (frame == NULL) return lk_fail_memory(error, "a frame", sizeof *frame);
  frame->executor = executor;
  LK_TRY(lk_frame_lanes(frame, 1, error));
  *out_frame = frame;
  frame = NULL;
cleanup:
  lk_frame_destroy(frame);
  return status;
}

static void release_slot(lk_frame *frame, lk_slot *self) {
  const lk_allocator *allocator = &frame->executor->context->allocator;
  const lk_plan_body *body = self->body;
  for (uint32_t i = 0; self->args != NULL && i < body->n_args + body->n_steps; i++) {
    if (self->args[i].memory == NULL) continue;
    dnnl_memory_destroy(self->args[i].memory);
    frame->handles--;
  }
  lk_free(allocator, self->args);
  lk_free(allocator, self->pointers);
  lk_plan_release(self->plan);
}

void lk_frame_reset(lk_frame *frame) {
  for (size_t i = 0; i < frame->n_slots; i++) release_slot(frame, &frame->slots[i]);
  frame->n_slots = 0;
}

void lk_frame_detach(lk_frame *frame) {
  release_slot(frame, &frame->slots[--frame->n_slots]);
}

void lk_frame_destroy(lk_frame *frame) {
  if (frame == NULL) return;
  const lk_allocator *allocator = &frame->executor->context->allocator;
  lk_frame_reset(frame);
  lk_free(allocator, frame->slots);
  for (uint32_t i = 0; i < frame->n_lanes; i++) lane_destroy(frame, &frame->lanes[i]);
  lk_free(allocator, frame->lanes);
  lk_free(allocator, frame);
}

static lk_status set_memory(const lk_slot *self, uint32_t index, void *pointer, lk_error *error) {
  const dnnl_status_t set = dnnl_memory_set_data_handle(self->args[index].memory, pointer);
  const bool is_scratchpad = self->args[index].arg == DNNL_ARG_SCRATCHPAD;
  return lk_dnnl_check(error, set,
                       is_scratchpad ? "set the scratchpad's memory" : "set an argument's memory");
}

lk_status lk_slot_point(lk_frame *frame, lk_slot *self, uint32_t lane_index, lk_error *error) {
  const lk_plan_body *body = self->body;
  unsigned char *scratch = frame->lanes[lane_index].scratch;
  self->lane = lane_index;
  for (uint32_t s = 0; self->args != NULL && s < body->n_steps; s++) {
    const lk_step *step = &lk_plan_steps(body)[s];
    if (step->primitive == NULL) continue;
    for (uint32_t i = 0; i < step->n_args; i++) {
      void *pointer = lk_fixed_pointer(body, &lk_plan_args(body)[step->first_arg + i], scratch);
      if (pointer == NULL) continue;
      LK_RETURN_NOT_OK(set_memory(self, lk_handle_index(body, s, i), pointer, error));
    }
    if (lk_n_handles(step) <= step->n_args) continue;
    const uint32_t scratchpad = lk_handle_index(body, s, step->n_args);
    LK_RETURN_NOT_OK(set_memory(self, scratchpad, scratch + body->temp_bytes, error));
  }
  return LK_OK;
}

static lk_status grow_scratch(lk_frame *frame, size_t bytes, lk_error *error) {
  if (bytes <= frame->scratch_bytes) return LK_OK;
  lk_status status = LK_OK;
  const lk_allocator *allocator = &frame->executor->context->allocator;
  unsigned char **grown = lk_calloc(allocator, frame->n_lanes, sizeof *grown);
  for (uint32_t i = 0; i < frame->n_lanes; i++) {
    if (grown != NULL) grown[i] = lk_alloc_aligned(allocator, bytes, LK_DATA_ALIGNMENT);
    if (grown == NULL || grown[i] == NULL) {
      LK_TRY(lk_fail_memory(error, "a frame's scratch memory", bytes));
    }
  }
  for (uint32_t i = 0; i < frame->n_lanes; i++) {
    unsigned char *former = frame->lanes[i].scratch;
    frame->lanes[i].scratch = grown[i];
    grown[i] = former;
  }
  frame->scratch_bytes = bytes;
  for (size_t i = 0; i < frame->n_slots; i++) {
    LK_TRY(lk_slot_point(frame, &frame->slots[i], frame->slots[i].lane, error));
  }
cleanup:
  for (uint32_t i = 0; grown != NULL && i < frame->n_lanes; i++) lk_free(allocator, grown[i]);
  lk_free(allocator, grown);
  return status;
}

/* Of out->arg. */
static lk_status make_handle(lk_frame *frame, const lk_primitive *primitive, dnnl_exec_arg_t *out,
                             lk_error *error) {
  const_dnnl_memory_desc_t md =
      out->arg == DNNL_ARG_SCRATCHPAD
          ? dnnl_primitive_desc_query_md(primitive->desc, dnnl_query_scratchpad_md, 0)
          : dnnl_primitive_desc_query_md(primitive->desc, dnnl_query_exec_arg_md, out->arg);
  const dnnl_status_t made =
      dnnl_memory_create(&out->memory, md, frame->executor->context->env.engine, DNNL_MEMORY_NONE);
  LK_RETURN_NOT_OK(lk_dnnl_check(error, made, "create an argument handle"));
  frame->handles++;
  return LK_OK;
}

static lk_status make_handles(lk_frame *frame, lk_slot *self, lk_error *error) {
  const lk_plan_body *body = self->body;
  for (uint32_t s = 0; s < body->n_steps; s++) {
    const lk_step *step = &lk_plan_steps(body)[s];
    for (uint32_t i = 0; i < lk_n_handles(step); i++) {
      dnnl_exec_arg_t *out = &self->args[lk_handle_index(body, s, i)];
      out->arg =
          i < step->n_args ? lk_plan_args(body)[step->first_arg + i].arg : DNNL_ARG_SCRATCHPAD;
      LK_RETURN_NOT_OK(make_handle(frame, step->primitive, out, error));
    }
  }
  return LK_OK;
}

lk_status lk_frame_attach(lk_frame *frame, lk_plan *plan, uint32_t *out_slot, lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = &frame->executor->context->allocator;
  lk_slot added = {.body = lk_plan_get_body(plan)};
  const lk_plan_body *body = added.body;
  const size_t n_args = (size_t)body->n_args + body->n_steps;
  if (lk_plan_is_deferred(body)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to attach a plan: its shapes are known only when it runs, call "
                   "op_run_alloc");
  }
  if (!LK_GROW(allocator, frame->slots, frame->n_slots, frame->slots_capacity)) {
    return lk_fail_memory(error, "a frame's slots", sizeof added);
  }
  lk_plan_retain(plan);
  added.plan = plan;
  if (body->n_primitives > 0) {
    added.args = lk_calloc(allocator, n_args, sizeof *added.args);
    if (added.args == NULL) {
      LK_TRY(lk_fail_memory(error, "a frame's arguments", n_args * sizeof *added.args));
    }
    LK_TRY(make_handles(frame, &added, error));
  }
  if (body->n_args > LK_FEW_ARGS) {
    added.pointers = lk_calloc(allocator, body->n_args, sizeof *added.pointers);
    if (added.pointers == NULL) {
      LK_TRY(lk_fail_memory(error, "a frame's arguments", body->n_args * sizeof(void *)));
    }
  }
  LK_TRY(grow_scratch(frame, body->temp_bytes + body->scratchpad_bytes, error));
  LK_TRY(lk_slot_point(frame, &added, 0, error));
  *out_slot = (uint32_t)frame->n_slots;
  frame->slots[frame->n_slots++] = added;
cleanup:
  if (status != LK_OK) release_slot(frame, &added);
  return status;
}

uint64_t lk_frame_bytes(const lk_frame *frame) {
  return sizeof *frame + frame->slots_capacity * sizeof *frame->slots +
         frame->n_lanes * (sizeof *frame->lanes + frame->scratch_bytes) +
         frame->handles * HANDLE_BYTES;
}
