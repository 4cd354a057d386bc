/* What one iteration of a Loop or Scan leaves, as far as it is known before any run. */
#include "executor_glue/flow/iteration.h"

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"

enum { TRIPS = 0, CONDITION = 1 }; /* of a Loop's body */

static const lk_tensor_desc UNKNOWN = {.rank = LK_RANK_UNKNOWN};

/* Names of dimensions mean nothing in another graph. */
static lk_tensor_desc without_names(const lk_tensor_desc *desc) {
  lk_tensor_desc out = *desc;
  for (uint32_t i = 0; out.rank != LK_RANK_UNKNOWN && i < out.rank; i++) {
    if (out.dims[i] < 0) out.dims[i] = -1;
  }
  return out;
}

static lk_tensor_desc from_around(const lk_symbolic_shapes *around, int32_t value) {
  lk_tensor_desc desc;
  if (value == LK_NO_VALUE || !lk_symbolic_shape_desc(around, value, &desc)) return UNKNOWN;
  return without_names(&desc);
}

/* A value that a loop carries on has the type of the first, and maybe another shape. */
static lk_tensor_desc carried(const lk_symbolic_shapes *around, int32_t value) {
  lk_tensor_desc desc = from_around(around, value);
  for (uint32_t i = 0; desc.rank != LK_RANK_UNKNOWN && i < desc.rank; i++) desc.dims[i] = -1;
  return desc;
}

static lk_tensor_desc slice(const lk_symbolic_shapes *around, int32_t value, int64_t axis) {
  const lk_tensor_desc whole = from_around(around, value);
  if (whole.rank == LK_RANK_UNKNOWN || whole.rank == 0) return whole;
  lk_tensor_desc out = {.dtype = whole.dtype, .rank = whole.rank - 1};
  if (axis < 0) axis += whole.rank;
  for (uint32_t i = 0, n = 0; i < whole.rank; i++) {
    if (i != axis && n < out.rank) out.dims[n++] = whole.dims[i];
  }
  return out;
}

/* Input `i` of the body, which is one of its own. */
static lk_tensor_desc own_input(const lk_symbolic_shapes *around, const lk_stage *stage, size_t i) {
  const lk_node *node = stage->node;
  const size_t own = node->n_inputs - lk_node_captured(node);
  if (stage->kind == LK_STAGE_LOOP) {
    if (i == TRIPS) return lk_tensor_desc_make(LK_I64, 0, NULL);
    if (i == CONDITION) return lk_tensor_desc_make(LK_BOOL, 0, NULL);
    return i < own ? carried(around, node->inputs[i]) : UNKNOWN;
  }
  if (stage->kind != LK_STAGE_SCAN || i >= own) return UNKNOWN;
  const int32_t value = node->inputs[i];
  const size_t n_states = own - stage->n_scan_inputs;
  return i < n_states ? from_around(around, value)
                      : slice(around, value, stage->scan_inputs[i - n_states].axis);
}

lk_status lk_flow_body_inputs(const lk_symbolic_shapes *around, const lk_stage *stage,
                              uint32_t body, const lk_graph *graph, lk_tensor_desc **out,
                              lk_error *error) {
  const lk_node *node = stage->node;
  const size_t n_captured = node->bodies[body].n_captured, own = graph->n_inputs - n_captured;
  size_t captured = node->n_inputs - lk_node_captured(node);
  for (uint32_t i = 0; i < body; i++) captured += node->bodies[i].n_captured;
  *out = lk_calloc(graph->allocator, graph->n_inputs, sizeof **out);
  if (*out == NULL) return lk_fail_memory(error, "shapes of a body", graph->n_inputs);
  for (size_t i = 0; i < graph->n_inputs; i++) {
    const lk_declaration *declared = graph->values[graph->inputs[i]].declared;
    (*out)[i] = i < own ? own_input(around, stage, i)
                        : from_around(around, node->inputs[captured + i - own]);
    if ((*out)[i].dtype == LK_DTYPE_NONE && declared != NULL) (*out)[i].dtype = declared->dtype;
  }
  return LK_OK;
}

lk_status lk_flow_body_outputs(const lk_api *api, const lk_graph *graph,
                               const lk_tensor_desc *inputs, lk_tensor_desc **out,
                               lk_error *error) {
  lk_symbolic_shapes *shapes = NULL;
  *out = lk_calloc(graph->allocator, graph->n_outputs, sizeof **out);
  if (*out == NULL) return lk_fail_memory(error, "shapes of a body", graph->n_outputs);
  LK_RETURN_NOT_OK(lk_symbolic_shapes_of_body(api, graph, inputs, &shapes, error));
  for (size_t i = 0; i < graph->n_outputs; i++) {
    const lk_declaration *declared = graph->values[graph->outputs[i]].declared;
    lk_tensor_desc *to = &(*out)[i];
    *to = from_around(shapes, graph->outputs[i]);
    if (declared == NULL) continue;
    if (to->dtype == LK_DTYPE_NONE) to->dtype = declared->dtype;
    if (to->rank == LK_RANK_UNKNOWN && declared->rank >= 0) {
      *to = lk_tensor_desc_make(to->dtype, (uint32_t)declared->rank, declared->dims);
    }
    const bool is_like = to->rank != LK_RANK_UNKNOWN && (int32_t)to->rank == declared->rank;
    for (uint32_t d = 0; is_like && d < to->rank; d++) {
      if (to->dims[d] < 0) to->dims[d] = declared->dims[d];
    }
  }
  lk_symbolic_shapes_destroy(shapes);
  return LK_OK;
}

lk_status lk_flow_describe_none(const lk_stage *stage, size_t index, lk_tensor_desc *out,
                                lk_error *error) {
  const lk_tensor_desc *known = &stage->results[index];
  if (known->dtype == LK_DTYPE_NONE) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to make scan output %zu of no iterations: its type is not known; "
                   "declare the type of that output in the body",
                   index);
  }
  *out = *known;
  if (out->rank == LK_RANK_UNKNOWN) *out = lk_tensor_desc_make(known->dtype, 0, NULL);
  for (uint32_t i = 0; i < out->rank; i++) {
    if (out->dims[i] < 0) out->dims[i] = 0;
  }
  return LK_OK;
}
