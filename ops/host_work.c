/* Works that a host describes for its own operators. Kernels trust a work; so all that it says is
 * checked, and its tensors are described by the library. Fields are checked kind by kind, in other
 * files. */
#include "ops/host_work.h"

#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/host.h"

/* What a host may ask for. */
typedef struct work_form {
  uint32_t kind;
  const char *name;
  uint32_t required, optional; /* roles; operands of element-wise works are counted apart */
  uint32_t types;              /* which its tensors may be of, all of one */
  bool by_f32;                 /* as lk_op_class has it */
  lk_host_take_fn *take;
  lk_host_plan_fn *plan; /* NULL: its steps are those of its task */
} work_form;

#define ROLE(role) (1U << LK_ROLE_##role)
#define ENDS (ROLE(SRC) | ROLE(DST))
#define REAL LK_TYPES_FLOAT
#define BY_F32 LK_TYPES_BY_F32
static const work_form forms[] = {
    {LK_WORK_ELEMENT, "element", ENDS, 0, REAL, false, lk_host_take_element, NULL},
    {LK_WORK_SOFTMAX, "softmax", ENDS, 0, REAL, true, lk_host_take_softmax, NULL},
    {LK_WORK_LOG_SOFTMAX, "log_softmax", ENDS, 0, REAL, true, lk_host_take_softmax, NULL},
    {LK_WORK_HARDMAX, "hardmax", ENDS, 0, REAL, false, lk_host_take_softmax, NULL},
    {LK_WORK_LAYER_NORM, "layer_norm", ENDS, ROLE(SCALE) | ROLE(SHIFT), REAL, true,
     lk_host_take_layer_norm, NULL},
    {LK_WORK_GROUP_NORM, "group_norm", ENDS | ROLE(SCALE) | ROLE(SHIFT), 0, BY_F32, true,
     lk_host_take_group_norm, NULL},
    {LK_WORK_BATCH_NORM, "batch_norm",
     ENDS | ROLE(SCALE) | ROLE(SHIFT) | ROLE(MEAN) | ROLE(VARIANCE), 0, REAL, true,
     lk_host_take_batch_norm, NULL},
    {LK_WORK_LRN, "lrn", ENDS, 0, BY_F32, true, lk_host_take_lrn, NULL},
    {LK_WORK_PRODUCT, "product", ENDS | ROLE(WEIGHTS), 0, REAL, true, lk_host_take_product,
     lk_host_plan_sums},
    {LK_WORK_REDUCE, "reduce", ENDS, 0, REAL, false, lk_host_take_reduce, lk_host_plan_reduce},
    {LK_WORK_CONV, "conv", ENDS | ROLE(WEIGHTS), ROLE(BIAS), BY_F32, true, lk_host_take_conv,
     lk_host_plan_sums},
    {LK_WORK_CONV_TRANSPOSED, "conv_transposed", ENDS | ROLE(WEIGHTS), ROLE(BIAS), BY_F32, true,
     lk_host_take_conv, lk_host_plan_sums},
    {LK_WORK_POOL, "pool", ENDS, 0, REAL, true, lk_host_take_pool, lk_host_plan_pool},
    {LK_WORK_RESIZE, "resize", ENDS, 0, REAL, false, lk_host_take_resize, lk_host_plan_resize},
};

/* ---- tensors ---- */

static uint32_t count_operands(const lk_work *work) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < work->n_post_ops; i++) count += work->post_ops[i].operand != 0;
  return count;
}

static lk_status check_roles(const lk_host_work *self, const work_form *form, lk_error *error) {
  const lk_work *work = &self->given->work;
  const bool has_operands = work->kind == LK_WORK_ELEMENT;
  if (work->n_post_ops > (has_operands ? LK_WORK_POST_OPS : 0)) {
    return lk_host_refuse(self, error, "it has %" PRIu32 " post-ops, at most %d are allowed",
                          work->n_post_ops, has_operands ? LK_WORK_POST_OPS : 0);
  }
  if (has_operands && work->n_post_ops == 0) {
    return lk_host_refuse(self, error, "it has no functions, at least one is required");
  }
  const uint32_t count = has_operands ? count_operands(work) : 0;
  if (count > LK_WORK_OPERANDS) {
    return lk_host_refuse(self, error, "it has %" PRIu32 " operands, at most %d are allowed", count,
                          LK_WORK_OPERANDS);
  }
  const uint32_t required = form->required | ((1U << count) - 1) << LK_ROLE_OPERAND;
  const uint32_t optional = work->roles & form->optional;
  const uint32_t wrong = work->roles ^ (required | optional);
  if (wrong == 0) return LK_OK;
  char text[LK_ROLE_TEXT_CAPACITY];
  const uint32_t role = (uint32_t)__builtin_ctz(wrong);
  return lk_host_refuse(self, error,
                        "its roles are 0x%" PRIx32 ", bit %" PRIu32 ", %s, must%s be there%s",
                        work->roles, role, lk_host_role_text(self, role, text),
                        (required >> role & 1) != 0 ? "" : " not",
                        role >= LK_ROLE_OPERAND && role < LK_ROLES
                            ? ": each function that has an operand has one of its own"
                            : "");
}

/* Which input a role must be; -1: any. */
static int64_t fixed_input(const lk_host_work *self, uint32_t role) {
  if (self->given->work.kind == LK_WORK_ELEMENT) return -1;
  return role == LK_ROLE_SRC ? 0 : role == LK_ROLE_WEIGHTS ? 1 : -1;
}

static lk_status check_tensors(const lk_host_work *self, const work_form *form, lk_error *error) {
  const lk_op_node *node = self->planner->node;
  const uint32_t dtype = self->planner->outputs[0].dtype;
  if (node->n_outputs != 1) {
    return lk_host_refuse(self, error, "the node has %" PRIu32 " outputs, a work has one",
                          node->n_outputs);
  }
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (role == LK_ROLE_DST || !lk_work_has(&self->given->work, (lk_role)role)) continue;
    const uint32_t input = self->given->inputs[role];
    const int64_t fixed = fixed_input(self, role);
    char text[LK_ROLE_TEXT_CAPACITY];
    if (fixed >= 0 && input != fixed) {
      return lk_host_refuse(self, error, "inputs[%s] is %" PRIu32 ", %" PRId64 " is required",
                            lk_host_role_text(self, role, text), input, fixed);
    }
    if (!lk_op_has(node, input)) {
      return lk_host_refuse(self, error, "inputs[%s] is %" PRIu32 ", which the node does not have",
                            lk_host_role_text(self, role, text), input);
    }
    const uint32_t other = self->planner->inputs[input].desc.dtype;
    if (other == dtype) continue;
    return lk_host_refuse(
        self, error, "input %" PRIu32 " is of type %s and the output of %s, they must be equal",
        input, lk_dtype_name(other), lk_dtype_name(dtype));
  }
  if ((LK_TYPE(dtype) & form->types) != 0) return LK_OK;
  char types[64];
  lk_dtypes_text(form->types, types, sizeof types);
  return lk_host_refuse(self, error, "its tensors are of type %s, %s are supported",
                        lk_dtype_name(dtype), types);
}

static void add_tensors(lk_host_work *self) {
  lk_task_begin(&self->task, (lk_work_kind)self->given->work.kind);
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
  lk_host_work self = {.planner = planner, .given = &given};
  LK_RETURN_NOT_OK(ask(planner, &given, error));
  const work_form *form = find_form(given.work.kind);
  if (form == NULL) {
    return lk_fail(error, LK_INTERNAL,
                   "'work' describes a work of kind %" PRIu32
                   ", those that latchkey/operator.h lists are supported",
                   given.work.kind);
  }
  self.name = form->name;
  LK_RETURN_NOT_OK(check_roles(&self, form, error));
  LK_RETURN_NOT_OK(check_tensors(&self, form, error));
  if (form->by_f32) LK_RETURN_NOT_OK(lk_planner_widen(planner, error));
  add_tensors(&self);
  LK_RETURN_NOT_OK(form->take(&self, error));
  return form->plan != NULL ? form->plan(&self, error) : lk_plan_task(planner, &self.task, error);
}
