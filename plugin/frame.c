/* Frames: slots and scratch memory of running plans. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/require.h"
#include "base/status.h"
#include "base/struct.h"
#include "ops/engine/value.h"
#include "plugin/frame.h"
#include "plugin/table.h"

/* Constants that are smaller are hardly waited for. */
enum { LEAST_AHEAD = 16 * 1024 };

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
  return LK_OK;
}

static void lane_destroy(const lk_frame *frame, lk_lane *self) {
  lk_free(&frame->executor->context->allocator, self->scratch);
}

lk_status lk_frame_lanes(lk_frame *frame, uint32_t count, lk_error *error) {
  LK_REQUIRE("frame_lanes", error, frame);
  const lk_allocator *allocator = &frame->executor->context->allocator;
  if (count <= frame->n_lanes) return LK_OK;
  if (count > LK_MAX_THREADS) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to give a frame %" PRIu32 " lanes: at most %d are allowed", count,
                   LK_MAX_THREADS);
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
  LK_REQUIRE("frame_create", error, executor, out_frame);
  *out_frame = NULL;
  lk_status status = LK_OK;
  const lk_allocator *allocator = &executor->context->allocator;
  lk_frame *frame = lk_calloc_lines(allocator, sizeof *frame);
  if (frame == NULL) return lk_fail_memory(error, "a frame", sizeof *frame);
  frame->executor = executor;
  LK_TRY(lk_frame_lanes(frame, 1, error));
  *out_frame = frame;
  frame = NULL;
cleanup:
  lk_frame_destroy(frame);
  return status;
}

void lk_frame_bring_scratch(lk_frame *frame) {
  frame->is_brought = true;
}

lk_status lk_frame_watch(lk_frame *frame, const lk_watch *given, lk_error *error) {
  LK_REQUIRE("frame_watch", error, frame);
  lk_watch watch = {0};
  frame->is_watched = false;
  if (given == NULL) return LK_OK;
  LK_RETURN_NOT_OK(lk_struct_read(&watch, sizeof watch, given, "a watch", error));
  const lk_wait_limit limit = {watch.cancel, watch.stop, watch.deadline_ns};
  lk_stop_init(&frame->stop, &limit, watch.should_stop, watch.arg);
  frame->is_watched = lk_stop_is_set(&limit, watch.should_stop);
  return LK_OK;
}

static const lk_value *value_of(const lk_plan_body *body, uint32_t index) {
  return lk_ref_value(lk_plan_values(body)[index]);
}

/* What engines keep for the values of a plan. */
static lk_status open_values(lk_frame *frame, lk_slot *self, lk_error *error) {
  const lk_plan_body *body = self->body;
  if (body->n_values == 0) return LK_OK;
  self->values = lk_calloc(&frame->executor->context->allocator, body->n_values, sizeof(void *));
  if (self->values == NULL) {
    return lk_fail_memory(error, "a frame's slots of values", body->n_values * sizeof(void *));
  }
  for (uint32_t i = 0; i < body->n_values; i++) {
    LK_RETURN_NOT_OK(lk_value_open(value_of(body, i), &self->values[i], error));
    frame->value_bytes += value_of(body, i)->made.slot_bytes;
    self->n_open++;
  }
  return LK_OK;
}

static void close_values(lk_frame *frame, lk_slot *self) {
  for (uint32_t i = 0; i < self->n_open; i++) {
    frame->value_bytes -= value_of(self->body, i)->made.slot_bytes;
    lk_value_close(value_of(self->body, i), self->values[i]);
  }
  lk_free(&frame->executor->context->allocator, self->values);
}

static void release_slot(lk_frame *frame, lk_slot *self) {
  const lk_allocator *allocator = &frame->executor->context->allocator;
  close_values(frame, self);
  lk_free(allocator, self->pointers);
  lk_plan_release(self->plan);
}

/* The largest packed constant of a plan. */
static lk_kernel_ahead find_constants(const lk_plan_body *body) {
  lk_kernel_ahead found = {0};
  for (uint32_t i = 0; i < body->n_packed; i++) {
    const lk_packed *packed = lk_plan_packed(body)[i];
    const size_t bytes = lk_packed_bytes(packed);
    if (bytes >= LEAST_AHEAD && bytes > found.bytes) {
      found = (lk_kernel_ahead){lk_packed_data(packed), bytes};
    }
  }
  return found;
}

/* The last slots that know of `from` know of `to` from now on. */
static void tell(lk_frame *frame, lk_kernel_ahead from, lk_kernel_ahead to) {
  for (size_t i = frame->n_slots; i-- > 0 && frame->slots[i].ahead.at == from.at;) {
    frame->slots[i].ahead = to;
  }
}

void lk_frame_reset(lk_frame *frame) {
  for (size_t i = 0; i < frame->n_slots; i++) release_slot(frame, &frame->slots[i]);
  frame->n_slots = 0;
}

void lk_frame_detach(lk_frame *frame) {
  lk_slot *last = &frame->slots[--frame->n_slots];
  const lk_kernel_ahead constants = find_constants(last->body), nothing = {0};
  if (constants.at != NULL) tell(frame, constants, nothing);
  release_slot(frame, last);
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
cleanup:
  for (uint32_t i = 0; grown != NULL && i < frame->n_lanes; i++) lk_free(allocator, grown[i]);
  lk_free(allocator, grown);
  return status;
}

lk_status lk_frame_attach(lk_frame *frame, lk_plan *plan, uint32_t *out_slot, lk_error *error) {
  LK_REQUIRE("frame_attach", error, frame, plan, out_slot);
  lk_status status = LK_OK;
  const lk_allocator *allocator = &frame->executor->context->allocator;
  const lk_plan_body *body = lk_plan_get_body(plan);
  lk_slot added = {.body = body, .is_long = lk_plan_body_is_long(body)};
  if (body->node_serial >> LK_EXECUTOR_SHIFT != frame->executor->number >> LK_EXECUTOR_SHIFT) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to attach a plan: it is one of another executor, the frame takes those "
                   "of its own");
  }
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
  if (body->n_args > LK_FEW_ARGS) {
    added.pointers = lk_calloc(allocator, body->n_args, sizeof *added.pointers);
    if (added.pointers == NULL) {
      LK_TRY(lk_fail_memory(error, "a frame's arguments", body->n_args * sizeof(void *)));
    }
  }
  LK_TRY(open_values(frame, &added, error));
  if (!frame->is_brought) LK_TRY(grow_scratch(frame, body->temp_bytes, error));
  const lk_kernel_ahead constants = find_constants(body), nothing = {0};
  if (constants.at != NULL) tell(frame, nothing, constants);
  *out_slot = (uint32_t)frame->n_slots;
  frame->slots[frame->n_slots++] = added;
cleanup:
  if (status != LK_OK) release_slot(frame, &added);
  return status;
}

uint64_t lk_frame_bytes(const lk_frame *frame) {
  return sizeof *frame + frame->slots_capacity * sizeof *frame->slots +
         frame->n_lanes * (sizeof *frame->lanes + frame->scratch_bytes) + frame->value_bytes;
}
