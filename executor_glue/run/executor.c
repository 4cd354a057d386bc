/* Makes and ends graph executors, and answers questions about them. */
#include "executor_glue/run/executor.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/run/executor_state.h"

static const char *const form_names[LK_RUN_FORMS] = {
    [LK_RUN_SHARED] = "", [LK_RUN_ALONE] = "alone", [LK_RUN_AT_ONCE] = "at once"};

/* Told apart by form. The number of workers is the executor's, whose identity is in each. */
static lk_status create_keys(lk_graph_executor *executor, lk_error *error) {
  const lk_program *program = executor->program;
  for (int form = 0; form < LK_RUN_FORMS; form++) {
    const lk_key_desc desc = {
        .struct_size = sizeof desc, .kind = LK_KEY_RUN, .name = "run", .tag = form_names[form]};
    const lk_status status = program->api->key_create(program->context, program->executor, &desc,
                                                      &executor->run_key[form], error);
    if (status != LK_OK) return status;
  }
  return LK_OK;
}

static void destroy_keys(lk_graph_executor *executor, const lk_api *api, lk_context *context) {
  for (int form = 0; form < LK_RUN_FORMS; form++)
    api->key_destroy(context, executor->run_key[form]);
}

lk_status lk_graph_executor_create(const lk_api *api, lk_context *context, lk_executor *executor,
                                   lk_graph *graph, const lk_graph_executor_options *options,
                                   lk_graph_executor **out_executor, lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = api->context_allocator(context);
  *out_executor = NULL;
  lk_graph_executor *made = lk_calloc(allocator, 1, sizeof *made);
  if (made == NULL) return lk_fail_memory(error, "a graph executor", sizeof *made);
  (void)pthread_mutex_init(&made->names_mutex, NULL); /* cannot fail on glibc */
  made->fork = (lk_fork_entry){.level = LK_FORK_LEAF, .mutex = &made->names_mutex};
  lk_fork_enter(&made->fork);
  made->run_plans = options->run_plans && api->context_cache_mode(context) != LK_CACHE_OFF;
  made->threads = api->context_threads(context);
  lk_run_limit_init(&made->gate, options->max_runs, options->fail_busy);
  made->workers = options->workers > 0 ? options->workers : 1;
  atomic_init(&made->had_width, true);
  LK_TRY(lk_program_create(api, context, executor, graph, &made->program, error));
  LK_TRY(lk_run_pool_create(made->program, &made->pool, error));
  LK_TRY(create_keys(made, error));
  made->implementations = lk_calloc(allocator, graph->n_nodes, sizeof *made->implementations);
  if (made->implementations == NULL) {
    status = lk_fail_memory(error, "a graph executor", graph->n_nodes * sizeof(char *));
    goto cleanup;
  }
  for (size_t i = 0; i < graph->n_nodes; i++) atomic_init(&made->implementations[i], "");
  *out_executor = made;

cleanup:
  if (status != LK_OK) {
    destroy_keys(made, api, context);
    lk_run_pool_close(made->pool);
    lk_program_destroy(made->program);
    lk_run_limit_destroy(&made->gate);
    lk_fork_leave(&made->fork);
    pthread_mutex_destroy(&made->names_mutex);
    lk_free(allocator, made);
  }
  return status;
}

void lk_graph_executor_destroy(lk_graph_executor *executor) {
  if (executor == NULL) return;
  const lk_program *program = executor->program;
  const lk_allocator *allocator = program->allocator;
  /* First what idle frames refer to, so that clearing finds it unused. Entries in tables of threads
   * that are inside a call just now are left to them, and are empty then. */
  lk_run_pool_close(executor->pool);
  /* fails only for arguments that are not there */
  (void)program->api->cache_clear(program->context, program->executor, NULL);
  destroy_keys(executor, program->api, program->context);
  lk_program_destroy(executor->program);
  while (executor->names != NULL) {
    lk_kept_name *next = executor->names->next;
    lk_free(allocator, executor->names);
    executor->names = next;
  }
  lk_free(allocator, (void *)executor->implementations);
  lk_run_limit_destroy(&executor->gate);
  lk_fork_leave(&executor->fork);
  pthread_mutex_destroy(&executor->names_mutex);
  lk_free(allocator, executor);
}

void lk_graph_executor_stats(lk_graph_executor *executor, lk_session_stats *stats) {
  stats->runs = atomic_load(&executor->runs);
  stats->run_plan_hits = atomic_load(&executor->hits);
  stats->run_plan_builds = atomic_load(&executor->builds);
  stats->parallel_runs = atomic_load(&executor->at_once);
  stats->waits = lk_run_limit_waits(&executor->gate);
  lk_run_pool_stats(executor->pool, &stats->frames, &stats->arena_bytes);
}

uint64_t lk_graph_executor_builds(const lk_graph_executor *executor) {
  return atomic_load(&executor->builds);
}

const char *lk_graph_executor_implementation(lk_graph_executor *executor, size_t node) {
  return node < executor->program->graph->n_nodes ? atomic_load(&executor->implementations[node])
                                                  : "";
}

const lk_op_info *lk_graph_executor_op_info(const lk_graph_executor *executor, size_t node) {
  return node < executor->program->graph->n_nodes ? &executor->program->infos[node] : NULL;
}

void lk_graph_executor_note(void *arg, int32_t node, const char *implementation) {
  lk_graph_executor *executor = arg;
  if (implementation == NULL) implementation = "";
  if (strcmp(atomic_load(&executor->implementations[node]), implementation) == 0) return;
  pthread_mutex_lock(&executor->names_mutex);
  lk_kept_name *name = executor->names;
  while (name != NULL && strcmp(name->text, implementation) != 0) name = name->next;
  if (name == NULL) {
    size_t length = strlen(implementation);
    name = lk_alloc(executor->program->allocator, sizeof *name + length + 1);
    if (name != NULL) {
      memcpy(name->text, implementation, length + 1);
      name->next = executor->names;
      executor->names = name;
    }
  }
  if (name != NULL) atomic_store(&executor->implementations[node], name->text);
  pthread_mutex_unlock(&executor->names_mutex);
}
