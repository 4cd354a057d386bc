/* The attributes of a node while it is created, and the types of its inputs. */
#include "ops/plan/op.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"

void lk_attrs_fail(lk_attrs *attrs, lk_status status, const char *format, ...) {
  if (attrs->status != LK_OK) return; /* the first failure is the one that is told */
  char sentence[LK_ERROR_CAPACITY];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  attrs->status = lk_fail(attrs->error, status, "failed to create %s '%s': %s",
                          attrs->node->op_type, attrs->node->output_name, sentence);
}

static const lk_attr *find(const lk_attrs *attrs, const char *name) {
  for (uint32_t i = 0; i < attrs->node->n_attrs; i++) {
    if (strcmp(attrs->node->attrs[i].name, name) == 0) return &attrs->node->attrs[i];
  }
  return NULL;
}

/* The attribute if it is there and of `type`; a wrong type is noted. */
static const lk_attr *find_typed(lk_attrs *attrs, const char *name, lk_attr_type type) {
  static const char *const names[] = {"?", "integers", "floats", "a string", "a tensor"};
  const lk_attr *attr = find(attrs, name);
  if (attr == NULL || attr->type == (uint32_t)type) return attr;
  lk_attrs_fail(attrs, LK_INVALID_ARGUMENT, "attribute '%s' holds %s, must hold %s", name,
                names[attr->type <= LK_ATTR_TENSOR ? attr->type : 0], names[type]);
  return NULL;
}

bool lk_attrs_has(const lk_attrs *attrs, const char *name) {
  return find(attrs, name) != NULL;
}

int64_t lk_attrs_int(lk_attrs *attrs, const char *name, int64_t fallback) {
  int64_t value = fallback;
  lk_attrs_ints(attrs, name, &value, 1);
  return value;
}

float lk_attrs_float(lk_attrs *attrs, const char *name, float fallback) {
  float value = fallback;
  lk_attrs_floats(attrs, name, &value, 1);
  return value;
}

static uint32_t copy_values(lk_attrs *attrs, const char *name, lk_attr_type type, void *out,
                            uint32_t capacity, size_t size) {
  const lk_attr *attr = find_typed(attrs, name, type);
  if (attr == NULL) return 0;
  if (attr->count > capacity) {
    lk_attrs_fail(attrs, LK_OUT_OF_RANGE, "attribute '%s' has %" PRIu32 " values, at most %" PRIu32,
                  name, attr->count, capacity);
    return 0;
  }
  if (attr->count > 0) memcpy(out, attr->data, attr->count * size);
  return attr->count;
}

uint32_t lk_attrs_ints(lk_attrs *attrs, const char *name, int64_t *out, uint32_t capacity) {
  return copy_values(attrs, name, LK_ATTR_INTS, out, capacity, sizeof *out);
}

uint32_t lk_attrs_floats(lk_attrs *attrs, const char *name, float *out, uint32_t capacity) {
  return copy_values(attrs, name, LK_ATTR_FLOATS, out, capacity, sizeof *out);
}

uint32_t lk_attrs_choice(lk_attrs *attrs, const char *name, const char *const *names,
                         uint32_t count, uint32_t fallback) {
  const lk_attr *attr = find_typed(attrs, name, LK_ATTR_STRING);
  if (attr == NULL) return fallback;
  for (uint32_t i = 0; i < count; i++) {
    if (strlen(names[i]) == attr->count && memcmp(names[i], attr->data, attr->count) == 0) return i;
  }
  lk_attrs_fail(attrs, LK_UNSUPPORTED, "attribute '%s' is '%.*s', which is not supported", name,
                (int)(attr->count < 64 ? attr->count : 64), (const char *)attr->data);
  return fallback;
}

const lk_tensor *lk_attrs_tensor(lk_attrs *attrs, const char *name) {
  const lk_attr *attr = find_typed(attrs, name, LK_ATTR_TENSOR);
  return attr != NULL && attr->count == 1 ? attr->data : NULL;
}

/* "f32, f64" */
static void types_text(uint32_t types, char *buffer, size_t capacity) {
  size_t used = 0;
  buffer[0] = '\0';
  for (uint32_t dtype = 0; dtype < 32 && used < capacity; dtype++) {
    if ((types >> dtype & 1) == 0) continue;
    used += (size_t)snprintf(buffer + used, capacity - used, "%s%s", used > 0 ? ", " : "",
                             lk_dtype_name(dtype));
  }
}

lk_status lk_op_check_type(const lk_op_class *class_, uint32_t index, uint32_t dtype,
                           lk_error *error) {
  uint32_t last = 0;
  for (uint32_t i = 0; i < LK_MAX_TYPED_INPUTS; i++) {
    if (class_->types[i] != 0) last = i;
  }
  const uint32_t types = class_->types[index < last ? index : last];
  if (types == 0 || (dtype < 32 && (types >> dtype & 1) != 0)) return LK_OK;
  char text[128];
  types_text(types, text, sizeof text);
  return lk_fail(error, LK_UNSUPPORTED, "input %" PRIu32 " has type %s, %s %s supported", index,
                 lk_dtype_name(dtype), text, (types & (types - 1)) == 0 ? "is" : "are");
}
