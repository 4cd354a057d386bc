/* Removes nodes none of whose outputs is used. */
#include "executor_glue/passes/pass.h"

lk_status lk_pass_dead_nodes(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                             lk_error *error) {
  (void)env;
  (void)error;
  /* Backwards: what only dead nodes use is dead by the time that it is reached. */
  for (size_t n = graph->n_nodes; n-- > 0;) {
    const lk_node *node = &graph->nodes[n];
    bool used = node->dead;
    for (uint32_t i = 0; i < node->n_outputs && !used; i++) {
      used = node->outputs[i] != LK_NO_VALUE && graph->values[node->outputs[i]].n_uses > 0;
    }
    if (used) continue;
    lk_graph_remove_node(graph, (int32_t)n);
    ++*out_changes;
  }
  return LK_OK;
}
