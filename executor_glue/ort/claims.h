/* What was claimed of a session's graphs, and what was left and why. */
#pragma once

#include "executor_glue/graph/graph.h"
#include "executor_glue/ort/contexts.h"

/* Nodes that were left, of one operator and for one reason. */
typedef struct lk_ort_left {
  struct lk_ort_left *next;
  char *op_type, *domain, *reason;
  uint32_t count;
} lk_ort_left;

typedef struct lk_ort_claims {
  uint32_t n_claimed, n_left, n_subgraphs;
  lk_ort_left *left;
  char *model_path; /* NULL: no graph has been seen yet */
  /* the model's own graph has been seen: it comes after the bodies in its nodes */
  bool is_complete;
} lk_ort_claims;

/* Notes a node that was left. The strings are copied. */
lk_status lk_ort_claims_add_left(lk_ort_claims *claims, const lk_node *node, const char *reason,
                                 lk_error *error);

/* The one line of a session: "<provider>: 9 of 10 nodes in 1 subgraph; left: 1 Loop (<why>)". */
void lk_ort_claims_text(const lk_ort_claims *claims, char *buffer, size_t capacity);

void lk_ort_claims_destroy(lk_ort_claims *claims);

/* ---- claim.c ---- */

/* Tells ONNX Runtime which nodes of `graph` to fuse, and notes in `claims` what was left.
 * `claims_all`: as in lk_ort_options. */
lk_status lk_ort_claim(const lk_ort_context *context, bool claims_all, const OrtGraph *graph,
                       OrtEpGraphSupportInfo *info, lk_ort_claims *claims, lk_error *error);
