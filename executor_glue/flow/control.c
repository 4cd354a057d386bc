/* If: one of two bodies. And what Loop and Scan share with it. */
#include "base/status.h"
#include "executor_glue/flow/frame.h"

const lk_flow_value *lk_flow_captured(const lk_stage *stage, uint32_t body,
                                      const lk_flow_value *inputs) {
  const lk_node *node = stage->node;
  uint32_t first = node->n_inputs - lk_node_captured(node);
  for (uint32_t i = 0; i < stage->body_at[body]; i++) first += node->bodies[i].n_captured;
  return inputs + first;
}

lk_status lk_flow_if(lk_flow *flow, const lk_stage *stage, const lk_flow_call *call,
                     lk_flow_stage_frame *frame, const lk_flow_value *inputs,
                     lk_flow_value *outputs, lk_error *error) {
  bool condition = false;
  lk_flow_frame *of_body = NULL; /* only where there are more runs to come */
  (void)flow;
  LK_RETURN_NOT_OK(lk_flow_value_bool(&inputs[0], "the condition", &condition, error));
  const uint32_t body = condition ? 0 : 1;
  if (frame != NULL) {
    LK_RETURN_NOT_OK(lk_flow_frame_of_body(stage, body, frame, NULL, &of_body, error));
  }
  return call->run_body(stage->bodies[body], call, of_body, lk_flow_captured(stage, body, inputs),
                        NULL, outputs, error);
}
