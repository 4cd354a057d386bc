/* Binds a node to the shapes that it is declared with, and lets go of the plan. */
#include "executor_glue/ort/trial.h"

#include "base/status.h"

bool lk_ort_shape_is_known(const lk_tensor_desc *desc) {
  if (desc->dtype == LK_DTYPE_NONE) return true;
  if (desc->rank == LK_RANK_UNKNOWN) return false;
  for (uint32_t i = 0; i < desc->rank; i++) {
    if (desc->dims[i] < 0) return false;
  }
  return true;
}

lk_status lk_ort_try_bind(const lk_api *api, lk_executor *executor, const lk_node_desc *node,
                          const lk_tensor *inputs, lk_error *error) {
  lk_status status = LK_OK;
  lk_op *op = NULL;
  lk_plan *plan = NULL;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    if (!lk_ort_shape_is_known(&inputs[i].desc)) return LK_OK;
  }
  LK_TRY(api->op_create(executor, node, &op, error));
  const lk_bind_desc shapes = {.struct_size = sizeof shapes,
                               .inputs = inputs,
                               .n_inputs = node->n_inputs,
                               .n_outputs = node->n_outputs,
                               .in_place_input = -1,
                               .flags = LK_BIND_ONCE};
  status = api->op_bind(op, &shapes, &plan, error);
cleanup:
  if (plan != NULL) api->plan_release(plan);
  if (op != NULL) api->op_destroy(op);
  return status;
}
