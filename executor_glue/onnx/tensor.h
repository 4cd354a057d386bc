/* A TensorProto's elements: found in the file where they lie, or decoded. */
#pragma once

#include <latchkey/base.h>

#include "executor_glue/onnx/external.h"

/* The file that tensors of a skeleton refer to. */
typedef struct lk_onnx_source {
  const uint8_t *bytes;
  size_t size;
  lk_onnx_external *external; /* NULL: a model in memory, which has no folder */
} lk_onnx_source;

typedef struct lk_onnx_tensor {
  lk_tensor_desc desc; /* plain */
  size_t n_elements, n_bytes;
  /* The elements as they are in the file, little-endian and dense, maybe unaligned; NULL: there are
   * none, or they are coded and lk_onnx_tensor_copy must decode them. */
  const uint8_t *direct;
  const uint8_t *message; /* the TensorProto in the file */
  size_t message_size;
  uint32_t field; /* of the elements in `message` */
} lk_onnx_tensor;

/* Reads a tensor of a skeleton: checks type, shape, and that there are as many elements as the
 * shape says. The sentence names the tensor, or `what` when it has no name. LK_UNSUPPORTED: an
 * element type that Latchkey lacks, or segments; LK_MALFORMED, LK_OUT_OF_RANGE; those of
 * lk_onnx_external_find. */
lk_status lk_onnx_tensor_find(const lk_onnx_source *source, const Onnx__TensorProto *proto,
                              const char *what, lk_onnx_tensor *out, lk_error *error);
/* Writes n_bytes to `data`. LK_MALFORMED: a number does not fit the element type. */
lk_status lk_onnx_tensor_copy(const lk_onnx_tensor *tensor, void *data, lk_error *error);
