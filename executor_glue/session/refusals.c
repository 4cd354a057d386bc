/* What the passes have left of a session's model: found by running them once more, on a graph that
 * is read again, since a session's own has no attributes any more. */
#include "base/require.h"
#include "base/status.h"
#include "executor_glue/passes/pass.h"
#include "executor_glue/session/session.h"

static lk_status find(const lk_session *session, lk_graph *graph, lk_refusals *refusals,
                      lk_error *error) {
  const lk_session_options *options = &session->options;
  const lk_pass_env env = {.api = session->api,
                           .context = session->context,
                           .max_folded_bytes = options->max_folded_bytes,
                           .refusals = refusals};
  LK_RETURN_NOT_OK(lk_passes_run(&env, graph, options->disabled_passes, options->n_disabled_passes,
                                 NULL, error));
  return lk_passes_try_disabled(&env, graph, options->disabled_passes, options->n_disabled_passes,
                                error);
}

lk_status lk_session_visit_refusals(lk_session *session, lk_refusal_fn visit, void *arg,
                                    lk_error *error) {
  lk_status status = LK_OK;
  lk_graph *graph = NULL;
  lk_refusals refusals;
  LK_REQUIRE("refusals_visit", error, session, visit);
  lk_refusals_begin(&refusals, session->allocator);
  LK_TRY(lk_onnx_model_read(session->model, session->context, &graph, error));
  LK_TRY(
      lk_graph_fix_dims(graph, session->options.fixed_dims, session->options.n_fixed_dims, error));
  LK_TRY(find(session, graph, &refusals, error));
  lk_graph_destroy(graph);
  graph = NULL;
  lk_onnx_model_drop_pages(session->model);
  lk_refusals_show(&refusals, visit, arg);
cleanup:
  lk_graph_destroy(graph);
  lk_refusals_end(&refusals);
  return status;
}
