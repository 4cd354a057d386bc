/* What the plans of a node have in common, whatever the size: its steps, which operands they have,
 * post-ops, packed constants. A further plan is then a copy, in which the operator sets what
 * depends on sizes (lk_op_class.resize), and costs a fraction of one that is built.
 *
 * It serves sizes that nothing but arithmetic depends on: inputs have the types, ranks and layouts
 * of the first plan's, and each dimension is 1 where it was 1 and more where it was more. So it is
 * certain which operands are broadcast, and along which dimensions. */
#pragma once

#include "ops/plan/plan_body.h"

typedef struct lk_pattern lk_pattern;

/* What `resize` of a class reads, and the step that it changes. */
struct lk_resizing {
  const lk_ops_env *env;
  const lk_op_node *node;
  const lk_tensor *inputs; /* as an lk_planner has them */
  const lk_tensor_desc *output;
  const void *found; /* what `infer` has left */
  lk_step *step;
  const lk_step_arg *args; /* of the step */
  void *params;            /* of the step, and what lies behind them */
};

/* From a plan of `node` for these inputs. NULL: it is not the kind of plan that has a pattern. The
 * node's constants must live longer; packed ones do not stay for its sake. */
lk_status lk_pattern_create(const lk_op_node *node, const lk_plan_body *body,
                            const lk_tensor *inputs, const lk_layout *wishes,
                            lk_pattern **out_pattern, lk_error *error);
void lk_pattern_destroy(lk_pattern *pattern); /* NULL is allowed */

/* Brings what lk_pattern_resize reads into the processor's cache: the pattern, and then, once that
 * is there, what its packed constants are found by. */
void lk_pattern_prefetch(const lk_pattern *pattern);
void lk_pattern_prefetch_packed(const lk_pattern *pattern);

/* The plan that lk_plan_build would make, LK_PLAN_RUN. NULL: it must be built, or refused, by
 * that. Any thread. */
lk_status lk_pattern_resize(const lk_pattern *pattern, const lk_op_node *node,
                            const lk_tensor *inputs, const lk_layout *wishes,
                            int32_t in_place_input, lk_plan_body **out_body, lk_error *error);
