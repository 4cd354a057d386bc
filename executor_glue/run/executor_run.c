/* Runs: each waits for a place and for processors, finds or builds the run plan, and executes it.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/run/build_run_plan.h"
#include "executor_glue/run/check_request.h"
#include "executor_glue/run/execute.h"
#include "executor_glue/run/observe.h"
#include "executor_glue/run/watch.h"

/* ---- processors ---- */

static lk_status take_threads(lk_invocation *invocation, lk_error *error) {
  lk_graph_executor *executor = invocation->executor;
  const lk_program *program = executor->program;
  const int32_t workers = (int32_t)executor->workers;
  const lk_threads_ask ask = {.struct_size = sizeof ask,
                              .least = 1,
                              .most = workers > executor->threads ? workers : executor->threads,
                              .cancel = invocation->stop.limit.cancel,
                              .stop = invocation->stop.limit.stop,
                              .deadline_ns = invocation->stop.limit.deadline_ns};
  LK_RETURN_NOT_OK(
      program->api->threads_enter(program->context, &ask, &invocation->threads, error));
  invocation->has_threads = true;
  return LK_OK;
}

static lk_status take_place(lk_invocation *invocation, lk_error *error) {
  LK_RETURN_NOT_OK(
      lk_run_limit_enter(&invocation->executor->limit, &invocation->stop.limit, error));
  invocation->has_place = true;
  return LK_OK;
}

/* Those that the caller has asked for already, or else as many as there are for it. */
static lk_status get_threads(lk_invocation *invocation, const lk_graph_run *run, lk_error *error) {
  if (run->threads <= 0) return take_threads(invocation, error);
  invocation->threads = run->threads;
  return LK_OK;
}

/* First a place among the executor's runs, then processors: a run that waits for a place takes no
 * processors from others. */
static lk_status enter(lk_invocation *invocation, const lk_graph_run *run, lk_error *error) {
  LK_RETURN_NOT_OK(take_place(invocation, error));
  return get_threads(invocation, run, error);
}

static void leave(lk_invocation *invocation) {
  const lk_program *program = invocation->executor->program;
  if (invocation->has_threads) program->api->threads_leave(program->context);
  if (invocation->has_place) lk_run_limit_leave(&invocation->executor->limit);
  invocation->has_threads = invocation->has_place = false;
}

/* Before the first operator, and where there is none. */
static lk_status check_stop(lk_invocation *invocation, lk_error *error) {
  const int why = lk_stop_look(&invocation->stop);
  if (why == 0) return LK_OK;
  return lk_fail(error, lk_wait_limit_status(why),
                 "failed to run the graph: %s before the first operator", lk_wait_limit_text(why));
}

/* ---- the run plan: built, or found ---- */

/* Of those that are part of the key: the last one is which outputs are wanted. */
static uint32_t n_values(const lk_invocation *invocation) {
  return invocation->executor->program->n_by_value + (invocation->wants_all ? 0 : 1);
}

/* What ends the run ends this, too. */
static lk_status build_entry(lk_invocation *invocation, bool cached, lk_plan_entry **out_entry,
                             lk_error *error) {
  lk_status status = LK_OK;
  lk_graph_executor *executor = invocation->executor;
  const lk_api *api = executor->program->api;
  const lk_run_plan_desc desc = {.inputs = invocation->inputs,
                                 .wanted = invocation->wanted,
                                 .workers = executor->workers,
                                 .is_kept = executor->run_plans,
                                 .implementations = executor->implementations,
                                 .node_counts = executor->node_counts,
                                 .node_keys = executor->node_keys,
                                 .bound = invocation->traced != NULL ? lk_observe_node : NULL,
                                 .bound_arg = invocation};
  lk_run_plan *plan = NULL;
  lk_thread_watch room;
  *out_entry = NULL;
  invocation->has_built = true;
  LK_RETURN_NOT_OK(lk_watch_thread_begin(api, &room, &invocation->stop, error));
  LK_TRY(lk_build_run_plan(executor->program, &desc, &plan, error));
  LK_TRY(lk_plan_entry_create(executor->pool, plan, cached, out_entry, error));
  plan = NULL;

cleanup:
  api->thread_unwatch(&room);
  lk_run_plan_destroy(plan);
  return status;
}

static void destroy_entry(void *value, void *user) {
  (void)user;
  lk_plan_entry_destroy(value);
}

/* Notes that `entry` was built for the sizes of this run. */
static lk_status note_size(const lk_invocation *invocation, lk_plan_entry *entry, uint64_t begin_ns,
                           lk_error *error) {
  const lk_program *program = invocation->executor->program;
  const lk_size_build build = {.inputs = invocation->descs,
                               .values = invocation->values,
                               .n_inputs = (uint32_t)program->graph->n_inputs,
                               .n_values = n_values(invocation),
                               .begin_ns = begin_ns,
                               .end_ns = lk_now_ns(),
                               .bytes = lk_plan_entry_plan(entry)->bytes};
  lk_size_record *size = NULL;
  LK_RETURN_NOT_OK(lk_size_log_add(invocation->executor->sizes, &build, &size, error));
  lk_plan_entry_set_size(entry, size);
  return LK_OK;
}

static lk_status build_cached(void *arg, const lk_key *key, lk_built *out, lk_error *error) {
  (void)key;
  lk_invocation *invocation = arg;
  lk_plan_entry *entry = NULL;
  const uint64_t begin = lk_now_ns();
  LK_RETURN_NOT_OK(build_entry(invocation, true, &entry, error));
  const lk_status status = note_size(invocation, entry, begin, error);
  if (status != LK_OK) {
    lk_plan_entry_destroy(entry);
    return status;
  }
  atomic_fetch_add(&invocation->executor->builds, 1);
  *out = (lk_built){
      .value = entry, .bytes = lk_plan_entry_plan(entry)->bytes, .destroy = destroy_entry};
  return LK_OK;
}

/* Sets `invocation->entry`. */
static lk_status choose_plan(lk_invocation *invocation, lk_error *error) {
  lk_graph_executor *executor = invocation->executor;
  const lk_program *program = executor->program;
  const lk_api *api = program->api;
  int hit = 0;
  if (!executor->run_plans) return build_entry(invocation, false, &invocation->entry, error);

  const lk_key_desc desc = {.struct_size = sizeof desc,
                            .n_tensors = (uint32_t)program->graph->n_inputs,
                            .n_values = n_values(invocation),
                            .tensors = invocation->descs,
                            .values = invocation->values};
  LK_RETURN_NOT_OK(api->get_or_create_like(program->context, program->executor, executor->run_key,
                                           &desc, build_cached, invocation, &invocation->ref, &hit,
                                           error));
  invocation->entry = api->ref_value(invocation->ref);
  invocation->has_waited = hit == 0 && !invocation->has_built;
  if (hit) lk_tally_add(&executor->counts, LK_COUNT_HITS);
  return LK_OK;
}

/* Gives the entry back. Also when there is none. */
static void release_plan(lk_invocation *invocation) {
  if (invocation->ref != NULL) {
    invocation->executor->program->api->ref_release(invocation->ref);
  } else {
    lk_plan_entry_destroy(invocation->entry);
  }
  invocation->ref = NULL;
  invocation->entry = NULL;
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
  LK_RETURN_NOT_OK(enter(invocation, run, error));
  return choose_plan(invocation, error);
}

/* The same with the time that each part takes. */
static lk_status enter_and_choose_observed(lk_invocation *invocation, const lk_graph_run *run,
                                           lk_error *error) {
  LK_RETURN_NOT_OK(lk_observe_begin(invocation, run->options, error));
  uint64_t begin = lk_now_ns();
  LK_RETURN_NOT_OK(take_place(invocation, error));
  lk_observe_wait(invocation, LK_TRACE_PLACE, begin);
  begin = lk_now_ns();
  LK_RETURN_NOT_OK(get_threads(invocation, run, error));
  lk_observe_wait(invocation, LK_TRACE_PROCESSORS, begin);
  LK_RETURN_NOT_OK(lk_observe_choose(invocation, run->options, error));
  begin = lk_now_ns();
  const lk_status status = choose_plan(invocation, error);
  return lk_observe_plan(invocation, begin, status, status == LK_OK ? step_threads(invocation) : 0,
                         error);
}

/* ---- outputs ---- */

/* The caller's memory, or new memory, for each wanted output. */
static lk_status make_outputs(lk_invocation *invocation, const lk_graph_run *run, lk_error *error) {
  const lk_program *program = invocation->executor->program;
  const lk_run_plan *plan = lk_plan_entry_plan(invocation->entry);
  for (uint32_t i = 0; i < program->graph->n_outputs; i++) {
    void **data = &invocation->outputs[i];
    if (!invocation->wanted[i]) continue;
    if (run->place != NULL) {
      LK_RETURN_NOT_OK(run->place(run->place_arg, i, &plan->outputs[i], data, error));
      continue;
    }
    *data = run->outputs[i].data;
    if (*data != NULL) continue;
    *data = lk_alloc_pages(program->allocator, plan->output_bytes[i]);
    if (*data == NULL) return lk_fail_memory(error, "an output", plan->output_bytes[i]);
    invocation->owned[i] = true;
  }
  return LK_OK;
}

static void hand_over_outputs(const lk_invocation *invocation, const lk_graph_run *run) {
  const lk_run_plan *plan = lk_plan_entry_plan(invocation->entry);
  if (run->place != NULL) return;
  for (size_t i = 0; i < plan->program->graph->n_outputs; i++) {
    if (!invocation->wanted[i]) continue;
    run->outputs[i].desc = plan->outputs[i];
    if (invocation->owned[i]) run->outputs[i].data = invocation->outputs[i];
  }
}

/* ---- the run ---- */

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
  LK_TRY(lk_invocation_begin(&invocation, executor, run, error));
  LK_TRY(is_observed ? enter_and_choose_observed(&invocation, run, error)
                     : enter_and_choose(&invocation, run, error));
  if (run->place == NULL) {
    LK_TRY(lk_check_outputs(executor->program->graph, lk_plan_entry_plan(invocation.entry)->outputs,
                            invocation.inputs, run->outputs, invocation.wanted, run->options,
                            error));
  }
  LK_TRY(check_stop(&invocation, error));
  LK_TRY(make_outputs(&invocation, run, error));
  LK_TRY(execute(&invocation, error));
  hand_over_outputs(&invocation, run);
  lk_tally_add(&executor->counts, LK_COUNT_RUNS);

cleanup:
  if (is_observed) lk_observe_end(&invocation, status);
  release_plan(&invocation);
  leave(&invocation);
  lk_invocation_end(&invocation, status);
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
  return true;
}

/* Its own memory stays. */
static void give_back(lk_kept_run *kept) {
  if (kept->lease.frame != NULL) lk_lease_release(kept->invocation.entry, &kept->lease);
  release_plan(&kept->invocation);
  lk_invocation_end(&kept->invocation, LK_OK); /* outputs are the caller's */
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
  LK_RETURN_NOT_OK(enter(invocation, run, error));
  LK_RETURN_NOT_OK(choose_plan(invocation, error));
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
  LK_RETURN_NOT_OK(enter(invocation, run, error));
  lk_tally_add(&executor->counts, LK_COUNT_HITS);
  return LK_OK;
}

static lk_status run_kept(lk_kept_run *kept, const lk_graph_run *run, lk_error *error) {
  lk_status status = LK_OK;
  lk_invocation *invocation = &kept->invocation;
  LK_TRY(is_kept_for(kept, run) ? take_again(kept, run, error) : take_anew(kept, run, error));
  LK_TRY(check_stop(invocation, error));
  LK_TRY(make_outputs(invocation, run, error));
  LK_TRY(execute_leased(invocation, &kept->lease, error));
  lk_tally_add(&invocation->executor->counts, LK_COUNT_RUNS);
cleanup:
  leave(invocation);
  return status;
}

lk_status lk_graph_executor_run_kept(lk_graph_executor *executor, const lk_graph_run *run,
                                     lk_kept_run **inout_kept, lk_error *error) {
  if (!executor->run_plans || lk_is_observed(run))
    return lk_graph_executor_run(executor, run, error);
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

/* Whether the declarations alone say what a run plan is built for. */
static bool is_static(const lk_program *program) {
  const lk_graph *graph = program->graph;
  for (size_t i = 0; i < graph->n_inputs; i++) {
    const lk_declaration *declared = graph->values[graph->inputs[i]].declared;
    if (declared == NULL || declared->dtype == LK_DTYPE_NONE || declared->rank < 0) return false;
    for (int32_t d = 0; d < declared->rank; d++) {
      if (declared->dims[d] < 0) return false;
    }
  }
  return program->n_by_value == 0;
}

lk_status lk_graph_executor_prepare(lk_graph_executor *executor, lk_error *error) {
  lk_status status = LK_OK;
  lk_invocation invocation;
  const lk_program *program = executor->program;
  const lk_graph *graph = program->graph;
  if (!executor->run_plans || !is_static(program)) return LK_OK;
  lk_tensor *inputs = lk_calloc(program->allocator, graph->n_inputs, sizeof *inputs);
  if (inputs == NULL) return lk_fail_memory(error, "inputs", graph->n_inputs * sizeof *inputs);
  for (size_t i = 0; i < graph->n_inputs; i++) {
    const lk_declaration *declared = graph->values[graph->inputs[i]].declared;
    inputs[i].desc = lk_tensor_desc_make(declared->dtype, (uint32_t)declared->rank, declared->dims);
    inputs[i].data = inputs; /* never read: no shape depends on a value */
  }
  LK_TRY(lk_invocation_begin(&invocation, executor, &(lk_graph_run){.inputs = inputs}, error));
  LK_TRY(take_threads(&invocation, error)); /* constants are packed by several */
  LK_TRY(choose_plan(&invocation, error));

cleanup:
  release_plan(&invocation);
  leave(&invocation);
  lk_invocation_end(&invocation, status);
  lk_free(program->allocator, inputs);
  return status;
}
