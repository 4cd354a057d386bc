/* Tells bodies of nodes from a model's graph. */
#include "executor_glue/ort/body.h"

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/ort/lists.h"
#include "executor_glue/ort/tensor.h"

/* No inputs, or the number of the iteration and whether to go on. */
static lk_status has_inputs_of_body(const lk_ort *ort, const OrtGraph *graph, bool *out,
                                    lk_error *error) {
  static const uint32_t of_loop[] = {LK_I64, LK_BOOL};
  lk_status status = LK_OK;
  lk_ort_values inputs = {0};
  LK_TRY(lk_ort_graph_inputs(ort, lk_allocator_default(), graph, &inputs, error));
  *out = inputs.count != 1;
  for (size_t i = 0; i < 2 && inputs.count >= 2; i++) {
    const OrtTensorTypeAndShapeInfo *info = NULL;
    uint32_t dtype = 0;
    size_t rank = 0;
    LK_TRY(lk_ort_value_type(ort, inputs.items[i], &info, &dtype, &rank, error));
    if (dtype != of_loop[i] || rank != 0) *out = false;
  }
cleanup:
  lk_free(lk_allocator_default(), (void *)inputs.items);
  return status;
}

static lk_status node_reads_outside(const lk_ort *ort, const OrtNode *node, bool *out,
                                    lk_error *error) {
  lk_status status = LK_OK;
  lk_ort_values inputs = {0};
  LK_TRY(lk_ort_node_inputs(ort, lk_allocator_default(), node, &inputs, error));
  for (size_t i = 0; i < inputs.count && !*out; i++) {
    if (inputs.items[i] == NULL) continue;
    LK_TRY(lk_ort_check(ort, ort_ValueInfo_IsFromOuterScope(ort->api)(inputs.items[i], out),
                        "look for values of an outer graph", error));
  }
cleanup:
  lk_free(lk_allocator_default(), (void *)inputs.items);
  return status;
}

static lk_status reads_outside(const lk_ort *ort, const OrtGraph *graph, bool *out,
                               lk_error *error) {
  lk_status status = LK_OK;
  lk_ort_nodes nodes = {0};
  *out = false;
  LK_TRY(lk_ort_graph_nodes(ort, lk_allocator_default(), graph, &nodes, error));
  for (size_t i = 0; i < nodes.count && !*out; i++) {
    LK_TRY(node_reads_outside(ort, nodes.items[i], out, error));
  }
cleanup:
  lk_free(lk_allocator_default(), (void *)nodes.items);
  return status;
}

lk_status lk_ort_is_body(const lk_ort *ort, const OrtGraph *graph, bool *out, lk_error *error) {
  const OrtNode *parent = NULL;
  LK_RETURN_NOT_OK(lk_ort_check(ort, ort_Graph_GetParentNode(ort->api)(graph, &parent),
                                "look for a graph's parent", error));
  *out = parent != NULL;
  if (*out || lk_ort_knows_bodies(ort)) return LK_OK;
  LK_RETURN_NOT_OK(has_inputs_of_body(ort, graph, out, error));
  return *out ? LK_OK : reads_outside(ort, graph, out, error);
}
