/* The attributes of a node while it is created, and the types of its inputs. */
#include "ops/plan/op.h"

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
  static const char *const names[] = {"?", "integers", "floats", "a string", "a tensor", "strings"};
  const lk_attr *attr = find(attrs, name);
  if (attr == NULL || attr->type == (uint32_t)type) return attr;
  lk_attrs_fail(attrs, LK_INVALID_ARGUMENT, "attribute '%s' holds %s, must hold %s", name,
                names[attr->type <= LK_ATTR_STRINGS ? attr->type : 0], names[type]);
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

int64_t lk_attrs_int_from(lk_attrs *attrs, const char *name, int64_t fallback, int64_t least) {
  const int64_t value = lk_attrs_int(attrs, name, fallback);
  if (value >= least && value <= MOST_SIZE) return value;
  lk_attrs_fail(attrs, LK_OUT_OF_RANGE,
                "attribute '%s' is %" PRId64 ", at least %" PRId64 " and at most 2^40", name, value,
                least);
  return least;
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

const char *lk_attrs_string(lk_attrs *attrs, const char *name, uint32_t *out_length) {
  const lk_attr *attr = find_typed(attrs, name, LK_ATTR_STRING);
  *out_length = attr != NULL ? attr->count : 0;
  return attr != NULL ? attr->data : NULL;
}

const char *const *lk_attrs_strings(lk_attrs *attrs, const char *name, uint32_t *out_count) {
  const lk_attr *attr = find_typed(attrs, name, LK_ATTR_STRINGS);
  *out_count = attr != NULL ? attr->count : 0;
  return attr != NULL ? attr->data : NULL;
}

const lk_tensor *lk_attrs_tensor(lk_attrs *attrs, const char *name) {
  const lk_attr *attr = find_typed(attrs, name, LK_ATTR_TENSOR);
  return attr != NULL && attr->count == 1 ? attr->data : NULL;
}

uint32_t lk_attrs_dtype(lk_attrs *attrs, const char *name) {
  const int64_t dtype = lk_attrs_int(attrs, name, LK_DTYPE_NONE);
  if (!lk_attrs_has(attrs, name)) return LK_DTYPE_NONE;
  if (dtype >= 0 && dtype <= UINT32_MAX && lk_dtype_size((uint32_t)dtype) > 0) {
    return (uint32_t)dtype;
  }
  lk_attrs_fail(attrs, LK_UNSUPPORTED, "attribute %s: type %" PRId64 ", which is not supported",
                name, dtype);
  return LK_DTYPE_NONE;
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

/* The types that inputs have given to the letters of a row. */
typedef struct row_types {
  uint32_t dtypes[LK_MAX_TYPE_GROUPS]; /* LK_DTYPE_NONE: no input has said */
  uint32_t inputs[LK_MAX_TYPE_GROUPS]; /* which one has */
} row_types;

/* Of the letters of a row, that of the next input or output; the last one goes for those behind
 * it. */
static const char *next_letter(const char *letter) {
  return letter[1] != '\0' ? letter + 1 : letter;
}

/* A letter as a number. */
static uint32_t group_of(char letter) {
  return (uint32_t)(letter - 'T');
}

static lk_status add_type(const lk_op_row *row, row_types *types, uint32_t index, uint32_t group,
                          uint32_t dtype, lk_error *error) {
  if (dtype == LK_DTYPE_NONE || group >= LK_MAX_TYPE_GROUPS) return LK_OK; /* '?' */
  const uint32_t set = row->types[group];
  uint32_t *bound = &types->dtypes[group];
  if (set != LK_TYPES_ANY && (dtype >= 32 || (set >> dtype & 1) == 0)) {
    char text[128];
    types_text(set, text, sizeof text);
    return lk_fail(error, LK_UNSUPPORTED, "input %" PRIu32 " has type %s, %s %s supported", index,
                   lk_dtype_name(dtype), text, (set & (set - 1)) == 0 ? "is" : "are");
  }
  if (*bound == LK_DTYPE_NONE) {
    *bound = dtype;
    types->inputs[group] = index;
  } else if (*bound != dtype) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "inputs %" PRIu32 " and %" PRIu32 " have types %s and %s, they must be equal",
                   types->inputs[group], index, lk_dtype_name(*bound), lk_dtype_name(dtype));
  }
  return LK_OK;
}

/* LK_DTYPE_NONE: the row does not say, or no input has said. */
static uint32_t output_type(const lk_op_row *row, const row_types *types, uint32_t group) {
  if (group >= LK_MAX_TYPE_GROUPS) return LK_DTYPE_NONE; /* '?' */
  const uint32_t set = row->types[group];
  if (types->dtypes[group] != LK_DTYPE_NONE) return types->dtypes[group];
  const bool is_one = set != LK_TYPES_ANY && (set & (set - 1)) == 0;
  return is_one ? (uint32_t)__builtin_ctz(set) : (uint32_t)LK_DTYPE_NONE;
}

lk_status lk_op_infer(lk_inference *self, lk_error *error) {
  const lk_op_node *node = self->node;
  const lk_op_row *row = &node->class_->row;
  row_types types = {0};
  const char *letter = row->input_types;
  self->copy_of = -1;
  for (uint32_t i = 0; i < node->n_operands; i++) {
    const uint32_t dtype = lk_op_has(node, i) ? self->inputs[i].desc.dtype : LK_DTYPE_NONE;
    LK_RETURN_NOT_OK(add_type(row, &types, i, group_of(*letter), dtype, error));
    letter = next_letter(letter);
  }
  letter = row->output_types;
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    self->outputs[i] = (lk_tensor_desc){.dtype = output_type(row, &types, group_of(*letter)),
                                        .rank = LK_RANK_UNKNOWN};
    letter = next_letter(letter);
  }
  LK_RETURN_NOT_OK(node->class_->infer(self, error));
  if (self->dims == NULL) return LK_OK;
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    lk_tensor_desc *to = &self->outputs[i];
    for (uint32_t d = 0; lk_rank_is_known(to) && d < to->rank; d++) {
      if (to->dims[d] == LK_DIM_UNKNOWN) to->dims[d] = lk_dims_open(self->dims);
    }
  }
  return lk_dims_failed(self->dims) ? lk_fail_memory(error, "terms of dimensions", 1) : LK_OK;
}
