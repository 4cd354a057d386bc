/* Who may run now, and on how many processors. */
#include "executor_glue/run/admission.h"

#include "base/status.h"

lk_status lk_take_threads(lk_invocation *invocation, int32_t least, lk_error *error) {
  lk_graph_executor *executor = invocation->executor;
  const lk_program *program = executor->program;
  const int32_t workers = (int32_t)executor->workers;
  const lk_threads_ask ask = {.struct_size = sizeof ask,
                              .least = least,
                              .most = workers > executor->threads ? workers : executor->threads,
                              .cancel = invocation->stop.limit.cancel,
                              .stop = invocation->stop.limit.stop,
                              .deadline_ns = invocation->stop.limit.deadline_ns};
  LK_RETURN_NOT_OK(
      program->api->threads_enter(program->context, &ask, &invocation->threads, error));
  invocation->has_threads = true;
  return LK_OK;
}

lk_status lk_take_place(lk_invocation *invocation, lk_error *error) {
  LK_RETURN_NOT_OK(
      lk_run_limit_enter(&invocation->executor->limit, &invocation->stop.limit, error));
  invocation->has_place = true;
  return LK_OK;
}

lk_status lk_get_threads(lk_invocation *invocation, const lk_graph_run *run, lk_error *error) {
  if (run->threads <= 0) return lk_take_threads(invocation, 1, error);
  invocation->threads = run->threads;
  return LK_OK;
}

lk_status lk_enter(lk_invocation *invocation, const lk_graph_run *run, lk_error *error) {
  LK_RETURN_NOT_OK(lk_take_place(invocation, error));
  return lk_get_threads(invocation, run, error);
}

void lk_leave(lk_invocation *invocation) {
  const lk_program *program = invocation->executor->program;
  if (invocation->has_threads) program->api->threads_leave(program->context);
  if (invocation->has_place) lk_run_limit_leave(&invocation->executor->limit);
  invocation->has_threads = invocation->has_place = false;
}
