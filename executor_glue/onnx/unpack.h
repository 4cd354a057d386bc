/* Unpacks a message of ONNX with protobuf-c, in memory that is given back all at once. */
#pragma once

#include "base/bump.h"
#include "executor_glue/onnx/scan.h"
#include "executor_glue/onnx/tensor.h"

typedef struct lk_onnx_unpacked {
  const ProtobufCMessage *message; /* of the type that was asked for */
  lk_bump memory;                  /* it lies in */
} lk_onnx_unpacked;

/* Scans what `source` holds, a message of type `root`, notes the budget of its graph, and unpacks
 * the skeleton. `descriptor` is protobuf-c's for `root`. As lk_onnx_scan. */
lk_status lk_onnx_unpack(const lk_allocator *allocator, lk_onnx_source *source,
                         lk_onnx_message root, const ProtobufCMessageDescriptor *descriptor,
                         lk_onnx_unpacked *out, lk_error *error);
/* Takes as long for a message of many small parts as for one of few large ones. A zeroed one is
 * allowed. */
void lk_onnx_unpacked_destroy(lk_onnx_unpacked *unpacked);
