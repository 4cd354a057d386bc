/* Binds one node to the shapes of a run plan. Its outputs are computed while building, or it is a
 * view that needs no step, or it becomes a step that writes over an input or into a new storage. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/run/plan_builder.h"

/* The most that is computed while building, unless a shape depends on it: anything larger is
 * cheaper to compute in each run than to keep once for each shape. */
#define KNOWN_MAX_BYTES ((uint64_t)64 * 1024)

/* Steps in a row share scratch memory up to this: it stays in the processor's cache from one to the
 * next. What is larger than a cache has a place of its own for its step, where others lie before
 * and after. */
#define SHARED_SCRATCH_MAX_BYTES ((uint64_t)512 * 1024)

static const lk_node *node_at(const lk_plan_builder *builder, int32_t node) {
  return &builder->program->graph->nodes[node];
}

static bool is_shape_input(const lk_plan_builder *builder, int32_t node, uint32_t input) {
  return input < 64 && (builder->program->infos[node].shape_inputs >> input & 1) != 0;
}

/* Descriptions of the inputs, with the values that shapes depend on. */
static lk_status fill_inputs(lk_plan_builder *builder, int32_t node_index, lk_error *error) {
  static const int64_t no_elements = 0; /* a known value has a pointer, also without elements */
  const lk_node *node = node_at(builder, node_index);
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    const lk_bound_value *value = lk_plan_builder_value(builder, node->inputs[i]);
    if (value == NULL || value->kind == LK_BOUND_CONSTANT) continue; /* the op has it */
    builder->inputs[i] = (lk_tensor){.desc = value->desc};
    if (!is_shape_input(builder, node_index, i)) continue;
    const void *data = value->data;
    if (data == NULL && lk_elements(&value->desc) == 0) data = &no_elements;
    if (data == NULL) {
      return lk_fail(error, LK_UNSUPPORTED,
                     "failed to bind input %" PRIu32
                     " ('%s'): its value is computed by the run, it must follow from shapes, "
                     "constants or small graph inputs",
                     i, builder->program->graph->values[node->inputs[i]].name);
    }
    builder->inputs[i].data = (void *)(uintptr_t)data;
  }
  return LK_OK;
}

static bool is_known(const lk_bound_value *value) {
  return value->kind == LK_BOUND_CONSTANT || value->data != NULL;
}

/* Whether the outputs are the same in each run of the plan. */
static bool all_inputs_known(const lk_plan_builder *builder, const lk_node *node) {
  const lk_program *program = builder->program;
  const lk_op_info *info = &program->infos[node - program->graph->nodes];
  if ((info->row->flags & LK_OP_RANDOM) != 0) return false;
  if (lk_program_shape_only(builder->program, node)) return true;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    const lk_bound_value *value = lk_plan_builder_value(builder, node->inputs[i]);
    if (value != NULL && !is_known(value)) return false;
  }
  return true;
}

/* ---- asking for the plan ---- */

/* Asks for the plan, and reads what its outputs are. */
static lk_status bind(lk_plan_builder *builder, int32_t node_index, int32_t in_place,
                      lk_plan **out_plan, lk_error *error) {
  lk_status status = LK_OK;
  const lk_api *api = builder->program->api;
  const lk_node *node = node_at(builder, node_index);
  const lk_bind_desc desc = {.struct_size = sizeof desc,
                             .inputs = builder->inputs,
                             .wishes = builder->wishes,
                             .n_inputs = node->n_inputs,
                             .n_outputs = node->n_outputs,
                             .in_place_input = in_place,
                             .flags =
                                 builder->desc->flags | (builder->desc->is_kept ? LK_BIND_OWN : 0)};
  lk_plan *plan = NULL;
  *out_plan = NULL;
  LK_TRY(api->op_bind(builder->program->ops[node_index], &desc, &plan, error));
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    LK_TRY(api->plan_output(plan, i, &builder->outputs[i], error));
  }
  *out_plan = plan;
  plan = NULL;

cleanup:
  if (plan != NULL) api->plan_release(plan);
  return status;
}

/* Binds, over an input if that comes out with the input's type, shape and layout. */
static lk_status bind_in_place(lk_plan_builder *builder, int32_t node_index,
                               int32_t *inout_in_place, lk_plan **out_plan, lk_error *error) {
  if (*inout_in_place < 0) return bind(builder, node_index, -1, out_plan, error);
  const lk_tensor_desc *input = &builder->inputs[*inout_in_place].desc;
  const lk_layout wish = builder->wishes[0];
  builder->wishes[0] = input->layout;
  const lk_status status = bind(builder, node_index, *inout_in_place, out_plan, error);
  if (status == LK_OK && lk_tensor_desc_same(input, &builder->outputs[0])) return LK_OK;
  if (status != LK_OK && status != LK_INVALID_ARGUMENT && status != LK_UNSUPPORTED) return status;
  if (status == LK_OK) builder->program->api->plan_release(*out_plan);
  *inout_in_place = -1;
  builder->wishes[0] = wish;
  return bind(builder, node_index, -1, out_plan, error);
}

/* ---- computing while building ---- */

/* Whether the outputs of a node with known inputs are computed now. */
static lk_status can_compute(const lk_plan_builder *builder, const lk_node *node, bool *out_yes,
                             lk_error *error) {
  uint64_t sum = 0;
  *out_yes = true;
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    uint64_t bytes = 0;
    LK_RETURN_NOT_OK(lk_plan_builder_bytes(builder, &builder->outputs[i], &bytes, error));
    if (builder->outputs[i].layout != LK_LAYOUT_PLAIN) *out_yes = false;
    if (__builtin_add_overflow(sum, bytes, &sum)) sum = UINT64_MAX;
  }
  if (sum > KNOWN_MAX_BYTES && !lk_program_must_know(builder->program, node)) *out_yes = false;
  return LK_OK;
}

static lk_status add_known(lk_plan_builder *builder, const lk_tensor_desc *desc,
                           uint32_t *out_known, lk_error *error) {
  uint64_t bytes = 0;
  void *data = NULL;
  LK_RETURN_NOT_OK(lk_plan_builder_bytes(builder, desc, &bytes, error));
  if (LK_GROW(builder->allocator, builder->known, builder->n_known, builder->known_capacity)) {
    data = lk_alloc_aligned(builder->allocator, bytes, LK_DATA_ALIGNMENT);
  }
  if (data == NULL) return lk_fail_memory(error, "a known value", bytes);
  builder->known[builder->n_known] = (lk_known_value){.data = data, .bytes = bytes};
  *out_known = (uint32_t)builder->n_known++;
  return LK_OK;
}

/* Runs the plan now: its outputs become known values of the run plan. */
static lk_status compute(lk_plan_builder *builder, int32_t node_index, lk_plan *plan,
                         lk_error *error) {
  const lk_api *api = builder->program->api;
  const lk_node *node = node_at(builder, node_index);
  void **inputs = builder->pointers, **outputs = builder->pointers + node->n_inputs;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    const lk_bound_value *value = lk_plan_builder_value(builder, node->inputs[i]);
    inputs[i] = value != NULL ? (void *)(uintptr_t)value->data : NULL;
  }
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    uint32_t known = 0;
    LK_RETURN_NOT_OK(add_known(builder, &builder->outputs[i], &known, error));
    outputs[i] = builder->known[known].data;
    lk_bound_value *value = lk_plan_builder_value(builder, node->outputs[i]);
    if (value == NULL) continue;
    value->kind = LK_BOUND_KNOWN;
    value->data = outputs[i];
    value->known = known;
  }
  if (builder->frame == NULL) {
    LK_RETURN_NOT_OK(api->frame_create(builder->program->executor, &builder->frame, error));
  }
  uint32_t slot = 0;
  LK_RETURN_NOT_OK(api->frame_attach(builder->frame, plan, &slot, error));
  LK_RETURN_NOT_OK(api->op_run(builder->frame, slot, inputs, outputs, error));
  api->frame_reset(builder->frame);
  return LK_OK;
}

/* ---- steps ---- */

static void add_operand(lk_plan_builder *builder, lk_spot operand) {
  builder->operands[builder->n_operands++] = operand;
}

static lk_spot input_operand(lk_plan_builder *builder, int32_t value_number) {
  lk_spot operand = {.storage = LK_NO_STORAGE};
  const lk_bound_value *value = lk_plan_builder_value(builder, value_number);
  if (value == NULL) return operand;
  if (value->kind == LK_BOUND_STORED) operand = value->spot;
  if (value->kind == LK_BOUND_KNOWN) {
    operand.at = (uintptr_t)value->data;
    builder->known[value->known].used = true;
  }
  return operand;
}

/* Steps that may run at the same time must not share. */
static bool shares_scratch(const lk_plan_builder *builder, uint64_t bytes) {
  return builder->desc->workers <= 1 && bytes <= SHARED_SCRATCH_MAX_BYTES;
}

/* Scratch memory of a step, as its last operand. */
static lk_status add_scratch(lk_plan_builder *builder, uint64_t bytes, lk_error *error) {
  int32_t own = LK_NO_STORAGE;
  int32_t *storage = shares_scratch(builder, bytes) ? &builder->scratch : &own;
  if (*storage == LK_NO_STORAGE) {
    LK_RETURN_NOT_OK(lk_plan_builder_add_storage(builder, bytes, LK_BUFFER_ARENA, storage, error));
  }
  lk_storage *scratch = &builder->storages[*storage];
  if (bytes > scratch->bytes) scratch->bytes = bytes;
  add_operand(builder, (lk_spot){.storage = *storage});
  return LK_OK;
}

/* Adds a step that runs the plan; takes over the reference on success. `shared`: where output 0
 * goes, or LK_NO_STORAGE. */
static lk_status add_step(lk_plan_builder *builder, int32_t node_index, lk_plan *plan,
                          const lk_plan_info *info, lk_spot shared, lk_error *error) {
  const lk_node *node = node_at(builder, node_index);
  lk_run_plan *run_plan = builder->plan;
  const lk_run_step step = {.plan = plan,
                            .node = node_index,
                            .first_operand = (uint32_t)builder->n_operands,
                            .n_inputs = node->n_inputs,
                            .n_outputs = node->n_outputs & INT32_MAX,
                            .has_scratch = info->scratch_bytes > 0};
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    add_operand(builder, input_operand(builder, node->inputs[i]));
  }
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    lk_spot spot = i == 0 ? shared : (lk_spot){.storage = LK_NO_STORAGE};
    if (spot.storage == LK_NO_STORAGE) {
      uint64_t bytes = 0;
      LK_RETURN_NOT_OK(lk_plan_builder_bytes(builder, &builder->outputs[i], &bytes, error));
      LK_RETURN_NOT_OK(
          lk_plan_builder_add_storage(builder, bytes, LK_BUFFER_ARENA, &spot.storage, error));
    }
    add_operand(builder, spot);
    if (node->outputs[i] != LK_NO_VALUE) lk_plan_builder_store(builder, node->outputs[i], spot);
  }
  if (info->scratch_bytes > 0) LK_RETURN_NOT_OK(add_scratch(builder, info->scratch_bytes, error));
  if (!LK_GROW(builder->allocator, run_plan->steps, run_plan->n_steps, builder->steps_capacity)) {
    return lk_fail_memory(error, "the steps of a run plan", run_plan->n_steps * sizeof step);
  }
  run_plan->steps[run_plan->n_steps++] = step;
  return LK_OK;
}

lk_status lk_bind_node(lk_plan_builder *builder, int32_t node_index, lk_error *error) {
  lk_status status = LK_OK;
  const lk_api *api = builder->program->api;
  const lk_node *node = node_at(builder, node_index);
  lk_plan *plan = NULL;

  LK_TRY(fill_inputs(builder, node_index, error));
  bool known = all_inputs_known(builder, node);
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    const lk_bound_value *value = lk_plan_builder_value(builder, node->outputs[i]);
    const bool is_output = value != NULL && value->last_use == LK_LAST_USE_OUTPUT;
    builder->wishes[i] = known || is_output ? LK_LAYOUT_PLAIN : LK_LAYOUT_ANY;
  }
  int32_t in_place = known ? -1 : lk_choose_in_place(builder, node_index);
  LK_TRY(bind_in_place(builder, node_index, &in_place, &plan, error));
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    lk_bound_value *value = lk_plan_builder_value(builder, node->outputs[i]);
    if (value != NULL) value->desc = builder->outputs[i];
  }
  lk_plan_info info = {.struct_size = sizeof info};
  LK_TRY(api->plan_info(plan, &info, error));
  lk_implementation_names_note(builder->desc->implementations, node_index, info.implementation);
  builder->plan->n_values += info.n_values;

  bool is_view = false;
  if (known) LK_TRY(can_compute(builder, node, &known, error));
  if (!known) LK_TRY(lk_bind_views(builder, node, plan, &info, &is_view, error));
  if (known) {
    LK_TRY(compute(builder, node_index, plan, error));
  } else if (!is_view) {
    lk_spot shared = {.storage = LK_NO_STORAGE};
    if (in_place >= 0) shared = builder->values[node->inputs[in_place]].spot;
    LK_TRY(add_step(builder, node_index, plan, &info, shared, error));
    plan = NULL;
    if (builder->desc->is_kept && info.is_cached == 0) builder->plan_bytes += info.bytes;
  }

cleanup:
  if (plan != NULL) api->plan_release(plan);
  if (status != LK_OK) status = lk_program_name_node(builder->program->graph, node, status, error);
  return status;
}
