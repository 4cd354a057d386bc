/* Which nodes the operators can run. */
#pragma once

#include "executor_glue/ort/import.h"

typedef struct lk_ort_support {
  const char **reasons;   /* [n_nodes]: why the node is left; NULL: it can be run */
  bool *works;            /* [n_nodes]: it does arithmetic on data that is worth claiming */
  bool *shape_only;       /* [n_nodes]: it reads the shape of its input, never an element */
  uint64_t *shape_inputs; /* [n_nodes]: bit i: shapes depend on the value of input i */
} lk_ort_support;

/* Asks the operators, with the types of a node's inputs and its small constants. Everything is in
 * the graph's memory. */
lk_status lk_ort_support_find(const lk_ort *ort, const lk_ort_import *import, lk_ort_support *out,
                              lk_error *error);
