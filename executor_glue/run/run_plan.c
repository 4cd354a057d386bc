/* Builds a run plan: walks the nodes that wanted outputs need, in order, then places the values. */
#include "executor_glue/run/run_plan.h"

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/run/plan_build.h"

static bool any_output_used(const lk_run_build *build, const lk_node *node) {
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    if (node->outputs[i] != LK_NO_VALUE && build->values[node->outputs[i]].wanted) return true;
  }
  return false;
}

/* Which nodes run, and which of them is the last to read each value. */
static void find_uses(lk_run_build *build) {
  const lk_graph *graph = build->program->graph;
  for (size_t i = 0; i < graph->n_values; i++) {
    build->values[i].block = LK_NO_BLOCK;
    build->values[i].last_use = -1;
  }
  for (size_t i = 0; i < graph->n_outputs; i++) {
    if (!build->request->wanted[i]) continue;
    build->values[graph->outputs[i]].wanted = true;
    build->values[graph->outputs[i]].last_use = INT32_MAX;
  }
  for (size_t n = graph->n_nodes; n-- > 0;) {
    const lk_node *node = &graph->nodes[n];
    build->alive[n] = any_output_used(build, node);
    for (uint32_t i = 0; build->alive[n] && i < node->n_inputs; i++) {
      if (node->inputs[i] == LK_NO_VALUE) continue;
      lk_run_value *value = &build->values[node->inputs[i]];
      value->wanted = true;
      if (!lk_program_shape_only(build->program, node) && value->last_use < (int32_t)n) {
        value->last_use = (int32_t)n;
      }
    }
  }
}

/* Values that no node makes: graph inputs and constants. */
static lk_status bind_sources(lk_run_build *build, lk_error *error) {
  const lk_program *program = build->program;
  const lk_graph *graph = program->graph;
  for (size_t i = 0; i < graph->n_values; i++) {
    if (graph->values[i].constant_kind == LK_CONSTANT_NONE) continue;
    build->values[i].kind = LK_RUN_CONSTANT;
    build->values[i].desc = graph->values[i].constant.desc;
  }
  for (uint32_t i = 0; i < graph->n_inputs; i++) {
    const lk_tensor *input = &build->request->inputs[i];
    uint64_t bytes = 0;
    int32_t block = LK_NO_BLOCK;
    lk_status status = program->api->tensor_bytes(program->context, &input->desc, &bytes, error);
    if (status == LK_OK) {
      status = lk_run_add_block(build, bytes, LK_RUN_FIRST_INPUT + i, &block, error);
    }
    if (status != LK_OK) return status;
    build->values[graph->inputs[i]].desc = input->desc;
    if (program->by_value[i]) build->values[graph->inputs[i]].data = input->data;
    lk_run_store(build, graph->inputs[i], block);
  }
  return LK_OK;
}

/* Room for the node with the most inputs and outputs. */
static lk_status make_room(lk_run_build *build, lk_error *error) {
  const lk_graph *graph = build->program->graph;
  size_t inputs = 0, outputs = 0;
  for (size_t i = 0; i < graph->n_nodes; i++) {
    if (graph->nodes[i].n_inputs > inputs) inputs = graph->nodes[i].n_inputs;
    if (graph->nodes[i].n_outputs > outputs) outputs = graph->nodes[i].n_outputs;
  }
  build->max_operands = (uint32_t)(inputs + outputs);
  build->values = lk_calloc(build->allocator, graph->n_values, sizeof *build->values);
  build->alive = lk_calloc(build->allocator, graph->n_nodes, sizeof *build->alive);
  build->inputs = lk_calloc(build->allocator, inputs, sizeof *build->inputs);
  build->wishes = lk_calloc(build->allocator, outputs, sizeof *build->wishes);
  build->outputs = lk_calloc(build->allocator, outputs, sizeof *build->outputs);
  build->pointers = lk_calloc(build->allocator, inputs + outputs, sizeof *build->pointers);
  build->plan = lk_calloc(build->allocator, 1, sizeof *build->plan);
  if (build->plan != NULL) build->plan->program = build->program;
  if (build->values == NULL || build->alive == NULL || build->inputs == NULL ||
      build->wishes == NULL || build->outputs == NULL || build->pointers == NULL ||
      build->plan == NULL) {
    return lk_fail_memory(error, "a run plan", graph->n_values * sizeof *build->values);
  }
  build->plan->outputs =
      lk_calloc(build->allocator, graph->n_outputs, sizeof *build->plan->outputs);
  build->plan->output_bytes =
      lk_calloc(build->allocator, graph->n_outputs, sizeof *build->plan->output_bytes);
  if (build->plan->outputs == NULL || build->plan->output_bytes == NULL) {
    return lk_fail_memory(error, "a run plan", graph->n_outputs * sizeof *build->plan->outputs);
  }
  return LK_OK;
}

/* Known values that a step or copy reads move into the plan; the others were for shapes only. */
static lk_status keep_known(lk_run_build *build, lk_error *error) {
  lk_run_plan *plan = build->plan;
  plan->known = lk_calloc(build->allocator, build->n_known, sizeof *plan->known);
  if (plan->known == NULL) {
    return lk_fail_memory(error, "known values", build->n_known * sizeof *plan->known);
  }
  plan->bytes = sizeof *plan + plan->n_steps * sizeof *plan->steps +
                plan->n_operands * sizeof *plan->operands +
                build->program->graph->n_outputs * (sizeof *plan->copies + sizeof *plan->outputs) +
                (plan->schedule != NULL ? lk_run_schedule_bytes(plan->schedule) : 0);
  for (size_t i = 0; i < build->n_known; i++) {
    if (!build->known[i].used) continue;
    plan->known[plan->n_known++] = build->known[i].data;
    plan->bytes += build->known[i].bytes;
    build->known[i].data = NULL;
  }
  return LK_OK;
}

lk_status lk_run_plan_build(const lk_program *program, const lk_run_request *request,
                            lk_run_plan **out_plan, lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = program->allocator;
  lk_run_build build = {.program = program, .request = request, .allocator = allocator};
  *out_plan = NULL;

  LK_TRY(make_room(&build, error));
  find_uses(&build);
  LK_TRY(bind_sources(&build, error));
  for (size_t i = 0; i < program->graph->n_nodes; i++) {
    if (build.alive[i]) LK_TRY(lk_run_bind_node(&build, (int32_t)i, error));
  }
  if (request->workers > 1) {
    LK_TRY(lk_run_find_order(&build, error));
    if ((build.plan->schedule != NULL) != (request->threads == 1)) goto cleanup;
    build.plan->workers = request->workers;
  }
  LK_TRY(lk_run_place(&build, error));
  LK_TRY(keep_known(&build, error));
  *out_plan = build.plan;
  build.plan = NULL;

cleanup:
  lk_run_plan_destroy(build.plan);
  lk_run_order_destroy(build.order);
  program->api->frame_destroy(build.frame);
  for (size_t i = 0; i < build.n_known; i++) lk_free(allocator, build.known[i].data);
  lk_free(allocator, build.pointers);
  lk_free(allocator, build.outputs);
  lk_free(allocator, build.wishes);
  lk_free(allocator, build.inputs);
  lk_free(allocator, build.slots);
  lk_free(allocator, build.known);
  lk_free(allocator, build.blocks);
  lk_free(allocator, build.alive);
  lk_free(allocator, build.values);
  return status;
}

void lk_run_plan_destroy(lk_run_plan *plan) {
  if (plan == NULL) return;
  const lk_program *program = plan->program;
  const lk_allocator *allocator = program->allocator;
  for (uint32_t i = 0; i < plan->n_steps; i++) program->api->plan_release(plan->steps[i].plan);
  for (uint32_t i = 0; i < plan->n_known; i++) lk_free(allocator, plan->known[i]);
  lk_free(allocator, plan->known);
  lk_run_schedule_destroy(allocator, plan->schedule);
  lk_free(allocator, plan->output_bytes);
  lk_free(allocator, plan->outputs);
  lk_free(allocator, plan->copies);
  lk_free(allocator, plan->operands);
  lk_free(allocator, plan->steps);
  lk_free(allocator, plan);
}
