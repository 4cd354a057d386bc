/* Shapes on the command line: NAME=1x3x48x{32..320}. */
#include "executor_glue/cli/common/shape_arg.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

/* A choice: a range (values NULL), or a list. */
typedef struct shape_choice {
  char *name;      /* NULL: it has none */
  int64_t *values; /* [count] */
  size_t count, capacity;
  int64_t first, step;
  int64_t drawn;
  bool defined; /* false: {name} was read, {name:...} was not yet */
} shape_choice;

typedef struct named_shape {
  char *name;
  uint32_t rank;
  int64_t dims[LK_MAX_RANK];    /* where no choice is */
  int32_t choices[LK_MAX_RANK]; /* index, or -1 */
} named_shape;

struct shape_set {
  const lk_allocator *allocator;
  named_shape *shapes;
  shape_choice *choices;
  size_t n_shapes, shapes_capacity, n_choices, choices_capacity;
};

uint64_t splitmix(uint64_t state) {
  uint64_t z = state + SPLITMIX_STEP;
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* Text that is left to read. */
typedef struct text_reader {
  const char *at;
  const char *whole; /* for the message */
  lk_error *error;
} text_reader;

static lk_status wrong(const text_reader *cursor, const char *rule) {
  return lk_fail(cursor->error, LK_INVALID_ARGUMENT,
                 "failed to read shape '%s': %s, expected NAME=1x3x48x{32..320}", cursor->whole,
                 rule);
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static lk_status read_number(text_reader *cursor, int64_t *out) {
  if (!is_digit(*cursor->at)) return wrong(cursor, "a number is missing");
  int64_t value = 0;
  for (; is_digit(*cursor->at); cursor->at++) {
    value = value * 10 + (*cursor->at - '0');
    /* Far beyond any tensor, and sums and products of two still fit. */
    if (value > INT32_MAX) return wrong(cursor, "a dimension is larger than 2147483647");
  }
  *out = value;
  return LK_OK;
}

static bool take(text_reader *cursor, const char *text) {
  size_t length = strlen(text);
  if (strncmp(cursor->at, text, length) != 0) return false;
  cursor->at += length;
  return true;
}

/* Index of the choice of this name; makes one that is not defined yet when there is none. */
static lk_status named_choice(shape_set *set, const char *name, size_t length, int32_t *out,
                              lk_error *error) {
  for (size_t i = 0; i < set->n_choices; i++) {
    const char *other = set->choices[i].name;
    if (other != NULL && strlen(other) == length && memcmp(other, name, length) == 0) {
      *out = (int32_t)i;
      return LK_OK;
    }
  }
  if (!LK_GROW(set->allocator, set->choices, set->n_choices, set->choices_capacity)) {
    return lk_fail_memory(error, "a shape", sizeof(shape_choice));
  }
  shape_choice *added = &set->choices[set->n_choices];
  *added = (shape_choice){0};
  if (length > 0) {
    added->name = lk_strndup(set->allocator, name, length);
    if (added->name == NULL) return lk_fail_memory(error, "a shape", length);
  }
  *out = (int32_t)set->n_choices++;
  return LK_OK;
}

/* What stands in braces, behind the name if there is one. */
static lk_status read_choice_body(shape_set *set, shape_choice *choice, text_reader *cursor) {
  int64_t number = 0;
  LK_RETURN_NOT_OK(read_number(cursor, &number));
  choice->first = number;
  choice->step = 1;
  if (take(cursor, "..")) {
    int64_t last = 0;
    LK_RETURN_NOT_OK(read_number(cursor, &last));
    if (take(cursor, "..")) LK_RETURN_NOT_OK(read_number(cursor, &choice->step));
    if (last < number) return wrong(cursor, "a range ends before it begins");
    if (choice->step < 1) return wrong(cursor, "the step of a range is 0");
    choice->count = (size_t)((last - number) / choice->step) + 1;
  } else {
    do {
      if (choice->count > 0) LK_RETURN_NOT_OK(read_number(cursor, &number));
      if (!LK_GROW(set->allocator, choice->values, choice->count, choice->capacity)) {
        return lk_fail_memory(cursor->error, "a shape", sizeof number);
      }
      choice->values[choice->count++] = number;
    } while (take(cursor, ","));
  }
  choice->defined = true;
  return take(cursor, "}") ? LK_OK : wrong(cursor, "braces hold neither a..b nor a,b,c");
}

/* Behind an opening brace. */
static lk_status read_choice(shape_set *set, text_reader *cursor, int32_t *out) {
  const char *name = cursor->at;
  size_t length = 0;
  if (!is_digit(*name)) {
    while (is_word(name[length])) length++;
    if (length == 0) return wrong(cursor, "braces hold neither a..b nor a,b,c");
    cursor->at += length;
  }
  LK_RETURN_NOT_OK(named_choice(set, length > 0 ? name : "", length, out, cursor->error));
  shape_choice *choice = &set->choices[*out];
  if (length > 0) {
    if (take(cursor, "}")) return LK_OK;
    if (!take(cursor, ":")) return wrong(cursor, "a named range is {n:a..b}");
    if (choice->defined) return wrong(cursor, "a name is given to two ranges");
  }
  return read_choice_body(set, choice, cursor);
}

static lk_status read_dims(shape_set *set, named_shape *shape, text_reader *cursor) {
  if (strcmp(cursor->at, "scalar") == 0) return LK_OK;
  do {
    if (shape->rank == LK_MAX_RANK) return wrong(cursor, "more than 8 dimensions");
    uint32_t dim = shape->rank++;
    shape->choices[dim] = -1;
    LK_RETURN_NOT_OK(take(cursor, "{") ? read_choice(set, cursor, &shape->choices[dim])
                                       : read_number(cursor, &shape->dims[dim]));
  } while (take(cursor, "x"));
  return *cursor->at == '\0' ? LK_OK : wrong(cursor, "dimensions are joined by 'x'");
}

lk_status shape_set_create(const lk_allocator *allocator, shape_set **out, lk_error *error) {
  *out = lk_calloc(allocator, 1, sizeof **out);
  if (*out == NULL) return lk_fail_memory(error, "shapes", sizeof **out);
  (*out)->allocator = allocator;
  return LK_OK;
}

void shape_set_destroy(shape_set *set) {
  if (set == NULL) return;
  for (size_t i = 0; i < set->n_shapes; i++) lk_free(set->allocator, set->shapes[i].name);
  for (size_t i = 0; i < set->n_choices; i++) {
    lk_free(set->allocator, set->choices[i].name);
    lk_free(set->allocator, set->choices[i].values);
  }
  lk_free(set->allocator, set->shapes);
  lk_free(set->allocator, set->choices);
  lk_free(set->allocator, set);
}

lk_status shape_set_add(shape_set *set, const char *text, lk_error *error) {
  const char *equals = strrchr(text, '=');
  text_reader cursor = {.at = equals != NULL ? equals + 1 : text, .whole = text, .error = error};
  if (equals == NULL || equals == text) return wrong(&cursor, "the name is missing");
  size_t length = (size_t)(equals - text);
  for (size_t i = 0; i < set->n_shapes; i++) {
    const char *other = set->shapes[i].name;
    if (strlen(other) == length && memcmp(other, text, length) == 0) {
      return wrong(&cursor, "this input has a shape already");
    }
  }
  named_shape added = {0};
  LK_RETURN_NOT_OK(read_dims(set, &added, &cursor));
  if (!LK_GROW(set->allocator, set->shapes, set->n_shapes, set->shapes_capacity)) {
    return lk_fail_memory(error, "a shape", sizeof added);
  }
  added.name = lk_strndup(set->allocator, text, length);
  if (added.name == NULL) return lk_fail_memory(error, "a shape", length);
  set->shapes[set->n_shapes++] = added;
  return LK_OK;
}

lk_status shape_set_check(const shape_set *set, lk_error *error) {
  for (size_t i = 0; i < set->n_choices; i++) {
    if (!set->choices[i].defined) {
      return lk_fail(
          error, LK_INVALID_ARGUMENT,
          "failed to read shapes: {%s} is used, but no shape says what it is, as in {%s:8..128}",
          set->choices[i].name, set->choices[i].name);
    }
  }
  return LK_OK;
}

uint32_t shape_set_count(const shape_set *set) {
  return (uint32_t)set->n_shapes;
}

const char *shape_set_name(const shape_set *set, uint32_t index) {
  return set->shapes[index].name;
}

bool shape_set_varies(const shape_set *set) {
  for (size_t i = 0; i < set->n_choices; i++) {
    if (set->choices[i].count > 1) return true;
  }
  return false;
}

void shape_set_draw(shape_set *set, uint64_t *state) {
  for (size_t i = 0; i < set->n_choices; i++) {
    shape_choice *choice = &set->choices[i];
    /* The bias of % is under 2^-32: no count is larger than 2^31. */
    uint64_t pick = splitmix(*state) % choice->count;
    *state += SPLITMIX_STEP;
    choice->drawn = choice->values != NULL ? choice->values[pick]
                                           : choice->first + (int64_t)pick * choice->step;
  }
}

void shape_set_get(const shape_set *set, uint32_t index, lk_tensor_desc *desc) {
  const named_shape *shape = &set->shapes[index];
  *desc = (lk_tensor_desc){.dtype = desc->dtype, .rank = shape->rank};
  for (uint32_t i = 0; i < shape->rank; i++) {
    int32_t choice = shape->choices[i];
    desc->dims[i] = choice >= 0 ? set->choices[choice].drawn : shape->dims[i];
  }
}
