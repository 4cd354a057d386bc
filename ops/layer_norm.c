/* Norms over the last dimensions: LayerNormalization, RMSNormalization (ONNX), and what ONNX
 * Runtime fuses: SimplifiedLayerNormalization; SkipLayerNormalization and
 * SkipSimplifiedLayerNormalization (com.microsoft), which normalize the sum of two inputs. */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/work.h"

enum { NONE = -1 };

/* What tells the operators apart: which inputs and outputs they have. */
typedef struct layer_norm_form {
  bool is_centered, has_skip;
  int8_t scale, bias, added;   /* inputs; `added`: to input and skip */
  int8_t mean, deviation, sum; /* outputs */
} layer_norm_form;

enum { LAYER, RMS, SKIP, SKIP_RMS }; /* the class's variants */
static const layer_norm_form forms[] = {[LAYER] = {true, false, 1, 2, NONE, 1, 2, NONE},
                                        [RMS] = {false, false, 1, NONE, NONE, NONE, 1, NONE},
                                        [SKIP] = {true, true, 2, 3, 4, 1, 2, 3},
                                        [SKIP_RMS] = {false, true, 2, NONE, 3, 1, 2, 3}};

typedef struct layer_norm_params {
  const layer_norm_form *form;
  int64_t axis;
  float epsilon;
} layer_norm_params;

static void parse(lk_attrs *attrs, void *params) {
  layer_norm_params *self = params;
  self->form = &forms[attrs->class_->variant];
  self->axis = lk_attrs_lists(attrs, "axis") ? lk_attrs_int(attrs, "axis") : -1;
  self->epsilon = lk_attrs_float(attrs, "epsilon");
}

/* An input of the operator's, which must broadcast to input 0. */
static lk_status check_broadcast(lk_inference *self, int32_t input, const char *name,
                                 lk_error *error) {
  lk_tensor_desc together = {0};
  if (input == NONE || !lk_op_has(self->node, (uint32_t)input)) return LK_OK;
  const lk_tensor_desc *x = &self->inputs[0].desc, *other = &self->inputs[input].desc;
  if (!lk_shape_is_known(x) || !lk_shape_is_known(other)) return LK_OK;
  if (lk_broadcast_dims(NULL, x, other, &together, NULL) == LK_OK && lk_shape_equal(&together, x)) {
    return LK_OK;
  }
  char text[LK_TENSOR_TEXT_CAPACITY], x_text[LK_TENSOR_TEXT_CAPACITY];
  return lk_fail(error, LK_INVALID_ARGUMENT, "the %s is %s, it must broadcast to the input, %s",
                 name, lk_tensor_text(other, text), lk_tensor_text(x, x_text));
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const layer_norm_params *params = self->node->params;
  const layer_norm_form *form = params->form;
  const lk_tensor_desc *x = &self->inputs[0].desc;
  LK_RETURN_NOT_OK(lk_infer_same(self, error));
  LK_RETURN_NOT_OK(check_broadcast(self, form->has_skip ? 1 : NONE, "skip", error));
  LK_RETURN_NOT_OK(check_broadcast(self, form->scale, "scale", error));
  LK_RETURN_NOT_OK(check_broadcast(self, form->bias, "bias", error));
  LK_RETURN_NOT_OK(check_broadcast(self, form->added, "bias of the input", error));
  if (!lk_rank_is_known(x)) return LK_OK;
  uint32_t axis = 0;
  LK_RETURN_NOT_OK(lk_attr_axis(params->axis, x, &axis, error));
  for (uint32_t i = 1; i < self->node->n_outputs; i++) {
    lk_shape_of_input(self, i, 0);
    for (uint32_t d = axis; (int32_t)i != form->sum && d < x->rank; d++) {
      self->outputs[i].dims[d] = 1;
    }
  }
  return LK_OK;
}

/* Input + skip + bias, as output `sum` or in a temporary. */
static lk_status plan_sum(lk_planner *planner, const layer_norm_form *form, lk_operand *out,
                          lk_error *error) {
  const lk_op_node *node = planner->node;
  const uint32_t sum = (uint32_t)form->sum;
  lk_tensor_desc plain = planner->inputs[0].desc;
  lk_chain chain;
  plain.layout = LK_LAYOUT_PLAIN;
  LK_RETURN_NOT_OK(lk_planner_output_or_temp(planner, sum, &plain, out, error));
  lk_chain_begin_at(planner, out, &chain);
  LK_RETURN_NOT_OK(lk_chain_input(&chain, 0, &chain.value, error));
  LK_RETURN_NOT_OK(lk_chain_binary(&chain, LK_ELEMENT_ADD, 1, error));
  if (form->added != NONE && lk_op_has(node, (uint32_t)form->added)) {
    LK_RETURN_NOT_OK(lk_chain_binary(&chain, LK_ELEMENT_ADD, (uint32_t)form->added, error));
  }
  return lk_chain_step(&chain, error);
}

/* Output `index`, if the operator and the node have it. */
static void add_output(lk_task *task, lk_role role, int32_t index, const lk_planner *planner) {
  if (index == NONE || (uint32_t)index >= planner->node->n_outputs) return;
  lk_task_output(task, role, (uint32_t)index, &planner->outputs[index]);
}

static void add_input(lk_task *task, lk_role role, int32_t index, const lk_planner *planner) {
  if (index != NONE) lk_task_optional(task, role, planner->node, planner->inputs, (uint32_t)index);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const layer_norm_params *params = planner->node->params;
  const layer_norm_form *form = params->form;
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  lk_operand sum;
  lk_task task;
  lk_task_begin(&task, LK_WORK_LAYER_NORM);
  if (form->has_skip) {
    LK_RETURN_NOT_OK(plan_sum(planner, form, &sum, error));
    lk_task_operand(&task, LK_ROLE_SRC, &sum);
  } else {
    lk_task_input(&task, LK_ROLE_SRC, 0, x);
  }
  add_input(&task, LK_ROLE_SCALE, form->scale, planner);
  add_input(&task, LK_ROLE_SHIFT, form->bias, planner);
  add_output(&task, LK_ROLE_DST, 0, planner);
  add_output(&task, LK_ROLE_MEAN, form->mean, planner);
  add_output(&task, LK_ROLE_DEVIATION, form->deviation, planner);
  task.work.axes = ((1U << x->rank) - 1) & ~((1U << lk_axis(params->axis, x->rank)) - 1);
  task.work.epsilon = params->epsilon;
  task.work.is_centered = form->is_centered;
  return lk_plan_task(planner, &task, error);
}

#define LAYER_ATTRS                                                                                \
  LK_INT("axis", -1), LK_FLOAT("epsilon", 1e-5F), LK_INT("stash_type", 1, .is_unused = 1)
#define LAYER_ROW(name, domain_text, first, summary_text, inputs, most_inputs, outputs, letters,   \
                  which)                                                                           \
  LK_OP_ROW(name, domain_text, first, summary_text, .flags = LK_OP_WORTH_CLAIMING,                 \
            .min_inputs = inputs, .max_inputs = most_inputs, .max_outputs = outputs,               \
            .input_types = "T", .output_types = letters,                                           \
            .types = {LK_TYPES_FLOAT, sizeof(letters) > 2 ? LK_TYPES_F32 : LK_TYPES_ANY}),         \
      .by_f32 = true, .params_size = sizeof(layer_norm_params), .variant = which, .parse = parse,  \
      .infer = infer, .plan = plan

const lk_op_class lk_op_layer_normalization = {
    LAYER_ROW("LayerNormalization", "", 17, "(x - mean) / deviation over the last dimensions", 2, 3,
              3, "TUU", LAYER),
    LK_OP_ATTRS(LAYER_ATTRS),
};
const lk_op_class lk_op_rms_normalization = {
    LAYER_ROW("RMSNormalization", "", 23, "x / sqrt(mean of squares) over the last dimensions", 2,
              2, 1, "T", RMS),
    LK_OP_ATTRS(LAYER_ATTRS),
};
const lk_op_class lk_op_simplified_layer_normalization = {
    LAYER_ROW("SimplifiedLayerNormalization", "", 1, "RMSNormalization, as ONNX Runtime names it",
              2, 2, 2, "TU", RMS),
    LK_OP_ATTRS(LAYER_ATTRS),
};
const lk_op_class lk_op_skip_layer_normalization = {
    LAYER_ROW("SkipLayerNormalization", "com.microsoft", 1, "LayerNormalization of a sum", 3, 5, 4,
              "TUUT", SKIP),
    LK_OP_ATTRS(LK_FLOAT("epsilon", 1e-12F)),
};
const lk_op_class lk_op_skip_simplified_layer_normalization = {
    LAYER_ROW("SkipSimplifiedLayerNormalization", "com.microsoft", 1, "RMSNormalization of a sum",
              3, 4, 4, "TUUT", SKIP_RMS),
    LK_OP_ATTRS(LK_FLOAT("epsilon", 1e-12F)),
};
