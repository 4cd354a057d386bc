/* Scan: what its attributes say. */
#pragma once

#include "executor_glue/flow/state.h"

/* Reads the attributes of the stage's node into the stage. LK_MALFORMED, LK_UNSUPPORTED. */
lk_status lk_flow_scan_read(const lk_allocator *allocator, lk_stage *stage, lk_error *error);
