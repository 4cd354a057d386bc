/* ONNX Runtime's tables and lists; how failures and log lines get from one side to the other. */
#pragma once

#include <latchkey/latchkey.h>

#include "executor_glue/ort/offsets.h"
#include "executor_glue/ort/ort_abi.h"

/* What one registration has of ONNX Runtime and of Latchkey. */
typedef struct lk_ort {
  const OrtApi *api;
  const OrtEpApi *ep;
  const lk_api *latchkey;
  const OrtApi *api_24; /* the table of 1.24, or NULL: this one is older */
  lk_ort_offsets offsets;
} lk_ort;

/* Since 1.24 a body's graph names its parent, and its nodes can be fused. An older ONNX Runtime
 * gives the fused nodes of two graphs of a model the same name, and then refuses the model. */
static inline bool lk_ort_knows_bodies(const lk_ort *ort) {
  return ort->api_24 != NULL;
}

/* Before 1.24, a scalar and a value of unknown shape look alike: both have no dimensions. */
static inline bool lk_ort_knows_scalars(const lk_ort *ort) {
  return ort->api_24 != NULL;
}

#define LK_ORT_PROVIDER_NAME "LatchkeyExecutionProvider"

/* Takes over what a call of ONNX Runtime returned. On failure: LK_INTERNAL, "failed to <what>:
 * <ONNX Runtime's words>". */
lk_status lk_ort_check(const lk_ort *ort, OrtStatus *result, const char *what, lk_error *error);

/* A status for ONNX Runtime to return: NULL for LK_OK. */
OrtStatus *lk_ort_status(const lk_ort *ort, lk_status status, const lk_error *error);

/* Writes one line to a logger of ONNX Runtime, which decides whether it is shown. */
void lk_ort_log(const lk_ort *ort, const OrtLogger *logger, OrtLoggingLevel level,
                const char *line);

/* ---- lists: the nodes and values of a graph, the values and attributes of a node ---- */

typedef struct lk_ort_nodes {
  const OrtNode **items;
  size_t count;
} lk_ort_nodes;

typedef struct lk_ort_values {
  const OrtValueInfo **items; /* NULL items: optional inputs and outputs that are absent */
  size_t count;
} lk_ort_values;

typedef struct lk_ort_attributes {
  const OrtOpAttr **items;
  size_t count;
} lk_ort_attributes;

/* lk_ort_<function>(ort, owner, out, error) reads a list, for each row of LK_ORT_LISTS.
 * `out->items` is the caller's to free, from lk_allocator_default, also on failure. */
#define LK_ORT_DECLARE_LIST(slot, function, list, owner, ...)                                      \
  lk_status lk_ort_##function(const lk_ort *ort, const Ort##owner *from, list *out,                \
                              lk_error *error);
LK_ORT_LISTS(LK_ORT_DECLARE_LIST)
#undef LK_ORT_DECLARE_LIST
