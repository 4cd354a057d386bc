/* Runs a fused node: inputs are read where they are, outputs written where ONNX Runtime wants them. */
#include <string.h>

#include "executor_glue/ort/provider.h"
#include "plugin/base/alloc.h"
#include "plugin/base/status.h"
#include "plugin/base/tensor.h"

/* More are taken from the allocator. */
enum { INPUTS_ON_STACK = 16 };

/* What ONNX Runtime says of input `index`. Its type is the declared one: ONNX Runtime has seen to it. */
static lk_status read_input(const lk_ort *ort, const OrtKernelContext *context, size_t index,
                            uint32_t dtype, lk_tensor *out, lk_error *error) {
  static const char what[] = "read an input";
  const OrtApi *api = ort->api;
  lk_status status = LK_OK;
  const OrtValue *value = NULL;
  OrtTensorTypeAndShapeInfo *info = NULL;
  const void *data = NULL;
  size_t rank = 0;
  LK_TRY(lk_ort_check(ort, ort_KernelContext_GetInput(api)(context, index, &value), what, error));
  if (value == NULL) {
    return lk_fail(error, LK_INVALID_ARGUMENT, "failed to run: input %zu is missing", index);
  }
  LK_TRY(lk_ort_check(ort, ort_GetTensorTypeAndShape(api)(value, &info), what, error));
  LK_TRY(lk_ort_check(ort, ort_GetDimensionsCount(api)(info, &rank), what, error));
  if (rank > LK_MAX_RANK) {
    LK_TRY(lk_fail(error, LK_UNSUPPORTED, "failed to run: input %zu has rank %zu, at most %d",
                   index, rank, LK_MAX_RANK));
  }
  memset(out, 0, sizeof *out);
  out->desc.dtype = dtype;
  out->desc.rank = (uint32_t)rank;
  LK_TRY(lk_ort_check(ort, ort_GetDimensions(api)(info, out->desc.dims, rank), what, error));
  LK_TRY(lk_ort_check(ort, ort_GetTensorData(api)(value, &data), what, error));
  out->data = (void *)(uintptr_t)data; /* never written to */
cleanup:
  if (info != NULL) ort_ReleaseTensorTypeAndShapeInfo(api)(info);
  return status;
}

typedef struct output_arg {
  const lk_ort *ort;
  OrtKernelContext *context;
} output_arg;

static lk_status place_output(void *arg, uint32_t index, const lk_tensor_desc *desc,
                              void **out_data, lk_error *error) {
  static const char what[] = "make an output";
  const output_arg *to = arg;
  const OrtApi *api = to->ort->api;
  lk_status status = LK_OK;
  OrtValue *value = NULL;
  *out_data = NULL;
  LK_TRY(lk_ort_check(
      to->ort, ort_KernelContext_GetOutput(api)(to->context, index, desc->dims, desc->rank, &value),
      what, error));
  if (value == NULL) return lk_fail(error, LK_INTERNAL, "failed to run: no output %u", index);
  status = lk_ort_check(to->ort, ort_GetTensorMutableData(api)(value, out_data), what, error);
cleanup:
  return status;
}

lk_status lk_ort_compute(lk_ort_subgraph *subgraph, OrtKernelContext *context,
                         const volatile uint8_t *stop, lk_error *error) {
  lk_status status = LK_OK;
  const lk_ort *ort = subgraph->provider->ort;
  const lk_graph *graph = subgraph->graph;
  lk_tensor few[INPUTS_ON_STACK];
  lk_tensor *inputs = few;
  if (graph->n_inputs > INPUTS_ON_STACK) {
    inputs = lk_calloc(graph->allocator, graph->n_inputs, sizeof *inputs);
    if (inputs == NULL) return lk_fail_memory(error, "inputs", graph->n_inputs * sizeof *inputs);
  }
  for (size_t i = 0; i < graph->n_inputs; i++) {
    const uint32_t dtype = lk_value_dtype(&graph->values[graph->inputs[i]]);
    LK_TRY(read_input(ort, context, i, dtype, &inputs[i], error));
  }
  output_arg to = {ort, context};
  const lk_graph_run run = {
      .inputs = inputs, .place = place_output, .place_arg = &to, .stop = stop};
  status = lk_graph_executor_run(subgraph->graph_executor, &run, error);
cleanup:
  if (inputs != few) lk_free(graph->allocator, inputs);
  return status;
}
