/* Runs named tensors: names to numbers of the graph, the run, and a note of what was allocated. */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/require.h"
#include "base/status.h"
#include "base/stop.h"
#include "base/struct.h"
#include "executor_glue/run/reclaim.h"
#include "executor_glue/run/trace.h"
#include "executor_glue/session/session.h"

/* A graph with a few inputs and outputs needs no memory of the allocator for a call. */
enum { CALL_WORDS = 96 };

/* The arguments of a run, by number of the graph's inputs and outputs; one block of memory. No
 * output is asked for twice, so the caller's are no more than the graph's. */
typedef struct lk_session_call {
  lk_tensor *inputs, *outputs;
  bool *given;       /* [n graph inputs] */
  bool *wanted;      /* [n graph outputs] */
  uint32_t *numbers; /* [n graph outputs]: the number of each of the caller's outputs */
  void *memory;      /* of all these; NULL: `few` */
  uint64_t few[CALL_WORDS];
} lk_session_call;

/* `call->memory` is NULL, nothing else is set. */
static lk_status call_create(lk_session_call *call, const lk_session *session,
                             const lk_graph *graph, lk_error *error) {
  size_t n_inputs = graph->n_inputs, n_outputs = graph->n_outputs;
  size_t bytes = (n_inputs + n_outputs) * (sizeof(lk_tensor) + sizeof(bool)) +
                 n_outputs * sizeof *call->numbers;
  void *room = call->few;
  if (bytes <= sizeof call->few) {
    memset(room, 0, bytes);
  } else {
    room = call->memory = lk_calloc(session->allocator, 1, bytes);
    if (room == NULL) return lk_fail_memory(error, "the arguments of a run", bytes);
  }
  call->inputs = room;
  call->outputs = call->inputs + n_inputs;
  call->numbers = (uint32_t *)(call->outputs + n_outputs);
  call->given = (bool *)(call->numbers + n_outputs);
  call->wanted = call->given + n_inputs;
  return LK_OK;
}

/* Number of the graph's input or output of that name, which is marked in `taken`. Most callers name
 * them in the graph's order: the search begins at `expected`. */
static lk_status take_name(const lk_graph *graph, const char *name, bool is_input, size_t expected,
                           bool *taken, size_t *out_number, lk_error *error) {
  const int32_t *values = is_input ? graph->inputs : graph->outputs;
  size_t count = is_input ? graph->n_inputs : graph->n_outputs;
  const char *what = is_input ? "input" : "output";
  if (name == NULL) {
    return lk_fail(error, LK_INVALID_ARGUMENT, "failed to run: the name of an %s is NULL", what);
  }
  for (size_t k = 0; k < count; k++) {
    const size_t i = (expected + k) % count;
    if (strcmp(graph->values[values[i]].name, name) != 0) continue;
    if (taken[i]) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to run: %s '%s' is given twice, once is allowed", what, name);
    }
    taken[i] = true;
    *out_number = i;
    return LK_OK;
  }
  return lk_fail(error, LK_NOT_FOUND,
                 "failed to run: the model has no %s '%s', it has %zu, the first is '%s'", what,
                 name, count, count > 0 ? graph->values[values[0]].name : "");
}

static lk_status sort_inputs(const lk_graph *graph, const lk_named_tensor *inputs,
                             uint32_t n_inputs, lk_session_call *call, lk_error *error) {
  for (uint32_t i = 0; i < n_inputs; i++) {
    size_t number = 0;
    LK_RETURN_NOT_OK(take_name(graph, inputs[i].name, true, i, call->given, &number, error));
    call->inputs[number] = inputs[i].tensor;
  }
  for (size_t i = 0; i < graph->n_defaults; i++) {
    const lk_graph_default *fallback = &graph->defaults[i];
    if (fallback->input < 0 || call->given[fallback->input]) continue;
    call->inputs[fallback->input] = fallback->tensor;
    call->given[fallback->input] = true;
  }
  for (size_t i = 0; i < graph->n_inputs; i++) {
    if (call->given[i]) continue;
    return lk_fail(error, LK_NOT_FOUND,
                   "failed to run: input '%s' is missing, all inputs must be given",
                   graph->values[graph->inputs[i]].name);
  }
  return LK_OK;
}

static lk_status sort_outputs(const lk_graph *graph, const lk_named_tensor *outputs,
                              uint32_t n_outputs, lk_session_call *call, lk_error *error) {
  for (uint32_t i = 0; i < n_outputs; i++) {
    size_t number = 0;
    LK_RETURN_NOT_OK(take_name(graph, outputs[i].name, false, i, call->wanted, &number, error));
    call->numbers[i] = (uint32_t)number;
    call->outputs[number] = outputs[i].tensor;
  }
  return LK_OK;
}

/* Hands the results over. Memory that the executor allocated belongs to the session's table from
 * here on, or is freed when there is no room to note it. */
static lk_status hand_over(lk_session *session, const lk_session_call *call,
                           lk_named_tensor *outputs, uint32_t n_outputs, lk_error *error) {
  lk_status status = LK_OK;
  for (uint32_t i = 0; i < n_outputs; i++) {
    const lk_tensor *result = &call->outputs[call->numbers[i]];
    if (outputs[i].tensor.data != NULL) { /* the caller's own */
      outputs[i].tensor.desc = result->desc;
      continue;
    }
    if (status == LK_OK) status = lk_session_output_add(session, result->data, error);
    if (status == LK_OK) {
      outputs[i].tensor = *result;
    } else {
      lk_free(session->allocator, result->data);
    }
  }
  return status;
}

/* A run that builds its run plan packs weights, which reads pages of the model that are not needed
 * again, and may be the first that reads others in each run. Where no run plans are kept, any run
 * may be. */
static void look_at_mapping(lk_session *session, const lk_flow *flow,
                            _Atomic uint64_t *builds_seen) {
  const uint64_t builds = lk_flow_builds(flow) + 1;
  const bool has_built = atomic_load_explicit(builds_seen, memory_order_relaxed) != builds;
  if (!has_built && (session->options.run_plans >= 0 || !session->has_lendable)) return;
  atomic_store(builds_seen, builds);
  lk_stats stats = {.struct_size = sizeof stats};
  if (session->api->cache_stats(session->context, NULL, &stats, NULL) != LK_OK) return;
  atomic_store(&session->reads_mapping, session->has_lendable && stats.weights_lent_bytes > 0);
  const uint64_t packings = stats.weights_packed + 1;
  if (atomic_exchange(&session->packings_seen, packings) == packings) return;
  lk_onnx_model_drop_pages(session->model);
}

/* Weights that have changed are the model's: nothing else of a run is read from files. */
static lk_status name_file(const lk_session *session, lk_status status, lk_error *error) {
  const char *path = lk_onnx_model_path(session->model);
  if (status != LK_IO || path == NULL) return status;
  return lk_error_prefix(error, status, "'%s' or a file of its data was written over or cut", path);
}

/* Whether what plans read where it lies in a file is still there. Looking takes a thirtieth of the
 * time at most, however short runs are and however many files there are. */
static lk_status check_files(lk_session *session, lk_error *error) {
  enum { RARITY = 32, MOST_NS = 10 * 1000 * 1000 };
  if (!atomic_load_explicit(&session->reads_mapping, memory_order_relaxed)) return LK_OK;
  const uint64_t begin = lk_now_ns();
  if (begin < atomic_load_explicit(&session->look_again_ns, memory_order_relaxed)) return LK_OK;
  LK_RETURN_NOT_OK(lk_onnx_model_check(session->model, error));
  const uint64_t end = lk_now_ns(), pause = (end - begin) * RARITY;
  atomic_store_explicit(&session->look_again_ns, end + (pause < MOST_NS ? pause : MOST_NS),
                        memory_order_relaxed);
  return LK_OK;
}

/* By the session's own graph, or that of a variant. */
static lk_status run_graph(lk_session *session, const lk_graph *graph, lk_flow *flow,
                           _Atomic uint64_t *builds_seen, const lk_named_tensor *inputs,
                           uint32_t n_inputs, lk_named_tensor *outputs, uint32_t n_outputs,
                           const lk_run_options *options, lk_error *error) {
  lk_status status = LK_OK;
  lk_session_call call;
  call.memory = NULL;
  LK_TRY(call_create(&call, session, graph, error));
  LK_TRY(sort_inputs(graph, inputs, n_inputs, &call, error));
  LK_TRY(sort_outputs(graph, outputs, n_outputs, &call, error));
  LK_TRY(check_files(session, error));
  const lk_graph_run what = {
      .inputs = call.inputs, .outputs = call.outputs, .wanted = call.wanted, .options = options};
  status = lk_flow_run(flow, &what, error);
  if (status == LK_OUT_OF_MEMORY &&
      lk_reclaim_idle(session->api, session->context, options->trace)) {
    status = lk_flow_run(flow, &what, error);
  }
  look_at_mapping(session, flow, builds_seen);
  LK_TRY(name_file(session, status, error));
  status = hand_over(session, &call, outputs, n_outputs, error);
  if (status != LK_OK) lk_session_outputs_release(session, outputs, n_outputs);

cleanup:
  lk_free(session->allocator, call.memory);
  return status;
}

static lk_status run(lk_session *session, const lk_named_tensor *inputs, uint32_t n_inputs,
                     lk_named_tensor *outputs, uint32_t n_outputs, const lk_run_options *options,
                     lk_error *error) {
  lk_session_variant *variant = NULL;
  lk_status status = run_graph(session, session->graph, session->flow, &session->builds_seen,
                               inputs, n_inputs, outputs, n_outputs, options, error);
  /* A name that the graph does not have: so nothing has been run. */
  if (status != LK_NOT_FOUND || !lk_session_gives_default(session, inputs, n_inputs)) return status;
  LK_RETURN_NOT_OK(lk_session_variant_enter(session, inputs, n_inputs, options, &variant, error));
  status = run_graph(session, variant->graph, variant->flow, &variant->builds_seen, inputs,
                     n_inputs, outputs, n_outputs, options, error);
  lk_session_variant_leave(session, variant);
  return status;
}

/* The time in so many nanoseconds, or the last one. */
static uint64_t time_behind(uint64_t ns) {
  const uint64_t now = lk_now_ns();
  return ns < UINT64_MAX - now ? now + ns : UINT64_MAX;
}

lk_status lk_session_run(lk_session *session, const lk_named_tensor *inputs, uint32_t n_inputs,
                         lk_named_tensor *outputs, uint32_t n_outputs, const lk_run_options *given,
                         lk_error *error) {
  lk_run_options options = {.struct_size = sizeof options};
  LK_REQUIRE("run", error, session);
  if (n_inputs > 0) LK_REQUIRE("run", error, inputs);
  if (n_outputs > 0) LK_REQUIRE("run", error, outputs);
  if (given != NULL) {
    LK_RETURN_NOT_OK(lk_struct_read(&options, sizeof options, given, "lk_run_options", error));
    if (options.should_stop != NULL) lk_stop_delay();
    if (options.tune_ns != 0) options.tune_ns = time_behind(options.tune_ns); /* for its parts */
  }
  lk_trace *attached = options.trace == NULL ? lk_session_trace_retain(session) : NULL;
  if (attached != NULL) options.trace = attached;
  const uint64_t begin = options.trace != NULL ? lk_now_ns() : 0;
  const lk_status status = run(session, inputs, n_inputs, outputs, n_outputs, &options, error);
  if (options.trace != NULL) lk_session_trace_note(session, options.trace, begin, status);
  lk_trace_release(attached);
  return status;
}
