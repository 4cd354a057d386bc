/* Runs: each waits for a place and for processors, finds or builds the run plan, and executes it.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/run/admission.h"
#include "executor_glue/run/check_request.h"
#include "executor_glue/run/choose_plan.h"
#include "executor_glue/run/execute.h"
#include "executor_glue/run/observe.h"
#include "executor_glue/run/tune.h"

/* Before the first operator, and where there is none. */
static lk_status check_stop(lk_invocation *invocation, lk_error *error) {
  const int why = lk_stop_look(&invocation->stop);
  if (why == 0) return LK_OK;
  return lk_fail(error, lk_wait_limit_status(why),
                 "failed to run the graph: %s before the first operator", lk_wait_limit_text(why));
}

/* What a step may use: a run of the parallel executor may have been granted more. */
static uint32_t step_threads(const lk_invocation *invocation) {
  const lk_graph_executor *executor = invocation->executor;
  if (lk_plan_entry_plan(invocation->entry)->schedule != NULL) return 1;
  return (uint32_t)(invocation->threads < executor->threads ? invocation->threads
                                                            : executor->threads);
}

static lk_status enter_and_choose(lk_invocation *invocation, const lk_graph_run *run,
                                  lk_error *error) {
  LK_RETURN_NOT_OK(lk_enter(invocation, run, error));
  return lk_choose_plan(invocation, error);
}

/* The same with the time that each part takes. */
static lk_status enter_and_choose_observed(lk_invocation *invocation, const lk_graph_run *run,
                                           lk_error *error) {
  LK_RETURN_NOT_OK(lk_observe_begin(invocation, run->options, error));
  uint64_t begin = lk_now_ns();
  LK_RETURN_NOT_OK(lk_take_place(invocation, error));
  lk_observe_wait(invocation, LK_TRACE_PLACE, begin);
  begin = lk_now_ns();
  LK_RETURN_NOT_OK(lk_get_threads(invocation, run, error));
  lk_observe_wait(invocation, LK_TRACE_PROCESSORS, begin);
  LK_RETURN_NOT_OK(lk_observe_choose(invocation, run->options, error));
  begin = lk_now_ns();
  const lk_status status = lk_choose_plan(invocation, error);
  return lk_observe_plan(invocation, begin, status, status == LK_OK ? step_threads(invocation) : 0,
                         error);
}

/* ---- the run ---- */

static void hand_over_outputs(const lk_invocation *invocation, const lk_graph_run *run) {
  const lk_run_plan *plan = lk_plan_entry_plan(invocation->entry);
  if (run->place != NULL) return;
  for (size_t i = 0; i < plan->program->graph->n_outputs; i++) {
    if (!invocation->wanted[i]) continue;
    run->outputs[i].desc = plan->outputs[i];
    if (invocation->owned[i]) run->outputs[i].data = invocation->outputs[i];
  }
}

static lk_status execute_leased(lk_invocation *invocation, const lk_lease *lease, lk_error *error) {
  const lk_run_plan *plan = lk_plan_entry_plan(invocation->entry);
  const uint32_t threads = (uint32_t)invocation->threads;
  const lk_execution execution = {.plan = plan,
                                  .lease = lease,
                                  .inputs = invocation->inputs,
                                  .outputs = invocation->outputs,
                                  .stop = &invocation->stop,
                                  .workers = threads < plan->workers ? threads : plan->workers,
                                  .step_threads = step_threads(invocation),
                                  .times = invocation->times};
  const lk_status status = lk_execute(&execution, error);
  if (status == LK_OK) lk_execution_frame_add_run(lease->frame);
  if (plan->schedule != NULL && threads > 1) {
    lk_tally_add(&invocation->executor->counts, LK_COUNT_PARALLEL);
  }
  return status;
}

static lk_status execute(lk_invocation *invocation, lk_error *error) {
  lk_lease lease = {0};
  LK_RETURN_NOT_OK(lk_lease_acquire(invocation->entry, &lease, error));
  const lk_status status = execute_leased(invocation, &lease, error);
  lk_lease_release(invocation->entry, &lease);
  return status;
}

lk_status lk_graph_executor_run(lk_graph_executor *executor, const lk_graph_run *run,
                                lk_error *error) {
  lk_status status = LK_OK;
  lk_invocation invocation;
  const bool is_observed = lk_is_observed(run);
  if (lk_is_tuned(run)) LK_RETURN_NOT_OK(lk_tune(executor, run, error));
  LK_TRY(lk_invocation_begin(&invocation, executor, run, error));
  LK_TRY(is_observed ? enter_and_choose_observed(&invocation, run, error)
                     : enter_and_choose(&invocation, run, error));
  if (run->place == NULL) {
    LK_TRY(lk_check_outputs(executor->program->graph, lk_plan_entry_plan(invocation.entry)->outputs,
                            invocation.inputs, run->outputs, invocation.wanted, run->options,
                            error));
  }
  LK_TRY(check_stop(&invocation, error));
  LK_TRY(lk_invocation_make_outputs(&invocation, lk_plan_entry_plan(invocation.entry), run, error));
  LK_TRY(execute(&invocation, error));
  hand_over_outputs(&invocation, run);
  lk_tally_add(&executor->counts, LK_COUNT_RUNS);

cleanup:
  if (is_observed) lk_observe_end(&invocation, status);
  lk_settle_run(&invocation, status);
  lk_release_plan(&invocation);
  lk_leave(&invocation);
  lk_invocation_end(&invocation, status == LK_OK);
  return status;
}

/* ---- runs that follow each other ---- */

struct lk_kept_run {
  lk_invocation invocation; /* of the last run that looked its plan up */
  lk_lease lease;
  unsigned char *values; /* copies of the values that shapes depend on, one behind the other */
  size_t capacity;
};

static size_t value_bytes(const lk_tensor *value) {
  return (size_t)lk_elements(&value->desc) * lk_dtype_size(value->desc.dtype);
}

/* The inputs' values may be gone when the next run comes. */
static lk_status keep_values(lk_kept_run *kept, lk_error *error) {
  const lk_program *program = kept->invocation.executor->program;
  lk_tensor *values = kept->invocation.values;
  size_t bytes = 0;
  for (uint32_t i = 0; i < program->n_by_value; i++) bytes += value_bytes(&values[i]);
  if (bytes > kept->capacity) {
    lk_free(program->allocator, kept->values);
    kept->values = lk_alloc(program->allocator, bytes);
    kept->capacity = kept->values != NULL ? bytes : 0;
    if (kept->values == NULL) return lk_fail_memory(error, "values of a run", bytes);
  }
  unsigned char *to = kept->values;
  for (uint32_t i = 0; i < program->n_by_value; i++) {
    const size_t size = value_bytes(&values[i]);
    if (size > 0) memcpy(to, values[i].data, size);
    values[i].data = to;
    to += size;
  }
  return LK_OK;
}

/* The plan that is kept is the one that this run would find. */
static bool is_kept_for(const lk_kept_run *kept, const lk_graph_run *run) {
  const lk_invocation *invocation = &kept->invocation;
  const lk_program *program = invocation->executor->program;
  const lk_tensor *value = invocation->values;
  if (kept->lease.frame == NULL) return false; /* there was no run yet */
  for (size_t i = 0; i < program->graph->n_inputs; i++) {
    const lk_tensor *input = &run->inputs[i];
    if (!lk_tensor_desc_same(&invocation->inputs[i].desc, &input->desc)) return false;
    if (!program->by_value[i]) continue;
    const size_t bytes = value_bytes(value);
    if (bytes > 0 && memcmp(value->data, input->data, bytes) != 0) return false;
    value++;
  }
  for (size_t i = 0; i < program->graph->n_outputs; i++) {
    if (invocation->wanted[i] != (run->wanted == NULL || run->wanted[i])) return false;
  }
  return lk_plan_entry_stage(invocation->entry) != LK_PLAN_REPLACED;
}

/* Its own memory stays. */
static void give_back(lk_kept_run *kept) {
  if (kept->lease.frame != NULL) lk_lease_release(kept->invocation.entry, &kept->lease);
  lk_release_plan(&kept->invocation);
  lk_invocation_end(&kept->invocation, true); /* outputs are the caller's */
}

void lk_kept_run_end(lk_kept_run *kept) {
  if (kept == NULL) return;
  const lk_allocator *allocator = kept->invocation.executor->program->allocator;
  give_back(kept);
  lk_free(allocator, kept->values);
  lk_free(allocator, kept);
}

void lk_kept_run_count_runs(lk_kept_run *kept) {
  if (kept != NULL && kept->lease.frame != NULL) {
    lk_execution_frame_count_runs(kept->lease.frame);
  }
}

bool lk_kept_run_is_light(const lk_kept_run *kept) {
  return kept->lease.arena == NULL;
}

/* What a run needs that is the first, or not like the one before. On success its processors are
 * still taken. */
static lk_status take_anew(lk_kept_run *kept, const lk_graph_run *run, lk_error *error) {
  lk_invocation *invocation = &kept->invocation;
  give_back(kept);
  LK_RETURN_NOT_OK(lk_invocation_begin(invocation, invocation->executor, run, error));
  LK_RETURN_NOT_OK(lk_enter(invocation, run, error));
  LK_RETURN_NOT_OK(lk_choose_plan(invocation, error));
  LK_RETURN_NOT_OK(keep_values(kept, error));
  return lk_lease_acquire(invocation->entry, &kept->lease, error);
}

static lk_status take_again(lk_kept_run *kept, const lk_graph_run *run, lk_error *error) {
  lk_invocation *invocation = &kept->invocation;
  lk_graph_executor *executor = invocation->executor;
  for (size_t i = 0; i < executor->program->graph->n_inputs; i++) {
    invocation->inputs[i].data = run->inputs[i].data;
  }
  lk_graph_run_stop(run, &invocation->stop);
  LK_RETURN_NOT_OK(lk_enter(invocation, run, error));
  invocation->is_due = executor->is_auto && lk_plan_entry_claim(invocation->entry);
  lk_tally_add(&executor->counts, LK_COUNT_HITS);
  return LK_OK;
}

/* The lease is of the former plan. */
static void settle_kept(lk_kept_run *kept, lk_status status) {
  if (kept->lease.frame != NULL) lk_lease_release(kept->invocation.entry, &kept->lease);
  lk_settle_run(&kept->invocation, status);
}

static lk_status run_kept(lk_kept_run *kept, const lk_graph_run *run, lk_error *error) {
  lk_status status = LK_OK;
  lk_invocation *invocation = &kept->invocation;
  LK_TRY(is_kept_for(kept, run) ? take_again(kept, run, error) : take_anew(kept, run, error));
  LK_TRY(check_stop(invocation, error));
  LK_TRY(lk_invocation_make_outputs(invocation, lk_plan_entry_plan(invocation->entry), run, error));
  LK_TRY(execute_leased(invocation, &kept->lease, error));
  lk_tally_add(&invocation->executor->counts, LK_COUNT_RUNS);
cleanup:
  if (invocation->is_due) settle_kept(kept, status);
  lk_leave(invocation);
  return status;
}

lk_status lk_graph_executor_run_kept(lk_graph_executor *executor, const lk_graph_run *run,
                                     lk_kept_run **inout_kept, lk_error *error) {
  if (!executor->run_plans || lk_is_observed(run) || lk_is_tuned(run) || lk_is_chosen(run)) {
    return lk_graph_executor_run(executor, run, error);
  }
  if (*inout_kept == NULL) {
    lk_kept_run *kept = lk_calloc(executor->allocator, 1, sizeof *kept);
    if (kept == NULL) return lk_fail_memory(error, "a run that is kept", sizeof *kept);
    kept->invocation.executor = executor;
    *inout_kept = kept;
  }
  const lk_status status = run_kept(*inout_kept, run, error);
  if (status == LK_OK) return LK_OK;
  lk_kept_run_end(*inout_kept);
  *inout_kept = NULL;
  return status;
}

/* ---- before the first run ---- */

lk_status lk_graph_executor_prepare(lk_graph_executor *executor, lk_error *error) {
  lk_status status = LK_OK;
  lk_invocation invocation;
  const lk_program *program = executor->program;
  const lk_graph *graph = program->graph;
  if (!executor->run_plans || !executor->is_static) return LK_OK;
  lk_tensor *inputs = lk_calloc(program->allocator, graph->n_inputs, sizeof *inputs);
  if (inputs == NULL) return lk_fail_memory(error, "inputs", graph->n_inputs * sizeof *inputs);
  for (size_t i = 0; i < graph->n_inputs; i++) {
    const lk_declaration *declared = graph->values[graph->inputs[i]].declared;
    inputs[i].desc = lk_tensor_desc_make(declared->dtype, (uint32_t)declared->rank, declared->dims);
    inputs[i].data = inputs; /* never read: no shape depends on a value */
  }
  LK_TRY(lk_invocation_begin(&invocation, executor, &(lk_graph_run){.inputs = inputs}, error));
  LK_TRY(lk_take_threads(&invocation, 1, error)); /* constants are packed by several */
  LK_TRY(lk_choose_plan(&invocation, error));

cleanup:
  lk_release_plan(&invocation);
  lk_leave(&invocation);
  lk_invocation_end(&invocation, status == LK_OK);
  lk_free(program->allocator, inputs);
  return status;
}
