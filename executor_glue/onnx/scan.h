/* Checks a file's wire format before anything is unpacked, and cuts a skeleton out of it. */
#pragma once

#include <latchkey/base.h>

#include "executor_glue/onnx/schema.h"

/* Messages within messages, also in parts that are not kept. */
#define LK_ONNX_MAX_DEPTH 32

/* What the unpacked structs, the skeleton and the graph IR of a file of `size` bytes may take,
 * by an estimate from above: for a file of up to 64 MB under 256 MB, whatever it holds. Elements
 * that are decoded and attributes that are copied have a limit of their own (tensor.h): for such a
 * file 128 MB. */
#define LK_ONNX_BUDGET(size) (((uint64_t)192 << 20) + (uint64_t)(size) / 4)

/* The same message in few bytes: without what the loader does not need, and with every tensor's
 * elements left where they are. In a skeleton, the raw_data of a tensor is an lk_onnx_place. */
typedef struct lk_onnx_skeleton {
  uint8_t *bytes; /* allocated; freed by the caller */
  size_t size;
  uint64_t graph_budget; /* what the graph may take: what is left of the budget beside the rest */
} lk_onnx_skeleton;

/* Where the TensorProto message of a tensor lies in the file. */
typedef struct lk_onnx_place {
  uint64_t offset, length; /* bytes from the beginning of the file */
} lk_onnx_place;

/* Checks `size` bytes that hold a message of type `root`. LK_MALFORMED: lengths that leave their
 * message, wrong wire types, NUL in a text, a part that occurs twice; LK_OUT_OF_RANGE: more than
 * LK_ONNX_MAX_DEPTH messages deep, too many parts in one message, or more than `budget` bytes to
 * unpack. The sentence says what, and at which byte. */
lk_status lk_onnx_scan(const lk_allocator *allocator, lk_onnx_message root, const uint8_t *bytes,
                       size_t size, uint64_t budget, lk_onnx_skeleton *out, lk_error *error);
