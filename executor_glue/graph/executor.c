/* The naive executor: finds or builds the run plan of a request, and runs its steps in order. */
#include "executor_glue/graph/executor.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "executor_glue/graph/run_check.h"
#include "executor_glue/graph/run_pool.h"
#include "plugin/base/alloc.h"
#include "plugin/base/status.h"
#include "plugin/base/tensor.h"

/* Names of implementations, kept because a plan's own may end with it. */
typedef struct lk_kept_name {
  struct lk_kept_name *next;
  char text[];
} lk_kept_name;

struct lk_graph_executor {
  lk_program *program;
  lk_run_pool *pool;
  bool run_plans;
  lk_key *run_key; /* what the keys of its run plans have in common */
  atomic_uint_least64_t runs, hits, builds;
  pthread_mutex_t names_mutex; /* guards `names` */
  lk_kept_name *names;
  const char *_Atomic *implementations; /* [n_nodes] */
};

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
  lk_ref *ref; /* cached run plans */
  lk_run_entry *entry;
} lk_run_call;

/* ---- create, destroy, questions ---- */

lk_status lk_graph_executor_create(const lk_api *api, lk_context *context, lk_executor *executor,
                                   lk_graph *graph, bool run_plans,
                                   lk_graph_executor **out_executor, lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = api->context_allocator(context);
  *out_executor = NULL;
  lk_graph_executor *made = lk_calloc(allocator, 1, sizeof *made);
  if (made == NULL) return lk_fail_memory(error, "a graph executor", sizeof *made);
  (void)pthread_mutex_init(&made->names_mutex, NULL); /* cannot fail on glibc */
  made->run_plans = run_plans && api->context_cache_mode(context) != LK_CACHE_OFF;
  LK_TRY(lk_program_create(api, context, executor, graph, &made->program, error));
  LK_TRY(lk_run_pool_create(made->program, &made->pool, error));
  const lk_key_desc run_key = {.struct_size = sizeof run_key, .kind = LK_KEY_RUN, .name = "run"};
  LK_TRY(api->key_create(context, executor, &run_key, &made->run_key, error));
  made->implementations = lk_calloc(allocator, graph->n_nodes, sizeof *made->implementations);
  if (made->implementations == NULL) {
    status = lk_fail_memory(error, "a graph executor", graph->n_nodes * sizeof(char *));
    goto cleanup;
  }
  for (size_t i = 0; i < graph->n_nodes; i++) atomic_init(&made->implementations[i], "");
  *out_executor = made;

cleanup:
  if (status != LK_OK) {
    api->key_destroy(context, made->run_key);
    lk_run_pool_close(made->pool);
    lk_program_destroy(made->program);
    pthread_mutex_destroy(&made->names_mutex);
    lk_free(allocator, made);
  }
  return status;
}

void lk_graph_executor_destroy(lk_graph_executor *executor) {
  if (executor == NULL) return;
  const lk_program *program = executor->program;
  const lk_allocator *allocator = program->allocator;
  /* Clearing fails only for arguments that are not there. Entries in tables of threads that are
   * inside a call just now are left to them: closing the pool empties those. */
  (void)program->api->cache_clear(program->context, program->executor, NULL);
  program->api->key_destroy(program->context, executor->run_key);
  lk_run_pool_close(executor->pool);
  lk_program_destroy(executor->program);
  while (executor->names != NULL) {
    lk_kept_name *next = executor->names->next;
    lk_free(allocator, executor->names);
    executor->names = next;
  }
  lk_free(allocator, (void *)executor->implementations);
  pthread_mutex_destroy(&executor->names_mutex);
  lk_free(allocator, executor);
}

void lk_graph_executor_stats(lk_graph_executor *executor, lk_session_stats *stats) {
  stats->runs = atomic_load(&executor->runs);
  stats->run_plan_hits = atomic_load(&executor->hits);
  stats->run_plan_builds = atomic_load(&executor->builds);
  lk_run_pool_stats(executor->pool, &stats->frames, &stats->arena_bytes);
}

uint64_t lk_graph_executor_builds(const lk_graph_executor *executor) {
  return atomic_load(&executor->builds);
}

const char *lk_graph_executor_implementation(lk_graph_executor *executor, size_t node) {
  return node < executor->program->graph->n_nodes ? atomic_load(&executor->implementations[node])
                                                  : "";
}

const lk_op_info *lk_graph_executor_op_info(const lk_graph_executor *executor, size_t node) {
  return node < executor->program->graph->n_nodes ? &executor->program->infos[node] : NULL;
}

/* For lk_run_request.bound. A name that finds no memory is not noted. */
static void note_implementation(void *arg, int32_t node, const char *implementation) {
  lk_graph_executor *executor = arg;
  if (implementation == NULL) implementation = "";
  if (strcmp(atomic_load(&executor->implementations[node]), implementation) == 0) return;
  pthread_mutex_lock(&executor->names_mutex);
  lk_kept_name *name = executor->names;
  while (name != NULL && strcmp(name->text, implementation) != 0) name = name->next;
  if (name == NULL) {
    size_t length = strlen(implementation);
    name = lk_alloc(executor->program->allocator, sizeof *name + length + 1);
    if (name != NULL) {
      memcpy(name->text, implementation, length + 1);
      name->next = executor->names;
      executor->names = name;
    }
  }
  if (name != NULL) atomic_store(&executor->implementations[node], name->text);
  pthread_mutex_unlock(&executor->names_mutex);
}

/* ---- one run ---- */

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

static lk_status build_entry(lk_run_call *call, bool cached, lk_run_entry **out_entry,
                             lk_error *error) {
  lk_graph_executor *executor = call->executor;
  lk_run_request request = {.inputs = call->inputs,
                            .wanted = call->wanted,
                            .bound = note_implementation,
                            .bound_arg = executor};
  lk_run_plan *plan = NULL;
  *out_entry = NULL;
  lk_status status = lk_run_plan_build(executor->program, &request, &plan, error);
  if (status == LK_OK) status = lk_run_entry_create(executor->pool, plan, cached, out_entry, error);
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
static lk_status find_entry(lk_run_call *call, lk_error *error) {
  lk_status status = LK_OK;
  lk_graph_executor *executor = call->executor;
  const lk_program *program = executor->program;
  const lk_api *api = program->api;
  int hit = 0;
  if (!executor->run_plans) return build_entry(call, false, &call->entry, error);

  const lk_key_desc desc = {.struct_size = sizeof desc,
                            .n_tensors = (uint32_t)program->graph->n_inputs,
                            .n_values = program->n_by_value + (call->wants_all ? 0 : 1),
                            .tensors = call->descs,
                            .values = call->values};
  LK_TRY(api->get_or_create_like(program->context, program->executor, executor->run_key, &desc,
                                 build_cached, call, &call->ref, &hit, error));
  call->entry = api->ref_value(call->ref);
  if (hit) atomic_fetch_add_explicit(&executor->hits, 1, memory_order_relaxed);

cleanup:
  return status;
}

static lk_status check_deadline(const lk_run_options *options, lk_error *error) {
  if (options == NULL || options->deadline_ns == 0) return LK_OK;
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  uint64_t ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
  if (ns < options->deadline_ns) return LK_OK;
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

static void set_pointers(const lk_run_call *call, const lk_run_plan *plan,
                         const lk_run_lease *lease) {
  const lk_graph *graph = plan->program->graph;
  lk_run_frame *frame = lease->frame;
  uintptr_t *base = frame->bases;
  *base++ = 0;
  *base++ = lease->arena != NULL ? (uintptr_t)lease->arena->data : 0;
  for (size_t i = 0; i < graph->n_inputs; i++) *base++ = (uintptr_t)call->inputs[i].data;
  for (size_t i = 0; i < graph->n_outputs; i++) *base++ = (uintptr_t)call->outputs[i];
  for (uint32_t i = 0; i < plan->n_operands; i++) {
    frame->pointers[i] = (void *)(frame->bases[plan->operands[i].base] + plan->operands[i].offset);
  }
}

/* From here to the last operator: no allocation, no lock, no lookup. */
static lk_status run_steps(const lk_run_plan *plan, const lk_run_frame *frame,
                           const lk_graph_run *run, lk_error *error) {
  const lk_api *api = plan->program->api;
  const volatile int32_t *cancel = run->options != NULL ? run->options->cancel : NULL;
  lk_status status = LK_OK;
  const lk_run_step *step = plan->steps;
  const lk_run_step *end = step + plan->n_steps;
  bool cancelled = false;
  api->frame_begin(frame->frame);
  for (; step < end; step++) {
    cancelled = (cancel != NULL && *cancel != 0) || (run->stop != NULL && *run->stop != 0);
    if (cancelled) break;
    void *const *inputs = frame->pointers + step->first_operand;
    status = api->op_run(frame->frame, frame->slots[step - plan->steps], inputs,
                         inputs + step->n_inputs, error);
    if (status != LK_OK) break;
  }
  api->frame_end(frame->frame);
  if (step == end) return LK_OK;
  const lk_graph *graph = plan->program->graph;
  const lk_node *node = &graph->nodes[step->node];
  if (cancelled) {
    return lk_fail(error, LK_CANCELLED, "failed to run the graph: cancelled before node '%s' (%s)",
                   lk_program_node_label(graph, node), node->op_type);
  }
  return lk_error_prefix(error, status, "node '%s' (%s)", lk_program_node_label(graph, node),
                         node->op_type);
}

static lk_status copy_outputs(const lk_run_call *call, const lk_run_plan *plan,
                              const lk_run_frame *frame, lk_error *error) {
  for (uint32_t i = 0; i < plan->n_copies; i++) {
    const lk_run_copy *copy = &plan->copies[i];
    if (plan->output_bytes[copy->output] == 0) continue;
    void *from = (void *)(frame->bases[copy->from.base] + copy->from.offset);
    if (copy->desc.layout == LK_LAYOUT_PLAIN) {
      memcpy(call->outputs[copy->output], from, plan->output_bytes[copy->output]);
      continue;
    }
    lk_tensor source = {.desc = copy->desc, .data = from};
    lk_tensor target = {.desc = plan->outputs[copy->output], .data = call->outputs[copy->output]};
    lk_status status =
        plan->program->api->tensor_convert(plan->program->context, &source, &target, error);
    if (status != LK_OK) return status;
  }
  return LK_OK;
}

static void charge(const lk_run_call *call, uint64_t bytes) {
  if (call->ref != NULL && bytes > 0) call->executor->program->api->ref_charge(call->ref, bytes);
}

static lk_status execute(lk_run_call *call, const lk_graph_run *run, lk_error *error) {
  const lk_run_plan *plan = lk_run_entry_plan(call->entry);
  lk_run_lease lease = {0};
  uint64_t bytes = 0;
  lk_status status = lk_run_lease_take(call->entry, &lease, &bytes, error);
  charge(call, bytes);
  if (status != LK_OK) return status;
  set_pointers(call, plan, &lease);
  status = run_steps(plan, lease.frame, run, error);
  if (status == LK_OK) status = copy_outputs(call, plan, lease.frame, error);
  lk_run_lease_give(call->entry, &lease, &bytes);
  charge(call, bytes);
  return status;
}

static void call_end(lk_run_call *call, lk_status status) {
  const lk_program *program = call->executor->program;
  for (size_t i = 0; status != LK_OK && call->outputs != NULL && i < program->graph->n_outputs;
       i++) {
    if (call->owned[i]) lk_free(program->allocator, call->outputs[i]);
  }
  if (call->ref != NULL) {
    program->api->ref_release(call->ref);
  } else {
    lk_run_entry_destroy(call->entry);
  }
  lk_free(program->allocator, call->memory);
}

lk_status lk_graph_executor_run(lk_graph_executor *executor, const lk_graph_run *run,
                                lk_error *error) {
  lk_status status = LK_OK;
  lk_run_call call;
  LK_TRY(call_begin(&call, executor, run, error));
  if (executor->program->n_by_value > 0) LK_TRY(check_values(&call, error));
  LK_TRY(find_entry(&call, error));
  const lk_run_plan *plan = lk_run_entry_plan(call.entry);
  if (run->place == NULL) {
    LK_TRY(lk_run_check_outputs(plan, call.inputs, run->outputs, call.wanted, error));
  }
  LK_TRY(check_deadline(run->options, error));
  LK_TRY(make_outputs(&call, run, error));
  LK_TRY(execute(&call, run, error));
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
  LK_TRY(find_entry(&call, error));
cleanup:
  call_end(&call, status);
  lk_free(program->allocator, inputs);
  return status;
}
