/* A file mapped for reading, or a copy of one. A map is a reference: its owner may be given to
 * others, who hold the bytes by it for as long as they need them. */
#pragma once

#include <latchkey/base.h>
#include <stdbool.h>

typedef struct lk_onnx_map {
  const uint8_t *bytes; /* NULL: nothing is mapped */
  size_t size;
  bool is_copy;
  const lk_owner *owner; /* there as long as the bytes are; a mapping's origin is its file */
} lk_onnx_map;

/* Maps a whole regular file, or `copies` it into memory. `allocator` lives longer. LK_NOT_FOUND:
 * there is none; LK_IO: it is a directory or a device, or the system refuses; LK_MALFORMED: it is
 * empty. A file that is cut while it is mapped ends the process with SIGBUS when its missing part
 * is read: that is the system's rule for mapped files, so look (lk_onnx_map_check) before reading.
 * A copy has nothing to do with the file any more. */
lk_status lk_onnx_map_create(const lk_allocator *allocator, const char *path, bool copies,
                             lk_onnx_map *out, lk_error *error);
/* The same of a file that the caller has opened for reading, and closes. */
lk_status lk_onnx_map_file(const lk_allocator *allocator, int file, const char *path, bool copies,
                           lk_onnx_map *out, lk_error *error);
/* LK_IO, with `path`: the end of the file cannot be read any more. Also of a zeroed map. */
lk_status lk_onnx_map_check(const lk_onnx_map *map, const char *path, lk_error *error);
/* Lets the pages leave RSS; they come back from the file when they are read again. A copy stays. */
void lk_onnx_map_drop_pages(const lk_onnx_map *map);
/* Gives the reference back; the last one unmaps. Also of a zeroed map. */
void lk_onnx_map_destroy(lk_onnx_map *map);
