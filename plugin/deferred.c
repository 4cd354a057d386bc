/* Plans of binds that lack a value which shapes depend on: they have no steps, only what is certain
 * about the outputs. */
#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "plugin/internal.h"

/* The longest shape input that an operator reads whole: Resize's roi, two numbers per dimension. */
enum { MAX_VALUES = 2 * LK_MAX_RANK };

/* In ONNX no type depends on a value, and a rank only on how many values there are. So the
 * operator's own `infer` is asked with stand-ins: every dimension 1, and for the values that are
 * missing 1, 1, ... (shapes, sizes, scales, steps) or -1, -2, ... (axes, each given once). An
 * operator refuses those that make no sense to it; what it answers to all others is certain. */
typedef enum stand_in { STAND_IN_ONES, STAND_IN_AXES, STAND_IN_COUNT } stand_in;

bool lk_bind_lacks_value(const lk_op *op, const lk_bind_desc *bind, uint32_t index) {
  return lk_op_is_shape_input(op, index) && op->comes_at_run[index] &&
         bind->inputs[index].data == NULL && lk_elements(&bind->inputs[index].desc) > 0;
}

/* The values as they would lie in memory; NULL, as if still unknown, for types and lengths that no
 * shape input has. */
static void *make_values(stand_in kind, const lk_tensor_desc *desc, int64_t memory[MAX_VALUES]) {
  const int64_t count = lk_elements(desc);
  if (count > MAX_VALUES) return NULL;
  for (int64_t i = 0; i < count; i++) {
    const int32_t value = kind == STAND_IN_ONES ? 1 : -1 - (int32_t)i;
    switch (desc->dtype) {
    case LK_I64:
      memory[i] = value;
      break;
    case LK_I32:
      ((int32_t *)memory)[i] = value;
      break;
    case LK_F32:
      ((float *)memory)[i] = (float)value;
      break;
    case LK_BOOL: /* a mode that is asked for by `true`, like training */
      ((uint8_t *)memory)[i] = 0;
      break;
    default:
      return NULL;
    }
  }
  return memory;
}

/* `memory` [n_inputs][MAX_VALUES] */
static void make_inputs(stand_in kind, const lk_op *op, const lk_bind_desc *bind,
                        int64_t (*memory)[MAX_VALUES], lk_tensor *inputs) {
  for (uint32_t i = 0; i < op->node.n_inputs; i++) {
    const lk_node_constant *constant = &op->node.constants[i];
    inputs[i] = (lk_tensor){0};
    if (constant->content != NULL) {
      inputs[i] = constant->tensor;
    } else if (op->comes_at_run[i]) {
      inputs[i] = bind->inputs[i];
    }
    if (lk_bind_lacks_value(op, bind, i)) {
      inputs[i].data = make_values(kind, &inputs[i].desc, memory[i]);
    } else if (!lk_op_is_shape_input(op, i)) {
      for (uint32_t d = 0; d < inputs[i].desc.rank; d++) inputs[i].desc.dims[d] = 1;
      inputs[i].data = NULL;
    }
  }
}

static lk_status infer_outputs(const lk_op *op, const lk_bind_desc *bind, lk_tensor_desc *outputs,
                               lk_error *error) {
  lk_status status = LK_OK;
  const lk_op_node *node = &op->node;
  const lk_allocator *allocator = op->executor->context->env.allocator;
  lk_tensor *inputs = lk_calloc(allocator, node->n_inputs, sizeof *inputs);
  int64_t(*memory)[MAX_VALUES] = lk_calloc(allocator, node->n_inputs, sizeof *memory);
  lk_tensor_desc *answers = lk_calloc(allocator, node->n_outputs, sizeof *answers);
  bool is_first = true;
  if (inputs == NULL || memory == NULL || answers == NULL) {
    LK_TRY(lk_fail_memory(error, "stand-ins for values", node->n_inputs * sizeof *memory));
  }
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    outputs[i] =
        (lk_tensor_desc){.dtype = LK_DTYPE_NONE, .rank = LK_RANK_UNKNOWN, .layout = LK_LAYOUT_ANY};
  }
  for (stand_in kind = 0; kind < STAND_IN_COUNT; kind++) {
    make_inputs(kind, op, bind, memory, inputs);
    if (node->class_->infer(node, inputs, answers, NULL) != LK_OK) continue;
    for (uint32_t i = 0; i < node->n_outputs; i++) {
      if (is_first || outputs[i].rank == answers[i].rank) {
        outputs[i].rank = answers[i].rank;
      } else {
        outputs[i].rank = LK_RANK_UNKNOWN;
      }
      outputs[i].dtype = answers[i].dtype;
    }
    is_first = false;
  }
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    if (outputs[i].rank == LK_RANK_UNKNOWN) continue;
    for (uint32_t d = 0; d < outputs[i].rank; d++) outputs[i].dims[d] = LK_DIM_UNKNOWN;
  }
cleanup:
  lk_free(allocator, inputs);
  lk_free(allocator, memory);
  lk_free(allocator, answers);
  return status;
}

static lk_status read_inputs(const lk_op *op, const lk_bind_desc *bind, lk_tensor_desc *out,
                             lk_error *error) {
  lk_op_types types = {0};
  for (uint32_t i = 0; i < op->node.n_inputs; i++) {
    if (op->node.constants[i].content != NULL) out[i] = op->node.constants[i].tensor.desc;
    if (!op->comes_at_run[i]) continue;
    lk_status status = lk_bind_size_input(op, bind, i, NULL, error);
    if (status != LK_OK) return status;
    out[i] = bind->inputs[i].desc;
    if (i >= op->node.n_operands) continue;
    status = lk_op_types_add(&op->node.class_->row, &types, i, out[i].dtype, error);
    if (status != LK_OK) return status;
  }
  return LK_OK;
}

lk_status lk_deferred_build(const lk_op *op, const lk_bind_desc *bind, int32_t threads,
                            lk_plan_body **out_body, lk_error *error) {
  *out_body = NULL;
  lk_status status = LK_OK;
  lk_plan_body *body = NULL;
  LK_TRY(lk_plan_body_create(&op->executor->context->env, &op->node, bind->wishes, threads, &body,
                             error));
  LK_TRY(read_inputs(op, bind, body->inputs, error));
  LK_TRY(infer_outputs(op, bind, body->outputs, error));
  *out_body = body;
  body = NULL;
cleanup:
  lk_plan_body_destroy(body);
  return status;
}
