/* Runs a fused node: reads inputs where they are, writes outputs where ONNX Runtime wants them. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "executor_glue/ort/subgraph.h"
#include "executor_glue/ort/tensor.h"
#include "executor_glue/run/reclaim.h"

/* More are taken from the allocator. */
enum { INPUTS_ON_STACK = 16 };

static lk_status read_input(const lk_ort *ort, const OrtKernelContext *context, size_t index,
                            lk_tensor *out, lk_error *error) {
  const OrtValue *value = NULL;
  LK_RETURN_NOT_OK(lk_ort_check(ort, ort_KernelContext_GetInput(ort->api)(context, index, &value),
                                "read an input", error));
  if (value == NULL) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to run: input %zu is missing, it is required", index);
  }
  const lk_status status = lk_ort_tensor_read(ort, value, out, error);
  return status == LK_OK ? LK_OK : lk_error_prefix(error, status, "input %zu", index);
}

typedef struct output_arg {
  const lk_ort *ort;
  OrtKernelContext *context;
  uint64_t *regions; /* NULL, or gets those that this thread has begun before the first operator */
} output_arg;

static lk_status place_output(void *arg, uint32_t index, const lk_tensor_desc *desc,
                              void **out_data, lk_error *error) {
  static const char what[] = "make an output";
  const output_arg *to = arg;
  const OrtApi *api = to->ort->api;
  OrtValue *value = NULL;
  *out_data = NULL;
  if (to->regions != NULL) *to->regions = to->ort->latchkey->parallel_regions();
  LK_RETURN_NOT_OK(lk_ort_check(
      to->ort, ort_KernelContext_GetOutput(api)(to->context, index, desc->dims, desc->rank, &value),
      what, error));
  if (value == NULL) return lk_fail(error, LK_INTERNAL, "failed to run: no output %u", index);
  return lk_ort_check(to->ort, ort_GetTensorMutableData(api)(value, out_data), what, error);
}

static bool take_kept(lk_ort_subgraph *subgraph) {
  return !atomic_load_explicit(&subgraph->is_kept_taken, memory_order_relaxed) &&
         !atomic_exchange_explicit(&subgraph->is_kept_taken, true, memory_order_acquire);
}

static void give_kept(lk_ort_subgraph *subgraph) {
  atomic_store_explicit(&subgraph->is_kept_taken, false, memory_order_release);
}

void lk_ort_subgraph_count_runs(lk_ort_subgraph *subgraph) {
  if (!take_kept(subgraph)) return;
  lk_kept_run_count_runs(subgraph->kept);
  give_kept(subgraph);
}

static lk_status run_graph(lk_ort_subgraph *subgraph, const lk_graph_run *run, lk_error *error) {
  lk_graph_executor *executor = subgraph->graph_executor;
  if (!take_kept(subgraph)) return lk_graph_executor_run(executor, run, error);
  const lk_status status = lk_graph_executor_run_kept(executor, run, &subgraph->kept, error);
  if (subgraph->kept == NULL || lk_kept_run_is_light(subgraph->kept)) {
    give_kept(subgraph);
    return status;
  }
  lk_kept_run_end(subgraph->kept);
  subgraph->kept = NULL;
  return status;
}

/* On the threads that were granted. `*out_regions` (may be NULL): those that this thread had begun
 * before the first operator, also for packing weights. */
static lk_status run(lk_ort_subgraph *subgraph, OrtKernelContext *context,
                     const volatile uint8_t *stop, int32_t threads, uint64_t *out_regions,
                     lk_error *error) {
  lk_status status = LK_OK;
  const lk_ort *ort = subgraph->context->ort;
  const lk_graph *graph = subgraph->graph;
  lk_tensor few[INPUTS_ON_STACK];
  lk_tensor *inputs = few;
  if (graph->n_inputs > INPUTS_ON_STACK) {
    inputs = lk_calloc(graph->allocator, graph->n_inputs, sizeof *inputs);
    if (inputs == NULL) return lk_fail_memory(error, "inputs", graph->n_inputs * sizeof *inputs);
  }
  for (size_t i = 0; i < graph->n_inputs; i++) {
    LK_TRY(read_input(ort, context, i, &inputs[i], error));
  }
  output_arg to = {ort, context, out_regions};
  const lk_run_options traced = {.struct_size = sizeof traced, .trace = subgraph->trace};
  const lk_graph_run what = {.inputs = inputs,
                             .place = place_output,
                             .place_arg = &to,
                             .options = subgraph->trace != NULL ? &traced : NULL,
                             .stop = stop,
                             .threads = threads};
  status = run_graph(subgraph, &what, error);
  if (status == LK_OUT_OF_MEMORY &&
      lk_reclaim_idle(ort->latchkey, subgraph->context->handle, subgraph->trace)) {
    status = run_graph(subgraph, &what, error);
  }
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

/* What threads write before, in and after ParallelFor, they see in this order: ONNX Runtime ensures
 * it. ThreadSanitizer cannot look into ONNX Runtime, and is told. */
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define SEEN_LATER(memory) __tsan_release(memory)
#define SEE_EARLIER(memory) __tsan_acquire(memory)
#else
#define SEEN_LATER(memory) ((void)(memory))
#define SEE_EARLIER(memory) ((void)(memory))
#endif

/* Called on threads of the session, in turn or at once: the first one runs, the others help it. */
static void take_part(void *arg, size_t index) {
  (void)index; /* says nothing about who comes first */
  SEE_EARLIER(arg);
  shared_run *self = arg;
  const lk_api *latchkey = self->subgraph->context->ort->latchkey;
  lk_context *from = self->subgraph->context->handle;
  if (atomic_exchange(&self->is_taken, true)) {
    const uint64_t n_shares = latchkey->loan_assist(from, &self->loan);
    atomic_fetch_add_explicit(&self->subgraph->n_lent_shares, n_shares, memory_order_relaxed);
  } else {
    latchkey->loan_open(from, &self->loan, self->threads);
    self->status =
        run(self->subgraph, self->context, self->stop, self->threads, NULL, &self->error);
    latchkey->loan_close(from, &self->loan);
  }
  SEEN_LATER(arg);
}

/* ONNX Runtime's threads look for work for a while before they sleep. A second team beside them
 * would have to share the processors with them, so operators that want threads get these. Whether
 * any of them does, an earlier run has shown. */
static lk_status run_on(lk_ort_subgraph *subgraph, OrtKernelContext *context,
                        const volatile uint8_t *stop, int32_t threads, lk_error *error) {
  const lk_ort *ort = subgraph->context->ort;
  if (threads == 1) return run(subgraph, context, stop, threads, NULL, error);
  if (!atomic_load_explicit(&subgraph->wants_threads, memory_order_relaxed)) {
    uint64_t before = ort->latchkey->parallel_regions();
    const lk_status status = run(subgraph, context, stop, threads, &before, error);
    if (status == LK_OK && ort->latchkey->parallel_regions() != before) {
      atomic_store(&subgraph->wants_threads, true);
    }
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
  LK_RETURN_NOT_OK(status);
  if (shared.status != LK_OK && error != NULL) *error = shared.error;
  return shared.status;
}

/* Asks for threads: it gets one where others of the process compute. See lk_threads_ask. */
static lk_status enter_and_run(lk_ort_subgraph *subgraph, OrtKernelContext *context,
                               const volatile uint8_t *stop, lk_error *error) {
  const lk_api *latchkey = subgraph->context->ort->latchkey;
  lk_context *from = subgraph->context->handle;
  const lk_threads_ask ask = {
      .struct_size = sizeof ask, .least = 1, .most = subgraph->threads, .stop = stop};
  int32_t threads = 0;
  LK_RETURN_NOT_OK(latchkey->threads_enter(from, &ask, &threads, error));
  const lk_status status = run_on(subgraph, context, stop, threads, error);
  latchkey->threads_leave(from);
  return status;
}

lk_status lk_ort_compute(lk_ort_subgraph *subgraph, OrtKernelContext *context,
                         const volatile uint8_t *stop, lk_error *error) {
  if (subgraph->trace == NULL) return enter_and_run(subgraph, context, stop, error);
  const uint64_t begin = lk_now_ns();
  const lk_status status = enter_and_run(subgraph, context, stop, error);
  lk_labels *labels = lk_labels_once(subgraph->graph->allocator, subgraph->name, &subgraph->labels);
  lk_trace_add(subgraph->trace, (lk_trace_event){.begin_ns = begin,
                                                 .ns = lk_now_ns() - begin,
                                                 .labels = labels,
                                                 .number = (int32_t)status,
                                                 .kind = LK_TRACE_RUN});
  return status;
}
