/* A TensorProto's elements: found in the file where they lie, or decoded. */
#pragma once

#include <latchkey/context.h>

#include "executor_glue/onnx/external.h"
#include "executor_glue/onnx/lenience.h"

/* The file that tensors of a skeleton refer to. */
typedef struct lk_onnx_source {
  const uint8_t *bytes;
  size_t size;
  const lk_owner *owner;      /* of the bytes */
  lk_onnx_external *external; /* NULL: a model in memory, which has no folder */
  /* Bytes that the graph which is being read may still copy out of the files: a file may say in a
   * few of them that many are wanted. NULL: no limit. */
  uint64_t *copies_left;
  uint64_t graph_budget; /* bytes that a graph which is read may take */
  /* [n_given]: initializers that are inputs of the graph which is read, since runs give them. */
  const char *const *given;
  size_t n_given;
  const lk_context *context;        /* whose registered operators its nodes may be; NULL: none */
  const lk_onnx_lenience *lenience; /* NULL: what is not read is a failure */
} lk_onnx_source;

/* What a graph of a file of `size` bytes may copy. Weights lie in the file as they are needed, and
 * are not copied; other elements take about as many bytes there. */
#define LK_ONNX_COPIES(size) (((uint64_t)64 << 20) + (uint64_t)(size))

/* Notes a copy of `bytes`, for `what`. LK_OUT_OF_RANGE: they are more than are left. */
lk_status lk_onnx_source_charge(const lk_onnx_source *source, uint64_t bytes, const char *what,
                                lk_error *error);
/* Of a copy that was charged, and is not kept. */
void lk_onnx_source_give_back(const lk_onnx_source *source, uint64_t bytes);

/* `status`, that of reading a part of the file; or LK_OK where it is LK_UNSUPPORTED and the source
 * is lenient: then the part is left out, and `error`, which holds the sentence, has been told. */
lk_status lk_onnx_source_forgive(const lk_onnx_source *source, lk_status status,
                                 const lk_error *error);

typedef struct lk_onnx_tensor {
  lk_tensor_desc desc; /* plain */
  size_t n_elements, n_bytes;
  /* The elements as they are in the file, little-endian and dense, maybe unaligned; NULL: there are
   * none, or they are coded and lk_onnx_tensor_copy must decode them. */
  const uint8_t *direct;
  const lk_owner *owner;  /* of the bytes at `direct` */
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
