/* What oneDNN allocates while this thread builds something. Where it is inside the module, the
 * linker sends its calls, and those of its C++ library, to counted.c (CMakeLists.txt: --wrap). Of a
 * library of the system nobody tells, and charged.c is in the place of that. */
#pragma once

#include <latchkey/engine.h>
#include <stddef.h>
#include <stdint.h>

/* Mappings of code; a primitive has a few. Those beyond count whole. */
enum { LK_COUNTED_MAPPINGS = 64 };

typedef struct lk_mapping {
  void *at;
  size_t bytes;
} lk_mapping;

/* What is counted so far. It is the caller's, so that threads need next to no memory of their own:
 * where that cannot be had, the C library ends the process. */
typedef struct lk_counted {
  int64_t bytes;
  unsigned n_mappings;
  lk_mapping mappings[LK_COUNTED_MAPPINGS];
} lk_counted;

/* Counts into `counted` until lk_counted_end, which the same thread calls. */
void lk_counted_begin(lk_counted *counted);
/* Bytes that were allocated since, less those that were freed. Mapped memory counts as far as it is
 * resident. Of a library of the system, what `work` is charged. */
uint64_t lk_counted_end(const lk_work *work);
