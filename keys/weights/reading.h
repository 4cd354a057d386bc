/* Plain bytes of a content, pinned for reading without the lock. */
#pragma once

#include "keys/weights/state.h"

typedef struct lk_reading {
  const void *bytes;
  void *unpacked;
} lk_reading;

/* With the lock, which it gives up for a while when it has to unpack. On failure there is nothing
 * to end. */
lk_status lk_content_read_begin(lk_content *content, lk_reading *out_reading, lk_error *error);
void lk_content_read_end(lk_content *content, lk_reading *reading);
