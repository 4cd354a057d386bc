/* The state of building a run plan: its memory, and values that are put into storages. */
#include "executor_glue/run/plan_builder.h"

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"

/* Room for the operands of all nodes, for those of the node with the most, and for the plan's
 * outputs. */
lk_status lk_plan_builder_create(const lk_program *program, const lk_run_plan_desc *desc,
                                 lk_plan_builder *builder, lk_error *error) {
  const lk_graph *graph = program->graph;
  const lk_allocator *allocator = program->allocator;
  size_t inputs = 0, outputs = 0, operands = 0;
  *builder = (lk_plan_builder){
      .program = program, .desc = desc, .allocator = allocator, .scratch = LK_NO_STORAGE};
  if (graph->n_inputs + graph->n_outputs + LK_BUFFER_FIRST_INPUT > LK_MAX_BUFFERS) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to build a run plan: the graph has %zu inputs and outputs, at most %u",
                   graph->n_inputs + graph->n_outputs, LK_MAX_BUFFERS - LK_BUFFER_FIRST_INPUT);
  }
  for (size_t i = 0; i < graph->n_nodes; i++) {
    operands += graph->nodes[i].n_inputs + graph->nodes[i].n_outputs + 1; /* and scratch memory */
    if (graph->nodes[i].n_inputs > inputs) inputs = graph->nodes[i].n_inputs;
    if (graph->nodes[i].n_outputs > outputs) outputs = graph->nodes[i].n_outputs;
  }
  builder->values = lk_calloc(allocator, graph->n_values, sizeof *builder->values);
  builder->alive = lk_calloc(allocator, graph->n_nodes, sizeof *builder->alive);
  builder->bind_ns = lk_calloc(allocator, graph->n_nodes, sizeof *builder->bind_ns);
  builder->operands = lk_alloc(allocator, operands * sizeof *builder->operands);
  builder->inputs = lk_calloc(allocator, inputs, sizeof *builder->inputs);
  builder->wishes = lk_calloc(allocator, outputs, sizeof *builder->wishes);
  builder->outputs = lk_calloc(allocator, outputs, sizeof *builder->outputs);
  builder->pointers = lk_calloc(allocator, inputs + outputs, sizeof *builder->pointers);
  lk_run_plan *plan = builder->plan = lk_calloc(allocator, 1, sizeof *plan);
  if (plan != NULL) {
    plan->program = program;
    plan->outputs = lk_calloc(allocator, graph->n_outputs, sizeof *plan->outputs);
    plan->output_bytes = lk_calloc(allocator, graph->n_outputs, sizeof *plan->output_bytes);
  }
  if (builder->values == NULL || builder->alive == NULL || builder->bind_ns == NULL ||
      builder->operands == NULL || builder->inputs == NULL || builder->wishes == NULL ||
      builder->outputs == NULL || builder->pointers == NULL || plan == NULL ||
      plan->outputs == NULL || plan->output_bytes == NULL) {
    return lk_fail_memory(error, "a run plan", graph->n_values * sizeof *builder->values);
  }
  return LK_OK;
}

void lk_plan_builder_destroy(lk_plan_builder *builder) {
  const lk_allocator *allocator = builder->allocator;
  lk_run_plan_destroy(builder->plan);
  builder->program->api->frame_destroy(builder->frame);
  for (size_t i = 0; i < builder->n_known; i++) lk_free(allocator, builder->known[i].data);
  lk_free(allocator, builder->pointers);
  lk_free(allocator, builder->outputs);
  lk_free(allocator, builder->wishes);
  lk_free(allocator, builder->inputs);
  lk_free(allocator, builder->operands);
  lk_free(allocator, builder->known);
  lk_free(allocator, builder->storages);
  lk_free(allocator, builder->bind_ns);
  lk_free(allocator, builder->alive);
  lk_free(allocator, builder->values);
}

lk_status lk_plan_builder_bytes(const lk_plan_builder *builder, const lk_tensor_desc *desc,
                                uint64_t *out_bytes, lk_error *error) {
  const lk_program *program = builder->program;
  return program->api->tensor_bytes(desc, out_bytes, error);
}

double lk_plan_builder_sum_bytes(const lk_plan_builder *builder, const int32_t *values,
                                 uint32_t count) {
  double sum = 0;
  for (uint32_t i = 0; i < count; i++) {
    const lk_bound_value *value = lk_plan_builder_value(builder, values[i]);
    if (value == NULL) continue;
    sum += (double)lk_elements(&value->desc) * (double)lk_dtype_size(value->desc.dtype);
  }
  return sum;
}

lk_status lk_plan_builder_add_storage(lk_plan_builder *builder, uint64_t bytes, uint32_t buffer,
                                      int32_t *out_storage, lk_error *error) {
  if (!LK_GROW(builder->allocator, builder->storages, builder->n_storages,
               builder->storages_capacity)) {
    return lk_fail_memory(error, "the storages of a run plan",
                          builder->n_storages * sizeof *builder->storages);
  }
  builder->storages[builder->n_storages] = (lk_storage){
      .bytes = bytes, .buffer = buffer, .last_node = LK_LAST_USE_NONE, .parent = LK_NO_STORAGE};
  *out_storage = (int32_t)builder->n_storages++;
  return LK_OK;
}

lk_spot lk_plan_builder_root(const lk_plan_builder *builder, lk_spot spot) {
  for (const lk_storage *storage; spot.storage != LK_NO_STORAGE; spot.storage = storage->parent) {
    storage = &builder->storages[spot.storage];
    if (storage->parent == LK_NO_STORAGE) break;
    spot.at += storage->offset;
  }
  return spot;
}

void lk_plan_builder_store(lk_plan_builder *builder, int32_t value_number, lk_spot spot) {
  lk_bound_value *value = &builder->values[value_number];
  value->kind = LK_BOUND_STORED;
  value->spot = lk_plan_builder_root(builder, spot);
  lk_storage *storage = &builder->storages[value->spot.storage];
  if (value->last_use > storage->last_node) storage->last_node = value->last_use;
}
