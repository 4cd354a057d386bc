/* The files beside a model that hold tensors' data: found, checked, mapped once each. */
#pragma once

#include <latchkey/base.h>
#include <stdbool.h>

#include "onnx.pb-c.h"

typedef struct lk_onnx_external lk_onnx_external; /* any thread */

/* For the model file at `model_path`, which exists. `copies`: files are read into memory of
 * `allocator`, not mapped. */
lk_status lk_onnx_external_create(const lk_allocator *allocator, const char *model_path,
                                  bool copies, lk_onnx_external **out_external, lk_error *error);
void lk_onnx_external_destroy(lk_onnx_external *external); /* NULL is allowed */

/* Finds the `size` bytes that an external tensor refers to by location, offset (default 0) and
 * length (default `size`). `*out_bytes` points into the mapped file, which `*out_owner` has.
 * LK_MALFORMED: a location that leaves the model's folders (folders.h), also through a link; an
 * offset or length that is not a number; a length that is not `size`; a file that stands for
 * another one, as Git LFS leaves them. LK_NOT_FOUND, LK_IO; LK_OUT_OF_RANGE: it is shorter. */
lk_status lk_onnx_external_find(lk_onnx_external *external, const Onnx__TensorProto *tensor,
                                uint64_t size, const uint8_t **out_bytes,
                                const lk_owner **out_owner, lk_error *error);
/* LK_IO, with its location: one of the files was cut. */
lk_status lk_onnx_external_check(lk_onnx_external *external, lk_error *error);
void lk_onnx_external_drop_pages(lk_onnx_external *external);
