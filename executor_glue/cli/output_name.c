/* File names for a model's outputs, whose own names may hold anything. */
#include "executor_glue/cli/output_name.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/status.h"

enum { MAX_NAME = 200, CAPACITY = MAX_NAME + 16 };

static bool is_safe(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
         c == '_' || c == '-';
}

static bool is_taken(char *const *names, uint32_t n_names, const char *name) {
  for (uint32_t i = 0; i < n_names; i++) {
    if (strcasecmp(names[i], name) == 0) return true;
  }
  return false;
}

lk_status output_names_create(const lk_allocator *allocator, const lk_named_tensor *outputs,
                              uint32_t n_outputs, char ***out, lk_error *error) {
  *out = NULL;
  char **names = lk_calloc(allocator, n_outputs, sizeof *names);
  if (names == NULL) return lk_fail_memory(error, "file names", n_outputs * sizeof *names);
  for (uint32_t i = 0; i < n_outputs; i++) {
    char safe[MAX_NAME + 1];
    size_t length = 0;
    for (const char *c = outputs[i].name; *c != '\0' && length < MAX_NAME; c++, length++) {
      safe[length] = is_safe(*c) && (*c != '.' || length > 0) ? *c : '_';
    }
    if (length == 0) safe[length++] = '_';
    safe[length] = '\0';
    char name[CAPACITY];
    (void)snprintf(name, sizeof name, "%s", safe);
    for (uint32_t n = 2; is_taken(names, i, name); n++) {
      (void)snprintf(name, sizeof name, "%s-%" PRIu32, safe, n);
    }
    names[i] = lk_strdup(allocator, name);
    if (names[i] == NULL) {
      output_names_destroy(allocator, names, i);
      return lk_fail_memory(error, "file names", sizeof name);
    }
  }
  *out = names;
  return LK_OK;
}

void output_names_destroy(const lk_allocator *allocator, char **names, uint32_t n_outputs) {
  for (uint32_t i = 0; names != NULL && i < n_outputs; i++) lk_free(allocator, names[i]);
  lk_free(allocator, names);
}
