/* The run plan of a run: by one key and one look-up, or built. */
#include "executor_glue/run/choose_plan.h"

#include "base/status.h"
#include "executor_glue/run/build_run_plan.h"

/* ---- building ---- */

/* A plan for steps in parallel is bound for a guess, and bound again when the guess was wrong. */
static lk_status build_plan(const lk_invocation *invocation, lk_run_plan **out_plan,
                            lk_error *error) {
  lk_graph_executor *executor = invocation->executor;
  lk_run_plan_desc desc = {.inputs = invocation->inputs,
                           .wanted = invocation->wanted,
                           .threads = invocation->mode == LK_MODE_ONE_THREAD ? 1 : 0,
                           .workers = 1,
                           .bound = lk_implementation_names_note,
                           .bound_arg = executor->implementations};
  *out_plan = NULL;
  if (invocation->mode == LK_MODE_PARALLEL) {
    bool parallel = atomic_load_explicit(&executor->was_parallel, memory_order_relaxed);
    desc.workers = executor->workers;
    for (int tries = 0; tries < 2; tries++) {
      desc.threads = parallel ? 1 : 0;
      LK_RETURN_NOT_OK(lk_build_run_plan(executor->program, &desc, out_plan, error));
      if (*out_plan != NULL) return LK_OK;
      parallel = !parallel;
      atomic_store_explicit(&executor->was_parallel, parallel, memory_order_relaxed);
    }
    desc.workers = 1; /* each way of binding makes the other look faster: in order is never wrong */
    desc.threads = 0;
  }
  return lk_build_run_plan(executor->program, &desc, out_plan, error);
}

static lk_status build_entry(const lk_invocation *invocation, bool cached,
                             lk_plan_entry **out_entry, lk_error *error) {
  lk_status status = LK_OK;
  lk_run_plan *plan = NULL;
  *out_entry = NULL;
  LK_TRY(build_plan(invocation, &plan, error));
  LK_TRY(lk_plan_entry_create(invocation->executor->pool, plan, cached, out_entry, error));
  plan = NULL;

cleanup:
  lk_run_plan_destroy(plan);
  return status;
}

static void destroy_entry(void *value, void *user) {
  (void)user;
  lk_plan_entry_destroy(value);
}

static lk_status build_cached(void *arg, lk_built *out, lk_error *error) {
  const lk_invocation *invocation = arg;
  lk_plan_entry *entry = NULL;
  LK_RETURN_NOT_OK(build_entry(invocation, true, &entry, error));
  atomic_fetch_add(&invocation->executor->builds, 1);
  *out = (lk_built){
      .value = entry, .bytes = lk_plan_entry_plan(entry)->bytes, .destroy = destroy_entry};
  return LK_OK;
}

/* ---- finding ---- */

static lk_status find_entry(lk_invocation *invocation, lk_execution_mode mode, lk_error *error) {
  lk_graph_executor *executor = invocation->executor;
  const lk_program *program = executor->program;
  const lk_api *api = program->api;
  int hit = 0;
  invocation->mode = mode;
  if (!executor->run_plans) return build_entry(invocation, false, &invocation->entry, error);

  const lk_key_desc desc = {.struct_size = sizeof desc,
                            .n_tensors = (uint32_t)program->graph->n_inputs,
                            .n_values = program->n_by_value + (invocation->wants_all ? 0 : 1),
                            .tensors = invocation->descs,
                            .values = invocation->values};
  LK_RETURN_NOT_OK(api->get_or_create_like(program->context, program->executor,
                                           executor->run_key[mode], &desc, build_cached, invocation,
                                           &invocation->ref, &hit, error));
  invocation->entry = api->ref_value(invocation->ref);
  if (hit) atomic_fetch_add_explicit(&executor->hits, 1, memory_order_relaxed);
  return LK_OK;
}

void lk_release_plan(lk_invocation *invocation) {
  if (invocation->ref != NULL) {
    invocation->executor->program->api->ref_release(invocation->ref);
  } else {
    lk_plan_entry_destroy(invocation->entry);
  }
  invocation->ref = NULL;
  invocation->entry = NULL;
}

lk_status lk_choose_plan(lk_invocation *invocation, lk_error *error) {
  const lk_graph_executor *executor = invocation->executor;
  const bool has_all_threads = invocation->threads >= executor->threads;
  if (executor->workers > 1) {
    LK_RETURN_NOT_OK(find_entry(invocation, LK_MODE_PARALLEL, error));
    /* Without a schedule it is as SEQUENTIAL, for all threads. */
    if (lk_plan_entry_plan(invocation->entry)->schedule != NULL || has_all_threads) return LK_OK;
    lk_release_plan(invocation);
  }
  return find_entry(invocation, has_all_threads ? LK_MODE_SEQUENTIAL : LK_MODE_ONE_THREAD, error);
}
