/* NumPy's .npy files: tensors in, tensors out.
 *
 * Format: numpy.lib.format, versions 1.0 and 2.0; little-endian and C order only. Every type of
 * base.h but bf16, which NumPy does not have.
 */
#pragma once

#include <latchkey/base.h>

#include "base/whole_file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a whole file. `out->data` is allocated (free it with the allocator). LK_NOT_FOUND, LK_IO,
 * LK_MALFORMED (the file is not what the format says), LK_UNSUPPORTED (Fortran order, big-endian,
 * other types), LK_OUT_OF_RANGE. A damaged file allocates no more than its own size. */
lk_status npy_read(const lk_allocator *allocator, const char *path, lk_tensor *out,
                   lk_error *error);

/* Writes `tensor` (plain layout) into a file that is complete, and that is then committed or
 * discarded. LK_UNSUPPORTED (bf16), LK_IO. */
lk_status npy_prepare(const lk_allocator *allocator, const char *path, const lk_tensor *tensor,
                      lk_whole_file *out, lk_error *error);

#ifdef __cplusplus
}
#endif
