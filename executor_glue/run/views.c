/* A Reshape's output is its input under another name; the parts of a Split lie in what is split;
 * what a Concat puts together is written where it belongs by the nodes that make it. */
#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/run/plan_builder.h"

/* A part keeps all of the storage alive in which it lies: smaller ones than one of so many are
 * copied, unless the storage is small. */
enum { LEAST_PART = 8, SMALL_STORAGE = 64 * 1024 };

static bool is_aligned(uint64_t offset) {
  return offset % LK_DATA_ALIGNMENT == 0;
}

static lk_status read_block(const lk_plan_builder *builder, const lk_plan *plan, uint32_t index,
                            lk_block *out, lk_error *error) {
  *out = (lk_block){.struct_size = sizeof *out};
  return builder->program->api->plan_block(plan, index, out, error);
}

/* NULL: it is in no storage. */
static const lk_bound_value *stored(const lk_plan_builder *builder, int32_t value_number) {
  const lk_bound_value *value = lk_plan_builder_value(builder, value_number);
  return value != NULL && value->kind == LK_BOUND_STORED ? value : NULL;
}

/* ---- the same bytes ---- */

/* Output 0 is `alias_input`, and nobody reads the others. */
static bool store_as_alias(lk_plan_builder *builder, const lk_node *node, int32_t alias_input) {
  if (alias_input < 0 || (uint32_t)alias_input >= node->n_inputs) return false;
  const lk_bound_value *from = stored(builder, node->inputs[alias_input]);
  if (from == NULL || node->outputs[0] == LK_NO_VALUE) return false;
  for (uint32_t i = 1; i < node->n_outputs; i++) {
    const lk_bound_value *other = lk_plan_builder_value(builder, node->outputs[i]);
    if (other != NULL && other->last_use >= 0) return false;
  }
  lk_plan_builder_store(builder, node->outputs[0], from->spot);
  return true;
}

/* ---- outputs within an input ---- */

/* Whether the block is all of an output that steps read, and may stay where it is. */
static lk_status is_part(const lk_plan_builder *builder, const lk_node *node, const lk_block *block,
                         bool *out_yes, lk_error *error) {
  const lk_bound_value *from = stored(builder, node->inputs[block->input]);
  const lk_bound_value *to = lk_plan_builder_value(builder, node->outputs[block->output]);
  uint64_t bytes = 0;
  *out_yes = false;
  LK_RETURN_NOT_OK(lk_plan_builder_bytes(builder, &builder->outputs[block->output], &bytes, error));
  if (from == NULL || bytes != block->bytes) return LK_OK;
  if (to != NULL && to->last_use == LK_LAST_USE_OUTPUT) return LK_OK; /* it would be copied */
  *out_yes = is_aligned(from->spot.at + block->input_offset);
  return LK_OK;
}

static bool is_worth_keeping(const lk_plan_builder *builder, const lk_node *node, uint32_t input,
                             uint64_t bytes) {
  lk_spot spot = lk_plan_builder_root(builder, stored(builder, node->inputs[input])->spot);
  const lk_storage *storage = &builder->storages[spot.storage];
  return storage->buffer != LK_BUFFER_ARENA || storage->bytes <= SMALL_STORAGE ||
         bytes >= storage->bytes / LEAST_PART;
}

/* Outputs without elements have no block: all are nowhere, until those that have one are stored. */
static lk_status store_nothing(lk_plan_builder *builder, const lk_node *node, lk_error *error) {
  lk_spot nothing = {.storage = LK_NO_STORAGE};
  LK_RETURN_NOT_OK(
      lk_plan_builder_add_storage(builder, 0, LK_BUFFER_ARENA, &nothing.storage, error));
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    if (node->outputs[i] == LK_NO_VALUE) continue;
    lk_plan_builder_store(builder, node->outputs[i], nothing);
  }
  return LK_OK;
}

static lk_status store_parts(lk_plan_builder *builder, const lk_node *node, const lk_plan *plan,
                             uint32_t n_blocks, lk_error *error) {
  if (n_blocks < node->n_outputs) LK_RETURN_NOT_OK(store_nothing(builder, node, error));
  for (uint32_t i = 0; i < n_blocks; i++) {
    lk_block block = {0};
    LK_RETURN_NOT_OK(read_block(builder, plan, i, &block, error));
    if (node->outputs[block.output] == LK_NO_VALUE) continue;
    lk_spot spot = builder->values[node->inputs[block.input]].spot;
    spot.at += block.input_offset;
    lk_plan_builder_store(builder, node->outputs[block.output], spot);
  }
  return LK_OK;
}

static lk_status try_parts(lk_plan_builder *builder, const lk_node *node, const lk_plan *plan,
                           uint32_t n_blocks, bool *out_done, lk_error *error) {
  uint64_t sum = 0;
  lk_block block = {0};
  bool fits = true;
  for (uint32_t i = 0; i < n_blocks && fits; i++) {
    LK_RETURN_NOT_OK(read_block(builder, plan, i, &block, error));
    LK_RETURN_NOT_OK(is_part(builder, node, &block, &fits, error));
    sum += block.bytes;
  }
  if (!fits || !is_worth_keeping(builder, node, block.input, sum)) return LK_OK;
  *out_done = true;
  return store_parts(builder, node, plan, n_blocks, error);
}

/* ---- inputs within the output ---- */

/* The storage that is this input and nothing else, and may be moved; or NULL. */
static lk_storage *movable_storage(const lk_plan_builder *builder, const lk_node *node,
                                   const lk_block *block) {
  const lk_bound_value *from = stored(builder, node->inputs[block->input]);
  if (from == NULL || from->spot.at != 0 || block->input_offset != 0) return NULL;
  lk_storage *storage = &builder->storages[from->spot.storage];
  const bool is_own = storage->parent == LK_NO_STORAGE && storage->buffer == LK_BUFFER_ARENA &&
                      storage->bytes == block->bytes && storage->last_node != LK_LAST_USE_OUTPUT;
  return is_own && is_aligned(block->output_offset) ? storage : NULL;
}

/* Steps that may run at the same time must not: dependencies know storages, not parts of them. */
static bool may_move_inputs(const lk_plan_builder *builder, const lk_node *node) {
  return builder->desc->workers <= 1 && node->n_outputs == 1 && node->outputs[0] != LK_NO_VALUE;
}

static lk_status try_whole(lk_plan_builder *builder, const lk_node *node, const lk_plan *plan,
                           uint32_t n_blocks, bool *out_done, lk_error *error) {
  const int32_t whole = (int32_t)builder->n_storages; /* that will be added */
  int32_t last_node = LK_LAST_USE_NONE;
  uint64_t bytes = 0;
  uint32_t n_moved = 0;
  lk_block block = {0};
  for (; n_moved < n_blocks; n_moved++) {
    LK_RETURN_NOT_OK(read_block(builder, plan, n_moved, &block, error));
    lk_storage *part = movable_storage(builder, node, &block);
    if (part == NULL) break;
    part->parent = whole;
    part->offset = block.output_offset;
    if (part->last_node > last_node) last_node = part->last_node;
    bytes += block.bytes;
  }
  *out_done = n_moved == n_blocks;
  if (*out_done) {
    lk_spot spot = {.storage = LK_NO_STORAGE};
    LK_RETURN_NOT_OK(
        lk_plan_builder_add_storage(builder, bytes, LK_BUFFER_ARENA, &spot.storage, error));
    builder->storages[whole].last_node = last_node;
    lk_plan_builder_store(builder, node->outputs[0], spot);
    builder->has_parts = true;
    return LK_OK;
  }
  while (n_moved-- > 0) {
    LK_RETURN_NOT_OK(read_block(builder, plan, n_moved, &block, error));
    const lk_spot spot = builder->values[node->inputs[block.input]].spot;
    builder->storages[spot.storage].parent = LK_NO_STORAGE;
    builder->storages[spot.storage].offset = 0;
  }
  return LK_OK;
}

lk_status lk_bind_views(lk_plan_builder *builder, const lk_node *node, const lk_plan *plan,
                        const lk_plan_info *info, bool *out_done, lk_error *error) {
  *out_done = store_as_alias(builder, node, info->alias_input);
  if (*out_done || info->n_blocks == 0) return LK_OK;
  LK_RETURN_NOT_OK(try_parts(builder, node, plan, info->n_blocks, out_done, error));
  if (*out_done || !may_move_inputs(builder, node)) return LK_OK;
  return try_whole(builder, node, plan, info->n_blocks, out_done, error);
}
