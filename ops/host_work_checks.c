/* What the checks of hosts' works have in common: their sentences, and rules of several kinds. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/host_work.h"

/* ---- sentences ---- */

lk_status lk_host_refuse(const lk_host_work *self, lk_error *error, const char *format, ...) {
  lk_error why;
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(why.message, sizeof why.message, format, arguments);
  va_end(arguments);
  return lk_fail(error, LK_INTERNAL, "'work' describes work '%s': %s", self->name, why.message);
}

lk_status lk_host_refuse_as(const lk_host_work *self, const char *what, lk_status status,
                            const lk_error *why, lk_error *error) {
  return status == LK_OK ? LK_OK : lk_host_refuse(self, error, "%s%s", what, why->message);
}

lk_status lk_host_refuse_shape(const lk_host_work *self, lk_role role, const char *must,
                               lk_error *error) {
  char text[LK_TENSOR_TEXT_CAPACITY], other[LK_TENSOR_TEXT_CAPACITY];
  char name[LK_ROLE_TEXT_CAPACITY];
  return lk_host_refuse(self, error, "the tensor of %s is %s and the output %s, %s",
                        lk_host_role_text(self, role, name),
                        lk_tensor_text(&self->task.work.tensors[role], text),
                        lk_tensor_text(&self->task.work.tensors[LK_ROLE_DST], other), must);
}

const char *lk_host_role_text(const lk_host_work *self, uint32_t role,
                              char text[LK_ROLE_TEXT_CAPACITY]) {
  static const char *const names[LK_ROLES] = {
      [LK_ROLE_SRC] = "LK_ROLE_SRC",     [LK_ROLE_WEIGHTS] = "LK_ROLE_WEIGHTS",
      [LK_ROLE_BIAS] = "LK_ROLE_BIAS",   [LK_ROLE_DST] = "LK_ROLE_DST",
      [LK_ROLE_SCALE] = "LK_ROLE_SCALE", [LK_ROLE_SHIFT] = "LK_ROLE_SHIFT",
      [LK_ROLE_MEAN] = "LK_ROLE_MEAN",   [LK_ROLE_DEVIATION] = "LK_ROLE_DEVIATION"};
  if (role == LK_ROLE_VARIANCE && self->given->work.kind == LK_WORK_BATCH_NORM) {
    return "LK_ROLE_VARIANCE";
  }
  if (role < LK_ROLES && names[role] != NULL) return names[role];
  if (role >= LK_ROLE_OPERAND && role < LK_ROLES) {
    (void)snprintf(text, LK_ROLE_TEXT_CAPACITY, "LK_ROLE_OPERAND + %" PRIu32,
                   role - LK_ROLE_OPERAND);
  } else {
    (void)snprintf(text, LK_ROLE_TEXT_CAPACITY, "role %" PRIu32, role);
  }
  return text;
}

/* ---- rules ---- */

lk_status lk_host_check_same(const lk_host_work *self, lk_error *error) {
  const lk_tensor_desc *tensors = self->task.work.tensors;
  if (lk_shape_equal(&tensors[LK_ROLE_SRC], &tensors[LK_ROLE_DST])) return LK_OK;
  return lk_host_refuse_shape(self, LK_ROLE_SRC, "they must have one shape", error);
}

lk_status lk_host_check_broadcast(const lk_host_work *self, lk_role role, lk_error *error) {
  const lk_work *work = &self->task.work;
  const lk_tensor_desc *dst = &work->tensors[LK_ROLE_DST];
  lk_tensor_desc together = {0};
  if (!lk_work_has(work, role) ||
      (lk_broadcast_dims(NULL, dst, &work->tensors[role], &together, NULL) == LK_OK &&
       lk_shape_equal(&together, dst))) {
    return LK_OK;
  }
  return lk_host_refuse_shape(self, role, "to which it must broadcast", error);
}

lk_status lk_host_check_made(const lk_host_work *self, const char *what, const lk_tensor_desc *made,
                             lk_error *error) {
  const lk_tensor_desc *dst = &self->task.work.tensors[LK_ROLE_DST];
  char text[LK_TENSOR_TEXT_CAPACITY], other[LK_TENSOR_TEXT_CAPACITY];
  if (lk_shape_equal(made, dst)) return LK_OK;
  return lk_host_refuse(self, error, "the %s is %s and the output %s, they must be equal", what,
                        lk_tensor_text(made, text), lk_tensor_text(dst, other));
}

lk_status lk_host_check_number(const lk_host_work *self, const char *field, int64_t value,
                               int64_t least, int64_t most, lk_error *error) {
  if (value >= least && value <= most) return LK_OK;
  return lk_host_refuse(self, error, "%s is %" PRId64 ", %" PRId64 " to %" PRId64 " are allowed",
                        field, value, least, most);
}

lk_status lk_host_check_finite(const lk_host_work *self, const char *field, double value,
                               lk_error *error) {
  if (isfinite(value)) return LK_OK;
  return lk_host_refuse(self, error, "%s is %g, a finite number is required", field, value);
}
