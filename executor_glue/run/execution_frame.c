/* Execution frames: made once, attached to the steps of one run plan after the other. */
#include "executor_glue/run/execution_frame.h"

#include "base/alloc.h"
#include "base/status.h"

lk_status lk_execution_frame_create(const lk_program *program, lk_execution_frame **out_frame,
                                    lk_error *error) {
  lk_status status = LK_OK;
  *out_frame = NULL;
  lk_execution_frame *made = lk_calloc_lines(program->allocator, sizeof *made);
  if (made == NULL) return lk_fail_memory(error, "a frame", sizeof *made);
  LK_TRY(program->api->frame_create(program->executor, &made->frame, error));
  program->api->frame_bring_scratch(made->frame);
  *out_frame = made;
  made = NULL;

cleanup:
  lk_free(program->allocator, made);
  return status;
}

void lk_execution_frame_count_runs(lk_execution_frame *frame) {
  if (frame->size != NULL) lk_size_record_add_runs(frame->size, frame->runs);
  frame->runs = 0;
}

void lk_execution_frame_leave_size(lk_execution_frame *frame) {
  lk_execution_frame_count_runs(frame);
  frame->size = NULL;
}

void lk_execution_frame_destroy(const lk_program *program, lk_execution_frame *frame) {
  if (frame == NULL) return;
  lk_execution_frame_count_runs(frame);
  program->api->frame_destroy(frame->frame);
  lk_ready_queue_destroy(frame->ready_queue);
  lk_free(program->allocator, (void *)frame->pointers);
  lk_free(program->allocator, frame);
}

static lk_status make_room(lk_execution_frame *frame, const lk_allocator *allocator, size_t bytes,
                           lk_error *error) {
  if (bytes <= frame->bytes) return LK_OK;
  lk_free(allocator, (void *)frame->pointers);
  frame->bytes = 0;
  frame->pointers = lk_alloc(allocator, bytes);
  if (frame->pointers == NULL) return lk_fail_memory(error, "a frame", bytes);
  frame->bytes = bytes;
  return LK_OK;
}

lk_status lk_execution_frame_attach(lk_execution_frame *frame, const lk_run_plan *plan,
                                    lk_error *error) {
  const lk_program *program = plan->program;
  const lk_api *api = program->api;
  const size_t n_buffers =
      LK_BUFFER_FIRST_INPUT + program->graph->n_inputs + program->graph->n_outputs;
  const size_t bytes = plan->n_operands * sizeof *frame->pointers +
                       n_buffers * sizeof *frame->buffers + plan->n_steps * sizeof *frame->slots;
  LK_RETURN_NOT_OK(make_room(frame, program->allocator, bytes, error));
  frame->buffers = (uintptr_t *)(frame->pointers + plan->n_operands);
  frame->slots = (uint32_t *)(frame->buffers + n_buffers);
  if (plan->schedule != NULL) {
    LK_RETURN_NOT_OK(api->frame_lanes(frame->frame, plan->workers, error));
    LK_RETURN_NOT_OK(
        lk_ready_queue_create(program->allocator, plan->schedule, &frame->ready_queue, error));
  }
  for (uint32_t i = 0; i < plan->n_steps; i++) {
    LK_RETURN_NOT_OK(api->frame_attach(frame->frame, plan->steps[i].plan, &frame->slots[i], error));
  }
  return LK_OK;
}

void lk_execution_frame_detach(const lk_program *program, lk_execution_frame *frame) {
  lk_execution_frame_leave_size(frame);
  program->api->frame_reset(frame->frame);
  lk_ready_queue_destroy(frame->ready_queue);
  frame->ready_queue = NULL;
}
