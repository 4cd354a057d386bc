/* The attributes of a node while it is created, read by way of the list of its row. */
#include "ops/plan/attrs.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"

#define MOST_SIZE ((int64_t)1 << 40)

void lk_attrs_fail(lk_attrs *attrs, lk_status status, const char *format, ...) {
  if (attrs->status != LK_OK) return; /* the first failure is the one that is told */
  char sentence[LK_ERROR_CAPACITY];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  attrs->status = lk_fail(attrs->error, status, "failed to create %s '%s': %s",
                          attrs->desc->op_type, attrs->desc->output_name, sentence);
}

lk_attrs lk_attrs_of(const lk_op_class *class_, const lk_op_row *row, const lk_node_desc *desc,
                     lk_error *error) {
  return (lk_attrs){.class_ = class_,
                    .row = row,
                    .opset = desc->opset,
                    .n_inputs = desc->n_inputs,
                    .n_outputs = desc->n_outputs,
                    .status = LK_OK,
                    .error = error,
                    .desc = desc};
}

void lk_attrs_check(lk_attrs *attrs) {
  lk_error why = {LK_OK, ""};
  const lk_status status =
      lk_op_attrs_check(attrs->row, attrs->opset, attrs->desc->attrs, attrs->desc->n_attrs, &why);
  if (status != LK_OK) lk_attrs_fail(attrs, status, "%s", why.message);
}

bool lk_attrs_lists(const lk_attrs *attrs, const char *name) {
  return lk_op_attr_find(attrs->row, name, attrs->opset) != NULL;
}

/* The row's entry, which says the default; `*out_given` is the node's, or NULL. A name that the row
 * does not list with this type is a fault of the operator's file. */
static const lk_op_attr *find(lk_attrs *attrs, const char *name, lk_attr_type type,
                              const lk_attr **out_given) {
  static const lk_op_attr none = {0};
  const lk_op_attr *attr = lk_op_attr_find(attrs->row, name, attrs->opset);
  *out_given = NULL;
  if (attr == NULL || attr->type != (uint32_t)type) {
    lk_attrs_fail(attrs, LK_INTERNAL, "its row does not list the attribute '%s' that it reads",
                  name);
    return &none;
  }
  if (!lk_op_attr_holds(attr, attrs->opset)) return attr;
  for (uint32_t i = 0; i < attrs->desc->n_attrs; i++) {
    const lk_attr *given = &attrs->desc->attrs[i];
    if (given->type == attr->type && lk_attr_is(given->name, name)) *out_given = given;
  }
  return attr;
}

bool lk_attrs_has(lk_attrs *attrs, const char *name) {
  const lk_op_attr *attr = lk_op_attr_find(attrs->row, name, attrs->opset);
  const lk_attr *given = NULL;
  (void)find(attrs, name, attr != NULL ? (lk_attr_type)attr->type : LK_ATTR_INTS, &given);
  return given != NULL;
}

int64_t lk_attrs_int(lk_attrs *attrs, const char *name) {
  const lk_attr *given = NULL;
  const lk_op_attr *attr = find(attrs, name, LK_ATTR_INTS, &given);
  return given != NULL && given->count == 1 ? *(const int64_t *)given->data : attr->integer;
}

bool lk_attrs_bool(lk_attrs *attrs, const char *name) {
  const lk_op_attr *attr = lk_op_attr_find(attrs->row, name, attrs->opset);
  if (attr != NULL && !lk_op_attr_is_flag(attr)) {
    lk_attrs_fail(attrs, LK_INTERNAL, "its row does not list the attribute '%s' as a flag", name);
  }
  return lk_attrs_int(attrs, name) != 0;
}

int64_t lk_attrs_int_from(lk_attrs *attrs, const char *name, int64_t least) {
  const int64_t value = lk_attrs_int(attrs, name);
  if (!lk_attrs_has(attrs, name) || (value >= least && value <= MOST_SIZE)) return value;
  lk_attrs_fail(attrs, LK_OUT_OF_RANGE,
                "attribute '%s' is %" PRId64 ", %" PRId64 " to 2^40 are allowed", name, value,
                least);
  return least;
}

float lk_attrs_float(lk_attrs *attrs, const char *name) {
  const lk_attr *given = NULL;
  const lk_op_attr *attr = find(attrs, name, LK_ATTR_FLOATS, &given);
  return given != NULL && given->count == 1 ? *(const float *)given->data : attr->number;
}

static uint32_t copy_values(lk_attrs *attrs, const lk_attr *from, void *out, uint32_t capacity,
                            size_t size) {
  if (from->count > capacity) {
    lk_attrs_fail(attrs, LK_OUT_OF_RANGE,
                  "attribute '%s' has %" PRIu32 " values, at most %" PRIu32 " are allowed",
                  from->name, from->count, capacity);
    return 0;
  }
  if (from->count > 0) memcpy(out, from->data, from->count * size);
  return from->count;
}

uint32_t lk_attrs_ints(lk_attrs *attrs, const char *name, int64_t *out, uint32_t capacity) {
  const lk_attr *given = NULL;
  const lk_op_attr *attr = find(attrs, name, LK_ATTR_INTS, &given);
  const lk_attr fallback = {name, LK_ATTR_INTS, attr->n_integers, attr->integers};
  return copy_values(attrs, given != NULL ? given : &fallback, out, capacity, sizeof *out);
}

uint32_t lk_attrs_floats(lk_attrs *attrs, const char *name, float *out, uint32_t capacity) {
  const lk_attr *given = NULL;
  (void)find(attrs, name, LK_ATTR_FLOATS, &given);
  return given != NULL ? copy_values(attrs, given, out, capacity, sizeof *out) : 0;
}

uint32_t lk_attrs_choice(lk_attrs *attrs, const char *name) {
  const lk_attr *given = NULL;
  const lk_op_attr *attr = find(attrs, name, LK_ATTR_STRING, &given);
  const int64_t index = given != NULL ? lk_op_attr_choice(attr, given) : 0;
  return index > 0 ? (uint32_t)index : 0;
}

const char *lk_attrs_string(lk_attrs *attrs, const char *name, uint32_t *out_length) {
  const lk_attr *given = NULL;
  (void)find(attrs, name, LK_ATTR_STRING, &given);
  *out_length = given != NULL ? given->count : 0;
  return given != NULL ? given->data : NULL;
}

const char *const *lk_attrs_strings(lk_attrs *attrs, const char *name, uint32_t *out_count) {
  const lk_attr *given = NULL;
  (void)find(attrs, name, LK_ATTR_STRINGS, &given);
  *out_count = given != NULL ? given->count : 0;
  return given != NULL ? given->data : NULL;
}

const lk_tensor *lk_attrs_tensor(lk_attrs *attrs, const char *name) {
  const lk_attr *given = NULL;
  (void)find(attrs, name, LK_ATTR_TENSOR, &given);
  return given != NULL && given->count == 1 ? given->data : NULL;
}

/* All types that tensors can have. */
static uint32_t every_type(void) {
  uint32_t types = 0;
  for (uint32_t dtype = 0; dtype < 32; dtype++) {
    if (lk_dtype_size(dtype) > 0) types |= (uint32_t)1 << dtype;
  }
  return types;
}

uint32_t lk_attrs_dtype(lk_attrs *attrs, const char *name, uint32_t types) {
  const int64_t dtype = lk_attrs_int(attrs, name);
  const uint32_t allowed = types != 0 ? types : every_type();
  if (dtype == LK_DTYPE_NONE && !lk_attrs_has(attrs, name)) return LK_DTYPE_NONE;
  if (dtype >= 0 && dtype < 32 && (allowed >> dtype & 1) != 0) return (uint32_t)dtype;
  char text[LK_DTYPE_TEXT_CAPACITY], list[128];
  lk_dtypes_text(allowed, list, sizeof list);
  lk_attrs_fail(attrs, LK_UNSUPPORTED, "attribute '%s' is %s; %s are supported", name,
                lk_dtype_text(dtype, text), list);
  return LK_DTYPE_NONE;
}

void lk_attrs_list(lk_attrs *attrs, const char *name, lk_list *list) {
  list->given = lk_attrs_has(attrs, name);
  list->count =
      lk_attrs_ints(attrs, name, list->values, sizeof list->values / sizeof list->values[0]);
}

static void fill(lk_attrs *attrs, const lk_param *param, void *out) {
  const char *name = param->attr;
  const lk_op_attr *attr = lk_op_attr_find(attrs->row, name, attrs->opset);
  const bool is_text = attr != NULL && attr->type == LK_ATTR_STRING;
  switch (param->kind) {
  case LK_PARAM_INT:
    *(int64_t *)out =
        param->least > 0 ? lk_attrs_int_from(attrs, name, param->least) : lk_attrs_int(attrs, name);
    break;
  case LK_PARAM_FLOAT:
    *(float *)out = lk_attrs_float(attrs, name);
    break;
  case LK_PARAM_BOOL:
    *(bool *)out = is_text ? lk_attrs_choice(attrs, name) != 0 : lk_attrs_bool(attrs, name);
    break;
  case LK_PARAM_INDEX:
    *(uint32_t *)out =
        is_text ? lk_attrs_choice(attrs, name) : lk_attrs_dtype(attrs, name, 0 /* any */);
    break;
  case LK_PARAM_LIST:
    lk_attrs_list(attrs, name, out);
  }
}

void lk_attrs_fill(lk_attrs *attrs, const lk_param *list, void *params) {
  for (const lk_param *param = list; param != NULL && param->attr != NULL; param++) {
    fill(attrs, param, (char *)params + param->offset);
  }
}
