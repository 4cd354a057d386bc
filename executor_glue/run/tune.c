#include "executor_glue/run/tune.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "executor_glue/run/admission.h"
#include "executor_glue/run/choose_plan.h"
#include "executor_glue/run/execute.h"

/* The first one fills caches and packs weights, and does not count. */
enum { LEAST_ROUNDS = 4 };

/* Which work of a node is measured: none has more than one. */
enum { WORK = 1 };

typedef enum side_index { NATIVE, ENGINE, N_SIDES } side_index;

/* A run plan by one of the two, and what it takes. */
typedef struct side {
  lk_plan_entry *entry;
  lk_lease lease;
  lk_run_times times;
  /* [n_nodes]: of all rounds but the first, what the steps of the work took together; 0: there is
   * none */
  uint64_t *least_ns;
} side;

/* ---- what is run ---- */

/* Steps one after the other: those that run in parallel take each other's time. */
static lk_status make_side(lk_invocation *invocation, uint32_t flags, side *self, lk_error *error) {
  lk_graph_executor *executor = invocation->executor;
  const lk_entry_desc desc = {.workers = 1, .flags = flags};
  const size_t n_nodes = executor->program->graph->n_nodes;
  self->least_ns = lk_calloc(executor->allocator, n_nodes, sizeof *self->least_ns);
  if (self->least_ns == NULL) {
    return lk_fail_memory(error, "the times of nodes", n_nodes * sizeof *self->least_ns);
  }
  LK_RETURN_NOT_OK(lk_build_entry(invocation, &desc, &self->entry, error));
  return lk_lease_acquire(self->entry, &self->lease, error);
}

static void end_side(const lk_graph_executor *executor, side *self) {
  if (self->lease.frame != NULL) lk_lease_release(self->entry, &self->lease);
  lk_plan_entry_destroy(self->entry);
  lk_run_times_end(&self->times, executor->allocator);
  lk_free(executor->allocator, self->least_ns);
}

/* ---- measuring ---- */

static lk_status begin_times(lk_invocation *invocation, side *self, lk_error *error) {
  lk_graph_executor *executor = invocation->executor;
  lk_labels *graph = NULL, *labels = NULL;
  LK_RETURN_NOT_OK(lk_labels_of_program(executor->program, &executor->labels, &graph, error));
  LK_RETURN_NOT_OK(lk_labels_of_run_plan(lk_plan_entry_plan(self->entry), invocation->inputs, graph,
                                         lk_plan_entry_labels(self->entry), &labels, error));
  return lk_run_times_begin(&self->times, executor->allocator, labels, error);
}

/* Of the work of a step of the run plan. What the operator does besides, whoever computes its work,
 * does not count. */
static uint64_t sum_work(const side *self, uint32_t step) {
  const lk_labels *labels = self->times.labels;
  uint64_t ns = 0;
  for (uint32_t i = labels->first[step]; i < labels->first[step + 1]; i++) {
    if (labels->steps[i].work == WORK) ns += self->times.times[i].ns;
  }
  return ns;
}

static void keep_least(side *self) {
  const lk_run_plan *plan = lk_plan_entry_plan(self->entry);
  for (uint32_t step = 0; step < plan->n_steps; step++) {
    uint64_t *least = &self->least_ns[plan->steps[step].node];
    const uint64_t ns = sum_work(self, step);
    if (ns > 0 && (*least == 0 || ns < *least)) *least = ns;
  }
}

static lk_status run_once(lk_invocation *invocation, side *self, bool counts, lk_error *error) {
  const lk_graph_executor *executor = invocation->executor;
  LK_RETURN_NOT_OK(begin_times(invocation, self, error));
  const lk_execution execution = {.plan = lk_plan_entry_plan(self->entry),
                                  .lease = &self->lease,
                                  .inputs = invocation->inputs,
                                  .outputs = invocation->outputs,
                                  .stop = &invocation->stop,
                                  .workers = 1,
                                  .step_threads = (uint32_t)executor->threads,
                                  .times = &self->times};
  LK_RETURN_NOT_OK(lk_execute(&execution, error));
  if (counts) keep_least(self);
  return LK_OK;
}

static lk_status measure(lk_invocation *invocation, side sides[N_SIDES], uint64_t until_ns,
                         lk_error *error) {
  for (uint32_t round = 0; round < LEAST_ROUNDS || lk_now_ns() < until_ns; round++) {
    for (uint32_t i = 0; i < N_SIDES; i++) {
      LK_RETURN_NOT_OK(run_once(invocation, &sides[i], round > 0, error));
    }
  }
  return LK_OK;
}

static lk_status note(const lk_invocation *invocation, const side sides[N_SIDES], lk_error *error) {
  const lk_run_plan *plan = lk_plan_entry_plan(sides[ENGINE].entry);
  const lk_api *api = invocation->executor->program->api;
  for (uint32_t i = 0; i < plan->n_steps; i++) {
    const lk_run_step *step = &plan->steps[i];
    const uint64_t native = sides[NATIVE].least_ns[step->node];
    const uint64_t engine = sides[ENGINE].least_ns[step->node];
    if (native == 0 || engine == 0) continue;
    LK_RETURN_NOT_OK(api->plan_note_work(step->plan, WORK, (double)native, (double)engine, error));
  }
  return LK_OK;
}

/* Times are of the context's number of threads, which is in the keys that they are noted by. */
static lk_status enter(lk_invocation *invocation, const lk_graph_run *run, lk_error *error) {
  const lk_graph_executor *executor = invocation->executor;
  LK_RETURN_NOT_OK(lk_take_place(invocation, error));
  if (run->threads <= 0) return lk_take_threads(invocation, executor->threads, error);
  invocation->threads = run->threads;
  if (run->threads >= executor->threads) return LK_OK;
  return lk_fail(
      error, LK_BUSY,
      "failed to tune: %d threads are granted to the run, the context has %d; tune while "
      "nothing else runs",
      run->threads, executor->threads);
}

static lk_status tune(lk_invocation *invocation, const lk_graph_run *run, side sides[N_SIDES],
                      lk_error *error) {
  LK_RETURN_NOT_OK(enter(invocation, run, error));
  LK_RETURN_NOT_OK(make_side(invocation, 0, &sides[NATIVE], error));
  LK_RETURN_NOT_OK(make_side(invocation, LK_BIND_ENGINE, &sides[ENGINE], error));
  LK_RETURN_NOT_OK(
      lk_invocation_make_outputs(invocation, lk_plan_entry_plan(sides[NATIVE].entry), NULL, error));
  LK_RETURN_NOT_OK(measure(invocation, sides, run->options->tune_ns, error));
  LK_RETURN_NOT_OK(note(invocation, sides, error));
  /* for the next run */
  LK_RETURN_NOT_OK(lk_choose_plan(invocation, error));
  return lk_build_recurring(invocation, error);
}

static lk_status cannot_tune(const lk_graph_executor *executor, lk_error *error) {
  const lk_program *program = executor->program;
  const char *engine = program->api->engine_chosen(program->context);
  if (strcmp(engine, "auto") == 0) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to tune: run plans or the cache are off, both are needed");
  }
  return lk_fail(error, LK_UNSUPPORTED,
                 "failed to tune: the engine of the context is '%s', 'auto' is needed%s", engine,
                 strcmp(engine, "native") == 0
                     ? ", which is 'native' where there is no module of oneDNN"
                     : "");
}

lk_status lk_tune(lk_graph_executor *executor, const lk_graph_run *run, lk_error *error) {
  lk_status status = LK_OK;
  lk_invocation invocation;
  side sides[N_SIDES] = {0};
  if (!executor->is_auto || !executor->run_plans) return cannot_tune(executor, error);
  const bool is_late = lk_now_ns() >= run->options->tune_ns;
  if (is_late && atomic_load(&executor->tuned_until) == run->options->tune_ns) return LK_OK;
  LK_TRY(lk_invocation_begin(&invocation, executor, run, error));
  LK_TRY(tune(&invocation, run, sides, error));
  atomic_store(&executor->tuned_until, run->options->tune_ns);
cleanup:
  lk_release_plan(&invocation);
  for (uint32_t i = 0; i < N_SIDES; i++) end_side(executor, &sides[i]);
  lk_leave(&invocation);
  lk_invocation_end(&invocation, false);
  return status;
}
