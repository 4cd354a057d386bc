/* Gives the values of a run plan their places: the caller's output buffers, the arena, copies. */
#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/run/arena_plan.h"
#include "executor_glue/run/plan_build.h"

/* From the first to the last step that reads or writes the block. */
static void find_lifetimes(lk_run_build *build) {
  for (uint32_t s = 0; s < build->plan->n_steps; s++) {
    const lk_run_step *step = &build->plan->steps[s];
    for (uint32_t i = 0; i < step->n_inputs + step->n_outputs; i++) {
      int32_t number = build->slots[step->first_operand + i].block;
      if (number == LK_NO_BLOCK) continue;
      lk_run_block *block = &build->blocks[number];
      if (!block->in_steps) block->first_step = s;
      block->in_steps = true;
      block->last_step = s;
    }
  }
}

/* Where a graph output lies after the last step, before the arena is planned: for a block, the
 * operand's offset is filled in later. */
typedef struct lk_run_source {
  lk_run_slot slot;
  bool taken; /* the block itself lies in the caller's buffer */
} lk_run_source;

/* The block becomes the caller's buffer when the output is all that is in it at the end: values that
 * were there before have been read by then, and an output's block is not written over later. */
static lk_status place_output(lk_run_build *build, uint32_t output, lk_run_source *out,
                              lk_error *error) {
  const lk_graph *graph = build->program->graph;
  int32_t number = graph->outputs[output];
  const lk_run_value *value = &build->values[number];
  lk_run_plan *plan = build->plan;
  lk_tensor_desc desc = value->desc;
  desc.layout = LK_LAYOUT_PLAIN;
  plan->outputs[output] = desc;
  lk_status status = build->program->api->tensor_bytes(build->program->context, &desc,
                                                       &plan->output_bytes[output], error);
  if (status != LK_OK) return status;

  *out = (lk_run_source){.slot = {.block = LK_NO_BLOCK}};
  switch (value->kind) {
  case LK_RUN_CONSTANT:
    out->slot.address = (uintptr_t)graph->values[number].constant.data;
    return LK_OK;
  case LK_RUN_KNOWN:
    out->slot.address = (uintptr_t)value->data;
    build->known[value->known].used = true;
    return LK_OK;
  case LK_RUN_STORED: {
    lk_run_block *block = &build->blocks[value->block];
    out->slot.block = value->block;
    if (block->base == LK_RUN_ARENA && value->desc.layout == LK_LAYOUT_PLAIN &&
        block->bytes == plan->output_bytes[output]) {
      block->base = LK_RUN_FIRST_INPUT + (uint32_t)graph->n_inputs + output;
      out->taken = true;
    }
    block->last_step = plan->n_steps; /* the copy, when there is one */
    return LK_OK;
  }
  default:
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to place graph output '%s': no node, input or constant makes it",
                   graph->values[number].name);
  }
}

static lk_status plan_arena(lk_run_build *build, lk_error *error) {
  lk_status status = LK_OK;
  lk_arena_block *arena = lk_calloc(build->allocator, build->n_blocks, sizeof *arena);
  if (arena == NULL) return lk_fail_memory(error, "a memory plan", build->n_blocks * sizeof *arena);
  for (size_t i = 0; i < build->n_blocks; i++) {
    const lk_run_block *block = &build->blocks[i];
    if (block->base != LK_RUN_ARENA || !block->in_steps) continue;
    arena[i] = (lk_arena_block){
        .bytes = block->bytes, .first = block->first_step, .last = block->last_step};
  }
  const lk_arena_order order = {lk_run_blocks_together, build};
  LK_TRY(lk_arena_plan(build->allocator, build->plan->schedule != NULL ? &order : NULL, arena,
                       build->n_blocks, &build->plan->arena_bytes, error));
  for (size_t i = 0; i < build->n_blocks; i++) {
    lk_run_block *block = &build->blocks[i];
    if (block->base == LK_RUN_ARENA) block->offset = arena[i].offset;
    /* An arena of no bytes is not there: such an operand has no pointer. */
    if (block->base == LK_RUN_ARENA && block->bytes == 0) block->base = LK_RUN_ABSOLUTE;
  }

cleanup:
  lk_free(build->allocator, arena);
  return status;
}

static lk_run_operand operand_of(const lk_run_build *build, lk_run_slot slot) {
  if (slot.block == LK_NO_BLOCK) {
    return (lk_run_operand){.base = LK_RUN_ABSOLUTE, .offset = slot.address};
  }
  const lk_run_block *block = &build->blocks[slot.block];
  return (lk_run_operand){.base = block->base, .offset = block->offset};
}

lk_status lk_run_place(lk_run_build *build, lk_error *error) {
  lk_status status = LK_OK;
  const lk_graph *graph = build->program->graph;
  lk_run_plan *plan = build->plan;
  lk_run_source *sources = lk_calloc(build->allocator, graph->n_outputs, sizeof *sources);
  plan->copies = lk_calloc(build->allocator, graph->n_outputs, sizeof *plan->copies);
  plan->operands = lk_calloc(build->allocator, build->n_slots, sizeof *plan->operands);
  if (sources == NULL || plan->copies == NULL || plan->operands == NULL) {
    status = lk_fail_memory(error, "a run plan", build->n_slots * sizeof *plan->operands);
    goto cleanup;
  }
  find_lifetimes(build);
  for (uint32_t i = 0; i < graph->n_outputs; i++) {
    if (build->request->wanted[i]) LK_TRY(place_output(build, i, &sources[i], error));
  }
  LK_TRY(plan_arena(build, error));

  for (uint32_t i = 0; i < graph->n_outputs; i++) {
    if (!build->request->wanted[i] || sources[i].taken) continue;
    plan->copies[plan->n_copies++] = (lk_run_copy){.from = operand_of(build, sources[i].slot),
                                                   .desc = build->values[graph->outputs[i]].desc,
                                                   .output = i};
  }
  for (size_t i = 0; i < build->n_slots; i++) {
    plan->operands[i] = operand_of(build, build->slots[i]);
  }
  plan->n_operands = (uint32_t)build->n_slots;

cleanup:
  lk_free(build->allocator, sources);
  return status;
}
