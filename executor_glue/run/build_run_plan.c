/* Builds a run plan: binds the nodes that wanted outputs need, in order; chooses whether the steps
 * run in parallel; and places the values. */
#include "executor_glue/run/build_run_plan.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/step_cost.h"
#include "executor_glue/graph/look.h"
#include "executor_glue/run/dependencies.h"

/* ---- binding ---- */

static bool any_output_wanted(const lk_plan_builder *builder, const lk_node *node) {
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    const lk_bound_value *value = lk_plan_builder_value(builder, node->outputs[i]);
    if (value != NULL && value->wanted) return true;
  }
  return false;
}

/* Which nodes run, and which of them is the last to read each value. */
static void find_uses(lk_plan_builder *builder) {
  const lk_graph *graph = builder->program->graph;
  for (size_t i = 0; i < graph->n_values; i++) {
    builder->values[i].spot.storage = LK_NO_STORAGE;
    builder->values[i].last_use = LK_LAST_USE_NONE;
  }
  for (size_t i = 0; i < graph->n_outputs; i++) {
    if (!builder->desc->wanted[i]) continue;
    builder->values[graph->outputs[i]].wanted = true;
    builder->values[graph->outputs[i]].last_use = LK_LAST_USE_OUTPUT;
  }
  for (size_t n = graph->n_nodes; n-- > 0;) {
    const lk_node *node = &graph->nodes[n];
    const bool reads_elements = !lk_program_shape_only(builder->program, node);
    builder->alive[n] = any_output_wanted(builder, node);
    for (uint32_t i = 0; builder->alive[n] && i < node->n_inputs; i++) {
      lk_bound_value *value = lk_plan_builder_value(builder, node->inputs[i]);
      if (value == NULL) continue;
      value->wanted = true;
      if (reads_elements && value->last_use < (int32_t)n) value->last_use = (int32_t)n;
    }
  }
}

/* Values that no node makes: graph inputs and constants. */
static lk_status bind_sources(lk_plan_builder *builder, lk_error *error) {
  static const int64_t no_elements = 0; /* a known value has a pointer, also without elements */
  const lk_program *program = builder->program;
  const lk_graph *graph = program->graph;
  for (size_t i = 0; i < graph->n_values; i++) {
    if (graph->values[i].constant_kind == LK_CONSTANT_NONE) continue;
    builder->values[i].kind = LK_BOUND_CONSTANT;
    builder->values[i].desc = graph->values[i].constant.desc;
  }
  for (uint32_t i = 0; i < graph->n_inputs; i++) {
    const lk_tensor *input = &builder->desc->inputs[i];
    uint64_t bytes = 0;
    lk_spot spot = {.storage = LK_NO_STORAGE};
    LK_RETURN_NOT_OK(lk_plan_builder_bytes(builder, &input->desc, &bytes, error));
    LK_RETURN_NOT_OK(lk_plan_builder_add_storage(builder, bytes, LK_BUFFER_FIRST_INPUT + i,
                                                 &spot.storage, error));
    lk_bound_value *value = &builder->values[graph->inputs[i]];
    value->desc = input->desc;
    if (program->by_value[i]) value->data = input->data != NULL ? input->data : &no_elements;
    lk_plan_builder_store(builder, graph->inputs[i], spot);
  }
  return LK_OK;
}

static lk_status note_shapes(const lk_plan_builder *builder, lk_error *error) {
  const size_t n_values = builder->program->graph->n_values;
  const lk_tensor_desc **shapes = lk_calloc(builder->allocator, n_values, sizeof *shapes);
  if (shapes == NULL)
    return lk_fail_memory(error, "the shapes of values", n_values * sizeof *shapes);
  for (size_t i = 0; i < n_values; i++) {
    const lk_bound_value *value = &builder->values[i];
    if (value->kind != LK_BOUND_NOT_YET) shapes[i] = &value->desc;
  }
  const lk_status status =
      lk_node_keys_note(builder->desc->node_keys, shapes, builder->bind_ns, error);
  lk_free(builder->allocator, shapes);
  return status;
}

static lk_status bind_nodes(lk_plan_builder *builder, lk_error *error) {
  const lk_run_plan_desc *desc = builder->desc;
  const lk_program *program = builder->program;
  const size_t n_nodes = program->graph->n_nodes;
  const bool is_timed = desc->is_kept || desc->bound != NULL;
  find_uses(builder);
  LK_RETURN_NOT_OK(bind_sources(builder, error));
  uint64_t begin = is_timed ? lk_now_ns() : 0;
  for (size_t i = 0; i < n_nodes; i++) {
    if (!builder->alive[i]) continue;
    LK_RETURN_NOT_OK(lk_graph_look(program->api, "plan the run", error));
    program->api->ops_expect(program->ops + i + 1, (uint32_t)(n_nodes - i - 1));
    LK_RETURN_NOT_OK(lk_bind_node(builder, (int32_t)i, error));
    if (!is_timed) continue;
    const uint64_t end = lk_now_ns();
    builder->bind_ns[i] = end > begin ? end - begin : 1;
    if (desc->is_kept) lk_node_counts_add(desc->node_counts, i, end - begin);
    if (desc->bound != NULL) desc->bound(desc->bound_arg, i, begin, end);
    begin = end;
  }
  return desc->is_kept ? note_shapes(builder, error) : LK_OK;
}

/* ---- in order, or in parallel ---- */

/* How many times as fast running in parallel must look: on 39 graphs and two threads, nearly all
 * that looked 1.2 times as fast were faster, and what looked 1.1 times as fast was not
 * (docs/design/threads.md). */
#define LEAST_GAIN 1.15

/* Into `costs` [n_steps]. `*out_in_order`: how long the steps take one after the other, each on the
 * context's threads. */
static lk_status find_costs(const lk_plan_builder *builder, double *costs, double *out_in_order,
                            lk_error *error) {
  const lk_program *program = builder->program;
  const int32_t threads = program->api->context_threads(program->context);
  *out_in_order = 0;
  for (uint32_t s = 0; s < builder->plan->n_steps; s++) {
    const lk_node *node = &program->graph->nodes[builder->plan->steps[s].node];
    lk_plan_info info = {.struct_size = sizeof info};
    LK_RETURN_NOT_OK(program->api->plan_info(builder->plan->steps[s].plan, &info, error));
    costs[s] = lk_step_cost(info.flops,
                            lk_plan_builder_sum_bytes(builder, node->inputs, node->n_inputs) +
                                lk_plan_builder_sum_bytes(builder, node->outputs, node->n_outputs));
    *out_in_order += lk_step_cost_shared(costs[s], threads);
  }
  return LK_OK;
}

/* Sets the plan's schedule; leaves it NULL when the steps would hardly be faster by it than in
 * their order. */
static lk_status choose_schedule(lk_plan_builder *builder, const lk_dependencies *dependencies,
                                 lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = builder->allocator;
  const uint32_t n_steps = builder->plan->n_steps;
  lk_schedule *schedule = NULL;
  double in_order = 0, in_parallel = 0;
  double *costs = lk_calloc(allocator, n_steps, sizeof *costs);
  if (costs == NULL) return lk_fail_memory(error, "the costs of steps", n_steps * sizeof *costs);
  LK_TRY(find_costs(builder, costs, &in_order, error));
  LK_TRY(lk_schedule_create(builder->program->api, allocator, dependencies->predecessors,
                            dependencies->n_words, costs, n_steps, &schedule, error));
  LK_TRY(lk_schedule_makespan(builder->program->api, allocator, schedule, costs,
                              builder->desc->workers, &in_parallel, error));
  if (in_parallel * LEAST_GAIN < in_order) {
    builder->plan->schedule = schedule;
    builder->plan->workers = builder->desc->workers;
    schedule = NULL;
  }

cleanup:
  lk_schedule_destroy(allocator, schedule);
  lk_free(allocator, costs);
  return status;
}

/* ---- the whole ---- */

/* Known values that a step or copy reads move into the plan; the others were for shapes only. */
static lk_status keep_known(lk_plan_builder *builder, lk_error *error) {
  lk_run_plan *plan = builder->plan;
  plan->known = lk_calloc(builder->allocator, builder->n_known, sizeof *plan->known);
  if (plan->known == NULL) {
    return lk_fail_memory(error, "known values", builder->n_known * sizeof *plan->known);
  }
  plan->bytes =
      sizeof *plan + plan->n_steps * sizeof *plan->steps +
      plan->n_operands * sizeof *plan->operands +
      builder->program->graph->n_outputs * (sizeof *plan->copies + sizeof *plan->outputs) +
      (plan->schedule != NULL ? lk_schedule_bytes(plan->schedule) : 0) + builder->plan_bytes;
  for (size_t i = 0; i < builder->n_known; i++) {
    if (!builder->known[i].used) continue;
    plan->known[plan->n_known++] = builder->known[i].data;
    plan->bytes += builder->known[i].bytes;
    builder->known[i].data = NULL;
  }
  return LK_OK;
}

lk_status lk_build_run_plan(const lk_program *program, const lk_run_plan_desc *desc,
                            lk_run_plan **out_plan, lk_error *error) {
  lk_status status = LK_OK;
  lk_plan_builder builder;
  lk_dependencies *dependencies = NULL;
  *out_plan = NULL;
  LK_TRY(lk_plan_builder_create(program, desc, &builder, error));
  LK_TRY(bind_nodes(&builder, error));
  if (desc->workers > 1) {
    const uint32_t n_steps = builder.plan->n_steps;
    if (n_steps >= 2 && n_steps <= LK_DEPENDENCIES_MAX_STEPS) {
      LK_TRY(lk_dependencies_create(&builder, &dependencies, error));
      LK_TRY(choose_schedule(&builder, dependencies, error));
    }
  }
  LK_TRY(lk_graph_look(program->api, "plan the run", error));
  LK_TRY(lk_place_values(&builder, builder.plan->schedule != NULL ? dependencies : NULL, error));
  LK_TRY(keep_known(&builder, error));
  *out_plan = builder.plan;
  builder.plan = NULL;

cleanup:
  lk_dependencies_destroy(dependencies);
  lk_plan_builder_destroy(&builder);
  return status;
}
