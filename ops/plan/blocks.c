/* A plan moves blocks only when each of its steps copies one block, or when its only step is a
 * concatenation of whole inputs. */
#include "ops/plan/blocks.h"

#include "ops/kernel/move/concat.h"
#include "ops/kernel/move/copy.h"
#include "ops/plan/layout.h"

static const lk_step_arg *args_of(const lk_plan_body *body, const lk_step *step) {
  return lk_plan_args(body) + step->first_arg;
}

static lk_block block_between(const lk_step_arg *from, const lk_step_arg *to, uint64_t bytes) {
  return (lk_block){
      .struct_size = sizeof(lk_block), .input = from->index, .output = to->index, .bytes = bytes};
}

static bool copies_a_block(const lk_plan_body *body, const lk_step *step) {
  if (step->kernel != lk_copy_kernel || ((const lk_copy *)step->params)->rank != 0) return false;
  const lk_step_arg *args = args_of(body, step);
  return args[0].place == LK_PLACE_INPUT && args[1].place == LK_PLACE_OUTPUT;
}

static lk_block block_of_copy(const lk_plan_body *body, uint32_t index) {
  const lk_step *step = &lk_plan_steps(body)[index];
  const lk_copy *copy = step->params;
  const lk_step_arg *args = args_of(body, step);
  lk_block block = block_between(&args[0], &args[1], copy->block);
  block.input_offset = (uint64_t)copy->from_offset;
  block.output_offset = (uint64_t)copy->to_offset;
  return block;
}

/* The concatenation that is all of the plan, with one row: its sources are whole; or NULL. */
static const lk_concat *concat_of(const lk_plan_body *body) {
  const lk_step *step = lk_plan_steps(body);
  if (body->n_steps != 1 || step->kernel != lk_concat_kernel) return NULL;
  const lk_concat *concat = step->params;
  const lk_step_arg *args = args_of(body, step);
  for (uint32_t i = 0; i < concat->count; i++) {
    if (args[i].place != LK_PLACE_INPUT) return NULL;
  }
  return concat->rows == 1 && args[concat->count].place == LK_PLACE_OUTPUT ? concat : NULL;
}

static lk_block block_of_concat(const lk_plan_body *body, const lk_concat *concat, uint32_t index) {
  const lk_step_arg *args = args_of(body, lk_plan_steps(body));
  lk_block block = block_between(&args[index], &args[concat->count], concat->blocks[index]);
  for (uint32_t i = 0; i < index; i++) block.output_offset += concat->blocks[i];
  return block;
}

/* Of all outputs; what has no size counts for nothing. */
static uint64_t output_bytes(const lk_plan_body *body) {
  uint64_t sum = 0, bytes = 0;
  for (uint32_t i = 0; i < body->n_outputs; i++) {
    const lk_tensor_desc desc = lk_plan_body_output(body, i);
    if (lk_layout_bytes(&desc, &bytes, NULL) == LK_OK) sum += bytes;
  }
  return sum;
}

uint16_t lk_plan_count_blocks(const lk_plan_body *body) {
  const lk_concat *concat = concat_of(body);
  uint64_t moved = 0;
  uint16_t count = 0;
  if (concat != NULL) {
    for (; count < concat->count; count++) moved += concat->blocks[count];
  } else {
    const lk_step *steps = lk_plan_steps(body);
    for (; count < body->n_steps; count++) {
      if (!copies_a_block(body, &steps[count])) return 0;
      moved += ((const lk_copy *)steps[count].params)->block;
    }
  }
  return moved == output_bytes(body) ? count : 0;
}

lk_block lk_plan_describe_block(const lk_plan_body *body, uint32_t index) {
  const lk_concat *concat = concat_of(body);
  return concat != NULL ? block_of_concat(body, concat, index) : block_of_copy(body, index);
}
