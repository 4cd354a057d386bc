/* Makes an executor of the nodes that were fused: imports them, runs the passes, and packs what can
 * be packed already. */
#include "executor_glue/ort/subgraph.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/ort/import.h"
#include "executor_glue/passes/pass.h"

static lk_status copy_name(const lk_ort *ort, const OrtNode *fused, char **out, lk_error *error) {
  const char *name = NULL;
  LK_RETURN_NOT_OK(lk_ort_check(ort, ort_Node_GetName(ort->api)(fused, &name),
                                "read a fused node's name", error));
  if (name == NULL) name = "";
  *out = lk_strdup(lk_allocator_default(), name);
  return *out != NULL ? LK_OK : lk_fail_memory(error, "a subgraph's name", strlen(name));
}

/* Nodes are bound one by one before they are claimed, so this is of the group as a whole. It may be
 * a limit that has room when the first run comes, which tries again and tells its caller. */
static void warn_unprepared(const lk_ort_subgraph *subgraph, const lk_error *why) {
  const OrtLogger *logger = subgraph->context->owner->logger;
  char line[sizeof why->message + 256];
  (void)snprintf(line, sizeof line, "failed to prepare %.128s before its first run: %s",
                 subgraph->name, why->message);
  if (logger != NULL) lk_ort_log(subgraph->context->ort, logger, ORT_LOGGING_LEVEL_WARNING, line);
}

static lk_status make_executor(lk_ort_subgraph *subgraph, const lk_ort_options *options,
                               lk_error *error) {
  const lk_pass_env env = {.api = subgraph->context->ort->latchkey,
                           .context = subgraph->context->handle,
                           .refusals = &subgraph->refusals};
  LK_RETURN_NOT_OK(lk_passes_run(&env, subgraph->graph, options->disabled_passes,
                                 options->n_disabled_passes, NULL, error));
  const lk_graph_executor_options how = {.run_plans = true, .workers = 1};
  LK_RETURN_NOT_OK(lk_graph_executor_create(env.api, env.context, subgraph->executor,
                                            subgraph->graph, &how, &subgraph->graph_executor,
                                            error));
  /* With fixed shapes, packs the weights and builds everything now. */
  lk_error unprepared;
  const lk_status status = lk_graph_executor_prepare(subgraph->graph_executor, &unprepared);
  if (status == LK_OUT_OF_MEMORY && error != NULL) *error = unprepared;
  if (status == LK_OUT_OF_MEMORY) return status;
  if (status != LK_OK) warn_unprepared(subgraph, &unprepared);
  return LK_OK;
}

lk_status lk_ort_subgraph_create(const lk_ort_context *context, const lk_ort_options *options,
                                 const OrtGraph *graph, const OrtNode *fused, lk_ort_subgraph **out,
                                 lk_error *error) {
  lk_status status = LK_OK;
  const lk_api *latchkey = context->ort->latchkey;
  lk_ort_import import = {0};
  *out = NULL;
  lk_ort_subgraph *made = lk_calloc(lk_allocator_default(), 1, sizeof *made);
  if (made == NULL) return lk_fail_memory(error, "a subgraph", sizeof *made);
  made->context = context;
  lk_refusals_begin(&made->refusals, lk_allocator_default());
  LK_TRY(copy_name(context->ort, fused, &made->name, error));
  LK_TRY(lk_ort_import_create(context, graph, fused, &import, error));
  made->graph = import.graph;
  import.graph = NULL;
  made->n_nodes = import.n_nodes;
  made->threads = latchkey->context_threads(context->handle);
  LK_TRY(latchkey->executor_create(context->handle, made->name, &made->executor, error));
  LK_TRY(make_executor(made, options, error));
  *out = made;
  made = NULL;
cleanup:
  lk_ort_import_destroy(&import);
  lk_ort_subgraph_destroy(made);
  return status;
}

void lk_ort_subgraph_destroy(lk_ort_subgraph *subgraph) {
  if (subgraph == NULL) return;
  lk_kept_run_end(subgraph->kept);
  lk_labels_release(atomic_load(&subgraph->labels));
  lk_graph_executor_destroy(subgraph->graph_executor);
  subgraph->context->ort->latchkey->executor_destroy(subgraph->executor);
  lk_refusals_end(&subgraph->refusals);
  lk_graph_destroy(subgraph->graph);
  lk_free(lk_allocator_default(), subgraph->name);
  lk_free(lk_allocator_default(), subgraph);
}
