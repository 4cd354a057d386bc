/* A file mapped for reading. */
#pragma once

#include <latchkey/base.h>

typedef struct lk_onnx_map {
  const uint8_t *bytes; /* NULL: nothing is mapped */
  size_t size;
  const lk_allocator *copied; /* whose memory has a copy; NULL: mapped */
} lk_onnx_map;

/* Maps a whole regular file, or reads it into memory of `copied`, which lives longer. LK_NOT_FOUND:
 * there is none; LK_IO: it is a directory or a device, or the system refuses; LK_MALFORMED: it is
 * empty. A file that is cut while it is mapped ends the process with SIGBUS when its missing part
 * is read: that is the system's rule for mapped files, so look (lk_onnx_map_check) before reading.
 * A copy has nothing to do with the file any more. */
lk_status lk_onnx_map_create(const char *path, const lk_allocator *copied, lk_onnx_map *out,
                             lk_error *error);
/* LK_IO, with `path`: the end of the file cannot be read any more. Also of a zeroed map. */
lk_status lk_onnx_map_check(const lk_onnx_map *map, const char *path, lk_error *error);
/* Lets the pages leave RSS; they come back from the file when they are read again. A copy stays. */
void lk_onnx_map_drop_pages(const lk_onnx_map *map);
void lk_onnx_map_destroy(lk_onnx_map *map); /* also of a zeroed map */
