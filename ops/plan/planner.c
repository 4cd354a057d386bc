/* Collects the steps of a plan while an operator's `plan` function runs. */
#include "ops/plan/planner.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/element/cast.h"
#include "ops/plan/blocks.h"
#include "ops/plan/packing.h"

/* Makes room for one more in an array of the draft. A status. */
#define GROW(planner, array, error)                                                                \
  (LK_BUMP_GROW(&(planner)->memory, (planner)->arrays.array, (size_t)(planner)->draft.n_##array,   \
                (planner)->array##_capacity)                                                       \
       ? LK_OK                                                                                     \
       : lk_fail_memory(error, "a plan", sizeof *(planner)->arrays.array))

static void *take(lk_planner *planner, size_t count, size_t size) {
  return lk_bump_alloc(&planner->memory, count * size); /* counts are checked with the node */
}

lk_status lk_planner_begin(lk_planner *planner, lk_ops_env *env, const lk_op_node *node,
                           const lk_tensor *inputs, const lk_layout *wishes, void *room,
                           lk_error *error) {
  *planner = (lk_planner){.env = env, .node = node};
  if (node->n_inputs > INT16_MAX || node->n_outputs > INT16_MAX) {
    return lk_fail(error, LK_UNSUPPORTED, "%u inputs and %u outputs, at most %d", node->n_inputs,
                   node->n_outputs, INT16_MAX);
  }
  planner->memory =
      lk_bump_begin(env->allocator, room, room != NULL ? LK_PLANNER_ROOM : 0, LK_PLANNER_ROOM);
  lk_plan_arrays *arrays = &planner->arrays;
  planner->draft = (lk_plan_body){.env = env,
                                  .n_inputs = (uint16_t)node->n_inputs,
                                  .n_outputs = (uint16_t)node->n_outputs,
                                  .alias_input = -1,
                                  .in_place_input = -1};
  planner->body = &planner->draft;
  planner->inputs = take(planner, node->n_inputs, sizeof *planner->inputs);
  arrays->outputs = take(planner, node->n_outputs, sizeof *arrays->outputs);
  arrays->wishes = take(planner, node->n_outputs, sizeof *arrays->wishes);
  planner->outputs = arrays->outputs;
  if (planner->inputs == NULL || arrays->outputs == NULL || arrays->wishes == NULL) {
    return lk_fail_memory(error, "a plan", node->n_inputs * sizeof *planner->inputs);
  }
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    static const lk_tensor absent;
    const bool is_constant = node->constants[i].content != NULL;
    planner->inputs[i] = lk_op_is_absent(node, i) ? absent
                         : is_constant            ? node->constants[i].tensor
                                                  : inputs[i];
  }
  memset(arrays->outputs, 0, node->n_outputs * sizeof *arrays->outputs);
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    arrays->wishes[i] = wishes != NULL ? wishes[i] : LK_LAYOUT_ANY;
  }
  return LK_OK;
}

void lk_planner_end(lk_planner *planner) {
  const lk_plan_body *draft = &planner->draft;
  for (uint32_t i = 0; i < draft->n_packed; i++) lk_packed_release(planner->arrays.packed[i]);
  for (uint32_t i = 0; i < draft->n_values; i++) lk_ref_release(planner->arrays.values[i]);
  lk_bump_end(&planner->memory);
}

/* From one layout to another. */
static lk_status change_layout(lk_planner *planner, const lk_operand *from, const lk_operand *to,
                               lk_error *error) {
  LK_RETURN_NOT_OK(planner->env->planning->change_layout(planner, from, to, error));
  planner->body->n_reorders++;
  atomic_fetch_add_explicit(&planner->env->reorders, 1, memory_order_relaxed);
  return LK_OK;
}

/* A plan that is compared with later binds has the descriptions of its inputs. */
static lk_status keep_inputs(lk_planner *planner, lk_error *error) {
  const uint32_t count = planner->node->n_inputs;
  lk_tensor_desc *inputs = take(planner, count, sizeof *inputs);
  if (inputs == NULL) return lk_fail_memory(error, "a plan", count * sizeof *inputs);
  for (uint32_t i = 0; i < count; i++) inputs[i] = planner->inputs[i].desc;
  planner->arrays.inputs = inputs;
  return LK_OK;
}

lk_status lk_planner_finish(lk_planner *planner, lk_plan_use use, lk_plan_body **out_body,
                            lk_error *error) {
  lk_plan_body *draft = &planner->draft;
  for (uint32_t i = 0; i < planner->n_pending; i++) {
    const lk_pending_reorder *pending = &planner->pending[i];
    LK_RETURN_NOT_OK(change_layout(planner, &pending->from, &pending->to, error));
  }
  draft->is_compared = use == LK_PLAN_COMPARED;
  if (draft->is_compared) LK_RETURN_NOT_OK(keep_inputs(planner, error));
  LK_RETURN_NOT_OK(lk_plan_body_create(draft, &planner->arrays, out_body, error));
  (*out_body)->n_blocks = lk_plan_count_blocks(*out_body);
  draft->n_packed = draft->n_values = 0; /* they are the plan's now */
  return LK_OK;
}

lk_layout lk_planner_wish(lk_planner *planner, uint32_t index, lk_layout natural) {
  lk_tensor_desc to = {.rank = planner->outputs[index].rank};
  to.layout = planner->arrays.wishes[index];
  if (to.layout == LK_LAYOUT_ANY) return natural;
  return lk_layout_fits(&to) ? to.layout : LK_LAYOUT_PLAIN; /* what it cannot have is no wish */
}

/* ---- operands ---- */

lk_status lk_planner_temp(lk_planner *planner, const lk_tensor_desc *desc, lk_operand *out_operand,
                          lk_error *error) {
  lk_plan_body *body = planner->body;
  uint64_t bytes = 0;
  LK_RETURN_NOT_OK(lk_layout_bytes(desc, &bytes, error));
  LK_RETURN_NOT_OK(GROW(planner, temps, error));
  *out_operand = (lk_operand){LK_PLACE_TEMP, body->n_temps, *desc};
  planner->arrays.temps[body->n_temps++] = body->temp_bytes;
  body->temp_bytes += (bytes + LK_DATA_ALIGNMENT - 1) / LK_DATA_ALIGNMENT * LK_DATA_ALIGNMENT;
  return LK_OK;
}

static lk_status get_plain(const lk_node_constant *constant, lk_packed **out_plain,
                           lk_error *error) {
  return lk_content_plain(constant->content, &constant->lent, LK_DATA_ALIGNMENT, out_plain, error);
}

/* The constant, whose plain bytes lie as `from` says, in the layout of `to`, as an operand. */
static lk_status pack_operand(lk_planner *planner, const lk_node_constant *constant,
                              const lk_tensor_desc *from, const lk_tensor_desc *to,
                              lk_operand *out_operand, lk_error *error) {
  lk_plan_body *body = planner->body;
  /* makes room first, so that the packed copy has an owner as soon as it exists */
  LK_RETURN_NOT_OK(GROW(planner, packed, error));
  lk_packed **packed = &planner->arrays.packed[body->n_packed];
  LK_RETURN_NOT_OK(from->layout == to->layout
                       ? get_plain(constant, packed, error)
                       : lk_pack_layout(constant->content, from, to, packed, error));
  *out_operand = (lk_operand){LK_PLACE_PACKED, body->n_packed++, *to};
  return LK_OK;
}

/* ---- f16 and bf16 by way of f32 ---- */

static bool is_half(uint32_t dtype) {
  return dtype == LK_F16 || dtype == LK_BF16;
}

/* NULL: the tensor is as it is. */
static lk_wide_tensor *wide_input(lk_planner *planner, uint32_t index) {
  lk_wide_tensor *wide = planner->wide;
  if (wide == NULL || wide[index].dtype == LK_DTYPE_NONE || wide[index].is_kept) return NULL;
  return &wide[index];
}

static lk_wide_tensor *wide_output(lk_planner *planner, uint32_t index) {
  return planner->wide != NULL ? wide_input(planner, planner->node->n_inputs + index) : NULL;
}

static void widen(lk_tensor_desc *desc, lk_wide_tensor *out_wide) {
  *out_wide = (lk_wide_tensor){.dtype = is_half(desc->dtype) ? desc->dtype : LK_DTYPE_NONE};
  if (is_half(desc->dtype)) desc->dtype = LK_F32;
}

lk_status lk_planner_widen(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = planner->node;
  const size_t count = node->n_inputs + node->n_outputs;
  bool has_half = false;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    has_half = has_half || is_half(planner->inputs[i].desc.dtype);
  }
  if (!has_half) return LK_OK;
  planner->wide = take(planner, count, sizeof *planner->wide);
  if (planner->wide == NULL) return lk_fail_memory(error, "a plan", count * sizeof *planner->wide);
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    widen(&planner->inputs[i].desc, &planner->wide[i]);
  }
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    widen(&planner->outputs[i], &planner->wide[node->n_inputs + i]);
  }
  return LK_OK;
}

/* NULL: it is no input or output, or none is of a half type. */
static lk_wide_tensor *find_wide(const lk_planner *planner, lk_place place, uint32_t index) {
  if (planner->wide == NULL) return NULL;
  return place == LK_PLACE_INPUT    ? &planner->wide[index]
         : place == LK_PLACE_OUTPUT ? &planner->wide[planner->node->n_inputs + index]
                                    : NULL;
}

uint32_t lk_planner_half_type(const lk_planner *planner, lk_place place, uint32_t index) {
  const lk_wide_tensor *wide = find_wide(planner, place, index);
  if (wide == NULL || (place == LK_PLACE_OUTPUT && wide->is_there)) return LK_DTYPE_NONE;
  return wide->dtype;
}

void lk_planner_keep_half(lk_planner *planner, lk_place place, uint32_t index, bool is_kept) {
  lk_wide_tensor *wide = find_wide(planner, place, index);
  const uint32_t dtype = is_kept ? wide->dtype : (uint32_t)LK_F32;
  wide->is_kept = is_kept;
  if (place == LK_PLACE_INPUT) planner->inputs[index].desc.dtype = dtype;
  if (place == LK_PLACE_OUTPUT) planner->outputs[index].dtype = dtype;
}

lk_status lk_planner_narrow(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = planner->node;
  lk_wide_tensor *wide = planner->wide;
  if (wide == NULL) return LK_OK;
  planner->wide = NULL;
  for (uint32_t i = 0; i < node->n_inputs; i++, wide++) {
    if (wide->dtype != LK_DTYPE_NONE) planner->inputs[i].desc.dtype = wide->dtype;
  }
  for (uint32_t i = 0; i < node->n_outputs; i++, wide++) {
    lk_operand to;
    if (wide->dtype == LK_DTYPE_NONE) continue;
    planner->outputs[i].dtype = wide->dtype;
    if (!wide->is_there) continue;
    LK_RETURN_NOT_OK(lk_planner_output(planner, i, wide->f32.desc.layout, &to, error));
    LK_RETURN_NOT_OK(lk_planner_cast(planner, &wide->f32, &to, error));
  }
  return LK_OK;
}

lk_status lk_planner_constant(lk_planner *planner, uint32_t index, lk_packed **out_plain,
                              lk_error *error) {
  const lk_node_constant *constant = &planner->node->constants[index];
  const lk_wide_tensor *wide = wide_input(planner, index);
  const int64_t count = lk_elements(&planner->inputs[index].desc);
  return wide != NULL ? lk_pack_wide(constant->content, wide->dtype, count, out_plain, error)
                      : get_plain(constant, out_plain, error);
}

/* The input as it lies, but of f32; constants lie plain. */
static lk_status make_wide(lk_planner *planner, uint32_t index, lk_wide_tensor *wide,
                           lk_error *error) {
  lk_plan_body *body = planner->body;
  lk_content *content = planner->node->constants[index].content;
  lk_operand from = {LK_PLACE_INPUT, index, planner->inputs[index].desc};
  if (content != NULL) {
    LK_RETURN_NOT_OK(GROW(planner, packed, error));
    LK_RETURN_NOT_OK(
        lk_planner_constant(planner, index, &planner->arrays.packed[body->n_packed], error));
    wide->f32 = (lk_operand){LK_PLACE_PACKED, body->n_packed++, from.desc};
  } else {
    LK_RETURN_NOT_OK(lk_planner_temp(planner, &from.desc, &wide->f32, error));
    from.desc.dtype = wide->dtype;
    LK_RETURN_NOT_OK(lk_planner_cast(planner, &from, &wide->f32, error));
  }
  wide->is_there = true;
  return LK_OK;
}

/* ---- inputs and outputs ---- */

lk_status lk_planner_packed(lk_planner *planner, uint32_t index, const lk_weights_layout *layout,
                            size_t bytes, const lk_packer *packer, lk_operand *out_operand,
                            lk_error *error) {
  lk_plan_body *body = planner->body;
  lk_content *content = planner->node->constants[index].content;
  const lk_tensor_desc *desc = &planner->inputs[index].desc;
  const lk_wide_tensor *wide = wide_input(planner, index);
  LK_RETURN_NOT_OK(GROW(planner, packed, error));
  lk_packed **packed = &planner->arrays.packed[body->n_packed];
  if (wide == NULL) {
    LK_RETURN_NOT_OK(lk_content_pack(content, layout, bytes, packer, packed, error));
  } else {
    const lk_widening of = {planner->env->allocator, wide->dtype, lk_elements(desc)};
    LK_RETURN_NOT_OK(lk_pack_widened(content, &of, layout, bytes, packer, packed, error));
  }
  *out_operand = (lk_operand){LK_PLACE_PACKED, body->n_packed++, *desc};
  return LK_OK;
}

lk_status lk_planner_value(lk_planner *planner, lk_ref *value, lk_operand *out_slot,
                           lk_error *error) {
  lk_plan_body *body = planner->body;
  if (body->n_values == UINT16_MAX) {
    return lk_fail(error, LK_UNSUPPORTED, "a plan with more than %d values of engines", UINT16_MAX);
  }
  LK_RETURN_NOT_OK(GROW(planner, values, error));
  lk_ref_retain(value);
  planner->arrays.values[body->n_values] = value;
  *out_slot = (lk_operand){.place = LK_PLACE_SLOT, .index = body->n_values++};
  out_slot->desc.rank = 1; /* of no elements: it is no work of the step's */
  return LK_OK;
}

/* An operand of a run in the layout of `to`, which has its dimensions and type. */
static lk_status reorder_to(lk_planner *planner, const lk_operand *from, const lk_tensor_desc *to,
                            lk_operand *out_operand, lk_error *error) {
  LK_RETURN_NOT_OK(lk_planner_temp(planner, to, out_operand, error));
  return change_layout(planner, from, out_operand, error);
}

lk_status lk_planner_input(lk_planner *planner, uint32_t index, lk_layout layout,
                           lk_operand *out_operand, lk_error *error) {
  lk_content *content = planner->node->constants[index].content;
  lk_operand from = {LK_PLACE_INPUT, index, planner->inputs[index].desc};
  lk_wide_tensor *wide = wide_input(planner, index);
  lk_tensor_desc wanted = from.desc;
  if (layout != LK_LAYOUT_ANY) wanted.layout = layout;
  if (wide != NULL) {
    if (!wide->is_there) LK_RETURN_NOT_OK(make_wide(planner, index, wide, error));
    from = wide->f32;
    content = NULL;
  }
  const bool is_as_wanted = lk_layout_same_bytes(&wanted, from.desc.layout, wanted.layout);
  if (content != NULL) {
    const lk_tensor_desc *to = is_as_wanted ? &from.desc : &wanted;
    const lk_node_constant *constant = &planner->node->constants[index];
    LK_RETURN_NOT_OK(pack_operand(planner, constant, &from.desc, to, &from, error));
  } else if (!is_as_wanted) {
    return reorder_to(planner, &from, &wanted, out_operand, error);
  }
  *out_operand = from;
  out_operand->desc.layout = wanted.layout;
  return LK_OK;
}

lk_status lk_planner_output(lk_planner *planner, uint32_t index, lk_layout layout,
                            lk_operand *out_operand, lk_error *error) {
  lk_tensor_desc *desc = &planner->outputs[index];
  lk_wide_tensor *wide = wide_output(planner, index);
  if (wide != NULL && !wide->is_there) {
    lk_tensor_desc f32 = *desc;
    f32.layout = layout;
    LK_RETURN_NOT_OK(lk_planner_temp(planner, &f32, &wide->f32, error));
    wide->is_there = true;
  }
  if (wide != NULL) {
    *out_operand = wide->f32;
    return LK_OK;
  }
  const lk_layout wish = lk_planner_wish(planner, index, layout);
  desc->layout = wish;
  *out_operand = (lk_operand){LK_PLACE_OUTPUT, index, *desc};
  out_operand->desc.layout = layout;
  if (lk_layout_same_bytes(desc, wish, layout)) return LK_OK;
  lk_pending_reorder pending = {.to = {LK_PLACE_OUTPUT, index, *desc}};
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &out_operand->desc, out_operand, error));
  pending.from = *out_operand;
  if (!LK_BUMP_GROW(&planner->memory, planner->pending, (size_t)planner->n_pending,
                    planner->pending_capacity)) {
    return lk_fail_memory(error, "a plan", sizeof pending);
  }
  planner->pending[planner->n_pending++] = pending;
  return LK_OK;
}

lk_status lk_planner_plain(lk_planner *planner, uint32_t n_inputs, lk_operand *out_operands,
                           lk_error *error) {
  for (uint32_t i = 0; i < n_inputs; i++) {
    LK_RETURN_NOT_OK(lk_planner_input(planner, i, LK_LAYOUT_PLAIN, &out_operands[i], error));
  }
  return lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &out_operands[n_inputs], error);
}

lk_status lk_planner_append_input(lk_planner *planner, uint32_t index, lk_operand *operands,
                                  uint32_t *inout_n, lk_error *error) {
  if (!lk_op_has(planner->node, index)) return LK_OK;
  return lk_planner_input(planner, index, LK_LAYOUT_PLAIN, &operands[(*inout_n)++], error);
}

lk_status lk_planner_output_or_temp(lk_planner *planner, uint32_t index, const lk_tensor_desc *desc,
                                    lk_operand *out_operand, lk_error *error) {
  return index < planner->node->n_outputs
             ? lk_planner_output(planner, index, LK_LAYOUT_PLAIN, out_operand, error)
             : lk_planner_temp(planner, desc, out_operand, error);
}

/* ---- steps ---- */

static lk_status add_arg(lk_planner *planner, const lk_operand *operand, lk_error *error) {
  lk_plan_body *body = planner->body;
  if (body->n_args == UINT16_MAX) {
    return lk_fail(error, LK_UNSUPPORTED, "a plan with more than %d arguments", UINT16_MAX);
  }
  LK_RETURN_NOT_OK(GROW(planner, args, error));
  planner->arrays.args[body->n_args++] =
      (lk_step_arg){(uint16_t)operand->place, (uint16_t)operand->index};
  planner->arrays.steps[body->n_steps - 1].n_args++;
  return LK_OK;
}

static lk_status add_step(lk_planner *planner, const lk_step *step, lk_error *error) {
  lk_plan_body *body = planner->body;
  LK_RETURN_NOT_OK(GROW(planner, steps, error));
  planner->arrays.steps[body->n_steps] = *step;
  planner->arrays.steps[body->n_steps].first_arg = (uint16_t)body->n_args;
  planner->arrays.steps[body->n_steps].work = planner->work & LK_STEP_MOST_WORK;
  body->n_steps++;
  return LK_OK;
}

/* Of all operands, each once; one flop for each element of the largest. */
static void count_work(const lk_operand *operands, uint32_t n_operands, lk_step *step) {
  double bytes = 0, flops = 0;
  for (uint32_t i = 0; i < n_operands; i++) {
    const double elements = (double)lk_elements(&operands[i].desc);
    bytes += elements * (double)lk_dtype_size(operands[i].desc.dtype);
    if (elements > flops) flops = elements;
  }
  step->flops = (float)flops;
  step->bytes = (float)bytes;
}

static lk_step *last_step(lk_planner *planner) {
  return &planner->arrays.steps[planner->body->n_steps - 1];
}

void lk_planner_expect(lk_planner *planner, double ns, bool is_measured) {
  lk_plan_expected *sum = &planner->arrays.expected;
  const bool is_first = !planner->draft.is_expected;
  planner->draft.is_expected = true;
  sum->ns = ns > 0 && (is_first || sum->ns > 0) ? sum->ns + ns : 0;
  sum->is_measured = is_measured && (is_first || sum->is_measured);
}

void lk_planner_is_long(lk_planner *planner) {
  planner->body->is_long = true;
}

void lk_planner_flops(lk_planner *planner, double flops) {
  last_step(planner)->flops = (float)flops;
}

void lk_planner_work(lk_planner *planner, double flops, double bytes) {
  lk_planner_flops(planner, flops);
  last_step(planner)->bytes = (float)bytes;
}

lk_status lk_planner_kernel(lk_planner *planner, lk_kernel_fn kernel, const char *kind,
                            const void *params, size_t size, const lk_operand *operands,
                            uint32_t n_operands, lk_error *error) {
  if (size > LK_STEP_MOST_PARAMS) {
    return lk_fail(error, LK_UNSUPPORTED, "a step with %zu bytes of parameters", size);
  }
  void *copy = lk_bump_alloc(&planner->memory, size);
  if (copy == NULL) return lk_fail_memory(error, "a kernel's parameters", size);
  memcpy(copy, params, size);
  lk_step step = {.kernel = kernel,
                  .params = copy,
                  .params_size = (uint32_t)size & LK_STEP_MOST_PARAMS,
                  .kind = kind};
  count_work(operands, n_operands, &step);
  LK_RETURN_NOT_OK(add_step(planner, &step, error));
  for (uint32_t i = 0; i < n_operands; i++) {
    LK_RETURN_NOT_OK(add_arg(planner, &operands[i], error));
  }
  return LK_OK;
}

lk_status lk_planner_cast(lk_planner *planner, const lk_operand *from, const lk_operand *to,
                          lk_error *error) {
  lk_cast cast = {
      .from = from->desc.dtype, .to = to->desc.dtype, .count = lk_elements(&from->desc)};
  lk_cast_plan(&cast, lk_isa_get());
  return lk_planner_kernel(planner, lk_cast_kernel, "cast", &cast, sizeof cast,
                           (lk_operand[]){*from, *to}, 2, error);
}

static lk_status copy_by(lk_planner *planner, const char *kind, const lk_copy *copy,
                         const lk_operand *from, const lk_operand *to, lk_error *error) {
  double bytes = (double)copy->block;
  for (uint32_t i = 0; i < copy->rank; i++) {
    if (copy->dims[i] == 0) return LK_OK;
    bytes *= (double)copy->dims[i];
  }
  lk_copy simple = *copy;
  lk_copy_simplify(&simple);
  /* for one block, the kernel reads no further */
  const size_t size = simple.rank == 0 ? offsetof(lk_copy, dims) : sizeof simple;
  const lk_operand operands[] = {*from, *to};
  LK_RETURN_NOT_OK(
      lk_planner_kernel(planner, lk_copy_kernel, kind, &simple, size, operands, 2, error));
  lk_planner_work(planner, 0, 2 * bytes); /* it may read a part of `from` only, or repeat it */
  return LK_OK;
}

lk_status lk_planner_copy(lk_planner *planner, const lk_copy *copy, const lk_operand *from,
                          const lk_operand *to, lk_error *error) {
  return copy_by(planner, "copy", copy, from, to, error);
}

lk_status lk_planner_reorder(lk_planner *planner, const lk_copy *copy, const lk_operand *from,
                             const lk_operand *to, lk_error *error) {
  return copy_by(planner, LK_REORDER_KIND, copy, from, to, error);
}
