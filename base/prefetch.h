/* Memory that is read soon, into the processor's cache. */
#pragma once

#include "base/alloc.h"

/* Any address is allowed, also of memory that is gone. */
static inline void lk_prefetch(const void *from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += LK_CACHE_LINE) __builtin_prefetch((const char *)from + at);
}
