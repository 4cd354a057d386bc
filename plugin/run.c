/* Runs attached plans: the one loop over their steps, with a clock or without. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/parse.h"
#include "base/status.h"
#include "base/team/team.h"
#include "plugin/frame.h"
#include "plugin/table.h"

void lk_frame_begin(lk_frame *frame, int32_t threads) {
  if (threads <= 0) threads = frame->executor->context->env.threads;
  frame->host_float = lk_float_begin();
  frame->host_threads = lk_team_begin(threads < LK_MAX_THREADS ? threads : LK_MAX_THREADS);
}

void lk_frame_end(lk_frame *frame) {
  if (frame->host_threads == 0) return;
  lk_team_end(frame->host_threads);
  frame->host_threads = 0;
  lk_float_end(frame->host_float);
}

/* Called in two loops, which would otherwise share them by calls. */
#define IN_LOOP static inline __attribute__((always_inline))

IN_LOOP lk_status run_kernel(const lk_slot *self, const lk_step *step, unsigned char *scratch,
                             void *const *inputs, void *const *outputs, lk_error *error) {
  const lk_plan_body *body = self->body;
  void *few[LK_FEW_ARGS];
  void **pointers = step->n_args <= LK_FEW_ARGS ? few : self->pointers;
  for (uint32_t i = 0; i < step->n_args; i++) {
    const lk_step_arg *arg = &lk_plan_args(body)[step->first_arg + i];
    pointers[i] = arg->place == LK_PLACE_INPUT    ? inputs[arg->index]
                  : arg->place == LK_PLACE_OUTPUT ? outputs[arg->index]
                                                  : lk_fixed_pointer(self, arg, scratch);
  }
  return step->kernel(step->params, pointers, error);
}

/* What kernels of the slot have for their temporaries. */
IN_LOOP unsigned char *scratch_of(const lk_frame *frame, const lk_slot *self, uint32_t lane,
                                  void *const *outputs) {
  const bool is_brought = frame->is_brought && self->body->temp_bytes > 0;
  return is_brought ? outputs[self->body->n_outputs] : frame->lanes[lane].scratch;
}

IN_LOOP lk_status run_step(const lk_frame *frame, const lk_slot *self, uint32_t lane,
                           uint32_t index, void *const *inputs, void *const *outputs,
                           lk_error *error) {
  const lk_step *step = &lk_plan_steps(self->body)[index];
  return run_kernel(self, step, scratch_of(frame, self, lane, outputs), inputs, outputs, error);
}

static lk_status run_step_timed(const lk_frame *frame, const lk_slot *self, uint32_t lane,
                                uint32_t index, void *const *inputs, void *const *outputs,
                                lk_step_time *out, lk_error *error) {
  lk_team_times regions = {0};
  lk_team_times *before = lk_team_measure(&regions);
  const uint64_t begin = lk_now_ns();
  const lk_status status = run_step(frame, self, lane, index, inputs, outputs, error);
  const uint64_t ns = lk_now_ns() - begin;
  (void)lk_team_measure(before);
  /* outside of regions, this thread computes alone */
  if (status == LK_OK) *out = (lk_step_time){ns, ns - regions.region_ns + regions.share_ns, begin};
  return status;
}

static lk_status check_slot(const lk_frame *frame, uint32_t lane_index, uint32_t slot_index,
                            lk_error *error) {
  if (slot_index >= frame->n_slots) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to run slot %u: the frame has %zu, numbered from 0%s", slot_index,
                   frame->n_slots,
                   frame->n_slots == 0 ? "; frame_attach gives one to each plan" : "");
  }
  if (lane_index >= frame->n_lanes) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to run slot %u in lane %u: the frame has %u lanes, numbered from 0",
                   slot_index, lane_index, frame->n_lanes);
  }
  return LK_OK;
}

/* What is looked at while a slot runs that may take long: what the frame watches, and what the
 * thread has watched until then, `*out_before`. NULL: nothing, also where a slot takes no time:
 * then nobody looks, reads a clock or leaves something undone. `both`, which must live as long: of
 * a thread that watches something. The frame's own cannot hold it, since it serves several threads,
 * and stays reached once it is. */
IN_LOOP lk_stop *begin_watch(lk_frame *frame, const lk_slot *slot, lk_stop *both,
                             lk_stop **out_before) {
  lk_stop *before = lk_team_watch(NULL), *stop = before;
  *out_before = before;
  if (!slot->is_long) return NULL;
  if (frame->is_watched) stop = &frame->stop;
  if (frame->is_watched && before != NULL) {
    *both = (lk_stop){.limit = frame->stop.limit,
                      .ask = frame->stop.ask,
                      .arg = frame->stop.arg,
                      .owner = frame->stop.owner,
                      .outer = before};
    stop = both;
  }
  (void)lk_team_watch(stop);
  return stop;
}

/* Of what the thread watches, which stays as it is. */
static lk_status fail_stopped(lk_error *error) {
  const int why = lk_team_why_stopped();
  return lk_fail(error, lk_wait_limit_status(why), "%s while it computed", lk_wait_limit_text(why));
}

/* This thread's state is set for it. Each caller gets a loop of its own: where `times` is the
 * constant NULL, it has nothing to ask. */
IN_LOOP lk_status run_slot(lk_frame *frame, uint32_t lane_index, uint32_t slot_index,
                           void *const *inputs, void *const *outputs, lk_step_time *times,
                           lk_error *error) {
  LK_RETURN_NOT_OK(check_slot(frame, lane_index, slot_index, error));
  lk_slot *self = &frame->slots[slot_index];
  const lk_plan_body *body = self->body;
  const bool has_ahead = self->ahead.at != NULL;
  lk_status status = LK_OK;
  if (has_ahead) lk_kernel_set_ahead(&self->ahead);
  lk_stop both, *before, *stop = begin_watch(frame, self, &both, &before);
  for (uint32_t i = 0; i < body->n_steps; i++) {
    LK_TRY(times != NULL
               ? run_step_timed(frame, self, lane_index, i, inputs, outputs, &times[i], error)
               : run_step(frame, self, lane_index, i, inputs, outputs, error));
    if (stop != NULL && lk_team_is_stopped()) LK_TRY(fail_stopped(error)); /* it may be undone */
  }
cleanup:
  (void)lk_team_watch(before);
  if (has_ahead) lk_kernel_set_ahead(NULL);
  return status;
}

static lk_status run_untimed(lk_frame *frame, uint32_t lane_index, uint32_t slot_index,
                             void *const *inputs, void *const *outputs, lk_error *error) {
  return run_slot(frame, lane_index, slot_index, inputs, outputs, NULL, error);
}

/* The frame's own thread may be another one, so nothing of the state is kept in the frame. */
lk_status lk_op_run_lane(lk_frame *frame, uint32_t lane_index, uint32_t slot_index,
                         void *const *inputs, void *const *outputs, lk_error *error) {
  const lk_float_state host_float = lk_float_begin();
  const int host_threads = lk_team_begin(frame->executor->context->env.threads);
  const lk_status status = run_untimed(frame, lane_index, slot_index, inputs, outputs, error);
  lk_team_end(host_threads);
  lk_float_end(host_float);
  return status;
}

lk_status lk_op_run_timed(lk_frame *frame, uint32_t lane_index, uint32_t slot_index,
                          void *const *inputs, void *const *outputs, lk_step_time *times,
                          lk_error *error) {
  const lk_float_state host_float = lk_float_begin();
  const int host_threads = lk_team_begin(frame->executor->context->env.threads);
  const lk_status status = run_slot(frame, lane_index, slot_index, inputs, outputs, times, error);
  lk_team_end(host_threads);
  lk_float_end(host_float);
  return status;
}

lk_status lk_op_run(lk_frame *frame, uint32_t slot_index, void *const *inputs, void *const *outputs,
                    lk_error *error) {
  if (frame->host_threads == 0) return lk_op_run_lane(frame, 0, slot_index, inputs, outputs, error);
  return run_untimed(frame, 0, slot_index, inputs, outputs, error);
}
