/* What a session has claimed, what it has left and why, and what its cache does, as JSON. */
#pragma once

#include "executor_glue/ort/claims.h"
#include "executor_glue/ort/subgraph.h"

/* `subgraphs`: the newest first; NULL: none. */
lk_status lk_ort_report_write(const lk_ort_context *context, const lk_ort_claims *claims,
                              lk_ort_subgraph *subgraphs, const char *path, lk_error *error);
/* As text of the context's allocator, on one line. */
lk_status lk_ort_report_text(const lk_ort_context *context, const lk_ort_claims *claims,
                             lk_ort_subgraph *subgraphs, char **out_text, lk_error *error);
