/* The operators that a host has registered: copies, checked once, so that rows can be trusted. */
#include "ops/host_operators.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/attrs.h"
#include "base/bump.h"
#include "base/given.h"
#include "base/status.h"
#include "base/tensor.h"
#include "ops/host_operator.h"

enum { MOST_NAME = 60, MOST_ATTRS = 256, CHUNK = 4096 };

struct lk_host_operators {
  const lk_allocator *allocator;
  lk_bump memory; /* of the classes, their texts and lists */
  uint32_t count;
  lk_host_class *classes[LK_MAX_HOST_OPERATORS];
};

lk_status lk_host_operators_create(const lk_allocator *allocator, lk_host_operators **out_operators,
                                   lk_error *error) {
  lk_host_operators *made = lk_calloc(allocator, 1, sizeof *made);
  *out_operators = made;
  if (made == NULL) return lk_fail_memory(error, "operators of the host", sizeof *made);
  made->allocator = allocator;
  made->memory = lk_bump_begin(allocator, NULL, 0, CHUNK);
  return LK_OK;
}

void lk_host_operators_destroy(lk_host_operators *operators) {
  if (operators == NULL) return;
  for (uint32_t i = 0; i < operators->count; i++) {
    const lk_operator *op = &operators->classes[i]->op;
    if (op->close != NULL) op->close(op->user);
  }
  lk_bump_end(&operators->memory);
  lk_free(operators->allocator, operators);
}

/* ---- which there are ---- */

static bool has_name(const lk_host_class *class_, const char *op_type, const char *domain) {
  return strcmp(class_->op.op_type, op_type) == 0 && strcmp(class_->op.domain, domain) == 0;
}

const lk_op_class *lk_host_operators_find(const lk_host_operators *operators, const char *op_type,
                                          const char *domain, int32_t opset) {
  const lk_host_class *found = NULL;
  for (uint32_t i = 0; operators != NULL && i < operators->count; i++) {
    const lk_host_class *each = operators->classes[i];
    if (each->op.since > opset || !has_name(each, op_type, domain)) continue;
    if (found == NULL || each->op.since > found->op.since) found = each;
  }
  return found != NULL ? &found->class_ : NULL;
}

int32_t lk_host_operators_since(const lk_host_operators *operators, const char *op_type,
                                const char *domain) {
  int32_t since = 0;
  for (uint32_t i = 0; operators != NULL && i < operators->count; i++) {
    const lk_host_class *each = operators->classes[i];
    if (!has_name(each, op_type, domain)) continue;
    if (since == 0 || each->op.since < since) since = each->op.since;
  }
  return since;
}

/* ---- what is refused ---- */

/* The domain, in sentences. */
static const char *shown(const lk_operator *op) {
  return op->domain[0] != '\0' ? op->domain : "ai.onnx";
}

/* Part of keys and sentences, of which some have room for so much. */
static bool is_name(const char *name) {
  return lk_is_name(name, MOST_NAME, "_.:-");
}

static lk_status check_name(const lk_host_operators *operators, const lk_operator *op,
                            lk_error *error) {
  if (!is_name(op->op_type) || (op->domain[0] != '\0' && !is_name(op->domain))) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to register an operator: its name is '%.64s' of domain '%.64s', 1 to %d "
                   "letters, digits, '_', '.', ':' and '-' are allowed for each",
                   op->op_type != NULL ? op->op_type : "NULL", op->domain, MOST_NAME);
  }
  const int32_t most = op->domain[0] == '\0' ? LK_MAX_OPSET : INT32_MAX;
  if (op->since < 1 || op->since > most) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to register operator %s of %s: it holds since opset %" PRId32
                   ", 1 to %" PRId32 " is allowed",
                   op->op_type, shown(op), op->since, most);
  }
  for (uint32_t i = 0; i < operators->count; i++) {
    const lk_host_class *each = operators->classes[i];
    if (!has_name(each, op->op_type, op->domain) || each->op.since != op->since) continue;
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to register operator %s of %s: there is one since opset %" PRId32
                   " already, another one must begin with another opset",
                   op->op_type, shown(op), op->since);
  }
  return LK_OK;
}

/* Letters, of those of a row. */
static bool are_letters(const char *letters) {
  if (letters == NULL || letters[0] == '\0' || strlen(letters) > LK_OPERATOR_MOST_TENSORS) {
    return false;
  }
  return strspn(letters, "TUVW?") == strlen(letters);
}

static lk_status refuse(const lk_operator *op, const char *why, lk_error *error) {
  return lk_fail(error, LK_INVALID_ARGUMENT, "failed to register operator %s of %s: %s",
                 op->op_type, shown(op), why);
}

static lk_status check_types(const lk_operator *op, lk_error *error) {
  if ((op->max_inputs > 0 && !are_letters(op->input_types)) || !are_letters(op->output_types)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to register operator %s of %s: input_types is '%.64s' and output_types "
                   "'%.64s', letters from T to W and '?' are required",
                   op->op_type, shown(op), op->input_types != NULL ? op->input_types : "NULL",
                   op->output_types != NULL ? op->output_types : "NULL");
  }
  for (uint32_t group = 0; group < LK_MAX_TYPE_GROUPS; group++) {
    for (uint32_t dtype = 0; dtype < 32; dtype++) {
      if ((op->types[group] >> dtype & 1) == 0 || lk_dtype_size(dtype) > 0) continue;
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to register operator %s of %s: types[%" PRIu32 "] has bit %" PRIu32
                     ", those of lk_dtype are allowed",
                     op->op_type, shown(op), group, dtype);
    }
  }
  return LK_OK;
}

static lk_status check_counts(const lk_operator *op, lk_error *error) {
  if (op->min_inputs > op->max_inputs || op->max_inputs > LK_OPERATOR_MOST_TENSORS ||
      op->max_outputs < 1 || op->max_outputs > LK_OPERATOR_MOST_TENSORS) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to register operator %s of %s: it has %" PRIu32 " to %" PRIu32
                   " inputs and up to %" PRIu32
                   " outputs, at most %d are allowed, and an output is required",
                   op->op_type, shown(op), op->min_inputs, op->max_inputs, op->max_outputs,
                   LK_OPERATOR_MOST_TENSORS);
  }
  const uint64_t behind = op->max_inputs < 64 ? op->shape_inputs >> op->max_inputs : 0;
  if (behind == 0) return LK_OK;
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to register operator %s of %s: shape_inputs is 0x%" PRIx64
                 " and max_inputs %" PRIu32 ", a bit for each input is allowed",
                 op->op_type, shown(op), op->shape_inputs, op->max_inputs);
}

/* What base/attrs.h relies on. */
static lk_status check_attr(const lk_operator *op, const lk_op_attr *attr, lk_error *error) {
  if (!is_name(attr->name)) {
    return refuse(
        op, "an attribute has no name, letters, digits, '_', '.', ':' and '-' are required", error);
  }
  const char *why = NULL;
  if (attr->type < LK_ATTR_INTS || attr->type > LK_ATTR_STRINGS) {
    why = "its type must be ints, floats, a string, tensors or strings";
  } else if (attr->since < 0 || attr->until < 0) {
    why = "since and until must be opsets, or 0";
  } else if (attr->until != 0 && attr->until < attr->since) {
    why = "it ends before it begins";
  } else if (lk_op_attr_is_flag(attr) && attr->is_list != 0) {
    why = "a flag, which is an integer with texts, must be no list";
  } else if (attr->n_integers > 0 && attr->integers == NULL) {
    why = "integers is NULL, but its count is not 0";
  }
  if (why == NULL) return LK_OK;
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to register operator %s of %s: attribute %s: %s", op->op_type, shown(op),
                 attr->name, why);
}

static lk_status check_attrs(const lk_operator *op, lk_error *error) {
  if (op->n_attrs > MOST_ATTRS || (op->n_attrs > 0 && op->attrs == NULL)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to register operator %s of %s: it has %" PRIu32
                   " attributes%s, at most %d are allowed",
                   op->op_type, shown(op), op->n_attrs, op->attrs == NULL ? ", at NULL" : "",
                   MOST_ATTRS);
  }
  for (uint32_t i = 0; i < op->n_attrs; i++) {
    LK_RETURN_NOT_OK(check_attr(op, &op->attrs[i], error));
  }
  return LK_OK;
}

static lk_status check(const lk_host_operators *operators, const lk_operator *op, lk_error *error) {
  const uint32_t known = LK_OPERATOR_RANDOM | LK_OPERATOR_INFERS_OPEN;
  LK_RETURN_NOT_OK(check_name(operators, op, error));
  if (operators->count == LK_MAX_HOST_OPERATORS) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to register operator %s of %s: the context has %d, more are not "
                   "supported",
                   op->op_type, shown(op), LK_MAX_HOST_OPERATORS);
  }
  if ((op->flags & ~known) != 0) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to register operator %s of %s: flags are 0x%" PRIx32
                   ", those of lk_operator_flags are allowed",
                   op->op_type, shown(op), op->flags);
  }
  if (op->infer == NULL) return refuse(op, "infer is NULL, it is required", error);
  if ((op->work == NULL) == (op->run == NULL)) {
    return refuse(op,
                  op->run == NULL ? "work and run are NULL, one of them is required"
                                  : "it has work and run, only one of them is allowed",
                  error);
  }
  LK_RETURN_NOT_OK(check_counts(op, error));
  LK_RETURN_NOT_OK(check_types(op, error));
  return check_attrs(op, error);
}

/* ---- copies ---- */

/* `bytes` of `from` in memory of the bump's; NULL where `from` is, or there is no memory, which is
 * noted. */
static void *copy(lk_bump *memory, const void *from, size_t bytes, bool *inout_failed) {
  if (from == NULL) return NULL;
  void *to = lk_bump_alloc(memory, bytes);
  if (to == NULL) {
    *inout_failed = true;
    return NULL;
  }
  memcpy(to, from, bytes);
  return to;
}

static const char *copy_text(lk_bump *memory, const char *text, bool *inout_failed) {
  return text != NULL ? copy(memory, text, strlen(text) + 1, inout_failed) : NULL;
}

static const lk_op_attr *copy_attrs(lk_bump *memory, const lk_operator *op, bool *inout_failed) {
  if (op->n_attrs == 0) return NULL;
  lk_op_attr *to = copy(memory, op->attrs, op->n_attrs * sizeof *to, inout_failed);
  for (uint32_t i = 0; to != NULL && i < op->n_attrs; i++) {
    to[i].name = copy_text(memory, to[i].name, inout_failed);
    to[i].texts = copy_text(memory, to[i].texts, inout_failed);
    to[i].integers =
        to[i].n_integers > 0
            ? copy(memory, to[i].integers, to[i].n_integers * sizeof *to[i].integers, inout_failed)
            : NULL;
  }
  return to;
}

static const char *make_kind(lk_bump *memory, const char *op_type, bool *inout_failed) {
  char kind[MOST_NAME + 8];
  (void)snprintf(kind, sizeof kind, "host:%s", op_type);
  return copy_text(memory, kind, inout_failed);
}

lk_status lk_host_operators_add(lk_host_operators *operators, const lk_operator *given,
                                lk_error *error) {
  lk_operator op = *given;
  if (op.summary == NULL) op.summary = "";
  LK_RETURN_NOT_OK(check(operators, &op, error));
  /* what a failure leaves in the memory stays until the end */
  lk_bump *memory = &operators->memory;
  lk_host_class *made = lk_bump_alloc(memory, sizeof *made);
  bool failed = made == NULL;
  op.attrs = copy_attrs(memory, &op, &failed);
  op.op_type = copy_text(memory, op.op_type, &failed);
  op.domain = copy_text(memory, op.domain, &failed);
  op.summary = copy_text(memory, op.summary, &failed);
  op.input_types = copy_text(memory, op.max_inputs > 0 ? op.input_types : "", &failed);
  op.output_types = copy_text(memory, op.output_types, &failed);
  const char *kind = op.op_type != NULL ? make_kind(memory, op.op_type, &failed) : NULL;
  if (failed) return lk_fail_memory(error, "an operator of the host", sizeof *made);
  *made = (lk_host_class){.op = op, .kind = kind};
  lk_host_class_fill(made);
  operators->classes[operators->count++] = made;
  return LK_OK;
}
