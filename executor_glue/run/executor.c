/* Makes and destroys graph executors, and answers questions about them. */
#include "executor_glue/run/executor.h"

#include <string.h>

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

/* Where the cache keeps nothing, what an engine builds is not worth it. */
static lk_status find_whether_auto(lk_graph_executor *executor, lk_error *error) {
  const lk_program *program = executor->program;
  lk_stats stats = {.struct_size = sizeof stats};
  if (strcmp(program->api->engine_chosen(program->context), "auto") != 0) return LK_OK;
  LK_RETURN_NOT_OK(program->api->cache_stats(program->context, NULL, &stats, error));
  executor->is_auto = stats.capacity_entries > 0 && stats.capacity_bytes > 0;
  return LK_OK;
}

lk_status lk_graph_executor_create(const lk_api *api, lk_context *context, lk_executor *executor,
                                   lk_graph *graph, const lk_graph_executor_options *options,
                                   lk_graph_executor **out_executor, lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = api->context_allocator(context);
  const char *name = options->name != NULL ? options->name : "run";
  *out_executor = NULL;
  lk_graph_executor *made = lk_calloc_lines(allocator, sizeof *made);
  if (made == NULL) return lk_fail_memory(error, "a graph executor", sizeof *made);
  made->allocator = allocator;
  made->run_plans = options->run_plans && api->context_cache_mode(context) != LK_CACHE_OFF;
  made->threads = api->context_threads(context);
  made->workers = options->workers > 0 ? options->workers : 1;
  lk_run_limit_create(&made->limit, options->max_runs, options->fail_busy);
  LK_TRY(lk_program_create(api, context, executor, graph, &made->program, error));
  LK_TRY(lk_size_log_create(allocator, name, &made->sizes, error));
  LK_TRY(lk_frame_pool_create(made->program, made->sizes, &made->pool, error));
  made->is_static = is_static(made->program);
  LK_TRY(find_whether_auto(made, error));
  made->name = lk_strdup(allocator, name);
  if (made->name == NULL) LK_TRY(lk_fail_memory(error, "a name", strlen(name) + 1));
  LK_TRY(create_key(made, name, error));
  LK_TRY(lk_implementation_names_create(allocator, graph->n_nodes, &made->implementations, error));
  LK_TRY(lk_node_counts_create(allocator, graph->n_nodes, &made->node_counts, error));
  LK_TRY(lk_node_keys_create(allocator, graph, &made->node_keys, error));
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
  lk_labels_release(atomic_load(&executor->labels));
  lk_program_destroy(executor->program);
  lk_implementation_names_destroy(executor->implementations);
  lk_node_counts_destroy(executor->node_counts);
  lk_node_keys_destroy(executor->node_keys);
  lk_size_log_destroy(executor->sizes);
  lk_run_limit_destroy(&executor->limit);
  lk_free(executor->allocator, executor->name);
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

lk_node_stats lk_graph_executor_node_stats(const lk_graph_executor *executor, size_t node) {
  lk_node_stats stats = lk_node_counts_get(executor->node_counts, node);
  lk_node_keys_get(executor->node_keys, node, &stats);
  return stats;
}

/* lk_graph_executor_visit_sizes, for a list that knows no names. */
typedef struct size_visit {
  lk_size_fn visit;
  void *arg;
  const char **names; /* of the inputs, and behind them of those known by value */
  uint32_t n_inputs;
} size_visit;

static void visit_named(void *arg, const lk_session_size *size) {
  const size_visit *self = arg;
  lk_session_size named = *size;
  named.input_names = self->names;
  named.value_names = self->names + self->n_inputs;
  self->visit(self->arg, &named);
}

static void fill_names(const lk_program *program, const char **names) {
  const lk_graph *graph = program->graph;
  const char **value_name = names + graph->n_inputs;
  for (size_t i = 0; i < graph->n_inputs; i++) {
    names[i] = graph->values[graph->inputs[i]].name;
    if (program->by_value[i]) *value_name++ = names[i];
  }
  *value_name = "";
}

lk_status lk_graph_executor_visit_sizes(lk_graph_executor *executor, lk_size_fn visit, void *arg,
                                        uint64_t *out_lost, lk_error *error) {
  const lk_program *program = executor->program;
  const size_t n_names = program->graph->n_inputs + program->n_by_value + 1;
  size_visit self = {visit, arg, lk_calloc(executor->allocator, n_names, sizeof *self.names),
                     (uint32_t)program->graph->n_inputs};
  if (self.names == NULL) {
    return lk_fail_memory(error, "a list of sizes", n_names * sizeof *self.names);
  }
  fill_names(program, self.names);
  lk_frame_pool_count_runs(executor->pool);
  *out_lost = lk_size_log_lost(executor->sizes);
  const lk_status status = lk_size_log_visit(executor->sizes, visit_named, &self, error);
  lk_free(executor->allocator, self.names);
  return status;
}
