/* From a node and the shapes of its inputs to a plan. */
#pragma once

#include "ops/plan/plan_body.h"

/* What a node is planned for: `inputs`, `wishes` and `in_place_input` as in lk_bind_desc. */
typedef struct lk_plan_request {
  const lk_tensor *inputs;
  const lk_layout *wishes;
  int32_t in_place_input;
  lk_plan_use use;
  lk_plan_asks asks;
} lk_plan_request;

lk_status lk_plan_build(lk_ops_env *env, const lk_op_node *node, const lk_plan_request *request,
                        lk_plan_body **out_body, lk_error *error);
/* The plan of a node whose shapes are known only when it runs: no steps, only what is certain about
 * the outputs. Their layout is LK_LAYOUT_ANY, which no other plan has. Somebody compares it. */
lk_status lk_plan_defer(lk_ops_env *env, const lk_op_node *node, const lk_plan_request *request,
                        lk_plan_body **out_body, lk_error *error);
