/* Lists of attributes: what nodes of an operator may have at which opset. */
#include "base/attrs.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

bool lk_op_attr_holds(const lk_op_attr *attr, int32_t opset) {
  return opset >= attr->since && (attr->until == 0 || opset <= attr->until);
}

/* How many opsets lie between; the attribute does not hold. */
static int32_t opsets_to(const lk_op_attr *attr, int32_t opset) {
  return opset < attr->since ? attr->since - opset : opset - attr->until;
}

const lk_op_attr *lk_op_attr_find(const lk_op_row *row, const char *name, int32_t opset) {
  const lk_op_attr *found = NULL;
  for (uint32_t i = 0; i < row->n_attrs; i++) {
    const lk_op_attr *attr = &row->attrs[i];
    if (!lk_attr_is(attr->name, name)) continue;
    if (lk_op_attr_holds(attr, opset)) return attr;
    if (found == NULL || opsets_to(attr, opset) < opsets_to(found, opset)) found = attr;
  }
  return found;
}

/* ---- texts ---- */

int64_t lk_op_attr_choice(const lk_op_attr *attr, const lk_attr *given) {
  const char *text = attr->texts;
  for (int64_t i = 0; text != NULL; i++) {
    const size_t length = strcspn(text, "|");
    if (length == given->count && (length == 0 || memcmp(text, given->data, length) == 0)) return i;
    text = text[length] != '\0' ? text + length + 1 : NULL;
  }
  return -1;
}

/* "a, b, c" of "a|b|c" */
static void write_texts(const char *texts, char *out, size_t capacity) {
  size_t used = 0;
  for (; *texts != '\0' && used + 2 < capacity; texts++) {
    out[used++] = *texts == '|' ? ',' : *texts;
    if (*texts == '|') out[used++] = ' ';
  }
  out[used] = '\0';
}

/* ---- types ---- */

const char *lk_attr_type_text(uint32_t type, bool is_list) {
  switch (type) {
  case LK_ATTR_INTS:
    return is_list ? "integers" : "an integer";
  case LK_ATTR_FLOATS:
    return is_list ? "floats" : "a float";
  case LK_ATTR_STRING:
    return "a string";
  case LK_ATTR_TENSOR:
    return is_list ? "tensors" : "a tensor";
  case LK_ATTR_STRINGS:
    return "strings";
  case LK_ATTR_GRAPH:
    return "a graph";
  default:
    return "a sparse tensor, a type or graphs";
  }
}

const char *lk_op_attr_type_text(const lk_op_attr *attr) {
  return lk_attr_type_text(attr->type, attr->is_list != 0);
}

bool lk_op_attr_is_flag(const lk_op_attr *attr) {
  return attr->type == LK_ATTR_INTS && attr->texts != NULL;
}

static bool is_one(const lk_op_attr *attr) {
  const bool counts =
      attr->type == LK_ATTR_INTS || attr->type == LK_ATTR_FLOATS || attr->type == LK_ATTR_TENSOR;
  return counts && attr->is_list == 0;
}

static lk_status check_value(const lk_op_attr *attr, const lk_attr *given, lk_error *error) {
  const bool is_list = given->count != 1;
  if (given->type != attr->type) {
    return lk_fail(error, LK_INVALID_ARGUMENT, "attribute '%s' holds %s, it must hold %s",
                   attr->name, lk_attr_type_text(given->type, is_list), lk_op_attr_type_text(attr));
  }
  if (is_one(attr) && given->count != 1) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "attribute '%s' has %" PRIu32 " values, it must have one", attr->name,
                   given->count);
  }
  if (lk_op_attr_is_flag(attr) && *(const uint64_t *)given->data > 1) {
    return lk_fail(error, LK_OUT_OF_RANGE, "attribute '%s' is %" PRId64 ", 0 or 1 is allowed",
                   attr->name, *(const int64_t *)given->data);
  }
  if (attr->type == LK_ATTR_STRING && attr->texts != NULL && lk_op_attr_choice(attr, given) < 0) {
    char texts[256];
    write_texts(attr->texts, texts, sizeof texts);
    return lk_fail(error, LK_UNSUPPORTED, "attribute '%s' is '%.*s', it must be one of: %s",
                   attr->name, (int)(given->count < 64 ? given->count : 64),
                   (const char *)given->data, texts);
  }
  return LK_OK;
}

bool lk_op_attr_is_default(const lk_op_attr *attr, const lk_attr *given) {
  if (attr->has_default == 0 || given->type != attr->type) return false;
  if (attr->type == LK_ATTR_STRING) return lk_op_attr_choice(attr, given) == 0;
  if (given->count != 1 || attr->is_list != 0) return false;
  if (attr->type == LK_ATTR_INTS) return *(const int64_t *)given->data == attr->integer;
  return attr->type == LK_ATTR_FLOATS && *(const float *)given->data == attr->number;
}

/* ---- names ---- */

enum { MOST_LETTERS = 40 };

/* How many letters must be put in, left out or changed, whatever their case. */
static uint32_t distance(const char *a, const char *b) {
  const size_t n = strlen(b);
  uint32_t row[MOST_LETTERS + 1];
  if (n > MOST_LETTERS || strlen(a) > MOST_LETTERS) return UINT32_MAX;
  for (uint32_t j = 0; j <= n; j++) row[j] = j;
  for (uint32_t i = 0; a[i] != '\0'; i++) {
    uint32_t before = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < n; j++) {
      const bool same = tolower((unsigned char)a[i]) == tolower((unsigned char)b[j]);
      uint32_t least = before + (same ? 0 : 1);
      if (row[j] + 1 < least) least = row[j] + 1;
      before = row[j + 1];
      if (before + 1 < least) least = before + 1;
      row[j + 1] = least;
    }
  }
  return row[n];
}

/* The one that may be meant; NULL: none is alike. */
static const char *near_name(const lk_op_row *row, int32_t opset, const char *name) {
  const char *found = NULL;
  uint32_t least = strlen(name) < 6 ? 2 : 3; /* as many letters are another name */
  for (uint32_t i = 0; i < row->n_attrs; i++) {
    if (!lk_op_attr_holds(&row->attrs[i], opset)) continue;
    const uint32_t letters = distance(name, row->attrs[i].name);
    if (letters >= least) continue;
    least = letters;
    found = row->attrs[i].name;
  }
  return found;
}

/* "a, b, c": those of the opset. */
static void write_names(const lk_op_row *row, int32_t opset, char *out, size_t capacity) {
  size_t used = 0;
  (void)snprintf(out, capacity, "none");
  for (uint32_t i = 0; i < row->n_attrs && used < capacity; i++) {
    if (!lk_op_attr_holds(&row->attrs[i], opset)) continue;
    used += (size_t)snprintf(out + used, capacity - used, "%s%s", used > 0 ? ", " : "",
                             row->attrs[i].name);
  }
}

/* No entry of the name holds at the opset. */
static lk_status refuse_name(const lk_op_row *row, const lk_op_attr *other, const char *name,
                             int32_t opset, lk_error *error) {
  if (other != NULL && opset < other->since) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "it has no attribute '%s' at opset %" PRId32 "; it has it since opset %" PRId32,
                   name, opset, other->since);
  }
  if (other != NULL && other->input != 0) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "it has no attribute '%s' at opset %" PRId32 "; since opset %" PRId32
                   " that is input %" PRIu32,
                   name, opset, other->until + 1, other->input);
  }
  if (other != NULL) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "it has no attribute '%s' at opset %" PRId32 "; it had it until opset %" PRId32,
                   name, opset, other->until);
  }
  char names[256];
  const char *meant = near_name(row, opset, name);
  write_names(row, opset, names, sizeof names);
  return lk_fail(error, LK_INVALID_ARGUMENT, "it has no attribute '%.64s'%s%s%s; it has %s", name,
                 meant != NULL ? ", '" : "", meant != NULL ? meant : "",
                 meant != NULL ? "' may be meant" : "", names);
}

lk_status lk_op_attr_check(const lk_op_row *row, int32_t opset, const lk_attr *given,
                           lk_error *error) {
  const lk_op_attr *attr = lk_op_attr_find(row, given->name, opset);
  if (attr == NULL || !lk_op_attr_holds(attr, opset)) {
    return refuse_name(row, attr, given->name, opset, error);
  }
  return check_value(attr, given, error);
}

static const lk_attr *find_given(const lk_attr *given, uint32_t n_given, const char *name) {
  for (uint32_t i = 0; i < n_given; i++) {
    if (strcmp(given[i].name, name) == 0) return &given[i];
  }
  return NULL;
}

lk_status lk_op_attrs_check(const lk_op_row *row, int32_t opset, const lk_attr *given,
                            uint32_t n_given, lk_error *error) {
  for (uint32_t i = 0; i < n_given; i++) {
    LK_RETURN_NOT_OK(lk_op_attr_check(row, opset, &given[i], error));
    if (find_given(given, i, given[i].name) == NULL) continue;
    return lk_fail(error, LK_INVALID_ARGUMENT, "attribute '%s' is there twice", given[i].name);
  }
  for (uint32_t i = 0; i < row->n_attrs; i++) {
    const lk_op_attr *attr = &row->attrs[i];
    if (attr->is_required == 0 || !lk_op_attr_holds(attr, opset)) continue;
    if (find_given(given, n_given, attr->name) != NULL) continue;
    return lk_fail(error, LK_INVALID_ARGUMENT, "attribute '%s' is missing, it is required",
                   attr->name);
  }
  return LK_OK;
}
