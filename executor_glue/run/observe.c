#include "executor_glue/run/observe.h"

#include "base/clock.h"
#include "base/status.h"

/* A shorter wait was none. */
#define LEAST_WAIT_NS UINT64_C(1000)

lk_status lk_observe_begin(lk_invocation *invocation, const lk_run_options *options,
                           lk_error *error) {
  lk_graph_executor *executor = invocation->executor;
  lk_labels *labels = NULL;
  const lk_status status =
      lk_labels_of_program(executor->program, &executor->labels, &labels, error);
  if (status != LK_OK && options->profile != NULL) return status;
  if (status == LK_OK && options->trace != NULL) {
    invocation->traced = lk_trace_run_begin(options->trace);
  }
  return LK_OK;
}

void lk_observe_wait(lk_invocation *invocation, lk_trace_kind kind, uint64_t begin_ns) {
  const uint64_t ns = lk_now_ns() - begin_ns;
  if (invocation->traced == NULL || ns < LEAST_WAIT_NS) return;
  lk_trace_note(invocation->traced,
                &(lk_trace_event){
                    .begin_ns = begin_ns, .ns = ns, .number = invocation->threads, .kind = kind});
}

lk_status lk_observe_choose(lk_invocation *invocation, const lk_run_options *options,
                            lk_error *error) {
  if (options->profile == NULL) return LK_OK;
  LK_RETURN_NOT_OK(lk_profile_begin(options->profile, error));
  invocation->profile = options->profile;
  return LK_OK;
}

void lk_observe_node(void *arg, size_t node, uint64_t begin_ns, uint64_t end_ns) {
  const lk_invocation *invocation = arg;
  lk_trace_note(invocation->traced,
                &(lk_trace_event){.begin_ns = begin_ns,
                                  .ns = end_ns - begin_ns,
                                  .labels = atomic_load(&invocation->executor->labels),
                                  .index = (uint32_t)node,
                                  .kind = LK_TRACE_BIND});
}

static void note_plan(const lk_invocation *invocation, uint64_t begin_ns, uint64_t end_ns,
                      lk_labels *labels) {
  if (invocation->traced == NULL || (!invocation->has_built && !invocation->has_waited)) return;
  lk_trace_note(
      invocation->traced,
      &(lk_trace_event){.begin_ns = begin_ns,
                        .ns = end_ns - begin_ns,
                        .labels = labels,
                        .kind = invocation->has_built ? LK_TRACE_BUILD : LK_TRACE_BUILD_WAIT});
}

/* Where the steps are timed: with a trace and a profile, both read the same. A trace without memory
 * does without. */
static lk_status make_times(lk_invocation *invocation, lk_labels *labels, uint32_t step_threads,
                            lk_error *error) {
  lk_trace_run *traced = invocation->traced;
  if (invocation->profile != NULL) {
    LK_RETURN_NOT_OK(
        lk_profile_bound(invocation->profile, labels, invocation->has_built, step_threads, error));
    invocation->times = lk_profile_times(invocation->profile);
  } else if (traced != NULL) {
    const lk_allocator *allocator = lk_trace_allocator(traced->trace);
    if (lk_run_times_begin(&traced->times, allocator, labels, NULL) == LK_OK) {
      invocation->times = &traced->times;
    } else {
      traced->lost += labels->n_steps;
    }
  }
  return LK_OK;
}

lk_status lk_observe_plan(lk_invocation *invocation, uint64_t begin_ns, lk_status status,
                          uint32_t step_threads, lk_error *error) {
  const uint64_t end_ns = lk_now_ns();
  lk_graph_executor *executor = invocation->executor;
  lk_labels *graph = atomic_load(&executor->labels), *labels = NULL;
  if (status != LK_OK) {
    note_plan(invocation, begin_ns, end_ns, graph);
    return status;
  }
  if (graph == NULL) return LK_OK; /* a trace without memory */
  status = lk_labels_of_run_plan(lk_plan_entry_plan(invocation->entry), invocation->inputs, graph,
                                 lk_plan_entry_labels(invocation->entry), &labels, error);
  note_plan(invocation, begin_ns, end_ns, status == LK_OK ? labels : graph);
  if (status == LK_OK) return make_times(invocation, labels, step_threads, error);
  return invocation->profile != NULL ? status : LK_OK;
}

static void note_execution(const lk_invocation *invocation) {
  const lk_run_times *times = invocation->times;
  lk_trace_note(invocation->traced, &(lk_trace_event){.begin_ns = times->begin_ns,
                                                      .ns = times->end_ns - times->begin_ns,
                                                      .labels = times->labels,
                                                      .number = (int32_t)times->n_threads,
                                                      .kind = LK_TRACE_EXECUTE});
  lk_trace_note_steps(invocation->traced, times, times->labels);
}

void lk_observe_end(lk_invocation *invocation, lk_status status) {
  const lk_run_times *times = invocation->times;
  const bool has_run = times != NULL && times->end_ns != 0;
  if (invocation->traced != NULL && has_run) note_execution(invocation);
  lk_trace_run_end(invocation->traced);
  if (invocation->profile != NULL) {
    lk_profile_end(invocation->profile, status == LK_OK ? times : NULL);
  }
  invocation->traced = NULL;
  invocation->times = NULL;
}
