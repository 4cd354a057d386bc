/* The index of names, of values above all, while a graph is built. */
#pragma once

#include "executor_glue/graph/graph.h"

typedef struct lk_value_name {
  const char *name; /* borrowed; NULL: a free slot */
  int32_t value;
} lk_value_name;

typedef struct lk_value_names {
  const lk_allocator *allocator;
  lk_value_name *slots; /* a power of two, at most half full */
  size_t n_slots, n_names;
  size_t n_tried; /* numbers behind names that were taken */
} lk_value_names;

/* With room for `n_names`; more make it grow. */
lk_status lk_value_names_create(const lk_graph *graph, size_t n_names, lk_value_names *out,
                                lk_error *error);
void lk_value_names_destroy(lk_value_names *names); /* before its graph; also a zeroed one */

int32_t lk_value_names_find(const lk_value_names *names, const char *name); /* or LK_NO_VALUE */
/* `name`, which is borrowed and not there yet, stands for `value`. */
lk_status lk_value_names_put(lk_value_names *names, const char *name, int32_t value,
                             lk_error *error);
/* Adds a value to the graph under a name that is not there yet. */
lk_status lk_value_names_add(lk_value_names *names, lk_graph *graph, const char *name,
                             int32_t *out_value, lk_error *error);
/* `*out_numbered`: NULL where nothing has the name yet; else it with a number behind it that no
 * other has, which the caller frees by the allocator of the names. No number is tried twice: a
 * thousand equal names take as long as a thousand others. */
lk_status lk_value_names_number(lk_value_names *names, const char *name, char **out_numbered,
                                lk_error *error);
/* lk_value_names_add, with a number behind the name where another value has it. */
lk_status lk_value_names_add_free(lk_value_names *names, lk_graph *graph, const char *name,
                                  int32_t *out_value, lk_error *error);
