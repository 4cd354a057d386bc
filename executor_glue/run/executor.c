/* Makes and destroys graph executors, and answers questions about them. */
#include "executor_glue/run/executor.h"

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/run/executor_state.h"

/* The number of workers is the executor's, whose identity is in the key. */
static lk_status create_key(lk_graph_executor *executor, const char *name, lk_error *error) {
  const lk_program *program = executor->program;
  const lk_key_desc desc = {.struct_size = sizeof desc, .kind = LK_KEY_RUN, .name = name};
  return program->api->key_create(program->context, program->executor, &desc, &executor->run_key,
                                  error);
}

lk_status lk_graph_executor_create(const lk_api *api, lk_context *context, lk_executor *executor,
                                   lk_graph *graph, const lk_graph_executor_options *options,
                                   lk_graph_executor **out_executor, lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = api->context_allocator(context);
  *out_executor = NULL;
  lk_graph_executor *made = lk_calloc_lines(allocator, sizeof *made);
  if (made == NULL) return lk_fail_memory(error, "a graph executor", sizeof *made);
  made->allocator = allocator;
  made->run_plans = options->run_plans && api->context_cache_mode(context) != LK_CACHE_OFF;
  made->threads = api->context_threads(context);
  made->workers = options->workers > 0 ? options->workers : 1;
  lk_run_limit_create(&made->limit, options->max_runs, options->fail_busy);
  LK_TRY(lk_program_create(api, context, executor, graph, &made->program, error));
  LK_TRY(lk_frame_pool_create(made->program, &made->pool, error));
  LK_TRY(create_key(made, options->name != NULL ? options->name : "run", error));
  LK_TRY(lk_implementation_names_create(allocator, graph->n_nodes, &made->implementations, error));
  *out_executor = made;
  made = NULL;

cleanup:
  lk_graph_executor_destroy(made);
  return status;
}

void lk_graph_executor_destroy(lk_graph_executor *executor) {
  if (executor == NULL) return;
  const lk_program *program = executor->program;
  /* First what idle frames refer to, so that clearing finds it unused. Entries in tables of threads
   * that are inside a call just now are left to them, and are empty then. */
  lk_frame_pool_destroy(executor->pool);
  if (program != NULL) {
    /* Fails only for arguments that are not there. */
    (void)program->api->cache_clear(program->context, program->executor, NULL);
    program->api->key_destroy(program->context, executor->run_key);
  }
  lk_program_destroy(executor->program);
  lk_implementation_names_destroy(executor->implementations);
  lk_run_limit_destroy(&executor->limit);
  lk_free(executor->allocator, executor);
}

void lk_graph_executor_stats(lk_graph_executor *executor, lk_session_stats *stats) {
  stats->runs = lk_tally_sum(&executor->counts, LK_COUNT_RUNS);
  stats->run_plan_hits = lk_tally_sum(&executor->counts, LK_COUNT_HITS);
  stats->run_plan_builds = atomic_load(&executor->builds);
  stats->parallel_runs = lk_tally_sum(&executor->counts, LK_COUNT_PARALLEL);
  stats->waits = lk_run_limit_waits(&executor->limit);
  lk_frame_pool_stats(executor->pool, &stats->frames, &stats->arena_bytes);
}

uint64_t lk_graph_executor_builds(const lk_graph_executor *executor) {
  return atomic_load(&executor->builds);
}

const char *lk_graph_executor_implementation(lk_graph_executor *executor, size_t node) {
  if (node >= executor->program->graph->n_nodes) return "";
  return lk_implementation_names_get(executor->implementations, node);
}
