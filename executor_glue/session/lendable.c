/* Which constants operators may read where they lie in the model's file. */
#include "base/tensor.h"
#include "executor_glue/session/session.h"

static bool is_lendable(const lk_value *value) {
  int64_t bytes = 0;
  return value->constant_kind == LK_CONSTANT_MAPPED &&
         lk_tensor_size(&value->constant.desc, "a constant", NULL, &bytes, NULL) == LK_OK &&
         (uint64_t)bytes >= LK_LENT_LEAST_BYTES;
}

bool lk_session_has_lendable(const lk_graph *graph) {
  for (size_t i = 0; i < graph->n_values; i++) {
    if (is_lendable(&graph->values[i])) return true;
  }
  for (size_t n = 0; n < graph->n_nodes; n++) {
    for (uint32_t b = 0; b < graph->nodes[n].n_bodies; b++) {
      if (lk_session_has_lendable(graph->nodes[n].bodies[b].graph)) return true;
    }
  }
  return false;
}
