/* Binds one node to the shapes of a run plan, and decides whether it is computed at once, drops out
 * as a view, writes over an input, or becomes a step with memory of its own. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/run/plan_build.h"

/* What is computed at build, unless a shape depends on it: anything larger is cheaper to compute in
 * each run than to keep once for each shape. */
#define LK_RUN_KNOWN_MAX_BYTES ((uint64_t)64 * 1024)

static const lk_node *node_at(const lk_run_build *build, int32_t node) {
  return &build->program->graph->nodes[node];
}

lk_status lk_run_add_block(lk_run_build *build, uint64_t bytes, uint32_t base, int32_t *out_block,
                           lk_error *error) {
  if (!LK_GROW(build->allocator, build->blocks, build->n_blocks, build->blocks_capacity)) {
    return lk_fail_memory(error, "the blocks of a run plan",
                          build->n_blocks * sizeof(lk_run_block));
  }
  build->blocks[build->n_blocks] = (lk_run_block){.bytes = bytes, .base = base, .last_node = -1};
  *out_block = (int32_t)build->n_blocks++;
  return LK_OK;
}

void lk_run_store(lk_run_build *build, int32_t value, int32_t block) {
  lk_run_value *state = &build->values[value];
  state->kind = LK_RUN_STORED;
  state->block = block;
  lk_run_block *memory = &build->blocks[block];
  if (state->last_use > memory->last_node) memory->last_node = state->last_use;
}

static bool is_shape_input(const lk_run_build *build, int32_t node, uint32_t input) {
  return input < 64 && (build->program->infos[node].shape_inputs >> input & 1) != 0;
}

/* Descriptions of the inputs, with the values that shapes depend on. */
static lk_status fill_inputs(lk_run_build *build, int32_t node_index, lk_error *error) {
  static const int64_t no_elements = 0; /* a known value has a pointer, also without elements */
  const lk_node *node = node_at(build, node_index);
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    build->inputs[i] = (lk_tensor){0};
    if (node->inputs[i] == LK_NO_VALUE) continue;
    const lk_run_value *value = &build->values[node->inputs[i]];
    build->inputs[i].desc = value->desc;
    if (!is_shape_input(build, node_index, i) || value->kind == LK_RUN_CONSTANT) continue;
    const void *data = value->data;
    if (data == NULL && lk_elements(&value->desc) == 0) data = &no_elements;
    if (data == NULL) {
      return lk_fail(error, LK_UNSUPPORTED,
                     "failed to bind input %" PRIu32 " '%s': its value comes from data, a shape "
                     "must be known from shapes, constants or small graph inputs",
                     i, build->program->graph->values[node->inputs[i]].name);
    }
    build->inputs[i].data = (void *)(uintptr_t)data;
  }
  return LK_OK;
}

static bool is_known(const lk_run_build *build, int32_t value) {
  const lk_run_value *state = &build->values[value];
  if (state->kind == LK_RUN_CONSTANT || state->kind == LK_RUN_KNOWN) return true;
  int32_t input = build->program->input_index[value];
  return input >= 0 && build->program->by_value[input];
}

static bool all_inputs_known(const lk_run_build *build, const lk_node *node) {
  if (lk_program_shape_only(build->program, node)) return true;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    if (node->inputs[i] != LK_NO_VALUE && !is_known(build, node->inputs[i])) return false;
  }
  return true;
}

static bool shapes_depend_on(const lk_run_build *build, const lk_node *node) {
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    if (node->outputs[i] != LK_NO_VALUE && build->program->must_know[node->outputs[i]]) return true;
  }
  return false;
}

/* Every dimension of `small`, from the last, is 1 or that of `large`. */
static bool broadcasts_into(const lk_tensor_desc *small, const lk_tensor_desc *large) {
  if (small->rank > large->rank) return false;
  uint32_t shift = large->rank - small->rank;
  for (uint32_t i = 0; i < small->rank; i++) {
    if (small->dims[i] != 1 && small->dims[i] != large->dims[i + shift]) return false;
  }
  return true;
}

/* Whether output 0 will probably have the shape of `input`, as far as `other` goes. Inputs that may
 * be written over are broadcast with each other; the rest are parameters, or operands of another
 * kind, where only the size says something. The truth is checked after binding. */
static bool keeps_shape(const lk_run_build *build, int32_t node_index, uint32_t input,
                        uint32_t other) {
  const lk_node *node = node_at(build, node_index);
  uint32_t n_operands = lk_node_own_inputs(node);
  if (input >= n_operands) return true;
  const lk_tensor_desc *in_place = &build->values[node->inputs[input]].desc;
  const lk_tensor_desc *desc = &build->values[node->inputs[other]].desc;
  bool alike = other < 64 && (build->program->infos[node_index].in_place_inputs >> other & 1) != 0;
  return alike || other >= n_operands ? broadcasts_into(desc, in_place)
                                      : lk_elements(desc) <= lk_elements(in_place);
}

/* Output 0 may be written over `input`: nobody reads the block later, and no other input lies in it. */
static bool may_write_over(const lk_run_build *build, int32_t node_index, uint32_t input) {
  const lk_node *node = node_at(build, node_index);
  if (node->inputs[input] == LK_NO_VALUE) return false;
  const lk_run_value *value = &build->values[node->inputs[input]];
  if (value->kind != LK_RUN_STORED) return false;
  const lk_run_block *block = &build->blocks[value->block];
  if (block->base != LK_RUN_ARENA || block->last_node > node_index) return false;
  if (build->wishes[0] != LK_LAYOUT_ANY && build->wishes[0] != value->desc.layout) return false;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    if (i == input || node->inputs[i] == LK_NO_VALUE) continue;
    const lk_run_value *other = &build->values[node->inputs[i]];
    if (other->kind == LK_RUN_STORED && other->block == value->block) return false;
    if (!keeps_shape(build, node_index, input, i)) return false;
  }
  return true;
}

static int32_t choose_in_place(const lk_run_build *build, int32_t node_index) {
  const lk_node *node = node_at(build, node_index);
  uint64_t inputs = build->program->infos[node_index].in_place_inputs;
  if (node->n_outputs == 0 || node->outputs[0] == LK_NO_VALUE) return -1;
  for (uint32_t i = 0; i < node->n_inputs && i < 64; i++) {
    if ((inputs >> i & 1) != 0 && may_write_over(build, node_index, i)) return (int32_t)i;
  }
  return -1;
}

/* Up to here a team of threads costs more than it saves: fork and join take about as long as one
 * thread needs for so many bytes that are read once. */
#define LK_RUN_ONE_THREAD_BYTES ((int64_t)32 * 1024)

/* Only operators that may run in place are judged, since their outputs are as large as their inputs. */
bool lk_run_is_small(const lk_run_build *build, int32_t node_index) {
  const lk_node *node = node_at(build, node_index);
  int64_t bytes = 0;
  if (build->program->infos[node_index].in_place_inputs == 0) return false;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    if (node->inputs[i] == LK_NO_VALUE) continue;
    const lk_tensor_desc *desc = &build->values[node->inputs[i]].desc;
    bytes += lk_elements(desc) * (int64_t)lk_dtype_size(desc->dtype);
    if (bytes > LK_RUN_ONE_THREAD_BYTES) return false;
  }
  return true;
}

/* Asks for the plan, and reads what its outputs are. */
static lk_status bind(lk_run_build *build, int32_t node_index, int32_t in_place, lk_plan **out_plan,
                      lk_error *error) {
  lk_status status = LK_OK;
  const lk_api *api = build->program->api;
  const lk_node *node = node_at(build, node_index);
  lk_bind_desc desc = {.struct_size = sizeof desc,
                       .inputs = build->inputs,
                       .wishes = build->wishes,
                       .n_inputs = node->n_inputs,
                       .n_outputs = node->n_outputs,
                       .in_place_input = in_place,
                       .threads = lk_run_is_small(build, node_index) ? 1 : build->request->threads};
  *out_plan = NULL;
  LK_TRY(api->op_bind(build->program->ops[node_index], &desc, out_plan, error));
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    LK_TRY(api->plan_output(*out_plan, i, &build->outputs[i], error));
  }

cleanup:
  if (status != LK_OK && *out_plan != NULL) {
    api->plan_release(*out_plan);
    *out_plan = NULL;
  }
  return status;
}

/* Binds, over an input if that comes out with the input's type, shape and layout. */
static lk_status bind_in_place(lk_run_build *build, int32_t node_index, int32_t *inout_in_place,
                               lk_plan **out_plan, lk_error *error) {
  if (*inout_in_place >= 0) {
    const lk_tensor_desc *input = &build->inputs[*inout_in_place].desc;
    lk_layout wish = build->wishes[0];
    /* Interned layouts cannot be wished for; an operator that keeps its input's layout still fits. */
    if (input->layout <= LK_LAYOUT_CHANNELS_LAST) build->wishes[0] = input->layout;
    lk_status status = bind(build, node_index, *inout_in_place, out_plan, error);
    if (status == LK_OK && lk_tensor_desc_equal(input, &build->outputs[0])) return LK_OK;
    if (status != LK_OK && status != LK_INVALID_ARGUMENT && status != LK_UNSUPPORTED) return status;
    if (status == LK_OK) build->program->api->plan_release(*out_plan);
    *inout_in_place = -1;
    build->wishes[0] = wish;
  }
  return bind(build, node_index, -1, out_plan, error);
}

/* Whether the outputs of a node with known inputs are computed now. */
static lk_status can_compute(const lk_run_build *build, const lk_node *node, bool *out_yes,
                             lk_error *error) {
  uint64_t sum = 0;
  *out_yes = true;
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    uint64_t bytes = 0;
    lk_status status = build->program->api->tensor_bytes(build->program->context,
                                                         &build->outputs[i], &bytes, error);
    if (status != LK_OK) return status;
    if (build->outputs[i].layout != LK_LAYOUT_PLAIN) *out_yes = false;
    if (__builtin_add_overflow(sum, bytes, &sum)) sum = UINT64_MAX;
  }
  if (sum > LK_RUN_KNOWN_MAX_BYTES && !shapes_depend_on(build, node)) *out_yes = false;
  return LK_OK;
}

static lk_status add_known(lk_run_build *build, const lk_tensor_desc *desc, uint32_t *out_known,
                           lk_error *error) {
  uint64_t bytes = 0;
  lk_status status =
      build->program->api->tensor_bytes(build->program->context, desc, &bytes, error);
  if (status != LK_OK) return status;
  void *data = NULL;
  if (LK_GROW(build->allocator, build->known, build->n_known, build->known_capacity)) {
    data = lk_alloc_aligned(build->allocator, bytes, LK_DATA_ALIGNMENT);
  }
  if (data == NULL) return lk_fail_memory(error, "a known value", bytes);
  build->known[build->n_known] = (lk_run_known){.data = data, .bytes = bytes};
  *out_known = (uint32_t)build->n_known++;
  return LK_OK;
}

/* Runs the plan now: its outputs become known values of the run plan. */
static lk_status compute(lk_run_build *build, int32_t node_index, lk_plan *plan, lk_error *error) {
  lk_status status = LK_OK;
  const lk_api *api = build->program->api;
  const lk_node *node = node_at(build, node_index);
  void **inputs = build->pointers, **outputs = build->pointers + node->n_inputs;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    int32_t value = node->inputs[i];
    inputs[i] = value != LK_NO_VALUE ? (void *)(uintptr_t)build->values[value].data : NULL;
  }
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    uint32_t known = 0;
    LK_TRY(add_known(build, &build->outputs[i], &known, error));
    outputs[i] = build->known[known].data;
    if (node->outputs[i] == LK_NO_VALUE) continue;
    lk_run_value *value = &build->values[node->outputs[i]];
    value->kind = LK_RUN_KNOWN;
    value->data = outputs[i];
    value->known = known;
  }
  if (build->frame == NULL)
    LK_TRY(api->frame_create(build->program->executor, &build->frame, error));
  uint32_t slot = 0;
  LK_TRY(api->frame_attach(build->frame, plan, &slot, error));
  LK_TRY(api->op_run(build->frame, slot, inputs, outputs, error));
  api->frame_reset(build->frame);

cleanup:
  return status;
}

static lk_status add_slot(lk_run_build *build, lk_run_slot slot, lk_error *error) {
  if (!LK_GROW(build->allocator, build->slots, build->n_slots, build->slots_capacity)) {
    return lk_fail_memory(error, "the operands of a run plan", build->n_slots * sizeof slot);
  }
  build->slots[build->n_slots++] = slot;
  return LK_OK;
}

static lk_run_slot input_slot(lk_run_build *build, int32_t value) {
  lk_run_slot slot = {.block = LK_NO_BLOCK};
  if (value == LK_NO_VALUE) return slot;
  const lk_run_value *state = &build->values[value];
  if (state->kind == LK_RUN_STORED) slot.block = state->block;
  if (state->kind == LK_RUN_KNOWN) {
    slot.address = (uintptr_t)state->data;
    build->known[state->known].used = true;
  }
  return slot;
}

/* Adds a step that runs the plan; takes over the reference on success. `shared_block`: where output
 * 0 goes, or LK_NO_BLOCK. */
static lk_status add_step(lk_run_build *build, int32_t node_index, lk_plan *plan,
                          int32_t shared_block, lk_error *error) {
  lk_status status = LK_OK;
  const lk_api *api = build->program->api;
  const lk_node *node = node_at(build, node_index);
  lk_run_step step = {.node = node_index,
                      .first_operand = (uint32_t)build->n_slots,
                      .n_inputs = node->n_inputs,
                      .n_outputs = node->n_outputs};
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    LK_TRY(add_slot(build, input_slot(build, node->inputs[i]), error));
  }
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    int32_t block = i == 0 ? shared_block : LK_NO_BLOCK;
    if (block == LK_NO_BLOCK) {
      uint64_t bytes = 0;
      LK_TRY(api->tensor_bytes(build->program->context, &build->outputs[i], &bytes, error));
      LK_TRY(lk_run_add_block(build, bytes, LK_RUN_ARENA, &block, error));
    }
    LK_TRY(add_slot(build, (lk_run_slot){.block = block}, error));
    if (node->outputs[i] != LK_NO_VALUE) lk_run_store(build, node->outputs[i], block);
  }
  if (!LK_GROW(build->allocator, build->plan->steps, build->plan->n_steps, build->steps_capacity)) {
    status = lk_fail_memory(error, "the steps of a run plan", build->plan->n_steps * sizeof step);
    goto cleanup;
  }
  step.plan = plan;
  build->plan->steps[build->plan->n_steps++] = step;

cleanup:
  return status;
}

/* A view of a stored value that is the node's only output needs no step: it has the same bytes. */
static bool drop_view(lk_run_build *build, int32_t node_index, int32_t alias_input) {
  const lk_node *node = node_at(build, node_index);
  if (alias_input < 0 || (uint32_t)alias_input >= node->n_inputs) return false;
  int32_t from = node->inputs[alias_input];
  if (from == LK_NO_VALUE || build->values[from].kind != LK_RUN_STORED) return false;
  for (uint32_t i = 1; i < node->n_outputs; i++) {
    if (node->outputs[i] != LK_NO_VALUE && build->values[node->outputs[i]].last_use >= 0) {
      return false;
    }
  }
  if (node->outputs[0] == LK_NO_VALUE) return false;
  lk_run_store(build, node->outputs[0], build->values[from].block);
  return true;
}

lk_status lk_run_bind_node(lk_run_build *build, int32_t node_index, lk_error *error) {
  lk_status status = LK_OK;
  const lk_api *api = build->program->api;
  const lk_node *node = node_at(build, node_index);
  lk_plan *plan = NULL;

  LK_TRY(fill_inputs(build, node_index, error));
  bool known = all_inputs_known(build, node);
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    int32_t value = node->outputs[i];
    bool is_output = value != LK_NO_VALUE && build->values[value].last_use == INT32_MAX;
    build->wishes[i] = known || is_output ? LK_LAYOUT_PLAIN : LK_LAYOUT_ANY;
  }
  int32_t in_place = known ? -1 : choose_in_place(build, node_index);
  LK_TRY(bind_in_place(build, node_index, &in_place, &plan, error));
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    if (node->outputs[i] != LK_NO_VALUE) {
      build->values[node->outputs[i]].desc = build->outputs[i];
    }
  }
  lk_plan_info info = {.struct_size = sizeof info};
  LK_TRY(api->plan_info(plan, &info, error));
  if (build->request->bound != NULL) {
    build->request->bound(build->request->bound_arg, node_index, info.implementation);
  }

  if (known) LK_TRY(can_compute(build, node, &known, error));
  if (known) {
    LK_TRY(compute(build, node_index, plan, error));
  } else if (!drop_view(build, node_index, info.alias_input)) {
    int32_t block =
        in_place >= 0 ? build->values[node->inputs[in_place]].block : (int32_t)LK_NO_BLOCK;
    LK_TRY(add_step(build, node_index, plan, block, error));
    plan = NULL;
  }

cleanup:
  if (plan != NULL) api->plan_release(plan);
  if (status != LK_OK) {
    status = lk_error_prefix(error, status, "node '%s' (%s)",
                             lk_program_node_label(build->program->graph, node), node->op_type);
  }
  return status;
}
