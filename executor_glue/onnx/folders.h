/* The folders that a model's other files may lie in, and opening what lies there. */
#pragma once

#include <latchkey/base.h>
#include <stddef.h>

/* The folder that the model's path names, that of each link which leads on from there, and at last
 * that of the file itself: huggingface_hub's cache has links in snapshots/REV/ to files in blobs/.
 * Who opens a model trusts its path; the model may not lead out of these folders. */
typedef struct lk_onnx_folders {
  const lk_allocator *allocator;
  char **paths; /* without links; each ends in '/' */
  size_t count, capacity;
} lk_onnx_folders;

/* For the model file at `model_path`, which exists. On failure `out` is for destroy too. */
lk_status lk_onnx_folders_create(const lk_allocator *allocator, const char *model_path,
                                 lk_onnx_folders *out, lk_error *error);
void lk_onnx_folders_destroy(lk_onnx_folders *folders); /* a zeroed one is allowed */

/* Opens what the relative path `location` leads to from one of the folders, which it is looked for
 * in one after the other. It may lead over links, and must end in a regular file below one of the
 * folders. `*out_file` is the caller's. LK_MALFORMED: `location` is absolute, has a "..", or leads
 * elsewhere; LK_NOT_FOUND, LK_IO; LK_OUT_OF_RANGE: the path is too long. */
lk_status lk_onnx_folders_open(const lk_onnx_folders *folders, const char *location, int *out_file,
                               lk_error *error);

/* open(2) for reading of an absolute path in which no component is a link: so nobody can lead it
 * elsewhere after the path has been checked. -1: errno says why; ELOOP or ENOTDIR for a link. */
int lk_onnx_open_without_links(const char *path);
