/* If whose condition is a constant: the nodes of the branch that it takes come into the graph
 * around it, and the other branch goes. A branch within that branch is decided in the same way. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/graph/graph_inline.h"
#include "executor_glue/graph/step.h"
#include "executor_glue/passes/rewrite.h"

/* The attribute's name of the body that is taken; NULL: that is not known. */
static const char *branch_of(const lk_graph *graph, const lk_node *node) {
  if (!lk_node_is(node, "If") || node->n_inputs != 1 + lk_node_captured(node)) return NULL;
  if (!lk_value_is_constant(graph, node->inputs[0])) return NULL;
  const lk_value *condition = &graph->values[node->inputs[0]];
  const lk_tensor_desc *desc = &condition->constant.desc;
  if (desc->dtype != LK_BOOL || lk_elements(desc) != 1) return NULL;
  return lk_constant_number(condition, 0) != 0 ? "then_branch" : "else_branch";
}

/* Which of the node's bodies has this name and gives all outputs; -1: none. */
static int find_body(const lk_node *node, const char *name) {
  for (uint32_t i = 0; i < node->n_bodies; i++) {
    const lk_body *body = &node->bodies[i];
    if (strcmp(body->name, name) != 0) continue;
    const bool fits =
        body->graph->n_outputs == node->n_outputs && body->graph->n_inputs == body->n_captured;
    return fits ? (int)i : -1;
  }
  return -1;
}

/* A node that copies what the branch gives to what If gave: the pass "identity" removes it where
 * that can be. */
static lk_status copy_output(lk_graph *graph, int32_t from, int32_t to, lk_error *error) {
  int32_t index = LK_NO_NODE;
  LK_RETURN_NOT_OK(lk_graph_add_node(graph, 1, 1, 0, &index, error));
  graph->nodes[index].op_type = "Identity";
  graph->nodes[index].opset = LK_MAX_OPSET;
  lk_node_set_input(graph, index, 0, from);
  lk_node_set_output(graph, index, 0, to);
  return LK_OK;
}

static lk_status take_branch(lk_graph *graph, int32_t number, uint32_t body, lk_value_names *names,
                             lk_error *error) {
  lk_status status = LK_OK;
  const uint32_t n_outputs = graph->nodes[number].n_outputs;
  int32_t *given = lk_calloc(graph->allocator, n_outputs, sizeof *given);
  if (given == NULL) return lk_fail_memory(error, "the outputs of a branch", n_outputs);
  LK_TRY(lk_graph_inline_body(graph, number, body, NULL, names, given, error));
  for (uint32_t i = 0; i < n_outputs; i++) {
    const int32_t to = graph->nodes[number].outputs[i];
    if (to != LK_NO_VALUE) LK_TRY(copy_output(graph, given[i], to, error));
  }
  lk_graph_remove_node(graph, number);
cleanup:
  lk_free(graph->allocator, given);
  return status;
}

lk_status lk_pass_known_branches(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                                 lk_error *error) {
  lk_status status = LK_OK;
  lk_value_names names = {0}; /* found when the first branch is taken */
  /* also those that come in meanwhile */
  for (size_t n = 0; n < graph->n_nodes; n++) {
    LK_RETURN_NOT_OK(lk_step(error));
    const char *name = branch_of(graph, &graph->nodes[n]);
    const int body = name != NULL ? find_body(&graph->nodes[n], name) : -1;
    if (body < 0) continue;
    LK_TRY(env->api->thread_look(error));
    if (names.slots == NULL) LK_TRY(lk_graph_index_names(graph, &names, error));
    LK_TRY(take_branch(graph, (int32_t)n, (uint32_t)body, &names, error));
    ++*out_changes;
  }
cleanup:
  lk_value_names_destroy(&names);
  return status;
}
