/* Runs steps in order or in parallel, and copies what did not land in the caller's buffers. */
#include "executor_glue/run/execute.h"

#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "executor_glue/run/watch.h"

/* The loops over steps are made twice: `timed` is a constant wherever it is passed, so that a run
 * that nobody watches has nothing to ask between two steps. */
#define TWICE static inline __attribute__((always_inline))

static void set_pointers(const lk_execution *run) {
  const lk_run_plan *plan = run->plan;
  const lk_graph *graph = plan->program->graph;
  const lk_execution_frame *frame = run->lease->frame;
  const lk_arena *arena = run->lease->arena;
  uintptr_t *buffer = frame->buffers;
  *buffer++ = 0;
  *buffer++ = arena != NULL ? (uintptr_t)arena->data : 0;
  for (size_t i = 0; i < graph->n_inputs; i++) *buffer++ = (uintptr_t)run->inputs[i].data;
  for (size_t i = 0; i < graph->n_outputs; i++) *buffer++ = (uintptr_t)run->outputs[i];
  for (uint32_t i = 0; i < plan->n_operands; i++) {
    frame->pointers[i] =
        (void *)(frame->buffers[plan->operands[i].buffer] + plan->operands[i].offset);
  }
}

static const lk_node *node_of(const lk_run_plan *plan, uint32_t step) {
  return &plan->program->graph->nodes[plan->steps[step].node];
}

static lk_status fail_step(const lk_run_plan *plan, uint32_t step, lk_status status,
                           lk_error *error) {
  return lk_program_name_node(plan->program->graph, node_of(plan, step), status, error);
}

static __attribute__((noinline)) lk_status fail_stopped(const lk_run_plan *plan, uint32_t step,
                                                        int why, lk_error *error) {
  const lk_node *node = node_of(plan, step);
  return lk_fail(error, lk_wait_limit_status(why),
                 "failed to run the graph: %s before node '%s' (%s)", lk_wait_limit_text(why),
                 lk_node_label(plan->program->graph, node), node->op_type);
}

/* Whether the host wants no further step: not 0. Two flags are looked at here; the rest needs a
 * clock. */
static inline int look(lk_stop *stop) {
  const bool has_clock = stop->limit.deadline_ns != 0 || stop->ask != NULL;
  if (has_clock) return lk_stop_look(stop);
  return lk_wait_limit_is_cancelled(&stop->limit) ? LK_WAIT_CANCELLED : 0;
}

/* ---- in order: from here to the last operator no allocation, no lock, no lookup ---- */

TWICE lk_status run_steps(const lk_execution *run, bool timed, lk_error *error) {
  const lk_run_plan *plan = run->plan;
  const lk_execution_frame *frame = run->lease->frame;
  const lk_api *api = plan->program->api;
  lk_status status = LK_OK;
  const lk_run_step *step = plan->steps;
  const lk_run_step *end = step + plan->n_steps;
  for (; step < end && status == LK_OK; step++) {
    void *const *inputs = frame->pointers + step->first_operand;
    const uint32_t index = (uint32_t)(step - plan->steps);
    const int why = look(run->stop);
    if (why != 0) return fail_stopped(plan, index, why, error);
    if (timed) {
      status =
          api->op_run_timed(frame->frame, 0, frame->slots[index], inputs, inputs + step->n_inputs,
                            lk_run_times_of(run->times, index), error);
    } else {
      status =
          api->op_run(frame->frame, frame->slots[index], inputs, inputs + step->n_inputs, error);
    }
  }
  return status == LK_OK ? LK_OK
                         : fail_step(plan, (uint32_t)(step - plan->steps) - 1, status, error);
}

static lk_status run_in_order(const lk_execution *run, lk_error *error) {
  return run->times != NULL ? run_steps(run, true, error) : run_steps(run, false, error);
}

/* ---- in parallel ---- */

typedef struct parallel_run {
  const lk_execution *run;
  pthread_mutex_t mutex; /* guards what follows, when a step fails */
  uint32_t failed;       /* n_steps: none */
  lk_status status;
  lk_error error;
} parallel_run;

TWICE bool run_one(parallel_run *self, uint32_t index, uint32_t lane, bool timed) {
  const lk_run_plan *plan = self->run->plan;
  const lk_execution_frame *frame = self->run->lease->frame;
  const lk_run_step *step = &plan->steps[index];
  void *const *inputs = frame->pointers + step->first_operand;
  const lk_api *api = plan->program->api;
  lk_error error;
  lk_status status;
  const int why = look(self->run->stop);
  if (why != 0) {
    status = fail_stopped(plan, index, why, &error);
  } else if (timed) {
    status =
        api->op_run_timed(frame->frame, lane, frame->slots[index], inputs, inputs + step->n_inputs,
                          lk_run_times_of(self->run->times, index), &error);
    lk_run_times_note_thread(self->run->times, index);
  } else {
    status = api->op_run_lane(frame->frame, lane, frame->slots[index], inputs,
                              inputs + step->n_inputs, &error);
  }
  if (status == LK_OK) return true;
  if (why == 0) status = fail_step(plan, index, status, &error);
  pthread_mutex_lock(&self->mutex);
  if (index < self->failed) {
    self->failed = index;
    self->status = status;
    self->error = error;
  }
  pthread_mutex_unlock(&self->mutex);
  return false;
}

/* For lk_ready_queue_run. */
static bool run_step(void *arg, uint32_t index, uint32_t lane) {
  return run_one(arg, index, lane, false);
}

static bool run_step_timed(void *arg, uint32_t index, uint32_t lane) {
  return run_one(arg, index, lane, true);
}

static lk_status run_in_parallel(const lk_execution *run, lk_error *error) {
  parallel_run self = {
      .run = run, .mutex = PTHREAD_MUTEX_INITIALIZER, .failed = run->plan->n_steps};
  const lk_program *program = run->plan->program;
  const bool done =
      lk_ready_queue_run(run->lease->frame->ready_queue, program->api, program->context,
                         run->workers, run->times != NULL ? run_step_timed : run_step, &self);
  pthread_mutex_destroy(&self.mutex);
  if (done) return LK_OK;
  if (error != NULL) *error = self.error;
  return self.status;
}

/* ---- both ---- */

/* Large ones in pieces, between which the run may end. */
static lk_status copy_output(const lk_execution *run, void *to, const void *from, size_t bytes,
                             lk_error *error) {
  enum { PIECE = 1 << 20 };
  for (size_t at = 0; at < bytes; at += PIECE) {
    const int why = at > 0 ? look(run->stop) : 0;
    if (why != 0) {
      return lk_fail(error, lk_wait_limit_status(why),
                     "failed to run the graph: %s while an output was copied",
                     lk_wait_limit_text(why));
    }
    memcpy((char *)to + at, (const char *)from + at, bytes - at < PIECE ? bytes - at : PIECE);
  }
  return LK_OK;
}

static lk_status copy_outputs(const lk_execution *run, lk_error *error) {
  const lk_run_plan *plan = run->plan;
  const uintptr_t *buffers = run->lease->frame->buffers;
  for (uint32_t i = 0; i < plan->n_copies; i++) {
    const lk_output_copy *copy = &plan->copies[i];
    if (plan->output_bytes[copy->output] == 0) continue;
    void *from = (void *)(buffers[copy->from.buffer] + copy->from.offset);
    if (copy->desc.layout == LK_LAYOUT_PLAIN) {
      LK_RETURN_NOT_OK(copy_output(run, run->outputs[copy->output], from,
                                   plan->output_bytes[copy->output], error));
      continue;
    }
    lk_tensor source = {.desc = copy->desc, .data = from};
    lk_tensor target = {.desc = plan->outputs[copy->output], .data = run->outputs[copy->output]};
    LK_RETURN_NOT_OK(plan->program->api->tensor_convert(&source, &target, error));
  }
  return LK_OK;
}

static lk_status execute(const lk_execution *run, lk_error *error) {
  const lk_api *api = run->plan->program->api;
  lk_frame *frame = run->lease->frame->frame;
  set_pointers(run);
  LK_RETURN_NOT_OK(lk_watch_begin(api, frame, run->stop, error));
  api->frame_begin(frame, (int32_t)run->step_threads);
  const lk_status status =
      run->plan->schedule != NULL ? run_in_parallel(run, error) : run_in_order(run, error);
  api->frame_end(frame);
  lk_watch_end(api, frame, run->stop);
  return status == LK_OK ? copy_outputs(run, error) : status;
}

lk_status lk_execute(const lk_execution *run, lk_error *error) {
  lk_run_times *times = run->times;
  if (times == NULL) return execute(run, error);
  times->n_threads = run->plan->schedule != NULL ? run->workers : run->step_threads;
  times->step_threads = run->step_threads;
  times->begin_ns = lk_now_ns();
  const lk_status status = execute(run, error);
  times->end_ns = lk_now_ns();
  return status;
}
