/* Which input a node may write its output over: by lifetimes, and by shapes as far as they say. */
#include "base/tensor.h"
#include "executor_glue/run/plan_builder.h"

/* Every dimension of `small`, from the last, is 1 or that of `large`. */
static bool broadcasts_into(const lk_tensor_desc *small, const lk_tensor_desc *large) {
  if (small->rank > large->rank) return false;
  uint32_t shift = large->rank - small->rank;
  for (uint32_t i = 0; i < small->rank; i++) {
    if (small->dims[i] != 1 && small->dims[i] != large->dims[i + shift]) return false;
  }
  return true;
}

static bool is_in_place_input(const lk_plan_builder *builder, int32_t node, uint32_t input) {
  return input < 64 && (builder->program->infos[node].in_place_inputs >> input & 1) != 0;
}

/* Whether output 0 will probably have the shape of `input`, as far as `other` goes. Inputs that may
 * be written over, and operands of post-ops, are broadcast with each other. The rest are
 * parameters, or operands of another kind, of which only the size says something. */
static bool keeps_shape(const lk_plan_builder *builder, int32_t node_index, uint32_t input,
                        uint32_t other) {
  const lk_node *node = &builder->program->graph->nodes[node_index];
  const uint32_t n_operands = lk_node_own_inputs(node);
  if (input >= n_operands) return true;
  const lk_tensor_desc *in_place = &builder->values[node->inputs[input]].desc;
  const lk_tensor_desc *desc = &builder->values[node->inputs[other]].desc;
  return is_in_place_input(builder, node_index, other) || other >= n_operands
             ? broadcasts_into(desc, in_place)
             : lk_elements(desc) <= lk_elements(in_place);
}

/* Nobody reads the storage later, and no other input lies in it. */
static bool may_write_over(const lk_plan_builder *builder, int32_t node_index, uint32_t input) {
  const lk_node *node = &builder->program->graph->nodes[node_index];
  if (node->inputs[input] == LK_NO_VALUE) return false;
  const lk_bound_value *value = &builder->values[node->inputs[input]];
  if (value->kind != LK_BOUND_STORED) return false;
  const int32_t root = lk_plan_builder_root(builder, value->spot).storage;
  const lk_storage *storage = &builder->storages[root];
  if (storage->buffer != LK_BUFFER_ARENA || storage->last_node > node_index) return false;
  const lk_layout wish = builder->wishes[0];
  if (wish != LK_LAYOUT_ANY && wish != value->desc.layout) return false;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    if (i == input || node->inputs[i] == LK_NO_VALUE) continue;
    const lk_bound_value *other = &builder->values[node->inputs[i]];
    if (other->kind == LK_BOUND_STORED &&
        lk_plan_builder_root(builder, other->spot).storage == root) {
      return false;
    }
    if (!keeps_shape(builder, node_index, input, i)) return false;
  }
  return true;
}

int32_t lk_choose_in_place(const lk_plan_builder *builder, int32_t node_index) {
  const lk_node *node = &builder->program->graph->nodes[node_index];
  if (node->n_outputs == 0 || node->outputs[0] == LK_NO_VALUE) return -1;
  for (uint32_t i = 0; i < node->n_inputs && i < 64; i++) {
    if (is_in_place_input(builder, node_index, i) && may_write_over(builder, node_index, i)) {
      return (int32_t)i;
    }
  }
  return -1;
}
