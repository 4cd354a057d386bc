/* Makes and destroys flows. */
#include "executor_glue/flow/flow.h"

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/flow/builder.h"
#include "executor_glue/flow/lists.h"
#include "executor_glue/flow/missing.h"
#include "executor_glue/flow/stages.h"
#include "executor_glue/graph/step.h"

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

/* The main graph, and the bodies in it. */
static lk_status check_whole(lk_graph *graph, lk_error *error) {
  LK_RETURN_NOT_OK(lk_flow_find_kinds(graph, error));
  for (size_t i = 0; i < graph->n_outputs; i++) {
    LK_RETURN_NOT_OK(lk_flow_check_output(graph, i, error));
  }
  return LK_OK;
}

static lk_status fill(lk_flow_builder *b) {
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
    LK_TRY(lk_flow_charge(b, LK_STAGE_PART));
    LK_TRY(graph->scope[0] == '\0'
               ? lk_graph_executor_create(flow->api, flow->context, flow->executor, graph,
                                          b->options, &flow->single, b->error)
               : lk_flow_create_executor(b, graph, 0, &flow->single));
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
  lk_flow_take_border_slots(b);
  LK_TRY(lk_flow_number_stages(b, count));
  LK_TRY(lk_flow_parts_create(graph, b->stages, flow->n_stages, &b->parts, b->error));
  LK_TRY(lk_flow_make_stages(b));
  LK_TRY(lk_flow_fill_constants(b));
  LK_TRY(lk_flow_find_last_uses(b));
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

/* lk_flow_create_fn */
static lk_status create(const lk_flow *like, size_t *left, lk_graph *graph,
                        const lk_tensor_desc *known, const lk_graph_executor_options *options,
                        lk_flow **out_flow, lk_error *error) {
  *out_flow = NULL;
  lk_flow *flow = lk_calloc(like->allocator, 1, sizeof *flow);
  if (flow == NULL) return lk_fail_memory(error, "a flow", sizeof *flow);
  flow->api = like->api;
  flow->context = like->context;
  flow->executor = like->executor;
  flow->allocator = like->allocator;
  flow->graph = graph;
  lk_run_limit_create(&flow->limit, options->max_runs, options->fail_busy);
  lk_flow_builder b = {.flow = flow,
                       .left = left,
                       .options = options,
                       .known = known,
                       .create = create,
                       .error = error};
  const lk_status status = fill(&b);
  if (status != LK_OK) {
    lk_flow_destroy(flow);
    return status;
  }
  *out_flow = flow;
  return LK_OK;
}

lk_status lk_flow_create(const lk_api *api, lk_context *context, lk_executor *executor,
                         lk_graph *graph, const lk_graph_executor_options *options,
                         lk_flow **out_flow, lk_error *error) {
  const lk_flow like = {.api = api,
                        .context = context,
                        .executor = executor,
                        .allocator = api->context_allocator(context)};
  size_t left = LK_FLOW_MOST_BYTES;
  return create(&like, &left, graph, NULL, options, out_flow, error);
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
