/* Which nodes of a graph the provider takes. */
#pragma once

#include "executor_glue/ort/claims.h"
#include "executor_glue/ort/contexts.h"

/* Tells ONNX Runtime which nodes of `graph` to fuse, and notes in `claims` what was left. */
lk_status lk_ort_claim(const lk_ort_context *context, const OrtGraph *graph,
                       OrtEpGraphSupportInfo *info, lk_ort_claims *claims, lk_error *error);
