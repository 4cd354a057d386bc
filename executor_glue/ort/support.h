/* Which nodes the operators can run. */
#pragma once

#include "executor_glue/ort/import.h"
#include "executor_glue/ort/partition.h"

typedef struct lk_ort_asks {
  bool takes_all; /* also what gains nothing, and what ONNX Runtime computes sooner */
  bool is_body;   /* of If, Loop or Scan */
} lk_ort_asks;

/* Asks the operators, with the types of a node's inputs, its small constants, and the shapes that
 * are known; where all are, binds it once. `*out` [n_nodes] is in the graph's memory. */
lk_status lk_ort_support_find(const lk_ort_context *context, const lk_ort_import *import,
                              lk_ort_asks asks, lk_ort_support **out, lk_error *error);
