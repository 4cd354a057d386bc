/* Makes and destroys flows, and answers questions about them. */
#include "executor_glue/flow/flow.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/flow/iteration.h"
#include "executor_glue/flow/lists.h"
#include "executor_glue/flow/missing.h"
#include "executor_glue/flow/part.h"
#include "executor_glue/flow/scan.h"
#include "executor_glue/flow/stages.h"
#include "executor_glue/flow/state.h"
#include "executor_glue/graph/step.h"

/* A flow while it is made. */
typedef struct builder {
  lk_flow *flow;
  const lk_graph_executor_options *options;
  int32_t *stages;           /* [n_nodes]: as lk_flow_stages says */
  int32_t *slots;            /* [n_values], or LK_NO_SLOT */
  int32_t *inputs, *outputs; /* [n_values]: of a part */
  lk_flow_parts parts;
  const lk_tensor_desc
      *known; /* [n_inputs]: what is known of a body's inputs; NULL: the main graph */
  lk_symbolic_shapes *shapes; /* of a graph that has bodies in it; else NULL */
  lk_error *error;
} builder;

/* ---- slots ---- */

/* The slot of a value, which gets one where it has none. */
static int32_t take_slot(const builder *b, int32_t value) {
  if (value == LK_NO_VALUE) return LK_NO_SLOT;
  if (b->slots[value] == LK_NO_SLOT) b->slots[value] = (int32_t)b->flow->n_slots++;
  return b->slots[value];
}

static lk_status set_slots(const builder *b, lk_stage *stage, const int32_t *inputs,
                           size_t n_inputs, const int32_t *outputs, size_t n_outputs) {
  stage->slots = lk_calloc(b->flow->allocator, n_inputs + n_outputs, sizeof *stage->slots);
  if (stage->slots == NULL) {
    return lk_fail_memory(b->error, "a stage", (n_inputs + n_outputs) * sizeof *stage->slots);
  }
  stage->n_inputs = (int32_t)n_inputs;
  stage->n_outputs = (int32_t)n_outputs;
  for (size_t i = 0; i < n_inputs; i++) stage->slots[i] = take_slot(b, inputs[i]);
  for (size_t i = 0; i < n_outputs; i++) stage->slots[n_inputs + i] = take_slot(b, outputs[i]);
  return LK_OK;
}

/* Constants that stages or the caller read have a copy, aligned, as long as the flow. */
static lk_status fill_constants(const builder *b) {
  lk_flow *flow = b->flow;
  flow->constants = lk_calloc(flow->allocator, flow->n_slots, sizeof *flow->constants);
  if (flow->constants == NULL) {
    return lk_fail_memory(b->error, "slots", flow->n_slots * sizeof *flow->constants);
  }
  for (size_t v = 0; v < flow->graph->n_values; v++) {
    if (b->slots[v] == LK_NO_SLOT || !lk_value_is_constant(flow->graph, (int32_t)v)) continue;
    const lk_tensor *from = &flow->graph->values[v].constant;
    const size_t bytes = lk_flow_value_bytes(&from->desc);
    lk_tensor *to = &flow->constants[b->slots[v]];
    *to = (lk_tensor){from->desc, lk_alloc_aligned(flow->allocator, bytes, LK_DATA_ALIGNMENT)};
    if (to->data == NULL) return lk_fail_memory(b->error, "a constant", bytes);
    if (bytes > 0) memcpy(to->data, from->data, bytes);
  }
  return LK_OK;
}

static lk_status find_last_uses(const builder *b) {
  lk_flow *flow = b->flow;
  const lk_graph *graph = flow->graph;
  flow->last_use = lk_calloc(flow->allocator, flow->n_slots, sizeof *flow->last_use);
  if (flow->last_use == NULL) {
    return lk_fail_memory(b->error, "slots", flow->n_slots * sizeof *flow->last_use);
  }
  for (size_t s = 0; s < flow->n_stages; s++) {
    const lk_stage *stage = &flow->stages[s];
    for (int32_t i = 0; i < stage->n_inputs + stage->n_outputs; i++) {
      if (stage->slots[i] != LK_NO_SLOT) flow->last_use[stage->slots[i]] = (int32_t)s;
    }
  }
  for (size_t i = 0; i < graph->n_outputs; i++) {
    flow->last_use[flow->output_slots[i]] = (int32_t)flow->n_stages;
  }
  return LK_OK;
}

/* ---- stages ---- */

/* The options of a graph executor within: its run plans have a name of their own. */
static lk_status create_executor(const builder *b, lk_graph *graph, size_t stage,
                                 lk_graph_executor **out) {
  lk_flow *flow = b->flow;
  const size_t bytes = strlen(graph->scope) + 32;
  char *name = lk_alloc(flow->allocator, bytes);
  if (name == NULL) return lk_fail_memory(b->error, "the name of a stage", bytes);
  (void)snprintf(name, bytes, "run:%s:%zu", graph->scope, stage);
  lk_graph_executor_options options = *b->options;
  options.name = name;
  options.max_runs = 0; /* the flow's own matter */
  const lk_status status = lk_graph_executor_create(flow->api, flow->context, flow->executor, graph,
                                                    &options, out, b->error);
  lk_free(flow->allocator, name);
  return status;
}

/* Nodes of one number in `b->stages`, as a graph of their own. */
static lk_status make_part(const builder *b, lk_stage *stage, int32_t number) {
  lk_flow *flow = b->flow;
  LK_RETURN_NOT_OK(lk_flow_part_create(&b->parts, number, flow->node_index, b->inputs, b->outputs,
                                       &stage->graph, b->error));
  LK_RETURN_NOT_OK(
      set_slots(b, stage, b->inputs, stage->graph->n_inputs, b->outputs, stage->graph->n_outputs));
  if (stage->kind == LK_STAGE_PART) {
    return create_executor(b, stage->graph, (size_t)(stage - flow->stages), &stage->executor);
  }
  return lk_program_create(flow->api, flow->context, flow->executor, stage->graph, &stage->program,
                           b->error);
}

static lk_status create(const lk_flow *like, lk_graph *graph, const lk_tensor_desc *known,
                        const lk_graph_executor_options *options, lk_flow **out_flow,
                        lk_error *error);

/* Also notes what its outputs are, while its nodes have their attributes. */
static lk_status make_body(const builder *b, lk_stage *stage, uint32_t at,
                           const lk_graph_executor_options *options, lk_flow **out) {
  lk_status status = LK_OK;
  const lk_flow *flow = b->flow;
  lk_graph *graph = stage->node->bodies[at].graph;
  lk_tensor_desc *inputs = NULL;
  LK_TRY(lk_flow_body_inputs(b->shapes, stage, at, graph, &inputs, b->error));
  if (stage->kind == LK_STAGE_LOOP || stage->kind == LK_STAGE_SCAN) {
    LK_TRY(lk_flow_body_outputs(flow->api, graph, inputs, &stage->results, b->error));
  }
  LK_TRY(create(flow, graph, inputs, options, out, b->error));
cleanup:
  lk_free(flow->allocator, inputs);
  return status;
}

static lk_status make_bodies(const builder *b, lk_stage *stage) {
  const lk_node *node = stage->node;
  const char *const names[2] = {stage->kind == LK_STAGE_IF ? "then_branch" : "body", "else_branch"};
  const bool has_none = stage->kind == LK_STAGE_LIST && !lk_flow_list_has_body(stage->list_op);
  const uint32_t count = has_none ? 0 : stage->kind == LK_STAGE_IF ? 2 : 1;
  lk_graph_executor_options options = *b->options;
  options.max_runs = 0;
  if (node->n_bodies > count) {
    return lk_fail(b->error, LK_MALFORMED,
                   "failed to read it: it has %u graphs as attributes, at most %u may be there",
                   node->n_bodies, count);
  }
  for (uint32_t i = 0; i < count; i++) {
    uint32_t at = 0;
    while (at < node->n_bodies && strcmp(node->bodies[at].name, names[i]) != 0) at++;
    if (at == node->n_bodies) {
      return lk_fail(b->error, LK_MALFORMED,
                     "failed to read it: attribute '%s' is missing, it is required", names[i]);
    }
    /* those of If follow each other among the captured values in the order of the node's */
    stage->body_at[i] = at;
    stage->n_captured[i] = node->bodies[at].n_captured;
    LK_RETURN_NOT_OK(make_body(b, stage, at, &options, &stage->bodies[i]));
  }
  return LK_OK;
}

/* How many inputs and outputs a body has must fit what the node has. */
static lk_status check_body(const builder *b, const lk_stage *stage, uint32_t body, size_t n_inputs,
                            size_t n_outputs) {
  const lk_graph *graph = stage->bodies[body]->graph;
  const size_t own = graph->n_inputs - stage->n_captured[body];
  if (own == n_inputs && graph->n_outputs == n_outputs) return LK_OK;
  return lk_fail(
      b->error, LK_MALFORMED,
      "failed to read it: its body has %zu inputs and %zu outputs, %zu and %zu are required", own,
      graph->n_outputs, n_inputs, n_outputs);
}

static lk_status check_bodies(const builder *b, const lk_stage *stage) {
  const lk_node *node = stage->node;
  const uint32_t own = node->n_inputs - lk_node_captured(node);
  switch (stage->kind) {
  case LK_STAGE_IF:
    if (own != 1) {
      return lk_fail(b->error, LK_MALFORMED, "failed to read it: it has %u inputs, one is required",
                     own);
    }
    LK_RETURN_NOT_OK(check_body(b, stage, 0, 0, node->n_outputs));
    return check_body(b, stage, 1, 0, node->n_outputs);
  case LK_STAGE_LOOP:
    if (own < 2 || node->n_outputs + 2 < own) {
      return lk_fail(b->error, LK_MALFORMED,
                     "failed to read it: it has %u inputs and %u outputs, which do not make a "
                     "loop; two inputs are "
                     "required, and one with an output for each carried value",
                     own, node->n_outputs);
    }
    return check_body(b, stage, 0, own, (size_t)node->n_outputs + 1);
  case LK_STAGE_SCAN:
    return check_body(b, stage, 0, own - (node->opset < 9 ? 1 : 0), node->n_outputs);
  default:
    return node->n_bodies == 0 ? LK_OK : check_body(b, stage, 0, own, node->n_outputs);
  }
}

static lk_status make_control(const builder *b, lk_stage *stage) {
  lk_status status = LK_OK;
  const lk_node *node = stage->node;
  LK_TRY(set_slots(b, stage, node->inputs, node->n_inputs, node->outputs, node->n_outputs));
  if (stage->kind == LK_STAGE_SCAN) {
    LK_TRY(lk_flow_scan_read(b->flow->allocator, stage, b->error));
  }
  if (stage->kind == LK_STAGE_LIST) {
    LK_TRY(lk_flow_list_read(b->flow->graph, stage, b->error));
  }
  LK_TRY(make_bodies(b, stage));
  LK_TRY(check_bodies(b, stage));
cleanup:
  if (status == LK_OK) return LK_OK;
  return lk_program_name_node(b->flow->graph, node, status, b->error);
}

static lk_status kind_of(const builder *b, const lk_node *node, lk_stage_kind *out) {
  static const struct {
    const char *op_type;
    lk_stage_kind kind;
  } kinds[] = {{"If", LK_STAGE_IF}, {"Loop", LK_STAGE_LOOP}, {"Scan", LK_STAGE_SCAN}};
  *out = lk_flow_list_find(b->flow->graph, node) != NULL ? LK_STAGE_LIST : LK_STAGE_OP;
  if (*out == LK_STAGE_LIST || node->n_bodies == 0) return LK_OK;
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (!lk_node_is(node, kinds[i].op_type)) continue;
    *out = kinds[i].kind;
    return LK_OK;
  }
  const lk_status status = lk_fail(
      b->error, LK_UNSUPPORTED,
      "failed to read it: %s has a body, bodies are supported for If, Loop, Scan and SequenceMap",
      node->op_type);
  return lk_program_name_node(b->flow->graph, node, status, b->error);
}

/* Whose nodes lk_flow_stages has put into such a stage. */
static bool runs_alone(int32_t stage) {
  return stage % 2 != 0;
}

/* Numbers stages anew, so that each node that runs alone has one of its own, and counts them. */
static lk_status number_stages(const builder *b, int32_t count) {
  lk_flow *flow = b->flow;
  const size_t n_nodes = flow->graph->n_nodes;
  int32_t *next = lk_calloc(flow->allocator, (size_t)count, sizeof *next);
  if (next == NULL) return lk_fail_memory(b->error, "stages", (size_t)count * sizeof *next);
  for (size_t n = 0; n < n_nodes; n++) {
    const int32_t stage = b->stages[n];
    next[stage] = runs_alone(stage) ? next[stage] + 1 : 1;
  }
  for (int32_t stage = 0, sum = 0; stage < count; stage++) {
    const int32_t n_numbers = next[stage];
    next[stage] = sum;
    sum += n_numbers;
    flow->n_stages = (size_t)sum;
  }
  for (size_t n = 0; n < n_nodes; n++) {
    const int32_t stage = b->stages[n];
    b->stages[n] = runs_alone(stage) ? next[stage]++ : next[stage];
  }
  lk_free(flow->allocator, next);
  return LK_OK;
}

static lk_status make_stages(const builder *b) {
  lk_flow *flow = b->flow;
  const lk_graph *graph = flow->graph;
  flow->stages = lk_calloc(flow->allocator, flow->n_stages, sizeof *flow->stages);
  if (flow->stages == NULL) {
    return lk_fail_memory(b->error, "stages", flow->n_stages * sizeof *flow->stages);
  }
  for (size_t n = 0; n < graph->n_nodes; n++) {
    lk_stage *stage = &flow->stages[b->stages[n]];
    LK_RETURN_NOT_OK(lk_step(b->error));
    flow->node_stage[n] = b->stages[n];
    if (lk_flow_runs_alone(flow->api, graph, &graph->nodes[n])) {
      stage->node = &graph->nodes[n];
      LK_RETURN_NOT_OK(kind_of(b, stage->node, &stage->kind));
    }
  }
  for (size_t s = 0; s < flow->n_stages; s++) {
    lk_stage *stage = &flow->stages[s];
    LK_RETURN_NOT_OK(flow->api->thread_look(b->error));
    const bool is_graph = stage->kind == LK_STAGE_PART || stage->kind == LK_STAGE_OP;
    LK_RETURN_NOT_OK(is_graph ? make_part(b, stage, (int32_t)s) : make_control(b, stage));
  }
  return LK_OK;
}

/* ---- the whole ---- */

/* Those that the ops have now, and those that slots have copies of. */
static void free_constants(lk_graph *graph) {
  for (size_t i = 0; i < graph->n_values; i++) {
    lk_value *value = &graph->values[i];
    if (value->constant_kind != LK_CONSTANT_OWNED) continue;
    lk_free(graph->allocator, value->constant.data);
    value->constant.data = NULL;
  }
}

static int32_t *make_numbers(const lk_flow *flow, size_t count) {
  int32_t *numbers = lk_calloc(flow->allocator, count, sizeof *numbers);
  for (size_t i = 0; numbers != NULL && i < count; i++) numbers[i] = LK_NO_SLOT;
  return numbers;
}

static lk_status take_border_slots(const builder *b) {
  lk_flow *flow = b->flow;
  const lk_graph *graph = flow->graph;
  for (size_t i = 0; i < graph->n_inputs; i++) {
    flow->input_slots[i] = take_slot(b, graph->inputs[i]);
  }
  for (size_t i = 0; i < graph->n_outputs; i++) {
    flow->output_slots[i] = take_slot(b, graph->outputs[i]);
  }
  return LK_OK;
}

/* The main graph, and the bodies in it. */
static lk_status check_whole(lk_graph *graph, lk_error *error) {
  LK_RETURN_NOT_OK(lk_flow_find_kinds(graph, error));
  for (size_t i = 0; i < graph->n_outputs; i++) {
    LK_RETURN_NOT_OK(lk_flow_check_output(graph, i, error));
  }
  return LK_OK;
}

static lk_status fill(builder *b) {
  lk_status status = LK_OK;
  lk_flow *flow = b->flow;
  lk_graph *graph = flow->graph;
  int32_t count = 0;
  b->stages = make_numbers(flow, graph->n_nodes);
  b->slots = make_numbers(flow, graph->n_values);
  b->inputs = make_numbers(flow, graph->n_values);
  b->outputs = make_numbers(flow, graph->n_values);
  if (b->stages == NULL || b->slots == NULL || b->inputs == NULL || b->outputs == NULL) {
    LK_TRY(lk_fail_memory(b->error, "a flow", graph->n_values * sizeof(int32_t)));
  }
  if (graph->scope[0] == '\0') LK_TRY(check_whole(graph, b->error));
  LK_TRY(lk_symbolic_shapes_of_body(flow->api, graph, b->known, &b->shapes, b->error));
  LK_TRY(lk_flow_check_types(flow->api, graph, b->shapes, b->error));
  LK_TRY(lk_flow_stages(flow->api, graph, b->stages, &count, b->error));
  if (count == 1) {
    LK_TRY(graph->scope[0] == '\0'
               ? lk_graph_executor_create(flow->api, flow->context, flow->executor, graph,
                                          b->options, &flow->single, b->error)
               : create_executor(b, graph, 0, &flow->single));
    goto cleanup;
  }
  flow->input_slots = make_numbers(flow, graph->n_inputs);
  flow->output_slots = make_numbers(flow, graph->n_outputs);
  flow->node_stage = make_numbers(flow, graph->n_nodes);
  flow->node_index = make_numbers(flow, graph->n_nodes);
  if (flow->input_slots == NULL || flow->output_slots == NULL || flow->node_stage == NULL ||
      flow->node_index == NULL) {
    LK_TRY(lk_fail_memory(b->error, "a flow", graph->n_nodes * sizeof(int32_t)));
  }
  LK_TRY(take_border_slots(b));
  LK_TRY(number_stages(b, count));
  LK_TRY(lk_flow_parts_create(graph, b->stages, flow->n_stages, &b->parts, b->error));
  LK_TRY(make_stages(b));
  LK_TRY(fill_constants(b));
  LK_TRY(find_last_uses(b));
  LK_TRY(lk_graph_compact(graph, b->error));
  for (size_t s = 0; s < flow->n_stages; s++) flow->stages[s].node = NULL;
  for (size_t n = 0; n < graph->n_nodes; n++) {
    lk_stage *stage = &flow->stages[flow->node_stage[n]];
    if (stage->kind != LK_STAGE_PART) stage->node = &graph->nodes[n];
  }
  free_constants(graph);

cleanup:
  lk_symbolic_shapes_destroy(b->shapes);
  lk_flow_parts_destroy(&b->parts);
  lk_free(flow->allocator, b->stages);
  lk_free(flow->allocator, b->slots);
  lk_free(flow->allocator, b->inputs);
  lk_free(flow->allocator, b->outputs);
  return status;
}

lk_status lk_flow_create(const lk_api *api, lk_context *context, lk_executor *executor,
                         lk_graph *graph, const lk_graph_executor_options *options,
                         lk_flow **out_flow, lk_error *error) {
  const lk_flow like = {.api = api,
                        .context = context,
                        .executor = executor,
                        .allocator = api->context_allocator(context)};
  return create(&like, graph, NULL, options, out_flow, error);
}

/* In the context and executor of `like`. */
static lk_status create(const lk_flow *like, lk_graph *graph, const lk_tensor_desc *known,
                        const lk_graph_executor_options *options, lk_flow **out_flow,
                        lk_error *error) {
  *out_flow = NULL;
  lk_flow *flow = lk_calloc(like->allocator, 1, sizeof *flow);
  if (flow == NULL) return lk_fail_memory(error, "a flow", sizeof *flow);
  flow->api = like->api;
  flow->context = like->context;
  flow->executor = like->executor;
  flow->allocator = like->allocator;
  flow->graph = graph;
  lk_run_limit_create(&flow->limit, options->max_runs, options->fail_busy);
  builder b = {.flow = flow, .options = options, .known = known, .error = error};
  const lk_status status = fill(&b);
  if (status != LK_OK) {
    lk_flow_destroy(flow);
    return status;
  }
  *out_flow = flow;
  return LK_OK;
}

static void destroy_stage(const lk_flow *flow, lk_stage *stage) {
  lk_frame *frame = atomic_load(&stage->frame);
  if (frame != NULL) flow->api->frame_destroy(frame);
  lk_graph_executor_destroy(stage->executor);
  lk_program_destroy(stage->program);
  lk_graph_destroy(stage->graph);
  lk_flow_destroy(stage->bodies[0]);
  lk_flow_destroy(stage->bodies[1]);
  lk_free(flow->allocator, stage->scan_inputs);
  lk_free(flow->allocator, stage->scan_outputs);
  lk_free(flow->allocator, stage->results);
  lk_free(flow->allocator, stage->slots);
}

void lk_flow_destroy(lk_flow *flow) {
  if (flow == NULL) return;
  const lk_allocator *allocator = flow->allocator;
  lk_graph_executor_destroy(flow->single);
  for (size_t s = 0; flow->stages != NULL && s < flow->n_stages; s++) {
    destroy_stage(flow, &flow->stages[s]);
  }
  for (size_t i = 0; flow->constants != NULL && i < flow->n_slots; i++) {
    lk_free(allocator, flow->constants[i].data);
  }
  lk_run_limit_destroy(&flow->limit);
  lk_free(allocator, flow->stages);
  lk_free(allocator, flow->constants);
  lk_free(allocator, flow->last_use);
  lk_free(allocator, flow->input_slots);
  lk_free(allocator, flow->output_slots);
  lk_free(allocator, flow->node_stage);
  lk_free(allocator, flow->node_index);
  lk_free(allocator, flow);
}

/* ---- questions ---- */

/* Calls `fn` for each graph executor, also in bodies. */
typedef void each_fn(lk_graph_executor *executor, void *arg);
static void for_each(const lk_flow *flow, each_fn *fn, void *arg) {
  if (flow->single != NULL) fn(flow->single, arg);
  for (size_t s = 0; s < flow->n_stages; s++) {
    const lk_stage *stage = &flow->stages[s];
    if (stage->executor != NULL) fn(stage->executor, arg);
    for (int i = 0; i < 2; i++) {
      if (stage->bodies[i] != NULL) for_each(stage->bodies[i], fn, arg);
    }
  }
}

static void add_stats(lk_graph_executor *executor, void *arg) {
  lk_session_stats *sum = arg, one = {0};
  lk_graph_executor_stats(executor, &one);
  sum->runs += one.runs;
  sum->run_plan_hits += one.run_plan_hits;
  sum->run_plan_builds += one.run_plan_builds;
  sum->parallel_runs += one.parallel_runs;
  sum->waits += one.waits;
  sum->frames += one.frames;
  sum->arena_bytes += one.arena_bytes;
}

void lk_flow_stats(lk_flow *flow, lk_session_stats *stats) {
  for_each(flow, add_stats, stats);
  if (flow->single != NULL) return;
  stats->runs = atomic_load(&flow->runs);
  stats->waits += lk_run_limit_waits(&flow->limit);
}

static void add_builds(lk_graph_executor *executor, void *arg) {
  *(uint64_t *)arg += lk_graph_executor_builds(executor);
}

uint64_t lk_flow_builds(const lk_flow *flow) {
  if (flow->single != NULL) return lk_graph_executor_builds(flow->single);
  uint64_t sum = 0;
  for_each(flow, add_builds, &sum);
  return sum;
}

/* The graph executor that binds a node, and the node's number in its graph; NULL: the node runs
 * alone. */
static lk_graph_executor *executor_of(const lk_flow *flow, size_t *inout_node) {
  if (flow->single != NULL) return flow->single;
  const size_t node = *inout_node;
  *inout_node = (size_t)flow->node_index[node];
  return flow->stages[flow->node_stage[node]].executor;
}

const char *lk_flow_implementation(const lk_flow *flow, size_t node) {
  lk_graph_executor *executor = executor_of(flow, &node);
  return executor != NULL ? lk_graph_executor_implementation(executor, node) : "";
}

lk_node_stats lk_flow_node_stats(const lk_flow *flow, size_t node) {
  const lk_graph_executor *executor = executor_of(flow, &node);
  if (executor == NULL) return (lk_node_stats){.struct_size = sizeof(lk_node_stats)};
  return lk_graph_executor_node_stats(executor, node);
}

/* lk_flow_visit_sizes, for one executor after the other. */
typedef struct size_visit {
  lk_size_fn visit;
  void *arg;
  uint64_t lost;
  lk_status status;
  lk_error *error;
} size_visit;

static void visit_sizes(lk_graph_executor *executor, void *arg) {
  size_visit *self = arg;
  uint64_t lost = 0;
  if (self->status != LK_OK) return;
  self->status =
      lk_graph_executor_visit_sizes(executor, self->visit, self->arg, &lost, self->error);
  self->lost += lost;
}

lk_status lk_flow_visit_sizes(const lk_flow *flow, lk_size_fn visit, void *arg, uint64_t *out_lost,
                              lk_error *error) {
  size_visit self = {visit, arg, 0, LK_OK, error};
  for_each(flow, visit_sizes, &self);
  *out_lost = self.lost;
  return self.status;
}
