/* A file mapped for reading. */
#pragma once

#include <latchkey/base.h>

typedef struct lk_onnx_map {
  const uint8_t *bytes; /* NULL: nothing is mapped */
  size_t size;
} lk_onnx_map;

/* Maps a whole regular file. LK_NOT_FOUND: there is none; LK_IO: it is a directory or a device, or
 * the system refuses; LK_MALFORMED: it is empty. A file that is cut while it is mapped ends the
 * process with SIGBUS when its missing part is read: that is the system's rule for mapped files. */
lk_status lk_onnx_map_create(const char *path, lk_onnx_map *out, lk_error *error);
/* Lets the pages leave RSS; they come back from the file when they are read again. */
void lk_onnx_map_drop_pages(const lk_onnx_map *map);
void lk_onnx_map_destroy(lk_onnx_map *map); /* also of a zeroed map */
