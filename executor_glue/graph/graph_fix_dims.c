/* Sizes for dimensions that a model leaves open. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "executor_glue/graph/graph.h"

static lk_status set_dim(lk_graph *graph, lk_value *value, int32_t dim, int64_t size,
                         lk_error *error) {
  lk_declaration *declared = lk_graph_alloc(graph, sizeof *declared);
  if (declared == NULL) return lk_fail_memory(error, "a declaration", sizeof *declared);
  *declared = *value->declared;
  declared->dims[dim] = size;
  declared->symbols[dim] = NULL;
  value->declared = declared;
  return LK_OK;
}

/* Each dimension of that name, of inputs and of outputs. */
static lk_status set_symbol(lk_graph *graph, const char *symbol, int64_t size, lk_error *error) {
  for (size_t i = 0; i < graph->n_values; i++) {
    lk_value *value = &graph->values[i];
    for (int32_t d = 0; value->declared != NULL && d < value->declared->rank; d++) {
      const char *name = value->declared->symbols[d];
      if (name == NULL || strcmp(name, symbol) != 0) continue;
      LK_RETURN_NOT_OK(set_dim(graph, value, d, size, error));
    }
  }
  return LK_OK;
}

/* ---- what a name means ---- */

/* A dimension of an input. */
typedef struct input_dim {
  lk_value *value; /* NULL: there is none */
  int32_t dim;
} input_dim;

/* Whether `name` is the dimension's symbol, or the value's name and its number: "x[0]". */
static bool is_meant(const lk_value *value, int32_t dim, const char *name) {
  char number[16];
  const char *symbol = value->declared->symbols[dim];
  const size_t length = strlen(value->name);
  if (symbol != NULL && strcmp(name, symbol) == 0) return true;
  (void)snprintf(number, sizeof number, "[%" PRId32 "]", dim);
  return strncmp(name, value->name, length) == 0 && strcmp(name + length, number) == 0;
}

static input_dim find(const lk_graph *graph, const char *name) {
  for (size_t i = 0; i < graph->n_inputs; i++) {
    lk_value *value = &graph->values[graph->inputs[i]];
    for (int32_t d = 0; value->declared != NULL && d < value->declared->rank; d++) {
      if (is_meant(value, d, name)) return (input_dim){value, d};
    }
  }
  return (input_dim){NULL, 0};
}

/* ---- sentences ---- */

enum { LISTED = 200 }; /* characters */

/* Adds the name of a dimension to a list, if it has room. Returns the length of the list. */
static size_t add_name(const lk_value *value, int32_t dim, char text[LISTED], size_t used) {
  const char *between = used > 0 ? ", " : "", *symbol = value->declared->symbols[dim];
  const size_t room = LISTED - used;
  const int length =
      symbol != NULL ? snprintf(text + used, room, "%s%s", between, symbol)
                     : snprintf(text + used, room, "%s%s[%" PRId32 "]", between, value->name, dim);
  if (length > 0 && (size_t)length < room) return used + (size_t)length;
  text[used] = '\0';
  return used;
}

/* The names of dimensions that are open, as far as there is room; each symbol once. */
static void list_open(const lk_graph *graph, char text[LISTED]) {
  size_t used = 0;
  text[0] = '\0';
  for (size_t i = 0; i < graph->n_inputs; i++) {
    const lk_value *value = &graph->values[graph->inputs[i]];
    for (int32_t d = 0; value->declared != NULL && d < value->declared->rank; d++) {
      const char *symbol = value->declared->symbols[d];
      if (value->declared->dims[d] >= 0) continue;
      const input_dim first = symbol != NULL ? find(graph, symbol) : (input_dim){NULL, d};
      if (first.value != NULL && (first.value != value || first.dim != d)) continue;
      used = add_name(value, d, text, used);
    }
  }
}

static lk_status fail_unknown(const lk_graph *graph, const char *name, lk_error *error) {
  char open[LISTED];
  list_open(graph, open);
  return lk_fail(error, LK_NOT_FOUND,
                 "failed to fix dimension '%s': no input has it, the free dimensions are: %s", name,
                 open[0] != '\0' ? open : "none");
}

static lk_status fail_fixed(const char *name, const input_dim *found, int64_t size,
                            lk_error *error) {
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to fix dimension '%s' to %" PRId64 ": input '%s' has the size %" PRId64
                 " there, they must be equal",
                 name, size, found->value->name, found->value->declared->dims[found->dim]);
}

/* The last of `n_fixed`. */
static lk_status check(const lk_fixed_dim *all, uint32_t n_fixed, lk_error *error) {
  const lk_fixed_dim *fixed = &all[n_fixed - 1];
  if (fixed->name == NULL) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to fix a dimension: name %" PRIu32 " is NULL, required", n_fixed - 1);
  }
  for (uint32_t i = 0; i + 1 < n_fixed; i++) {
    if (strcmp(all[i].name, fixed->name) != 0) continue;
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to fix dimension '%s': it is given twice, once is needed", fixed->name);
  }
  if (fixed->size < 0) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to fix dimension '%s': size %" PRId64 ", at least 0 is needed",
                   fixed->name, fixed->size);
  }
  return LK_OK;
}

/* ---- the whole ---- */

lk_status lk_graph_fix_dims(lk_graph *graph, const lk_fixed_dim *fixed, uint32_t n_fixed,
                            lk_error *error) {
  if (fixed == NULL && n_fixed > 0) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to fix %" PRIu32 " dimensions: they are NULL, required", n_fixed);
  }
  for (uint32_t i = 0; i < n_fixed; i++) {
    const char *name = fixed[i].name;
    const int64_t size = fixed[i].size;
    LK_RETURN_NOT_OK(check(fixed, i + 1, error));
    const input_dim found = find(graph, name);
    if (found.value == NULL) return fail_unknown(graph, name, error);
    const int64_t known = found.value->declared->dims[found.dim];
    const char *symbol = found.value->declared->symbols[found.dim];
    if (known >= 0 && known != size) return fail_fixed(name, &found, size, error);
    if (known >= 0) continue;
    LK_RETURN_NOT_OK(symbol != NULL ? set_symbol(graph, symbol, size, error)
                                    : set_dim(graph, found.value, found.dim, size, error));
  }
  return LK_OK;
}
