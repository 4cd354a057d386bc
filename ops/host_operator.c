/* Nodes of an operator of a host's: the functions of its class, which ask the host's. */
#include "ops/host_operator.h"

#include <inttypes.h>
#include <string.h>

#include "base/bump.h"
#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/host.h"
#include "ops/plan/planner.h"

/* ---- shapes ---- */

static bool knows_all(const lk_inference *self) {
  for (uint32_t i = 0; i < self->node->n_inputs; i++) {
    const lk_tensor_desc *desc = &self->inputs[i].desc;
    if (!lk_op_has(self->node, i)) continue;
    if (desc->dtype == LK_DTYPE_NONE || !lk_shape_is_known(desc)) return false;
  }
  return lk_infer_knows_all(self);
}

/* A dimension that no number is: one that an input has. */
static bool is_of_input(const lk_inference *self, int64_t dim) {
  for (uint32_t i = 0; i < self->node->n_inputs; i++) {
    const lk_tensor_desc *desc = &self->inputs[i].desc;
    if (!lk_op_has(self->node, i) || !lk_rank_is_known(desc)) continue;
    for (uint32_t d = 0; d < desc->rank; d++) {
      if (desc->dims[d] == dim) return true;
    }
  }
  return false;
}

static lk_status check_type(const lk_inference *self, uint32_t index, uint32_t expected,
                            bool is_open, lk_error *error) {
  const lk_op_row *row = &self->node->class_->row;
  const uint32_t dtype = self->outputs[index].dtype;
  const size_t last = strlen(row->output_types) - 1;
  const char letter = row->output_types[index < last ? index : last];
  const uint32_t set = letter != '?' ? row->types[letter - 'T'] : LK_TYPES_ANY;
  if (dtype == LK_DTYPE_NONE && is_open) return LK_OK;
  const bool is_allowed =
      lk_dtype_size(dtype) > 0 && (set == LK_TYPES_ANY || (set >> dtype & 1) != 0);
  if (is_allowed && (expected == LK_DTYPE_NONE || dtype == expected)) return LK_OK;
  char text[128] = "any type";
  if (set != LK_TYPES_ANY) lk_dtypes_text(set, text, sizeof text);
  const char *right = expected != LK_DTYPE_NONE ? lk_dtype_name(expected) : text;
  if (dtype == LK_DTYPE_NONE) {
    return lk_fail(error, LK_INTERNAL, "'infer' gave output %" PRIu32 " no type, %s may be given",
                   index, right);
  }
  return lk_fail(error, LK_INTERNAL,
                 "'infer' gave output %" PRIu32 " type %" PRIu32 " (%s), %s may be given", index,
                 dtype, lk_dtype_name(dtype), right);
}

static lk_status check_dims(const lk_inference *self, uint32_t index, bool is_open,
                            lk_error *error) {
  lk_tensor_desc *desc = &self->outputs[index];
  if (desc->layout != LK_LAYOUT_PLAIN) {
    return lk_fail(error, LK_INTERNAL,
                   "'infer' gave output %" PRIu32 " layout %" PRIu32 ", it must stay plain", index,
                   desc->layout);
  }
  *desc = lk_host_plain(desc);
  if (desc->rank == LK_RANK_UNKNOWN && is_open) return LK_OK;
  if (desc->rank > LK_MAX_RANK) {
    return lk_fail(error, LK_INTERNAL,
                   "'infer' %s output %" PRIu32 ", a rank from 0 to %d is required",
                   desc->rank == LK_RANK_UNKNOWN ? "set no rank of" : "gave too many dimensions to",
                   index, LK_MAX_RANK);
  }
  lk_tensor_desc known = *desc;
  for (uint32_t d = 0; d < desc->rank; d++) {
    const int64_t dim = desc->dims[d];
    if (dim >= 0) continue;
    known.dims[d] = 1;
    if (is_open && (dim == LK_DIM_UNKNOWN || is_of_input(self, dim))) continue;
    return lk_fail(error, LK_INTERNAL,
                   "'infer' gave dimension %" PRIu32 " of output %" PRIu32 " as %" PRId64
                   ", numbers from 0 on are allowed%s",
                   d, index, dim,
                   is_open ? ", LK_DIM_UNKNOWN and what an input has where not all is known" : "");
  }
  if (known.dtype == LK_DTYPE_NONE) known.dtype = LK_U8;
  return lk_tensor_size(&known, "an output", NULL, NULL, error);
}

static lk_status check_shapes(const lk_inference *self, const lk_operator_shapes *shapes,
                              const uint32_t *expected, bool is_open, lk_error *error) {
  for (uint32_t i = 0; i < self->node->n_outputs; i++) {
    LK_RETURN_NOT_OK(check_type(self, i, expected[i], is_open, error));
    LK_RETURN_NOT_OK(check_dims(self, i, is_open, error));
  }
  if (shapes->params_bytes > LK_OPERATOR_PARAMS ||
      shapes->scratch_bytes > (uint64_t)LK_TENSOR_MAX_BYTES) {
    return lk_fail(error, LK_INTERNAL,
                   "'infer' wants %" PRIu32 " bytes of params and %" PRIu64
                   " of scratch memory, at most %d and 2^47 are allowed",
                   shapes->params_bytes, shapes->scratch_bytes, LK_OPERATOR_PARAMS);
  }
  return LK_OK;
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const lk_host_class *class_ = lk_host_class_of(self->node);
  lk_host_found none, *found = self->found != NULL ? self->found : &none;
  uint32_t expected[LK_OPERATOR_MOST_TENSORS];
  lk_host_node asked;
  const bool is_open = !knows_all(self);
  if (is_open && (class_->op.flags & LK_OPERATOR_INFERS_OPEN) == 0) return LK_OK;
  for (uint32_t i = 0; i < self->node->n_outputs; i++) expected[i] = self->outputs[i].dtype;
  memset(found, 0, sizeof *found);
  lk_host_node_describe(self->node, self->inputs, &asked);
  lk_operator_shapes shapes = {.struct_size = sizeof shapes,
                               .outputs = self->outputs,
                               .params = (unsigned char *)found->params};
  lk_error said;
  said.message[0] = '\0';
  const lk_status status = class_->op.infer(class_->op.user, &asked.node, &shapes, &said);
  LK_RETURN_NOT_OK(lk_host_status(&class_->op, "infer", status, &said, error));
  LK_RETURN_NOT_OK(check_shapes(self, &shapes, expected, is_open, error));
  found->scratch_bytes = shapes.scratch_bytes;
  found->params_bytes = shapes.params_bytes;
  return LK_OK;
}

/* ---- steps ---- */

/* The params of the step: the lk_host_step and what it says lies behind it. NULL: no memory. */
static void *make_params(lk_planner *planner, size_t *out_bytes) {
  const lk_op_node *node = planner->node;
  const lk_host_found *found = planner->found;
  const uint32_t n_descs = node->n_inputs + node->n_outputs;
  *out_bytes = sizeof(lk_host_step) + n_descs * sizeof(lk_tensor_desc) + found->params_bytes;
  lk_host_step *step = lk_bump_alloc(&planner->memory, *out_bytes);
  if (step == NULL) return NULL;
  lk_tensor_desc *descs = (lk_tensor_desc *)(step + 1);
  *step = (lk_host_step){.op = &lk_host_class_of(node)->op,
                         .scratch_bytes = found->scratch_bytes,
                         .n_inputs = node->n_inputs,
                         .n_outputs = node->n_outputs};
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    descs[i] = (lk_tensor_desc){0};
    if (!lk_op_has(node, i)) continue;
    step->present |= UINT64_C(1) << i;
    descs[i] = lk_host_plain(&planner->inputs[i].desc);
  }
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    descs[node->n_inputs + i] = lk_host_plain(&planner->outputs[i]);
  }
  memcpy(descs + n_descs, found->params, found->params_bytes);
  return step;
}

static lk_status plan_run(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = planner->node;
  const lk_host_found *found = planner->found;
  const size_t most = node->n_inputs + node->n_outputs + 1;
  uint32_t n = 0;
  size_t bytes = 0;
  lk_operand *operands = lk_bump_alloc(&planner->memory, most * sizeof *operands);
  if (operands == NULL) return lk_fail_memory(error, "a plan", most * sizeof *operands);
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    LK_RETURN_NOT_OK(lk_planner_append_input(planner, i, operands, &n, error));
  }
  const void *params = make_params(planner, &bytes);
  if (params == NULL) return lk_fail_memory(error, "a plan", bytes);
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    LK_RETURN_NOT_OK(lk_planner_output(planner, i, LK_LAYOUT_PLAIN, &operands[n++], error));
  }
  if (found->scratch_bytes > 0) {
    const int64_t count = (int64_t)found->scratch_bytes;
    const lk_tensor_desc desc = lk_tensor_desc_make(LK_U8, 1, &count);
    LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &operands[n], error));
    operands[n++].desc.dims[0] = 0; /* what it moves is no work of the step's */
  }
  lk_planner_is_long(planner); /* nobody knows */
  return lk_planner_kernel(planner, lk_host_kernel, lk_host_class_of(node)->kind, params, bytes,
                           operands, n, error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  return lk_host_class_of(planner->node)->op.work != NULL ? lk_host_plan_work(planner, error)
                                                          : plan_run(planner, error);
}

void lk_host_class_fill(lk_host_class *self) {
  const lk_operator *op = &self->op;
  lk_op_row *row = &self->class_.row;
  self->class_ = (lk_op_class){.params_size = sizeof(lk_host_params),
                               .params_behind = lk_host_params_behind,
                               .found_size = sizeof(lk_host_found),
                               .parse = lk_host_params_parse,
                               .infer = infer,
                               .plan = plan};
  *row = (lk_op_row){.struct_size = sizeof *row,
                     .op_type = op->op_type,
                     .domain = op->domain,
                     .summary = op->summary,
                     .since = op->since,
                     .flags = (op->flags & LK_OPERATOR_RANDOM) != 0 ? LK_OP_RANDOM : 0,
                     .min_inputs = op->min_inputs,
                     .max_inputs = op->max_inputs,
                     .max_outputs = op->max_outputs,
                     .input_types = op->input_types,
                     .output_types = op->output_types,
                     .shape_inputs = op->shape_inputs,
                     .attrs = op->attrs,
                     .n_attrs = op->n_attrs};
  memcpy(row->types, op->types, sizeof row->types);
}
