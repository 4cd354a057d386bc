/* Removes nodes none of whose outputs is used. */
#include "base/status.h"
#include "executor_glue/graph/step.h"
#include "executor_glue/passes/rewrite.h"

lk_status lk_pass_dead_nodes(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                             lk_error *error) {
  (void)env;
  /* Backwards: what only dead nodes use is dead by the time that it is reached. */
  for (size_t n = graph->n_nodes; n-- > 0;) {
    LK_RETURN_NOT_OK(lk_step(error));
    if (graph->nodes[n].dead || lk_node_is_used(graph, &graph->nodes[n], 0)) continue;
    lk_graph_remove_node(graph, (int32_t)n);
    ++*out_changes;
  }
  return LK_OK;
}
