/* Makes an executor of the nodes that were fused: imports them, runs the passes, packs what can be
 * packed already. */
#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/ort/import.h"
#include "executor_glue/ort/provider.h"
#include "executor_glue/passes/pass.h"

static lk_status make_executor(lk_ort_subgraph *subgraph, lk_error *error) {
  lk_status status = LK_OK;
  const lk_ort_provider *provider = subgraph->provider;
  const lk_ort_options *options = &provider->options;
  const lk_pass_env env = {.api = provider->ort->latchkey,
                           .context = lk_ort_provider_context(provider),
                           .executor = subgraph->executor};
  LK_TRY(lk_passes_run(&env, subgraph->graph, options->disabled_passes, options->n_disabled_passes,
                       NULL, error));
  const lk_graph_executor_options how = {.run_plans = true, .workers = 1};
  LK_TRY(lk_graph_executor_create(env.api, env.context, subgraph->executor, subgraph->graph, &how,
                                  &subgraph->graph_executor, error));
  /* With fixed shapes, packs the weights and builds everything now. What fails here fails again in
   * the first run, which can say so to the one who asked. */
  lk_error unprepared;
  if (lk_graph_executor_prepare(subgraph->graph_executor, &unprepared) == LK_OUT_OF_MEMORY) {
    if (error != NULL) *error = unprepared;
    status = LK_OUT_OF_MEMORY;
  }
cleanup:
  return status;
}

lk_status lk_ort_compile(lk_ort_provider *provider, const OrtGraph *graph, const OrtNode *fused,
                         lk_ort_subgraph **out, lk_error *error) {
  lk_status status = LK_OK;
  const lk_api *latchkey = provider->ort->latchkey;
  lk_context *context = lk_ort_provider_context(provider);
  const lk_allocator *allocator = latchkey->context_allocator(context);
  lk_ort_import import = {0};
  const char *name = NULL;
  *out = NULL;
  lk_ort_subgraph *made = lk_calloc(lk_allocator_default(), 1, sizeof *made);
  if (made == NULL) return lk_fail_memory(error, "a subgraph", sizeof *made);
  made->abi = lk_ort_compute_functions;
  made->provider = provider;
  LK_TRY(lk_ort_check(provider->ort, ort_Node_GetName(provider->ort->api)(fused, &name),
                      "read a fused node's name", error));
  made->name = lk_strdup(lk_allocator_default(), name != NULL ? name : "");
  if (made->name == NULL) LK_TRY(lk_fail_memory(error, "a subgraph's name", 0));
  LK_TRY(lk_ort_import_graph(provider->ort, allocator, graph, fused, &import, error));
  made->graph = import.graph;
  import.graph = NULL;
  made->n_nodes = import.n_nodes;
  made->threads = latchkey->context_threads(context);
  LK_TRY(latchkey->executor_create(context, made->name, &made->executor, error));
  LK_TRY(make_executor(made, error));
  made->next = provider->subgraphs;
  provider->subgraphs = made;
  *out = made;
  made = NULL;
cleanup:
  lk_ort_import_end(allocator, &import);
  lk_ort_subgraph_destroy(made);
  return status;
}

void lk_ort_subgraph_destroy(lk_ort_subgraph *subgraph) {
  if (subgraph == NULL) return;
  lk_graph_executor_destroy(subgraph->graph_executor);
  if (subgraph->executor != NULL) {
    subgraph->provider->ort->latchkey->executor_destroy(subgraph->executor);
  }
  lk_graph_destroy(subgraph->graph);
  lk_free(lk_allocator_default(), subgraph->name);
  lk_free(lk_allocator_default(), subgraph);
}
