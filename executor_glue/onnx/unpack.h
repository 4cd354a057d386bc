/* Unpacks a skeleton with protobuf-c, in memory from our allocator. */
#pragma once

#include "executor_glue/onnx/scan.h"
#include "onnx.pb-c.h"

/* Scans `size` bytes that hold a message of type `root`, and unpacks their skeleton. `descriptor`
 * is protobuf-c's for `root`. As lk_onnx_scan. */
lk_status lk_onnx_unpack(const lk_allocator *allocator, lk_onnx_message root,
                         const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
                         size_t size, ProtobufCMessage **out_message, lk_error *error);
void lk_onnx_unpacked_destroy(const lk_allocator *allocator, ProtobufCMessage *message);
