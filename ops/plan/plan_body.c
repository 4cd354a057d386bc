/* The bodies of plans: made empty, filled by a planner, then immutable. */
#include "ops/plan/plan_body.h"

#include "base/alloc.h"
#include "base/status.h"

lk_status lk_plan_body_create(lk_ops_env *env, const lk_op_node *node, const lk_layout *wishes,
                              int32_t threads, lk_plan_body **out_body, lk_error *error) {
  *out_body = NULL;
  lk_status status = LK_OK;
  lk_plan_body *body = lk_calloc(env->allocator, 1, sizeof *body);
  if (body == NULL) return lk_fail_memory(error, "a plan", sizeof *body);
  body->env = env;
  body->threads = threads;
  body->alias_input = -1;
  body->in_place_input = -1;
  body->implementation = "";
  body->n_inputs = node->n_inputs;
  body->n_outputs = node->n_outputs;
  body->inputs = lk_calloc(env->allocator, node->n_inputs, sizeof *body->inputs);
  body->outputs = lk_calloc(env->allocator, node->n_outputs, sizeof *body->outputs);
  body->wishes = lk_calloc(env->allocator, node->n_outputs, sizeof *body->wishes);
  body->bytes = sizeof *body + node->n_inputs * sizeof *body->inputs +
                node->n_outputs * (sizeof *body->outputs + sizeof *body->wishes);
  if (body->inputs == NULL || body->outputs == NULL || body->wishes == NULL) {
    LK_TRY(lk_fail_memory(error, "a plan", (size_t)body->bytes));
  }
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    body->wishes[i] = wishes != NULL ? wishes[i] : LK_LAYOUT_ANY;
  }
  *out_body = body;
  body = NULL;
cleanup:
  lk_plan_body_destroy(body);
  return status;
}

void lk_plan_body_destroy(lk_plan_body *body) {
  if (body == NULL) return;
  const lk_allocator *allocator = body->env->allocator;
  for (uint32_t i = 0; i < body->n_primitives; i++) lk_ref_release(body->primitives[i]);
  for (uint32_t i = 0; i < body->n_packed; i++) lk_packed_release(body->packed[i]);
  for (uint32_t i = 0; i < body->n_params; i++) lk_free(allocator, body->params[i]);
  lk_free(allocator, body->steps);
  lk_free(allocator, body->args);
  lk_free(allocator, body->primitives);
  lk_free(allocator, body->packed);
  lk_free(allocator, body->temps);
  lk_free(allocator, body->params);
  lk_free(allocator, body->inputs);
  lk_free(allocator, body->outputs);
  lk_free(allocator, body->wishes);
  lk_free(allocator, body);
}
