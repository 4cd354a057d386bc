/* op_infer: types and shapes of a node's outputs before there is an op, and tables of
 * dimensions. */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/require.h"
#include "base/status.h"
#include "base/team/float_state.h"
#include "base/tensor.h"
#include "ops/plan/values.h"
#include "plugin/internal.h"
#include "plugin/table.h"

lk_status lk_dims_new(const lk_allocator *allocator, lk_dims **out_dims, lk_error *error) {
  LK_REQUIRE("dims_create", error, allocator, out_dims);
  *out_dims = lk_dims_create(allocator);
  return *out_dims != NULL ? LK_OK : lk_fail_memory(error, "a table of dimensions", 1);
}

/* The dimensions that are known are those of a tensor that may exist, whatever the others turn out
 * to be: rules multiply them. */
static lk_status check_inputs(const lk_op_node *node, const lk_tensor *inputs, lk_error *error) {
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    lk_tensor_desc known = inputs[i].desc;
    if (lk_op_is_absent(node, i) || !lk_rank_is_known(&known)) continue;
    if (known.dtype == LK_DTYPE_NONE) known.dtype = LK_U8;
    for (uint32_t d = 0; d < known.rank && d < LK_MAX_RANK; d++) {
      if (known.dims[d] < 0) known.dims[d] = 1;
    }
    if (lk_tensor_size(&known, "an input", NULL, NULL, NULL) == LK_OK) continue;
    char what[24];
    (void)snprintf(what, sizeof what, "input %" PRIu32, i);
    LK_RETURN_NOT_OK(lk_tensor_size(&known, what, NULL, NULL, error));
  }
  return LK_OK;
}

lk_status lk_node_infer(lk_dims *dims, const lk_node_desc *given, const lk_tensor *inputs,
                        lk_tensor_desc *outputs, int32_t *out_copy_of, lk_error *error) {
  return lk_node_infer_values(dims, given, inputs, NULL, outputs, out_copy_of, NULL, error);
}

lk_status lk_node_infer_values(lk_dims *dims, const lk_node_desc *given, const lk_tensor *inputs,
                               const int64_t *const *values, lk_tensor_desc *outputs,
                               int32_t *out_copy_of, int64_t *out_values, lk_error *error) {
  LK_REQUIRE_AS("op_infer", "dims, node, outputs", error, dims, given, outputs);
  lk_status status = LK_OK;
  const lk_allocator *allocator = lk_dims_allocator(dims);
  lk_node_desc desc;
  lk_op_node node = {0};
  lk_inference inference = {
      .node = &node, .inputs = inputs, .values = values, .dims = dims, .outputs = outputs};
  const lk_float_state host_float = lk_float_begin(); /* attributes and scales are computed with */
  LK_TRY(lk_node_read(allocator, lk_dims_operators(dims), given, &desc, &node, error));
  node.output_name = desc.output_name;
  LK_TRY(check_inputs(&node, inputs, error));
  LK_TRY(lk_op_infer(&inference, error));
  if (out_copy_of != NULL) *out_copy_of = inference.copy_of;
  if (out_values != NULL) lk_values_infer(&inference, &desc, out_values);
  if (lk_dims_failed(dims)) status = lk_fail_memory(error, "terms of dimensions", 1);
cleanup:
  lk_float_end(host_float);
  lk_free(allocator, (void *)(uintptr_t)node.params);
  return status;
}
