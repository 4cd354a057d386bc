/* What keeps a model from running: loads it leniently, and asks about each node. */
#include "executor_glue/session/missing.h"

#include "base/status.h"
#include "executor_glue/flow/lists.h"
#include "executor_glue/onnx/load.h"
#include "executor_glue/passes/pass.h"

/* The sentences of a lenient load, whose functions cannot fail. */
typedef struct listener {
  const lk_missing_told *told;
  lk_status status; /* of the first that failed */
  lk_error error;
} listener;

static void hear(void *arg, const char *sentence) {
  listener *self = arg;
  if (self->status != LK_OK) return;
  self->status = self->told->other(self->told->arg, sentence, &self->error);
}

/* Before passes have rewritten the node. */
static lk_status tell_attribute(void *arg, const lk_graph *graph, const lk_node *node,
                                const char *sentence, lk_error *error) {
  const lk_missing_told *told = arg;
  const lk_missing_node missing = {.op_type = node->op_type,
                                   .domain = node->domain,
                                   .opset = node->opset,
                                   .scope = graph->scope,
                                   .label = lk_node_label(graph, node),
                                   .types = "",
                                   .reason = sentence};
  return told->node(told->arg, &missing, error);
}

/* A run gives tensors. */
static lk_status check_outputs(const lk_graph *graph, const lk_missing_told *told,
                               lk_error *error) {
  for (size_t i = 0; i < graph->n_outputs; i++) {
    lk_error sentence;
    if (lk_flow_check_output(graph, i, &sentence) == LK_OK) continue;
    LK_RETURN_NOT_OK(told->other(told->arg, sentence.message, error));
  }
  return LK_OK;
}

static lk_status tell_unread(void *arg, lk_status status, const char *sentence, lk_error *error) {
  const lk_missing_told *told = arg;
  (void)status; /* what is missing is told, and refuses nothing */
  return told->other(told->arg, sentence, error);
}

lk_status lk_model_find_missing(lk_context *context, const char *path,
                                const lk_session_options *options, const lk_missing_told *told,
                                lk_error *error) {
  lk_status status = LK_OK;
  const lk_api *api = lk_get_api(LK_API_VERSION);
  lk_onnx_model *model = NULL;
  lk_graph *graph = NULL;
  listener ear = {.told = told};
  const lk_onnx_lenience lenience = {hear, &ear};
  const lk_told_attributes attributes = {tell_attribute, (void *)(uintptr_t)told};
  const lk_pass_env env = {.api = api,
                           .context = context,
                           .max_folded_bytes = options->max_folded_bytes,
                           .told_attributes = &attributes};
  LK_TRY(lk_onnx_load_leniently(api->context_allocator(context), context, path, &lenience, &model,
                                &graph, error));
  if (ear.status != LK_OK) LK_TRY(lk_fail(error, ear.status, "%s", ear.error.message));
  LK_TRY(lk_graph_fix_dims(graph, options->fixed_dims, options->n_fixed_dims, error));
  LK_TRY(lk_passes_run(&env, graph, options->disabled_passes, options->n_disabled_passes, NULL,
                       error));
  LK_TRY(lk_graph_visit_unread(graph, tell_unread, (void *)(uintptr_t)told, error));
  LK_TRY(lk_flow_find_missing(api, graph, told->node, told->arg, error));
  LK_TRY(check_outputs(graph, told, error));
cleanup:
  lk_graph_destroy(graph);
  lk_onnx_model_release(model);
  return status;
}
