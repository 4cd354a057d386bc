/* The part of ONNX's message definitions that the loader keeps, with what each field costs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum lk_onnx_message {
  LK_ONNX_MODEL,
  LK_ONNX_OPSET,
  LK_ONNX_ENTRY,
  LK_ONNX_FUNCTION,
  LK_ONNX_GRAPH,
  LK_ONNX_NODE,
  LK_ONNX_ATTRIBUTE,
  LK_ONNX_TENSOR,
  LK_ONNX_SPARSE_TENSOR,
  LK_ONNX_VALUE_INFO,
  LK_ONNX_TYPE,
  LK_ONNX_TENSOR_TYPE,
  LK_ONNX_SEQUENCE_TYPE, /* and Optional, which is alike */
  LK_ONNX_MAP_TYPE,
  LK_ONNX_SHAPE,
  LK_ONNX_DIMENSION,
  LK_ONNX_MESSAGE_COUNT
} lk_onnx_message;

typedef enum lk_onnx_field_kind {
  LK_ONNX_INT,     /* one varint */
  LK_ONNX_FLOAT,   /* one fixed32 */
  LK_ONNX_TEXT,    /* without NUL bytes */
  LK_ONNX_BYTES,   /* any bytes */
  LK_ONNX_INTS,    /* varints, packed or one by one */
  LK_ONNX_FLOATS,  /* fixed32, packed or one by one */
  LK_ONNX_NESTED,  /* a message that is kept */
  LK_ONNX_CHECKED, /* a message that is checked, but not kept */
  LK_ONNX_PAYLOAD  /* a tensor's elements: left where they are */
} lk_onnx_field_kind;

typedef struct lk_onnx_field {
  uint32_t number;
  lk_onnx_field_kind kind;
  lk_onnx_message message; /* of NESTED and CHECKED */
  uint32_t limit;          /* times that it may occur in one message; 0: no limit of its own */
  uint32_t graph_bytes;    /* what each occurrence costs in the graph IR */
  const char *name;
} lk_onnx_field;

#define LK_ONNX_MAX_FIELDS 20

typedef struct lk_onnx_schema {
  const char *name;
  size_t struct_bytes;                          /* of protobuf-c's struct */
  lk_onnx_field fields[LK_ONNX_MAX_FIELDS + 1]; /* number 0 ends them */
} lk_onnx_schema;

/* By lk_onnx_message. Fields that are not listed (doc strings, annotations, training, ...) are
 * skipped by length. Of the messages that are kept, only graphs contain themselves; protobuf-c
 * recurses without a bound, and the scan has one (LK_ONNX_MAX_DEPTH). */
extern const lk_onnx_schema lk_onnx_schemas[LK_ONNX_MESSAGE_COUNT];
