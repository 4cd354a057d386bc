/* Works that a host describes for its own operators. Kernels trust a work; so all that it says is
 * checked here, and its tensors are described by the library. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/status.h"
#include "base/tensor.h"
#include "ops/host_operator.h"
#include "ops/kernel/host.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/matmul_shape.h"
#include "ops/plan/work.h"

/* What a host may ask for. */
typedef struct work_form {
  uint32_t kind;
  const char *name;
  uint32_t required, optional; /* roles; operands of element-wise works are counted apart */
  bool by_f32;                 /* as lk_op_class has it */
} work_form;

#define ROLE(role) (1U << LK_ROLE_##role)
static const work_form forms[] = {
    {LK_WORK_ELEMENT, "element", ROLE(SRC) | ROLE(DST), 0, false},
    {LK_WORK_SOFTMAX, "softmax", ROLE(SRC) | ROLE(DST), 0, true},
    {LK_WORK_LOG_SOFTMAX, "log_softmax", ROLE(SRC) | ROLE(DST), 0, true},
    {LK_WORK_HARDMAX, "hardmax", ROLE(SRC) | ROLE(DST), 0, false},
    {LK_WORK_LAYER_NORM, "layer_norm", ROLE(SRC) | ROLE(DST), ROLE(SCALE) | ROLE(SHIFT), true},
    {LK_WORK_PRODUCT, "product", ROLE(SRC) | ROLE(WEIGHTS) | ROLE(DST), 0, true},
};

/* A work while it is checked. */
typedef struct asked_work {
  const lk_planner *planner;
  const work_form *form;
  const lk_operator_work *given;
  lk_task task;
} asked_work;

__attribute__((format(printf, 3, 4))) static lk_status
refuse(const asked_work *self, lk_error *error, const char *format, ...) {
  lk_error why;
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(why.message, sizeof why.message, format, arguments);
  va_end(arguments);
  return lk_fail(error, LK_INTERNAL, "'work' describes work '%s': %s", self->form->name,
                 why.message);
}

/* ---- tensors ---- */

#define ROLE_TEXT_CAPACITY 32

/* As engine.h spells the roles that hosts' works have; of another one the number. */
static const char *role_text(uint32_t role, char text[ROLE_TEXT_CAPACITY]) {
  static const char *const names[LK_ROLES] = {
      [LK_ROLE_SRC] = "LK_ROLE_SRC",     [LK_ROLE_WEIGHTS] = "LK_ROLE_WEIGHTS",
      [LK_ROLE_BIAS] = "LK_ROLE_BIAS",   [LK_ROLE_DST] = "LK_ROLE_DST",
      [LK_ROLE_SCALE] = "LK_ROLE_SCALE", [LK_ROLE_SHIFT] = "LK_ROLE_SHIFT"};
  if (role < LK_ROLES && names[role] != NULL) return names[role];
  if (role >= LK_ROLE_OPERAND && role < LK_ROLES) {
    (void)snprintf(text, ROLE_TEXT_CAPACITY, "LK_ROLE_OPERAND + %" PRIu32, role - LK_ROLE_OPERAND);
  } else {
    (void)snprintf(text, ROLE_TEXT_CAPACITY, "role %" PRIu32, role);
  }
  return text;
}

static uint32_t count_operands(const lk_work *work) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < work->n_post_ops; i++) count += work->post_ops[i].operand != 0;
  return count;
}

static lk_status check_roles(const asked_work *self, lk_error *error) {
  const lk_work *work = &self->given->work;
  const bool has_operands = work->kind == LK_WORK_ELEMENT;
  if (work->n_post_ops > (has_operands ? LK_WORK_POST_OPS : 0)) {
    return refuse(self, error, "it has %" PRIu32 " post-ops, at most %d are allowed",
                  work->n_post_ops, has_operands ? LK_WORK_POST_OPS : 0);
  }
  if (has_operands && work->n_post_ops == 0) {
    return refuse(self, error, "it has no functions, at least one is required");
  }
  const uint32_t count = has_operands ? count_operands(work) : 0;
  if (count > LK_WORK_OPERANDS) {
    return refuse(self, error, "it has %" PRIu32 " operands, at most %d are allowed", count,
                  LK_WORK_OPERANDS);
  }
  const uint32_t required = self->form->required | ((1U << count) - 1) << LK_ROLE_OPERAND;
  const uint32_t optional = work->roles & self->form->optional;
  const uint32_t wrong = work->roles ^ (required | optional);
  if (wrong == 0) return LK_OK;
  char text[ROLE_TEXT_CAPACITY];
  const uint32_t role = (uint32_t)__builtin_ctz(wrong);
  return refuse(self, error, "its roles are 0x%" PRIx32 ", bit %" PRIu32 ", %s, must%s be there%s",
                work->roles, role, role_text(role, text), (required >> role & 1) != 0 ? "" : " not",
                role >= LK_ROLE_OPERAND && role < LK_ROLES
                    ? ": each function that has an operand has one of its own"
                    : "");
}

/* Which input a role must be; -1: any. */
static int64_t fixed_input(const asked_work *self, uint32_t role) {
  if (self->form->kind == LK_WORK_ELEMENT) return -1;
  return role == LK_ROLE_SRC ? 0 : role == LK_ROLE_WEIGHTS ? 1 : -1;
}

static lk_status check_tensors(const asked_work *self, lk_error *error) {
  const lk_op_node *node = self->planner->node;
  const uint32_t dtype = self->planner->outputs[0].dtype;
  if (node->n_outputs != 1) {
    return refuse(self, error, "the node has %" PRIu32 " outputs, a work has one", node->n_outputs);
  }
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (role == LK_ROLE_DST || !lk_work_has(&self->given->work, (lk_role)role)) continue;
    const uint32_t input = self->given->inputs[role];
    const int64_t fixed = fixed_input(self, role);
    char text[ROLE_TEXT_CAPACITY];
    if (fixed >= 0 && input != fixed) {
      return refuse(self, error, "inputs[%s] is %" PRIu32 ", %" PRId64 " is required",
                    role_text(role, text), input, fixed);
    }
    if (!lk_op_has(node, input)) {
      return refuse(self, error, "inputs[%s] is %" PRIu32 ", which the node does not have",
                    role_text(role, text), input);
    }
    const uint32_t other = self->planner->inputs[input].desc.dtype;
    if (other == dtype) continue;
    return refuse(self, error,
                  "input %" PRIu32 " is of type %s and the output of %s, they must be equal", input,
                  lk_dtype_name(other), lk_dtype_name(dtype));
  }
  if ((LK_TYPE(dtype) & LK_TYPES_FLOAT) != 0) return LK_OK;
  return refuse(self, error, "its tensors are of type %s, floating-point numbers are supported",
                lk_dtype_name(dtype));
}

static void add_tensors(asked_work *self) {
  lk_task_begin(&self->task, (lk_work_kind)self->form->kind);
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    const uint32_t input = self->given->inputs[role];
    if (!lk_work_has(&self->given->work, (lk_role)role)) continue;
    if (role == LK_ROLE_DST) {
      lk_task_output(&self->task, LK_ROLE_DST, 0, &self->planner->outputs[0]);
    } else {
      lk_task_input(&self->task, (lk_role)role, input, &self->planner->inputs[input].desc);
    }
  }
}

/* ---- shapes ---- */

static lk_status refuse_shape(const asked_work *self, lk_role role, const char *must,
                              lk_error *error) {
  char text[LK_TENSOR_TEXT_CAPACITY], other[LK_TENSOR_TEXT_CAPACITY];
  char name[ROLE_TEXT_CAPACITY];
  return refuse(self, error, "the tensor of %s is %s and the output %s, %s", role_text(role, name),
                lk_tensor_text(&self->task.work.tensors[role], text),
                lk_tensor_text(&self->task.work.tensors[LK_ROLE_DST], other), must);
}

static lk_status check_broadcast(const asked_work *self, lk_role role, lk_error *error) {
  const lk_work *work = &self->task.work;
  const lk_tensor_desc *dst = &work->tensors[LK_ROLE_DST];
  lk_tensor_desc together = {0};
  if (!lk_work_has(work, role) ||
      (lk_broadcast_dims(NULL, dst, &work->tensors[role], &together, NULL) == LK_OK &&
       lk_shape_equal(&together, dst))) {
    return LK_OK;
  }
  return refuse_shape(self, role, "to which it must broadcast", error);
}

static lk_status check_same(const asked_work *self, lk_error *error) {
  const lk_tensor_desc *tensors = self->task.work.tensors;
  if (lk_shape_equal(&tensors[LK_ROLE_SRC], &tensors[LK_ROLE_DST])) return LK_OK;
  return refuse_shape(self, LK_ROLE_SRC, "they must have one shape", error);
}

/* Neighbours, and with `to_the_last` the last ones. */
static lk_status take_axes(asked_work *self, bool to_the_last, lk_error *error) {
  const uint32_t rank = self->task.work.tensors[LK_ROLE_SRC].rank;
  const uint32_t axes = self->given->work.axes, all = (1U << rank) - 1;
  const uint32_t lowest = axes & (~axes + 1);
  const bool are_neighbours = axes != 0 && (axes & ~all) == 0 && ((axes + lowest) & axes) == 0;
  if (!are_neighbours || (to_the_last && axes + lowest != all + 1)) {
    return refuse(self, error,
                  "axes are 0x%" PRIx32 ", %s dimensions of a tensor of rank %" PRIu32
                  " are required",
                  axes, to_the_last ? "the last" : "neighbouring", rank);
  }
  self->task.work.axes = axes;
  return LK_OK;
}

/* ---- kinds ---- */

/* Makes a number of numbers; with `*out_has_two`, of two. */
static bool is_function(uint32_t kind, bool *out_has_two) {
  *out_has_two = LK_POST_OP_IS_BINARY(kind) || kind >= LK_FUNCTION_MIN;
  switch (kind) {
  case LK_FUNCTION_NOT:
  case LK_FUNCTION_BIT_NOT:
  case LK_FUNCTION_IS_NAN:
  case LK_FUNCTION_IS_INF:
  case LK_FUNCTION_MOD:
  case LK_FUNCTION_EQUAL:
  case LK_FUNCTION_LESS:
  case LK_FUNCTION_LESS_EQUAL:
  case LK_FUNCTION_AND:
  case LK_FUNCTION_OR:
  case LK_FUNCTION_XOR:
  case LK_FUNCTION_SHIFT_LEFT:
  case LK_FUNCTION_SHIFT_RIGHT:
    return false;
  default:
    return lk_function_name(kind) != NULL;
  }
}

static lk_status take_element(asked_work *self, lk_error *error) {
  const lk_work *given = &self->given->work;
  uint32_t next = LK_ROLE_OPERAND;
  LK_RETURN_NOT_OK(check_broadcast(self, LK_ROLE_SRC, error));
  for (uint32_t i = 0; i < given->n_post_ops; i++) {
    const lk_work_post_op *of = &given->post_ops[i];
    bool has_two = false;
    if (!is_function(of->kind, &has_two)) {
      return refuse(self, error,
                    "function %" PRIu32 " is of kind %" PRIu32
                    ", those that make real numbers of real numbers are supported",
                    i, of->kind);
    }
    if (isnan(of->alpha) || isnan(of->beta)) {
      return refuse(self, error,
                    "function %" PRIu32 " (%s) has alpha %g and beta %g, no NaN may "
                    "be there",
                    i, lk_function_name(of->kind), (double)of->alpha, (double)of->beta);
    }
    if (of->operand != 0 && (!has_two || of->operand != next)) {
      char text[ROLE_TEXT_CAPACITY], right[ROLE_TEXT_CAPACITY];
      return refuse(self, error, "function %" PRIu32 " (%s) has the operand %s, %s is required", i,
                    lk_function_name(of->kind), role_text(of->operand, text),
                    has_two ? role_text(next, right) : "it takes none: 0");
    }
    if (of->operand != 0) LK_RETURN_NOT_OK(check_broadcast(self, (lk_role)next++, error));
    *lk_task_apply(&self->task, of->kind, of->alpha, of->beta) = *of;
  }
  return LK_OK;
}

static lk_status take_norm(asked_work *self, lk_error *error) {
  const lk_work *given = &self->given->work;
  LK_RETURN_NOT_OK(check_same(self, error));
  LK_RETURN_NOT_OK(take_axes(self, true, error));
  LK_RETURN_NOT_OK(check_broadcast(self, LK_ROLE_SCALE, error));
  LK_RETURN_NOT_OK(check_broadcast(self, LK_ROLE_SHIFT, error));
  if (!(given->epsilon >= 0) || isinf(given->epsilon) || given->is_centered > 1) {
    return refuse(self, error,
                  "epsilon is %g and is_centered %" PRIu32
                  ", a finite number from 0 on and 0 or 1 are allowed",
                  (double)given->epsilon, given->is_centered);
  }
  self->task.work.epsilon = given->epsilon;
  self->task.work.is_centered = given->is_centered;
  return LK_OK;
}

static lk_status take_product(asked_work *self, lk_error *error) {
  const lk_planner *planner = self->planner;
  const lk_matmul_order *orders = self->given->work.orders;
  lk_tensor_desc made = {.dtype = planner->outputs[0].dtype};
  lk_inference of = {.node = planner->node, .inputs = planner->inputs, .outputs = &made};
  for (uint32_t i = 0; i < 2; i++) {
    if (orders[i].swaps <= 1 && orders[i].batch_inside <= 1) continue;
    return refuse(self, error, "orders[%" PRIu32 "] has %u and %u, 0 and 1 are allowed", i,
                  orders[i].swaps, orders[i].batch_inside);
  }
  LK_RETURN_NOT_OK(lk_infer_matmul_ordered(&of, orders, error));
  if (!lk_shape_equal(&made, &planner->outputs[0])) {
    char text[LK_TENSOR_TEXT_CAPACITY], other[LK_TENSOR_TEXT_CAPACITY];
    return refuse(self, error, "the product is %s and the output %s, they must be equal",
                  lk_tensor_text(&made, text), lk_tensor_text(&planner->outputs[0], other));
  }
  memcpy(self->task.work.orders, orders, sizeof self->task.work.orders);
  return LK_OK;
}

static lk_status take(asked_work *self, lk_error *error) {
  switch (self->form->kind) {
  case LK_WORK_ELEMENT:
    return take_element(self, error);
  case LK_WORK_LAYER_NORM:
    return take_norm(self, error);
  case LK_WORK_PRODUCT:
    return take_product(self, error);
  default:
    LK_RETURN_NOT_OK(check_same(self, error));
    return take_axes(self, false, error);
  }
}

/* ---- the plan ---- */

static const work_form *find_form(uint32_t kind) {
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    if (forms[i].kind == kind) return &forms[i];
  }
  return NULL;
}

static lk_status ask(const lk_planner *planner, lk_operator_work *out, lk_error *error) {
  const lk_operator *op = &lk_host_class_of(planner->node)->op;
  const lk_host_found *found = planner->found;
  lk_host_found copy = *found; /* the host gets what it may change */
  lk_tensor_desc outputs[LK_OPERATOR_MOST_TENSORS];
  lk_host_node asked;
  memcpy(outputs, planner->outputs, planner->node->n_outputs * sizeof *outputs);
  const lk_operator_shapes shapes = {.struct_size = sizeof shapes,
                                     .outputs = outputs,
                                     .scratch_bytes = found->scratch_bytes,
                                     .params_bytes = found->params_bytes,
                                     .params = (unsigned char *)copy.params};
  lk_error said;
  said.message[0] = '\0';
  lk_host_node_describe(planner->node, planner->inputs, &asked);
  *out = (lk_operator_work){.struct_size = sizeof *out};
  const lk_status status = op->work(op->user, &asked.node, &shapes, out, &said);
  return lk_host_status(op, "work", status, &said, error);
}

lk_status lk_host_plan_work(lk_planner *planner, lk_error *error) {
  lk_operator_work given;
  asked_work self = {.planner = planner, .given = &given};
  LK_RETURN_NOT_OK(ask(planner, &given, error));
  self.form = find_form(given.work.kind);
  if (self.form == NULL) {
    return lk_fail(error, LK_INTERNAL,
                   "'work' describes a work of kind %" PRIu32
                   ", those that latchkey/operator.h lists are supported",
                   given.work.kind);
  }
  LK_RETURN_NOT_OK(check_roles(&self, error));
  LK_RETURN_NOT_OK(check_tensors(&self, error));
  if (self.form->by_f32) LK_RETURN_NOT_OK(lk_planner_widen(planner, error));
  add_tensors(&self);
  LK_RETURN_NOT_OK(take(&self, error));
  if (self.form->kind == LK_WORK_PRODUCT && lk_elements(&planner->inputs[0].desc) == 0) {
    return lk_plan_sum_of_nothing(planner, -1, error);
  }
  return lk_plan_task(planner, &self.task, error);
}
