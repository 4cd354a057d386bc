/* What a file is that is not an ONNX model: told by its first bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lk_onnx_signature {
  const char *what;     /* "a Git LFS pointer": it follows "it is" */
  const char *advice;   /* what to do next, a clause of its own */
  bool stands_for_data; /* a text in the place of a file: it is never a file of weights either */
} lk_onnx_signature;

/* NULL: nothing is known about such bytes. An ONNX file may begin like a file of another kind: ask
 * only when it has turned out that these bytes are none. */
const lk_onnx_signature *lk_onnx_signature_find(const uint8_t *bytes, size_t size);
