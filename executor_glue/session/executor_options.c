/* What the options of a session say to its executors. */
#include "executor_glue/session/session.h"

lk_graph_executor_options lk_session_executor_options(const lk_api *api,
                                                      const lk_session_options *options) {
  const bool fails = options->when_busy == LK_WHEN_BUSY_FAIL;
  const uint32_t processors = (uint32_t)api->processors_get();
  const uint32_t inter = options->inter > 0 ? (uint32_t)options->inter : processors;
  return (lk_graph_executor_options){
      .run_plans = options->run_plans >= 0,
      .workers = options->executor == LK_EXECUTOR_PARALLEL ? inter : 1,
      .max_runs = fails && options->max_runs == 0 ? processors : options->max_runs,
      .fail_busy = fails};
}
