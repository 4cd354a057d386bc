/* Tells bodies of nodes from a model's graph. */
#include "executor_glue/ort/body.h"

#include <latchkey/latchkey.h>

#include "base/alloc.h"
#include "base/status.h"

static const char what[] = "look for a graph's parent";

/* No inputs, or the number of the iteration and whether to go on. */
static lk_status has_inputs_of_body(const lk_ort *ort, const OrtGraph *graph, bool *out,
                                    lk_error *error) {
  lk_status status = LK_OK;
  size_t count = 0;
  const OrtValueInfo **inputs = NULL;
  uint32_t dtypes[2] = {0};
  size_t ranks[2] = {0};
  LK_TRY(lk_ort_check(ort, ort_Graph_GetNumInputs(ort->api)(graph, &count), what, error));
  *out = count == 0;
  if (count < 2) return LK_OK;
  inputs = lk_calloc(lk_allocator_default(), count, sizeof *inputs);
  if (inputs == NULL) return lk_fail_memory(error, "a graph's inputs", count * sizeof *inputs);
  LK_TRY(lk_ort_check(ort, ort_Graph_GetInputs(ort->api)(graph, inputs, count), what, error));
  for (size_t i = 0; i < 2; i++) {
    const OrtTensorTypeAndShapeInfo *info = NULL;
    LK_TRY(lk_ort_tensor_type(ort, inputs[i], &info, &dtypes[i], &ranks[i], error));
  }
  *out = dtypes[0] == LK_I64 && dtypes[1] == LK_BOOL && ranks[0] == 0 && ranks[1] == 0;
cleanup:
  lk_free(lk_allocator_default(), (void *)inputs);
  return status;
}

static lk_status node_reads_outside(const lk_ort *ort, const OrtNode *node, bool *out,
                                    lk_error *error) {
  lk_status status = LK_OK;
  size_t count = 0;
  const OrtValueInfo **inputs = NULL;
  LK_TRY(lk_ort_check(ort, ort_Node_GetNumInputs(ort->api)(node, &count), what, error));
  if (count == 0) return LK_OK;
  inputs = lk_calloc(lk_allocator_default(), count, sizeof *inputs);
  if (inputs == NULL) return lk_fail_memory(error, "a node's inputs", count * sizeof *inputs);
  LK_TRY(lk_ort_check(ort, ort_Node_GetInputs(ort->api)(node, inputs, count), what, error));
  for (size_t i = 0; i < count && !*out; i++) {
    if (inputs[i] == NULL) continue;
    LK_TRY(
        lk_ort_check(ort, ort_ValueInfo_IsFromOuterScope(ort->api)(inputs[i], out), what, error));
  }
cleanup:
  lk_free(lk_allocator_default(), (void *)inputs);
  return status;
}

static lk_status reads_outside(const lk_ort *ort, const OrtGraph *graph, bool *out,
                               lk_error *error) {
  lk_status status = LK_OK;
  size_t count = 0;
  const OrtNode **nodes = NULL;
  *out = false;
  LK_TRY(lk_ort_check(ort, ort_Graph_GetNumNodes(ort->api)(graph, &count), what, error));
  if (count == 0) return LK_OK;
  nodes = lk_calloc(lk_allocator_default(), count, sizeof *nodes);
  if (nodes == NULL) return lk_fail_memory(error, "a graph's nodes", count * sizeof *nodes);
  LK_TRY(lk_ort_check(ort, ort_Graph_GetNodes(ort->api)(graph, nodes, count), what, error));
  for (size_t i = 0; i < count && !*out; i++) {
    LK_TRY(node_reads_outside(ort, nodes[i], out, error));
  }
cleanup:
  lk_free(lk_allocator_default(), (void *)nodes);
  return status;
}

lk_status lk_ort_is_body(const lk_ort *ort, const OrtGraph *graph, bool *out, lk_error *error) {
  lk_status status = LK_OK;
  const OrtNode *parent = NULL;
  LK_TRY(lk_ort_check(ort, ort_Graph_GetParentNode(ort->api)(graph, &parent), what, error));
  *out = parent != NULL;
  if (*out || lk_ort_knows_bodies(ort)) return LK_OK;
  LK_TRY(has_inputs_of_body(ort, graph, out, error));
  if (!*out) status = reads_outside(ort, graph, out, error);
cleanup:
  return status;
}
