/* NumPy's .npy files: tensors in, tensors out.
 *
 * Format: numpy.lib.format, versions 1.0 and 2.0; little-endian and C order only. Every type of
 * base.h but bf16, which NumPy does not have.
 */
#pragma once

#include <latchkey/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a whole file. `out->data` is allocated (free it with the allocator). LK_NOT_FOUND, LK_IO,
 * LK_MALFORMED (the file is not what the format says), LK_UNSUPPORTED (Fortran order, big-endian,
 * other types), LK_OUT_OF_RANGE. A damaged file allocates no more than its own size. */
lk_status npy_read(const lk_allocator *allocator, const char *path, lk_tensor *out,
                   lk_error *error);

/* A file that is written: complete under a temporary name beside its place, so that nobody ever
 * sees half of it. Several can be prepared, and committed when all of them are complete. */
typedef struct npy_file {
  const lk_allocator *allocator;
  char *path, *temporary;
} npy_file;

/* Writes `tensor` (plain layout) under the temporary name. The file must be committed or discarded
 * when this succeeds. LK_UNSUPPORTED (bf16), LK_IO. */
lk_status npy_prepare(const lk_allocator *allocator, const char *path, const lk_tensor *tensor,
                      npy_file *out, lk_error *error);
/* Moves the file to its place, over one that is there. It stays to be discarded on failure. */
lk_status npy_commit(npy_file *file, lk_error *error);
/* Removes the temporary file, if it has not been committed, and frees the names. */
void npy_discard(npy_file *file);

#ifdef __cplusplus
}
#endif
