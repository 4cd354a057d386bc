/* Runs a fused node: inputs are read where they are, outputs written where ONNX Runtime wants them. */
#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/ort/provider.h"

/* More are taken from the allocator. */
enum { INPUTS_ON_STACK = 16 };

static const char reading[] = "read an input";

static lk_status copy_dims(const int64_t *dims, size_t rank, size_t index, lk_tensor_desc *out,
                           lk_error *error) {
  if (rank > LK_MAX_RANK) {
    return lk_fail(error, LK_UNSUPPORTED, "failed to run: input %zu has rank %zu, at most %d",
                   index, rank, LK_MAX_RANK);
  }
  out->rank = (uint32_t)rank;
  for (size_t i = 0; i < rank; i++) out->dims[i] = dims[i]; /* a scalar has none, and NULL */
  return LK_OK;
}

/* 1.23 makes an object of a shape. */
static lk_status read_dims_1_23(const lk_ort *ort, const OrtValue *value, size_t index,
                                lk_tensor_desc *out, lk_error *error) {
  const OrtApi *api = ort->api;
  lk_status status = LK_OK;
  OrtTensorTypeAndShapeInfo *info = NULL;
  int64_t dims[LK_MAX_RANK];
  size_t rank = 0;
  LK_TRY(lk_ort_check(ort, ort_GetTensorTypeAndShape(api)(value, &info), reading, error));
  LK_TRY(lk_ort_check(ort, ort_GetDimensionsCount(api)(info, &rank), reading, error));
  if (rank <= LK_MAX_RANK) {
    LK_TRY(lk_ort_check(ort, ort_GetDimensions(api)(info, dims, rank), reading, error));
  }
  status = copy_dims(dims, rank, index, out, error);
cleanup:
  if (info != NULL) ort_ReleaseTensorTypeAndShapeInfo(api)(info);
  return status;
}

/* What ONNX Runtime says of input `index`. Its type is the declared one: ONNX Runtime has seen to it. */
static lk_status read_input(const lk_ort *ort, const OrtKernelContext *context, size_t index,
                            uint32_t dtype, lk_tensor *out, lk_error *error) {
  lk_status status = LK_OK;
  const OrtValue *value = NULL;
  const void *data = NULL;
  LK_TRY(lk_ort_check(ort, ort_KernelContext_GetInput(ort->api)(context, index, &value), reading,
                      error));
  if (value == NULL) {
    return lk_fail(error, LK_INVALID_ARGUMENT, "failed to run: input %zu is missing", index);
  }
  out->desc.dtype = dtype;
  out->desc.layout = LK_LAYOUT_PLAIN;
  if (ort->api_24 != NULL) {
    uint32_t type = 0;
    const int64_t *dims = NULL;
    size_t rank = 0;
    LK_TRY(lk_ort_check(
        ort, ort_GetTensorElementTypeAndShapeDataReference(ort->api_24)(value, &type, &dims, &rank),
        reading, error));
    LK_TRY(copy_dims(dims, rank, index, &out->desc, error));
  } else {
    LK_TRY(read_dims_1_23(ort, value, index, &out->desc, error));
  }
  LK_TRY(lk_ort_check(ort, ort_GetTensorData(ort->api)(value, &data), reading, error));
  out->data = (void *)(uintptr_t)data; /* never written to */
cleanup:
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

/* On threads that are granted. */
static lk_status run(lk_ort_subgraph *subgraph, OrtKernelContext *context,
                     const volatile uint8_t *stop, int32_t threads, lk_error *error) {
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
  const lk_graph_run what = {
      .inputs = inputs, .place = place_output, .place_arg = &to, .stop = stop, .threads = threads};
  status = lk_graph_executor_run(subgraph->graph_executor, &what, error);
cleanup:
  if (inputs != few) lk_free(graph->allocator, inputs);
  return status;
}

/* ---- with threads of the session ---- */

typedef struct shared_run {
  lk_ort_subgraph *subgraph;
  OrtKernelContext *context;
  const volatile uint8_t *stop;
  int32_t threads;
  atomic_bool is_taken;
  lk_loan loan;
  lk_status status;
  lk_error error;
} shared_run;

/* ONNX Runtime sees to it that what comes before ParallelFor, in it, and after it is seen in this order;
 * ThreadSanitizer cannot look into it, and is told. */
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define SEEN_LATER(memory) __tsan_release(memory)
#define SEE_EARLIER(memory) __tsan_acquire(memory)
#else
#define SEEN_LATER(memory) ((void)(memory))
#define SEE_EARLIER(memory) ((void)(memory))
#endif

static void run_or_assist(shared_run *self) {
  const lk_api *latchkey = self->subgraph->provider->ort->latchkey;
  lk_context *from = lk_ort_provider_context(self->subgraph->provider);
  if (atomic_exchange(&self->is_taken, true)) {
    const uint64_t n_shares = latchkey->loan_assist(from, &self->loan);
    atomic_fetch_add_explicit(&self->subgraph->n_lent_shares, n_shares, memory_order_relaxed);
    return;
  }
  latchkey->loan_open(from, &self->loan, self->threads);
  self->status = run(self->subgraph, self->context, self->stop, self->threads, &self->error);
  latchkey->loan_close(from, &self->loan);
}

/* On threads of the session, one after the other or at once: the first one runs, the others help it. */
static void take_part(void *arg, size_t index) {
  (void)index; /* says nothing about who comes first */
  SEE_EARLIER(arg);
  run_or_assist(arg);
  SEEN_LATER(arg);
}

/* ONNX Runtime's threads look for work for a while before they sleep. A second team beside them would have to
 * share the processors with them, so operators that want threads get these. Whether any does, is what the
 * run before this one has shown. */
static lk_status run_on(lk_ort_subgraph *subgraph, OrtKernelContext *context,
                        const volatile uint8_t *stop, int32_t threads, lk_error *error) {
  const lk_ort *ort = subgraph->provider->ort;
  if (threads == 1) return run(subgraph, context, stop, threads, error);
  if (!atomic_load_explicit(&subgraph->wants_threads, memory_order_relaxed)) {
    const lk_api *latchkey = ort->latchkey;
    const uint64_t before = latchkey->parallel_regions();
    const lk_status status = run(subgraph, context, stop, threads, error);
    if (latchkey->parallel_regions() != before) atomic_store(&subgraph->wants_threads, true);
    return status;
  }
  shared_run shared = {.subgraph = subgraph, .context = context, .stop = stop, .threads = threads};
  SEEN_LATER(&shared);
  const lk_status status =
      lk_ort_check(ort,
                   ort_KernelContext_ParallelFor(ort->api)(context, take_part, (size_t)threads,
                                                           (size_t)threads, &shared),
                   "run on the session's threads", error);
  SEE_EARLIER(&shared);
  if (status != LK_OK) return status;
  if (shared.status != LK_OK && error != NULL) *error = shared.error;
  return shared.status;
}

/* One thread computes where others of the process do: see lk_threads_ask. */
lk_status lk_ort_compute(lk_ort_subgraph *subgraph, OrtKernelContext *context,
                         const volatile uint8_t *stop, lk_error *error) {
  const lk_api *latchkey = subgraph->provider->ort->latchkey;
  lk_context *from = lk_ort_provider_context(subgraph->provider);
  const lk_threads_ask ask = {
      .struct_size = sizeof ask, .least = 1, .most = subgraph->threads, .stop = stop};
  int32_t threads = 0;
  lk_status status = latchkey->threads_enter(from, &ask, &threads, error);
  if (status != LK_OK) return status;
  status = run_on(subgraph, context, stop, threads, error);
  latchkey->threads_leave(from, threads);
  return status;
}
