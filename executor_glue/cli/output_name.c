/* File names for a model's outputs, whose own names may hold anything. */
#include "executor_glue/cli/output_name.h"

#include <ctype.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

enum { MAX_NAME = 200, CAPACITY = MAX_NAME + 16 };

static bool is_safe(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
         c == '_' || c == '-';
}

/* As a file system without cases sees it. */
static const char *key_of(const char *name, char key[CAPACITY]) {
  size_t i = 0;
  for (; name[i] != '\0'; i++) key[i] = (char)tolower((unsigned char)name[i]);
  key[i] = '\0';
  return key;
}

/* Takes `safe`, or the first of safe-2, safe-3 and so on that is free. `taken` has the keys of the
 * names so far, each with the number to go on with. False: no memory. */
static bool take(json_t *taken, const char *safe, char name[CAPACITY]) {
  char key[CAPACITY];
  (void)snprintf(name, CAPACITY, "%s", safe);
  json_t *next = json_object_get(taken, key_of(name, key));
  if (next != NULL) {
    json_int_t number = json_integer_value(next);
    do {
      (void)snprintf(name, CAPACITY, "%s-%" JSON_INTEGER_FORMAT, safe, number++);
    } while (json_object_get(taken, key_of(name, key)) != NULL);
    (void)json_integer_set(next, number);
  }
  return json_object_set_new(taken, key, json_integer(2)) == 0;
}

lk_status output_names_create(const lk_allocator *allocator, const lk_named_tensor *outputs,
                              uint32_t n_outputs, char ***out, lk_error *error) {
  lk_status status = LK_OK;
  *out = NULL;
  json_t *taken = json_object();
  char **names = lk_calloc(allocator, n_outputs, sizeof *names);
  if (names == NULL || taken == NULL) {
    LK_TRY(lk_fail_memory(error, "file names", n_outputs * sizeof *names));
  }
  for (uint32_t i = 0; i < n_outputs; i++) {
    char safe[MAX_NAME + 1], name[CAPACITY];
    size_t length = 0;
    for (const char *c = outputs[i].name; *c != '\0' && length < MAX_NAME; c++, length++) {
      safe[length] = is_safe(*c) && (*c != '.' || length > 0) ? *c : '_';
    }
    if (length == 0) safe[length++] = '_';
    safe[length] = '\0';
    if (take(taken, safe, name)) names[i] = lk_strdup(allocator, name);
    if (names[i] == NULL) LK_TRY(lk_fail_memory(error, "file names", sizeof name));
  }
  *out = names;
  names = NULL;

cleanup:
  json_decref(taken);
  output_names_destroy(allocator, names, n_outputs);
  return status;
}

void output_names_destroy(const lk_allocator *allocator, char **names, uint32_t n_outputs) {
  for (uint32_t i = 0; names != NULL && i < n_outputs; i++) lk_free(allocator, names[i]);
  lk_free(allocator, names);
}
