/* Gives the values of a run plan their places: the caller's output buffers, the arena, copies. */
#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/run/arena_plan.h"
#include "executor_glue/run/dependencies.h"

/* Values and operands in storages that are parts of others are in those from here on. */
static void leave_parts(lk_plan_builder *builder) {
  if (!builder->has_parts) return;
  for (size_t i = 0; i < builder->program->graph->n_values; i++) {
    builder->values[i].spot = lk_plan_builder_root(builder, builder->values[i].spot);
  }
  for (size_t i = 0; i < builder->n_operands; i++) {
    builder->operands[i] = lk_plan_builder_root(builder, builder->operands[i]);
  }
}

/* From the first to the last step that reads or writes the storage. */
static void find_lifetimes(lk_plan_builder *builder) {
  for (uint32_t s = 0; s < builder->plan->n_steps; s++) {
    const lk_run_step *step = &builder->plan->steps[s];
    for (uint32_t i = step->first_operand; i < lk_run_step_end(step); i++) {
      const int32_t number = builder->operands[i].storage;
      if (number == LK_NO_STORAGE) continue;
      lk_storage *storage = &builder->storages[number];
      if (!storage->in_steps) storage->first_step = s;
      storage->in_steps = true;
      storage->last_step = s;
    }
  }
}

static uint32_t output_buffer(const lk_plan_builder *builder, uint32_t output) {
  return LK_BUFFER_FIRST_INPUT + (uint32_t)builder->program->graph->n_inputs + output;
}

/* Describes a wanted output. Its storage becomes the caller's buffer when the output is all that is
 * in it at the end: values that were there before have been read by then, and the storage of an
 * output is not written over later. */
static lk_status place_output(lk_plan_builder *builder, uint32_t output, lk_error *error) {
  const lk_graph *graph = builder->program->graph;
  const lk_bound_value *value = &builder->values[graph->outputs[output]];
  lk_run_plan *plan = builder->plan;
  plan->outputs[output] = value->desc;
  plan->outputs[output].layout = LK_LAYOUT_PLAIN;
  LK_RETURN_NOT_OK(
      lk_plan_builder_bytes(builder, &plan->outputs[output], &plan->output_bytes[output], error));
  if (value->kind == LK_BOUND_NOT_YET) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to place graph output '%s': no node, input or constant makes it",
                   graph->values[graph->outputs[output]].name);
  }
  if (value->kind == LK_BOUND_KNOWN) builder->known[value->known].used = true;
  if (value->kind == LK_BOUND_STORED) {
    lk_storage *storage = &builder->storages[value->spot.storage];
    if (storage->buffer == LK_BUFFER_ARENA && value->desc.layout == LK_LAYOUT_PLAIN &&
        storage->bytes == plan->output_bytes[output]) {
      storage->buffer = output_buffer(builder, output);
    }
    storage->last_step = plan->n_steps; /* the copy, when there is one */
  }
  return LK_OK;
}

static lk_status place_storages(lk_plan_builder *builder, const lk_dependencies *dependencies,
                                lk_error *error) {
  lk_status status = LK_OK;
  const lk_interference interference = {lk_storages_interfere, dependencies};
  lk_arena_block *blocks = lk_calloc(builder->allocator, builder->n_storages, sizeof *blocks);
  if (blocks == NULL) {
    return lk_fail_memory(error, "a memory plan", builder->n_storages * sizeof *blocks);
  }
  for (size_t i = 0; i < builder->n_storages; i++) {
    const lk_storage *storage = &builder->storages[i];
    if (storage->buffer != LK_BUFFER_ARENA || !storage->in_steps) continue;
    blocks[i] = (lk_arena_block){
        .bytes = storage->bytes, .first = storage->first_step, .last = storage->last_step};
  }
  LK_TRY(lk_arena_plan(builder->program->api, builder->allocator,
                       dependencies != NULL ? &interference : NULL, blocks, builder->n_storages,
                       &builder->plan->arena_bytes, error));
  for (size_t i = 0; i < builder->n_storages; i++) {
    lk_storage *storage = &builder->storages[i];
    if (storage->buffer != LK_BUFFER_ARENA) continue;
    storage->offset = blocks[i].offset;
    /* An arena of no bytes is not there: such an operand has no pointer. */
    if (storage->bytes == 0) storage->buffer = LK_BUFFER_NONE;
  }

cleanup:
  lk_free(builder->allocator, blocks);
  return status;
}

/* An arena with larger offsets cannot be allocated, so nobody runs a plan that has them. */
static lk_buffer_ref make_ref(uint32_t buffer, uint64_t offset) {
  return (lk_buffer_ref){.buffer = (uint16_t)buffer, .offset = offset & ((UINT64_C(1) << 48) - 1)};
}

static lk_buffer_ref ref_of(const lk_plan_builder *builder, lk_spot spot) {
  if (spot.storage == LK_NO_STORAGE) return make_ref(LK_BUFFER_NONE, spot.at);
  const lk_storage *storage = &builder->storages[spot.storage];
  return make_ref(storage->buffer, storage->offset + spot.at);
}

/* Where a graph output lies after the last step. */
static lk_buffer_ref output_ref(const lk_plan_builder *builder, int32_t number) {
  const lk_bound_value *value = &builder->values[number];
  if (value->kind == LK_BOUND_STORED) return ref_of(builder, value->spot);
  const void *data = value->kind == LK_BOUND_CONSTANT
                         ? builder->program->graph->values[number].constant.data
                         : value->data;
  return make_ref(LK_BUFFER_NONE, (uintptr_t)data);
}

lk_status lk_place_values(lk_plan_builder *builder, const lk_dependencies *dependencies,
                          lk_error *error) {
  const lk_graph *graph = builder->program->graph;
  const bool *wanted = builder->desc->wanted;
  lk_run_plan *plan = builder->plan;
  plan->copies = lk_calloc(builder->allocator, graph->n_outputs, sizeof *plan->copies);
  plan->operands = lk_calloc(builder->allocator, builder->n_operands, sizeof *plan->operands);
  if (plan->copies == NULL || plan->operands == NULL) {
    return lk_fail_memory(error, "a run plan", builder->n_operands * sizeof *plan->operands);
  }
  leave_parts(builder);
  find_lifetimes(builder);
  for (uint32_t i = 0; i < graph->n_outputs; i++) {
    if (wanted[i]) LK_RETURN_NOT_OK(place_output(builder, i, error));
  }
  LK_RETURN_NOT_OK(place_storages(builder, dependencies, error));

  for (uint32_t i = 0; i < graph->n_outputs; i++) {
    if (!wanted[i]) continue;
    const lk_buffer_ref from = output_ref(builder, graph->outputs[i]);
    if (from.buffer == output_buffer(builder, i)) continue; /* the steps write it there */
    plan->copies[plan->n_copies++] = (lk_output_copy){
        .from = from, .desc = builder->values[graph->outputs[i]].desc, .output = i};
  }
  for (size_t i = 0; i < builder->n_operands; i++) {
    plan->operands[i] = ref_of(builder, builder->operands[i]);
  }
  plan->n_operands = (uint32_t)builder->n_operands;
  return LK_OK;
}
