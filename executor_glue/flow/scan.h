/* Scan: what its attributes say, and of which opset it has to be. */
#pragma once

#include "executor_glue/flow/state.h"

/* Before it, all inputs and outputs have a batch, and sequences lengths of their own. */
enum { LK_SCAN_SINCE = 9 };
#define LK_SCAN_IS_OLD                                                                             \
  "before opset 9 Scan has a batch and lengths of sequences, which is not supported; "             \
  "onnx.version_converter converts the model to opset 9 or above"

/* Reads the attributes of the stage's node into the stage. LK_MALFORMED, LK_UNSUPPORTED. */
lk_status lk_flow_scan_read(const lk_allocator *allocator, lk_stage *stage, lk_error *error);
