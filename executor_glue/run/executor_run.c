/* One run: checks the request, asks for processors, finds or builds the run plan, and runs it. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/run/check_request.h"
#include "executor_glue/run/execute.h"
#include "executor_glue/run/executor_state.h"

/* A graph with a few inputs and outputs needs no memory of the allocator for a call. */
#define LK_RUN_CALL_WORDS 96

/* One call of run: copies of the arguments, in one block of memory. */
typedef struct lk_run_call {
  lk_graph_executor *executor;
  lk_tensor *inputs;     /* [n_inputs]: nothing beyond the rank */
  lk_tensor_desc *descs; /* [n_inputs]: of `inputs` */
  lk_tensor *values;     /* [n_by_value + 1]: the last one is `wanted_bits`, unless `wants_all` */
  void **outputs; /* [n_outputs]: where each is written; NULL: not wanted, or nothing to write */
  bool *owned;    /* [n_outputs]: allocated here */
  bool *wanted;   /* [n_outputs] */
  bool wants_all;
  int64_t *wanted_bits; /* the same as `wanted`, for the key */
  void *memory;         /* of all these; NULL: `few` */
  uint64_t few[LK_RUN_CALL_WORDS];
  lk_run_form form; /* of the entry */
  lk_ref *ref;      /* cached run plans */
  lk_run_entry *entry;
  lk_wait_limit limit;
  int32_t threads;             /* that the run has been granted */
  bool has_threads, has_place; /* and has to give back */
} lk_run_call;

/* Room for the arguments, zeroed. */
static lk_status call_room(lk_run_call *call, lk_error *error) {
  const lk_program *program = call->executor->program;
  const size_t n_inputs = program->graph->n_inputs, n_outputs = program->graph->n_outputs;
  const size_t n_words = (n_outputs + 63) / 64;
  const size_t bytes =
      n_inputs * (sizeof *call->inputs + sizeof *call->descs) +
      (program->n_by_value + 1) * sizeof *call->values +
      n_outputs * (sizeof *call->outputs + sizeof *call->owned + sizeof *call->wanted) +
      n_words * sizeof *call->wanted_bits;
  void *room = call->few;
  if (bytes <= sizeof call->few) {
    memset(room, 0, bytes);
  } else {
    room = call->memory = lk_calloc(program->allocator, 1, bytes);
    if (room == NULL) return lk_fail_memory(error, "the arguments of a run", bytes);
  }
  call->inputs = room;
  call->descs = (lk_tensor_desc *)(call->inputs + n_inputs);
  call->values = (lk_tensor *)(call->descs + n_inputs);
  call->outputs = (void **)(call->values + program->n_by_value + 1);
  call->wanted_bits = (int64_t *)(call->outputs + n_outputs);
  call->owned = (bool *)(call->wanted_bits + n_words);
  call->wanted = call->owned + n_outputs;
  return LK_OK;
}

/* Into zeros, and field by field: what is copied as a whole right after it was written has to wait. */
static void copy_desc(const lk_tensor_desc *from, lk_tensor_desc *to) {
  to->dtype = from->dtype;
  to->rank = from->rank;
  for (uint32_t i = 0; i < from->rank; i++) to->dims[i] = from->dims[i];
}

/* For the key of a run that wants only some of the outputs. */
static void add_wanted(lk_run_call *call) {
  const lk_program *program = call->executor->program;
  const size_t n_outputs = program->graph->n_outputs;
  const int64_t words = (int64_t)(n_outputs + 63) / 64;
  for (size_t i = 0; i < n_outputs; i++) {
    if (!call->wanted[i]) continue;
    const uint64_t bits = (uint64_t)call->wanted_bits[i / 64];
    call->wanted_bits[i / 64] = (int64_t)(bits | UINT64_C(1) << i % 64);
  }
  call->values[program->n_by_value] =
      (lk_tensor){.desc = lk_tensor_desc_make(LK_I64, 1, &words), .data = call->wanted_bits};
}

/* Copies the arguments, and checks the inputs. `call` need not be initialized. */
static lk_status call_begin(lk_run_call *call, lk_graph_executor *executor, const lk_graph_run *run,
                            lk_error *error) {
  const lk_program *program = executor->program;
  const lk_graph *graph = program->graph;
  call->executor = executor;
  call->memory = NULL;
  call->outputs = NULL;
  call->ref = NULL;
  call->entry = NULL;
  call->limit = (lk_wait_limit){.stop = run->stop};
  if (run->options != NULL) {
    call->limit.cancel = run->options->cancel;
    call->limit.deadline_ns = run->options->deadline_ns;
  }
  call->has_threads = false;
  call->has_place = false;
  lk_status status = call_room(call, error);
  if (status != LK_OK) return status;
  size_t n_values = 0;
  for (size_t i = 0; i < graph->n_inputs; i++) {
    status = lk_run_check_input(&graph->values[graph->inputs[i]], &run->inputs[i], error);
    if (status != LK_OK) return status;
    copy_desc(&run->inputs[i].desc, &call->descs[i]);
    copy_desc(&run->inputs[i].desc, &call->inputs[i].desc);
    call->inputs[i].data = run->inputs[i].data;
    if (program->by_value[i]) call->values[n_values++] = call->inputs[i];
  }
  call->wants_all = true;
  for (size_t i = 0; i < graph->n_outputs; i++) {
    call->wanted[i] = run->wanted == NULL || run->wanted[i];
    if (!call->wanted[i]) call->wants_all = false;
  }
  if (!call->wants_all) add_wanted(call);
  return LK_OK;
}

/* Larger values would make keys that cost more than what they save, and are hardly shapes. */
#define LK_RUN_VALUE_MAX_BYTES ((int64_t)64 * 1024)

static lk_status check_values(const lk_run_call *call, lk_error *error) {
  const lk_program *program = call->executor->program;
  for (size_t i = 0; i < program->graph->n_inputs; i++) {
    const lk_tensor *input = &call->inputs[i];
    if (!program->by_value[i]) continue;
    if (lk_elements(&input->desc) * (int64_t)lk_dtype_size(input->desc.dtype) >
        LK_RUN_VALUE_MAX_BYTES) {
      char text[LK_TENSOR_TEXT_CAPACITY];
      return lk_fail(error, LK_UNSUPPORTED,
                     "failed to run with input '%s': %s, shapes in the model depend on its values, "
                     "at most 65536 bytes",
                     program->graph->values[program->graph->inputs[i]].name,
                     lk_tensor_text(&input->desc, text));
    }
  }
  return LK_OK;
}

/* The first bind of steps that may run at once guesses whether they will; a wrong guess binds again. */
static lk_status build_plan(const lk_run_call *call, lk_run_plan **out_plan, lk_error *error) {
  lk_graph_executor *executor = call->executor;
  lk_run_request request = {.inputs = call->inputs,
                            .wanted = call->wanted,
                            .threads = call->form == LK_RUN_ALONE ? 1 : 0,
                            .workers = 1,
                            .bound = lk_graph_executor_note,
                            .bound_arg = executor};
  *out_plan = NULL;
  if (call->form == LK_RUN_AT_ONCE) {
    bool has_width = atomic_load_explicit(&executor->had_width, memory_order_relaxed);
    request.workers = executor->workers;
    for (int tries = 0; tries < 2; tries++) {
      request.threads = has_width ? 1 : 0;
      const lk_status status = lk_run_plan_build(executor->program, &request, out_plan, error);
      if (status != LK_OK || *out_plan != NULL) return status;
      has_width = !has_width;
      atomic_store_explicit(&executor->had_width, has_width, memory_order_relaxed);
    }
    request.workers = 1; /* bound in one way it looks like the other: in order is never wrong */
    request.threads = 0;
  }
  return lk_run_plan_build(executor->program, &request, out_plan, error);
}

static lk_status build_entry(lk_run_call *call, bool cached, lk_run_entry **out_entry,
                             lk_error *error) {
  lk_run_plan *plan = NULL;
  *out_entry = NULL;
  lk_status status = build_plan(call, &plan, error);
  if (status == LK_OK) {
    status = lk_run_entry_create(call->executor->pool, plan, cached, out_entry, error);
  }
  if (status != LK_OK) lk_run_plan_destroy(plan);
  return status;
}

static void destroy_entry(void *value, void *user) {
  (void)user;
  lk_run_entry_destroy(value);
}

static lk_status build_cached(void *arg, lk_built *out, lk_error *error) {
  lk_run_call *call = arg;
  lk_run_entry *entry = NULL;
  lk_status status = build_entry(call, true, &entry, error);
  if (status != LK_OK) return status;
  atomic_fetch_add(&call->executor->builds, 1);
  *out = (lk_built){
      .value = entry, .bytes = lk_run_entry_plan(entry)->bytes, .destroy = destroy_entry};
  return LK_OK;
}

/* The run plan for the call: by one key and one lookup, or bound anew. */
static lk_status find_entry(lk_run_call *call, lk_run_form form, lk_error *error) {
  lk_status status = LK_OK;
  lk_graph_executor *executor = call->executor;
  const lk_program *program = executor->program;
  const lk_api *api = program->api;
  int hit = 0;
  call->form = form;
  if (!executor->run_plans) return build_entry(call, false, &call->entry, error);

  const lk_key_desc desc = {.struct_size = sizeof desc,
                            .n_tensors = (uint32_t)program->graph->n_inputs,
                            .n_values = program->n_by_value + (call->wants_all ? 0 : 1),
                            .tensors = call->descs,
                            .values = call->values};
  LK_TRY(api->get_or_create_like(program->context, program->executor, executor->run_key[form],
                                 &desc, build_cached, call, &call->ref, &hit, error));
  call->entry = api->ref_value(call->ref);
  if (hit) atomic_fetch_add_explicit(&executor->hits, 1, memory_order_relaxed);

cleanup:
  return status;
}

static void leave_entry(lk_run_call *call) {
  if (call->ref != NULL) {
    call->executor->program->api->ref_release(call->ref);
  } else {
    lk_run_entry_destroy(call->entry);
  }
  call->ref = NULL;
  call->entry = NULL;
}

/* The run plan for the threads that the run has been granted. */
static lk_status choose_entry(lk_run_call *call, lk_error *error) {
  const lk_graph_executor *executor = call->executor;
  if (executor->workers > 1) {
    const lk_status status = find_entry(call, LK_RUN_AT_ONCE, error);
    if (status != LK_OK || lk_run_entry_plan(call->entry)->schedule != NULL ||
        call->threads >= executor->threads) {
      return status;
    }
    leave_entry(call);
  }
  return find_entry(call, call->threads >= executor->threads ? LK_RUN_SHARED : LK_RUN_ALONE, error);
}

/* ---- processors ---- */

/* `run->threads` when the caller has asked for them already. */
static lk_status enter_threads(lk_run_call *call, const lk_graph_run *run, lk_error *error) {
  const lk_graph_executor *executor = call->executor;
  const lk_program *program = executor->program;
  const int32_t workers = (int32_t)executor->workers;
  if (run->threads > 0) {
    call->threads = run->threads;
    return LK_OK;
  }
  const lk_threads_ask ask = {.struct_size = sizeof ask,
                              .least = 1,
                              .most = workers > executor->threads ? workers : executor->threads,
                              .between = workers > 1,
                              .cancel = call->limit.cancel,
                              .stop = call->limit.stop,
                              .deadline_ns = call->limit.deadline_ns};
  const lk_status status =
      program->api->threads_enter(program->context, &ask, &call->threads, error);
  call->has_threads = status == LK_OK;
  return status;
}

/* A place among the executor's runs, then processors: who waits for a place takes none from others. */
static lk_status enter(lk_run_call *call, const lk_graph_run *run, lk_error *error) {
  const lk_status status = lk_run_limit_enter(&call->executor->gate, &call->limit, error);
  if (status != LK_OK) return status;
  call->has_place = true;
  return enter_threads(call, run, error);
}

static void leave(lk_run_call *call) {
  const lk_program *program = call->executor->program;
  if (call->has_threads) program->api->threads_leave(program->context, call->threads);
  if (call->has_place) lk_run_limit_leave(&call->executor->gate);
}

static lk_status check_deadline(const lk_run_call *call, lk_error *error) {
  const lk_wait_limit deadline = {.deadline_ns = call->limit.deadline_ns};
  if (lk_wait_limit_reached(&deadline) == 0) return LK_OK;
  return lk_fail(error, LK_DEADLINE,
                 "failed to run the graph: the deadline passed before the first operator");
}

/* The caller's memory, or new memory, for each wanted output. */
static lk_status make_outputs(lk_run_call *call, const lk_graph_run *run, lk_error *error) {
  const lk_program *program = call->executor->program;
  const lk_run_plan *plan = lk_run_entry_plan(call->entry);
  for (uint32_t i = 0; i < program->graph->n_outputs; i++) {
    if (!call->wanted[i]) continue;
    if (run->place != NULL) {
      const lk_status status =
          run->place(run->place_arg, i, &plan->outputs[i], &call->outputs[i], error);
      if (status != LK_OK) return status;
      continue;
    }
    call->outputs[i] = run->outputs[i].data;
    if (call->outputs[i] != NULL) continue;
    call->outputs[i] =
        lk_alloc_aligned(program->allocator, plan->output_bytes[i], LK_DATA_ALIGNMENT);
    if (call->outputs[i] == NULL) return lk_fail_memory(error, "an output", plan->output_bytes[i]);
    call->owned[i] = true;
  }
  return LK_OK;
}

static void charge(const lk_run_call *call, uint64_t bytes) {
  if (call->ref != NULL && bytes > 0) call->executor->program->api->ref_charge(call->ref, bytes);
}

static lk_status execute(lk_run_call *call, lk_error *error) {
  const lk_run_plan *plan = lk_run_entry_plan(call->entry);
  lk_run_lease lease = {0};
  uint64_t bytes = 0;
  lk_status status = lk_run_lease_take(call->entry, &lease, &bytes, error);
  charge(call, bytes);
  if (status != LK_OK) return status;
  const uint32_t threads = (uint32_t)call->threads;
  const lk_run_execution execution = {.plan = plan,
                                      .lease = &lease,
                                      .inputs = call->inputs,
                                      .outputs = call->outputs,
                                      .limit = &call->limit,
                                      .workers = threads < plan->workers ? threads : plan->workers};
  status = lk_run_execute(&execution, error);
  lk_run_lease_give(call->entry, &lease, &bytes);
  charge(call, bytes);
  if (plan->schedule != NULL && threads > 1) {
    atomic_fetch_add_explicit(&call->executor->at_once, 1, memory_order_relaxed);
  }
  return status;
}

static void call_end(lk_run_call *call, lk_status status) {
  const lk_program *program = call->executor->program;
  for (size_t i = 0; status != LK_OK && call->outputs != NULL && i < program->graph->n_outputs;
       i++) {
    if (call->owned[i]) lk_free(program->allocator, call->outputs[i]);
  }
  leave_entry(call);
  leave(call);
  lk_free(program->allocator, call->memory);
}

lk_status lk_graph_executor_run(lk_graph_executor *executor, const lk_graph_run *run,
                                lk_error *error) {
  lk_status status = LK_OK;
  lk_run_call call;
  LK_TRY(call_begin(&call, executor, run, error));
  if (executor->program->n_by_value > 0) LK_TRY(check_values(&call, error));
  LK_TRY(enter(&call, run, error));
  LK_TRY(choose_entry(&call, error));
  const lk_run_plan *plan = lk_run_entry_plan(call.entry);
  if (run->place == NULL) {
    LK_TRY(lk_run_check_outputs(plan, call.inputs, run->outputs, call.wanted, error));
  }
  LK_TRY(check_deadline(&call, error));
  LK_TRY(make_outputs(&call, run, error));
  LK_TRY(execute(&call, error));
  for (size_t i = 0; i < executor->program->graph->n_outputs; i++) {
    if (!call.owned[i]) continue;
    run->outputs[i].desc = plan->outputs[i];
    run->outputs[i].data = call.outputs[i];
  }
  atomic_fetch_add_explicit(&executor->runs, 1, memory_order_relaxed);

cleanup:
  call_end(&call, status);
  return status;
}

/* Whether the declarations alone say what a run plan is built for. */
static bool is_static(const lk_program *program) {
  for (size_t i = 0; i < program->graph->n_inputs; i++) {
    const lk_declaration *declared = program->graph->values[program->graph->inputs[i]].declared;
    if (declared == NULL || declared->dtype == LK_DTYPE_NONE || declared->rank < 0) return false;
    for (int32_t d = 0; d < declared->rank; d++) {
      if (declared->dims[d] < 0) return false;
    }
  }
  return program->n_by_value == 0;
}

lk_status lk_graph_executor_prepare(lk_graph_executor *executor, lk_error *error) {
  lk_status status = LK_OK;
  lk_run_call call;
  const lk_program *program = executor->program;
  const lk_graph *graph = program->graph;
  if (!executor->run_plans || !is_static(program)) return LK_OK;
  lk_tensor *inputs = lk_calloc(program->allocator, graph->n_inputs, sizeof *inputs);
  if (inputs == NULL) return lk_fail_memory(error, "inputs", graph->n_inputs * sizeof *inputs);
  for (size_t i = 0; i < graph->n_inputs; i++) {
    const lk_declaration *declared = graph->values[graph->inputs[i]].declared;
    inputs[i].desc = lk_tensor_desc_make(declared->dtype, (uint32_t)declared->rank, declared->dims);
    inputs[i].data = inputs; /* never read: no shape depends on a value */
  }
  LK_TRY(call_begin(&call, executor, &(lk_graph_run){.inputs = inputs}, error));
  call.threads = executor->threads;
  LK_TRY(choose_entry(&call, error));
cleanup:
  call_end(&call, status);
  lk_free(program->allocator, inputs);
  return status;
}
