/* Makes the flows of bodies, and checks that they fit their nodes. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/flow/builder.h"
#include "executor_glue/flow/iteration.h"
#include "executor_glue/flow/lists.h"

/* Also notes what its outputs are, while its nodes have their attributes. */
static lk_status make_body(const lk_flow_builder *b, lk_stage *stage, uint32_t at,
                           const lk_graph_executor_options *options, lk_flow **out) {
  lk_status status = LK_OK;
  const lk_flow *flow = b->flow;
  lk_graph *graph = stage->node->bodies[at].graph;
  lk_tensor_desc *inputs = NULL;
  LK_TRY(lk_flow_body_inputs(b->shapes, stage, at, graph, &inputs, b->error));
  if (stage->kind == LK_STAGE_LOOP || stage->kind == LK_STAGE_SCAN) {
    LK_TRY(lk_flow_body_outputs(flow->api, graph, inputs, &stage->results, b->error));
  }
  LK_TRY(b->create(flow, b->left, graph, inputs, options, out, b->error));
cleanup:
  lk_free(flow->allocator, inputs);
  return status;
}

/* How many inputs and outputs a body has must fit what the node has. */
static lk_status check_body(const lk_flow_builder *b, const lk_stage *stage, uint32_t body,
                            size_t n_inputs, size_t n_outputs) {
  const lk_graph *graph = stage->bodies[body]->graph;
  const size_t own = graph->n_inputs - stage->n_captured[body];
  if (own == n_inputs && graph->n_outputs == n_outputs) return LK_OK;
  return lk_fail(
      b->error, LK_MALFORMED,
      "failed to read it: its body has %zu inputs and %zu outputs, %zu and %zu are required", own,
      graph->n_outputs, n_inputs, n_outputs);
}

static lk_status check_bodies(const lk_flow_builder *b, const lk_stage *stage) {
  const lk_node *node = stage->node;
  const uint32_t own = node->n_inputs - lk_node_captured(node);
  switch (stage->kind) {
  case LK_STAGE_IF:
    if (own != 1) {
      return lk_fail(b->error, LK_MALFORMED, "failed to read it: it has %u inputs, one is required",
                     own);
    }
    LK_RETURN_NOT_OK(check_body(b, stage, 0, 0, node->n_outputs));
    return check_body(b, stage, 1, 0, node->n_outputs);
  case LK_STAGE_LOOP:
    if (own < 2 || node->n_outputs + 2 < own) {
      return lk_fail(b->error, LK_MALFORMED,
                     "failed to read it: it has %u inputs and %u outputs, which do not make a "
                     "loop; two inputs are "
                     "required, and one with an output for each carried value",
                     own, node->n_outputs);
    }
    return check_body(b, stage, 0, own, (size_t)node->n_outputs + 1);
  default:
    return node->n_bodies == 0 ? LK_OK : check_body(b, stage, 0, own, node->n_outputs);
  }
}

lk_status lk_flow_make_bodies(const lk_flow_builder *b, lk_stage *stage) {
  const lk_node *node = stage->node;
  const char *const names[2] = {stage->kind == LK_STAGE_IF ? "then_branch" : "body", "else_branch"};
  const bool has_none = stage->kind == LK_STAGE_LIST && !lk_flow_list_has_body(stage->list_op);
  const uint32_t count = has_none ? 0 : stage->kind == LK_STAGE_IF ? 2 : 1;
  lk_graph_executor_options options = *b->options;
  options.max_runs = 0;
  if (node->n_bodies > count) {
    return lk_fail(b->error, LK_MALFORMED,
                   "failed to read it: it has %u graphs as attributes, at most %u may be there",
                   node->n_bodies, count);
  }
  for (uint32_t i = 0; i < count; i++) {
    uint32_t at = 0;
    while (at < node->n_bodies && strcmp(node->bodies[at].name, names[i]) != 0) at++;
    if (at == node->n_bodies) {
      return lk_fail(b->error, LK_MALFORMED,
                     "failed to read it: attribute '%s' is missing, it is required", names[i]);
    }
    /* those of If follow each other among the captured values in the order of the node's */
    stage->body_at[i] = at;
    stage->n_captured[i] = node->bodies[at].n_captured;
    LK_RETURN_NOT_OK(make_body(b, stage, at, &options, &stage->bodies[i]));
  }
  return check_bodies(b, stage);
}
