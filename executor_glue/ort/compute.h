/* One run of a fused node. */
#pragma once

#include "executor_glue/ort/subgraph.h"

/* Any number of threads may call it at once. `stop`: see lk_ort_run_terminate. */
lk_status lk_ort_compute(lk_ort_subgraph *subgraph, OrtKernelContext *context,
                         const volatile uint8_t *stop, lk_error *error);
