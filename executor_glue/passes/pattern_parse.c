/* Reads the texts of patterns. */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "executor_glue/passes/pattern.h"

typedef struct parser {
  const char *text; /* the whole */
  const char *at;
  lk_pattern *pattern;
  bool failed; /* at `at` */
} parser;

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_name(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
}

static bool is_operator(const lk_text *name) {
  return name->length > 0 && name->start[0] >= 'A' && name->start[0] <= 'Z';
}

static bool same(const lk_text *a, const lk_text *b) {
  return a->length == b->length && memcmp(a->start, b->start, a->length) == 0;
}

static void skip_spaces(parser *self) {
  while (*self->at == ' ') self->at++;
}

static bool take(parser *self, char c) {
  skip_spaces(self);
  if (*self->at != c) return false;
  self->at++;
  return true;
}

static void expect(parser *self, char c) {
  if (!take(self, c)) self->failed = true;
}

static lk_text take_name(parser *self) {
  skip_spaces(self);
  lk_text name = {self->at, 0};
  while (is_name(*self->at)) self->at++;
  name.length = (size_t)(self->at - name.start);
  if (name.length == 0) self->failed = true;
  return name;
}

static double take_number(parser *self) {
  char *end = NULL;
  skip_spaces(self);
  const double number = strtod(self->at, &end);
  if (end == self->at) self->failed = true;
  self->at = end;
  return number;
}

/* The place of a name among those that are known; a new one when it is not there. */
static int32_t find_slot(parser *self, lk_text name, lk_text *names, uint32_t *count,
                         uint32_t capacity) {
  for (uint32_t i = 0; i < *count; i++) {
    if (same(&names[i], &name)) return (int32_t)i;
  }
  if (*count == capacity) {
    self->failed = true;
    return 0;
  }
  names[*count] = name;
  return (int32_t)(*count)++;
}

static int32_t value_slot(parser *self, lk_text name) {
  lk_pattern *pattern = self->pattern;
  return find_slot(self, name, pattern->values, &pattern->n_values, LK_TREE_VALUES);
}

static int32_t number_slot(parser *self) {
  lk_pattern *pattern = self->pattern;
  const lk_text name = take_name(self);
  return find_slot(self, name, pattern->numbers, &pattern->n_numbers, LK_TREE_NUMBERS);
}

static lk_tree_item *add_item(parser *self, lk_tree_kind kind) {
  static lk_tree_item none; /* what is read after a failure */
  lk_pattern *pattern = self->pattern;
  if (self->failed || pattern->n_items == LK_TREE_ITEMS) {
    self->failed = true;
    return &none;
  }
  lk_tree_item *item = &pattern->items[pattern->n_items++];
  *item = (lk_tree_item){.kind = kind, .slot = -1};
  return item;
}

static const lk_tree_item *read_item(parser *self);

static void read_args(parser *self, lk_tree_item *item, char separator) {
  do {
    if (self->failed || item->n_args == LK_TREE_ARGS) {
      self->failed = true;
      return;
    }
    item->args[item->n_args++] = read_item(self);
  } while (take(self, separator));
  expect(self, ')');
}

/* x - y is x + Neg(y), and x / y is x * Reciprocal(y). */
static void read_inverse(parser *self, lk_tree_item *item, const char *op_type,
                         const char *inverse) {
  lk_tree_item *second = add_item(self, LK_TREE_NODE);
  if (self->failed || item->n_args != 2) {
    self->failed = true;
    return;
  }
  item->name = (lk_text){op_type, strlen(op_type)};
  second->name = (lk_text){inverse, strlen(inverse)};
  second->n_args = 1;
  second->args[0] = item->args[1];
  item->args[1] = second;
}

static const lk_tree_item *read_node(parser *self, lk_text name, int32_t slot) {
  static const lk_text sub = {"Sub", 3}, div = {"Div", 3};
  lk_tree_item *item = add_item(self, LK_TREE_NODE);
  item->name = name;
  item->slot = slot;
  if (take(self, '[')) {
    item->rule = take_name(self);
    expect(self, ']');
  }
  expect(self, '(');
  read_args(self, item, ',');
  if (same(&name, &sub)) read_inverse(self, item, "Add", "Neg");
  if (same(&name, &div)) read_inverse(self, item, "Mul", "Reciprocal");
  return item;
}

static const lk_tree_item *read_shared(parser *self) {
  const lk_text name = take_name(self);
  const uint32_t index = self->pattern->n_items;
  if (!is_operator(&name)) self->failed = true;
  const lk_tree_item *node = read_node(self, name, -1);
  if (!self->failed) self->pattern->items[index].is_shared = true;
  return node;
}

static const lk_tree_item *read_item(parser *self) {
  lk_tree_item *item;
  if (take(self, '&')) return read_shared(self);
  if (take(self, '(')) {
    item = add_item(self, LK_TREE_EITHER);
    read_args(self, item, '|');
  } else if (take(self, '#')) {
    item = add_item(self, LK_TREE_SCALAR);
    item->slot = number_slot(self);
  } else if (is_digit(*self->at) || *self->at == '-') {
    item = add_item(self, LK_TREE_NUMBER);
    item->number = take_number(self);
  } else {
    const lk_text name = take_name(self);
    if (is_operator(&name)) return read_node(self, name, -1);
    const int32_t slot = value_slot(self, name);
    if (take(self, '=')) return read_node(self, take_name(self), slot);
    item = add_item(self, LK_TREE_VALUE);
    item->slot = slot;
    item->is_optional = take(self, '?');
  }
  return item;
}

/* ---- what it is replaced by ---- */

static void copy_text(parser *self, lk_text name, char *to) {
  if (name.length >= LK_TREE_NAME) {
    self->failed = true;
    return;
  }
  memcpy(to, name.start, name.length);
  to[name.length] = '\0';
}

static void copy_name(parser *self, char *to) {
  copy_text(self, take_name(self), to);
}

static void read_attr(parser *self, lk_tree_result *result) {
  lk_tree_attr *attr = &result->attrs[result->n_attrs];
  const lk_text name = take_name(self);
  if (!take(self, '=')) {
    result->like = value_slot(self, name);
    return;
  }
  result->n_attrs++;
  *attr = (lk_tree_attr){.slot = -1, .factor = -1, .counted = -1};
  copy_text(self, name, attr->name);
  if (take(self, '#')) {
    attr->slot = number_slot(self);
    if (take(self, '*')) {
      expect(self, '#');
      attr->factor = number_slot(self);
    }
  } else if (take(self, '\'')) {
    copy_name(self, attr->text);
    expect(self, '\'');
  } else if (take(self, '|')) {
    attr->counted = value_slot(self, take_name(self));
    expect(self, '|');
  } else {
    attr->number = (int64_t)take_number(self);
  }
}

static bool take_dots(parser *self) {
  skip_spaces(self);
  const bool are_there = strncmp(self->at, "...", 3) == 0;
  if (are_there) self->at += 3;
  return are_there;
}

static void read_result(parser *self, lk_tree_result *result) {
  const uint32_t n_values = self->pattern->n_values, n_numbers = self->pattern->n_numbers;
  copy_name(self, result->op_type);
  if (take(self, ':')) {
    expect(self, ':');
    memcpy(result->domain, result->op_type, sizeof result->domain);
    copy_name(self, result->op_type);
  }
  expect(self, '@');
  skip_spaces(self);
  result->like = -1;
  if (is_digit(*self->at)) {
    result->opset = (int32_t)take_number(self);
  } else {
    result->like = value_slot(self, take_name(self));
  }
  if (take(self, '[')) {
    do {
      if (result->n_attrs == LK_TREE_ATTRS) self->failed = true;
      if (self->failed) return;
      read_attr(self, result);
    } while (take(self, ','));
    expect(self, ']');
  }
  expect(self, '(');
  do {
    if (result->n_inputs == LK_TREE_ARGS) self->failed = true;
    if (self->failed) return;
    if (result->opset == 0 && take_dots(self)) {
      result->has_rest = true;
      break;
    }
    result->inputs[result->n_inputs++] = value_slot(self, take_name(self));
  } while (take(self, ','));
  expect(self, ')');
  /* it can only be made of what the tree names */
  if (self->pattern->n_values != n_values || self->pattern->n_numbers != n_numbers) {
    self->failed = true;
  }
}

static lk_status check_end(parser *self, lk_error *error) {
  skip_spaces(self);
  if (!self->failed && *self->at == '\0') return LK_OK;
  return lk_fail(error, LK_MALFORMED, "failed to read pattern '%s': at '%s'", self->text, self->at);
}

lk_status lk_pattern_parse(const char *tree, const char *result, lk_pattern *out, lk_error *error) {
  memset(out, 0, sizeof *out);
  parser self = {tree, tree, out, false};
  out->root = read_item(&self);
  if (out->root->kind != LK_TREE_NODE) self.failed = true;
  LK_RETURN_NOT_OK(check_end(&self, error));
  self = (parser){result, result, out, false};
  read_result(&self, &out->result);
  return check_end(&self, error);
}
