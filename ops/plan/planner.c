/* Collects the steps of a plan while an operator's `plan` function runs. */
#include "ops/plan/planner.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/team/team.h"
#include "base/tensor.h"
#include "ops/plan/packing.h"
#include "ops/plan/post_operands.h"
#include "ops/plan/post_ops.h"

/* An output that was written to a temporary and is reordered when the operator has finished. */
typedef struct pending_reorder {
  lk_operand from, to;
} pending_reorder;

struct lk_planner {
  lk_ops_env *env;
  const lk_op_node *node;
  lk_tensor *inputs;       /* as bound; constants and absent ones as the node has them */
  const lk_layout *wishes; /* or NULL */
  int32_t threads;
  lk_plan_body *body;
  pending_reorder *pending;
  size_t steps_capacity, args_capacity, primitives_capacity, packed_capacity, temps_capacity,
      params_capacity, pending_capacity, params_bytes;
  uint32_t n_pending;
};

/* Grows one of the body's arrays, whose count is a uint32_t. */
#define GROW(planner, array, count)                                                                \
  LK_GROW((planner)->env->allocator, (planner)->body->array, (size_t)(planner)->body->count,       \
          (planner)->array##_capacity)

lk_ops_env *lk_planner_env(lk_planner *planner) {
  return planner->env;
}
const lk_op_node *lk_planner_node(lk_planner *planner) {
  return planner->node;
}

const lk_tensor *lk_planner_input_tensor(lk_planner *planner, uint32_t index) {
  return &planner->inputs[index];
}

const lk_tensor_desc *lk_planner_output_desc(lk_planner *planner, uint32_t index) {
  return &planner->body->outputs[index];
}

lk_layout lk_planner_wish(lk_planner *planner, uint32_t index, lk_layout natural) {
  if (planner->wishes == NULL || planner->wishes[index] == LK_LAYOUT_ANY) return natural;
  return planner->wishes[index];
}

lk_status lk_planner_temp(lk_planner *planner, const lk_tensor_desc *desc, lk_operand *out_operand,
                          lk_error *error) {
  lk_plan_body *body = planner->body;
  uint64_t bytes = 0;
  lk_status status = lk_layouts_bytes(planner->env->layouts, desc, &bytes, error);
  if (status != LK_OK) return status;
  if (!GROW(planner, temps, n_temps)) return lk_fail_memory(error, "a plan", sizeof *body->temps);
  *out_operand = (lk_operand){LK_PLACE_TEMP, body->n_temps, *desc};
  body->temps[body->n_temps++] = body->temp_bytes;
  body->temp_bytes += (bytes + LK_DATA_ALIGNMENT - 1) / LK_DATA_ALIGNMENT * LK_DATA_ALIGNMENT;
  return LK_OK;
}

/* Keeps a packed constant, whose reference is taken over in every case. */
static lk_status add_packed(lk_planner *planner, lk_packed *packed, const lk_tensor_desc *desc,
                            lk_operand *out_operand, lk_error *error) {
  lk_plan_body *body = planner->body;
  if (!GROW(planner, packed, n_packed)) {
    lk_packed_release(packed);
    return lk_fail_memory(error, "a plan", sizeof *body->packed);
  }
  *out_operand = (lk_operand){LK_PLACE_PACKED, body->n_packed, *desc};
  body->packed[body->n_packed++] = packed;
  return LK_OK;
}

static const lk_node_constant *constant_of(lk_planner *planner, uint32_t index) {
  const lk_node_constant *constant = &planner->node->constants[index];
  return constant->content != NULL ? constant : NULL;
}

/* The number of a layout of plain bytes: row-major without a descriptor. */
static lk_status plain_layout(lk_planner *planner, const_dnnl_memory_desc_t plain_md,
                              lk_layout *out_layout, lk_error *error) {
  *out_layout = LK_LAYOUT_PLAIN;
  if (plain_md == NULL) return LK_OK;
  return lk_layouts_intern(planner->env->layouts, plain_md, out_layout, error);
}

/* `content`, whose plain bytes lie as `from` says, in the layout of `to`, as an operand. */
static lk_status pack_operand(lk_planner *planner, lk_content *content, const lk_tensor_desc *from,
                              const lk_tensor_desc *to, lk_operand *out_operand, lk_error *error) {
  lk_packed *packed = NULL;
  lk_status status = from->layout == to->layout
                         ? lk_content_plain(content, LK_DATA_ALIGNMENT, &packed, error)
                         : lk_pack_content(planner->env, content, from, to, &packed, error);
  return status == LK_OK ? add_packed(planner, packed, to, out_operand, error) : status;
}

lk_status lk_planner_literal(lk_planner *planner, const lk_tensor_desc *desc, const void *data,
                             const_dnnl_memory_desc_t packed_md, lk_operand *out_operand,
                             lk_error *error) {
  lk_status status = LK_OK;
  lk_content *content = NULL;
  lk_tensor_desc from = *desc, to = *desc;
  uint64_t bytes = 0;
  from.layout = LK_LAYOUT_PLAIN;
  LK_TRY(lk_layouts_bytes(planner->env->layouts, &from, &bytes, error));
  LK_TRY(lk_layouts_intern(planner->env->layouts, packed_md, &to.layout, error));
  LK_TRY(lk_weights_intern(planner->env->weights, data, bytes, true, &content, error));
  LK_TRY(pack_operand(planner, content, &from, &to, out_operand, error));
cleanup:
  if (content != NULL) lk_content_release(content, NULL); /* the packed copy keeps it */
  return status;
}

lk_status lk_planner_weights(lk_planner *planner, uint32_t index, const lk_tensor_desc *desc,
                             const_dnnl_memory_desc_t plain_md, const_dnnl_memory_desc_t packed_md,
                             lk_operand *out_operand, lk_error *error) {
  lk_status status = LK_OK;
  lk_tensor_desc from = *desc, to = *desc;
  LK_TRY(plain_layout(planner, plain_md, &from.layout, error));
  LK_TRY(lk_layouts_intern(planner->env->layouts, packed_md, &to.layout, error));
  const lk_node_constant *constant = constant_of(planner, index);
  if (constant != NULL) {
    LK_TRY(pack_operand(planner, constant->content, &from, &to, out_operand, error));
  } else {
    lk_operand plain;
    LK_TRY(lk_planner_input(planner, index, LK_LAYOUT_PLAIN, &plain, error));
    plain.desc = from;
    *out_operand = plain;
    if (from.layout != to.layout) {
      LK_TRY(lk_planner_temp(planner, &to, out_operand, error));
      LK_TRY(lk_planner_reorder(planner, &plain, out_operand, error));
    }
  }
cleanup:
  return status;
}

lk_status lk_planner_input(lk_planner *planner, uint32_t index, lk_layout layout,
                           lk_operand *out_operand, lk_error *error) {
  lk_tensor_desc desc = planner->inputs[index].desc;
  if (layout == LK_LAYOUT_ANY) layout = desc.layout;
  bool as_it_is = lk_layout_same_bytes(&desc, desc.layout, layout);
  if (constant_of(planner, index) != NULL) {
    desc.layout = layout;
    if (as_it_is) {
      lk_packed *packed = NULL;
      lk_status status =
          lk_content_plain(constant_of(planner, index)->content, LK_DATA_ALIGNMENT, &packed, error);
      return status == LK_OK ? add_packed(planner, packed, &desc, out_operand, error) : status;
    }
    dnnl_memory_desc_t md = NULL;
    lk_status status = lk_layouts_memory_desc(planner->env->layouts, &desc, &md, error);
    if (status == LK_OK) {
      status = lk_planner_weights(planner, index, &desc, NULL, md, out_operand, error);
      out_operand->desc.layout = layout;
      dnnl_memory_desc_destroy(md);
    }
    return status;
  }
  *out_operand = (lk_operand){LK_PLACE_INPUT, index, desc};
  if (as_it_is) {
    out_operand->desc.layout = layout;
    return LK_OK;
  }
  lk_operand from = *out_operand;
  desc.layout = layout;
  lk_status status = lk_planner_temp(planner, &desc, out_operand, error);
  return status == LK_OK ? lk_planner_reorder(planner, &from, out_operand, error) : status;
}

lk_status lk_planner_output(lk_planner *planner, uint32_t index, lk_layout layout,
                            lk_operand *out_operand, lk_error *error) {
  lk_tensor_desc *desc = &planner->body->outputs[index];
  lk_layout wish = lk_planner_wish(planner, index, layout);
  desc->layout = wish;
  *out_operand = (lk_operand){LK_PLACE_OUTPUT, index, *desc};
  out_operand->desc.layout = layout;
  if (lk_layout_same_bytes(desc, wish, layout)) return LK_OK;
  pending_reorder pending = {.to = {LK_PLACE_OUTPUT, index, *desc}};
  lk_status status = lk_planner_temp(planner, &out_operand->desc, out_operand, error);
  if (status != LK_OK) return status;
  pending.from = *out_operand;
  if (!LK_GROW(planner->env->allocator, planner->pending, (size_t)planner->n_pending,
               planner->pending_capacity)) {
    return lk_fail_memory(error, "a plan", sizeof pending);
  }
  planner->pending[planner->n_pending++] = pending;
  return LK_OK;
}

void lk_planner_key_begin(lk_planner *planner, lk_key_builder *key, lk_primitive_kind kind) {
  lk_primitive_key(key, planner->env, kind, planner->threads);
}

lk_status lk_planner_primitive(lk_planner *planner, lk_key_builder *key,
                               const lk_primitive **out_primitive, lk_error *error) {
  lk_plan_body *body = planner->body;
  lk_status status = LK_OK;
  lk_key finished;
  *out_primitive = NULL;
  if (!GROW(planner, primitives, n_primitives)) {
    LK_TRY(lk_fail_memory(error, "a plan", sizeof *body->primitives));
  }
  LK_TRY(lk_key_finish(key, &finished, error));
  LK_TRY(lk_post_operands_primitive(planner->env, &finished, &body->primitives[body->n_primitives],
                                    error));
  *out_primitive = lk_ref_value(body->primitives[body->n_primitives++]);
cleanup:
  lk_key_builder_release(key);
  return status;
}

static lk_status add_arg(lk_planner *planner, int arg, const lk_operand *operand, lk_error *error) {
  lk_plan_body *body = planner->body;
  if (!GROW(planner, args, n_args)) return lk_fail_memory(error, "a plan", sizeof *body->args);
  body->args[body->n_args++] = (lk_step_arg){arg, operand->place, operand->index};
  body->steps[body->n_steps - 1].n_args++;
  return LK_OK;
}

static lk_status add_step(lk_planner *planner, const lk_step *step, lk_error *error) {
  lk_plan_body *body = planner->body;
  if (!GROW(planner, steps, n_steps)) return lk_fail_memory(error, "a plan", sizeof *body->steps);
  body->steps[body->n_steps] = *step;
  body->steps[body->n_steps].first_arg = body->n_args;
  body->n_steps++;
  return LK_OK;
}

static lk_status execute(lk_planner *planner, const lk_primitive *primitive,
                         const lk_primitive_arg *args, uint32_t n_args, lk_error *error) {
  lk_plan_body *body = planner->body;
  lk_step step = {.primitive = primitive};
  lk_status status = add_step(planner, &step, error);
  for (uint32_t i = 0; i < n_args && status == LK_OK; i++) {
    status = add_arg(planner, args[i].arg, &args[i].operand, error);
  }
  if (primitive->scratchpad_bytes > body->scratchpad_bytes) {
    body->scratchpad_bytes = primitive->scratchpad_bytes;
  }
  if (primitive->is_ref) body->n_ref++;
  return status;
}

lk_status lk_planner_execute(lk_planner *planner, const lk_primitive *primitive,
                             const lk_primitive_arg *args, uint32_t n_args,
                             const lk_tensor_desc *post_dst, lk_error *error) {
  const lk_op_node *node = planner->node;
  lk_primitive_arg all[LK_MAX_STEP_ARGS];
  uint32_t count = 0;
  for (; count < n_args; count++) all[count] = args[count];
  for (uint32_t i = 0; post_dst != NULL && i < node->n_post_ops; i++) {
    if (node->post_ops[i].input < 0) continue;
    if (count == LK_MAX_STEP_ARGS) {
      return lk_fail(error, LK_OUT_OF_RANGE, "failed to plan a step: over %d arguments",
                     LK_MAX_STEP_ARGS);
    }
    lk_status status = lk_post_operand(planner, primitive, i, post_dst, &all[count++], error);
    if (status != LK_OK) return status;
  }
  planner->body->implementation = primitive->implementation;
  return execute(planner, primitive, all, count, error);
}

lk_status lk_planner_reorder(lk_planner *planner, const lk_operand *from, const lk_operand *to,
                             lk_error *error) {
  lk_key_builder key;
  const lk_primitive *primitive = NULL;
  lk_planner_key_begin(planner, &key, LK_PRIMITIVE_REORDER);
  lk_key_add_tensor(&key, LK_WORD_SRC, 0, &from->desc, 0);
  lk_key_add_tensor(&key, LK_WORD_DST, 0, &to->desc, 0);
  lk_status status = lk_planner_primitive(planner, &key, &primitive, error);
  if (status != LK_OK) return status;
  const lk_primitive_arg args[] = {{DNNL_ARG_FROM, *from}, {DNNL_ARG_TO, *to}};
  planner->body->n_reorders++;
  atomic_fetch_add_explicit(&planner->env->reorders, 1, memory_order_relaxed);
  return execute(planner, primitive, args, 2, error);
}

lk_status lk_planner_kernel(lk_planner *planner, lk_kernel_fn kernel, const void *params,
                            size_t size, const lk_operand *operands, uint32_t n_operands,
                            lk_error *error) {
  lk_plan_body *body = planner->body;
  void *copy = NULL;
  if (size > 0) {
    if (!GROW(planner, params, n_params)) {
      return lk_fail_memory(error, "a plan", sizeof *body->params);
    }
    copy = lk_alloc(planner->env->allocator, size);
    if (copy == NULL) return lk_fail_memory(error, "a kernel's parameters", size);
    memcpy(copy, params, size);
    body->params[body->n_params++] = copy;
    planner->params_bytes += size;
  }
  lk_step step = {.kernel = kernel, .params = copy};
  lk_status status = add_step(planner, &step, error);
  for (uint32_t i = 0; i < n_operands && status == LK_OK; i++) {
    status = add_arg(planner, (int)i, &operands[i], error);
  }
  return status;
}

static lk_status copy_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const uint64_t *bytes = params;
  if (pointers[0] != pointers[1]) memcpy(pointers[1], pointers[0], *bytes);
  return LK_OK;
}

lk_status lk_planner_view(lk_planner *planner, uint32_t index, lk_layout layout, lk_error *error) {
  lk_operand operands[2];
  uint64_t bytes = 0;
  lk_status status = lk_planner_input(planner, index, layout, &operands[0], error);
  if (status != LK_OK) return status;
  status = lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &operands[1], error);
  if (status != LK_OK) return status;
  status = lk_layouts_bytes(planner->env->layouts, &operands[0].desc, &bytes, error);
  if (status != LK_OK) return status;
  if (operands[0].place == LK_PLACE_INPUT && operands[1].place == LK_PLACE_OUTPUT) {
    planner->body->alias_input = (int32_t)index;
  }
  return lk_planner_kernel(planner, copy_kernel, &bytes, sizeof bytes, operands, 2, error);
}

static bool all_empty(const lk_plan_body *body) {
  for (uint32_t i = 0; i < body->n_outputs; i++) {
    if (lk_elements(&body->outputs[i]) > 0) return false;
  }
  return true;
}

/* Types and shapes of inputs, before an operator's own rules. */
static lk_status check_inputs(const lk_op_node *node, const lk_tensor *inputs, lk_error *error) {
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    char what[32] = "input ";
    bool absent = i < 64 && (node->absent >> i & 1) != 0;
    if (absent) continue;
    size_t used = strlen(what);
    if (i >= 10) what[used++] = (char)('0' + i / 10 % 10);
    what[used++] = (char)('0' + i % 10);
    what[used] = '\0';
    lk_status status = lk_tensor_size(&inputs[i].desc, what, NULL, NULL, error);
    if (status != LK_OK) return status;
    if (inputs[i].desc.layout == LK_LAYOUT_ANY) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to read %s: its layout is 'any', which only a wish can be", what);
    }
    if (i < 64 && (node->class_->row.shape_inputs >> i & 1) != 0 && inputs[i].data == NULL &&
        lk_elements(&inputs[i].desc) > 0) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to read %s: its value must be known when shapes are bound", what);
    }
  }
  return LK_OK;
}

static uint64_t steps_bytes(const lk_planner *planner) {
  return planner->steps_capacity * sizeof(lk_step) + planner->args_capacity * sizeof(lk_step_arg) +
         planner->primitives_capacity * sizeof(void *) + planner->packed_capacity * sizeof(void *) +
         planner->temps_capacity * sizeof(size_t) + planner->params_capacity * sizeof(void *) +
         planner->params_bytes;
}

static lk_status plan_steps(lk_planner *planner, lk_error *error) {
  lk_plan_body *body = planner->body;
  const lk_op_node *node = planner->node;
  lk_status status = check_inputs(node, planner->inputs, error);
  if (status != LK_OK) return status;
  lk_inference inference = {.node = node, .inputs = planner->inputs, .outputs = body->outputs};
  status = lk_op_infer(&inference, error);
  if (status != LK_OK) return status;
  for (uint32_t i = 0; i < body->n_outputs; i++) {
    status = lk_tensor_size(&body->outputs[i], "an output", NULL, NULL, error);
    if (status != LK_OK) return status;
  }
  status = lk_post_operands_check(planner, error);
  if (status != LK_OK || all_empty(body)) return status;
  status = node->class_->plan(planner, error);
  for (uint32_t i = 0; i < planner->n_pending && status == LK_OK; i++) {
    status = lk_planner_reorder(planner, &planner->pending[i].from, &planner->pending[i].to, error);
  }
  return status;
}

lk_status lk_plan_body_create(lk_ops_env *env, const lk_op_node *node, const lk_layout *wishes,
                              int32_t threads, lk_plan_body **out_body, lk_error *error) {
  *out_body = NULL;
  lk_status status = LK_OK;
  lk_plan_body *body = lk_calloc(env->allocator, 1, sizeof *body);
  if (body == NULL) return lk_fail_memory(error, "a plan", sizeof *body);
  body->env = env;
  body->threads = threads;
  body->alias_input = -1;
  body->over = -1;
  body->implementation = "";
  body->n_inputs = node->n_inputs;
  body->n_outputs = node->n_outputs;
  body->inputs = lk_calloc(env->allocator, node->n_inputs, sizeof *body->inputs);
  body->outputs = lk_calloc(env->allocator, node->n_outputs, sizeof *body->outputs);
  body->wishes = lk_calloc(env->allocator, node->n_outputs, sizeof *body->wishes);
  body->bytes = sizeof *body + node->n_inputs * sizeof *body->inputs +
                node->n_outputs * (sizeof *body->outputs + sizeof *body->wishes);
  if (body->inputs == NULL || body->outputs == NULL || body->wishes == NULL) {
    LK_TRY(lk_fail_memory(error, "a plan", (size_t)body->bytes));
  }
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    body->wishes[i] = wishes != NULL ? wishes[i] : LK_LAYOUT_ANY;
  }
  *out_body = body;
  body = NULL;
cleanup:
  lk_plan_body_destroy(body);
  return status;
}

lk_status lk_plan_build(lk_ops_env *env, const lk_op_node *node, const lk_tensor *inputs,
                        const lk_layout *wishes, int32_t threads, lk_plan_body **out_body,
                        lk_error *error) {
  *out_body = NULL;
  lk_status status = LK_OK;
  lk_planner planner = {.env = env, .node = node, .wishes = wishes, .threads = threads};
  const int host_threads = lk_team_threads();
  lk_plan_body *body = NULL;
  LK_TRY(lk_plan_body_create(env, node, wishes, threads, &body, error));
  planner.body = body;
  planner.inputs = lk_calloc(env->allocator, node->n_inputs, sizeof *planner.inputs);
  if (planner.inputs == NULL) {
    LK_TRY(lk_fail_memory(error, "a plan", node->n_inputs * sizeof *planner.inputs));
  }
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    const bool absent = i < 64 && (node->absent >> i & 1) != 0;
    if (node->constants[i].content != NULL) {
      planner.inputs[i] = node->constants[i].tensor;
    } else if (!absent) {
      planner.inputs[i] = inputs[i];
    }
    body->inputs[i] = planner.inputs[i].desc;
  }
  /* a primitive is built for the number of threads that are set at that moment */
  lk_team_set_threads(threads);
  status = plan_steps(&planner, error);
  lk_team_set_threads(host_threads);
  if (status != LK_OK) {
    status = lk_error_prefix(error, status, "failed to bind %s '%s'", node->class_->row.op_type,
                             node->output_name);
    goto cleanup;
  }
  body->bytes += steps_bytes(&planner);
  *out_body = body;
  body = NULL;
cleanup:
  lk_free(env->allocator, planner.inputs);
  lk_free(env->allocator, planner.pending);
  lk_plan_body_destroy(body);
  return status;
}

void lk_plan_body_destroy(lk_plan_body *body) {
  if (body == NULL) return;
  const lk_allocator *allocator = body->env->allocator;
  for (uint32_t i = 0; i < body->n_primitives; i++) lk_ref_release(body->primitives[i]);
  for (uint32_t i = 0; i < body->n_packed; i++) lk_packed_release(body->packed[i]);
  for (uint32_t i = 0; i < body->n_params; i++) lk_free(allocator, body->params[i]);
  lk_free(allocator, body->steps);
  lk_free(allocator, body->args);
  lk_free(allocator, body->primitives);
  lk_free(allocator, body->packed);
  lk_free(allocator, body->temps);
  lk_free(allocator, body->params);
  lk_free(allocator, body->inputs);
  lk_free(allocator, body->outputs);
  lk_free(allocator, body->wishes);
  lk_free(allocator, body);
}
